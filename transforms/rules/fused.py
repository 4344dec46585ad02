"""Rows of composite ops that are kept as one for speed: their decompositions, which all else follows from."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.mir.cast import CastOp
from xdsl_rlx.dialects.mir.elementwise import AddOp, MulOp, SiluOp, UnaryOp
from xdsl_rlx.dialects.mir.fused import (
    FusedMatmulBiasActOp,
    FusedResidualLnOp,
    FusedResidualNormOp,
    FusedResidualRmsNormOp,
    FusedSwigluOp,
)
from xdsl_rlx.dialects.mir.linalg import MatmulOp
from xdsl_rlx.dialects.mir.mir_builder import ACTIVATIONS, MirBuilder, Value
from xdsl_rlx.dialects.mir.norm import AffineNormOp, LayerNormOp, RmsNormOp
from xdsl_rlx.dialects.mir.shape import NarrowOp
from xdsl_rlx.dialects.shapes import FLOATS, broadcasts_to, element_of, shape_of
from xdsl_rlx.transforms.rules.elementwise import silu_slope
from xdsl_rlx.transforms.rules.raise_table import RAISE, Missed, Raised, Reason, Walk
from xdsl_rlx.transforms.rules.rows import aligned, decompose, leading, rebuilt
from xdsl_rlx.transforms.rules.rule_table import VJP, VMAP, Cotangent
from xdsl_rlx.transforms.rules.wide import is_half

for _op in (FusedResidualLnOp, FusedResidualRmsNormOp):
    leading(_op, shared=("bias", "gamma", "beta"))
leading(FusedSwigluOp)


@decompose(FusedMatmulBiasActOp)
def fused_matmul_bias_act_decompose(op: FusedMatmulBiasActOp, b: MirBuilder) -> Sequence[Value]:
    y = b.matmul(op.x, op.w) + op.bias
    return [y if op.activation is None else b.activation(y, op.activation.data)]


_KINDS = {op: kind for kind, op in ACTIVATIONS.items()}


@RAISE.rule(FusedMatmulBiasActOp, AddOp, *_KINDS, stage=Walk.PRODUCTS)
def fused_matmul_bias_act_raise(op: AddOp | UnaryOp) -> Raised | Missed | None:
    """A bias that makes the product larger is none."""
    total = op if isinstance(op, AddOp) else op.operand.owner
    if isinstance(total, FusedMatmulBiasActOp) and total.activation is None and total.result.has_one_use():
        return Raised((total.x, total.w, total.bias), lambda b: _fused(b, (total.x, total.w, total.bias), op))
    if not isinstance(total, AddOp) or (total is not op and not total.result.has_one_use()):
        return None
    missed = None
    for product, bias in ((total.lhs, total.rhs), (total.rhs, total.lhs)):
        matmul = product.owner
        # twice a product is no product and a bias
        if not isinstance(matmul, MatmulOp) or element_of(product) not in FLOATS or bias is product:
            continue
        if total is not op and not product.has_one_use():
            # that is said of the sum
            return None
        operands = matmul.lhs, matmul.rhs, bias
        if broadcasts_to(shape_of(bias), shape_of(product)):
            return Raised(operands, lambda b, operands=operands: _fused(b, operands, op))
        missed = Missed(Reason.SHAPE, "the bias would broadcast the matmul, which the op does not support")
    return missed


def _fused(b: MirBuilder, operands: tuple[SSAValue, SSAValue, SSAValue], last: AddOp | UnaryOp) -> Value:
    return b.op(FusedMatmulBiasActOp, *operands, None if isinstance(last, AddOp) else _KINDS[type(last)])


@VMAP.rule(FusedMatmulBiasActOp)
def fused_matmul_bias_act_vmap(
    op: FusedMatmulBiasActOp, b: MirBuilder, batched: Sequence[bool], size: int, *operands: Value
) -> Sequence[Value] | None:
    """The product is to have the axis: a bias cannot be larger than that."""
    return rebuilt(op, b, size, aligned(op, b, batched, operands)) if any(batched[:2]) else None


def _sum(op: FusedResidualNormOp, b: MirBuilder) -> Value:
    total = b.value(op.x) + op.residual
    return total if op.bias is None else total + op.bias


@decompose(FusedResidualLnOp)
def fused_residual_ln_decompose(op: FusedResidualLnOp, b: MirBuilder) -> Sequence[Value]:
    return [b.layer_norm(_sum(op, b), op.gamma, op.beta, -1, op.eps.value.data)]


@decompose(FusedResidualRmsNormOp)
def fused_residual_rms_norm_decompose(op: FusedResidualRmsNormOp, b: MirBuilder) -> Sequence[Value]:
    return [b.rms_norm(_sum(op, b), op.gamma, op.beta, -1, op.eps.value.data)]


@RAISE.rule(FusedResidualLnOp, LayerNormOp, stage=Walk.SUMS)
def fused_residual_ln_raise(op: LayerNormOp) -> Raised | Missed | None:
    return _residual(FusedResidualLnOp, op)


@RAISE.rule(FusedResidualRmsNormOp, RmsNormOp, stage=Walk.SUMS)
def fused_residual_rms_norm_raise(op: RmsNormOp) -> Raised | Missed | None:
    return _residual(FusedResidualRmsNormOp, op)


def _residual(kind: type[FusedResidualNormOp], op: AffineNormOp) -> Raised | Missed | None:
    """A norm of a sum of two values, and of a bias, along the last axis. A sum that others read is stored anyway."""
    total = op.x.owner
    if not isinstance(total, AddOp) or not op.x.has_one_use():
        return None
    bias, (x, residual) = None, total.operands
    for inner, vector in (total.operands, total.operands[::-1]):
        if isinstance(both := inner.owner, AddOp) and shape_of(vector) == shape_of(op.gamma) and inner.has_one_use():
            bias, (x, residual) = vector, both.operands
    if x.type != op.x.type or residual.type != op.x.type:
        return None
    if op.axis_index != len(shape_of(op.x)) - 1:
        return Missed(Reason.AXIS, "the norm of a sum is one op along the last axis only")
    operands = x, residual, op.gamma, op.beta, bias
    leaves = [value for value in operands if value is not None]
    return Raised(leaves, lambda b: b.op(kind, *operands, op.eps.value.data))


def _halves(op: FusedSwigluOp, b: MirBuilder) -> tuple[Value, Value]:
    """`up` and `gate`."""
    packed = b.value(op.packed)
    n = packed.shape[-1] // 2
    first, second = b.narrow(packed, -1, 0, n), b.narrow(packed, -1, n, n)
    return (first, second) if op.gate_first is None else (second, first)


@decompose(FusedSwigluOp)
def fused_swiglu_decompose(op: FusedSwigluOp, b: MirBuilder) -> Sequence[Value]:
    up, gate = _halves(op, b)
    return [b.cast(b.silu(gate) * up, element_of(op.result))]


@RAISE.rule(FusedSwigluOp, MulOp, CastOp, stage=Walk.SUMS)
def fused_swiglu_raise(op: MulOp | CastOp) -> Raised | None:
    """`silu` of one half along the last axis times the other; which is the gate is said by where it lies."""
    product = op if isinstance(op, MulOp) else op.operand.owner
    if not isinstance(product, MulOp) or (product is not op and not product.result.has_one_use()):
        return None
    if element_of(op.result) not in FLOATS:
        return None
    for gated, up in ((product.lhs, product.rhs), (product.rhs, product.lhs)):
        silu, second = gated.owner, up.owner
        first = silu.operand.owner if isinstance(silu, SiluOp) else None
        if not isinstance(first, NarrowOp) or not isinstance(second, NarrowOp) or first.operand is not second.operand:
            continue
        packed, n = first.operand, shape_of(first.operand)[-1] // 2
        last = len(shape_of(packed)) - 1
        if 2 * n == shape_of(packed)[-1] and {first.bounds, second.bounds} == {(last, 0, n), (last, n, n)}:
            gate_first = first.bounds[1] == 0 and n > 0
            if isinstance(cast := packed.owner, CastOp) and is_half(op.result) and cast.operand.type != packed.type:
                packed = cast.operand if element_of(cast.operand) == element_of(op.result) else packed
            return Raised((packed,), lambda b, x=packed, g=gate_first: b.fused_swiglu(x, element_of(op.result), g))
    return None


@VJP.rule(FusedSwigluOp)
def fused_swiglu_vjp(op: FusedSwigluOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """The halves side by side: the transposes of two narrows would pad both with zeros and add them."""

    def packed() -> Value:
        up, gate = _halves(op, b)
        gated, seed = b.silu(gate), b.cast(g, up.dtype)
        parts = [seed * gated, seed * up * silu_slope(b, gate)]
        return b.concat(parts if op.gate_first is None else parts[::-1], -1)

    return [packed]
