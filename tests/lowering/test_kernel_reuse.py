"""Equal groups and nests are lowered once, and the program is the one that lowering each of them gives."""

from collections.abc import Callable
from typing import Any

import pytest

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.lowering.bufferize.convert_mir_to_lir import ConvertMirToLirPass
from xdsl_rlx.lowering.bufferize.kernel_reuse import Site
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel
from xdsl_rlx.lowering.pipelines import remaining_passes
from xdsl_rlx.pass_cache import context


def layers(count: int) -> rlx.GraphModule:
    """The gradient of blocks with a norm, a product, attention with grouped heads, and a tail over slices."""
    g = rlx.Graph("layers")
    x = g.input("x", (1, 24, 32))
    zeros = g.full((32,), 0.0)
    for n in range(count):
        h = g.rms_norm(x, g.param(f"norm{n}", (32,)), zeros)
        q, k, v = (h @ g.param(f"{name}{n}", (32, width)) for name, width in (("q", 32), ("k", 16), ("v", 16)))
        a = g.attention(q, k, v, num_heads=4, num_kv_heads=2, mask_kind="causal")
        x = x + a @ g.param(f"o{n}", (32, 32))
    g.set_outputs([g.reduce_mean(x * x)])
    return rlx.grad_with_loss(g)


def steps(count: int) -> rlx.Graph:
    """A recurrence over slices of one value: equal groups whose operands start at different offsets of a buffer."""
    g = rlx.Graph("steps")
    xs, w = g.input("xs", (count, 40, 40)), g.param("w", (40, 40))
    h = g.full((40, 40), 0.0)
    for n in range(count):
        h = g.tanh(h @ w + xs[n])
    g.set_outputs([h])
    return g


def transforms(count: int) -> rlx.Graph:
    """Equal nests over one value, over its slices, and over a transposed one, which has to be copied first."""
    g = rlx.Graph("transforms")
    x, square = g.input("x", (count, 16, 16)), g.input("square", (16, 16))
    found = [g.cumsum(x[n], axis=1) for n in range(count)]
    g.set_outputs([*found, g.cumsum(square, axis=1), g.cumsum(g.transpose(square, [1, 0]), axis=1)])
    return g


def lowered(graph: Any, threads: int) -> str:
    module = as_graph_module(graph).module.clone()
    ctx = context()
    for one in remaining_passes(module, threads):
        one.apply(ctx, module)
    return str(module)


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("build", [layers, steps, transforms])
def test_sharing_leaves_the_program_as_it_is(
    build: Callable[[int], Any], threads: int, monkeypatch: pytest.MonkeyPatch
):
    shared = lowered(build(3), threads)
    make = Site.__init__

    def alone(self: Site, *args: Any, **options: Any) -> None:
        make(self, *args, **options)
        self.key = None

    monkeypatch.setattr(Site, "__init__", alone)
    assert lowered(build(3), threads) == shared


@pytest.mark.parametrize("build", [layers, steps])
def test_more_equal_layers_build_no_more_kernels(build: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch):
    built: list[Kernel] = []
    make = Kernel.__init__

    def note(self: Kernel, *args: Any) -> None:
        make(self, *args)
        built.append(self)

    monkeypatch.setattr(Kernel, "__init__", note)
    counts: list[int] = []
    for count in (4, 8):
        module = as_graph_module(build(count)).module.clone()
        ctx = context()
        for one in remaining_passes(module, 2):
            one.apply(ctx, module)
            if isinstance(one, ConvertMirToLirPass):
                break
        counts.append(len(built))
        built.clear()
    assert counts[0] == counts[1] > 0
