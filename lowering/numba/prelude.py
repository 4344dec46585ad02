"""Text of the helpers a printed Numba module may need; only those it uses are put into it.

Each primitive has two meanings that agree bit for bit: its body, in plain Python with NumPy scalars, and the LLVM
operation that Numba compiles its calls to."""

from __future__ import annotations

LOWERED = '''
def lowered(build, result=None):
    """Let Numba compile calls of a function as `build(builder, type, *values)`; its body is what it means."""

    def decorate(meaning):
        @type_callable(meaning)
        def typing(context):
            def typer(*args):
                return signature(types.unliteral(result or args[-1]), *map(types.unliteral, args))

            typer.pysig = inspect.signature(meaning)
            return typer

        @lower_builtin(meaning, types.VarArg(types.Any))
        def lowering(context, builder, sig, args):
            return build(builder, context.get_value_type(sig.return_type), *args)

        return meaning

    return decorate


def intrinsic(name, result=None):
    """Let Numba compile calls of a function as an LLVM intrinsic, overloaded on its operands (and its result)."""
    suffix = {"float": "f32", "double": "f64"}

    def build(builder, type, *args):
        operand = str(args[0].type)
        overloads = [str(type)] * (result is not None) + [suffix.get(operand, operand)]
        function = ir.FunctionType(type, [x.type for x in args])
        callee = cgutils.get_or_insert_function(builder.module, function, ".".join(["llvm", name, *overloads]))
        return builder.call(callee, args)

    return lowered(build, result)
'''

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

_ROUNDING = """
@intrinsic("{llvm}")
def {name}(x):
    return np.{numpy}(x)
"""

_DIVISION = '''
@njit(error_model="numpy")
def {name}(a, b):
    """{doc}; 0 for a divisor of 0."""
    if b == 0:
        return a - a
    if b == -1:
        return {minus}
    {body}
'''

_GEMM = '''
_{blas} = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 13)(
    get_cython_function_address("scipy.linalg.cython_blas", "{blas}")
)


@njit(error_model="numpy")
def gemm_{suffix}(a, transpose_a, lda, b, transpose_b, ldb, c, ldc, accumulate):
    """c = a @ b, or c += a @ b, by a column-major BLAS, which sees the transposes: c.T = b.T @ a.T."""
    letters = np.array([84 if transpose_b else 78, 84 if transpose_a else 78], np.uint8)
    sizes = np.array([c.shape[1], c.shape[0], a.shape[1], ldb, lda, ldc], np.int32)
    factors = np.array([1.0, 1.0 if accumulate else 0.0], np.{type})
    _{blas}(
        letters.ctypes, letters[1:].ctypes, sizes.ctypes, sizes[1:].ctypes, sizes[2:].ctypes, factors.ctypes,
        b.ctypes, sizes[3:].ctypes, a.ctypes, sizes[4:].ctypes, factors[1:].ctypes, c.ctypes, sizes[5:].ctypes,
    )
'''

_GETRF = '''
_{lapack}getrf = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6)(
    get_cython_function_address("scipy.linalg.cython_lapack", "{lapack}getrf")
)


@njit(error_model="numpy")
def getrf_{suffix}(a, lda, pivots):
    """LU factors, in place, of the matrix whose columns are the lines of a; rows interchanged, counted from 1."""
    sizes = np.array([a.shape[0], lda, 0], np.int32)
    _{lapack}getrf(sizes.ctypes, sizes.ctypes, a.ctypes, sizes[1:].ctypes, pivots.ctypes, sizes[2:].ctypes)
'''

_GETRS = '''
_{lapack}getrs = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 9)(
    get_cython_function_address("scipy.linalg.cython_lapack", "{lapack}getrs")
)


@njit(error_model="numpy")
def getrs_{suffix}(lu, ldlu, pivots, b, ldb, transpose):
    """Each line of b becomes the solution of the system that lu and pivots are the factors of."""
    letter = np.array([84 if transpose else 78], np.uint8)
    sizes = np.array([lu.shape[0], b.shape[0], ldlu, ldb, 0], np.int32)
    _{lapack}getrs(
        letter.ctypes, sizes.ctypes, sizes[1:].ctypes, lu.ctypes, sizes[2:].ctypes,
        pivots.ctypes, b.ctypes, sizes[3:].ctypes, sizes[4:].ctypes,
    )
'''

PRIMITIVES: dict[str, str] = {
    "_argument": '''
def _argument(inputs, name, shape, dtype, default=None):
    """The contiguous array of an argument: of this shape, of a type that converts in kind; bfloat16 as its bits."""
    if name not in inputs and default is None:
        raise TypeError(f"missing argument {name!r}")
    array = np.asarray(inputs.get(name, default))
    if array.shape != shape:
        raise ValueError(f"argument {name!r}: expected shape {shape}, got {array.shape}")
    if dtype is np.uint16 and array.dtype.name == "bfloat16":
        array = array.view(np.uint16)
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        expected = "bfloat16, or its bits as uint16" if dtype is np.uint16 else dtype.__name__
        raise TypeError(f"argument {name!r}: expected {expected}, got {array.dtype}")
    return np.ascontiguousarray(array, dtype).reshape(shape)
''',
    "_known": '''
def _known(inputs, *names):
    """Refuses arguments of other names."""
    for name in inputs:
        if name not in names:
            raise TypeError(f"unexpected argument {name!r}; expected {', '.join(names) or 'none'}")
''',
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
    "copysign": """
@intrinsic("copysign")
def copysign(x, y):
    return np.copysign(x, y)
""",
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
    **{f"shift_right_i{bits}": _SHIFT.format(name=f"shift_right_i{bits}", bits=bits) for bits in (8, 16, 32, 64)},
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
    "gemm_f32": _GEMM.format(suffix="f32", blas="sgemm", type="float32"),
    "gemm_f64": _GEMM.format(suffix="f64", blas="dgemm", type="float64"),
    **{
        f"{name}_{suffix}": text.format(suffix=suffix, lapack=lapack)
        for name, text in (("getrf", _GETRF), ("getrs", _GETRS))
        for suffix, lapack in (("f32", "s"), ("f64", "d"))
    },
}
"""Helper name -> its definition, in the order they are printed."""
