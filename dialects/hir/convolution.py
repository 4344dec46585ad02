"""Convolution blocks with their normalisation and activation, and the causal convolution of sequence models."""

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.hir.block import HirOp, aside, check_eps, check_rank, check_shapes, float_element, int_of
from xdsl_rlx.dialects.mir.conv import Steps
from xdsl_rlx.dialects.mir.core import Activation, ActivationAttr
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Integer,
    OptionalInteger,
    OptionalTensor,
    OptionalWord,
    Real,
    StepList,
    Tensor,
    Tensors,
    Word,
    integer,
    optional_tensor,
    real,
    steps,
    tensor,
    tensors,
    word,
)
from xdsl_rlx.dialects.shapes import dims, shape_of


def numbers_of(steps: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    """A list property as integers."""
    return tuple(int(n) for n in steps.get_values())


def conv_type(
    x: Attribute, w: SSAValue, stride: Steps = 1, padding: Steps = 0, dilation: Steps = 1, groups: int = 1
) -> Attribute:
    """The type of a `mir.conv` of images of a type; VerifyException if they do not fit."""
    stand_ins = Block(arg_types=[x, w.type])
    with aside() as b:
        return b.conv(stand_ins.args[0], stand_ins.args[1], stride, padding, dilation, groups).type


def check_channel_norm(name: str, norm: Sequence[SSAValue], channels: int, num_groups: int | None) -> None:
    """Require the vectors of a batch or group norm of so many channels, or none."""
    if len(norm) not in (0, 2, 4):
        raise VerifyException(
            f"expected {name} to be gamma, beta, mean and var of a batch norm, gamma and beta of a group norm, or "
            f"nothing, got {len(norm)} tensors"
        )
    if num_groups is None and len(norm) == 2:
        raise VerifyException(f"a {name} of gamma and beta is a group norm, which needs num_groups")
    if num_groups is not None and len(norm) != 2:
        raise VerifyException(f"num_groups requires a group norm of gamma and beta, got {len(norm)} tensors as {name}")
    if num_groups is not None and (num_groups < 1 or channels % num_groups):
        raise VerifyException(f"{channels} channels do not form {num_groups} equal groups")
    for vector, value in zip(("gamma", "beta", "mean", "var"), norm, strict=False):
        check_shapes(**{f"{vector} of {name}": (value, (channels,))})


class ConvBlockOp(HirOp, name="hir.conv_block"):
    """
    `result = f(norm(conv(x, w) + b))`: `mir.conv` in one or two dimensions, with x `[N, C, (H,) W]`, w `[O, C/groups,
    (kH,) kW]`, b `[O]`, and the optional `f` named by `activation`.

    `norm` is optional. It consists of gamma, beta, mean and var, `[O]` each, for a batch norm with given statistics, or
    of gamma and beta for a group norm of `num_groups` groups.
    """

    x: Tensor = tensor()
    w: Tensor = tensor()
    b: OptionalTensor = optional_tensor(default=None)
    norm: Tensors = tensors(default=())
    stride: StepList = steps(default=1)
    padding: StepList = steps(default=0)
    dilation: StepList = steps(default=1)
    groups: Integer = integer(default=1)
    num_groups: OptionalInteger = integer(default=None)
    eps: Real = real(default=1e-05)
    activation: OptionalWord[Activation] = word(ActivationAttr, "activation", default=None)
    result = result_def(AnyTensorConstr)

    @property
    def windows(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]:
        """Stride, padding, dilation and groups, as `mir.conv` takes them."""
        stride, padding, dilation = map(numbers_of, (self.stride, self.padding, self.dilation))
        return stride, padding, dilation, self.groups.value.data

    def infer_types(self) -> tuple[Attribute]:
        float_element(*self.operands)
        made = conv_type(self.x.type, self.w, *self.windows)
        channels = shape_of(made)[1]
        check_shapes(b=(self.b, (channels,)))
        check_channel_norm("norm", self.norm, channels, int_of(self.num_groups))
        check_eps(self.eps)
        return (made,)


class ResidualConvBlockOp(HirOp, name="hir.residual_conv_block"):
    """
    `result = f(shortcut(x) + norm2(conv(f(norm1(conv(x, w1))), w2)))`: the basic block of a residual network.

    x is `[N, C, (H,) W]`, w1 `[O, C, (kH,) kW]`, w2 `[O, O, (kH,) kW]`. Kernel extents are odd, and padding keeps the
    size of the image; the first convolution has the stride `stride`. `shortcut` is `shortcut_norm(conv(x, shortcut_w))`
    with the same stride and shortcut_w `[O, C, (1,) 1]`; without shortcut_w it is x itself. Norms are as in
    `hir.conv_block`, all of one kind.
    """

    x: Tensor = tensor()
    w1: Tensor = tensor()
    w2: Tensor = tensor()
    shortcut_w: OptionalTensor = optional_tensor(default=None)
    norm1: Tensors = tensors(default=())
    norm2: Tensors = tensors(default=())
    shortcut_norm: Tensors = tensors(default=())
    stride: StepList = steps(default=1)
    num_groups: OptionalInteger = integer(default=None)
    eps: Real = real(default=1e-05)
    activation: Word[Activation] = word(ActivationAttr, "activation", default=Activation.RELU)
    result = result_def(AnyTensorConstr)

    @property
    def strides(self) -> tuple[int, ...]:
        """The steps of the first convolution."""
        return numbers_of(self.stride)

    @staticmethod
    def padding(w: SSAValue) -> tuple[int, ...]:
        """What keeps the size of an image."""
        return tuple(n // 2 for n in shape_of(w)[2:])

    def infer_types(self) -> tuple[Attribute]:
        float_element(*self.operands)
        for name, w in (("w1", self.w1), ("w2", self.w2)):
            if any(n % 2 == 0 for n in shape_of(w)[2:]):
                raise VerifyException(f"expected {name} of odd extents, got {dims(shape_of(w)[2:])}")
        inner = conv_type(self.x.type, self.w1, self.strides, self.padding(self.w1))
        made = conv_type(inner, self.w2, 1, self.padding(self.w2))
        channels, groups = shape_of(made)[1], int_of(self.num_groups)
        check_channel_norm("norm1", self.norm1, shape_of(inner)[1], groups)
        check_channel_norm("norm2", self.norm2, channels, groups)
        if self.shortcut_w is not None:
            given = shape_of(self.x)
            check_shapes(shortcut_w=(self.shortcut_w, (channels, given[1], *[1] * (len(given) - 2))))
            check_channel_norm("shortcut_norm", self.shortcut_norm, channels, groups)
        elif self.shortcut_norm:
            raise VerifyException(f"a shortcut_norm of {len(self.shortcut_norm)} tensors needs a shortcut_w")
        elif self.x.type != made:
            raise VerifyException(
                f"a block from shape {dims(shape_of(self.x))} to {dims(shape_of(made))} needs a shortcut_w"
            )
        check_eps(self.eps)
        return (made,)


class DepthwiseConv1dCausalOp(HirOp, name="hir.depthwise_conv1d_causal"):
    """
    `result[b, t, c] = sum over k of w[c, 0, 0, k] x[b, t + k - (K - 1), c]`: a causal convolution per
    channel, with `left_pad` before x.

    x is `[B, S, C]`, w `[C, 1, 1, K]`, left_pad `[B, K - 1, C]`: the preceding elements, by default zeros.
    """

    x: Tensor = tensor()
    w: Tensor = tensor()
    left_pad: OptionalTensor = optional_tensor(default=None)
    result = result_def(AnyTensorConstr)

    @property
    def taps(self) -> int:
        """The K."""
        return shape_of(self.w)[3]

    def infer_types(self) -> tuple[Attribute]:
        float_element(*self.operands)
        batch, times, channels = check_rank("x", self.x, "[B, S, C]")
        taps = check_rank("w", self.w, "[C, 1, 1, K]")[3]
        check_shapes(w=(self.w, (channels, 1, 1, taps)))
        if not times or not taps or not channels:
            raise VerifyException(f"expected at least one time, channel and tap, got {times}, {channels} and {taps}")
        check_shapes(left_pad=(self.left_pad, (batch, taps - 1, channels)))
        return (self.x.type,)
