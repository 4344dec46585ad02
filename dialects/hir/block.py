"""What all `hir` blocks share, and how they check their operands. No block is defined here."""

import abc
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import ClassVar, cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.core import TensorOp
from xdsl_rlx.dialects.mir.fields import operands_of, settings_of
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import FLOATS, check_element, dims, element_of, same_element_type, shape_of


class HirOp(TensorOp, abc.ABC):
    """A block of a model: its meaning is its lowering to `mir`."""


class OneOp(HirOp, abc.ABC):
    """A block that is one mir op by another name, for the place in the model: it requires what that op requires."""

    MIR: ClassVar[str | None] = None
    """The builder method of that op, if its name is not that of the block."""

    def as_mir(self, b: MirBuilder) -> Sequence[Value]:
        """The results, where `b` inserts: those of the builder method of `mir` that takes the fields of the block."""
        build = cast("Callable[..., Value | tuple[Value, ...]]", getattr(b, self.MIR or self.name.removeprefix("hir.")))
        found = build(**operands_of(self), **settings_of(self))
        return found if isinstance(found, tuple) else (found,)

    def infer_types(self) -> list[Attribute]:
        with aside() as b:
            return [value.type for value in self.as_mir(b)]


@contextmanager
def aside() -> Generator[MirBuilder, None, None]:
    """A builder whose ops are verified in the end and thrown away; VerifyException says what is wrong with them."""
    block = Block()
    try:
        yield MirBuilder(Builder(InsertPoint.at_end(block)))
        for op in block.ops:
            if isinstance(op, TensorOp):
                op.verify_()
    except GraphError as error:
        raise VerifyException(str(error)) from None
    finally:
        for op in reversed(list(block.ops)):
            op.detach()
            op.erase()


def check_rank(name: str, value: SSAValue, axes: str) -> tuple[int, ...]:
    """The shape of an operand; VerifyException if it has not as many axes as are named (`[B, S, C]`)."""
    shape = shape_of(value)
    if len(shape) != axes.count(",") + 1:
        raise VerifyException(f"expected {name} of shape {axes}, got {dims(shape)}")
    return shape


def check_shapes(**expected: tuple[SSAValue | None, Sequence[int]]) -> None:
    """Require each operand that is there to have its shape."""
    for name, (value, shape) in expected.items():
        if value is not None and shape_of(value) != tuple(shape):
            raise VerifyException(f"expected {name} of shape {dims(shape)}, got {dims(shape_of(value))}")


def float_element(*values: SSAValue | None) -> Attribute:
    """The one element type, a float, of those operands that are there."""
    element = same_element_type(*(value for value in values if value is not None))
    check_element(element, FLOATS)
    return element


def features_of(name: str, x: SSAValue) -> int:
    """The extent of the last axis of rows `[.., m, k]`."""
    check_element(element_of(x), FLOATS)
    shape = shape_of(x)
    if len(shape) < 2:
        raise VerifyException(f"expected {name} of rank at least 2, got {dims(shape)}")
    return shape[-1]


def check_eps(eps: FloatAttr) -> None:
    """Require what keeps a root away from zero."""
    if not 0 <= eps.value.data < float("inf"):
        raise VerifyException(f"expected a finite eps of at least 0, got {eps.value.data}")


def int_of(x: IntegerAttr | None) -> int | None:
    """An integer property, if it is there."""
    return None if x is None else x.value.data


def float_of(x: FloatAttr | None) -> float | None:
    """A number property, if it is there."""
    return None if x is None else x.value.data
