"""What nests are written with besides Python: here each function does what it means, on NumPy's numbers and arrays.

What it becomes in a kernel is the row of its name in `meanings.py`, and so is what NumPy's functions of these names
become: `exp` and `np.exp` are one. Type checkers see numbers and arrays as `Any`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias, TypeVar

from xdsl.ir import Attribute

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.shapes import DTYPE_NAMES

Array: TypeAlias = Any
"""A buffer, indexed and sliced as NumPy's arrays are: one of these in Python, a window of memory in a kernel."""

Number: TypeAlias = Any
"""One of NumPy's numbers in Python, a scalar in a kernel."""

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
RangeT = TypeVar("RangeT", bound=Iterable[Any])

WORDS: set[Callable[..., Any]] = set()
"""The functions of this file that nests may call."""


def _word(function: FunctionT) -> FunctionT:
    WORDS.add(function)
    return function


def _numpy() -> Any:
    """NumPy, which is needed where a nest runs as Python, and not for its translation."""
    return import_module("numpy")


def numpy_type(type_: object) -> Any:
    """How NumPy calls an element type."""
    name = constants.NUMPY_NAMES[DTYPE_NAMES[constants.element_type(type_)]]
    if name == "bfloat16":
        return _numpy().dtype(import_module("ml_dtypes").bfloat16)
    return _numpy().dtype(name)


@dataclass(frozen=True)
class Iteration:
    """
    One iteration of a launch: its number, and that of the piece of the launch which it is part of.

    Iterations run in any order and at the same time: what one writes no other may read or write. Those of one piece run
    one after the other, so scratch that is indexed by the piece is theirs alone.
    """

    index: Number
    piece: Number = 0

    def unravel(self, *extents: int) -> tuple[Number, ...]:
        """The number as indices of a row-major array of `extents`, of which it counts the elements."""
        places: list[Number] = []
        rest = self.index
        for extent in reversed(extents[1:]):
            places.append(rest % extent)
            rest = rest // extent
        return rest, *reversed(places)


_word(Iteration.unravel)


@_word
def rolled(values: RangeT) -> RangeT:
    """A range that stays a loop, though it be short: over neighbours in memory, or around loops."""
    return values


@_word
def lanes(values: RangeT) -> RangeT:
    """A range over neighbours in memory, of constant bounds, that is written out as vectors."""
    return values


@_word
def outlined(values: RangeT) -> RangeT:
    """A range whose loop becomes a function: loops that differ in numbers from memory alone are compiled once."""
    return values


@dataclass(frozen=True)
class Indices:
    """All indices of a row-major array, which `ndrange` gives."""

    extents: tuple[Number, ...]

    def __iter__(self) -> Iterator[tuple[Number, ...]]:
        return iter(_numpy().ndindex(*map(int, self.extents)))


@_word
def ndrange(*extents: Number) -> Indices:
    """All indices of a row-major array: loops inside of each other."""
    return Indices(extents)


@_word
def scratch(shape: int | Sequence[int], type_: object) -> Array:
    """A small array on the stack of the iteration, its contents undefined."""
    return _numpy().empty(shape, numpy_type(type_))


@_word
def cast(x: Number, type_: object) -> Number:
    """A number in another type, as NumPy's `astype`: towards zero to an integer, saturating, and NaN to 0."""
    if isinstance(type_, Attribute) and type_ not in DTYPE_NAMES:
        return int(x)
    np, dtype = _numpy(), numpy_type(type_)
    if dtype.kind in "iu" and np.asarray(x).dtype.kind == "f":
        limits = np.iinfo(dtype)
        return dtype.type(0 if x != x else min(max(int(np.clip(x, limits.min, limits.max)), limits.min), limits.max))
    return np.asarray(x).astype(dtype)[()]


@_word
def bitcast(x: Number, type_: object) -> Number:
    """The number of another type that has the same bits."""
    return _numpy().asarray(x).view(numpy_type(type_))[()]


@_word
def select(condition: Number, a: Number, b: Number) -> Number:
    """`a` where the condition holds, else `b`: both are computed."""
    return a if condition else b


@_word
def clamp(x: Number, low: Number, high: Number) -> Number:
    """`x`, or the end of `[low, high]` that it is beyond."""
    return minimum(maximum(x, low), high)


@_word
def accumulate(total: Number, x: Number) -> Number:
    """`total + x` of a sum whose order does not matter: it may be added up in vectors."""
    return total + x


@_word
def accumulate_max(largest: Number, x: Number) -> Number:
    """`maximum(largest, x)` where either zero will do."""
    return maximum(largest, x)


@_word
def fma(a: Number, b: Number, c: Number) -> Number:
    """`a * b + c` of floats, rounded once."""
    np = _numpy()
    return np.result_type(a, c).type(np.longdouble(a) * np.longdouble(b) + np.longdouble(c))


@_word
def multiply_add(a: Number, b: Number, c: Number) -> Number:
    """`a * b + c` of floats, rounded once where the processor has an instruction for that."""
    return fma(a, b, c)


@_word
def shift_right_logical(x: Number, count: Number) -> Number:
    """The bits of an integer moved to the right, zeros moving in."""
    unsigned = x.view(f"u{x.dtype.itemsize}")
    return (unsigned >> type(unsigned)(count)).view(x.dtype)


def _lapack(name: str, matrix: Array, library: str = "lapack") -> Callable[..., Any]:
    return getattr(import_module(f"scipy.linalg.{library}"), f"{'s' if matrix.dtype.itemsize == 4 else 'd'}{name}")


def _blas(name: str, matrix: Array) -> Callable[..., Any]:
    return _lapack(name, matrix, "blas")


@_word
def getrf(a: Array, pivots: Array) -> None:
    """
    LU factorisation in place of the matrix whose columns are the lines of `a`; see `lir.getrf`.

    `a` may be a window from the corner of a buffer on. `pivots` has an element for each line of that buffer.
    """
    factors, steps, _ = _lapack("getrf", a)(a.T)
    a[...], pivots[: len(steps)] = factors.T, steps + 1


@_word
def getrs(lu: Array, pivots: Array, b: Array, transpose: bool = False) -> None:
    """Solves in place with the factors of `getrf`: each line of `b` is a right hand side; see `lir.getrs`."""
    b[...] = _lapack("getrs", b)(lu.T, pivots - 1, b.T, trans=int(transpose))[0].T


@_word
def trsv(a: Array, b: Array, lower: bool = False, transpose: bool = False, unit_diagonal: bool = False) -> None:
    """Solves in place with a triangle of `a`: `b` becomes the solution; see `lir.trsv`."""
    b[...] = _blas("trsv", a)(a.T, b, lower=int(not lower), trans=int(not transpose), diag=int(unit_diagonal))


@_word
def geqrf(a: Array, scales: Array, work: Array) -> None:
    """QR factorisation in place of the matrix whose columns are the lines of `a`; see `lir.geqrf`."""
    factors, scales[...], *_ = _lapack("geqrf", a)(a.T, lwork=work.size)
    a[...] = factors.T


@_word
def orgqr(a: Array, scales: Array, work: Array) -> None:
    """What `geqrf` left in `a` becomes the columns of `Q`, as lines; see `lir.orgqr`."""
    a[...] = _lapack("orgqr", a)(a.T, scales, lwork=work.size)[0].T


@_word
def syevd(a: Array, values: Array, work: Array, steps: Array, info: Array, values_only: bool = False) -> None:
    """The eigenvalues of a lower triangle, and in its place the vectors, as lines; see `lir.syevd`."""
    sizes = {"lwork": work.size, "liwork": steps.size}
    values[...], vectors, info[0] = _lapack("syevd", a)(a.T, compute_v=int(not values_only), lower=0, **sizes)
    a[...] = vectors.T


@_word
def gesdd(
    a: Array, values: Array, u: Array, vt: Array, work: Array, steps: Array, info: Array, values_only: bool = False
) -> None:
    """The singular values and vectors of `a`, which is lost; see `lir.gesdd`."""
    flags = {"compute_uv": int(not values_only), "full_matrices": 0}
    left, values[...], right, info[0] = _lapack("gesdd", a)(a.T, lwork=work.size, **flags)
    if not values_only:
        u[...], vt[...] = right.T, left.T


def _of_numpy(name: str) -> Callable[..., Number]:
    def function(*operands: Number) -> Number:
        return getattr(_numpy(), name)(*operands)

    function.__name__ = name
    function.__doc__ = f"NumPy's `{name}`."
    return _word(function)


exp, exp2, expm1 = _of_numpy("exp"), _of_numpy("exp2"), _of_numpy("expm1")
log, log2, log1p = _of_numpy("log"), _of_numpy("log2"), _of_numpy("log1p")
sin, cos, tan, arctan, tanh = map(_of_numpy, ("sin", "cos", "tan", "arctan", "tanh"))
sqrt, power, copysign, isnan = map(_of_numpy, ("sqrt", "power", "copysign", "isnan"))
floor, ceil, trunc, rint = map(_of_numpy, ("floor", "ceil", "trunc", "rint"))
maximum, minimum = _of_numpy("maximum"), _of_numpy("minimum")


@_word
def rsqrt(x: Number) -> Number:
    """`1 / sqrt(x)`, both operations correctly rounded."""
    return 1.0 / sqrt(x)


@_word
def erf(x: Number) -> Number:
    """The error function."""
    return type(x)(import_module("math").erf(x))


@_word
def erfc(x: Number) -> Number:
    """`1 - erf(x)`, accurate where that is small."""
    return type(x)(import_module("math").erfc(x))


@_word
def lgamma(x: Number) -> Number:
    """`ln |gamma(x)|`."""
    return type(x)(import_module("scipy.special").gammaln(x))


@_word
def digamma(x: Number) -> Number:
    """The derivative of `lgamma`."""
    return type(x)(import_module("scipy.special").digamma(x))


@_word
def sigmoid(x: Number) -> Number:
    """`1 / (1 + exp(-x))` without overflow or cancellation."""
    e = exp(-abs(x))
    return (type(x)(1.0) if x >= 0.0 else e) / (e + 1.0)
