"""Runs the RUN lines of a FileCheck file inside this process: the fast loop beside the real `lit`.

Not here: any shell beyond pipes, `not`, `2>&1` and a final `> file`. Stages of other programs are subprocesses.
"""

import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser
from xdsl.ir import Attribute
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.xdsl_opt_main import xDSLOptMain

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Finished:
    """What a stage left behind: exit status and both streams as text."""

    status: int
    out: str
    err: str


@cache
def substitutions() -> tuple[tuple[str, str], ...]:
    """The short names that `lit.cfg` defines, in its order."""
    config = SimpleNamespace(substitutions=[], environment={})
    runpy.run_path(str(ROOT / "lit.cfg"), init_globals={"config": config})
    return tuple(config.substitutions)


def run_lines(path: Path) -> list[str]:
    """The RUN lines of a file, continuation lines joined."""
    found = re.findall(r"RUN:[ \t]*(.*?)[ \t]*$", path.read_text(), flags=re.MULTILINE)
    return re.sub(r"\\\n", " ", "\n".join(found)).splitlines()


def in_process(command: list[str], stdin: str) -> Finished:
    """Run `xdsl-opt` or `filecheck` in this process."""
    out, err = io.StringIO(), io.StringIO()
    status: object = 0
    # `--disable-verify` switches the check off by overwriting this method, for good.
    post_init = Attribute.__post_init__
    source = io.TextIOWrapper(io.BytesIO(stdin.encode()))
    with redirect_stdout(out), redirect_stderr(err), mock.patch("sys.stdin", source):
        try:
            if command[0] == "xdsl-opt":
                xDSLOptMain(args=command[1:]).run()
            else:
                options = parse_argv_options(list(command))
                status = Matcher(options, FInput("<stdin>", stdin), Parser.from_opts(options)).run()
        except SystemExit as stop:
            status = stop.code
        except (Exception, ArgSpecParseError):
            # What would end a process with a traceback, among it upstream's ArgSpecParseError, which is no Exception.
            traceback.print_exc()
            status = 1
        finally:
            Attribute.__post_init__ = post_init
    return Finished(status if isinstance(status, int) else int(status is not None), out.getvalue(), err.getvalue())


def _stage(command: list[str], stdin: str) -> Finished:
    if command[0] == "not":
        inner = _stage(command[1:], stdin)
        return Finished(int(inner.status == 0), inner.out, inner.err)
    merge = "2>&1" in command
    command = [word for word in command if word != "2>&1"]
    target = command[-1] if command[-2:-1] == [">"] else None
    command = command[:-2] if target else command
    if command[0] in ("xdsl-opt", "filecheck"):
        done = in_process(command, stdin)
    else:
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
        child = subprocess.run(command, input=stdin, capture_output=True, text=True, env={**os.environ, "PATH": path})
        done = Finished(child.returncode, child.stdout, child.stderr)
    if merge:
        done = Finished(done.status, done.err + done.out, "")
    if target:
        Path(target).write_text(done.out)
        done = Finished(done.status, "", done.err)
    return done


def run(line: str, path: Path, temporary: Path) -> str | None:
    """Run one RUN line of `path`; None when every stage succeeded, else what failed with its output."""
    for name, text in (*substitutions(), ("%s", str(path)), ("%t", str(temporary)), ("%S", str(path.parent))):
        line = line.replace(name, text)
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|")
    lexer.whitespace_split, lexer.commenters = True, ""
    stages: list[list[str]] = [[]]
    for word in lexer:
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    text, failures = "", list[str]()
    for command in stages:
        done = _stage(command, text)
        text = done.out
        if done.status:
            failures.append(f"{shlex.join(command)}\nexit status {done.status}\n{done.err}")
    return "\n".join([*failures, text[-4000:]]) if failures else None
