"""Rows of integer products."""

from xdsl_rlx.dialects.mir.quant_int import QConv2dOp, QMatmulOp
from xdsl_rlx.transforms.rules.rows import zero

_INTEGERS = "its operands and its result are integers; train with mir.fake_quantize and floats"

zero(QMatmulOp, _INTEGERS)
zero(QConv2dOp, _INTEGERS)
