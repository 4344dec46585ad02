"""Tensors of heads: how they lie, and what their shapes say. The ops on them are in `attention.py` and `rope.py`."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.fields import Resolve, word_of
from xdsl_rlx.dialects.shapes import dims, shape_of


class HeadLayout(StrEnum):
    """How heads lie in a tensor: `[B, S, H*D]`, `[B, S, H, D]` or `[B, H, S, D]`."""

    PACKED = "packed"
    BSHD = "bshd"
    BHSD = "bhsd"


@irdl_attr_definition
class HeadLayoutAttr(EnumAttribute[HeadLayout], SpacedOpaqueSyntaxAttribute):
    """How heads lie, as a property."""

    name = "mir.layout"


class Heads(NamedTuple):
    """A tensor of heads, whatever its layout: batches, positions, heads, features of a head."""

    batch: int
    length: int
    heads: int
    width: int


def heads_of(shape: Sequence[int], layout: HeadLayout, heads: int, name: str) -> Heads:
    """The extents behind a shape; VerifyException if it does not hold that many heads."""
    if heads < 1:
        raise VerifyException(f"expected at least one head, got {heads}")
    rank = 3 if layout == HeadLayout.PACKED else 4
    if len(shape) != rank:
        raise VerifyException(f"layout {layout} is of rank {rank}, got {name} of shape {dims(shape)}")
    if layout == HeadLayout.PACKED:
        batch, length, width = shape
        if width % heads:
            raise VerifyException(f"{name} of width {width} does not hold {heads} heads")
        return Heads(batch, length, heads, width // heads)
    found = Heads(*shape) if layout == HeadLayout.BSHD else Heads(shape[0], shape[2], shape[1], shape[3])
    if found.heads != heads:
        raise VerifyException(f"expected {heads} heads in {name}, got {found.heads} (layout {layout}, {dims(shape)})")
    return found


def shape_with(layout: HeadLayout, x: Heads) -> tuple[int, ...]:
    """The shape of a tensor of heads."""
    if layout == HeadLayout.PACKED:
        return (x.batch, x.length, x.heads * x.width)
    return tuple(x) if layout == HeadLayout.BSHD else (x.batch, x.heads, x.length, x.width)


def layout_named(layout: HeadLayout | str) -> HeadLayout:
    """The layout of that name; GraphError lists what there is."""
    return word_of(HeadLayout, "layout", layout)


def head_count(
    shape: Sequence[int], layout: HeadLayout, heads: int | None, width: int | None, name: str
) -> tuple[int, int]:
    """Heads and features of a head, from the shape and what was said; GraphError if that is not enough or wrong."""
    rank = 3 if layout == HeadLayout.PACKED else 4
    if len(shape) != rank:
        raise GraphError(f"layout {layout} is of rank {rank}, got {name} of shape {dims(shape)}")
    if layout == HeadLayout.PACKED:
        if heads is None:
            if not width:
                raise GraphError(f"layout packed needs num_heads or head_dim; {name} has shape {dims(shape)}")
            heads = shape[-1] // width
        found = (heads, shape[-1] // heads if heads else 0)
        if found[0] * found[1] != shape[-1]:
            raise GraphError(f"{name} of shape {dims(shape)} does not hold {heads} heads")
    else:
        found = (shape[1 if layout == HeadLayout.BHSD else 2], shape[3])
    if (heads is not None and heads != found[0]) or (width is not None and width != found[1]):
        raise GraphError(
            f"{name} of shape {dims(shape)} in layout {layout} has {found[0]} heads of {found[1]} features, "
            f"expected {heads if heads is not None else 'any number'} of {width if width is not None else 'any'}"
        )
    return found


def packed_heads(name: str) -> Resolve[int]:
    """Return the number of heads in a packed operand by `num_heads` or `head_dim`; GraphError as `head_count`."""

    def resolve(heads: int | None, given: Mapping[str, Any], x: SSAValue) -> int:
        return head_count(shape_of(x), HeadLayout.PACKED, heads, given["head_dim"], name)[0]

    return resolve
