"""Kernel by kernel, a module becomes what a pipeline makes of it."""

import models
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline

import xdsl_rlx as rlx
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.lowering.fingerprint import fingerprint
from xdsl_rlx.lowering.kernel_pass import lower_by_kernel
from xdsl_rlx.lowering.loops.lir_check_bounds import LirCheckBoundsPass
from xdsl_rlx.lowering.pipelines import remaining_passes


def looped() -> ModuleOp:
    """A scan with a product in its body, which tiles and outlining make one kernel."""
    g = rlx.Graph("looped")
    w, xs = g.param("w", (9, 9)), g.input("xs", (5, 3, 9))
    last, ys = g.scan(lambda h, x: (g.tanh(x + h @ w), h), g.full((3, 9), 0.0), xs)
    g.set_outputs([last, ys])
    return g.module


def products() -> ModuleOp:
    """Several kernels of several kinds."""
    g = rlx.Graph("products")
    w, x = g.param("w", (40, 40)), g.input("x", (64, 40))
    g.set_outputs([g.reduce_sum(g.sin(g.gelu(x @ w) @ w))])
    return rlx.grad_with_loss(g, ["w"]).module


def masked() -> ModuleOp:
    """Blocks of queries that see different numbers of keys, of which the library is told where they end."""
    g = rlx.Graph("masked")
    g.set_outputs(g.attention(*(g.input(name, (1, 70, 16)) for name in "qkv"), head_dim=16, mask_kind="causal"))
    return g.module


@pytest.mark.sampled
@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("make", [lambda: models.norm_step().module, products, looped, masked])
def test_the_module_is_that_of_a_pipeline(make, checked: bool):
    whole, single = make().clone(), make().clone()
    passes = [*remaining_passes(whole, 2), *([LirCheckBoundsPass()] if checked else [])]
    PassPipeline(tuple(passes)).apply(context(), whole)
    kernels = [*lower_by_kernel(context(), single, passes)]
    single.verify()
    assert fingerprint(single) == fingerprint(whole)
    assert (checked and make is masked) == any(op.name == "lir.check" for op in whole.walk())
    assert sorted(kernel.sym_name.data for kernel in kernels) == sorted(
        op.sym_name.data for op in whole.ops if op.name == "lir.kernel"
    )


def test_a_kernel_is_done_before_the_next_is_begun():
    module = products().clone()
    first = next(kernels := lower_by_kernel(context(), module, remaining_passes(module, 2)))
    assert "lir.unroll" in str(first) and "lir.unroll" not in "".join(
        str(op) for op in module.ops if op.name == "lir.kernel" and op is not first
    )
    assert len([*kernels]) == sum(op.name == "lir.kernel" for op in module.ops) - 1


def _model() -> rlx.Graph:
    g = rlx.Graph("f")
    x, w = g.input("x", (4, 3)), g.param("w", (3, 2))
    g.set_outputs([g.reduce_sum(g.tanh(x @ w))])
    return g


def test_named_pipelines_are_the_python_functions():
    g = _model()
    assert str(rlx.run_passes(g, "rlx-grad{wrt=w,x}")) == str(rlx.grad_with_loss(g, ["w", "x"]))
    assert str(rlx.run_passes(g, "rlx-grad{loss=false}")) == str(rlx.grad(g))
    assert str(rlx.run_passes(g, "rlx-jvp{wrt=x}")) == str(rlx.jvp(g, "x"))
    assert str(rlx.run_passes(g, "rlx-to-lir{threads=2}")) == str(rlx.lower(g, 2))


def test_a_launch_is_for_at_least_one_thread():
    with pytest.raises(rlx.GraphError, match="rlx-to-lir: threads must be at least 1, got 0"):
        rlx.lower(_model(), 0)
