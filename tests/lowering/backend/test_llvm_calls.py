"""Chains of a mathlib function: which become calls of its vector version, and that these give the same bits."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.llvm import llvm_calls
from xdsl_rlx.lowering.backend.machine.llvm import LIBRARY

Chain = Callable[[Any], Any]
Array = np.ndarray[Any, Any]
TIMES = llvm_calls.LEAST_CALLS
LENGTHS = (63, 1000)


def repeated(link: Chain) -> Chain:
    def chain(x: Any) -> Any:
        for _ in range(TIMES):
            x = link(x)
        return x

    return chain


CHAINS: dict[str, Chain] = {
    "sin": lambda x: np.sin(x) * 3,
    "tan": np.tan,
    "exp": lambda x: np.exp(-x),
    "log1p": lambda x: np.log1p(x * x),
    "erf": lambda x: rlx.special.erf(x * 2),
    "digamma": lambda x: rlx.special.digamma(x) + 1,
    "pow": lambda x: (x * x) ** (x * 0.5),
    "chosen": lambda x: np.where(x > 0, np.tanh(x) + 1, x * 2),
}


INLINED: dict[str, Callable[[Any, Any], Any]] = {
    "few": lambda g, x: g.exp(g.exp(g.exp(x))),
    "different": lambda g, x: g.exp(g.sin(g.tanh(g.log1p(x)))),
    "sum": lambda g, x: g.reduce_sum(repeated(g.exp)(x)),
    "strided": lambda g, x: repeated(g.exp)(g.transpose(g.reshape(x, (25, 40)), (1, 0))),
    "short": lambda g, x: repeated(g.exp)(g.softmax(g.reshape(x, (40, 25)))),
}


def arguments(dtype: Any, length: int) -> Array:
    x = np.random.default_rng(0).normal(scale=3, size=length).astype(dtype)
    x[:6] = 1e9, -3e7, np.inf, -np.inf, np.nan, -0.0
    return x


def graph_of(build: Callable[[Any, Any], Any], dtype: str = "f32") -> rlx.Graph:
    graph = rlx.Graph("step")
    graph.set_outputs([build(graph, graph.input("x", (1000,), dtype))])
    return graph


def text_of(build: Callable[[Any, Any], Any], dtype: str = "f32") -> str:
    return rlx.llvm_source(graph_of(build, dtype))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CHAINS)
def test_a_call_gives_the_bits_of_the_inlined_function(
    name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chain, given = repeated(CHAINS[name]), [arguments(dtype, length) for length in LENGTHS]
    called = [rlx.compile(chain, threads=1)(x) for x in given]
    monkeypatch.setattr(llvm_calls, "LEAST_CALLS", 1000)
    monkeypatch.setattr(llvm_calls, "LARGE", 1 << 20)
    monkeypatch.setenv("XDSL_RLX_CACHE_DIR", str(tmp_path))
    inlined = [rlx.compile(chain, threads=1)(x) for x in given]
    for ours, theirs in zip(called, inlined, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        # a NaN of either sign is NaN
        np.testing.assert_array_equal(np.signbit(ours) & (ours == ours), np.signbit(theirs) & (theirs == theirs))


@pytest.mark.parametrize(("dtype", "lanes"), [("f32", 64), ("f64", 32)])
def test_chains_call_a_version_for_vectors(dtype: str, lanes: int) -> None:
    text = text_of(lambda g, x: repeated(g.exp)(x), dtype=dtype)
    assert text.count(f"({LIBRARY}exp_{dtype}_x{lanes})") == TIMES
    assert len(re.findall(rf"define internal <{lanes} x \w+> @{LIBRARY}exp_{dtype}_x{lanes}\(", text)) == 1
    assert len(re.findall(r"call \w+ @rlx_exp_", text)) == 2  # in the versions


@pytest.mark.optimised
def test_one_large_function_is_a_call() -> None:
    text = text_of(lambda g, x: g.digamma(x))
    assert text.count(f"({LIBRARY}digamma_f32_x64)") == 1
    body = rlx.asm_source(graph_of(lambda g, x: g.digamma(x))).split(f"\n{LIBRARY}digamma_f32_x64:")[1]
    # it computes in f64
    assert len(re.findall(r"\bv?mulpd\b", body)) > 10


def test_a_version_tries_the_variant_for_small_arguments_first() -> None:
    """So the loop for large arguments behind a chain is never reached, and LLVM removes it."""
    text = text_of(lambda g, x: repeated(g.sin)(x))
    assert text.count(f"({LIBRARY}sin_f32_x64)") == 2 * TIMES and f"{LIBRARY}sin_small" not in text
    assembly = rlx.asm_source(graph_of(lambda g, x: repeated(g.sin)(x)))
    address = re.search(rf"movabsq\s+\${LIBRARY}sin_f32_x64, %(\w+)", assembly)
    calls = re.findall(rf"callq\s+(?:\*%(\w+)|{LIBRARY}sin_f32_x64)", assembly)
    assert address is None or calls.count(address[1]) == TIMES


def test_llvm_calls_the_version() -> None:
    text = rlx.asm_source(graph_of(lambda g, x: repeated(g.exp)(x)))
    assert f"{LIBRARY}exp_f32_x64" in text
    # there are no lanes left over
    assert f"{LIBRARY}exp_f32:" not in text


@pytest.mark.parametrize("name", INLINED)
def test_other_loops_inline(name: str) -> None:
    assert LIBRARY not in text_of(INLINED[name])
