"""Conversion between element types. Quantisation is in `quantize.py`."""

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import Elementwise, MirOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Tensor, tensor
from xdsl_rlx.dialects.shapes import (
    COMPLEXES,
    DTYPE_NAMES,
    check_element,
    element_of,
    shape_of,
    tensor_of,
)


class CastOp(MirOp, name="mir.cast"):
    """
    `result[i] = operand[i]` converted to the element type of the result.

    * Float to integer: truncates towards zero, saturates, and NaN becomes 0.
    * Integer to an integer of `n` bits: keeps the value modulo `2^n`, as in C, NumPy and JAX.
    * Any type to i1: `!= 0`. From i1 to a number: 0 or 1.
    * Float to a narrower float: rounds to nearest, half to even.
    * Real to complex: the imaginary part is 0. Complex to real is not supported; use `mir.real`.

    No gradient flows through an integer type.
    """

    operand: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    traits = traits_def(Elementwise())
    assembly_format = "$operand attr-dict `:` type($operand) `to` type($result)"

    def __init__(self, operand: SSAValue, to: Attribute):
        self.assemble(operands=[operand], result_types=[tensor_of(to, shape_of(operand))])

    def infer_types(self) -> tuple[Attribute]:
        to = element_of(self.result)
        for type_ in (element_of(self.operand), to):
            check_element(type_, tuple(DTYPE_NAMES))
        if element_of(self.operand) in COMPLEXES and to not in COMPLEXES:
            raise VerifyException("a complex tensor has no cast to real numbers: take mir.real or mir.imag")
        return (tensor_of(to, shape_of(self.operand)),)
