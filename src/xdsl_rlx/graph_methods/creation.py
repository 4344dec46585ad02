"""Tensors made from numbers: ranges and one-hot vectors; and new random keys from one."""

from __future__ import annotations

from math import ceil, isfinite

from xdsl.dialects.builtin import i32

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import INTS, element_of, normalize_axis


def arange(
    m: MirBuilder,
    start: int | float,
    stop: int | float | None = None,
    step: int | float = 1,
    dtype: object = None,
) -> Value:
    """
    Return `start + i step` below `stop`, as `np.arange`; with one number, the integers from 0 up to it, exclusive.

    The default element type is i64 for integers, else f32. GraphError for a step of 0 and for ends that are not
    finite.
    """
    first, last = (0, start) if stop is None else (start, stop)
    if not step:
        raise GraphError("arange: expected a step other than 0")
    if not isfinite((last - first) / step):
        raise GraphError(f"arange: expected finite numbers, got {first} to {last} by {step}")
    whole = all(isinstance(number, int) for number in (first, last, step))
    if dtype is None:
        dtype = "i64" if whole else "f32"
    count = max(-((first - last) // step) if whole else ceil((last - first) / step), 0)
    return _line(m, int(count), first, step, dtype)


def linspace(
    m: MirBuilder, start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: object = "f32"
) -> Value:
    """
    Return `num` evenly spaced numbers from `start` to `stop`, as `np.linspace`; `endpoint=False` excludes `stop`.
    """
    if num < 0:
        raise GraphError(f"linspace: expected at least 0 points, got {num}")
    gaps = num - 1 if endpoint else num
    line = _line(m, num, start, (stop - start) / gaps if gaps > 0 else 0.0, dtype)
    if not endpoint or num < 2:
        return line
    return m.where(m.eq(m.iota(num), num - 1), m.constant(stop, dtype), line)


def _line(m: MirBuilder, count: int, first: float, step: float, dtype: object) -> Value:
    """`first + i step`, computed in `dtype`."""
    line = m.iota(count, 0, dtype)
    if step != 1:
        line = m.mul(line, step)
    return m.add(line, first) if first else line


def one_hot(m: MirBuilder, indices: Operand, depth: int, axis: int = -1, dtype: object = "f32") -> Value:
    """
    Return 1 where the index along the new axis, of extent `depth`, equals `indices`, else 0; out-of-range gives 0.
    """
    at = m.value(m.operand(indices))
    if element_of(at.ssa) not in INTS:
        raise GraphError(f"one_hot: expected integers, got {at.dtype}; cast them")
    axis = normalize_axis(axis, at.rank + 1)
    shape = (*at.shape[:axis], 1, *at.shape[axis:])
    numbers = m.reshape(m.iota(depth, 0, "i64"), (depth, *([1] * (at.rank - axis))))
    return m.cast(m.eq(m.reshape(m.cast(at, "i64"), shape), numbers), dtype)


def rng_split(m: MirBuilder, key: Operand, count: int) -> Value:
    """
    Derive `count` new keys `[count, 2]`, of the type of `key`, from `mir.rng_bits`; use `key` for nothing else.

    A training step can pass a derived key to the next step: its type stays the same.
    """
    words = m.rng_bits(key, (count, 2))
    # i32 words of a key are read as unsigned: these are the same keys
    return words if element_of(m.operand(key)) == i32 else m.cast(m.cast(words, "u32"), "i64")
