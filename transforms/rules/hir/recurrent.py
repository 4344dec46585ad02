"""Recurrent layers: scans, with the products by the inputs of all times in front."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.hir.recurrent import GruOp, LstmOp, Mamba2Op, RecurrentOp, RnnOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.rules.block_table import BLOCKS, FusionPolicy


def _time_first(b: MirBuilder, x: Value) -> Value:
    """`[B, T, ..]` as `[T, B, ..]`, and back."""
    return b.transpose(x, (1, 0, *range(2, x.rank)))


def _taken_in(op: RecurrentOp, b: MirBuilder, bias: Value | None) -> Value:
    """What the inputs of all times contribute to the gates, `[T, B, G H]`: one product in front of the scan."""
    product = b.matmul(_time_first(b, b.value(op.x)), op.w_ih)
    return product if bias is None else product + bias


def _bias(b: MirBuilder, op: RecurrentOp) -> Value | None:
    """The sum of the biases that there are."""
    given = [b.value(x) for x in (op.b_ih, op.b_hh) if x is not None]
    return given[0] + given[1] if len(given) == 2 else given[0] if given else None


def _starts(op: RecurrentOp, b: MirBuilder) -> tuple[Value, ...]:
    """The carries before the first time."""
    return tuple(b.zeros_like(op.h_n) if x is None else b.value(x) for x in op.starts)


def _gates(b: MirBuilder, x: Value, count: int) -> list[Value]:
    """The parts of `[B, G H]`."""
    width = x.shape[1] // count
    return [b.narrow(x, 1, k * width, width) for k in range(count)]


@BLOCKS.rule(RnnOp)
def rnn(op: RnnOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    def body(h: Value, taken: Value) -> tuple[Value, Value]:
        h = b.tanh(taken + h @ b.value(op.w_hh))
        return h, h

    h, outputs = b.scan(body, _starts(op, b)[0], _taken_in(op, b, _bias(b, op)))
    return [_time_first(b, outputs), h]


@BLOCKS.rule(LstmOp)
def lstm(op: LstmOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    def body(carry: tuple[Value, Value], taken: Value) -> tuple[tuple[Value, Value], Value]:
        h, c = carry
        i, f, g, o = _gates(b, taken + h @ b.value(op.w_hh), 4)
        c = b.sigmoid(f) * c + b.sigmoid(i) * b.tanh(g)
        h = b.sigmoid(o) * b.tanh(c)
        return (h, c), h

    (h, c), outputs = b.scan(body, _starts(op, b), _taken_in(op, b, _bias(b, op)))
    return [_time_first(b, outputs), h, c]


@BLOCKS.rule(GruOp)
def gru(op: GruOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    bias = None if op.b_hh is None else b.value(op.b_hh)

    def body(h: Value, taken: Value) -> tuple[Value, Value]:
        product = h @ b.value(op.w_hh)
        (p_r, p_z, p_n), (u_r, u_z, u_n) = (
            _gates(b, x, 3) for x in (taken, product if bias is None else product + bias)
        )
        r, z = b.sigmoid(p_r + u_r), b.sigmoid(p_z + u_z)
        n = b.tanh(p_n + r * u_n)
        h = n + z * (h - n)
        return h, h

    taken = _taken_in(op, b, None if op.b_ih is None else b.value(op.b_ih))
    h, outputs = b.scan(body, _starts(op, b)[0], taken)
    return [_time_first(b, outputs), h]


@BLOCKS.rule(Mamba2Op)
def mamba2(op: Mamba2Op, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    """Half floats are computed in f32."""
    batch, times, heads, width = shape_of(op.x)
    wide = element_of(op.h_n)

    def over_time(x: SSAValue, *extents: int) -> Value:
        return b.reshape(_time_first(b, b.cast(x, wide)), (times, batch, *extents))

    a = b.reshape(b.cast(op.a, wide), (heads, 1, 1))
    d = None if op.d is None else b.reshape(b.cast(op.d, wide), (heads, 1, 1))
    places = shape_of(op.b)[2]
    rows = (over_time(x, 1, 1, places) for x in (op.b, op.c))
    xs = over_time(op.x, heads, width, 1), over_time(op.dt, heads, 1, 1), *rows

    def body(h: Value, element: tuple[Value, ...]) -> tuple[Value, Value]:
        x, dt, bt, ct = element
        h = b.exp(dt * a) * h + dt * x * bt
        y = b.reduce_sum(h * ct, axes=[3], keep_dim=True)
        return h, y if d is None else y + d * x

    start = b.zeros_like(op.h_n) if op.h0 is None else b.value(op.h0)
    h, outputs = b.scan(body, start, xs)
    outputs = b.reshape(outputs, (times, batch, heads, width))
    return [b.cast(_time_first(b, outputs), element_of(op.x)), h]
