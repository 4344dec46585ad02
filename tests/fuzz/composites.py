"""Random programs that spell composite ops out, and programs that almost do, from a seed. In f64.

Most dimensions are alike, so that a wrong axis fits and only the numbers tell. Not here: what is claimed about them
(test_composites.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf, pi, sqrt
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f64

import xdsl_rlx as rlx
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.transforms.driver import is_constant

Array = np.ndarray[Any, Any]
N = 4


@dataclass
class Speller:
    """A program under construction, its arguments' arrays, and values of shape `[N, N]` to go on with."""

    rng: np.random.Generator
    g: Any
    arrays: dict[str, Array] = field(default_factory=dict[str, Array])
    values: list[Any] = field(default_factory=list[Any])

    @property
    def graph_module(self) -> ModuleOp:
        """The program."""
        return self.g.module

    def argument(self, *shape: int) -> Any:
        name = f"a{len(self.arrays)}"
        self.arrays[name] = self.rng.standard_normal(shape)
        return self.g.input(name, shape, dtype="f64")

    def pick(self) -> Any:
        return self.values[int(self.rng.integers(len(self.values)))]

    def chance(self, often: float = 0.5) -> bool:
        return bool(self.rng.random() < often)

    def one_of(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def swapped(self, op: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        """A commutative op with its operands in either order."""
        return op(a, b) if self.chance() else op(b, a)

    def number(self, right: float, *wrong: float) -> float:
        """A number as it should be, or now and then one that is not."""
        return self.one_of(wrong) if wrong and self.chance(0.2) else right

    def along(self, value: Any) -> Any:
        """A vector as it broadcasts along rows, or now and then along columns."""
        shape = self.one_of(((N,), (1, N), (N, 1))) if self.chance(0.4) else (N,)
        return self.g.reshape(value, shape)


def _plus(s: Speller, a: Any, b: Any) -> Any:
    return s.swapped(s.g.add, a, b)


def _times(s: Speller, a: Any, b: Any) -> Any:
    return s.swapped(s.g.mul, a, b)


def _mean(s: Speller, x: Any, axis: int, count: float = N) -> Any:
    """The mean along an axis, as it is written; now and then not kept, so that it broadcasts along the other one."""
    keep = s.chance(0.85)
    if s.chance():
        return s.g.reduce_mean(x, axis, keep_dim=keep)
    total = s.g.reduce_sum(x, axis, keep_dim=keep)
    return total / count if s.chance() else total * (1 / count)


def _over_root(s: Speller, x: Any, mean: Any) -> Any:
    """`x` over the root of a mean, now and then with a gain in between."""
    if s.chance(0.2):
        gain = s.along(s.argument(N))
        return s.one_of((lambda: _over_root(s, _times(s, gain, x), mean), lambda: x * _over_root(s, gain, mean)))()
    safe = _plus(s, mean, 1e-3) if s.chance(0.8) else s.g.max(mean, 1e-3)
    match int(s.rng.integers(4)):
        case 0:
            return x / s.g.sqrt(safe)
        case 1:
            return _times(s, x, s.g.rsqrt(safe))
        case 2:
            return _times(s, x, s.g.recip(s.g.sqrt(safe)))
        case _:
            return _times(s, x, s.g.pow(safe, -0.5))


def _affine(s: Speller, y: Any) -> Any:
    if s.chance(0.7):
        y = _times(s, y, s.along(s.argument(N)))
    return _plus(s, y, s.along(s.argument(N))) if s.chance(0.7) else y


def layer_norm(s: Speller) -> Any:
    x, axis = s.pick(), s.one_of((-1, 0))
    if s.chance(0.3):
        x = _plus(s, x, s.pick())
    centred = x - _mean(s, x, axis)
    below = x - _mean(s, x, axis) if s.chance(0.3) else centred
    squares = _times(s, below, centred) if s.chance() else s.g.pow(below, s.number(2.0, 4.0))
    return _affine(s, _over_root(s, centred, _mean(s, squares, s.number(axis, -1 - axis))))


def rms_norm(s: Speller) -> Any:
    x, axis = s.pick(), s.one_of((-1, 0))
    if s.chance(0.3):
        x = _plus(s, x, s.pick() if s.chance() else s.argument(1, N))
    square = x * x if s.chance(0.8) else x * s.pick() + 2.0
    return _affine(s, _over_root(s, x, s.g.abs(_mean(s, square, axis, s.number(N, N - 1)))))


def rms_norm_plain(s: Speller) -> Any:
    x = s.pick()
    return _affine(s, _over_root(s, x, _mean(s, x * x, s.one_of((-1, 0)))))


def sigmoid(s: Speller) -> Any:
    x = s.pick()
    minus = s.one_of((lambda: -x, lambda: x * -1.0, lambda: 0.0 - x))()
    below = _plus(s, s.g.exp(minus), s.number(1.0, 1.5))
    match int(s.rng.integers(4)):
        case 0:
            return s.number(1.0, 2.0) / below
        case 1:
            return s.g.recip(below)
        case 2:
            return s.one_of((x, s.pick())) / below
        case _:
            return _times(s, s.one_of((x, s.pick())), s.g.sigmoid(x))


def gelu(s: Speller) -> Any:
    x = s.pick()
    if s.chance():
        curve = s.g.erf(x / s.number(sqrt(2), 1.5)) if s.chance() else s.g.erf(x * sqrt(0.5))
    else:
        c, cubic = s.number(sqrt(2 / pi), 0.8), s.number(0.044715, 0.0447)
        cube = x * x * x if s.chance() else s.g.pow(x, s.number(3.0, 2.0))
        inner = _plus(s, x, _times(s, cube, cubic))
        curve = s.g.tanh(_times(s, inner, c) if s.chance() else x * c * (1.0 + x * x * cubic))
    half = s.number(0.5, 0.25)
    other = x if s.chance(0.9) else s.pick()
    match int(s.rng.integers(4)):
        case 0:
            return other * half * _plus(s, curve, 1.0)
        case 1:
            return half * _times(s, other, _plus(s, curve, 1.0))
        case 2:
            return _times(s, other, _plus(s, curve * 0.5, half))
        case _:
            return _times(s, other, 1.0 + curve) / (1 / half)


def softmax(s: Speller) -> Any:
    return _softmax(s, s.pick(), s.one_of((-1, 0)))


def _softmax(s: Speller, x: Any, axis: int) -> Any:
    other = axis if s.chance(0.85) else (-1 if axis != -1 else 0)
    matrix = len(x.shape) == 2
    top = s.g.reduce_max(x, other if s.chance(0.3) else axis, keep_dim=not matrix or s.chance(0.9))
    if s.chance():
        top = s.g.stop_gradient(top)
    e = s.g.exp(x - top) if s.chance(0.9) else s.g.exp(x)
    again = s.g.exp(x - s.g.reduce_max(x, axis, keep_dim=True)) if s.chance(0.2) else e
    total = s.g.reduce_sum(again, other, keep_dim=not matrix or s.chance(0.95))
    if matrix and s.chance(0.15):
        # as NumPy programs divide rows
        return s.g.transpose(s.g.transpose(e, (1, 0)) / s.g.reduce_sum(e, other), (1, 0))
    return e / total if s.chance(0.7) else _times(s, e, s.g.recip(total))


def product(s: Speller) -> Any:
    y = s.g.matmul(s.pick(), s.argument(N, N))
    bias = s.one_of(((N,), (N,), (1, N), (N, 1), (N, N), (2, N, N), ()))
    y = _plus(s, y, s.argument(*bias))
    if s.chance(0.7):
        y = getattr(s.g, s.one_of(("relu", "gelu", "silu", "tanh", "sigmoid", "neg", "sin")))(y)
    return s.g.reduce_mean(y, 0) if len(y.shape) == 3 else y


def gated(s: Speller) -> Any:
    axis = s.number(1, 0)
    packed = s.g.matmul(s.pick(), s.argument(N, 2 * N)) if axis == 1 else s.argument(2 * N, N)
    first, second = s.g.narrow(packed, axis, 0, N), s.g.narrow(packed, axis, s.number(N, N - 1), N)
    gate, up = (first, second) if s.chance() else (second, first)
    silu = s.g.silu(gate) if s.chance() else gate * s.g.sigmoid(gate)
    return _times(s, silu, up if s.chance(0.9) else gate)


def attention(s: Speller) -> Any:
    """Heads `[B, H, S, D]` of `[B, S, H D]`, which are `[N, N]` as a value, with a mask or a bias of some kind."""
    b, h, n, d = 2, 2, N, 3
    kv = 1 if s.chance(0.3) else h
    q, k, v = (s.argument(b, n, heads * d) for heads in (h, kv, kv))
    q = q + s.g.reduce_mean(s.pick())
    q, k, v = (s.g.transpose(s.g.reshape(x, (b, n, heads, d)), (0, 2, 1, 3)) for x, heads in ((q, h), (k, kv), (v, kv)))
    if kv != h and s.chance():
        k, v = (
            s.g.reshape(s.g.expand(s.g.reshape(x, (b, kv, 1, n, d)), (b, kv, h, n, d)), (b, h, n, d)) for x in (k, v)
        )
    if s.chance(0.3):
        q = q * 0.7
    z = s.g.matmul(q, s.g.transpose(k, (0, 1, 3, 2)))
    z = s.one_of((lambda: z * (1 / sqrt(d)), lambda: z / sqrt(d), lambda: z * 0.3, lambda: z))()
    if s.chance(0.1):
        z = s.g.transpose(z, (0, 1, 3, 2))
    if s.chance(0.2):
        z = s.g.tanh(z / 1.5) * s.number(1.5, 1.2)
    p = _softmax(s, _masked(s, z), -1) if s.chance() else s.g.softmax(_masked(s, z), axis=-1 if s.chance(0.9) else -2)
    y = s.g.matmul(p, v)
    if s.chance(0.2):
        masked = _masked(s, z)
        e = s.g.exp(masked - s.g.reduce_max(masked, -1, keep_dim=True))
        y = s.g.matmul(e, v) / s.g.reduce_sum(e, -1, keep_dim=True)
    if s.chance():
        y = s.g.reshape(s.g.transpose(y, (0, 2, 1, 3)), (b, n, h * d))
    return s.pick() * s.g.reduce_mean(s.g.sin(y))


def attention_by_subscripts(s: Speller) -> Any:
    """Heads, positions and features in any order, or now and then scores in one that is no attention's."""
    b, h, g, n, d = 2, 2, s.one_of((1, 2)), N, 3
    extents = {"b": b, "h": h, "g": g, "q": n, "k": n, "d": d, "e": s.one_of((1, d))}

    def any_order(labels: str) -> str:
        return "".join(s.rng.permutation([*labels]))

    lead = s.one_of(("bhg", "bh", "h", ""))
    shared = lead if s.chance(0.7) else lead[:-1]
    q_in, k_in, v_in = any_order(lead + "qd"), any_order(shared + "kd"), any_order(shared + "ke")
    scores, out = lead + "qk", any_order(lead + "qe") if s.chance(0.7) else lead + "qe"
    if s.chance(0.15):
        scores = any_order(scores)
    q, k, v = (s.argument(*(extents[label] for label in labels)) for labels in (q_in, k_in, v_in))
    q = q + s.g.reduce_mean(s.pick())
    if s.chance(0.3):
        q = q * 0.7
    z = _by_subscripts(s, (q_in, q), (k_in, k), scores)
    if s.chance(0.7):
        z = z / sqrt(d)
    if scores[-2:] == "qk" and s.chance(0.7):
        z = s.g.where(s.g.constant(np.tril(np.ones((n, n), bool))), z, -inf)
    if s.chance(0.3):
        e = s.g.exp(z - s.g.reduce_max(z, -1, keep_dim=True))
        y = _by_subscripts(s, (scores, e), (v_in, v), scores[:-1] + "e") / s.g.reduce_sum(e, -1, keep_dim=True)
    else:
        y = _by_subscripts(s, (scores, _softmax(s, z, -1)), (v_in, v), out)
    return s.pick() * s.g.reduce_mean(s.g.sin(y))


def _by_subscripts(s: Speller, first: tuple[str, Any], second: tuple[str, Any], out: str) -> Any:
    if s.chance(0.2):
        first, second = second, first
    return s.g.einsum(f"{first[0]},{second[0]}->{out}", first[1], second[1])


def _masked(s: Speller, z: Any) -> Any:
    low = s.number(-inf, -1e9, -1e30, -2.0)
    rows, columns = np.arange(N)[:, None], np.arange(N)[None, :]
    shift, window = int(s.number(0, 1, -1)), s.one_of((0, 1, 2, N))
    seen = s.one_of(
        (columns <= rows + shift, (columns <= rows) & (columns >= rows - window), s.rng.random((N, N)) < 0.6)
    )
    triangle = np.tril(np.ones((N, N)))
    match int(s.rng.integers(11)):
        case 0:
            return z
        case 6:
            return s.g.where(s.g.constant(~seen), low, z)
        case 7:
            number = s.one_of((triangle, triangle.astype(np.int32), triangle - 1.0))
            return s.g.where(s.g.constant(number), z, low)
        case 8:
            return z - s.g.constant(s.number(1e30, 1e9, -1e30) * (1.0 - triangle))
        case 9:
            scaled = s.g.where(s.g.constant(triangle.astype(bool)), z, low) * s.number(0.5, 2.0)
            return scaled if s.chance() else (z + s.g.constant(np.where(seen, 0.0, low))) / s.number(0.7, -0.7)
        case 10:
            biased = _plus(s, z, s.argument(*s.one_of(((N, N), (2, N, N), (2, 1, 1, N)))))
            hidden = s.g.constant(triangle == 0)
            return s.g.where(hidden, low, biased) if s.chance() else biased + s.g.constant((1.0 - triangle) * -1e30)
        case 1:
            return s.g.where(s.g.constant(np.broadcast_to(seen, (1, 1, N, N)).copy()), z, low)
        case 2:
            return s.g.where(s.g.constant(~seen), low, z)
        case 3:
            line = s.g.constant(list(range(N)), "i32")
            column = s.g.reshape(line, (N, 1))
            test = s.one_of(
                (lambda: column >= line, lambda: line <= column, lambda: column > line, lambda: line < column)
            )
            return s.g.where(test(), z, low)
        case 4:
            return _plus(s, z, s.g.constant(np.where(seen, 0.0, -1e30)))
        case _:
            shape = s.one_of(((N, N), (2, N, N), (2, 1, 1, N), (2, 2, N, N), (N, 1)))
            return _plus(s, z, s.argument(*shape))


SPELLINGS = (
    layer_norm,
    rms_norm,
    rms_norm_plain,
    sigmoid,
    gelu,
    softmax,
    product,
    gated,
    attention,
    attention_by_subscripts,
)


def spelled(seed: int) -> Speller:
    """
    The program of a seed: some values, one made of the other, and a loss of them all.

    In every other program some values inside are outputs as well.
    """
    rng = np.random.default_rng((seed, 77))
    s = Speller(rng, rlx.Graph(f"spelled_{seed}"))
    s.values = [s.argument(N, N)]
    for _ in range(int(rng.integers(2, 6))):
        y = s.one_of(SPELLINGS)(s)
        s.values.append(s.g.sin(y) if s.chance(0.7) else y)
    loss = sum((s.g.reduce_mean(s.g.sin(y)) for y in s.values[1:]), start=s.g.reduce_mean(s.values[0]))
    outputs = [loss, s.values[-1]]
    if seed % 2:
        ops = loss.ssa.owner.parent.ops
        inside = [op.results[0] for op in ops if element_of(op.results[0]) == f64 and not is_constant(op)]
        outputs += [rlx.Value(inside[int(i)], s.g) for i in rng.choice(len(inside), 2, replace=False)]
    s.g.set_outputs(outputs)
    return s
