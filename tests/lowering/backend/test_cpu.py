"""The processor that code is compiled for: levels, names, and what this machine cannot run."""

import os
import subprocess
import sys

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.machine import cpu
from xdsl_rlx.lowering.backend.machine.llvm import emit_assembly, host, target
from xdsl_rlx.lowering.run_errors import ConfigurationError

AVX2 = ("laptop", "+64bit,+avx,+avx2,+bmi,+bmi2,+cx16,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sahf,+sse3,+sse4.1,+sse4.2,"
        "+ssse3,+xsave,-avx512f,-avx512bw,-avx512cd,-avx512dq,-avx512vl,-pku")  # fmt: skip
"""A machine without AVX-512."""

AVX512 = AVX2[1].replace("-avx512", "+avx512")
"""The features of one with it."""

FMA = """
define <8 x float> @f(<8 x float> %x, <8 x float> %y, <8 x float> %z) {
  %r = call <8 x float> @llvm.fma.v8f32(<8 x float> %x, <8 x float> %y, <8 x float> %z)
  ret <8 x float> %r }
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)"""


def chosen(name: str, monkeypatch: pytest.MonkeyPatch, machine: tuple[str, str] = AVX2) -> tuple[str, str]:
    monkeypatch.setenv(cpu.VARIABLE, name)
    return cpu.choose(machine)


@pytest.mark.parametrize("name", ["", "native"])
def test_the_machine_itself_is_the_default(name: str, monkeypatch: pytest.MonkeyPatch):
    assert chosen(name, monkeypatch) == (AVX2[0], f"{AVX2[1]},+prefer-no-gather")
    monkeypatch.delenv(cpu.VARIABLE)
    assert target() == cpu.choose(host()) and target()[0] == host()[0]


def test_vectors_fill_the_registers_of_avx512_and_are_not_gathered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(cpu.VARIABLE, raising=False)
    for name in ("cascadelake", "znver4"):
        assert cpu.choose((name, "+avx2,+avx512vl"))[1] == "+avx2,+avx512vl,-prefer-256-bit,+prefer-no-gather"
    newer = "+avx2,+avx512vl,+amx-tile"
    assert cpu.choose(("sapphirerapids", newer))[1] == f"{newer},-prefer-256-bit"
    assert cpu.choose(("alderlake", "+avx2,-avx512vl"))[1] == "+avx2,-avx512vl,+prefer-no-gather"
    for host_ in (("nehalem", "+sse4.2"), ("apple-m1", "+neon")):
        assert cpu.choose(host_) == host_
    assert chosen("x86-64-v4", monkeypatch, ("server", AVX512)) == cpu.named("x86-64-v4", AVX2)
    assert cpu.named("x86-64-v4", AVX2) == ("x86-64-v4", "-prefer-256-bit")


def test_the_levels_that_a_machine_can_run():
    assert cpu.possible_levels(AVX2) == ["x86-64", "x86-64-v2", "x86-64-v3"]
    assert cpu.possible_levels(("arm", "+neon,-sve")) == []


def test_a_level_above_the_machine_says_what_is_lacking_and_what_is_possible(monkeypatch: pytest.MonkeyPatch):
    assert chosen("x86-64-v3", monkeypatch) == ("x86-64-v3", "")
    with pytest.raises(ConfigurationError) as caught:
        chosen("x86-64-v4", monkeypatch)
    assert str(caught.value) == (
        "XDSL_RLX_CPU: this machine (laptop) cannot run code for x86-64-v4, which needs avx512bw, avx512cd, avx512dq, "
        "avx512f, avx512vl; possible are native, x86-64, x86-64-v2, x86-64-v3, and the processors known to LLVM that "
        "have no more than this one"
    )


def test_a_name_is_known_to_llvm_or_an_error_of_our_own(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    """A processor may have what no compiler emits by itself (pku) and still be run here."""
    assert chosen("haswell", monkeypatch) == ("haswell", "")
    with pytest.raises(ConfigurationError, match=r"for skylake-avx512, which needs avx512f, .*possible are native, x8"):
        chosen("skylake-avx512", monkeypatch)
    for name in ("help", "x86-64-v9"):
        with pytest.raises(ConfigurationError, match=f"is '{name}', a processor that LLVM does not know; possible are"):
            chosen(name, monkeypatch)
    with pytest.raises(ConfigurationError, match="is 'a b', a processor"):
        chosen("a b", monkeypatch)
    assert capfd.readouterr() == ("", "")


def test_code_has_the_instructions_of_its_level_and_no_others(monkeypatch: pytest.MonkeyPatch):
    for level, has_fma in (("x86-64-v2", False), ("x86-64-v3", True)):
        if level in cpu.possible_levels(host()):
            monkeypatch.setenv(cpu.VARIABLE, level)
            assert ("vfmadd" in emit_assembly(FMA)) is has_fma


PROGRAM = """
import os
import numpy as np
import xdsl_rlx as rlx
g = rlx.Graph("f")
g.set_outputs([g.input("x", (3,)) * 2.0])
print(rlx.compile(g)(np.ones(3, np.float32))[0].sum(), rlx.compile(g).from_cache)
os.environ["XDSL_RLX_CPU"] = "x86-64-v9"
try:
    rlx.compile(g)
except rlx.RlxError as error:
    print(type(error).__name__)
"""


def test_a_process_runs_code_and_driver_of_a_level_and_hears_of_errors_from_us_alone():
    level = cpu.possible_levels(host())[0]
    environment = {**os.environ, cpu.VARIABLE: level}
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False
    )
    assert (ended.stdout, ended.stderr) == ("6.0 True\nConfigurationError\n", "")


def test_the_variable_may_change_within_a_process(monkeypatch: pytest.MonkeyPatch):
    g = rlx.Graph("g")
    g.set_outputs([g.input("x", (5,)) + 3.0])
    for level in ["native", *cpu.possible_levels(host())]:
        monkeypatch.setenv(cpu.VARIABLE, level)
        step = rlx.compile(g)
        assert not step.from_cache and rlx.compile(g).from_cache
        np.testing.assert_array_equal(step(np.ones(5, np.float32))[0], np.full(5, 4, np.float32))
