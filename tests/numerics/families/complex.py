"""Complex tensors: parts, arithmetic and the ops that move, select, reduce and multiply them."""

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
from numerics.families.linalg import CONTRACTIONS
from numerics.sample import (
    NARROW,
    Build,
    Operand,
    Sample,
    Sampler,
    apart,
    complex_normal,
    integers,
    normal,
    ring,
    values,
)
from oracle import widen

from xdsl_rlx.dialects.mir import cast, complex, elementwise, linalg, reduce, shape


def z(*extents: int, sampler: Sampler | None = None) -> Operand:
    """A complex operand."""
    return Operand(extents, complex_normal() if sampler is None else sampler, "complex")


_INF = np.inf
_CORNERS = values(
    0, -1, 1j, -1j, 2, 1e-30 + 1e-30j, 1e30 - 1e30j, -1e30 + 1e-30j, -4 + 0j, np.conj(-4 + 0j), 3e38 + 3e38j, 1e-44j
)
_UNARY: tuple[tuple[str, type[Any], Build, Sampler], ...] = (
    ("real", complex.RealOp, lambda m, x: m.real(x), complex_normal()),
    ("imag", complex.ImagOp, lambda m, x: m.imag(x), complex_normal()),
    ("conjugate", complex.ConjugateOp, lambda m, x: m.conjugate(x), complex_normal()),
    ("complex_norm_sq", complex.ComplexNormSqOp, lambda m, x: m.complex_norm_sq(x), complex_normal()),
    ("neg-complex", elementwise.NegOp, lambda m, x: -x, complex_normal()),
    ("exp-complex", elementwise.ExpOp, lambda m, x: m.exp(x), complex_normal()),
    ("log-complex", elementwise.LogOp, lambda m, x: m.log(x), ring(0.2, 3.0)),
    ("sqrt-complex", elementwise.SqrtOp, lambda m, x: m.sqrt(x), ring(0.2, 3.0)),
)
_BINARY: tuple[tuple[str, type[Any], Build, Sampler], ...] = (
    ("add", elementwise.AddOp, lambda m, x, y: x + y, complex_normal()),
    ("sub", elementwise.SubOp, lambda m, x, y: x - y, complex_normal()),
    ("mul", elementwise.MulOp, lambda m, x, y: x * y, complex_normal()),
    ("div", elementwise.DivOp, lambda m, x, y: x / y, ring(0.4, 3.0)),
)


def _elementwise() -> list[Sample]:
    rows: list[Sample] = []
    for name, op, build, sampler in _UNARY:
        for suffix, extents in (("", (3, 5)), ("-vector", (33,)), ("-scalar", ()), ("-empty", (0, 2))):
            operands = (z(*extents, sampler=sampler),)
            rows.append(Sample(f"{name}{suffix}", op, build, operands, differentiable=(0,), tol=16))
    for name, op, build, sampler in _BINARY:
        for suffix, left, right in (("", (3, 5), (3, 5)), ("-row", (3, 5), (5,)), ("-both", (3, 1), (4,))):
            operands = (z(*left), z(*right, sampler=sampler))
            rows.append(Sample(f"{name}-complex{suffix}", op, build, operands, differentiable=(0, 1), tol=16))
    return rows


def _corners() -> list[Sample]:
    """Branch cuts, zeros, numbers whose squares overflow or vanish: each compared on its own scale."""
    rows: list[Sample] = []
    relative: dict[str, Build] = {
        "sqrt-complex": lambda m, x: m.sqrt(x) / _size(m, x),
        "log-complex": lambda m, x: m.log(x),
    }
    for name, op in (("sqrt-complex", elementwise.SqrtOp), ("log-complex", elementwise.LogOp)):
        operands = (Operand((12,), _CORNERS, "c64"),)
        rows.append(Sample(f"{name}-corners", op, relative[name], operands, ("c64",), tol=16))
    over = Operand((5,), values(1e30 + 1e30j, 1e-30j, 3e38, 1 + 1j, 1e-38 + 1e-38j), "c64")
    under = Operand((5,), values(1e30 - 1e30j, 1e-30, 3e38j, 0.0, 1e-38), "c64")
    build: Build = lambda m, x, y: x / y  # noqa: E731
    rows.append(Sample("div-complex-corners", elementwise.DivOp, build, (over, under), ("c64",), tol=16))
    special = values(-_INF, complex_of(-_INF, _INF), complex_of(100.0, 1.5707963), complex_of(_INF, 0.0), 0)
    operands = (Operand((5,), special, "c64"),)
    rows.append(Sample("exp-complex-corners", elementwise.ExpOp, lambda m, x: m.exp(x), operands, ("c64",), tol=64))
    return rows


def complex_of(re: float, im: float) -> Any:
    """A complex number of these parts, infinite or not."""
    return np.array([re, im]).view(np.complex128)[0]


def _size(m: Any, x: Any) -> Any:
    size = m.sqrt(m.complex_abs(x))
    return m.complex(m.where(m.eq(size, 0.0), 1.0, size), 0.0)


def _contractions() -> Iterator[tuple[str, type[Any], tuple[Operand, ...], Build, bool]]:
    """Those of real operands that differ in the order of the factors of their cotangents, and in what is transposed."""
    for suffix, left, right, axes in CONTRACTIONS:
        if suffix in ("", "-transposed", "-batches-swapped", "-two-crossed", "-dot", "-outer"):
            build: Build = lambda m, x, y, a=axes: m.dot_general(x, y, *a)  # noqa: E731
            yield f"dot_general{suffix}", linalg.DotGeneralOp, (z(*left), z(*right)), build, False


def _moves() -> list[Sample]:
    rows: list[Sample] = []
    builds: tuple[tuple[str, type[Any], tuple[Operand, ...], Build, bool], ...] = (
        ("reshape", shape.ReshapeOp, (z(4, 6),), lambda m, x: m.reshape(x, (3, 8)), True),
        ("transpose", shape.TransposeOp, (z(4, 6),), lambda m, x: x.T, True),
        ("narrow", shape.NarrowOp, (z(4, 6),), lambda m, x: m.narrow(x, 1, 2, 3), True),
        ("concat", shape.ConcatOp, (z(2, 3), z(2, 4)), lambda m, x, y: m.concat([x, y], 1), True),
        ("expand", shape.ExpandOp, (z(3, 1),), lambda m, x: m.expand(x, (2, 3, 4)), True),
        ("reduce_sum", reduce.ReduceSumOp, (z(4, 6),), lambda m, x: m.reduce_sum(x, 1), False),
        ("reduce_mean", reduce.ReduceMeanOp, (z(4, 6),), lambda m, x: m.reduce_mean(x, 0, True), False),
        ("matmul", linalg.MatmulOp, (z(3, 4), z(4, 5)), lambda m, x, y: x @ y, False),
        ("matmul-batch", linalg.MatmulOp, (z(2, 3, 4), z(2, 4, 2)), lambda m, x, y: x @ y, False),
        ("matmul-shared", linalg.MatmulOp, (z(2, 3, 4), z(4, 2)), lambda m, x, y: x @ y, False),
        *_contractions(),
    )
    for name, op, operands, build, exact in builds:
        wrt = tuple(range(len(operands)))
        rows.append(Sample(f"{name}-complex", op, build, operands, differentiable=wrt, exact=exact, tol=16))
    cond = Operand((3, 4), integers(0, 2), "i1")
    build: Build = lambda m, c, x, y: m.where(c, x, y)  # noqa: E731
    operands = (cond, z(3, 4), z(4))
    rows.append(Sample("where-complex", elementwise.WhereOp, build, operands, differentiable=(1, 2), exact=True))
    return rows


def _others() -> list[Sample]:
    rows: list[Sample] = []
    few = values(1 + 2j, 1 - 2j, 2 + 2j, 1 + 2j, np.nan)
    more = values(1 + 2j, 1 + 2j, 1 + 2j, 2 + 2j, np.nan)
    for name, op in (("eq", elementwise.EqOp), ("ne", elementwise.NeOp)):
        build: Build = lambda m, x, y, n=name: getattr(m, n)(x, y)  # noqa: E731
        rows.append(Sample(f"{name}-complex", op, build, (z(5, sampler=few), z(5, sampler=more)), exact=True))
    real = (Operand((3, 4)),)
    build = lambda m, x: m.cast(x, "c64" if x.dtype == "f32" else "c128") * (2 + 1j)  # noqa: E731
    rows.append(Sample("cast-to-complex", cast.CastOp, build, real, differentiable=(0,)))
    build = lambda m, x: m.cast(x, "c128")  # noqa: E731
    rows.append(
        Sample("cast-c64", cast.CastOp, build, (Operand((3, 4), complex_normal(), "c64"),), ("c64",), exact=True)
    )
    build = lambda m, re, im: m.complex(re, im)  # noqa: E731
    pair = (Operand((3, 4)), Operand((3, 4)))
    rows.append(Sample("complex", complex.ComplexOp, build, pair, differentiable=(0, 1), exact=True))
    rows.append(Sample("complex-part", complex.ComplexOp, lambda m, re: m.complex(re, 0.5), real, differentiable=(0,)))
    build = lambda m, x, g: m.complex_norm_sq_backward(x, g)  # noqa: E731
    operands = (z(3, 4), Operand((3, 4)))
    op = complex.ComplexNormSqBackwardOp
    rows.append(Sample("complex_norm_sq_backward", op, build, operands, differentiable=(0, 1)))
    build = lambda m, x: x * m.constant(np.array([1 + 2j, 0.5j, -1, 3]), x.dtype)  # noqa: E731
    rows.append(Sample("constant-complex", elementwise.ConstantOp, build, (z(3, 4),), differentiable=(0,)))
    build = lambda m, x: m.stop_gradient(x) * x  # noqa: E731
    rows.append(Sample("stop_gradient-complex", elementwise.StopGradientOp, build, (z(3),), exact=False))
    build = lambda m, x: (x, m.conjugate(m.conjugate(x)), x)  # noqa: E731
    rows.append(Sample("complex-thrice", elementwise.AddOp, lambda m, x: (x + x, x + x, x), (z(3, 2),)))
    return rows


def _of_pairs() -> list[Sample]:
    rows: list[Sample] = []
    axes = (-_INF, -2.0, -0.0, 0.0, 2.0, _INF)
    first = Operand((36,), values(*[y for y in axes for _ in axes]))
    second = Operand((36,), values(*[x for _ in axes for x in axes]))
    for name, op in (("hypot", complex.HypotOp), ("log_hypot", complex.LogHypotOp), ("atan2", complex.Atan2Op)):
        build: Build = lambda m, x, y, n=name: getattr(m, n)(x, y)  # noqa: E731
        operands = (Operand((3, 5), apart(0.11)), Operand((5,), apart(0.17)))
        rows.append(Sample(name, op, build, operands, ("f32", "f64", *NARROW), differentiable=(0, 1)))
        rows.append(Sample(f"{name}-corners", op, build, (first, second)))
        near = (Operand((64,), normal(1e-3)), Operand((64,), lambda rng, n: 1 + 1e-3 * rng.standard_normal(n)))
        rows.append(Sample(f"{name}-near-one", op, build, near, differentiable=(0, 1), smooth=name != "hypot"))
        wide = (
            Operand((4,), values(1e30, 1e-30, -3e38, 1e-42), "f32"),
            Operand((4,), values(1e30, -1e-30, 1, 0), "f32"),
        )
        build = lambda m, x, y, n=name: getattr(m, n)(x, y) / m.max(m.abs(x), m.abs(y))  # noqa: E731
        rows.append(Sample(f"{name}-wide", op, build, wide, ("f32",)))
    return rows


def _log_hypot(np_: Any, x: Any, y: Any) -> Any:
    return np_.log(np_.hypot(x, y))


def _precise_log_hypot(op: Any, x: Any, y: Any) -> Any:
    x, y = np.abs(widen(x)), np.abs(widen(y))
    large, small = np.maximum(x, y), np.minimum(x, y)
    near = 0.5 * np.log1p((large - 1) * (large + 1) + small * small)
    return np.where((large > 0.5) & (large < 2), near, _log_hypot(np, x, y))


SAMPLES = (*_elementwise(), *_corners(), *_moves(), *_others(), *_of_pairs())
ORACLE = {
    complex.RealOp: lambda op, x: x.real,
    complex.ImagOp: lambda op, x: x.imag,
    complex.ComplexOp: lambda op, re, im: re + 1j * im,
    complex.ConjugateOp: lambda op, x: np.conj(x),
    complex.ComplexNormSqOp: lambda op, x: widen(x).real ** 2 + widen(x).imag ** 2,
    complex.ComplexNormSqBackwardOp: lambda op, x, g: 2 * widen(g) * widen(x),
    complex.HypotOp: lambda op, x, y: np.hypot(widen(x), widen(y)),
    complex.LogHypotOp: _precise_log_hypot,
    complex.Atan2Op: lambda op, y, x: np.arctan2(widen(y), widen(x)),
}
JAX = {
    complex.RealOp: lambda op, x: x.real,
    complex.ImagOp: lambda op, x: x.imag,
    complex.ComplexOp: lambda op, re, im: re + 1j * im,
    complex.ConjugateOp: lambda op, x: jnp.conj(x),
    complex.ComplexNormSqOp: lambda op, x: x.real**2 + x.imag**2,
    complex.ComplexNormSqBackwardOp: lambda op, x, g: 2 * g * x,
    complex.HypotOp: lambda op, x, y: jnp.hypot(x, y),
    complex.LogHypotOp: lambda op, x, y: _log_hypot(jnp, x, y),
    complex.Atan2Op: lambda op, y, x: jnp.arctan2(y, x),
}
