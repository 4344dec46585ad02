"""Solves, and the factorisation they share."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numerics.sample import Operand, Sample, Sampler, complex_normal, values
from oracle import Array, widen
from scipy import linalg

from xdsl_rlx.dialects.mir import solve


def regular(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Well-conditioned matrices whose largest elements are not on the diagonal."""
    n = shape[-1]
    rows = [rng.permutation(n) for _ in range(int(np.prod(shape[:-2])))]
    large = np.array([2 * np.eye(n)[order] for order in rows]).reshape(shape)
    return large + rng.uniform(-1, 1, shape) / max(n, 1)


def regular_complex(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """The same with complex numbers, turned by any angles."""
    return np.exp(1j * rng.uniform(0, 6, shape)) * regular(rng, shape) + 0.3j * np.eye(shape[-1])


def triangles(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Packed factors of well-conditioned matrices."""
    n = shape[-1]
    return 2 * np.eye(n) + rng.uniform(-1, 1, shape) / max(n, 1)


def interchanges(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """For each row, counted from 1, one that is not in front of it."""
    n = shape[-1]
    return 1 + np.arange(n) + np.floor(rng.uniform(0, n - np.arange(n), shape))


def _solve_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, n, columns in (
        ("", 3, ()),
        ("-matrix", 3, (2,)),
        ("-one", 1, ()),
        ("-column", 5, (1,)),
        ("-odd", 9, ()),
        ("-blocks", 17, (5,)),
        ("-lapack", 67, ()),
        ("-lapack-matrix", 66, (3,)),
        ("-none", 0, ()),
        ("-no-columns", 3, (0,)),
    ):
        for transpose in (False, True):
            build = lambda m, a, b, t=transpose: m.dense_solve(a, b, t)  # noqa: E731
            operands = (Operand((n, n), regular), Operand((n, *columns)))
            name = f"dense_solve{suffix}{'-transpose' if transpose else ''}"
            rows.append(Sample(name, solve.DenseSolveOp, build, operands, differentiable=(0, 1), tol=64))
    turned = lambda m, a, b: m.dense_solve(m.transpose(a, (1, 0)), b)  # noqa: E731
    operands = (Operand((4, 4), regular), Operand((4,)))
    rows.append(Sample("dense_solve-of-view", solve.DenseSolveOp, turned, operands, differentiable=(0, 1), tol=64))
    for suffix, matrix, rhs in (
        ("", (1.0, 2.0, 2.0, 4.0), (1.0, 1.0)),
        ("-undetermined", (1.0, 2.0, 2.0, 4.0), (1.0, 2.0)),
        ("-zero", (0.0,), (1.0, -1.0)),
        ("-nan", (np.nan,), (1.0, -1.0)),
        ("-diagonal", (0.0, 0.0, 0.0, 2.0), (1.0, 1.0)),
    ):
        operands = (Operand((2, 2), values(*matrix)), Operand((2,), values(*rhs)))
        build = lambda m, a, b: m.dense_solve(a, b)  # noqa: E731
        rows.append(Sample(f"dense_solve-singular{suffix}", solve.DenseSolveOp, build, operands, exact=True))
    return rows


def _batched_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, batch, n, columns, transpose in (
        ("", (2,), 3, (), False),
        ("-matrix", (2,), 3, (4,), True),
        ("-batches", (2, 3), 2, (), True),
        ("-many", (11,), 5, (1,), False),
        ("-lapack", (3,), 65, (2,), False),
        ("-none", (0,), 3, (), False),
    ):
        build = lambda m, a, b, t=transpose: m.batched_dense_solve(a, b, t)  # noqa: E731
        operands = (Operand((*batch, n, n), regular), Operand((*batch, n, *columns)))
        op = solve.BatchedDenseSolveOp
        rows.append(Sample(f"batched_dense_solve{suffix}", op, build, operands, differentiable=(0, 1), tol=64))
    return rows


def _complex_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, batch, n, columns in (
        ("", (), 3, ()),
        ("-matrix", (), 5, (2,)),
        ("-lapack", (), 33, (2,)),
        ("-none", (), 0, ()),
        ("-batch", (2, 2), 3, ()),
        ("-batch-matrix", (2,), 2, (3,)),
    ):
        for transpose in (False, True):
            kind, op = ("batched_dense_solve" if batch else "dense_solve"), _type_of(bool(batch))
            build = lambda m, a, b, k=kind, t=transpose: getattr(m, k)(a, b, t)  # noqa: E731
            operands = (
                Operand((*batch, n, n), regular_complex, "complex"),
                Operand((*batch, n, *columns), complex_normal(), "complex"),
            )
            name = f"{kind}-complex{suffix}{'-transpose' if transpose else ''}"
            rows.append(Sample(name, op, build, operands, differentiable=(0, 1), tol=64))
    return rows


def _type_of(batched: bool) -> type[solve.SolveOp]:
    """The op of one solve or of a batch."""
    return solve.BatchedDenseSolveOp if batched else solve.DenseSolveOp


def _factor_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, shape in (("", (4, 4)), ("-batch", (2, 3, 11, 11)), ("-lapack", (2, 65, 65)), ("-none", (2, 0, 0))):
        build = lambda m, a: m.lu(a)  # noqa: E731
        rows.append(Sample(f"lu{suffix}", solve.LuOp, build, (Operand(shape, regular),), differentiable=(0,), tol=256))
    singular: Sampler = values(0.0, 1.0, 2.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0)
    rows.append(Sample("lu-singular", solve.LuOp, lambda m, a: m.lu(a), (Operand((3, 3), singular),)))
    for suffix, batch, n, columns in (("", (), 4, ()), ("-matrix", (2,), 9, (3,)), ("-lapack", (2,), 65, (2,))):
        for transpose in (False, True):
            build = lambda m, a, p, b, t=transpose: m.lu_solve(a, p, b, t)  # noqa: E731
            operands = (
                Operand((*batch, n, n), triangles),
                Operand((*batch, n), interchanges, "i32"),
                Operand((*batch, n, *columns)),
            )
            name = f"lu_solve{suffix}{'-transpose' if transpose else ''}"
            rows.append(Sample(name, solve.LuSolveOp, build, operands, differentiable=(0, 2), tol=256))
    for suffix, batch, n in (("", (), 4), ("-batch", (2, 2), 9), ("-blocks", (2,), 99), ("-none", (2,), 0)):
        operands = (Operand((*batch, n, n), triangles), Operand((*batch, n), interchanges, "i32"))
        build = lambda m, a, p: m.lu_inverse(a, p)  # noqa: E731
        name = f"lu_inverse{suffix}"
        rows.append(Sample(name, solve.LuInverseOp, build, operands, differentiable=(0,), tol=256))
    return rows


def _triangular_samples() -> list[Sample]:
    """Every triangle in every size class: loops of our own, many side by side, BLAS with one side and with several."""
    rows: list[Sample] = []
    for suffix, batch, n, columns in (
        *(("", (), 4, ()), ("-matrix", (2,), 9, (3,)), ("-many", (11,), 5, (2,)), ("-none", (2,), 0, ())),
        *(("-no-columns", (), 3, (0,)), ("-blas", (2,), 65, ()), ("-blocks", (), 67, (3,))),
    ):
        for number, (lower, transpose, unit) in enumerate(np.ndindex(2, 2, 2)):
            if n > 16 and number not in (1, 2, 4, 7):
                continue
            flags = (bool(lower), bool(transpose), bool(unit))
            build = lambda m, a, b, flags=flags: m.triangular_solve(a, b, *flags)  # noqa: E731
            operands = (Operand((*batch, n, n), triangles), Operand((*batch, n, *columns)))
            name = f"triangular_solve{suffix}-{number}"
            rows.append(Sample(name, solve.TriangularSolveOp, build, operands, differentiable=(0, 1), tol=256))
    for suffix, batch, n, columns in (("", (), 4, ()), ("-matrix", (2, 3), 9, (3,)), ("-none", (2,), 0, (2,))):
        for inverse in (False, True):
            build = lambda m, b, p, t=inverse: m.interchange_rows(b, p, t)  # noqa: E731
            operands = (Operand((*batch, n, *columns)), Operand((*batch, n), interchanges, "i32"))
            name = f"interchange_rows{suffix}{'-inverse' if inverse else ''}"
            rows.append(Sample(name, solve.InterchangeRowsOp, build, operands, differentiable=(0,)))
    return rows


def _interchanged(b: Array, pivots: Array, inverse: bool) -> Array:
    """The rows of one matrix, interchanged."""
    found, steps = b.copy(), range(len(pivots))
    for k in reversed(steps) if inverse else steps:
        found[[k, pivots[k] - 1]] = found[[pivots[k] - 1, k]]
    return found


def _oracle_interchange(op: solve.InterchangeRowsOp, b: Array, pivots: Array) -> Array:
    flag = op.inverse is not None
    batch = pivots.shape[:-1]
    return np.array([_interchanged(b[at], pivots[at], flag) for at in np.ndindex(batch)]).reshape(b.shape)


def _triangle(np_: Any, op: solve.TriangularSolveOp, a: Any) -> Any:
    """The matrix that is solved with."""
    beside = int(op.unit_diagonal is not None)
    found = np_.tril(a, -beside) if op.lower is not None else np_.triu(a, beside)
    found = found + np_.eye(a.shape[-1], dtype=a.dtype) if beside else found
    return found if op.transpose is None else np_.swapaxes(found, -1, -2)


def _oracle_triangular(op: solve.TriangularSolveOp, a: Array, b: Array) -> Array:
    goes_up = (op.lower is None) != (op.transpose is not None)
    found = [_substituted(m, x, goes_up) for m, x in _each(lambda *x: x, _triangle(np, op, widen(a)), widen(b))]
    return np.array(found).reshape(b.shape)


def _substituted(a: Array, b: Array, goes_up: bool) -> Array:
    """`a^-1 b` row by row. NumPy and SciPy raise for a zero on the diagonal, by which the op divides."""
    x, n = b.copy(), len(b)
    with np.errstate(all="ignore"):
        for i in range(n)[:: -1 if goes_up else 1]:
            known = slice(i + 1, n) if goes_up else slice(0, i)
            x[i] = (x[i] - a[i, known] @ x[known]) / a[i, i]
    return x


def _factors(a: Array) -> tuple[Array, Array]:
    """Of the transpose of one matrix."""
    if not a.size:
        return a, np.zeros(a.shape[:1], np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", linalg.LinAlgWarning)
        lu, pivots = linalg.lu_factor(a.T, check_finite=False)
    return lu.T, pivots + 1


def _by_factors(packed: Array, pivots: Array, b: Array, transpose: bool) -> Array:
    if not b.size:
        return b
    return linalg.lu_solve((packed.T, pivots - 1), b, trans=0 if transpose else 1, check_finite=False)


def _each(f: Any, matrices: Array, *others: Array) -> list[Any]:
    """`f` for each of a batch of matrices."""
    batch = matrices.shape[:-2]
    return [f(matrices[at], *(x[at] for x in others)) for at in np.ndindex(batch)]


def _oracle_solve(op: solve.SolveOp, a: Array, b: Array) -> Array:
    flag = op.transpose is not None

    def one(a: Array, b: Array) -> Array:
        try:
            return np.linalg.solve(a.T if flag else a, b)
        except np.linalg.LinAlgError:
            return _by_factors(*_factors(a), b, flag)

    return np.array(_each(one, widen(a), widen(b))).reshape(b.shape)


def _oracle_lu(op: solve.LuOp, a: Array) -> tuple[Array, Array]:
    found = _each(_factors, widen(a))
    return np.array([f[0] for f in found]).reshape(a.shape), np.array([f[1] for f in found]).reshape(a.shape[:-1])


def _oracle_lu_solve(op: solve.LuSolveOp, packed: Array, pivots: Array, b: Array) -> Array:
    flag = op.transpose is not None
    found = _each(lambda c, p, x: _by_factors(c, p, x, flag), widen(packed), pivots, widen(b))
    return np.array(found).reshape(b.shape)


def _oracle_lu_inverse(op: solve.LuInverseOp, packed: Array, pivots: Array) -> Array:
    identity = np.eye(packed.shape[-1])
    found = _each(lambda c, p: _by_factors(c, p, identity, False), widen(packed), pivots)
    return np.array(found).reshape(packed.shape)


# Written out in JAX, because its LAPACK kernels wait for each other's threads forever when many are in one program.


def _swapped(x: Any, k: Any, p: Any) -> Any:
    rows = jnp.arange(x.shape[0])
    return x[jnp.where(rows == k, p, jnp.where(rows == p, k, rows))]


def jax_factors(m: Any) -> tuple[Any, Any]:
    """LU factors of one matrix and the rows interchanged, counted from 0."""
    index = jnp.arange(m.shape[0])

    def step(m: Any, k: Any) -> Any:
        p = jnp.argmax(jnp.where(index >= k, jnp.abs(m[:, k]), -1.0))
        m = _swapped(m, k, p)
        below = index > k
        column = jnp.where(below, m[:, k] / m[k, k], 0.0)
        m = m - jnp.outer(column, jnp.where(below, m[k], 0.0))
        return m.at[:, k].set(jnp.where(below, column, m[:, k])), p

    return lax.scan(step, m, index)


def jax_eliminate(a: Any, b: Any) -> Any:
    """`a^-1 b` for one matrix and some columns."""
    n = a.shape[0]
    index = jnp.arange(n)

    def step(m: Any, k: Any) -> Any:
        p = jnp.argmax(jnp.where(index >= k, jnp.abs(m[:, k]), -1.0))
        m = _swapped(m, k, p)
        row = m[k] / m[k, k]
        m = m - jnp.outer(jnp.where(index == k, 0.0, m[:, k]), row)
        return m.at[k].set(row), None

    return lax.scan(step, jnp.concatenate([a, b], 1), index)[0][:, n:]


def over_batch(f: Any, rank: int) -> Any:
    for _ in range(rank - 2):
        f = jax.vmap(f)
    return f


def _jax_solve(op: solve.SolveOp, a: Any, b: Any) -> Any:
    matrix = a if op.transpose is None else jnp.swapaxes(a, -1, -2)
    if not b.size:
        return b
    return over_batch(jax_eliminate, a.ndim)(matrix, b.reshape((*a.shape[:-1], -1))).reshape(b.shape)


def _jax_lu(op: solve.LuOp, a: Any) -> tuple[Any, Any]:
    if not a.size:
        return a, jnp.zeros(a.shape[:-1], jnp.int32)
    lu, pivots = over_batch(jax_factors, a.ndim)(jnp.swapaxes(a, -1, -2))
    return jnp.swapaxes(lu, -1, -2), pivots.astype(jnp.int32) + 1


def _jax_lu_solve(op: solve.LuSolveOp, packed: Any, pivots: Any, b: Any) -> Any:
    return _jax_by_factors(packed, pivots, b, op.transpose is not None)


def _jax_lu_inverse(op: solve.LuInverseOp, packed: Any, pivots: Any) -> Any:
    return _jax_by_factors(packed, pivots, jnp.broadcast_to(jnp.eye(packed.shape[-1]), packed.shape), False)


def _jax_by_factors(packed: Any, pivots: Any, b: Any, transpose: bool) -> Any:
    n = packed.shape[-1]

    def one(packed: Any, pivots: Any, b: Any) -> Any:
        order = lax.fori_loop(0, n, lambda k, order: _swapped(order, k, pivots[k] - 1), jnp.arange(n))
        product = (jnp.tril(packed.T, -1) + jnp.eye(n)) @ jnp.triu(packed.T)
        matrix = product[jnp.argsort(order)]
        return jax_eliminate(matrix if transpose else matrix.T, b)

    columns = b.reshape((*packed.shape[:-1], -1))
    return over_batch(one, packed.ndim)(packed, pivots, columns).reshape(b.shape)


def _jax_interchange(op: solve.InterchangeRowsOp, b: Any, pivots: Any) -> Any:
    n = pivots.shape[-1]

    def one(b: Any, pivots: Any) -> Any:
        def step(k: Any, order: Any) -> Any:
            at = k if op.inverse is None else n - 1 - k
            return _swapped(order, at, pivots[at] - 1)

        return b[lax.fori_loop(0, n, step, jnp.arange(n))]

    return over_batch(one, pivots.ndim + 1)(b, pivots) if b.size else b


def _jax_triangular(op: solve.TriangularSolveOp, a: Any, b: Any) -> Any:
    if not b.size:
        return b
    columns = b.reshape((*a.shape[:-1], -1))
    return over_batch(jax_eliminate, a.ndim)(_triangle(jnp, op, a), columns).reshape(b.shape)


SAMPLES = (
    *(*_solve_samples(), *_batched_samples(), *_complex_samples()),
    *(*_factor_samples(), *_triangular_samples()),
)
ORACLE = {
    solve.DenseSolveOp: _oracle_solve,
    solve.BatchedDenseSolveOp: _oracle_solve,
    solve.LuOp: _oracle_lu,
    solve.LuSolveOp: _oracle_lu_solve,
    solve.LuInverseOp: _oracle_lu_inverse,
    solve.InterchangeRowsOp: _oracle_interchange,
    solve.TriangularSolveOp: _oracle_triangular,
}
JAX = {
    solve.DenseSolveOp: _jax_solve,
    solve.BatchedDenseSolveOp: _jax_solve,
    solve.LuOp: _jax_lu,
    solve.LuSolveOp: _jax_lu_solve,
    solve.LuInverseOp: _jax_lu_inverse,
    solve.InterchangeRowsOp: _jax_interchange,
    solve.TriangularSolveOp: _jax_triangular,
}
