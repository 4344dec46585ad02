"""Rows of transformer blocks: their decompositions, which all else follows from."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.attention import AttentionOp, MaskKind
from xdsl_rlx.dialects.mir.core import Activation
from xdsl_rlx.dialects.mir.elementwise import AddOp, UnaryOp
from xdsl_rlx.dialects.mir.fused import FusedMatmulBiasActOp
from xdsl_rlx.dialects.mir.heads import HeadLayout
from xdsl_rlx.dialects.mir.linalg import MatmulOp
from xdsl_rlx.dialects.mir.mir_builder import ACTIVATIONS, MirBuilder, Value
from xdsl_rlx.dialects.mir.norm import LayerNormOp
from xdsl_rlx.dialects.mir.rope import Pairing, RopeOp
from xdsl_rlx.dialects.mir.shape import NarrowOp
from xdsl_rlx.dialects.mir.transformer import FusedAttentionBlockOp, FusedTransformerLayerOp
from xdsl_rlx.dialects.shapes import element_of, i1, shape_of
from xdsl_rlx.transforms.canonicalize.mir import splat
from xdsl_rlx.transforms.rules.raise_table import RAISE, Raised, Walk
from xdsl_rlx.transforms.rules.rows import decompose
from xdsl_rlx.transforms.rules.rule_table import INERT

_THRESHOLD = "a mask says which keys are seen"

INERT.add(
    FusedAttentionBlockOp, "mask", _THRESHOLD, lambda op: isinstance(op, FusedAttentionBlockOp) and op.mask is not None
)
INERT.add(
    FusedTransformerLayerOp,
    "mask",
    _THRESHOLD,
    lambda op: isinstance(op, FusedTransformerLayerOp) and op.mask is not None,
)


@decompose(FusedAttentionBlockOp)
def fused_attention_block_decompose(op: FusedAttentionBlockOp, b: MirBuilder) -> Sequence[Value]:
    heads = op.heads
    width = heads.heads * heads.width
    qkv = b.matmul(op.hidden, op.qkv_w)
    if op.qkv_b is not None:
        qkv = qkv + op.qkv_b
    q, k, v = (b.narrow(qkv, 2, i * width, width) for i in range(3))
    if op.cos is not None and op.sin is not None:
        n_rot = heads.width // 2 * 2
        q, k = (b.rope(x, op.cos, op.sin, num_heads=heads.heads, n_rot=n_rot) for x in (q, k))
    seen = b.attention(q, k, v, op.mask, num_heads=heads.heads)
    out = b.matmul(seen, op.out_w)
    return [out if op.out_b is None else out + op.out_b]


@decompose(FusedTransformerLayerOp)
def fused_transformer_layer_decompose(op: FusedTransformerLayerOp, b: MirBuilder) -> Sequence[Value]:
    heads = op.num_heads.value.data
    block = b.fused_attention_block(
        op.hidden, op.qkv_w, op.out_w, op.mask, num_heads=heads, qkv_b=op.qkv_b, out_b=op.out_b
    )
    first = b.zeros_like(op.ln1_g) if op.ln1_b is None else op.ln1_b
    h = b.layer_norm(block + op.hidden, op.ln1_g, first, -1, op.eps1.value.data)
    inner = b.matmul(h, op.fc1_w)
    if op.fc1_b is not None:
        inner = inner + op.fc1_b
    y = b.matmul(b.activation(inner, None if op.activation is None else op.activation.data), op.fc2_w)
    if op.fc2_b is not None:
        y = y + op.fc2_b
    second = b.zeros_like(op.ln2_g) if op.ln2_b is None else op.ln2_b
    return [b.layer_norm(y + h, op.ln2_g, second, -1, op.eps2.value.data)]


@dataclass(frozen=True)
class _Linear:
    """`x @ w`, with a bias or without."""

    x: SSAValue
    w: SSAValue
    bias: SSAValue | None = None


def _linears(y: SSAValue) -> Iterator[_Linear]:
    """What a value may be as a product; a bias is a vector."""
    op = y.owner
    if isinstance(op, MatmulOp):
        yield _Linear(op.lhs, op.rhs)
    elif isinstance(op, FusedMatmulBiasActOp) and op.activation is None and len(shape_of(op.bias)) == 1:
        yield _Linear(op.x, op.w, op.bias)
    elif isinstance(op, AddOp):
        for product, bias in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if isinstance(matmul := product.owner, MatmulOp) and len(shape_of(bias)) == 1:
                yield _Linear(matmul.lhs, matmul.rhs, bias)


@dataclass(frozen=True)
class _Block:
    """The operands of an attention with its projections, and the number of heads."""

    qkv: _Linear
    out: _Linear
    mask: SSAValue | None
    heads: int
    tables: tuple[SSAValue, SSAValue] | None

    def operands(self) -> list[SSAValue | None]:
        """Those of the op, in its order."""
        qkv, out = self.qkv, self.out
        return [qkv.x, qkv.w, out.w, self.mask, qkv.bias, out.bias, *(self.tables or (None, None))]


def _block_of(y: SSAValue) -> _Block | None:
    """The attention with its projections that a value is."""
    if isinstance(op := y.owner, FusedAttentionBlockOp):
        tables = None if op.cos is None or op.sin is None else (op.cos, op.sin)
        qkv, out = _Linear(op.hidden, op.qkv_w, op.qkv_b), _Linear(op.hidden, op.out_w, op.out_b)
        return _Block(qkv, out, op.mask, op.num_heads.value.data, tables)
    for out in _linears(y):
        attention = out.x.owner
        if not isinstance(attention, AttentionOp) or not _is_plain(attention):
            continue
        heads, width = attention.extents.heads, attention.extents.width
        (q, tables), (k, others) = _unrotated(attention.q, heads, width), _unrotated(attention.k, heads, width)
        packed = _thirds((q, k, attention.v), heads * width)
        for qkv in _linears(packed) if packed is not None and tables == others else ():
            return _Block(qkv, out, attention.mask, heads, tables)
    return None


def _is_plain(op: AttentionOp) -> bool:
    """Whether an attention is one that a block has: of as many heads in keys, and not scaled otherwise."""
    by_mask = op.kind == MaskKind.NONE or (
        op.mask is not None and op.kind == MaskKind.CUSTOM and element_of(op.mask) == i1
    )
    scaled = op.score_scale is not None or op.softcap is not None
    return by_mask and not scaled and op.layout.data == HeadLayout.PACKED and op.extents.group == 1


def _unrotated(x: SSAValue, heads: int, width: int) -> tuple[SSAValue, tuple[SSAValue, SSAValue] | None]:
    """What is rotated whole, and by which tables; the value itself if it is not."""
    op = x.owner
    if not isinstance(op, RopeOp) or (op.layout.data, op.pairing.data) != (HeadLayout.PACKED, Pairing.HALVES):
        return x, None
    if (op.num_heads.value.data, op.n_rot.value.data) != (heads, width // 2 * 2):
        return x, None
    return op.x, (op.cos, op.sin)


def _thirds(parts: Sequence[SSAValue], width: int) -> SSAValue | None:
    """What these are the first, second and last part of, all of that width."""
    owners = [x.owner for x in parts]
    narrows = [op for op in owners if isinstance(op, NarrowOp)]
    if [op.bounds for op in narrows] != [(2, width * i, width) for i in range(3)]:
        return None
    packed = narrows[0].operand
    whole = all(op.operand is packed for op in narrows) and shape_of(packed)[-1] == 3 * width
    return packed if whole else None


def _raised(operands: Sequence[SSAValue | None], build: Callable[[], Operation]) -> Raised | None:
    """The op, if it takes the operands."""
    try:
        build().erase()
    except VerifyException:
        return None
    leaves = [value for value in operands if value is not None]
    return Raised(leaves, lambda b: b.value(b.builder.insert(build()).results[0]))


@RAISE.rule(FusedAttentionBlockOp, MatmulOp, AddOp, FusedMatmulBiasActOp, stage=Walk.BLOCKS)
def fused_attention_block_raise(op: MatmulOp | AddOp | FusedMatmulBiasActOp) -> Raised | None:
    found = _block_of(op.result)
    if found is None:
        return None
    hidden, qkv_w, out_w, mask, *others = found.operands()
    assert hidden is not None and qkv_w is not None and out_w is not None
    return _raised(
        found.operands(), lambda: FusedAttentionBlockOp(hidden, qkv_w, out_w, mask, found.heads, None, *others)
    )


_KINDS = {op: kind for kind, op in ACTIVATIONS.items()}


@RAISE.rule(FusedTransformerLayerOp, LayerNormOp, stage=Walk.BLOCKS)
def fused_transformer_layer_raise(op: LayerNormOp) -> Raised | None:
    """`norm2(f(h @ fc1_w + fc1_b) @ fc2_w + fc2_b + h)` with `h = norm1(block(x) + x)`."""
    for y, h in _summands(op):
        first = h.owner
        if not isinstance(first, LayerNormOp):
            continue
        found = [(second, *inner) for second in _linears(y) for inner in _activated(second.x) if inner[0].x is h]
        blocks = [(_block_of(z), hidden) for z, hidden in _summands(first)]
        for fc2, fc1, kind in found:
            for block, hidden in blocks:
                if block is not None and block.tables is None and block.qkv.x is hidden:
                    return _layer(block, (first, op), (fc1, fc2), kind)
    return None


def _summands(norm: LayerNormOp) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Of a norm along the last axis of a sum of two values of its shape, both, in both orders."""
    total = norm.x.owner
    if not isinstance(total, AddOp) or norm.axis_index != len(shape_of(norm.x)) - 1:
        return
    if total.lhs.type == total.rhs.type:
        yield total.lhs, total.rhs
        yield total.rhs, total.lhs


def _activated(x: SSAValue) -> Iterator[tuple[_Linear, Activation | None]]:
    """What a value may be as an activation of a product, or as a product."""
    op = x.owner
    for linear in _linears(x):
        yield linear, None
    if isinstance(op, FusedMatmulBiasActOp) and op.activation is not None and len(shape_of(op.bias)) == 1:
        yield _Linear(op.x, op.w, op.bias), op.activation.data
    if isinstance(op, UnaryOp) and (kind := _KINDS.get(type(op))) is not None:
        for linear in _linears(op.operand):
            yield linear, kind


def _layer(
    block: _Block, norms: tuple[LayerNormOp, LayerNormOp], fcs: tuple[_Linear, _Linear], kind: Activation | None
) -> Raised | None:
    (ln1, ln2), (fc1, fc2) = norms, fcs
    hidden, qkv_w, out_w, mask, qkv_b, out_b, *_ = block.operands()
    assert hidden is not None and qkv_w is not None and out_w is not None
    # zeros that are added are no offset, as the definition has them
    beta1, beta2 = (None if splat(x) == 0 else x for x in (ln1.beta, ln2.beta))
    eps = ln1.eps.value.data, ln2.eps.value.data
    weights = hidden, qkv_w, out_w, ln1.gamma, fc1.w, fc2.w, ln2.gamma
    biases = qkv_b, out_b, beta1, fc1.bias, fc2.bias, beta2
    operands = *weights, mask, *biases, ln1.beta, ln2.beta
    return _raised(operands, lambda: FusedTransformerLayerOp(*weights, mask, block.heads, None, *eps, kind, *biases))
