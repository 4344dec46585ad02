"""Rotary position embeddings, and their builder methods."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition, result_def, traits_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.mir.core import HasKernel, MirOp, TensorOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    EitherInteger,
    Integer,
    Real,
    Stated,
    Tensor,
    Word,
    integer,
    real,
    resolved_integer,
    stated,
    tensor,
    word,
)
from xdsl_rlx.dialects.mir.heads import (
    HeadLayout,
    HeadLayoutAttr,
    Heads,
    head_count,
    heads_of,
    layout_named,
    packed_heads,
)
from xdsl_rlx.dialects.mir.value import BuilderCore, method
from xdsl_rlx.dialects.shapes import FLOATS, check_element, dims, element_of, same_element_type, shape_of


class Pairing(StrEnum):
    """Which two features of a head are rotated together: `(i, i + n_rot/2)`, or `(2i, 2i + 1)`."""

    HALVES = "halves"
    NEIGHBOURS = "neighbours"


@irdl_attr_definition
class PairingAttr(EnumAttribute[Pairing], SpacedOpaqueSyntaxAttribute):
    """Which features are pairs, as a property."""

    name = "mir.pairing"


def check_rotation(x: SSAValue, tables: Sequence[SSAValue], heads: Heads, n_rot: int) -> None:
    """Require tables `[S, D/2]` or `[B, S, D/2]` and a number of rotated features that fits."""
    check_element(same_element_type(x, *tables), FLOATS)
    if not 0 <= n_rot <= heads.width or n_rot % 2:
        raise VerifyException(f"expected an even n_rot of at most {heads.width}, got {n_rot}")
    row = (heads.length, heads.width // 2)
    for table in tables:
        if shape_of(table) not in (row, (heads.batch, *row)):
            expected = f"{dims(row)} or {dims((heads.batch, *row))}"
            raise VerifyException(f"expected tables of shape {expected}, got {dims(shape_of(table))}")
    if shape_of(tables[0]) != shape_of(tables[1]):
        raise VerifyException(
            f"expected cos and sin of one shape, got {dims(shape_of(tables[0]))} and {dims(shape_of(tables[1]))}"
        )


def _heads(heads: int | None, given: Mapping[str, Any], x: SSAValue) -> int:
    return head_count(shape_of(x), layout_named(given["layout"]), heads, given["head_dim"], "x")[0]


def _rotated(n_rot: int | None, given: Mapping[str, Any], x: SSAValue) -> int:
    if n_rot is not None:
        return n_rot
    return heads_of(shape_of(x), layout_named(given["layout"]), given["num_heads"], "x").width


class Rotates(TensorOp, abc.ABC):
    """The fields of a rotation by tables: those of the block of `hir`, and of the ops of `mir`."""

    x: Tensor = tensor()
    cos: Tensor = tensor()
    sin: Tensor = tensor()
    head_dim: Stated = stated(default=None)
    num_heads: EitherInteger = resolved_integer(_heads, default=None)
    n_rot: EitherInteger = resolved_integer(_rotated, default=None)
    layout: Word[HeadLayout] = word(HeadLayoutAttr, "layout", default=HeadLayout.PACKED)
    pairing: Word[Pairing] = word(PairingAttr, "pairing", default=Pairing.HALVES)
    result = result_def(AnyTensorConstr)

    @property
    def heads(self) -> Heads:
        """The extents of x."""
        return heads_of(shape_of(self.x), self.layout.data, self.num_heads.value.data, "x")


class RotationOp(Rotates, MirOp, abc.ABC):
    """A rotation of `mir`, forwards or backwards."""

    def infer_types(self) -> tuple[Attribute]:
        check_rotation(self.x, (self.cos, self.sin), self.heads, self.n_rot.value.data)
        return (self.x.type,)


class RopeOp(RotationOp, name="mir.rope"):
    """
    Rotate the pairs of the first `n_rot` features of each head: `(a, b) -> (a c - b s, b c + a s)`.

    `c = cos[p, i]` and `s = sin[p, i]` at position `p` for pair `i`. With pairing `halves`, pair `i` is `(i, i +
    n_rot/2)`; with `neighbours`, it is `(2i, 2i + 1)`. The other features are copied; `n_rot` is by default the whole
    head. x is `[B, S, H, D]` in one of the layouts of `mir.attention`; `packed` needs `head_dim` or `num_heads`. The
    tables are `[S, D/2]` or `[B, S, D/2]`; their first `n_rot/2` columns are read.
    """

    traits = traits_def(HasKernel())


class RopeBackwardOp(RotationOp, name="mir.rope_backward"):
    """The cotangent of x in `mir.rope`: `dy`, the operand x, rotated back, `(a, b) -> (a c + b s, b c - a s)`."""

    x: Tensor = tensor(alias="dy")


class AxialRope2dOp(MirOp, name="mir.axial_rope_2d"):
    """
    Rotate neighbouring features by the position of a token on a grid.

    Token `t` of `T = end_x end_y max(repeat_factor, 1)` has position `p = t div max(repeat_factor, 1)`, in column `p
    mod end_x` and row `p div end_x`. With `f_c = theta^(-4c/D)`, `c < D/4`, pair `c` of each head is rotated by `column
    f_c`, pair `D/4 + c` by `row f_c`; pair `i` is the features `(2i, 2i + 1)`, and `(a, b) -> (a cos - b sin, a sin + b
    cos)`. x is `[B, T, H*D]` with `D` a multiple of 4; it needs `head_dim` or `num_heads`.
    """

    x: Tensor = tensor()
    end_x: Integer = integer()
    end_y: Integer = integer()
    head_dim: Stated = stated(default=None)
    num_heads: EitherInteger = resolved_integer(packed_heads("x"), default=None)
    theta: Real = real(default=10000.0)
    repeat_factor: Integer = integer(default=1)
    result = result_def(AnyTensorConstr)

    @property
    def heads(self) -> Heads:
        """The extents of x."""
        return heads_of(shape_of(self.x), HeadLayout.PACKED, self.num_heads.value.data, "x")

    @property
    def repeats(self) -> int:
        """Tokens in one place."""
        return max(self.repeat_factor.value.data, 1)

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.x), FLOATS)
        heads, columns, rows = self.heads, self.end_x.value.data, self.end_y.value.data
        if heads.width % 4:
            raise VerifyException(f"expected heads of a multiple of 4 features, got {heads.width}")
        if columns < 0 or rows < 0 or heads.length != columns * rows * self.repeats:
            raise VerifyException(f"expected {columns} x {rows} x {self.repeats} tokens, got {heads.length}")
        if not (isfinite(self.theta.value.data) and self.theta.value.data > 0):
            raise VerifyException(f"expected a positive finite theta, got {self.theta.value.data}")
        return (TensorType(element_of(self.x), shape_of(self.x)),)


class RopeBuilder(BuilderCore):
    """Builder methods of this family."""

    rope = method(RopeOp)
    rope_backward = method(RopeBackwardOp)
    axial_rope_2d = method(AxialRope2dOp)
