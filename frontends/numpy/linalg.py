"""NumPy's products, its `np.linalg` and its `np.fft`, on values of a graph."""

# NumPy is called with anything.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf, prod
from typing import Any, NamedTuple

from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.mir import compositions
from xdsl_rlx.dialects.mir.promotion import Kind
from xdsl_rlx.dialects.mir.spectral import RfftOp
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, broadcast_shapes, dims, element_of, integers, normalize_axis
from xdsl_rlx.frontends.numpy.elements import contracted, ufunc
from xdsl_rlx.frontends.numpy.reductions import in_a_row, largest, smallest, sum_of
from xdsl_rlx.frontends.numpy.rows import FUNCTIONS, as_floats, as_value, check_rank, composed, of_one_type, row
from xdsl_rlx.graph_methods import contractions, linalg, moves
from xdsl_rlx.graph_methods.einsum import einsum as contracted_by_labels


class SlogdetResult(NamedTuple):
    """Of `np.linalg.slogdet`."""

    sign: Value
    logabsdet: Value


class EighResult(NamedTuple):
    """Of `np.linalg.eigh`."""

    eigenvalues: Value
    eigenvectors: Value


class QRResult(NamedTuple):
    """Of `np.linalg.qr`."""

    Q: Value
    R: Value


class SVDResult(NamedTuple):
    """Of `np.linalg.svd`."""

    U: Value
    S: Value
    Vh: Value


def _product(function: Callable[..., Value]) -> None:
    """A row for a product of two operands of one element type."""

    @row(function.__name__)
    def found(a: Any, b: Any, *args: Any, **kwargs: Any) -> Value:
        x, y = of_one_type([a, b])
        return contracted(lambda x, y: composed(function, x.b, x, y, *args, **kwargs), x, y)

    found.__doc__ = f"`{function.__name__}` of a graph."


for _function in (contractions.dot, contractions.inner, contractions.kron, contractions.vdot):
    _product(_function)


@row("outer")
def _outer(a: Any, b: Any, out: None = None) -> Value:
    """Every element of one times every element of the other."""
    x, y = of_one_type([a, b])
    return ufunc("multiply", x.b.ravel(x)[:, None], y.b.ravel(y))


@row("linalg.outer")
def _linalg_outer(x1: Any, x2: Any, /) -> Value:
    """Every element of a vector times every element of the other."""
    x, y = of_one_type([x1, x2])
    check_rank("linalg.outer", x, 1)
    check_rank("linalg.outer", y, 1)
    return _outer(x, y)


@row("linalg.tensordot")
def _linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Value:
    """Products summed over some axes of both."""
    return _tensordot(x1, x2, axes)


@row("tensordot")
def _tensordot(a: Any, b: Any, axes: Any = 2) -> Value:
    """Products summed over some axes of both."""
    x, y = of_one_type([a, b])
    if not isinstance(axes, int):
        axes = [integers("tensordot", one) for one in axes]
    return contracted(lambda x, y: composed(contractions.tensordot, x.b, x, y, axes), x, y)


@row("einsum")
def einsum(*operands: Any, out: None = None, optimize: Any = None, dtype: object = None, **_: Any) -> Value:
    """Sums of products, said by letters for axes, or by lists of numbers for them behind each operand."""
    first, *given = operands
    if not isinstance(first, str):
        listed = list(operands)
        letters = [_letters(part) for part in listed[1::2]]
        given = listed[0 : 2 * (len(listed) // 2) : 2]
        first = ",".join(letters) + (f"->{_letters(listed[-1])}" if len(listed) % 2 else "")
    values = of_one_type(given)
    values = values if dtype is None else [x.astype(dtype) for x in values]
    return contracted(partial(composed, contracted_by_labels, values[0].b, first), *values)


def _letters(part: Sequence[Any]) -> str:
    return "".join("..." if one is Ellipsis else chr(ord("a") + one) for one in part)


@row("linalg.multi_dot")
def _multi_dot(arrays: Sequence[Any], *, out: None = None) -> Value:
    """A product of many matrices, those of fewest steps first."""
    values = of_one_type(list(arrays))
    ends = [values[0].rank == 1, values[-1].rank == 1]
    last = len(values)
    labels = [chr(ord("a") + n) + chr(ord("b") + n) for n in range(last)]
    labels[0] = labels[0][1:] if ends[0] else labels[0]
    labels[-1] = labels[-1][:-1] if ends[1] else labels[-1]
    result = ("" if ends[0] else "a") + ("" if ends[1] else chr(ord("a") + last))
    return composed(contracted_by_labels, values[0].b, f"{','.join(labels)}->{result}", *values)


@row("linalg.matmul")
def _matmul(x1: Any, x2: Any, /) -> Value:
    """The product of matrices."""
    return ufunc("matmul", x1, x2)


@row("linalg.vecdot")
def _vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Value:
    """The sum of products along an axis."""
    x, y = of_one_type([x1, x2])
    return ufunc("vecdot", x.b.moveaxis(x, axis, -1), y.b.moveaxis(y, axis, -1))


@row("linalg.cross")
def _linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Value:
    """The vector product along an axis of extent 3."""
    return _cross(x1, x2, axis=axis)


@row("cross")
def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Value:
    """The vector product along an axis of extent 3."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = of_one_type([a, b])
    x, y = x.b.moveaxis(x, axisa, -1), y.b.moveaxis(y, axisb, -1)
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise GraphError(f"np.cross: expected vectors of 3 elements, got {dims(x.shape)} and {dims(y.shape)}")
    parts = [x[..., (n + 1) % 3] * y[..., (n + 2) % 3] - x[..., (n + 2) % 3] * y[..., (n + 1) % 3] for n in range(3)]
    return x.b.moveaxis(compositions.stack(x.b, parts, -1), -1, axisc)


@row("trace")
def _trace(a: Value, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: object = None, out: None = None) -> Value:
    """The sum of a diagonal."""
    return composed(contractions.trace, a.b, a, offset, axis1, axis2, dtype)


@row("linalg.trace")
def _linalg_trace(x: Value, /, *, offset: int = 0, dtype: object = None) -> Value:
    """The sum of a diagonal of the last two axes."""
    return composed(contractions.trace, x.b, x, offset, -2, -1, dtype)


@row("linalg.diagonal")
def _linalg_diagonal(x: Value, /, *, offset: int = 0) -> Value:
    """A diagonal of the last two axes."""
    return composed(compositions.diagonal, x.b, x, offset, -2, -1)


@row("linalg.norm")
def norm(x: Value, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Value:
    """The norm of vectors or matrices, in floats; its slope at 0 is 0."""
    x = as_floats(x)
    if ord == inf or ord == -inf:
        ord = float(ord)
    return composed(linalg.norm, x.b, x, ord, axis, keepdims)


@row("linalg.vector_norm")
def _vector_norm(x: Value, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Value:
    """The norm of all elements, or of vectors along one axis."""
    line, kept = in_a_row(x, axis)
    found = norm(line, ord, -1)
    return found.reshape(kept) if keepdims else found


@row("linalg.matrix_norm")
def _matrix_norm(x: Value, /, *, keepdims: bool = False, ord: Any = "fro") -> Value:
    """The norm of matrices in the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


@row("linalg.solve")
def solve(a: Operand, b: Operand) -> Value:
    """`x` with `a @ x = b`: of a vector, or of matrices of columns; leading axes broadcast."""
    matrices, right = of_one_type([a, b], Kind.FLOATS)
    m, vector = matrices.b, right.rank == 1
    if matrices.rank < 2 or matrices.shape[-1] != matrices.shape[-2]:
        raise GraphError(f"np.linalg.solve: expected square matrices, got {dims(matrices.shape)}")
    columns = right[:, None] if vector else right
    batch = broadcast_shapes(matrices.shape[:-2], columns.shape[:-2])
    matrices = m.expand(matrices, (*batch, *matrices.shape[-2:]))
    columns = m.expand(columns, (*batch, *columns.shape[-2:]))
    found = (m.batched_dense_solve if batch else m.dense_solve)(matrices, columns)
    return found[..., 0] if vector else found


@row("linalg.inv")
def inv(a: Value) -> Value:
    """The inverse of each matrix."""
    return compositions.inv(a.b, as_floats(a))


@row("linalg.det")
def _det(a: Value) -> Value:
    """The determinant of each matrix."""
    return a.b.det(as_floats(a))


@row("linalg.slogdet")
def _slogdet(a: Value) -> SlogdetResult:
    """The sign of each determinant, and the logarithm of its magnitude."""
    return SlogdetResult(*a.b.slogdet(as_floats(a)))


@row("linalg.cholesky")
def _cholesky(a: Value, /, *, upper: bool = False) -> Value:
    """The triangle whose product with its transpose is the symmetric part of `a`."""
    found = a.b.cholesky(as_floats(a))
    return a.b.swapaxes(found, -1, -2) if upper else found


@row("linalg.eigh")
def eigh(a: Value, UPLO: str = "L") -> EighResult:
    """Eigenvalues, ascending, and eigenvectors of the symmetric part of `a`."""
    return EighResult(*a.b.eigh(as_floats(a)))


@row("linalg.eigvalsh")
def _eigvalsh(a: Value, UPLO: str = "L") -> Value:
    """Eigenvalues of the symmetric part of `a`, ascending."""
    return eigh(a)[0]


@row("linalg.qr")
def _qr(a: Value, mode: str = "reduced") -> Any:
    """Orthonormal columns and a triangle with a diagonal that is not negative, or with the mode "r" the triangle."""
    if mode not in ("reduced", "r"):
        raise GraphTypeError(
            f"np.linalg.qr with mode {mode!r} does not support traced values; with 'reduced' and 'r' it does"
        )
    q, r = a.b.qr(as_floats(a))
    return r if mode == "r" else QRResult(q, r)


@row("linalg.svd")
def svd(a: Value, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Singular vectors and values; vectors that no value belongs to there are not."""
    check_rank("linalg.svd", a, least=2)
    if compute_uv and full_matrices and a.shape[-1] != a.shape[-2]:
        raise GraphTypeError("np.linalg.svd of a value that is not square is reduced: pass full_matrices=False")
    found = SVDResult(*a.b.svd(as_floats(a)))
    return found if compute_uv else found.S


@row("linalg.svdvals")
def _svdvals(x: Value, /) -> Value:
    """Singular values, descending."""
    return svd(x, compute_uv=False)


@row("linalg.pinv")
def pinv(a: Value, rcond: float | None = None, hermitian: bool = False, *, rtol: float | None = None) -> Value:
    """The pseudo-inverse, of singular values above `rcond` times the largest, by default 1e-15."""
    check_rank("linalg.pinv", a, least=2)
    given = rcond if rtol is None else rtol
    return a.b.pinv(as_floats(a), 1e-15 if given is None else given)


def _epsilon(x: Value) -> float:
    import ml_dtypes

    return float(ml_dtypes.finfo(x.dtype.dtype).eps) * max(x.shape[-2:])


@row("linalg.lstsq")
def _lstsq(a: Operand, b: Operand, rcond: float | None = None) -> tuple[Value, Value, Value, Value]:
    """
    The least `x` of those with the least `|a x - b|`, the squares of these, the rank of `a` and its singular values.

    Squares there are of more rows than columns, and count as those of a matrix of full rank.
    """
    matrix, right = of_one_type([a, b], Kind.FLOATS)
    check_rank("linalg.lstsq", matrix, 2)
    _, s, _ = svd(matrix, full_matrices=False)
    rcond = _epsilon(matrix) if rcond is None else rcond if rcond >= 0 else _epsilon(matrix)
    columns = right.reshape(-1, 1) if right.ndim == 1 else right
    found = matrix.b.lstsq(matrix, columns, rcond).reshape(matrix.shape[1], *right.shape[1:])
    left = sum_of((right - matrix @ found) ** 2, 0)
    rows, columns = matrix.shape
    left = left.reshape(-1) if rows > columns else matrix.b.full((0,), 0, matrix.dtype)
    return found, left, sum_of(s > s[0] * rcond).astype("i32"), s


@row("linalg.matrix_rank")
def _matrix_rank(A: Value, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Value:
    """The number of singular values above `tol`, by default what rounding leaves of the largest."""
    s = svd(A, compute_uv=False)
    least = s[..., :1] * (_epsilon(as_floats(A)) if rtol is None else rtol) if tol is None else tol
    return sum_of(s > least, -1)


@row("linalg.cond")
def _cond(x: Value, p: Any = None) -> Value:
    """The norm of each matrix times that of its inverse, by default that of the largest singular value."""
    if p is not None:
        return norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))
    s = svd(x, compute_uv=False)
    return largest(s, -1) / smallest(s, -1)


@row("linalg.matrix_power")
def _matrix_power(a: Value, n: int) -> Value:
    """The product of `n` equal matrices, by squarings; of the inverse for a negative `n`."""
    if n < 0:
        return _matrix_power(inv(a), -n)
    if not n:
        one = compositions.eye(a.b, a.shape[-1], dtype=a.dtype)
        return a.b.expand(one, a.shape)
    half = _matrix_power(a, n // 2) if n > 1 else None
    squared = None if half is None else half @ half
    return a if squared is None else squared @ a if n % 2 else squared


@row("linalg.tensorsolve")
def _tensorsolve(a: Operand, b: Operand, axes: Any = None) -> Value:
    """`x` with `np.tensordot(a, x, x.ndim) = b`."""
    tensor, right = of_one_type([a, b], Kind.FLOATS)
    if axes is not None:
        tensor = tensor.b.moveaxis(tensor, axes, list(range(tensor.rank - len(axes), tensor.rank)))
    shape = tensor.shape[right.rank :]
    return solve(tensor.reshape(prod(right.shape), prod(shape)), right.b.ravel(right)).reshape(shape)


@row("linalg.tensorinv")
def _tensorinv(a: Value, ind: int = 2) -> Value:
    """The inverse of what `np.tensordot` does over the axes behind the first `ind`."""
    front, behind = a.shape[:ind], a.shape[ind:]
    return inv(a.reshape(prod(front), prod(behind))).reshape(*behind, *front)


def _transform(name: str, along: Callable[[Value, int | None, str], Value]) -> None:
    """A row for a transform along one axis, done along the last."""

    @row(f"fft.{name}")
    def found(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: None = None) -> Value:
        x = as_floats(as_value(a))
        axis = normalize_axis(axis, x.rank)
        return x.b.moveaxis(along(x.b.moveaxis(x, axis, -1), n, _norm(norm)), -1, axis)

    found.__doc__ = "The discrete Fourier transform along an axis."


def _norm(norm: str | None) -> str:
    if norm not in (None, "backward", "ortho", "forward"):
        raise GraphTypeError(f"np.fft: expected the norm 'backward', 'ortho' or 'forward', got {norm!r}")
    return norm or "backward"


def _scaled(x: Value, factor: float) -> Value:
    return x if factor == 1 else x * factor


def _factor(n: int, norm: str, inverse: bool) -> float:
    """What a sum over `n` points is multiplied by."""
    return n**-0.5 if norm == "ortho" else 1 / n if (norm == "backward") == inverse else 1.0


def _complex(x: Value) -> Value:
    if element_of(x.ssa) in COMPLEXES:
        return x
    return x.astype("c128" if x.dtype == "f64" else "c64")


def _single(x: Value) -> Value:
    """Real numbers of which there are transforms: half floats in f32."""
    return x.astype("f32") if x.dtype in ("f16", "bf16") else x


def _points(x: Value, n: int | None) -> Value:
    """The first `n` points, with zeros behind where there are fewer."""
    if n is None or n == x.shape[-1]:
        return x
    return composed(compositions.pad, x.b, x, [(0, 0)] * (x.rank - 1) + [(0, n - x.shape[-1])])


def _fft(inverse: bool) -> Callable[[Value, int | None, str], Value]:
    def along(x: Value, n: int | None, norm: str) -> Value:
        if element_of(x.ssa) in COMPLEXES:
            x = _points(x, n)
            found = x.b.fft(x, inverse)
        else:
            x = _points(_single(x), n)
            bins = x.b.op(RfftOp, x.ssa, True)
            found = x.b.conjugate(bins) if inverse else bins
        return _scaled(found, _factor(x.shape[-1], norm, inverse))

    return along


def _rfft(x: Value, n: int | None, norm: str) -> Value:
    x = _points(_single(x), n)
    return _scaled(x.b.rfft(x), _factor(x.shape[-1], norm, False))


def _irfft(x: Value, n: int | None, norm: str) -> Value:
    given, x = x.dtype, _complex(x)
    points = 2 * (x.shape[-1] - 1) if n is None else n
    found = _scaled(x.b.irfft(x, points), points * _factor(points, norm, True))
    # as in NumPy, real numbers stay in their type
    return found.astype(given) if given == "f16" else found


def _hfft(x: Value, n: int | None, norm: str) -> Value:
    given, x = x.dtype, x.b.conjugate(_complex(x))
    points = 2 * (x.shape[-1] - 1) if n is None else n
    found = _scaled(x.b.irfft(x, points), points * _factor(points, norm, False))
    return found.astype(given) if given == "f16" else found


def _ihfft(x: Value, n: int | None, norm: str) -> Value:
    x = _points(_single(x), n)
    return _scaled(x.b.conjugate(x.b.rfft(x)), _factor(x.shape[-1], norm, True))


for _name, _along in {
    "fft": _fft(False),
    "ifft": _fft(True),
    "rfft": _rfft,
    "irfft": _irfft,
    "hfft": _hfft,
    "ihfft": _ihfft,
}.items():
    _transform(_name, _along)


def _of_axes(name: str, last: str, others: str, axes: Sequence[int] | None, first: bool) -> None:
    """A row for a transform along several axes: the last by one function, the others by another, in front or behind."""

    @row(f"fft.{name}")
    def found(a: Any, s: Any = None, axes: Any = axes, norm: str | None = None, out: None = None) -> Value:
        x = as_floats(as_value(a))
        check_rank(f"fft.{name}", x, least=1)
        along = list(range(x.rank) if axes is None else axes)
        along = along[-len(s) :] if s is not None and axes is None else along
        sizes = [None] * len(along) if s is None else list(s)
        steps = [(others, n, axis) for n, axis in zip(sizes[:-1], along[:-1], strict=True)]
        end = (last, sizes[-1], along[-1])
        for step, n, axis in [end, *reversed(steps)] if first else [*steps, end]:
            x = FUNCTIONS[f"fft.{step}"](x, n, axis, norm)
        return x

    found.__doc__ = "The discrete Fourier transform along several axes."


for _suffix, _axes in (("2", (-2, -1)), ("n", None)):
    _of_axes(f"fft{_suffix}", "fft", "fft", _axes, True)
    _of_axes(f"ifft{_suffix}", "ifft", "ifft", _axes, True)
    _of_axes(f"rfft{_suffix}", "rfft", "fft", _axes, True)
    _of_axes(f"irfft{_suffix}", "irfft", "ifft", _axes, False)


def _shift(name: str, sign: int) -> None:
    @row(f"fft.{name}")
    def found(x: Value, axes: Any = None) -> Value:
        check_rank(f"fft.{name}", x, least=1)
        along = list(range(x.rank)) if axes is None else list(integers(name, axes))
        return composed(moves.roll, x.b, x, [sign * (x.shape[axis] // 2) for axis in along], along)

    found.__doc__ = "The frequency 0 in the middle, or back at the front."


_shift("fftshift", 1)
_shift("ifftshift", -1)
