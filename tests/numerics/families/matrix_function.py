"""Functions of the spectrum of a matrix."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from numerics.families.factor import spread, stretched
from numerics.sample import Operand, Sample, method
from oracle import Array, widen

from xdsl_rlx.dialects.mir import matrix_function
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value


def _of_symmetric(m: MirBuilder, a: Value) -> Value:
    values, vectors = m.eigh(a)
    return m.matrix_function(a, values, vectors, vectors, m.exp(values * 0.3))


def _of_singular(m: MirBuilder, a: Value) -> Value:
    u, values, vt = m.svd(a)
    return m.matrix_function(a, values, u, m.swapaxes(vt, -1, -2), values * m.tanh(values), True)


def _mixed(m: MirBuilder, a: Value) -> Value:
    """Images that each depend on all values."""
    values, vectors = m.eigh(a)
    return m.matrix_function(a, values, vectors, vectors, m.softmax(values))


def _function_samples() -> list[Sample]:
    op, rows = matrix_function.MatrixFunctionOp, list[Sample]()
    cases = {
        "": (_of_symmetric, (3, 3), spread),
        "-batch": (_of_symmetric, (2, 2, 3, 3), spread),
        "-mixed": (_mixed, (3, 3), spread),
        "-one": (_of_symmetric, (1, 1), spread),
        "-singular": (_of_singular, (4, 3), stretched),
        "-singular-square": (_of_singular, (2, 3, 3), stretched),
    }
    for suffix, (build, shape, sampler) in cases.items():
        operands = (Operand(shape, sampler),)
        rows.append(Sample(f"matrix_function{suffix}", op, build, operands, differentiable=(0,), tol=512))
    return rows


def of_full_rank(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Matrices of full rank, which are far from singular."""
    return stretched(rng, shape) if shape[-2] >= shape[-1] else np.swapaxes(stretched(rng, _turned(shape)), -1, -2)


def _turned(shape: tuple[int, ...]) -> tuple[int, ...]:
    return *shape[:-2], shape[-1], shape[-2]


def _pinv_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, shape in (("", (4, 3)), ("-wide", (2, 4)), ("-batch", (2, 3, 3)), ("-one", (1, 1))):
        operands = (Operand(shape, of_full_rank),)
        rows.append(
            Sample(
                f"pinv{suffix}",
                matrix_function.PinvOp,
                method("pinv"),
                operands,
                differentiable=(0,),
                tol=512,
            )
        )
    return rows


def _lstsq_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, shape, k in (
        *(("", (4, 3), 1), ("-square", (3, 3), 2), ("-wide", (2, 4), 2), ("-batch", (2, 5, 3), 2), ("-one", (1, 1), 1)),
        *(("-many", (4, 3), 5), ("-lapack", (60, 50), 2)),
    ):
        operands = Operand(shape, of_full_rank), Operand((*shape[:-1], k))
        row = Sample(
            f"lstsq{suffix}",
            matrix_function.LstsqOp,
            method("lstsq"),
            operands,
            differentiable=(0, 1),
            tol=512,
        )
        rows.append(row)
    return rows


def _function(np_: Any, left: Any, right: Any, images: Any) -> Any:
    return (left * images[..., None, :]) @ np_.swapaxes(right, -1, -2)


SAMPLES = (*_function_samples(), *_pinv_samples(), *_lstsq_samples())
ORACLE = {
    matrix_function.MatrixFunctionOp: lambda op, a, w, u, v, f: _function(np, widen(u), widen(v), widen(f)),
    matrix_function.PinvOp: lambda op, a: np.linalg.pinv(widen(a), rcond=op.rcond.value.data),
    matrix_function.LstsqOp: lambda op, a, b: np.linalg.pinv(widen(a), rcond=op.rcond.value.data) @ widen(b),
}
JAX = {
    matrix_function.MatrixFunctionOp: lambda op, a, w, u, v, f: _function(jnp, u, v, f),
    matrix_function.PinvOp: lambda op, a: jnp.linalg.pinv(a, rcond=op.rcond.value.data),
    matrix_function.LstsqOp: lambda op, a, b: jnp.linalg.pinv(a, rcond=op.rcond.value.data) @ b,
}
