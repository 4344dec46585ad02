"""Functions of one operand, arithmetic, comparisons, selection, constants."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numerics.sample import (
    EVERY_FLOAT,
    NARROW,
    SPECIAL,
    TIES,
    Build,
    Operand,
    Sample,
    Sampler,
    apart,
    integers,
    ints,
    method,
    normal,
    uniform,
    values,
)
from oracle import Array, numpy_dtype, widen
from scipy import special
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir import elementwise
from xdsl_rlx.dialects.mir.core import Activation
from xdsl_rlx.dialects.mir.mir_builder import ACTIVATIONS
from xdsl_rlx.dialects.shapes import element_of

INF, NAN = np.inf, np.nan
DOMAIN: dict[Activation, Sampler] = {
    Activation.LOG: uniform(0.1, 4.0),
    Activation.SQRT: uniform(0.1, 4.0),
    Activation.RSQRT: uniform(0.1, 4.0),
    Activation.RECIP: apart(),
    Activation.RELU: apart(),
    Activation.ABS: apart(),
    Activation.TAN: uniform(-1.4, 1.4),
}
"""Where functions are sampled that are not smooth, or not defined, everywhere."""

_EXACT = {Activation.NEG, Activation.ABS, Activation.RELU, Activation.ROUND, Activation.SQRT, Activation.RECIP}


def _apply(kind: Activation) -> Build:
    return lambda m, x: m.activation(x, kind)


def _unary_samples() -> list[Sample]:
    rows: list[Sample] = []
    for kind in Activation:
        row = Sample(
            f"{kind}",
            ACTIVATIONS[kind],
            _apply(kind),
            (Operand((3, 5), DOMAIN.get(kind, normal(2.0))),),
            differentiable=(0,),
            smooth=kind is not Activation.ROUND,
            exact=kind in _EXACT,
        )
        rows.append(row)
        rows.append(replace(row, id=f"{kind}-narrow", dtypes=NARROW, differentiable=(), exact=False))
        rows.append(replace(row, id=f"{kind}-empty", operands=(Operand((0, 3)),)))
        rows.append(replace(row, id=f"{kind}-scalar", operands=(replace(row.operands[0], shape=()),)))
        special_values = SPECIAL
        if kind in (Activation.SIN, Activation.COS, Activation.TAN):
            special_values = values(0.0, -0.0, INF, -INF, NAN, 1e-40, 1e4, -1e4)
        operands = (Operand((14,), special_values),)
        rows.append(replace(row, id=f"{kind}-special", operands=operands, differentiable=(), smooth=False))
    for name, at in (("ndtr", elementwise.NdtrOp), ("gaussian", elementwise.GaussianOp)):
        row = Sample(name, at, method(name), (Operand((3, 5), normal(2.0)),), differentiable=(0,))
        rows.append(row)
        rows.append(replace(row, id=f"{name}-narrow", dtypes=NARROW, differentiable=()))
        rows.append(replace(row, id=f"{name}-empty", operands=(Operand((0, 3)),)))
        rows.append(replace(row, id=f"{name}-tails", operands=(Operand((5,), values(-12.5, -6.0, -0.0, 6.0, 12.5)),)))
        operands = (Operand((14,), SPECIAL),)
        rows.append(replace(row, id=f"{name}-special", operands=operands, differentiable=(), smooth=False))
    for name, at in (("relu", elementwise.ReluOp), ("abs", elementwise.AbsOp)):
        rows.append(
            Sample(
                f"{name}-kink",
                at,
                _apply(Activation(name)),
                (Operand((7,), TIES),),
                differentiable=(0,),
                smooth=False,
                exact=True,
            )
        )
    rows.append(
        Sample(
            "stop_gradient",
            elementwise.StopGradientOp,
            lambda m, x: m.mul(m.stop_gradient(x), x),
            (Operand((2, 3)),),
            differentiable=(0,),
            smooth=False,
            exact=True,
        )
    )
    rows.append(Sample("neg-int", elementwise.NegOp, method("neg"), (ints((5,)),), ("i32",), exact=True))
    rows.append(Sample("abs-int", elementwise.AbsOp, method("abs"), (ints((5,)),), ("i32",), exact=True))
    return rows


_BINARY: tuple[tuple[str, type[Operation], Sampler, Sampler], ...] = (
    ("add", elementwise.AddOp, normal(), normal()),
    ("sub", elementwise.SubOp, normal(), normal()),
    ("mul", elementwise.MulOp, normal(), normal()),
    ("div", elementwise.DivOp, normal(), apart()),
    ("max", elementwise.MaxOp, apart(), apart(0.13)),
    ("min", elementwise.MinOp, apart(), apart(0.13)),
    ("pow", elementwise.PowOp, uniform(0.2, 3.0), normal()),
)

BROADCASTS: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...] = (
    ("", (3, 5), (3, 5)),
    ("-row", (3, 5), (5,)),
    ("-column", (3, 5), (3, 1)),
    ("-both", (3, 1), (1, 4)),
    ("-left", (5,), (2, 3, 5)),
    ("-scalar", (2, 3), ()),
    ("-ones", (1, 1), (1,)),
    ("-empty", (2, 0, 3), (3,)),
    ("-empty-one", (0, 3), (1, 3)),
)


def _binary_samples() -> list[Sample]:
    rows: list[Sample] = []
    for name, op, left, right in _BINARY:
        build = method(name)
        exact = name != "pow"
        for suffix, lhs, rhs in BROADCASTS:
            operands = (Operand(lhs, left), Operand(rhs, right))
            rows.append(Sample(name + suffix, op, build, operands, differentiable=(0, 1), exact=exact))
        operands = (Operand((14,), SPECIAL), Operand((14, 1), SPECIAL))
        rows.append(Sample(f"{name}-special", op, build, operands, exact=exact))
        narrow = (Operand((3, 5), left), Operand((5,), right))
        rows.append(Sample(f"{name}-narrow", op, build, narrow, NARROW, exact=exact))
        if name not in ("div", "pow"):
            rows.append(Sample(f"{name}-int", op, build, (ints((3, 5)), ints((5,))), ("i32",), exact=True))
            wide = (ints((3, 5), "i64"), ints((5,), "i64"))
            rows.append(Sample(f"{name}-long", op, build, wide, ("i64",), exact=True))
        same = (Operand((7,), TIES),)
        twice = _twice(name)
        rows.append(
            Sample(f"{name}-self", op, twice, (Operand((4,), left),), differentiable=(0,), smooth=False, exact=exact)
        )
        if name in ("max", "min"):
            ties = (*same, Operand((3, 7), TIES))
            rows.append(Sample(f"{name}-ties", op, build, ties, differentiable=(0, 1), smooth=False, exact=True))
    zeros = (Operand((4,), values(0.0, 0.0, 2.0, 0.0)), Operand((4,), values(2.0, 3.0, 0.0, 0.5)))
    rows.append(Sample("pow-zero", elementwise.PowOp, method("pow"), zeros, differentiable=(0, 1), smooth=False))
    # JAX's third derivative of x^2 at 0 is NaN.
    zeros = (Operand((3,), values(0.0)), Operand((3,), values(3.0, 4.0, 5.0)))
    rows.append(Sample("pow-zero-base", elementwise.PowOp, method("pow"), zeros, differentiable=(0,)))
    negative = (Operand((4,), values(-2.0, -0.5, -1.0, -3.0)), Operand((4,), values(2.0, 3.0, -1.0, 0.0)))
    rows.append(Sample("pow-negative", elementwise.PowOp, method("pow"), negative, differentiable=(0,)))
    booleans = (Operand((2, 4), integers(0, 2), "i1"), Operand((4,), integers(0, 2), "i1"))
    rows.append(Sample("and", elementwise.AndOp, method("and_"), booleans, ("i1",), exact=True))
    shift = method("shift_right_logical")
    amounts = Operand((6,), values(0, 1, 7, 31, 33, -1))
    operands = (Operand((6,), values(-1, -1, -128, 1, 100, -2)), amounts)
    rows.append(Sample("shift_right_logical", elementwise.ShiftRightLogicalOp, shift, operands, ("i32", "i64", "i8")))
    rows.append(Sample("and-int", elementwise.AndOp, method("and_"), (ints((6,)), ints((6,))), ("i32",), exact=True))
    return rows


def _twice(name: str) -> Build:
    return lambda m, x: getattr(m, name)(x, x)


_COMPARES: tuple[tuple[str, type[Operation]], ...] = (
    ("eq", elementwise.EqOp),
    ("ne", elementwise.NeOp),
    ("lt", elementwise.LtOp),
    ("le", elementwise.LeOp),
    ("gt", elementwise.GtOp),
    ("ge", elementwise.GeOp),
)


def _select_samples() -> list[Sample]:
    rows: list[Sample] = []
    for name, op in _COMPARES:
        for suffix, lhs, rhs in BROADCASTS:
            operands = (Operand(lhs, TIES), Operand(rhs, TIES))
            rows.append(Sample(name + suffix, op, method(name), operands, EVERY_FLOAT, exact=True))
        pairs = (Operand((14,), SPECIAL), Operand((14, 1), SPECIAL))
        rows.append(Sample(f"{name}-special", op, method(name), pairs, exact=True))
        rows.append(Sample(f"{name}-int", op, method(name), (ints((4, 5)), ints((5,))), ("i32",), exact=True))
        rows.append(
            Sample(
                f"{name}-select",
                op,
                lambda m, x, y, name=name: m.where(getattr(m, name)(x, y), x * y, x - y),
                (Operand((3, 5), apart()), Operand((5,), apart(0.13))),
                differentiable=(0, 1),
                exact=True,
            )
        )
    cond = Operand((3, 5), integers(0, 2), "i1")
    where = elementwise.WhereOp
    for suffix, c, a, b in (
        ("", (3, 5), (3, 5), (3, 5)),
        ("-broadcast", (3, 1), (5,), ()),
        ("-wide-cond", (2, 3, 5), (3, 1), (5,)),
        ("-scalar-cond", (), (4,), (2, 4)),
        ("-empty", (0, 1), (1, 3), ()),
    ):
        operands = (replace(cond, shape=c), Operand(a), Operand(b))
        rows.append(Sample(f"where{suffix}", where, method("where"), operands, differentiable=(1, 2), exact=True))
    bad = (replace(cond, shape=(14,)), Operand((14,), SPECIAL), Operand(()))
    rows.append(Sample("where-special", where, method("where"), bad, exact=True))
    whole = (replace(cond, shape=(6,)), ints((6,)), ints(()))
    rows.append(Sample("where-int", where, method("where"), whole, ("i32",), exact=True))
    return rows


def _constant_samples() -> list[Sample]:
    numbers = [[1.5, -2.0, 0.0], [1e-3, 4.0, -0.0]]
    return [
        Sample(
            "constant",
            elementwise.ConstantOp,
            lambda m, x: m.add(x, m.constant(numbers, x.dtype)),
            (Operand((2, 3)),),
            differentiable=(0,),
            exact=True,
        ),
        Sample(
            "constant-only",
            elementwise.ConstantOp,
            lambda m: (m.constant(numbers), m.constant(3), m.constant([True, False]), m.full((2, 2), 7, "i64")),
            (),
            ("f32",),
            exact=True,
        ),
        Sample(
            "constant-zeros",
            elementwise.ConstantOp,
            lambda m, x: (m.div(x, m.constant([0.0, -0.0], x.dtype)), m.div(x, m.constant([-0.0, -0.0], x.dtype))),
            (Operand((2,)),),
            exact=True,
        ),
        Sample(
            "constant-empty",
            elementwise.ConstantOp,
            lambda m, x: (m.add(x, m.constant(np.zeros((0, 3)), x.dtype)), m.constant(np.zeros((2, 0)), x.dtype)),
            (Operand((0, 3)),),
            exact=True,
        ),
    ]


def vanishing(factor: Array, x: Array) -> Array:
    """`factor x`, and its limit where the factor is 0."""
    return np.where(factor == 0, 0.0, factor * x)


def gelu_approx_exponent(x: Array) -> Array:
    """`y`, where the approximation of GELU is `x / (1 + e^-y)`."""
    return 2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)


FUNCTIONS: dict[Activation, Callable[[Array], Array]] = {
    Activation.GELU: lambda x: vanishing(special.ndtr(x), x),
    Activation.GELU_APPROX: lambda x: vanishing(special.expit(gelu_approx_exponent(x)), x),
    Activation.SILU: lambda x: vanishing(special.expit(x), x),
    Activation.RELU: lambda x: np.maximum(x, 0.0),
    Activation.SIGMOID: special.expit,
    Activation.TANH: np.tanh,
    Activation.EXP: np.exp,
    Activation.LOG: np.log,
    Activation.ERF: special.erf,
    Activation.SQRT: np.sqrt,
    Activation.RSQRT: lambda x: 1 / np.sqrt(x),
    Activation.RECIP: lambda x: 1 / x,
    Activation.NEG: np.negative,
    Activation.ABS: np.abs,
    Activation.SIN: np.sin,
    Activation.COS: np.cos,
    Activation.TAN: np.tan,
    Activation.ATAN: np.arctan,
    Activation.ROUND: np.rint,
}

JAX_FUNCTIONS: dict[Activation, Callable[[Any], Any]] = {
    Activation.GELU: lambda x: jax.nn.gelu(x, approximate=False),
    Activation.GELU_APPROX: lambda x: jax.nn.gelu(x, approximate=True),
    Activation.SILU: jax.nn.silu,
    Activation.RELU: jax.nn.relu,
    Activation.SIGMOID: jax.nn.sigmoid,
    Activation.TANH: jnp.tanh,
    Activation.EXP: jnp.exp,
    Activation.LOG: jnp.log,
    Activation.ERF: lax.erf,
    Activation.SQRT: jnp.sqrt,
    Activation.RSQRT: lax.rsqrt,
    Activation.RECIP: jnp.reciprocal,
    Activation.NEG: jnp.negative,
    # JAX's derivative at 0 is 1; ours, like PyTorch's, is 0.
    Activation.ABS: lambda x: jnp.where(x == 0, 0.0, jnp.abs(x)),
    Activation.SIN: jnp.sin,
    Activation.COS: jnp.cos,
    Activation.TAN: jnp.tan,
    Activation.ATAN: jnp.arctan,
    Activation.ROUND: lambda x: x + lax.stop_gradient(jnp.round(x) - x),
}


def _unary(f: Callable[[Array], Array]) -> Callable[..., Array]:
    return lambda op, x: f(widen(x))


def _binary(f: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    return lambda op, x, y: f(widen(x), widen(y))


def _plain(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda op, *xs: f(*xs)


def _shift_right_logical(op: elementwise.ShiftRightLogicalOp, x: Array, y: Array) -> Array:
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return (x.astype(unsigned) >> (y.astype(unsigned) % unsigned.type(8 * x.dtype.itemsize))).astype(x.dtype)


def _constant(op: elementwise.ConstantOp) -> Array:
    """The array a `mir.constant` holds."""
    dtype = numpy_dtype(element_of(op.result))
    return (
        np.frombuffer(op.value.data.data, dtype="i1" if dtype == np.bool_ else dtype)
        .astype(dtype)
        .reshape(op.value.get_shape())
    )


SAMPLES = (*_unary_samples(), *_binary_samples(), *_select_samples(), *_constant_samples())
ORACLE = {
    **{ACTIVATIONS[kind]: _unary(f) for kind, f in FUNCTIONS.items()},
    elementwise.NdtrOp: _unary(special.ndtr),
    elementwise.GaussianOp: _unary(lambda x: np.exp(-x * x / 2)),
    elementwise.StopGradientOp: lambda op, x: x,
    elementwise.AddOp: _binary(np.add),
    elementwise.SubOp: _binary(np.subtract),
    elementwise.MulOp: _binary(np.multiply),
    elementwise.DivOp: _binary(np.divide),
    elementwise.MaxOp: _binary(np.maximum),
    elementwise.MinOp: _binary(np.minimum),
    elementwise.PowOp: _binary(np.power),
    elementwise.AndOp: lambda op, x, y: x & y,
    elementwise.ShiftRightLogicalOp: _shift_right_logical,
    elementwise.EqOp: lambda op, x, y: x == y,
    elementwise.NeOp: lambda op, x, y: x != y,
    elementwise.LtOp: lambda op, x, y: x < y,
    elementwise.LeOp: lambda op, x, y: x <= y,
    elementwise.GtOp: lambda op, x, y: x > y,
    elementwise.GeOp: lambda op, x, y: x >= y,
    elementwise.WhereOp: lambda op, cond, x, y: np.where(cond, x, y),
    elementwise.ConstantOp: _constant,
}
JAX = {
    **{ACTIVATIONS[kind]: _plain(f) for kind, f in JAX_FUNCTIONS.items()},
    elementwise.NdtrOp: _plain(jax.scipy.special.ndtr),
    elementwise.GaussianOp: _plain(lambda x: jnp.exp(-x * x / 2)),
    elementwise.StopGradientOp: _plain(lax.stop_gradient),
    elementwise.AddOp: _plain(jnp.add),
    elementwise.SubOp: _plain(jnp.subtract),
    elementwise.MulOp: _plain(jnp.multiply),
    elementwise.DivOp: _plain(jnp.divide),
    elementwise.MaxOp: _plain(jnp.maximum),
    elementwise.MinOp: _plain(jnp.minimum),
    elementwise.PowOp: _plain(jnp.power),
    elementwise.AndOp: _plain(jnp.bitwise_and),
    elementwise.EqOp: _plain(jnp.equal),
    elementwise.NeOp: _plain(jnp.not_equal),
    elementwise.LtOp: _plain(jnp.less),
    elementwise.LeOp: _plain(jnp.less_equal),
    elementwise.GtOp: _plain(jnp.greater),
    elementwise.GeOp: _plain(jnp.greater_equal),
    elementwise.WhereOp: _plain(jnp.where),
    elementwise.ConstantOp: lambda op: jnp.asarray(_constant(op)),
}
