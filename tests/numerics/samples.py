"""Rows per op. What a row says is in `sample.py`; the tests that run over them are `test_*.py`."""

from dataclasses import replace
from typing import Any

import numpy as np
from numerics import families
from numerics.sample import Build, Operand, Sample, Sampler, apart, integers, normal, uniform, values
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir import backward, cast, elementwise, fused, linalg, loss, norm, reduce, shape
from xdsl_rlx.dialects.mir.builder import ACTIVATIONS
from xdsl_rlx.dialects.mir.core import Activation

__all__ = ["BROADCASTS", "SAMPLES", "SPECIAL", "TIES", "Operand", "Sample"]

INF, NAN = np.inf, np.nan
FLOATS = ("f32", "f64")
NARROW = ("f16", "bf16")
SPECIAL = values(0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 1e-40, -1e-40, 3e38, -3e38, 0.5, -2.5)
"""Signed zeros, infinities, NaN, numbers that are denormal or near the largest in f32."""

TIES = values(1.0, 1.0, -2.0, -2.0, 0.0, -0.0, 3.0)


def _apply(kind: Activation) -> Build:
    return lambda m, x: m.activation(x, kind)


_UNARY_DOMAIN: dict[Activation, Sampler] = {
    Activation.LOG: uniform(0.1, 4.0),
    Activation.SQRT: uniform(0.1, 4.0),
    Activation.RSQRT: uniform(0.1, 4.0),
    Activation.RECIP: apart(),
    Activation.RELU: apart(),
    Activation.ABS: apart(),
    Activation.TAN: uniform(-1.4, 1.4),
}
_GATES = {Activation.GELU, Activation.GELU_APPROX, Activation.SILU}
_EXACT = {Activation.NEG, Activation.ABS, Activation.RELU, Activation.ROUND, Activation.SQRT, Activation.RECIP}


def _unary_samples() -> list[Sample]:
    rows: list[Sample] = []
    for kind in Activation:
        op = ACTIVATIONS[kind]
        row = Sample(
            f"{kind}",
            op,
            _apply(kind),
            (Operand((3, 5), _UNARY_DOMAIN.get(kind, normal(2.0))),),
            differentiable=(0,),
            smooth=kind is not Activation.ROUND,
            exact=kind in _EXACT,
        )
        rows.append(row)
        rows.append(replace(row, id=f"{kind}-narrow", dtypes=NARROW, differentiable=(), exact=False))
        rows.append(replace(row, id=f"{kind}-empty", operands=(Operand((0, 3)),)))
        rows.append(replace(row, id=f"{kind}-scalar", operands=(replace(row.operands[0], shape=()),)))
        special = SPECIAL
        if kind in (Activation.SIN, Activation.COS, Activation.TAN):
            special = values(0.0, -0.0, INF, -INF, NAN, 1e-40, 1e4, -1e4)
        rows.append(
            replace(row, id=f"{kind}-special", operands=(Operand((14,), special),), differentiable=(), smooth=False)
        )
        operands = (Operand((6,), values(INF, -INF, 1e30, -1e30, 40.0, -40.0)), Operand((6,)))
        if kind in _GATES:
            build = lambda m, x, dy, kind=kind: m.activation_backward(x, dy, kind)  # noqa: E731
            rows.append(Sample(f"{kind}-slope-at-infinity", backward.ActivationBackwardOp, build, operands))
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
    rows.append(Sample("neg-int", elementwise.NegOp, lambda m, x: m.neg(x), (_ints((5,)),), ("i32",), exact=True))
    rows.append(Sample("abs-int", elementwise.AbsOp, lambda m, x: m.abs(x), (_ints((5,)),), ("i32",), exact=True))
    return rows


def _ints(shape: tuple[int, ...], dtype: str = "i32") -> Operand:
    return Operand(shape, integers(-5, 6), dtype)


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
        build = _method(name)
        exact = name != "pow"
        for suffix, lhs, rhs in BROADCASTS:
            operands = (Operand(lhs, left), Operand(rhs, right))
            rows.append(Sample(name + suffix, op, build, operands, differentiable=(0, 1), exact=exact))
        operands = (Operand((14,), SPECIAL), Operand((14, 1), SPECIAL))
        rows.append(Sample(f"{name}-special", op, build, operands, exact=exact))
        narrow = (Operand((3, 5), left), Operand((5,), right))
        rows.append(Sample(f"{name}-narrow", op, build, narrow, NARROW, exact=exact))
        if name not in ("div", "pow"):
            ints = (_ints((3, 5)), _ints((5,)))
            rows.append(Sample(f"{name}-int", op, build, ints, ("i32",), exact=True))
            wide = (_ints((3, 5), "i64"), _ints((5,), "i64"))
            rows.append(Sample(f"{name}-long", op, build, wide, ("i64",), exact=True))
        same = (Operand((7,), TIES),)
        twice = _twice(name)
        rows.append(
            Sample(f"{name}-self", op, twice, (Operand((4,), left),), differentiable=(0,), smooth=False, exact=exact)
        )
        if name in ("max", "min"):
            ties = (*same, Operand((3, 7), TIES))
            rows.append(Sample(f"{name}-ties", op, build, ties, differentiable=(0, 1), smooth=False, exact=True))
    zeros = (Operand((3,), values(0.0, 0.0, 2.0)), Operand((3,), values(2.0, 3.0, 0.0)))
    rows.append(Sample("pow-zero", elementwise.PowOp, _method("pow"), zeros, differentiable=(0,), smooth=False))
    negative = (Operand((4,), values(-2.0, -0.5, -1.0, -3.0)), Operand((4,), values(2.0, 3.0, -1.0, 0.0)))
    rows.append(Sample("pow-negative", elementwise.PowOp, _method("pow"), negative, differentiable=(0,)))
    booleans = (Operand((2, 4), integers(0, 2), "i1"), Operand((4,), integers(0, 2), "i1"))
    rows.append(Sample("and", elementwise.AndOp, _method("and_"), booleans, ("i1",), exact=True))
    shift = _method("shift_right_logical")
    amounts = Operand((6,), values(0, 1, 7, 31, 33, -1))
    operands = (Operand((6,), values(-1, -1, -128, 1, 100, -2)), amounts)
    rows.append(Sample("shift_right_logical", elementwise.ShiftRightLogicalOp, shift, operands, ("i32", "i64", "i8")))
    rows.append(Sample("and-int", elementwise.AndOp, _method("and_"), (_ints((6,)), _ints((6,))), ("i32",), exact=True))
    return rows


def _method(name: str) -> Build:
    return lambda m, *xs: getattr(m, name)(*xs)


def _twice(name: str) -> Build:
    return lambda m, x: getattr(m, name)(x, x)


_COMPARES = ("eq", "ne", "lt", "le", "gt", "ge")


def _select_samples() -> list[Sample]:
    rows: list[Sample] = []
    for name in _COMPARES:
        op = next(o for o in vars(elementwise).values() if getattr(o, "name", None) == f"mir.{name}")
        for suffix, lhs, rhs in BROADCASTS:
            operands = (Operand(lhs, TIES), Operand(rhs, TIES))
            rows.append(Sample(name + suffix, op, _method(name), operands, (*FLOATS, *NARROW), exact=True))
        special = (Operand((14,), SPECIAL), Operand((14, 1), SPECIAL))
        rows.append(Sample(f"{name}-special", op, _method(name), special, exact=True))
        rows.append(Sample(f"{name}-int", op, _method(name), (_ints((4, 5)), _ints((5,))), ("i32",), exact=True))
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
        rows.append(Sample(f"where{suffix}", where, _method("where"), operands, differentiable=(1, 2), exact=True))
    bad = (replace(cond, shape=(14,)), Operand((14,), SPECIAL), Operand(()))
    rows.append(Sample("where-special", where, _method("where"), bad, exact=True))
    ints = (replace(cond, shape=(6,)), _ints((6,)), _ints(()))
    rows.append(Sample("where-int", where, _method("where"), ints, ("i32",), exact=True))
    return rows


def _cast_samples() -> list[Sample]:
    rows: list[Sample] = []
    numbers = values(0.0, -0.0, 1.5, -1.5, 2.5, 250.0, -3.9, 1e-3)
    for source in ("f32", "f64", "f16", "bf16", "i32", "i64", "i1"):
        for to in ("f32", "f64", "f16", "bf16", "i32", "i64", "i1"):
            if source == to:
                continue
            operand = Operand((2, 4), integers(0, 2) if source == "i1" else numbers, source)
            build = _cast_to(to)
            rows.append(Sample(f"cast-{source}-{to}", cast.CastOp, build, (operand,), (source,), exact=True))
    for to in ("f32", "f64"):
        operand, source = (Operand((3, 4)),), "f64" if to == "f32" else "f32"
        row = Sample(f"cast-to-{to}", cast.CastOp, _cast_to(to), operand, (source,), differentiable=(0,), exact=True)
        rows.append(replace(row, smooth=False))
    odd = Operand((10,), values(INF, -INF, NAN, 3e9, -3e9, 1e20, -1e20, 2147483647.0, -2147483648.0, 0.99))
    for to in ("i32", "i64", "i1", "f16", "bf16"):
        rows.append(Sample(f"cast-saturating-{to}", cast.CastOp, _cast_to(to), (odd,), exact=True))
    return rows


def _cast_to(to: str) -> Build:
    return lambda m, x: m.cast(x, to)


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


def _matmul_samples() -> list[Sample]:
    shapes = (
        ("", (3, 5), (5, 4)),
        ("-vector", (1, 5), (5, 1)),
        ("-batch", (2, 3, 5), (2, 5, 4)),
        ("-shared-rhs", (2, 3, 5), (5, 4)),
        ("-shared-lhs", (3, 5), (2, 5, 4)),
        ("-broadcast", (2, 1, 3, 5), (4, 5, 2)),
        ("-broadcast-one", (1, 3, 5), (4, 5, 2)),
        ("-no-k", (3, 0), (0, 4)),
        ("-no-rows", (0, 5), (5, 4)),
        ("-no-batch", (0, 3, 5), (5, 4)),
        ("-odd", (17, 33), (33, 19)),
    )
    rows = [
        Sample(
            f"matmul{suffix}",
            linalg.MatmulOp,
            _method("matmul"),
            (Operand(lhs), Operand(rhs)),
            differentiable=(0, 1),
            tol=32,
        )
        for suffix, lhs, rhs in shapes
    ]
    transposed = lambda m, x, y: m.matmul(m.transpose(x, (1, 0)), m.transpose(y, (1, 0)))  # noqa: E731
    operands = (Operand((5, 3)), Operand((4, 5)))
    rows.append(Sample("matmul-transposed", linalg.MatmulOp, transposed, operands, differentiable=(0, 1), tol=32))
    narrow = (Operand((3, 5)), Operand((5, 4)))
    rows.append(Sample("matmul-narrow", linalg.MatmulOp, _method("matmul"), narrow, NARROW, tol=32))
    return rows


_REDUCTIONS: tuple[tuple[str, type[Operation], Sampler, bool], ...] = (
    ("reduce_sum", reduce.ReduceSumOp, normal(), False),
    ("reduce_mean", reduce.ReduceMeanOp, normal(), False),
    ("reduce_max", reduce.ReduceMaxOp, apart(), True),
    ("reduce_min", reduce.ReduceMinOp, apart(), True),
    ("reduce_prod", reduce.ReduceProdOp, uniform(0.5, 1.5), False),
)


def _reduce_build(name: str, axes: tuple[int, ...], keep_dim: bool) -> Build:
    return lambda m, x: getattr(m, name)(x, axes, keep_dim)


def _reduce_samples() -> list[Sample]:
    rows: list[Sample] = []
    for name, op, sampler, exact in _REDUCTIONS:
        for suffix, shape_, axes, keep_dim in (
            ("-rows", (3, 5), (1,), False),
            ("-columns", (3, 5), (0,), False),
            ("-columns-keep", (3, 5), (0,), True),
            ("-all", (3, 5), (0, 1), False),
            ("-all-keep", (2, 3, 4), (0, 1, 2), True),
            ("-outer", (2, 3, 4), (0, 2), False),
            ("-inner", (2, 3, 4), (1,), False),
            ("-negative", (2, 3, 4), (-1, -3), True),
            ("-none", (2, 3), (), False),
            ("-one", (3, 1), (1,), False),
            ("-long", (2, 67), (1,), False),
            ("-scalar", (), (), False),
            ("-of-empty", (2, 0, 3), (1,), False),
            ("-empty", (0, 3), (1,), False),
        ):
            if name == "reduce_mean" and suffix == "-of-empty":
                continue
            operand = Operand(shape_, sampler)
            build = _reduce_build(name, axes, keep_dim)
            wrt = () if exact and suffix == "-of-empty" else (0,)
            rows.append(Sample(name + suffix, op, build, (operand,), differentiable=wrt, tol=32, exact=exact))
        build = _reduce_build(name, (1,), False)
        ties = (Operand((3, 7), TIES),)
        rows.append(Sample(f"{name}-ties", op, build, ties, differentiable=(0,), smooth=not exact, tol=32, exact=exact))
        special = (Operand((13, 2), SPECIAL),)
        rows.append(Sample(f"{name}-special", op, _reduce_build(name, (1,), False), special, tol=32, exact=exact))
        narrow = (Operand((3, 9), sampler),)
        rows.append(Sample(f"{name}-narrow", op, build, narrow, NARROW, tol=32, exact=exact))
        columns = _reduce_build(name, (0,), False)
        rows.append(Sample(f"{name}-narrow-columns", op, columns, narrow, NARROW, tol=32, exact=exact))
        if name != "reduce_mean":
            ints = (_ints((3, 5)),)
            rows.append(Sample(f"{name}-int", op, build, ints, ("i32",), exact=True))
    mean_of_none = (Operand((2, 0)),)
    rows.append(
        Sample("reduce_mean-of-empty", reduce.ReduceMeanOp, _reduce_build("reduce_mean", (1,), False), mean_of_none)
    )
    for suffix, numbers in (("one-zero", (2.0, 0.0, 3.0, 0.5)), ("two-zeros", (0.0, 2.0, 0.0, 3.0))):
        operand = (Operand((2, 4), values(*numbers)),)
        build = _reduce_build("reduce_prod", (1,), True)
        rows.append(Sample(f"reduce_prod-{suffix}", reduce.ReduceProdOp, build, operand, differentiable=(0,)))
    return rows


def _shape_samples() -> list[Sample]:
    def row(name: str, op: type[Operation], build: Build, *shapes: tuple[int, ...]) -> Sample:
        operands = tuple(Operand(s) for s in shapes)
        wrt = tuple(range(len(shapes)))
        return Sample(name, op, build, operands, (*FLOATS, *NARROW), differentiable=wrt, exact=True)

    def part(axis: int, start: int, length: int) -> Build:
        return lambda m, x: m.narrow(x, axis, start, length)

    rows = [
        row("reshape", shape.ReshapeOp, lambda m, x: m.reshape(x, (3, -1)), (2, 3, 2)),
        row("reshape-scalar", shape.ReshapeOp, lambda m, x: m.reshape(x, ()), (1, 1)),
        row("reshape-empty", shape.ReshapeOp, lambda m, x: m.reshape(x, (0, 7)), (3, 0)),
        row("transpose", shape.TransposeOp, lambda m, x: m.transpose(x, (1, 0)), (3, 5)),
        row("transpose-cycle", shape.TransposeOp, lambda m, x: m.transpose(x, (2, 0, 1)), (2, 3, 4)),
        row("transpose-batch", shape.TransposeOp, lambda m, x: m.transpose(x, (0, 2, 1, 3)), (2, 3, 1, 4)),
        row("transpose-empty", shape.TransposeOp, lambda m, x: m.transpose(x, (1, 0)), (0, 5)),
        row("narrow", shape.NarrowOp, part(1, 1, 3), (3, 5)),
        row("narrow-front", shape.NarrowOp, part(0, 0, 2), (3, 5)),
        row("narrow-last", shape.NarrowOp, part(-1, 4, 1), (2, 3, 5)),
        row("narrow-none", shape.NarrowOp, part(0, 2, 0), (3, 2)),
        row("concat", shape.ConcatOp, lambda m, *xs: m.concat(xs, 1), (3, 2), (3, 1), (3, 4)),
        row("concat-front", shape.ConcatOp, lambda m, *xs: m.concat(xs, 0), (2, 3), (1, 3)),
        row("concat-one", shape.ConcatOp, lambda m, x: m.concat([x], 0), (2, 3)),
        row("concat-empty", shape.ConcatOp, lambda m, *xs: m.concat(xs, -1), (2, 0), (2, 3)),
        row("concat-twice", shape.ConcatOp, lambda m, x: m.concat([x, x], 0), (2, 3)),
        row("expand-row", shape.ExpandOp, lambda m, x: m.expand(x, (3, 5)), (5,)),
        row("expand-column", shape.ExpandOp, lambda m, x: m.expand(x, (2, 3, 4)), (3, 1)),
        row("expand-scalar", shape.ExpandOp, lambda m, x: m.expand(x, (2, 3)), ()),
        row("expand-empty", shape.ExpandOp, lambda m, x: m.expand(x, (0, 3)), (1, 3)),
        row("index", shape.NarrowOp, lambda m, x: x[1, ..., None, :2] * x[-1, 1, 2:], (3, 2, 4)),
    ]
    ints = _ints((2, 3))
    rows.append(
        Sample("transpose-int", shape.TransposeOp, lambda m, x: m.transpose(x, (1, 0)), (ints,), ("i32",), exact=True)
    )
    return rows


def _norm_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, shape_, axis in (
        ("", (3, 5), -1),
        ("-columns", (3, 5), 0),
        ("-middle", (2, 3, 4), 1),
        ("-vector", (7,), 0),
        ("-one", (4, 1), 1),
        ("-long", (2, 67), 1),
        ("-empty", (0, 3), 1),
    ):
        build = lambda m, x, axis=axis: m.softmax(x, axis)  # noqa: E731
        rows.append(Sample(f"softmax{suffix}", norm.SoftmaxOp, build, (Operand(shape_),), differentiable=(0,)))
        n = shape_[axis]
        parameters = (Operand((n,)), Operand((n,)))
        build = lambda m, x, g, b, axis=axis: m.layer_norm(x, g, b, axis, 1e-3)  # noqa: E731
        operands = (Operand(shape_), *parameters)
        rows.append(Sample(f"layer_norm{suffix}", norm.LayerNormOp, build, operands, differentiable=(0, 1, 2), tol=64))
        build = lambda m, x, g, d, axis=axis: m.layer_norm_backward_input(x, g, d, axis, 1e-3)  # noqa: E731
        operands = (Operand(shape_), Operand((n,)), Operand(shape_))
        op = backward.LayerNormBackwardInputOp
        rows.append(
            Sample(f"layer_norm_backward_input{suffix}", op, build, operands, differentiable=(0, 1, 2), tol=256)
        )
        build = lambda m, x, d, axis=axis: m.layer_norm_backward_gamma(x, d, axis, 1e-3)  # noqa: E731
        operands = (Operand(shape_), Operand(shape_))
        op = backward.LayerNormBackwardGammaOp
        rows.append(Sample(f"layer_norm_backward_gamma{suffix}", op, build, operands, differentiable=(0, 1), tol=64))
    large = (Operand((2, 4), values(1000.0, 1001.0, -1000.0, 999.0)),)
    rows.append(Sample("softmax-large", norm.SoftmaxOp, _method("softmax"), large, differentiable=(0,)))
    masked = (Operand((2, 4), values(-INF, 1.0, 2.0, -INF)),)
    rows.append(Sample("softmax-masked", norm.SoftmaxOp, _method("softmax"), masked, smooth=False))
    undefined = (Operand((3, 4), values(-INF, -INF, -INF, -INF, 1.0, NAN, 2.0, 0.0, INF, 1.0, 2.0, 3.0)),)
    rows.append(Sample("softmax-undefined", norm.SoftmaxOp, _method("softmax"), undefined, smooth=False))
    rows.append(Sample("softmax-narrow", norm.SoftmaxOp, _method("softmax"), (Operand((3, 5)),), NARROW))
    offset = (Operand((3, 8), uniform(1000.0, 1001.0)), Operand((8,)), Operand((8,)))
    rows.append(Sample("layer_norm-offset", norm.LayerNormOp, _method("layer_norm"), offset, tol=16384))
    flat = (Operand((3, 8), values(2.5)), Operand((8,)), Operand((8,)))
    rows.append(Sample("layer_norm-constant-row", norm.LayerNormOp, _method("layer_norm"), flat))
    small = (Operand((3, 5)), Operand((5,)), Operand((5,)))
    rows.append(Sample("layer_norm-narrow", norm.LayerNormOp, _method("layer_norm"), small, NARROW, tol=64))
    return rows


def _loss_samples() -> list[Sample]:
    rows: list[Sample] = []
    forward, back = loss.SoftmaxCrossEntropyWithLogitsOp, backward.SoftmaxCrossEntropyBackwardOp

    def both(suffix: str, logits: Operand, labels: Operand, ignore: int | None = None, **options: Any) -> None:
        build = lambda m, x, y: m.softmax_cross_entropy_with_logits(x, y, ignore)  # noqa: E731
        rows.append(Sample(f"cross_entropy{suffix}", forward, build, (logits, labels), **options))
        build = lambda m, x, y, d: m.softmax_cross_entropy_backward(x, y, d, ignore)  # noqa: E731
        operands = (logits, labels, Operand(logits.shape[:-1]))
        if options.get("differentiable"):
            options["differentiable"] = (0, 2)
        rows.append(Sample(f"cross_entropy_backward{suffix}", back, build, operands, **options))

    def labels(shape_: tuple[int, ...], classes: int, dtype: str = "i64") -> Operand:
        return Operand(shape_, integers(0, classes), dtype)

    both("", Operand((4, 5)), labels((4,), 5), differentiable=(0,))
    both("-i32", Operand((4, 5)), labels((4,), 5, "i32"), differentiable=(0,))
    both("-f32-labels", Operand((4, 5)), labels((4,), 5, "f32"), differentiable=(0,))
    both("-leading", Operand((2, 3, 5)), labels((2, 3), 5), differentiable=(0,))
    both("-vector", Operand((5,)), labels((), 5), differentiable=(0,))
    both("-one-class", Operand((3, 1)), labels((3,), 1), differentiable=(0,))
    both("-empty", Operand((0, 5)), labels((0,), 5), differentiable=(0,))
    both("-large", Operand((3, 4), values(1e4, -1e4, 0.0, 1e4)), labels((3,), 4), differentiable=(0,))
    both("-masked", Operand((3, 4), values(-INF, 1.0, 2.0, 0.0)), Operand((3,), values(1, 2, 0), "i64"), smooth=False)
    both("-ignored", Operand((4, 5)), Operand((4,), values(1, -100, 4, -100), "i64"), -100, differentiable=(0,))
    both("-out-of-range", Operand((4, 5)), Operand((4,), values(1, -1, 5, 4), "i32"), smooth=False)
    both("-narrow", Operand((4, 5)), labels((4,), 5), dtypes=NARROW)
    return rows


def _fused_samples() -> list[Sample]:
    rows: list[Sample] = []
    op = fused.FusedMatmulBiasActOp
    for activation in (None, *Activation):
        if activation in (Activation.LOG, Activation.SQRT, Activation.RSQRT, Activation.RECIP, Activation.TAN):
            continue
        rows.append(
            Sample(
                f"fused_matmul_bias_act-{activation or 'none'}",
                op,
                lambda m, x, w, b, kind=activation: m.fused_matmul_bias_act(x, w, b, kind),
                (Operand((3, 5)), Operand((5, 4)), Operand((4,))),
                differentiable=(0, 1, 2),
                smooth=activation is not Activation.ROUND,
                tol=64,
            )
        )
    for suffix, x, w, b in (
        ("-batch", (2, 3, 5), (5, 4), (4,)),
        ("-row-bias", (2, 3, 5), (2, 5, 4), (3, 1)),
        ("-scalar-bias", (3, 5), (5, 4), ()),
    ):
        operands = (Operand(x), Operand(w), Operand(b))
        build = lambda m, x, w, b: m.fused_matmul_bias_act(x, w, b, "tanh")  # noqa: E731
        rows.append(Sample(f"fused_matmul_bias_act{suffix}", op, build, operands, differentiable=(0, 1, 2), tol=64))
    for kind in Activation:
        build = lambda m, x, dy, kind=kind: m.activation_backward(x, dy, kind)  # noqa: E731
        operands = (Operand((3, 5), _UNARY_DOMAIN.get(kind, normal(1.5))), Operand((3, 5)))
        rows.append(
            Sample(
                f"activation_backward-{kind}",
                backward.ActivationBackwardOp,
                build,
                operands,
                differentiable=(0, 1),
                smooth=kind is not Activation.ROUND,
                tol=32,
            )
        )
    kink = (Operand((8,), values(0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 1e-40)), Operand((8,)))
    rows.append(Sample("relu_backward-kink", backward.ReluBackwardOp, _method("relu_backward"), kink, exact=True))
    plain = (Operand((3, 5), apart()), Operand((3, 5)))
    rows.append(
        Sample(
            "relu_backward",
            backward.ReluBackwardOp,
            _method("relu_backward"),
            plain,
            differentiable=(0, 1),
            exact=True,
        )
    )
    return rows


SAMPLES: tuple[Sample, ...] = (
    *_unary_samples(),
    *_binary_samples(),
    *_select_samples(),
    *_cast_samples(),
    *_constant_samples(),
    *_matmul_samples(),
    *_reduce_samples(),
    *_shape_samples(),
    *_norm_samples(),
    *_loss_samples(),
    *_fused_samples(),
    *families.SAMPLES,
)
