"""Tensors made from positions alone: ranges, identities, triangles, one-hot vectors."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import result_def, traits_def

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.mir.core import MirOp, PositionDependent
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Integer, i64_attr, integer
from xdsl_rlx.dialects.mir.value import BuilderCore, Value
from xdsl_rlx.dialects.shapes import FLOATS, INTS, check_element, element_of, integers, normalize_axis, shape_of


class IotaOp(MirOp, name="mir.iota"):
    """
    `result[.., i, ..] = i`, the position along `axis`, of a float or integer type.

    It reads no memory: kernels compute it from the loop index. A position that the type cannot hold is rounded (floats)
    or wraps (integers).
    """

    axis: Integer = integer()
    result = result_def(AnyTensorConstr)

    traits = traits_def(PositionDependent())
    assembly_format = "`axis` $axis attr-dict `:` type($result)"

    def __init__(self, shape: Sequence[int], axis: int, element: Attribute):
        self.assemble(properties={"axis": i64_attr(axis)}, result_types=[TensorType(element, shape)])

    @property
    def axis_index(self) -> int:
        """The axis counted from the front."""
        return normalize_axis(self.axis.value.data, len(shape_of(self.result)))

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.result), (*FLOATS, *INTS))
        normalize_axis(self.axis.value.data, len(shape_of(self.result)))
        return (self.result.type,)


class CreationBuilder(BuilderCore):
    """Builder methods of this family."""

    def iota(self, shape: int | Sequence[int], axis: int = 0, dtype: object = "i64") -> Value:
        """`mir.iota`: the position along `axis`, as a tensor of `shape`."""
        return self.op(IotaOp, integers("iota", shape), axis, constants.element_type(dtype))
