"""Text of the helpers a printed Numba module may need; only those it uses are put into it.

Each primitive has two meanings that agree bit for bit: its body, in plain Python with NumPy scalars, and the LLVM
operation that Numba compiles its calls to."""

from __future__ import annotations

_ROUND_TO_INT = '''
@intrinsic("fpto{sign}i.sat", types.{type})
def {name}(x):
    """Towards zero, saturating; NaN becomes 0."""
    bounds = np.iinfo(np.{limits})
    value = bounds.max if x >= bounds.max else bounds.min if x <= bounds.min else int(x) if x == x else 0
    return np.{limits}(value).view(np.{type})
'''

_BITCAST = '''
@lowered(lambda b, type, x: b.bitcast(x, type), types.{type})
def {name}(x):
    """The same bits as {type}."""
    return x.view(np.{type})
'''

_SHIFT = '''
@lowered(lambda b, type, x, n: b.lshr(x, n))
def {name}(x, n):
    """Logical shift."""
    return np.int{bits}(np.uint{bits}(x) >> np.uint{bits}(n))
'''

_COUNT_OF_ONES = '''
@lowered(lambda b, type, x: b.ctpop(x))
def {name}(x):
    """The number of bits that are 1."""
    return np.int{bits}((int(x) & {mask}).bit_count())
'''

_LEADING_ZEROS = '''
@lowered(lambda b, type, x: b.ctlz(x, ir.IntType(1)(0)))
def {name}(x):
    """The number of bits above the highest 1."""
    return np.int{bits}({bits} - (int(x) & {mask}).bit_length())
'''

_ROUNDING = """
@intrinsic("{llvm}")
def {name}(x):
    return np.{numpy}(x)
"""

_EXTREME = """
@intrinsic("{llvm}")
def {name}(x, y):
    return x if x {sign} y else y
"""

_DIVISION = '''
@function()
def {name}(a, b):
    """{doc}; 0 for a divisor of 0."""
    if b == 0:
        return a - a
    if b == -1:
        return {minus}
    {body}
'''

PRIMITIVES: dict[str, str] = {
    "_argument": '''
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
''',
    "_updated": '''
def _updated(inputs, name, shape, dtype):
    """The array of an argument that a result is written over: of this shape and type, and no copy."""
    array = inputs.get(name)
    bits = isinstance(array, np.ndarray) and dtype is np.uint16 and array.dtype.name == "bfloat16"
    if not isinstance(array, np.ndarray) or (array.dtype != dtype and not bits) or array.shape != shape:
        raise TypeError(f"argument {name!r}, which is donated: expected an array of {dtype.__name__}{list(shape)}")
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise ValueError(f"argument {name!r}, which is donated: expected a contiguous array that can be written to")
    return array.view(dtype)
''',
    "_known": '''
def _known(inputs, *names):
    """Refuses arguments of other names."""
    for name in inputs:
        if name not in names:
            raise TypeError(f"unexpected argument {name!r}; expected {', '.join(names) or 'none'}")
''',
    "multiply_add": """
@intrinsic("fmuladd")
def multiply_add(a, b, c):
    return a * b + c
""",
    "fma": '''
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
''',
    "select": """
@lowered(lambda b, type, c, x, y: b.select(c, x, y))
def select(c, x, y):
    return x if c else y
""",
    "maximum": '''
@intrinsic("maximum")
def maximum(x, y):
    """The larger one; NaN if one is NaN; +0 is larger than -0."""
    if x != x or y != y:
        return x + y
    return (y if np.signbit(x) else x) if x == y else x if x > y else y
''',
    "minimum": '''
@intrinsic("minimum")
def minimum(x, y):
    """The smaller one; NaN if one is NaN; -0 is smaller than +0."""
    if x != x or y != y:
        return x + y
    return (x if np.signbit(x) else y) if x == y else x if x < y else y
''',
    **{
        f"{name}{suffix}": _EXTREME.format(name=f"{name}{suffix}", llvm=f"{sign}{llvm}", sign=comparison)
        for name, llvm, comparison in (("lesser", "min", "<"), ("greater", "max", ">"))
        for suffix, sign in (("", "s"), ("_unsigned", "u"))
    },
    "copysign": """
@intrinsic("copysign")
def copysign(x, y):
    return np.copysign(x, y)
""",
    "fmod": '''
@lowered(lambda b, type, x, y: b.frem(x, y))
def fmod(x, y):
    """The remainder with the sign of x."""
    return np.fmod(x, y)
''',
    "relaxed_add": '''
@lowered(lambda b, type, x, y: b.fadd(x, y, flags=("nsz", "reassoc")))
def relaxed_add(x, y):
    """A sum of a reduction: the compiler may reorder it."""
    return x + y
''',
    "relaxed_mul": '''
@lowered(lambda b, type, x, y: b.fmul(x, y, flags=("nsz", "reassoc")))
def relaxed_mul(x, y):
    """A product of a reduction: the compiler may reorder it."""
    return x * y
''',
    **{
        name: _ROUNDING.format(name=name, llvm=llvm, numpy=numpy)
        for name, llvm, numpy in (
            ("sqrt", "sqrt", "sqrt"),
            ("fabs", "fabs", "abs"),
            ("floor", "floor", "floor"),
            ("ceil", "ceil", "ceil"),
            ("trunc", "trunc", "trunc"),
            ("round_even", "roundeven", "rint"),
        )
    },
    **{
        f"to_{sign}{bits}": _ROUND_TO_INT.format(
            name=f"to_{sign}{bits}", sign=sign, type=f"int{bits}", limits=f"{'u' if sign == 'u' else ''}int{bits}"
        )
        for sign in "su"
        for bits in (8, 32, 64)
    },
    **{
        f"as_{kind[0]}{bits}": _BITCAST.format(name=f"as_{kind[0]}{bits}", type=f"{kind}{bits}")
        for kind in ("int", "float")
        for bits in (32, 64)
    },
    **{f"as_{kind[0]}16": _BITCAST.format(name=f"as_{kind[0]}16", type=f"{kind}16") for kind in ("int", "uint")},
    **{f"shift_right_i{bits}": _SHIFT.format(name=f"shift_right_i{bits}", bits=bits) for bits in (8, 16, 32, 64)},
    **{
        f"{name}_i{bits}": text.format(name=f"{name}_i{bits}", bits=bits, mask=hex((1 << bits) - 1))
        for name, text in (("population_count", _COUNT_OF_ONES), ("leading_zeros", _LEADING_ZEROS))
        for bits in (8, 16, 32, 64)
    },
    "div": _DIVISION.format(
        name="div",
        doc="Towards zero",
        minus="-a",
        body="q = a // b\n    return q + 1 if q < 0 and q * b != a else q",
    ),
    "rem": _DIVISION.format(
        name="rem",
        doc="With the sign of a",
        minus="a - a",
        body="r = a % b\n    return r - b if r != 0 and (a < 0) != (b < 0) else r",
    )
    .replace("; 0 for a divisor of 0", "; a for a divisor of 0")
    .replace("return a - a\n    if b == -1", "return a\n    if b == -1"),
    "floor_div": _DIVISION.format(name="floor_div", doc="Towards minus infinity", minus="-a", body="return a // b"),
    "ceil_div": _DIVISION.format(
        name="ceil_div", doc="Towards infinity", minus="-a", body="q = a // b\n    return q + 1 if q * b != a else q"
    ),
}
"""Helper name -> its definition, in the order they are printed."""
