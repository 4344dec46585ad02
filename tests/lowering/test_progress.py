"""Progress: said on a terminal only, where it takes long only, and gone in the end."""

import io
from types import SimpleNamespace

import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering import progress
from xdsl_rlx.lowering.progress import CLEAR, Progress
from xdsl_rlx.lowering.run_errors import ConfigurationError


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    stream = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(progress, "PAUSE", 0)
    return stream


def test_lines_replace_each_other_and_the_last_one_goes(terminal: Terminal):
    with Progress("baking") as baking:
        baking.say("1 of 2")
        baking.say("2 of 2")
    baking.say("too late")
    assert terminal.getvalue() == f"{CLEAR}baking: 1 of 2{CLEAR}baking: 2 of 2{CLEAR}"


def test_nothing_is_said_of_what_is_soon_done(terminal: Terminal, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(progress, "PATIENCE", 60)
    with Progress("baking") as baking:
        baking.say("1 of 2")
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_nothing_is_said_elsewhere(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, stream: io.StringIO | None):
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    with Progress("baking") as baking:
        baking.say("1 of 2")
    assert stream is None or stream.getvalue() == ""


def test_the_environment_silences_it_or_is_wrong(terminal: Terminal, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_PROGRESS", "0")
    with Progress("baking") as baking:
        baking.say("1 of 2")
    assert terminal.getvalue() == ""
    monkeypatch.setenv("XDSL_RLX_PROGRESS", "loud")
    with pytest.raises(ConfigurationError, match="XDSL_RLX_PROGRESS must be 0 or 1, got 'loud'"):
        Progress("baking")


def test_compilation_counts_kernels_and_parts(terminal: Terminal):
    g = rlx.Graph("told")
    g.set_outputs([g.tanh(g.input("x", (3, 17)) @ g.input("w", (17, 5))) * 1.25])
    rlx.compile(g, threads=1)
    said = terminal.getvalue()
    assert "compiling: 1 of 1 kernels lowered" in said and "1 of 1 parts of machine code" in said
    assert said.endswith(CLEAR)
