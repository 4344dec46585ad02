"""JAX's equivalents of mir ops, and an interpreter of mir functions built on them: the second opinion on derivatives.

Composites and backward ops are written out here and left to JAX's own differentiation.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from numerics import families
from oracle import constant, numpy_dtype
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.mir import backward, cast, elementwise, fused, linalg, loss, norm, reduce, shape
from xdsl_rlx.dialects.mir.core import Activation
from xdsl_rlx.dialects.shapes import element_of, shape_of

jax.config.update("jax_enable_x64", True)

Row = Callable[..., Any]

QUICK: dict[str, str | bool] = {"xla_backend_optimization_level": "0", "xla_llvm_disable_expensive_passes": True}
"""Options with which XLA compiles what runs once."""

FUNCTIONS: dict[Activation, Callable[[Any], Any]] = {
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


def _unary(kind: Activation) -> Row:
    return lambda op, x: FUNCTIONS[kind](x)


def _plain(f: Callable[..., Any]) -> Row:
    return lambda op, *xs: f(*xs)


def _reduce(f: Callable[..., Any]) -> Row:
    return lambda op, x: f(x, axis=op.axis_list, keepdims=op.keep_dim is not None)


def _narrow(op: shape.NarrowOp, x: Any) -> Any:
    axis, start, length = op.bounds
    return lax.slice_in_dim(x, start, start + length, axis=axis)


def _along(vector: Any, x: Any, axis: int) -> Any:
    return vector.reshape([-1 if a == axis else 1 for a in range(x.ndim)])


def _normalized(x: Any, axis: int, eps: float) -> Any:
    d = x - jnp.mean(x, axis=axis, keepdims=True)
    return d / jnp.sqrt(jnp.mean(d * d, axis=axis, keepdims=True) + eps)


def _layer_norm(op: Any, x: Any, gamma: Any, beta: Any) -> Any:
    axis = op.axis_index
    return _normalized(x, axis, op.eps.value.data) * _along(gamma, x, axis) + _along(beta, x, axis)


def _layer_norm_backward_input(op: Any, x: Any, gamma: Any, dy: Any) -> Any:
    f = lambda x: _normalized(x, op.axis_index, op.eps.value.data) * _along(gamma, x, op.axis_index)  # noqa: E731
    return jax.vjp(f, x)[1](dy)[0]


def _layer_norm_backward_gamma(op: Any, x: Any, dy: Any) -> Any:
    axis = op.axis_index
    others = tuple(a for a in range(x.ndim) if a != axis)
    return jnp.sum(dy * _normalized(x, axis, op.eps.value.data), axis=others)


def _cross_entropy(op: Any, logits: Any, labels: Any) -> Any:
    labels = labels.astype(jnp.int64)
    logp = jax.nn.log_softmax(logits, axis=-1)
    inside = jnp.clip(labels, 0, logits.shape[-1] - 1)
    picked = jnp.take_along_axis(logp, inside[..., None], -1)[..., 0]
    return -picked if op.ignore_index is None else jnp.where(labels == op.ignore_index.value.data, 0.0, -picked)


def _cross_entropy_backward(op: Any, logits: Any, labels: Any, d_loss: Any) -> Any:
    return jax.vjp(lambda x: _cross_entropy(op, x, labels), logits)[1](d_loss)[0]


def _fused_matmul_bias_act(op: fused.FusedMatmulBiasActOp, x: Any, w: Any, bias: Any) -> Any:
    y = x @ w + bias
    return y if op.activation is None else FUNCTIONS[op.activation.data](y)


def _activation_backward(op: backward.ActivationBackwardOp, x: Any, dy: Any) -> Any:
    return jax.vjp(FUNCTIONS[op.kind.data], x)[1](dy)[0]


def _cast(op: cast.CastOp, x: Any) -> Any:
    return x.astype(numpy_dtype(element_of(op.result)))


JAX: dict[type[Operation], Row] = {
    elementwise.GeluOp: _unary(Activation.GELU),
    elementwise.GeluApproxOp: _unary(Activation.GELU_APPROX),
    elementwise.SiluOp: _unary(Activation.SILU),
    elementwise.ReluOp: _unary(Activation.RELU),
    elementwise.SigmoidOp: _unary(Activation.SIGMOID),
    elementwise.TanhOp: _unary(Activation.TANH),
    elementwise.ExpOp: _unary(Activation.EXP),
    elementwise.LogOp: _unary(Activation.LOG),
    elementwise.ErfOp: _unary(Activation.ERF),
    elementwise.SqrtOp: _unary(Activation.SQRT),
    elementwise.RsqrtOp: _unary(Activation.RSQRT),
    elementwise.RecipOp: _unary(Activation.RECIP),
    elementwise.NegOp: _unary(Activation.NEG),
    elementwise.AbsOp: _unary(Activation.ABS),
    elementwise.SinOp: _unary(Activation.SIN),
    elementwise.CosOp: _unary(Activation.COS),
    elementwise.TanOp: _unary(Activation.TAN),
    elementwise.AtanOp: _unary(Activation.ATAN),
    elementwise.RoundOp: _unary(Activation.ROUND),
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
    elementwise.ConstantOp: lambda op: jnp.asarray(constant(op)),
    cast.CastOp: _cast,
    linalg.MatmulOp: _plain(jnp.matmul),
    shape.ReshapeOp: lambda op, x: x.reshape(shape_of(op.result)),
    shape.TransposeOp: lambda op, x: x.transpose(op.perm_list),
    shape.NarrowOp: _narrow,
    shape.ConcatOp: lambda op, *parts: jnp.concatenate(parts, axis=op.axis_index),
    shape.ExpandOp: lambda op, x: jnp.broadcast_to(x, shape_of(op.result)),
    reduce.ReduceSumOp: _reduce(jnp.sum),
    reduce.ReduceMeanOp: _reduce(jnp.mean),
    reduce.ReduceMaxOp: _reduce(jnp.max),
    reduce.ReduceMinOp: _reduce(jnp.min),
    reduce.ReduceProdOp: _reduce(jnp.prod),
    norm.SoftmaxOp: lambda op, x: jax.nn.softmax(x, axis=op.axis_index),
    norm.LayerNormOp: _layer_norm,
    loss.SoftmaxCrossEntropyWithLogitsOp: _cross_entropy,
    fused.FusedMatmulBiasActOp: _fused_matmul_bias_act,
    backward.ReluBackwardOp: lambda op, x, dy: jnp.where(x > 0, dy, 0.0),
    backward.ActivationBackwardOp: _activation_backward,
    backward.LayerNormBackwardInputOp: _layer_norm_backward_input,
    backward.LayerNormBackwardGammaOp: _layer_norm_backward_gamma,
    backward.SoftmaxCrossEntropyBackwardOp: _cross_entropy_backward,
    **families.JAX,
}


def jax_function(module: ModuleOp) -> Callable[..., list[Any]]:
    """The module's function as a JAX function of arrays."""
    function = next(op for op in module.ops if isinstance(op, FuncOp))

    def call(*inputs: Any) -> list[Any]:
        env: dict[SSAValue, Any] = dict(zip(function.body.block.args, inputs, strict=True))
        for op in function.body.block.ops:
            operands = [env[x] for x in op.operands]
            if isinstance(op, ReturnOp):
                return operands
            found = JAX[type(op)](op, *operands)
            env.update(zip(op.results, found if isinstance(found, tuple) else (found,), strict=True))
        raise AssertionError("a function without func.return")

    return call


def pull_back(module: ModuleOp, inputs: Sequence[Any], wrt: Sequence[int], cotangent: Any) -> list[Any]:
    """
    The cotangents of the inputs numbered `wrt` for a cotangent of the first result.

    Both are `dL/dx + i dL/dy` for complex numbers, the conjugates of what JAX takes and gives.
    """
    call = jax_function(module)

    def of_wrt(*chosen: Any) -> Any:
        full = list(inputs)
        for index, value in zip(wrt, chosen, strict=True):
            full[index] = value
        return call(*full)[0]

    pulled = jax.vjp(of_wrt, *(inputs[index] for index in wrt))[1](jnp.conj(cotangent))
    return [jnp.conj(x) for x in pulled]
