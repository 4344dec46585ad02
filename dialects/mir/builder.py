"""`MirBuilder`: how mir is written in Python, one method per op, named by its mnemonic. Operators are in `value.py`.

User graphs, derivative rules and decompositions all build through it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.constants import Number
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir import backward, cast, elementwise, fused, loss, norm, reduce, shape
from xdsl_rlx.dialects.mir.attention import AttentionBuilder
from xdsl_rlx.dialects.mir.branch import BranchBuilder
from xdsl_rlx.dialects.mir.channel_norm import ChannelNormBuilder
from xdsl_rlx.dialects.mir.complex import ComplexBuilder
from xdsl_rlx.dialects.mir.conv import ConvBuilder
from xdsl_rlx.dialects.mir.core import Activation
from xdsl_rlx.dialects.mir.custom import CustomBuilder
from xdsl_rlx.dialects.mir.custom_fn import CustomFnBuilder
from xdsl_rlx.dialects.mir.fake_quantize import FakeQuantizeBuilder
from xdsl_rlx.dialects.mir.fused import FusedBuilder
from xdsl_rlx.dialects.mir.index import IndexBuilder
from xdsl_rlx.dialects.mir.linalg import LinalgBuilder
from xdsl_rlx.dialects.mir.moe import MoeBuilder
from xdsl_rlx.dialects.mir.norm import NormBuilder
from xdsl_rlx.dialects.mir.pool import PoolBuilder
from xdsl_rlx.dialects.mir.quant import QuantBuilder
from xdsl_rlx.dialects.mir.quant_int import QuantIntBuilder
from xdsl_rlx.dialects.mir.quantize import QuantizeBuilder
from xdsl_rlx.dialects.mir.random import RandomBuilder
from xdsl_rlx.dialects.mir.recurrence import RecurrenceBuilder
from xdsl_rlx.dialects.mir.region import RegionBuilder
from xdsl_rlx.dialects.mir.rope import RopeBuilder
from xdsl_rlx.dialects.mir.scan import ScanBuilder
from xdsl_rlx.dialects.mir.solve import SolveBuilder
from xdsl_rlx.dialects.mir.spectral import SpectralBuilder
from xdsl_rlx.dialects.mir.splat import SplatBuilder
from xdsl_rlx.dialects.mir.transformer import TransformerBuilder
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, resolve_shape
from xdsl_rlx.dialects.shapes import element_of, i1, integers, shape_of

__all__ = ["ACTIVATIONS", "MirBuilder", "Operand", "Value", "activation_kind"]

ACTIVATIONS: dict[Activation, type[elementwise.UnaryOp]] = {
    kind: op
    for kind in Activation
    for op in vars(elementwise).values()
    if isinstance(op, type) and issubclass(op, elementwise.UnaryOp) and vars(op).get("name") == f"mir.{kind}"
}
"""The op of every activation kind."""


def activation_kind(kind: Activation | str) -> Activation:
    """The activation of that name; GraphError lists what there is."""
    try:
        return Activation(kind)
    except ValueError:
        raise GraphError(f"activation '{kind}' is not one of {', '.join(Activation)}") from None


class MirBuilder(
    AttentionBuilder,
    BranchBuilder,
    ChannelNormBuilder,
    ComplexBuilder,
    ConvBuilder,
    CustomBuilder,
    CustomFnBuilder,
    FakeQuantizeBuilder,
    FusedBuilder,
    IndexBuilder,
    LinalgBuilder,
    MoeBuilder,
    NormBuilder,
    PoolBuilder,
    QuantBuilder,
    QuantIntBuilder,
    QuantizeBuilder,
    RandomBuilder,
    RecurrenceBuilder,
    RegionBuilder,
    RopeBuilder,
    ScanBuilder,
    SolveBuilder,
    SpectralBuilder,
    SplatBuilder,
    TransformerBuilder,
    BuilderCore,
):
    """
    Builds mir ops through an `xdsl.builder.Builder`, wherever that inserts.

    Operands are values, or Python numbers, which become rank-0 constants of the other operand's element type, or
    arrays, which become constants. Shapes and axes that do not fit are a
    VerifyException, numbers and names that mean nothing a GraphError.
    """

    def gelu(self, x: Operand) -> Value:
        """`mir.gelu`: x ndtr(x)."""
        return self.op(elementwise.GeluOp, self.operand(x))

    def gelu_approx(self, x: Operand) -> Value:
        """`mir.gelu_approx`: gelu by tanh."""
        return self.op(elementwise.GeluApproxOp, self.operand(x))

    def silu(self, x: Operand) -> Value:
        """`mir.silu`: x / (1 + exp(-x))."""
        return self.op(elementwise.SiluOp, self.operand(x))

    def relu(self, x: Operand) -> Value:
        """`mir.relu`: max(x, 0)."""
        return self.op(elementwise.ReluOp, self.operand(x))

    def sigmoid(self, x: Operand) -> Value:
        """`mir.sigmoid`: 1 / (1 + exp(-x))."""
        return self.op(elementwise.SigmoidOp, self.operand(x))

    def tanh(self, x: Operand) -> Value:
        """`mir.tanh`: tanh x."""
        return self.op(elementwise.TanhOp, self.operand(x))

    def exp(self, x: Operand) -> Value:
        """`mir.exp`: e^x."""
        return self.op(elementwise.ExpOp, self.operand(x))

    def log(self, x: Operand) -> Value:
        """`mir.log`: ln x."""
        return self.op(elementwise.LogOp, self.operand(x))

    def erf(self, x: Operand) -> Value:
        """`mir.erf`: erf x."""
        return self.op(elementwise.ErfOp, self.operand(x))

    def ndtr(self, x: Operand) -> Value:
        """`mir.ndtr`: the distribution function of the normal distribution, 1/2 (1 + erf(x/sqrt 2))."""
        return self.op(elementwise.NdtrOp, self.operand(x))

    def gaussian(self, x: Operand) -> Value:
        """`mir.gaussian`: e^(-x^2/2)."""
        return self.op(elementwise.GaussianOp, self.operand(x))

    def sqrt(self, x: Operand) -> Value:
        """`mir.sqrt`: sqrt x."""
        return self.op(elementwise.SqrtOp, self.operand(x))

    def rsqrt(self, x: Operand) -> Value:
        """`mir.rsqrt`: 1 / sqrt x."""
        return self.op(elementwise.RsqrtOp, self.operand(x))

    def safe_sqrt(self, x: Operand) -> Value:
        """`sqrt x` for `x > 0`, else 0 with slope 0, where that of `mir.sqrt` is infinite or NaN; NaN stays NaN."""
        return self._above_zero(x, self.sqrt)

    def safe_rsqrt(self, x: Operand) -> Value:
        """`1 / sqrt x` for `x > 0`, else 0 with slope 0; NaN stays NaN."""
        return self._above_zero(x, self.rsqrt)

    def _above_zero(self, x: Operand, function: Callable[[Value], Value]) -> Value:
        """`function` of 1 in place of what is not positive, so that no infinity reaches the gradient."""
        value = self.value(self.operand(x))
        outside = value <= 0.0
        return self.where(outside, 0.0, function(self.where(outside, 1.0, value)))

    def recip(self, x: Operand) -> Value:
        """`mir.recip`: 1 / x."""
        return self.op(elementwise.RecipOp, self.operand(x))

    def neg(self, x: Operand) -> Value:
        """`mir.neg`: -x."""
        return self.op(elementwise.NegOp, self.operand(x))

    def abs(self, x: Operand) -> Value:
        """`mir.abs`: |x|."""
        return self.op(elementwise.AbsOp, self.operand(x))

    def sin(self, x: Operand) -> Value:
        """`mir.sin`: sin x."""
        return self.op(elementwise.SinOp, self.operand(x))

    def cos(self, x: Operand) -> Value:
        """`mir.cos`: cos x."""
        return self.op(elementwise.CosOp, self.operand(x))

    def tan(self, x: Operand) -> Value:
        """`mir.tan`: tan x."""
        return self.op(elementwise.TanOp, self.operand(x))

    def atan(self, x: Operand) -> Value:
        """`mir.atan`: atan x."""
        return self.op(elementwise.AtanOp, self.operand(x))

    def round(self, x: Operand) -> Value:
        """`mir.round`: the nearest integer, half to even."""
        return self.op(elementwise.RoundOp, self.operand(x))

    def stop_gradient(self, x: Operand) -> Value:
        """`mir.stop_gradient`: x, through which nothing is differentiated."""
        return self.op(elementwise.StopGradientOp, self.operand(x))

    def add(self, lhs: Operand, rhs: Operand) -> Value:
        """`mir.add`: lhs + rhs."""
        return self.op(elementwise.AddOp, *self.operands(lhs, rhs))

    def sub(self, lhs: Operand, rhs: Operand) -> Value:
        """`mir.sub`: lhs - rhs."""
        return self.op(elementwise.SubOp, *self.operands(lhs, rhs))

    def mul(self, lhs: Operand, rhs: Operand) -> Value:
        """`mir.mul`: lhs * rhs."""
        return self.op(elementwise.MulOp, *self.operands(lhs, rhs))

    def div(self, lhs: Operand, rhs: Operand) -> Value:
        """`mir.div`: lhs / rhs."""
        return self.op(elementwise.DivOp, *self.operands(lhs, rhs))

    def max(self, lhs: Operand, rhs: Operand) -> Value:
        """`mir.max`: the larger; NaN if either is."""
        return self.op(elementwise.MaxOp, *self.operands(lhs, rhs))

    def min(self, lhs: Operand, rhs: Operand) -> Value:
        """`mir.min`: the smaller; NaN if either is."""
        return self.op(elementwise.MinOp, *self.operands(lhs, rhs))

    def pow(self, lhs: Operand, rhs: Operand) -> Value:
        """`mir.pow`: lhs^rhs."""
        return self.op(elementwise.PowOp, *self.operands(lhs, rhs))

    def and_(self, lhs: Operand, rhs: Operand) -> Value:
        """`mir.and`: both (i1), or bitwise (integers)."""
        return self.op(elementwise.AndOp, *self.operands(lhs, rhs))

    def shift_right_logical(self, lhs: Operand, rhs: Operand) -> Value:
        """`mir.shift_right_logical`: the bits of `lhs` shifted right by `rhs`, zeros coming in."""
        return self.op(elementwise.ShiftRightLogicalOp, *self.operands(lhs, rhs))

    def eq(self, lhs: Operand, rhs: Operand) -> Value:
        """`mir.eq`: lhs == rhs."""
        return self.op(elementwise.EqOp, *self.operands(lhs, rhs))

    def ne(self, lhs: Operand, rhs: Operand) -> Value:
        """`mir.ne`: lhs != rhs."""
        return self.op(elementwise.NeOp, *self.operands(lhs, rhs))

    def lt(self, lhs: Operand, rhs: Operand) -> Value:
        """`mir.lt`: lhs < rhs."""
        return self.op(elementwise.LtOp, *self.operands(lhs, rhs))

    def le(self, lhs: Operand, rhs: Operand) -> Value:
        """`mir.le`: lhs <= rhs."""
        return self.op(elementwise.LeOp, *self.operands(lhs, rhs))

    def gt(self, lhs: Operand, rhs: Operand) -> Value:
        """`mir.gt`: lhs > rhs."""
        return self.op(elementwise.GtOp, *self.operands(lhs, rhs))

    def ge(self, lhs: Operand, rhs: Operand) -> Value:
        """`mir.ge`: lhs >= rhs."""
        return self.op(elementwise.GeOp, *self.operands(lhs, rhs))

    def activation(self, x: Operand, kind: Activation | str | None) -> Value:
        """The elementwise op named `kind`, or `x` itself for None."""
        value = self.operand(x)
        return self.value(value) if kind is None else self.op(ACTIVATIONS[activation_kind(kind)], value)

    def where(self, cond: Operand, on_true: Operand, on_false: Operand) -> Value:
        """`mir.where`: elements of `on_true` where `cond != 0`, else of `on_false`; all broadcast."""
        test = self.scalar(bool(cond), i1).ssa if isinstance(cond, Number) else self.operand(cond)
        if element_of(test) != i1:
            test = self.ne(test, 0).ssa
        return self.op(elementwise.WhereOp, test, *self.operands(on_true, on_false))

    def cast(self, x: Operand, to: object) -> Value:
        """`mir.cast` to the element type `to`; `x` itself if it has it."""
        value, type_ = self.operand(x), constants.element_type(to)
        return self.value(value) if element_of(value) == type_ else self.op(cast.CastOp, value, type_)

    def reduce_sum(
        self, x: Operand, axes: int | Sequence[int] | None = None, keep_dim: bool = False, dtype: object = None
    ) -> Value:
        """
        `mir.reduce_sum` over `axes`, by default all. Integers and truth values are summed in i64, as NumPy does.

        `dtype` names another element type to sum in: in that of `x`, integers wrap.
        """
        return self._reduce(reduce.ReduceSumOp, self.accumulated(x, dtype), axes, keep_dim)

    def reduce_mean(self, x: Operand, axes: int | Sequence[int] | None = None, keep_dim: bool = False) -> Value:
        """`mir.reduce_mean` over `axes`, by default all."""
        return self._reduce(reduce.ReduceMeanOp, x, axes, keep_dim)

    def reduce_max(self, x: Operand, axes: int | Sequence[int] | None = None, keep_dim: bool = False) -> Value:
        """`mir.reduce_max` over `axes`, by default all."""
        return self._reduce(reduce.ReduceMaxOp, x, axes, keep_dim)

    def reduce_min(self, x: Operand, axes: int | Sequence[int] | None = None, keep_dim: bool = False) -> Value:
        """`mir.reduce_min` over `axes`, by default all."""
        return self._reduce(reduce.ReduceMinOp, x, axes, keep_dim)

    def reduce_prod(
        self, x: Operand, axes: int | Sequence[int] | None = None, keep_dim: bool = False, dtype: object = None
    ) -> Value:
        """`mir.reduce_prod` over `axes`, by default all; integers, and `dtype`, are as in `reduce_sum`."""
        return self._reduce(reduce.ReduceProdOp, self.accumulated(x, dtype), axes, keep_dim)

    def _reduce(
        self, kind: type[reduce.ReduceOp], x: Operand, axes: int | Sequence[int] | None, keep_dim: bool
    ) -> Value:
        operand = self.operand(x)
        if axes is None:
            axes = range(len(shape_of(operand)))
        return self.op(kind, operand, integers("axes", axes), keep_dim)

    def reshape(self, x: Operand, new_shape: Sequence[int]) -> Value:
        """`mir.reshape`, where one dimension may be -1; `x` itself if it has that shape."""
        value = self.operand(x)
        before = shape_of(value)
        after = resolve_shape(before, integers("reshape", new_shape))
        return self.value(value) if before == after else self.op(shape.ReshapeOp, value, after)

    def transpose(self, x: Operand, perm: Sequence[int]) -> Value:
        """`mir.transpose`: dimension `d` of the result is dimension `perm[d]` of `x`; `x` itself if none moves."""
        value, perm = self.operand(x), integers("transpose", perm)
        in_place = perm == tuple(range(len(shape_of(value))))
        return self.value(value) if in_place else self.op(shape.TransposeOp, value, perm)

    def narrow(self, x: Operand, axis: int, start: int, len: int) -> Value:
        """`mir.narrow`: elements `start` to `start + len` along `axis`."""
        return self.op(shape.NarrowOp, self.operand(x), *integers("narrow", (axis, start, len)))

    def concat(self, parts: Sequence[Operand], axis: int) -> Value:
        """`mir.concat`: the parts one after the other along `axis`."""
        return self.op(shape.ConcatOp, [self.operand(part) for part in parts], axis)

    def expand(self, x: Operand, target_shape: Sequence[int]) -> Value:
        """`mir.expand`: `x` broadcast to `target_shape`; `x` itself if it has that shape."""
        value, target = self.operand(x), integers("expand", target_shape)
        return self.value(value) if shape_of(value) == target else self.op(shape.ExpandOp, value, target)

    def softmax(self, x: Operand, axis: int = -1) -> Value:
        """`mir.softmax` along `axis`."""
        return self.op(norm.SoftmaxOp, self.operand(x), axis)

    def softmax_cross_entropy_with_logits(
        self, logits: Operand, labels: Operand, ignore_index: int | None = None
    ) -> Value:
        """`mir.softmax_cross_entropy_with_logits` of logits [..., C] and integer labels [...]: losses [...]."""
        op = loss.SoftmaxCrossEntropyWithLogitsOp
        return self.op(op, self.operand(logits), self.operand(labels), ignore_index)

    def fused_matmul_bias_act(
        self, x: Operand, w: Operand, bias: Operand, activation: Activation | str | None = None
    ) -> Value:
        """`mir.fused_matmul_bias_act`: `activation(x @ w + bias)`."""
        kind = None if activation is None else activation_kind(activation)
        x, w, bias = self.operands(x, w, bias)
        return self.op(fused.FusedMatmulBiasActOp, x, w, bias, kind)

    def relu_backward(self, x: Operand, dy: Operand) -> Value:
        """`mir.relu_backward`: `dy` where `x > 0`, else 0."""
        return self.op(backward.ReluBackwardOp, self.operand(x), self.operand(dy))

    def activation_backward(self, x: Operand, dy: Operand, kind: Activation | str) -> Value:
        """`mir.activation_backward`: the derivative of the elementwise op `kind` at `x`, times `dy`."""
        return self.op(backward.ActivationBackwardOp, self.operand(x), self.operand(dy), activation_kind(kind))

    def layer_norm_backward_input(
        self, x: Operand, gamma: Operand, dy: Operand, axis: int = -1, eps: float = 1e-5
    ) -> Value:
        """`mir.layer_norm_backward_input`: the cotangent of `x`."""
        op = backward.LayerNormBackwardInputOp
        return self.op(op, self.operand(x), self.operand(gamma), self.operand(dy), axis, eps)

    def layer_norm_backward_gamma(self, x: Operand, dy: Operand, axis: int = -1, eps: float = 1e-5) -> Value:
        """`mir.layer_norm_backward_gamma`: the cotangent of `gamma`."""
        return self.op(backward.LayerNormBackwardGammaOp, self.operand(x), self.operand(dy), axis, eps)

    def softmax_cross_entropy_backward(
        self, logits: Operand, labels: Operand, d_loss: Operand, ignore_index: int | None = None
    ) -> Value:
        """`mir.softmax_cross_entropy_backward`: the cotangent of `logits`."""
        op = backward.SoftmaxCrossEntropyBackwardOp
        return self.op(op, self.operand(logits), self.operand(labels), self.operand(d_loss), ignore_index)
