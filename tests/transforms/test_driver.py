"""The driver of patterns: new ops stand where the op stood that they are for, and what never comes to rest is named."""

from collections.abc import Callable

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.utils.exceptions import PassFailedException

import xdsl_rlx as rlx
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.dialects.mir import elementwise
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.transforms.driver import RewritingPass, rewrite, run_in_order, run_once, run_to_fixpoint, sweep
from xdsl_rlx.transforms.mir_cse import MirCsePass


class SinOfCos(RewritePattern):
    """`sin x` as `cos (cos x)`, and the other way round."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: elementwise.SinOp | elementwise.CosOp, rewriter: PatternRewriter) -> None:
        b = MirBuilder(rewriter)
        other = b.cos if isinstance(op, elementwise.SinOp) else b.sin
        rewriter.replace(op, [], [other(op.operand).ssa])


class Swap(RewritingPass):
    """Never at rest."""

    name = "swap"

    def run(self, ctx: object, module: object) -> bool:
        return True


def graph() -> rlx.GraphModule:
    g = rlx.Graph("wave")
    x = g.input("x", (3,))
    g.set_outputs([g.sin(x)])
    return g.module


def test_what_a_pattern_inserts_stands_where_its_op_stood() -> None:
    module = graph().clone()
    (before,) = [op.location for op in module.walk() if op.name == "mir.sin"]
    assert sweep(module, SinOfCos())
    assert [op.location for op in module.walk() if op.name == "mir.cos"] == [before]
    assert "test_driver.py" in str(before)


def test_a_sweep_leaves_what_its_patterns_insert() -> None:
    module = graph().clone()
    assert sweep(module, SinOfCos())
    assert not any(op.name == "mir.sin" for op in module.walk())


def test_patterns_that_undo_each_other_are_named() -> None:
    with pytest.raises(PassFailedException, match="SinOfCos did not converge in 64 rounds, but led back to mir"):
        rewrite(graph().clone(), SinOfCos())


def test_passes_that_never_rest_are_named() -> None:
    with pytest.raises(PassFailedException, match="swap did not converge in 64 rounds"):
        run_to_fixpoint(context(), graph().clone(), [Swap()])


class UseBeforeDefinition(RewritingPass):
    """Move the sine behind the cosine that uses it, or back."""

    name = "use-before-definition"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        first, second = (op for op in module.walk() if op.name in ("mir.sin", "mir.cos"))
        block = second.parent
        assert block is not None
        second.detach()
        block.insert_op_before(second, first)
        return True


@pytest.mark.parametrize("run", [run_once, run_in_order])
def test_a_pass_that_breaks_a_module_is_named_if_that_is_asked_for(
    run: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second pass mends the module again, so that it verifies at the end."""
    g = rlx.Graph("wave")
    g.set_outputs([g.cos(g.sin(g.input("x", (3,))))])
    monkeypatch.setenv("XDSL_RLX_CHECK", "0")
    run(context(), g.module.clone(), [UseBeforeDefinition(), UseBeforeDefinition()])
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
    with pytest.raises(AssertionError, match=r"use-before-definition leaves a module that does not verify: .*mir.cos"):
        run(context(), g.module.clone(), [UseBeforeDefinition(), UseBeforeDefinition()])
    run(context(), g.module.clone(), [MirCsePass()])
