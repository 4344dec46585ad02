"""
Quantisation to i8 with constant scales, and dequantisation.

Quantisation for training is in `fake_quantize.py`, packed weights in `quant.py`.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from math import isfinite

from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float64Type,
    IntAttr,
    IntegerType,
    NoneAttr,
    StringAttr,
    TensorType,
    f64,
    i8,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition, result_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.core import MirOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Field,
    IntegerList,
    OptionalInteger,
    Tensor,
    attribute,
    axis,
    i64_attr,
    i64_list,
    integer_list,
    tensor,
)
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
from xdsl_rlx.dialects.number_text import ExactNumbers, hold_numbers_exactly, numbers_text
from xdsl_rlx.dialects.shapes import FLOATS, check_element, element_of, normalize_axis, shape_of

TAP = "mir.tap"
"""The attribute of an op that names its first result."""

CALIBRATION = "mir.calibration"
"""The attribute of an op, for its first result, or of an argument, that says how it is to be quantised."""


def _check_ranges(scales: Sequence[float], zero_points: Sequence[int]) -> None:
    if not all(scale > 0 and isfinite(scale) for scale in scales):
        raise VerifyException("expected positive and finite scales")
    if not all(-(2**31) <= point < 2**31 for point in zero_points):
        raise VerifyException("expected zero points that fit in i32")


@irdl_attr_definition
class CalibrationAttr(ParametrizedAttribute):
    """
    How a value is quantised: `<scales array<f64: 0.5, 0.25> zero_points array<i64: 0> axis 1>`.

    One scale and zero point, or one per index of `axis`.
    """

    name = "mir.calibration"

    scales: DenseArrayBase[Float64Type]
    zero_points: DenseArrayBase[IntegerType]
    axis: IntAttr | NoneAttr

    @staticmethod
    def of(scales: Sequence[float], zero_points: Sequence[int], axis: int | None) -> CalibrationAttr:
        """The attribute of these numbers; VerifyException for a scale or zero point out of range."""
        return CalibrationAttr(
            DenseArrayBase.from_list(f64, [float(scale) for scale in scales]),
            i64_list(zero_points),
            NoneAttr() if axis is None else IntAttr(axis),
        )

    @property
    def axis_or_none(self) -> int | None:
        """The axis of the channels; None where there is one scale for all."""
        return None if isinstance(self.axis, NoneAttr) else self.axis.data

    def verify(self) -> None:
        if self.scales.elt_type != f64 or self.zero_points.elt_type != IntegerType(64):
            raise VerifyException("expected scales of f64 and zero points of i64")
        _check_ranges(self.scales.get_values(), self.zero_points.get_values())

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("scales")
            scales = parser.parse_attribute()
            parser.parse_keyword("zero_points")
            zero_points = parser.parse_attribute()
            axis = IntAttr(parser.parse_integer()) if parser.parse_optional_keyword("axis") else NoneAttr()
        return scales, zero_points, axis

    def print_parameters(self, printer: Printer) -> None:
        axis = "" if self.axis_or_none is None else f" axis {self.axis_or_none}"
        printer.print_string(f"<scales {numbers_text(self.scales)} zero_points {self.zero_points}{axis}>")


class AffineOp(MirOp, abc.ABC):
    """A conversion between numbers and i8 levels, with constant scales and zero points: one, or one per channel."""

    operand: Tensor = tensor()
    scales: Field[ExactNumbers, ExactNumbers] = attribute(ExactNumbers)
    zero_points: IntegerList = integer_list()
    axis: OptionalInteger = axis(default=None)
    result = result_def(AnyTensorConstr)

    assembly_format = (
        "$operand (`axis` $axis^)? `scales` custom<NumberList>($scales) `zero_points` custom<IntList>($zero_points) "
        "attr-dict `:` type($operand) `to` type($result)"
    )

    def __init__(
        self,
        operand: SSAValue,
        scales: Sequence[float],
        zero_points: Sequence[int],
        axis: int | None,
        to: Attribute,
    ):
        self.assemble(
            operands=[operand],
            properties={
                "scales": ExactNumbers(DenseArrayBase.from_list(f64, [float(scale) for scale in scales])),
                "zero_points": i64_list(zero_points),
                "axis": None if axis is None else i64_attr(normalize_axis(axis, len(shape_of(operand)))),
            },
            result_types=[TensorType(to, shape_of(operand))],
        )

    def __post_init__(self) -> None:
        hold_numbers_exactly(self, "scales")
        super().__post_init__()

    @property
    def axis_index(self) -> int | None:
        """The axis of the channels, counted from the front; None where the scale is one for all."""
        return None if self.axis is None else normalize_axis(self.axis.value.data, len(shape_of(self.operand)))

    def check_parameters(self) -> None:
        """Require one scale and one zero point, or one per channel, in range."""
        channels = 1 if self.axis_index is None else shape_of(self.operand)[self.axis_index]
        scales, zero_points = self.scales.get_values(), self.zero_points.get_values()
        for name, count in (("scales", len(scales)), ("zero points", len(zero_points))):
            if count not in (1, channels):
                wanted = "1" if channels == 1 else f"1 or {channels}"
                raise VerifyException(f"expected the number of {name} to be {wanted}, got {count}")
        _check_ranges(scales, zero_points)


class QuantizeOp(AffineOp, name="mir.quantize"):
    """
    `result = clamp(round(x / scale) + zero_point, -128, 127)` as i8, rounded half to even. NaN becomes 0.

    Scale and zero point (within i32) are one number, or one per index of `axis`. Half floats are divided in f32, and
    the zero point is added without rounding. The result is an integer, so it has no derivative: use `mir.fake_quantize`
    for training.
    """

    def __init__(self, operand: SSAValue, scales: Sequence[float], zero_points: Sequence[int], axis: int | None = None):
        super().__init__(operand, scales, zero_points, axis, i8)

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.operand), FLOATS)
        self.check_parameters()
        return (TensorType(i8, shape_of(self.operand)),)


class DequantizeOp(AffineOp, init=False, name="mir.dequantize"):
    """
    `result = (q - zero_point) * scale` of i8 levels `q`, as floats.

    Scale and zero point (within i32) are one number, or one per index of `axis`. The operand is an integer, so it has
    no derivative.
    """

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.operand), (i8,))
        check_element(element_of(self.result), FLOATS)
        self.check_parameters()
        return (TensorType(element_of(self.result), shape_of(self.operand)),)


class QuantizeBuilder(BuilderCore):
    """Builder methods of this family."""

    def quantize(
        self, x: Operand, scales: Sequence[float], zero_points: Sequence[int] = (0,), axis: int | None = None
    ) -> Value:
        """`mir.quantize`: i8 levels; one scale and zero point, or one per index of `axis`."""
        return self.op(QuantizeOp, self.operand(x), scales, zero_points, axis)

    def dequantize(
        self,
        q: Operand,
        scales: Sequence[float],
        zero_points: Sequence[int] = (0,),
        axis: int | None = None,
        dtype: object = "f32",
    ) -> Value:
        """`mir.dequantize`: i8 levels as floats of the element type `dtype`."""
        return self.op(DequantizeOp, self.operand(q), scales, zero_points, axis, constants.element_type(dtype))

    def tap(self, x: Operand, name: str) -> Value:
        """
        Return `x` with a name, by which `rlx.calibrate` and `rlx.insert_q_dq` find it.

        GraphError for an argument, for a value that already has another name, and for a result of an op other than the
        first.
        """
        value = self.value(self.operand(x))
        owner = value.ssa.owner
        if not name:
            raise GraphError("tap: a value is known by a name, got an empty one")
        if not isinstance(owner, Operation):
            raise GraphError("tap: an argument is known by its own name")
        if value.ssa is not owner.results[0]:
            raise GraphError(f"tap: only the first result of {owner.name} can be named")
        known = owner.attributes.get(TAP)
        if known is not None and known != StringAttr(name):
            raise GraphError(f"tap: the value is named {known} already, got {name!r}")
        owner.attributes[TAP] = StringAttr(name)
        return value
