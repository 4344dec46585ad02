"""Blocks against what they mean in NumPy and JAX: values and gradients, for all fusion policies, and compiled."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics import jaxpr
from numerics.blocks import BlockSample, samples
from numerics.families import SAMPLES as MIR_SAMPLES
from numerics.sample import Sample, named
from oracle import Array, run
from rows import for_each
from xdsl.ir import Operation

import xdsl_rlx as rlx
from xdsl_rlx.builder import HirGraph, as_graph_module
from xdsl_rlx.dialects.hir import Hir
from xdsl_rlx.dialects.hir.block import OneOp
from xdsl_rlx.dialects.lir import LaunchOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module

jax.config.update("jax_enable_x64", True)

SAMPLES = samples()
EACH = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.id)


def gradients_in_jax(sample: BlockSample) -> list[Array]:
    """The derivatives of the loss by the operands that are differentiated."""

    def loss(*xs: object) -> object:
        return sample.expected(jnp, sample.arrays | dict(zip(sample.wrt, xs, strict=True)))[0]

    numbers = tuple(range(len(sample.wrt)))
    return jaxpr.evaluate(jax.grad(loss, numbers), *(sample.arrays[name] for name in sample.wrt))


def assert_all_close(found: list[Array], expected: list[Array], tol: float) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tol, atol=tol)


@EACH
def test_values_and_gradients(sample: BlockSample) -> None:
    module = sample.module()
    module.module.verify()
    expected, derivatives = sample.expected(np, sample.arrays), gradients_in_jax(sample)
    for policy in ("direct", "fusable"):
        lowered = rlx.lower_hir(module, policy)
        assert_all_close(run(lowered, **sample.arrays), expected, 1e-11)
        found = run(rlx.grad_with_loss(lowered, sample.wrt), **sample.arrays)
        assert_all_close(found[len(expected) :], derivatives, 1e-9)


FIRST = {sample.op: sample for sample in reversed(SAMPLES)}
FIRST_EACH = pytest.mark.parametrize("sample", FIRST.values(), ids=lambda sample: sample.id)


@FIRST_EACH
def test_gradients_are_slopes(sample: BlockSample) -> None:
    """Central differences of the loss along a direction in all operands, of what is compiled."""
    rng = np.random.default_rng(len(sample.id))
    along = {name: rng.standard_normal(sample.arrays[name].shape) for name in sample.wrt}
    compiled = compile_module(rlx.grad_with_loss(sample.module(), sample.wrt).module, 1, Effort.QUICK)
    count = len(sample.expected(np, sample.arrays))
    found = compiled(**sample.arrays)
    assert_all_close(list(found[:count]), sample.expected(np, sample.arrays), 1e-9)
    slope = sum(np.vdot(along[name], g) for name, g in zip(sample.wrt, found[count:], strict=True))
    step = 1e-5
    ends = [
        float(compiled(**sample.arrays | {name: sample.arrays[name] + sign * step * along[name] for name in along})[0])
        for sign in (1, -1)
    ]
    np.testing.assert_allclose((ends[0] - ends[1]) / (2 * step), slope, rtol=1e-6, atol=1e-6)


@FIRST_EACH
def test_composite_ops_are_compiled_to_the_same(sample: BlockSample) -> None:
    """What is compiled without a gradient has composite ops in it."""
    compiled = compile_module(sample.module().module, 1, Effort.QUICK)
    assert_all_close(list(compiled(**sample.arrays)), sample.expected(np, sample.arrays), 1e-9)


@FIRST_EACH
def test_a_batch_of_blocks(sample: BlockSample) -> None:
    """Two examples that differ in one operand, beside each by itself."""
    name = sample.wrt[0]
    several = np.stack([sample.arrays[name], 0.5 * sample.arrays[name] + 0.1])
    found = run(rlx.vmap(sample.module(), [name], 2), **sample.arrays | {name: several})
    for number, one in enumerate(several):
        assert_all_close([x[number] for x in found], sample.expected(np, sample.arrays | {name: one}), 1e-9)


@FIRST_EACH
def test_every_launch_says_where_it_comes_from(sample: BlockSample) -> None:
    """Of what a block and its gradient become, copies too."""

    def build(m: HirGraph) -> tuple[rlx.Value, ...]:
        with m.named("part"):
            return m.inline(sample.module())

    model = rlx.GraphModule.define("model", build)
    for graph in (model, rlx.grad_with_loss(model, sample.wrt)):
        ops = [op for op in rlx.lower(graph).module.walk() if isinstance(op, LaunchOp)]
        assert ops and not [op for op in ops if '"part"' not in str(op.location)]


@pytest.mark.parametrize(("dtype", "tol"), [("f16", 0.02), ("bf16", 0.15)])
def test_half_floats(dtype: str, tol: float) -> None:
    """Those of recurrent layers, whose states are wider, have tests of their own."""
    for sample in FIRST.values():
        if sample.op.__module__.endswith(".recurrent"):
            continue
        for policy in ("direct", "fusable"):
            _, *found = run(rlx.lower_hir(sample.module(dtype), policy), **sample.arrays)
            for ours, theirs in zip(found, sample.expected(np, sample.arrays)[1:], strict=True):
                np.testing.assert_allclose(ours.astype(np.float64), theirs, atol=tol, rtol=tol, err_msg=sample.id)


@EACH
def test_a_block_is_its_text(sample: BlockSample) -> None:
    module = sample.module()
    again = rlx.parse(str(module))
    assert again.is_structurally_equivalent(module.module)
    assert any(op.name == sample.op.name for op in again.walk())


def in_a_graph(sample: Sample, dtype: str, graph: type[rlx.Graph]) -> rlx.Graph:
    """What a sample of a mir op builds by the methods of a graph."""
    g = graph("f")
    arguments = [
        g.input(f"x{number}", operand.shape, operand.type_in(dtype)) for number, operand in enumerate(sample.operands)
    ]
    g.set_outputs(sample.results(g, *arguments))
    return g


@pytest.mark.parametrize("op", [op for op in Hir.operations if issubclass(op, OneOp)], ids=lambda op: op.name)
def test_a_block_that_is_one_op_takes_what_its_op_takes(op: type[Operation]) -> None:
    """All samples of the mir op, by the method of that name of a graph of blocks, mean what they mean in mir."""
    method, blocks = op.name.removeprefix("hir."), 0
    for sample in MIR_SAMPLES:
        # one of attention reads the second result of the mir op
        if sample.op.name != f"mir.{method}" or sample.id == "attention-lse":
            continue
        with named(sample, sample.dtypes[0]):
            model, graph = (in_a_graph(sample, sample.dtypes[0], kind) for kind in (HirGraph, rlx.Graph))
            blocks += str(model).count(f" {op.name} ")
            lowered = rlx.lower_hir(model) if blocks else model
            assert as_graph_module(lowered).module.is_structurally_equivalent(graph.module)
    assert blocks or not hasattr(MirBuilder, method), f"no sample of mir.{method} is built by its method"


@for_each(list(Hir.operations), lambda op: op.name)
def test_every_block_has_a_sample(op: type[Operation]) -> None:
    family = op.__module__.rsplit(".", 1)[-1]
    assert op in FIRST, f"add a sample of {op.name} to tests/numerics/blocks/{family}.py"
