"""The helpers that a printed module may need: a printed module has the functions that it uses.

Each primitive has two meanings that agree bit for bit: its body, in plain Python with NumPy scalars, and the LLVM
operation that Numba compiles its calls to. `helpers.py` reads this text; only tests import it.
"""

# numba has no type stubs
# pyright: basic

import math
from fractions import Fraction

import numpy as np
from llvmlite import ir
from numba import types

from xdsl_rlx.lowering.backend.numba.machinery import function, intrinsic, lowered


def _argument(inputs, name, shape, dtype, default=None):
    """The contiguous array of an argument: of this shape, and of a type of which no value changes; bfloat16 as its
    bits."""
    if name not in inputs and default is None:
        raise TypeError(f"missing argument {name!r}")
    given = inputs.get(name, default)
    array = np.asarray(given)
    if array.shape != shape:
        raise ValueError(f"argument {name!r}: expected shape {shape}, got {array.shape}")
    is_bits = dtype is np.uint16
    if is_bits and array.dtype.name == "bfloat16":
        array = array.view(np.uint16)
    integers = array.dtype.kind in "iu" and np.issubdtype(dtype, np.integer) and not is_bits
    # a number of Python's has no width of its own, but it has a kind
    casting = "no" if is_bits else "safe" if isinstance(given, np.ndarray) else "same_kind"
    if not (np.array_equal(array, array.astype(dtype)) if integers else np.can_cast(array.dtype, dtype, casting)):
        expected = "bfloat16, or its bits as uint16" if is_bits else dtype.__name__
        raise TypeError(f"argument {name!r}: expected {expected}, got {array.dtype}, in which values may differ")
    converted = np.ascontiguousarray(array, dtype).reshape(shape)
    if array.dtype != dtype and array.dtype.kind == "f" and not np.array_equal(np.isinf(array), np.isinf(converted)):
        raise TypeError(f"argument {name!r}: a number is infinite as {dtype.__name__}")
    return converted


def _updated(inputs, name, shape, dtype):
    """The array of an argument that a result is written over: of this shape and type, and no copy."""
    array = inputs.get(name)
    bits = isinstance(array, np.ndarray) and dtype is np.uint16 and array.dtype.name == "bfloat16"
    if not isinstance(array, np.ndarray) or (array.dtype != dtype and not bits) or array.shape != shape:
        raise TypeError(f"argument {name!r}, which is donated: expected an array of {dtype.__name__}{list(shape)}")
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise ValueError(f"argument {name!r}, which is donated: expected a contiguous array that can be written to")
    return array.view(dtype)


def _known(inputs, *names):
    """Refuses arguments of other names."""
    for name in inputs:
        if name not in names:
            raise TypeError(f"unexpected argument {name!r}; expected {', '.join(names) or 'none'}")


@intrinsic("fmuladd")
def multiply_add(a, b, c):
    return a * b + c


@intrinsic("fma")
def fma(a, b, c):
    """a * b + c, rounded once: the exact sum, rounded to odd in f64 when the result is f32."""
    kind = type(a)
    plain = float(a) * float(b) + float(c)
    if not np.isfinite(plain) and not (np.isfinite(a) and np.isfinite(b) and np.isfinite(c)):
        return kind(plain)
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        return kind(plain)
    try:
        near = float(exact)
    except OverflowError:
        return kind(math.inf if exact > 0 else -math.inf)
    if kind is np.float32 and Fraction(near) != exact:
        below = near if abs(Fraction(near)) < abs(exact) else math.nextafter(near, 0.0)
        near = below if np.float64(below).view(np.int64) & 1 else math.nextafter(below, math.copysign(math.inf, near))
    return kind(near)


@lowered(lambda b, type, c, x, y: b.select(c, x, y))
def select(c, x, y):
    return x if c else y


@intrinsic("maximum")
def maximum(x, y):
    """The larger one; NaN if one is NaN; +0 is larger than -0."""
    if x != x or y != y:
        return x + y
    return (y if np.signbit(x) else x) if x == y else x if x > y else y


@intrinsic("minimum")
def minimum(x, y):
    """The smaller one; NaN if one is NaN; -0 is smaller than +0."""
    if x != x or y != y:
        return x + y
    return (x if np.signbit(x) else y) if x == y else x if x < y else y


@intrinsic("smin")
def lesser(x, y):
    return x if x < y else y


@intrinsic("umin")
def lesser_unsigned(x, y):
    return x if x < y else y


@intrinsic("smax")
def greater(x, y):
    return x if x > y else y


@intrinsic("umax")
def greater_unsigned(x, y):
    return x if x > y else y


@intrinsic("copysign")
def copysign(x, y):
    return np.copysign(x, y)


@lowered(lambda b, type, x, y: b.frem(x, y))
def fmod(x, y):
    """The remainder with the sign of x."""
    return np.fmod(x, y)


@lowered(lambda b, type, x, y: b.fadd(x, y, flags=("nsz", "reassoc")))
def relaxed_add(x, y):
    """A sum of a reduction: the compiler may reorder it."""
    return x + y


@lowered(lambda b, type, x, y: b.fmul(x, y, flags=("nsz", "reassoc")))
def relaxed_mul(x, y):
    """A product of a reduction: the compiler may reorder it."""
    return x * y


@intrinsic("sqrt")
def sqrt(x):
    return np.sqrt(x)


@intrinsic("fabs")
def fabs(x):
    return np.abs(x)


@intrinsic("floor")
def floor(x):
    return np.floor(x)


@intrinsic("ceil")
def ceil(x):
    return np.ceil(x)


@intrinsic("trunc")
def trunc(x):
    return np.trunc(x)


@intrinsic("roundeven")
def round_even(x):
    return np.rint(x)


@intrinsic("fptosi.sat", types.int64)
def to_s64(x):
    """Towards zero, saturating; NaN becomes 0."""
    bounds = np.iinfo(np.int64)
    value = bounds.max if x >= bounds.max else bounds.min if x <= bounds.min else int(x) if x == x else 0
    return np.int64(value).view(np.int64)


@intrinsic("fptoui.sat", types.int64)
def to_u64(x):
    """Towards zero, saturating; NaN becomes 0."""
    bounds = np.iinfo(np.uint64)
    value = bounds.max if x >= bounds.max else bounds.min if x <= bounds.min else int(x) if x == x else 0
    return np.uint64(value).view(np.int64)


@lowered(lambda b, type, x: b.bitcast(x, type), types.int64)
def as_i64(x):
    """The same bits as int64."""
    return x.view(np.int64)


@lowered(lambda b, type, x: b.bitcast(x, type), types.float64)
def as_f64(x):
    """The same bits as float64."""
    return x.view(np.float64)


@lowered(lambda b, type, x: b.bitcast(x, type), types.int16)
def as_i16(x):
    """The same bits as int16."""
    return x.view(np.int16)


@lowered(lambda b, type, x: b.bitcast(x, type), types.uint16)
def as_u16(x):
    """The same bits as uint16."""
    return x.view(np.uint16)


@lowered(lambda b, type, x, n: b.lshr(x, n))
def shift_right_i64(x, n):
    """Logical shift."""
    return np.int64(np.uint64(x) >> np.uint64(n))


@lowered(lambda b, type, x: b.ctpop(x))
def population_count_i64(x):
    """The number of bits that are 1."""
    return np.int64((int(x) & ((1 << 64) - 1)).bit_count())


@lowered(lambda b, type, x: b.ctlz(x, ir.IntType(1)(0)))
def leading_zeros_i64(x):
    """The number of bits above the highest 1."""
    return np.int64(64 - (int(x) & ((1 << 64) - 1)).bit_length())


@function()
def div(a, b):
    """Towards zero; 0 for a divisor of 0."""
    if b == 0:
        return a - a
    if b == -1:
        return -a
    q = a // b
    return q + 1 if q < 0 and q * b != a else q


@function()
def rem(a, b):
    """With the sign of a; a for a divisor of 0."""
    if b == 0:
        return a
    if b == -1:
        return a - a
    r = a % b
    return r - b if r != 0 and (a < 0) != (b < 0) else r


@function()
def floor_div(a, b):
    """Towards minus infinity; 0 for a divisor of 0."""
    if b == 0:
        return a - a
    if b == -1:
        return -a
    return a // b


@function()
def ceil_div(a, b):
    """Towards infinity; 0 for a divisor of 0."""
    if b == 0:
        return a - a
    if b == -1:
        return -a
    q = a // b
    return q + 1 if q * b != a else q
