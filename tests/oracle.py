"""The NumPy meaning of every mir op, and an interpreter of mir functions built on it. The definition, not fast code.

Floating-point arithmetic is done in f64 and rounded once per op to the result's type, as accurate kernels do.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from scipy import special
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_rlx.dialects.constants import NUMPY_NAMES
from xdsl_rlx.dialects.mir import backward, cast, control, elementwise, fused, linalg, loss, norm, reduce, shape
from xdsl_rlx.dialects.mir.core import Activation
from xdsl_rlx.dialects.shapes import DTYPE_NAMES, element_of, shape_of

Array = np.ndarray[Any, Any]
Row = Callable[..., Array | tuple[Array, ...]]


def numpy_dtype(type_: Attribute | str) -> np.dtype[Any]:
    """The NumPy dtype of an element type or its name."""
    name = type_ if isinstance(type_, str) else DTYPE_NAMES[type_]
    return np.dtype(ml_dtypes.bfloat16) if name == "bf16" else np.dtype(NUMPY_NAMES[name])


def widen(x: Array) -> Array:
    """Floats as f64, complex numbers as c128, others as they are."""
    if x.dtype.kind == "c":
        return x.astype(np.complex128)
    return x if x.dtype.kind in "biu" else x.astype(np.float64)


def convert(x: Array, to: np.dtype[Any]) -> Array:
    """`mir.cast`: to an integer towards zero, saturating, NaN as 0; to bool `!= 0`; else by rounding to nearest."""
    if to == np.bool_:
        return x != 0
    if to.kind in "iu" and x.dtype.kind not in "biu":
        wide = np.trunc(np.nan_to_num(widen(x), nan=0.0, posinf=np.inf, neginf=-np.inf))
        info = np.iinfo(to)
        low, high = wide <= float(info.min), wide >= float(info.max)
        return np.where(low, info.min, np.where(high, info.max, np.where(low | high, 0, wide).astype(to))).astype(to)
    return (widen(x) if x.dtype.kind not in "biu" else x).astype(to)


def _shift_right_logical(op: elementwise.ShiftRightLogicalOp, x: Array, y: Array) -> Array:
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return (x.astype(unsigned) >> (y.astype(unsigned) % unsigned.type(8 * x.dtype.itemsize))).astype(x.dtype)


def _vanishing(factor: Array, x: Array) -> Array:
    """`factor x`, and its limit where the factor is 0."""
    return np.where(factor == 0, 0.0, factor * x)


def gelu(x: Array) -> Array:
    return _vanishing(special.ndtr(x), x)


_C = np.sqrt(2 / np.pi)


def gelu_approx(x: Array) -> Array:
    return _vanishing(special.expit(2 * _C * (x + 0.044715 * x**3)), x)


FUNCTIONS: dict[Activation, Callable[[Array], Array]] = {
    Activation.GELU: gelu,
    Activation.GELU_APPROX: gelu_approx,
    Activation.SILU: lambda x: _vanishing(special.expit(x), x),
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


def _gelu_approx_derivative(x: Array) -> Array:
    s = special.expit(2 * _C * (x + 0.044715 * x**3))
    return s + _vanishing(s * special.expit(-2 * _C * (x + 0.044715 * x**3)), x * 2 * _C * (1 + 3 * 0.044715 * x**2))


DERIVATIVES: dict[Activation, Callable[[Array], Array]] = {
    Activation.GELU: lambda x: special.ndtr(x) + _vanishing(np.exp(-x * x / 2), x) / np.sqrt(2 * np.pi),
    Activation.GELU_APPROX: _gelu_approx_derivative,
    Activation.SILU: lambda x: special.expit(x) + _vanishing(special.expit(x) * special.expit(-x), x),
    Activation.RELU: lambda x: np.where(x > 0, 1.0, 0.0),
    Activation.SIGMOID: lambda x: special.expit(x) * special.expit(-x),
    Activation.TANH: lambda x: 1 / np.cosh(x) ** 2,
    Activation.EXP: np.exp,
    Activation.LOG: lambda x: 1 / x,
    Activation.ERF: lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x),
    Activation.SQRT: lambda x: 0.5 / np.sqrt(x),
    Activation.RSQRT: lambda x: -0.5 / (x * np.sqrt(x)),
    Activation.RECIP: lambda x: -1 / (x * x),
    Activation.NEG: lambda x: np.full_like(x, -1.0),
    Activation.ABS: np.sign,
    Activation.SIN: np.cos,
    Activation.COS: lambda x: -np.sin(x),
    Activation.TAN: lambda x: 1 / np.cos(x) ** 2,
    Activation.ATAN: lambda x: 1 / (1 + x * x),
    Activation.ROUND: np.ones_like,
}


def _unary(f: Callable[[Array], Array]) -> Row:
    return lambda op, x: f(widen(x))


def _binary(f: Callable[[Array, Array], Array]) -> Row:
    return lambda op, x, y: f(widen(x), widen(y))


def _extreme(f: Any, empty: Callable[[np.dtype[Any]], Any]) -> Row:
    def row(op: reduce.ReduceOp, x: Array) -> Array:
        wide = widen(x)
        return f(wide, axis=op.axis_list, keepdims=op.keep_dim is not None, initial=empty(wide.dtype))

    return row


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def _sum(op: reduce.ReduceOp, x: Array) -> Array:
    wide = widen(x)
    return np.sum(wide, axis=op.axis_list, keepdims=op.keep_dim is not None, dtype=wide.dtype)


def _mean(op: reduce.ReduceOp, x: Array) -> Array:
    count = np.prod([x.shape[axis] for axis in op.axis_list])
    return _sum(op, x) / count


def _prod(op: reduce.ReduceOp, x: Array) -> Array:
    wide = widen(x)
    return np.prod(wide, axis=op.axis_list, keepdims=op.keep_dim is not None, dtype=wide.dtype)


def _narrow(op: shape.NarrowOp, x: Array) -> Array:
    axis, start, length = op.bounds
    return x[(slice(None),) * axis + (slice(start, start + length),)]


def _softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True, initial=-np.inf))
    return e / np.sum(e, axis=axis, keepdims=True)


def _along(vector: Array, x: Array, axis: int) -> Array:
    return vector.reshape([-1 if a == axis else 1 for a in range(x.ndim)])


def _normalized(x: Array, axis: int, eps: float) -> tuple[Array, Array]:
    d = x - np.mean(x, axis=axis, keepdims=True)
    inv = 1 / np.sqrt(np.mean(d * d, axis=axis, keepdims=True) + eps)
    return d * inv, inv


def _layer_norm(op: norm.LayerNormOp, x: Array, gamma: Array, beta: Array) -> Array:
    x, gamma, beta = widen(x), widen(gamma), widen(beta)
    n, _ = _normalized(x, op.axis_index, op.eps.value.data)
    return n * _along(gamma, x, op.axis_index) + _along(beta, x, op.axis_index)


def _layer_norm_backward_input(op: backward.LayerNormBackwardInputOp, x: Array, gamma: Array, dy: Array) -> Array:
    x, axis = widen(x), op.axis_index
    n, inv = _normalized(x, axis, op.eps.value.data)
    s = widen(dy) * _along(widen(gamma), x, axis)
    mean_s, mean_sn = (np.mean(v, axis=axis, keepdims=True) for v in (s, s * n))
    return inv * (s - mean_s - n * mean_sn)


def _layer_norm_backward_gamma(op: backward.LayerNormBackwardGammaOp, x: Array, dy: Array) -> Array:
    n, _ = _normalized(widen(x), op.axis_index, op.eps.value.data)
    return np.sum(widen(dy) * n, axis=tuple(a for a in range(x.ndim) if a != op.axis_index))


def _classes(op: Any, logits: Array, labels: Array) -> tuple[Array, Array, Array]:
    """Labels as valid indices, which rows have one, which are ignored."""
    label = convert(labels, np.dtype(np.int64)).astype(np.int64)
    ignored = np.zeros(label.shape, bool) if op.ignore_index is None else label == op.ignore_index.value.data
    valid = (label >= 0) & (label < logits.shape[-1])
    return np.where(valid, label, 0), valid, ignored


def _cross_entropy(op: loss.SoftmaxCrossEntropyWithLogitsOp, logits: Array, labels: Array) -> Array:
    x = widen(logits)
    label, valid, ignored = _classes(op, x, labels)
    top = np.max(x, axis=-1, keepdims=True, initial=-np.inf)
    lse = top[..., 0] + np.log(np.sum(np.exp(x - top), axis=-1))
    picked = np.take_along_axis(x, label[..., None], -1)[..., 0] if x.shape[-1] else np.zeros(lse.shape)
    return np.where(ignored, 0.0, np.where(valid, lse - picked, np.nan))


def _cross_entropy_backward(
    op: backward.SoftmaxCrossEntropyBackwardOp, logits: Array, labels: Array, d_loss: Array
) -> Array:
    x = widen(logits)
    label, valid, ignored = _classes(op, x, labels)
    one_hot = np.arange(x.shape[-1]) == label[..., None]
    grad = (_softmax(x, -1) - one_hot) * widen(d_loss)[..., None]
    return np.where(ignored[..., None], 0.0, np.where(valid[..., None], grad, np.nan))


def _fused_matmul_bias_act(op: fused.FusedMatmulBiasActOp, x: Array, w: Array, bias: Array) -> Array:
    y = np.matmul(widen(x), widen(w)) + widen(bias)
    return y if op.activation is None else FUNCTIONS[op.activation.data](y)


_ROWS: dict[type[Operation], Row] = {
    elementwise.GeluOp: _unary(FUNCTIONS[Activation.GELU]),
    elementwise.GeluApproxOp: _unary(FUNCTIONS[Activation.GELU_APPROX]),
    elementwise.SiluOp: _unary(FUNCTIONS[Activation.SILU]),
    elementwise.ReluOp: _unary(FUNCTIONS[Activation.RELU]),
    elementwise.SigmoidOp: _unary(FUNCTIONS[Activation.SIGMOID]),
    elementwise.TanhOp: _unary(FUNCTIONS[Activation.TANH]),
    elementwise.ExpOp: _unary(FUNCTIONS[Activation.EXP]),
    elementwise.LogOp: _unary(FUNCTIONS[Activation.LOG]),
    elementwise.ErfOp: _unary(FUNCTIONS[Activation.ERF]),
    elementwise.SqrtOp: _unary(FUNCTIONS[Activation.SQRT]),
    elementwise.RsqrtOp: _unary(FUNCTIONS[Activation.RSQRT]),
    elementwise.RecipOp: _unary(FUNCTIONS[Activation.RECIP]),
    elementwise.NegOp: _unary(FUNCTIONS[Activation.NEG]),
    elementwise.AbsOp: _unary(FUNCTIONS[Activation.ABS]),
    elementwise.SinOp: _unary(FUNCTIONS[Activation.SIN]),
    elementwise.CosOp: _unary(FUNCTIONS[Activation.COS]),
    elementwise.TanOp: _unary(FUNCTIONS[Activation.TAN]),
    elementwise.AtanOp: _unary(FUNCTIONS[Activation.ATAN]),
    elementwise.RoundOp: _unary(FUNCTIONS[Activation.ROUND]),
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
    elementwise.ConstantOp: lambda op: constant(op),
    cast.CastOp: lambda op, x: convert(x, numpy_dtype(element_of(op.result))),
    linalg.MatmulOp: _binary(np.matmul),
    shape.ReshapeOp: lambda op, x: x.reshape(shape_of(op.result)),
    shape.TransposeOp: lambda op, x: x.transpose(op.perm_list),
    shape.NarrowOp: _narrow,
    shape.ConcatOp: lambda op, *parts: np.concatenate(parts, axis=op.axis_index),
    shape.ExpandOp: lambda op, x: np.broadcast_to(x, shape_of(op.result)),
    reduce.ReduceSumOp: _sum,
    reduce.ReduceMeanOp: _mean,
    reduce.ReduceMaxOp: _extreme(np.max, _lowest),
    reduce.ReduceMinOp: _extreme(np.min, _highest),
    reduce.ReduceProdOp: _prod,
    norm.SoftmaxOp: lambda op, x: _softmax(widen(x), op.axis_index),
    norm.LayerNormOp: _layer_norm,
    loss.SoftmaxCrossEntropyWithLogitsOp: _cross_entropy,
    fused.FusedMatmulBiasActOp: _fused_matmul_bias_act,
    backward.ReluBackwardOp: lambda op, x, dy: np.where(widen(x) > 0, widen(dy), 0.0),
    backward.ActivationBackwardOp: lambda op, x, dy: DERIVATIVES[op.kind.data](widen(x)) * widen(dy),
    backward.LayerNormBackwardInputOp: _layer_norm_backward_input,
    backward.LayerNormBackwardGammaOp: _layer_norm_backward_gamma,
    backward.SoftmaxCrossEntropyBackwardOp: _cross_entropy_backward,
}


@cache
def rows() -> dict[type[Operation], Row]:
    """What every op means: the rows above and those of the families."""
    from numerics import families

    return _ROWS | families.ORACLE


def constant(op: elementwise.ConstantOp) -> Array:
    """The array a `mir.constant` holds."""
    dtype = numpy_dtype(element_of(op.result))
    return (
        np.frombuffer(op.value.data.data, dtype="i1" if dtype == np.bool_ else dtype)
        .astype(dtype)
        .reshape(op.value.get_shape())
    )


def evaluate_block(block: Block, inputs: Sequence[Array]) -> list[Array]:
    """The operands of the terminator of a block of mir ops."""
    env: dict[SSAValue, Array] = dict(zip(block.args, inputs, strict=True))
    for op in block.ops:
        operands = [env[v] for v in op.operands]
        if isinstance(op, func.ReturnOp | control.YieldOp):
            return operands
        if isinstance(op, control.FusionOp):
            env.update(zip(op.results, evaluate_block(op.body.block, operands), strict=True))
            continue
        with np.errstate(all="ignore"):
            found = rows()[type(op)](op, *operands)
        results = found if isinstance(found, tuple) else (found,)
        for value, array in zip(op.results, results, strict=True):
            result = np.asarray(array).astype(numpy_dtype(element_of(value)))
            assert result.shape == shape_of(value), f"{op.name}: {result.shape} for {value.type}"
            env[value] = result
    raise AssertionError("a block without terminator")


def evaluate(code: ModuleOp | func.FuncOp, *inputs: Any) -> list[Array]:
    """The results of a function of mir ops (of a module: its first function) on arrays, converted to its types."""
    function = next(op for op in code.walk() if isinstance(op, func.FuncOp))
    args = function.body.block.args
    assert len(inputs) == len(args), f"expected {len(args)} inputs, got {len(inputs)}"
    arrays = [np.asarray(x).astype(numpy_dtype(element_of(a))) for x, a in zip(inputs, args, strict=True)]
    for array, arg in zip(arrays, args, strict=True):
        assert array.shape == shape_of(arg), f"an input of shape {array.shape} for {arg.type}"
    return evaluate_block(function.body.block, arrays)


def assert_close(result: Array, expected: Array, tol: float, exact: bool = False) -> None:
    """
    Equal types, shapes, infinities and NaN; finite floats within `tol` epsilons of the largest one (at least 1).

    Integers and booleans, and with `exact` everything, are equal; signs of zeros and of NaN do not matter.
    """
    assert result.dtype == expected.dtype, f"{result.dtype} for {expected.dtype}"
    assert result.shape == expected.shape, f"{result.shape} for {expected.shape}"
    got, want = widen(result), widen(expected)
    if exact or expected.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
        return
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    error = np.abs(got[finite] - want[finite]).max(initial=0.0)
    largest = np.abs(want[finite]).max(initial=1.0)
    limit = tol * float(ml_dtypes.finfo(expected.dtype).eps) * largest
    assert error <= limit, f"error {error:.3g}, allowed {limit:.3g}"
