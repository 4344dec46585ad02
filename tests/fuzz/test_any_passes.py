"""Every pass, on every module that verifies, ends in a module that verifies or in a diagnostic."""

import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

import xdsl_rlx as rlx

sys.path.insert(0, str(Path(__file__).parent))

import any_passes

MODULES_OF_TEN = 1
"""Modules that are looked at, of each ten cases: each goes through every pass."""

CHANGED_OF_TEN = 7
"""Changed modules, of each ten cases."""


def test_passes_take_every_module_that_verifies(pytestconfig: pytest.Config):
    everything = [*any_passes.sample_modules(), *any_passes.text_modules()]
    count = min(int(pytestconfig.option.fuzz_cases) * MODULES_OF_TEN // 10, len(everything))
    for name, source in Random(1).sample(everything, count):
        module = any_passes.parsed(source) if isinstance(source, str) else source
        for spec in any_passes.specs():
            if module is not None and spec not in any_passes.SLOW:
                assert (fault := any_passes.run(module, spec)) is None, f"{name}, {spec}: {fault}"


def test_passes_take_changed_modules(pytestconfig: pytest.Config):
    for seed in range(int(pytestconfig.option.fuzz_cases) * CHANGED_OF_TEN // 10):
        assert not (faults := any_passes.faults_of(seed)), "\n".join(faults)


@pytest.mark.parametrize("axes", [[0, 2], [0, 2, 3], [1, 3], [0, 1, 3]])
@pytest.mark.parametrize("kind", ["prod", "sum", "max", "min", "mean"])
def test_a_reduction_over_separate_axes_is_fused_as_it_is(kind: str, axes: list[int]):
    g = rlx.Graph("reduced")
    x = g.input("x", (3, 4, 5, 2), "f64")
    g.set_outputs([getattr(g, f"reduce_{kind}")(x, axes)])
    given = np.random.default_rng(0).uniform(0.5, 1.5, (3, 4, 5, 2))
    lowered = ("mir-fuse,convert-mir-to-lir,lir-plan-memory", "convert-mir-to-lir,lir-plan-memory")
    # a mean is a sum and a division, which mir-decompose makes of it
    for passes in ("mir-fuse", *(lowered if kind != "mean" else ())):
        (found,) = rlx.compile(rlx.run_passes(g, passes))(given)
        np.testing.assert_allclose(found, getattr(np, kind)(given, tuple(axes)), rtol=1e-12)


def test_a_convolution_of_lines_is_lowered_as_it_is():
    g = rlx.Graph("lines")
    x, w = g.input("x", (2, 3, 9), "f64"), g.input("w", (4, 3, 3), "f64")
    g.set_outputs([g.conv(x, w)])
    rng = np.random.default_rng(0)
    given, weights = rng.random((2, 3, 9)), rng.random((4, 3, 3))
    windows = np.lib.stride_tricks.sliding_window_view(given, 3, axis=2)
    for passes in ("mir-fuse", "mir-fuse,convert-mir-to-lir,lir-plan-memory", "convert-mir-to-lir,lir-plan-memory"):
        (found,) = rlx.compile(rlx.run_passes(g, passes))(given, weights)
        np.testing.assert_allclose(found, np.einsum("bcnk,ock->bon", windows, weights), rtol=1e-12)


def _doubled(g: rlx.Graph, x: rlx.Value) -> rlx.Value:
    def is_small(c: rlx.Value) -> rlx.Value:
        return c < 9.0

    def double(c: rlx.Value) -> rlx.Value:
        return c * 2.0

    return g.while_loop(is_small, double, x, max_iterations=0)


def test_a_loop_without_iterations_gives_what_it_begins_with():
    g = rlx.Graph("none")
    x = g.param("x", ())
    g.set_outputs([_doubled(g, x)])
    for passes in ("mir-fuse", "mir-unroll-while", "mir-prepare-for-ad", "mir-fuse,convert-mir-to-lir,lir-plan-memory"):
        (found,) = rlx.compile(rlx.run_passes(g, passes))(np.float32(3))
        assert found == 3
    assert [float(y) for y in rlx.compile(rlx.grad_with_loss(g, ["x"]))(np.float32(3))] == [3, 1]
    assert [*map(float, rlx.compile(rlx.jvp(g, ["x"]))(x=np.float32(3), tangent_x=np.float32(5)))] == [3, 5]
    np.testing.assert_array_equal(rlx.compile(rlx.vmap(g, ["x"], 2))(np.array([3, 4], np.float32))[0], [3, 4])


@pytest.mark.parametrize("shape", ["9223372036854775807", "4611686018427387904x4", "18446744073709551616"])
def test_extents_beyond_all_memory_are_told(shape: str):
    type_ = f"tensor<{shape}xf32>"
    text = f"""func.func @f(%x: {type_} {{mir.name = "x", mir.kind = "input"}}) -> {type_} {{
      %y = mir.tanh %x : {type_}
      func.return %y : {type_}
    }}"""
    for spec in ("mir-fuse", "mir-grad{wrt=x}", "mir-vmap{inputs=x size=8}", "convert-mir-to-lir"):
        with pytest.raises(rlx.GraphError, match="more elements than a process can address"):
            rlx.run_passes(rlx.parse(text), spec)


NESTED = {
    "regions": ('"builtin.module"() ({', "", "}) : () -> ()"),
    "arrays": ("[", "", "]"),
    "dictionaries": ("{b = ", "1", "}"),
    "types": ("tuple<", "f32", ">"),
}


@pytest.mark.parametrize("depth", [200, 20_000])
@pytest.mark.parametrize("kind", NESTED)
def test_deeply_nested_text_is_told(kind: str, depth: int):
    opening, inner, closing = NESTED[kind]
    text = opening * depth + inner + closing * depth
    with pytest.raises(rlx.GraphError, match="nested more than 100 deep"):
        rlx.parse(text if kind == "regions" else f"builtin.module attributes {{a = {text}}} {{}}")


def test_locations_and_brackets_in_strings():
    with pytest.raises(rlx.GraphError, match="nested more than 100 deep"):
        rlx.parse("builtin.module {} loc(" + '"a"(' * 2000 + "unknown" + ")" * 2001)
    rlx.parse('builtin.module attributes {a = "' + "([{<" * 200 + '"} {} // ' + "(" * 200)


def test_regions_inside_of_each_other_go_through_passes(pytestconfig: pytest.Config):
    g = rlx.Graph("deep")
    x, k = g.param("x", (2,)), g.input("k", (), "i1")

    def deeper(depth: int, y: rlx.Value) -> rlx.Value:
        return g.cond(k, lambda: deeper(depth - 1, g.sin(y)), lambda: y) if depth else y

    g.set_outputs([deeper(12, x)])
    module = rlx.parse(str(g))
    for spec in any_passes.specs() if int(pytestconfig.option.fuzz_cases) > 1000 else any_passes.PIPELINES:
        assert any_passes.run(module, spec) is None, spec


def test_long_chains_go_through_passes(pytestconfig: pytest.Config):
    """Values that hang on each other one by one, deeper than Python's calls may be."""
    g = rlx.Graph("chain")
    x = g.param("x", (4,))
    y = x
    for _ in range(1200):
        y = y + x
    g.set_outputs([y])
    module = g.module
    for spec in any_passes.specs() if int(pytestconfig.option.fuzz_cases) > 1000 else any_passes.PIPELINES[1:2]:
        assert any_passes.run(module, spec) is None, spec
