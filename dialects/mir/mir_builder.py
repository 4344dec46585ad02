"""`MirBuilder`: how mir is written in Python, one method per op, named by its mnemonic. Operators are in `value.py`.

User graphs, derivative rules and decompositions all build through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.constants import Number
from xdsl_rlx.dialects.mir import backward, cast, elementwise, fused, loss, norm, plugin_families, reduce, shape
from xdsl_rlx.dialects.mir.attention import AttentionBuilder
from xdsl_rlx.dialects.mir.bits import BitsBuilder
from xdsl_rlx.dialects.mir.branch import BranchBuilder
from xdsl_rlx.dialects.mir.channel_norm import ChannelNormBuilder
from xdsl_rlx.dialects.mir.collectives import CollectivesBuilder
from xdsl_rlx.dialects.mir.complex import ComplexBuilder
from xdsl_rlx.dialects.mir.conv import ConvBuilder
from xdsl_rlx.dialects.mir.core import Activation
from xdsl_rlx.dialects.mir.creation import CreationBuilder
from xdsl_rlx.dialects.mir.custom import CustomBuilder
from xdsl_rlx.dialects.mir.custom_fn import CustomFnBuilder
from xdsl_rlx.dialects.mir.debug import DebugBuilder
from xdsl_rlx.dialects.mir.distributions import DistributionsBuilder
from xdsl_rlx.dialects.mir.factor import FactorBuilder
from xdsl_rlx.dialects.mir.fake_quantize import FakeQuantizeBuilder
from xdsl_rlx.dialects.mir.fields import word_of
from xdsl_rlx.dialects.mir.fused import FusedBuilder
from xdsl_rlx.dialects.mir.index import IndexBuilder
from xdsl_rlx.dialects.mir.linalg import LinalgBuilder
from xdsl_rlx.dialects.mir.matrix_function import MatrixFunctionBuilder
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
from xdsl_rlx.dialects.mir.rounding import RoundingBuilder
from xdsl_rlx.dialects.mir.scan import ScanBuilder
from xdsl_rlx.dialects.mir.shape import ShapeBuilder
from xdsl_rlx.dialects.mir.solve import SolveBuilder
from xdsl_rlx.dialects.mir.special import SpecialBuilder
from xdsl_rlx.dialects.mir.spectral import SpectralBuilder
from xdsl_rlx.dialects.mir.transcendental import TranscendentalBuilder
from xdsl_rlx.dialects.mir.transformer import TransformerBuilder
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, method, resolve_shape
from xdsl_rlx.dialects.shapes import element_of, i1, integers, shape_of

__all__ = ["ACTIVATIONS", "MirBuilder", "Operand", "Value", "activation_kind"]


def _plugin_builders() -> list[type[BuilderCore]]:
    """The classes with builder methods in the modules of plugins."""
    found = [(family.__name__, value) for family in plugin_families() for value in vars(family).values()]
    kinds = [(name, kind) for name, kind in found if isinstance(kind, type) and issubclass(kind, BuilderCore)]
    return [kind for name, kind in kinds if kind.__module__ == name]


ACTIVATIONS: dict[Activation, type[elementwise.UnaryOp]] = {
    kind: op
    for kind in Activation
    for op in vars(elementwise).values()
    if isinstance(op, type) and issubclass(op, elementwise.UnaryOp) and vars(op).get("name") == f"mir.{kind}"
}
"""The op of every activation kind."""


def activation_kind(kind: Activation | str) -> Activation:
    """The activation of that name; GraphError lists what there is."""
    return word_of(Activation, "activation", kind)


if TYPE_CHECKING:

    class _PluginBuilder(BuilderCore): ...

else:
    _PluginBuilder = type("_PluginBuilder", (*_plugin_builders(), BuilderCore), {"__doc__": "The methods of plugins."})


class MirBuilder(
    AttentionBuilder,
    BitsBuilder,
    BranchBuilder,
    ChannelNormBuilder,
    CollectivesBuilder,
    ComplexBuilder,
    ConvBuilder,
    CreationBuilder,
    CustomBuilder,
    CustomFnBuilder,
    DebugBuilder,
    DistributionsBuilder,
    FactorBuilder,
    FakeQuantizeBuilder,
    FusedBuilder,
    IndexBuilder,
    LinalgBuilder,
    MatrixFunctionBuilder,
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
    RoundingBuilder,
    ScanBuilder,
    ShapeBuilder,
    SolveBuilder,
    SpecialBuilder,
    SpectralBuilder,
    TranscendentalBuilder,
    TransformerBuilder,
    _PluginBuilder,
    BuilderCore,
):
    """
    Builds mir ops through an `xdsl.builder.Builder`, wherever that inserts.

    Operands are values, or Python numbers, which become rank-0 constants of the other operand's element type, or
    arrays, which become constants. Shapes and axes that do not fit are a
    VerifyException, numbers and names that mean nothing a GraphError.
    """

    gelu = method(elementwise.GeluOp)
    gelu_approx = method(elementwise.GeluApproxOp)
    silu = method(elementwise.SiluOp)
    relu = method(elementwise.ReluOp)
    sigmoid = method(elementwise.SigmoidOp)
    tanh = method(elementwise.TanhOp)
    exp = method(elementwise.ExpOp)
    log = method(elementwise.LogOp)
    erf = method(elementwise.ErfOp)
    ndtr = method(elementwise.NdtrOp)
    gaussian = method(elementwise.GaussianOp)
    sqrt = method(elementwise.SqrtOp)
    rsqrt = method(elementwise.RsqrtOp)

    recip = method(elementwise.RecipOp)
    neg = method(elementwise.NegOp)
    abs = method(elementwise.AbsOp)
    sin = method(elementwise.SinOp)
    cos = method(elementwise.CosOp)
    tan = method(elementwise.TanOp)
    atan = method(elementwise.AtanOp)
    round = method(elementwise.RoundOp)
    stop_gradient = method(elementwise.StopGradientOp)
    add = method(elementwise.AddOp)
    sub = method(elementwise.SubOp)
    mul = method(elementwise.MulOp)
    div = method(elementwise.DivOp)
    max = method(elementwise.MaxOp)
    min = method(elementwise.MinOp)
    pow = method(elementwise.PowOp)
    and_ = method(elementwise.AndOp)
    shift_right_logical = method(elementwise.ShiftRightLogicalOp)
    eq = method(elementwise.EqOp)
    ne = method(elementwise.NeOp)
    lt = method(elementwise.LtOp)
    le = method(elementwise.LeOp)
    gt = method(elementwise.GtOp)
    ge = method(elementwise.GeOp)

    def activation(self, x: Operand, kind: Activation | str | None) -> Value:
        """Apply the elementwise op named `kind`; return `x` for None."""
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
        `mir.reduce_sum` over `axes`, by default all. Integers and booleans are summed in i64, as in NumPy.

        `dtype` selects another element type for the sum; integers wrap in the element type of `x`.
        """
        return self.op(reduce.ReduceSumOp, self.accumulated(x, dtype).ssa, axes, keep_dim)

    reduce_mean = method(reduce.ReduceMeanOp)
    reduce_max = method(reduce.ReduceMaxOp)
    reduce_min = method(reduce.ReduceMinOp)

    def reduce_prod(
        self, x: Operand, axes: int | Sequence[int] | None = None, keep_dim: bool = False, dtype: object = None
    ) -> Value:
        """`mir.reduce_prod` over `axes`, by default all; integers and `dtype` behave as in `reduce_sum`."""
        return self.op(reduce.ReduceProdOp, self.accumulated(x, dtype).ssa, axes, keep_dim)

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

    narrow = method(shape.NarrowOp)
    concat = method(shape.ConcatOp)

    def expand(self, x: Operand, target_shape: Sequence[int]) -> Value:
        """`mir.expand`: `x` broadcast to `target_shape`; `x` itself if it has that shape."""
        value, target = self.operand(x), integers("expand", target_shape)
        return self.value(value) if shape_of(value) == target else self.op(shape.ExpandOp, value, target)

    softmax = method(norm.SoftmaxOp)
    softmax_cross_entropy_with_logits = method(loss.SoftmaxCrossEntropyWithLogitsOp)
    fused_matmul_bias_act = method(fused.FusedMatmulBiasActOp)
    fused_residual_ln = method(fused.FusedResidualLnOp)
    fused_residual_rms_norm = method(fused.FusedResidualRmsNormOp)
    relu_backward = method(backward.ReluBackwardOp)
    activation_backward = method(backward.ActivationBackwardOp)
    layer_norm_backward_input = method(backward.LayerNormBackwardInputOp)
    layer_norm_backward_gamma = method(backward.LayerNormBackwardGammaOp)
    softmax_cross_entropy_backward = method(backward.SoftmaxCrossEntropyBackwardOp)
