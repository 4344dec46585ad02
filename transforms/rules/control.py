"""Rows of ops with regions."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.mir.control import FusionOp, VjpOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.transforms.rules.rows import decompose
from xdsl_rlx.transforms.rules.rule_table import VMAP

VMAP.exempt(VjpOp, "mir-emit-vjp replaces it by ops that have one")


@decompose(FusionOp)
def fusion_decompose(op: FusionOp, b: MirBuilder) -> Sequence[Value]:
    """The ops of the body, side by side with the rest."""
    block = op.body.block
    env: dict[SSAValue, SSAValue] = dict(zip(block.args, op.inputs, strict=True))
    *body, last = block.ops
    for inner in body:
        b.builder.insert(inner.clone(env))
    return [b.value(env[x]) for x in last.operands]
