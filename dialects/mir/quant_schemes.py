"""How quantised weights are packed: the schemes, their block sizes, and which operands go with them.
What the bytes mean is in lowering/kernels/quant_decode.py. Plugins have further schemes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import IntAttr, StringAttr, f32, f64, i8
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.mir.fields import member_of
from xdsl_rlx.dialects.shapes import dims, element_of, shape_of, u8
from xdsl_rlx.plugins import schemes

_OF_PLUGINS = schemes()
"""Elements and bytes of a block."""


class Scheme(StrEnum):
    """Packings of weights; the members of plugins follow."""

    _ignore_ = ["_members", "_name"]
    _members = vars()

    INT8_BLOCK = "int8_block"
    INT8_BLOCK_ASYM = "int8_block_asym"
    INT4_BLOCK = "int4_block"
    FP8_E4M3 = "fp8_e4m3"
    FP8_E5M2 = "fp8_e5m2"
    NVFP4_BLOCK = "nvfp4_block"
    for _name in _OF_PLUGINS:
        _members[_name.upper()] = _name

    @property
    def embeds_scales(self) -> bool:
        """Whether blocks of consecutive elements carry their own scales. Those of plugins do."""
        return self in _OF_PLUGINS

    @property
    def block(self) -> int:
        """Elements of a block with scales; 16 for nvfp4, 0 where it is a parameter or there are no blocks."""
        return _OF_PLUGINS[self][0] if self.embeds_scales else 16 if self == Scheme.NVFP4_BLOCK else 0

    @property
    def block_bytes(self) -> int:
        """Bytes of a block with scales."""
        return _OF_PLUGINS[self][1]

    @property
    def has_block_size(self) -> bool:
        """Whether the block size is a parameter."""
        return self in (Scheme.INT8_BLOCK, Scheme.INT8_BLOCK_ASYM, Scheme.INT4_BLOCK)

    @property
    def sides(self) -> tuple[str, ...]:
        """The operands beside the weights, in their order. `int8_block` is symmetric: it has no zero point."""
        if self.embeds_scales:
            return ()
        if self in (Scheme.INT8_BLOCK_ASYM, Scheme.INT4_BLOCK):
            return ("scale", "zero_point")
        return ("scale", "global_scale") if self == Scheme.NVFP4_BLOCK else ("scale",)

    @property
    def required_sides(self) -> int:
        """How many of `sides` must be there."""
        if self in (Scheme.FP8_E4M3, Scheme.FP8_E5M2):
            return 0
        return 1 if self == Scheme.INT4_BLOCK else len(self.sides)

    @property
    def is_nibbles(self) -> bool:
        """Whether two elements share a byte of one long list."""
        return self in (Scheme.INT4_BLOCK, Scheme.NVFP4_BLOCK)

    @property
    def bits(self) -> float:
        """Bits per weight, without scales that are operands."""
        if self.embeds_scales:
            return self.block_bytes * 8 / self.block
        return 4.0 if self.is_nibbles else 8.0


@irdl_attr_definition
class SchemeAttr(ParametrizedAttribute):
    """A packing of weights: `<gguf_q4_k>`, or `<int8_block 32>` with the block size of those that have one."""

    name = "mir.scheme"

    kind: StringAttr
    size: IntAttr

    @staticmethod
    def of(scheme: Scheme | str, block_size: int | None = None) -> SchemeAttr:
        """The scheme of that name; VerifyException if there is none, or if `block_size` does not belong to it."""
        return SchemeAttr(StringAttr(member_of(Scheme, "scheme", scheme)), IntAttr(block_size or 0))

    @property
    def scheme(self) -> Scheme:
        """Which packing."""
        return Scheme(self.kind.data)

    @property
    def block_size(self) -> int:
        """Consecutive rows (of K) that share a scale; 0 for fp8, which has one per column."""
        return self.size.data or self.scheme.block

    def result_element(self, scales: Sequence[SSAValue]) -> Attribute:
        """The element type of the dequantised weights."""
        return element_of(scales[-1]) if scales else f32

    def verify(self) -> None:
        kind = self.scheme
        if kind.has_block_size and self.size.data < 1:
            raise VerifyException(f"{kind} needs a block size of at least 1, got {self.size.data}")
        if not kind.has_block_size and self.size.data:
            raise VerifyException(f"{kind} takes no block size, got {self.size.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            kind = parser.parse_str_enum(Scheme)
            size = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        return (StringAttr(kind), IntAttr(size or 0))

    def print_parameters(self, printer: Printer) -> None:
        size = f" {self.size.data}" if self.size.data else ""
        printer.print_string(f"<{self.kind.data}{size}>")


def check_weights(attr: SchemeAttr, stored: tuple[int, int], w: SSAValue, scales: Sequence[SSAValue]) -> None:
    """Require the operands of weights stored as a matrix of those extents to be what the scheme wants."""
    kind = attr.scheme
    rows, columns = stored
    _check_packed(kind, stored, w)
    if not kind.required_sides <= len(scales) <= len(kind.sides):
        optional = kind.sides[kind.required_sides :]
        wanted = [*kind.sides[: kind.required_sides], *(f"{name} or not" for name in optional)]
        raise VerifyException(
            f"expected {', '.join(wanted) or 'nothing'} as scales of {kind}, got {len(scales)} operands"
        )
    per_block = (-(-rows // attr.block_size), columns) if attr.block_size else (columns,)
    for name, value in zip(kind.sides, scales, strict=False):
        shape = (1,) if name == "global_scale" else per_block
        if shape_of(value) != shape:
            raise VerifyException(f"expected {name} of shape {dims(shape)} for {kind}, got {dims(shape_of(value))}")
        is_code = kind == Scheme.NVFP4_BLOCK and name == "scale"
        allowed: tuple[Attribute, ...] = (u8,) if is_code else (f32, f64)
        if name == "zero_point":
            allowed = (element_of(scales[0]),)
        if element_of(value) not in allowed:
            types = " or ".join(map(str, allowed))
            raise VerifyException(f"expected {name} of element type {types} for {kind}, got {element_of(value)}")


def _check_packed(kind: Scheme, stored: tuple[int, int], w: SSAValue) -> None:
    is_int8 = kind in (Scheme.INT8_BLOCK, Scheme.INT8_BLOCK_ASYM)
    element = i8 if is_int8 else u8
    if element_of(w) != element:
        raise VerifyException(f"expected weights of element type {element} for {kind}, got {element_of(w)}")
    elements, held = prod(stored), prod(shape_of(w))
    if kind.embeds_scales:
        if elements % kind.block or held != elements // kind.block * kind.block_bytes:
            packing = f"{kind.block} in {kind.block_bytes} bytes"
            raise VerifyException(f"{held} bytes are not {elements} elements of {kind}, which has {packing}")
    elif kind.is_nibbles:
        if held != -(-elements // 2):
            raise VerifyException(f"expected {-(-elements // 2)} bytes for {elements} elements of {kind}, got {held}")
    elif shape_of(w) != stored:
        raise VerifyException(f"expected weights of shape {dims(stored)} for {kind}, got {dims(shape_of(w))}")
