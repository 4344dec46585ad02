"""
Calls of LAPACK inside kernels, and of the triangular solves of BLAS. Products are in `blas.py`.

LAPACK is column-major: the rows of a matrix in memory are its columns. The verifier checks the extents of all buffers,
workspace included, against the sizes that are passed, so that a call stays inside of them.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, UnitAttr, f32, f64, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    OptOperandDef,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.lir.memory import AnyMemRef, strides_of

INDEX = IndexType()

LARGEST_INTEGER = (1 << 31) - 1
"""Of the integers that LAPACK takes."""


@dataclass(frozen=True)
class Parameter:
    """A buffer of a call: the operand's name, and its trailing dimensions that the call is of."""

    name: str
    rank: int
    is_written: bool = True
    is_integer: bool = False
    """Of i32; else of what the matrix is of."""


@dataclass(frozen=True)
class Routine:
    """A function of LAPACK or BLAS, for the two element types that calls are of."""

    name: str
    """Without the letter of the type."""
    kinds: str
    """
    What each argument is: i, an integer; a, an address; o, a one; t, u, v or s, this letter or n; l, this one or u; a
    capital, this very letter.
    """
    parameters: tuple[Parameter, ...]
    package: str = "lapack"
    """Where SciPy has it: blas or lapack."""


@dataclass(frozen=True)
class BufferArgument:
    """What a call is given of a buffer: all of its trailing dimensions, the others fixed by indices."""

    parameter: Parameter
    buffer: SSAValue
    indices: tuple[SSAValue, ...]

    @property
    def type(self) -> AnyMemRef:
        return cast(AnyMemRef, self.buffer.type)

    @property
    def shape(self) -> tuple[int, ...]:
        """The trailing extents."""
        return self.type.get_shape()[-self.parameter.rank :]

    @property
    def leading_dimension(self) -> int:
        """How far apart the lines of a matrix are; legal for LAPACK if there are none."""
        return max(strides_of(self.type)[-2], self.shape[-1], 1)

    @property
    def size(self) -> int:
        """The elements of a workspace, as far as LAPACK can be told of them."""
        return min(self.shape[0], LARGEST_INTEGER)

    def verify(self, element: Attribute) -> None:
        """VerifyException unless there are lines of unit stride, none in another one, of this element type."""
        type_, rank = self.type, self.parameter.rank
        if len(self.indices) != type_.get_num_dims() - rank:
            raise VerifyException(f"expected {type_.get_num_dims() - rank} leading indices for {type_}")
        shape, strides = self.shape, strides_of(type_)
        if DYNAMIC_INDEX in shape:
            raise VerifyException(f"expected extents that are known, got {type_}")
        if strides[-1] != 1 and shape[-1] != 1:
            raise VerifyException(f"expected lines of unit stride, got {type_}")
        if rank == 2 and shape[0] > 1 and strides[-2] < shape[-1]:
            raise VerifyException(f"expected lines that do not overlap, got {type_}")
        if self.parameter.is_integer:
            element = i32
        elif element not in (f32, f64):
            raise VerifyException(f"expected f32 or f64, got {element}")
        if type_.element_type != element:
            raise VerifyException(f"expected {self.parameter.name} of type {element}, got {type_}")


CallArgument: TypeAlias = int | bool | float | BufferArgument | SSAValue
"""Of a call: an integer, known or an index, whether something is transposed or wanted, a factor of 1, or the address of
a buffer."""


class LapackOp(IRDLOperation, abc.ABC):
    """
    A call of LAPACK or BLAS: each buffer is an operand, followed by the indices that fix its leading dimensions.

    The operands follow from the parameters of the `ROUTINE`. The buffers of a call are different ones. f32 or f64.
    """

    ROUTINE: ClassVar[Routine]

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        *buffers: tuple[SSAValue, Sequence[SSAValue]],
        flags: Sequence[str] = (),
        sizes: Sequence[SSAValue | None] = (),
    ):
        super().__init__(
            operands=[*(operand for x in buffers for operand in x), *sizes],
            properties=dict.fromkeys(flags, UnitAttr()),
        )

    def buffers(self) -> list[BufferArgument]:
        """The buffers, in the order of the operands."""
        return [
            BufferArgument(parameter, getattr(self, parameter.name), tuple(getattr(self, f"{parameter.name}_indices")))
            for parameter in self.ROUTINE.parameters
        ]

    @abc.abstractmethod
    def arguments(self) -> list[CallArgument]:
        """The arguments in Fortran's order, without the letters that its kinds have."""

    def verify_(self) -> None:
        buffers = self.buffers()
        element = buffers[0].type.element_type
        for x in buffers:
            x.verify(element)
        if len({x.buffer for x in buffers}) != len(buffers):
            raise VerifyException("expected different buffers")
        self.verify_shapes()
        for number in self.arguments():
            if isinstance(number, int) and number > LARGEST_INTEGER:
                raise VerifyException(f"expected an integer of at most {LARGEST_INTEGER} for LAPACK, got {number}")

    @abc.abstractmethod
    def verify_shapes(self) -> None:
        """VerifyException for a buffer whose extents do not fit the others."""


LapackOpT = TypeVar("LapackOpT", bound=LapackOp)


def _with_operands(op: type[LapackOpT]) -> type[LapackOpT]:
    """Give an op the operands of its routine, in front of its optional sizes, and a text form."""
    names = [parameter.name for parameter in op.ROUTINE.parameters]
    # definitions of xDSL, which numbers operands in their order
    options = {name: kind for name, found in vars(op).items() if (kind := getattr(found, "cls", None)) is not None}
    sizes = [name for name, kind in options.items() if kind is OptOperandDef]
    for name in sizes:
        delattr(op, name)
    for name in names:
        setattr(op, name, operand_def(MemRefType.constr()))
        setattr(op, f"{name}_indices", var_operand_def(INDEX))
    for name in sizes:
        setattr(op, name, opt_operand_def(INDEX))
    buffers = " `,` ".join(f"${name} `[` ${name}_indices `]`" for name in names)
    given, types = " ".join(f"(`{name}` ${name}^)?" for name in options), " `,` ".join(f"type(${x})" for x in names)
    op.assembly_format = f"{buffers} {given} attr-dict `:` {types}"
    return op


def _check_square(rows: tuple[int, ...]) -> None:
    if rows[0] != rows[1]:
        raise VerifyException(f"expected a square matrix, got [{rows[0]}, {rows[1]}]")


def _check_shape(x: BufferArgument, *shape: int) -> None:
    if x.shape != shape:
        raise VerifyException(f"expected {x.parameter.name} of shape {list(shape)}, got {x.type}")


def _check_room(x: BufferArgument, least: int) -> None:
    if x.size < least:
        raise VerifyException(f"expected at least {least} elements of {x.parameter.name}, got {x.type}")


def _check_pivots(matrix: BufferArgument, pivots: BufferArgument) -> None:
    _check_square(matrix.shape)
    _check_shape(pivots, matrix.shape[0])


_A = Parameter("a", 2)
_CHOSEN = Parameter("pivots", 1, is_written=False, is_integer=True)
_VALUES = Parameter("values", 1)
_WORK = Parameter("work", 1)
_STEPS = Parameter("steps", 1, is_integer=True)
_INFO = Parameter("info", 1, is_integer=True)
_UNREAD = 0
"""In the place of `info`, which is written where this number is, and not looked at."""


@irdl_op_definition
@_with_operands
class GetrfOp(LapackOp):
    """
    LU factorisation with partial pivoting, in place, of the transpose of `a` (LAPACK's columns are the rows of `a`).

    `pivots` gets the row, counted from 1, with which each row was interchanged. Index operands select the leading
    dimensions of each buffer. f32 or f64. With `lines` and `columns`, `a` has any extents, and only the first `lines`
    rows and `columns` columns are factored; `pivots` has an element for each row of the buffer.
    """

    name = "lir.getrf"

    ROUTINE: ClassVar = Routine("getrf", "iiaiai", (_A, Parameter("pivots", 1, is_integer=True)))

    lines = opt_operand_def(INDEX)
    columns = opt_operand_def(INDEX)

    def __init__(
        self,
        *buffers: tuple[SSAValue, Sequence[SSAValue]],
        flags: Sequence[str] = (),
        sizes: tuple[SSAValue, SSAValue] | None = None,
    ):
        super().__init__(*buffers, flags=flags, sizes=sizes or (None, None))

    def arguments(self) -> list[CallArgument]:
        a, pivots = self.buffers()
        lines, columns = self.lines, self.columns
        if lines is None or columns is None:
            return [*a.shape, a, a.leading_dimension, pivots, _UNREAD]
        return [columns, lines, a, a.leading_dimension, pivots, _UNREAD]

    def verify_shapes(self) -> None:
        if (self.lines is None) != (self.columns is None):
            raise VerifyException("expected both lines and columns, or none")
        a, pivots = self.buffers()
        if self.lines is None:
            _check_pivots(a, pivots)
        else:
            _check_shape(pivots, a.shape[0])


@irdl_op_definition
@_with_operands
class GetrsOp(LapackOp):
    """
    Solve with the factors of a `lir.getrf`, in place: each row of `b` is a right hand side that becomes a solution.

    The matrix is the one that `lir.getrf` factored, the transpose of its operand; with `transpose` it is the operand.
    """

    name = "lir.getrs"

    ROUTINE: ClassVar = Routine(
        "getrs",
        "tiiaiaaii",
        (
            Parameter("lu", 2, is_written=False),
            Parameter("pivots", 1, is_written=False, is_integer=True),
            Parameter("b", 2),
        ),
    )

    transpose = opt_prop_def(UnitAttr)

    def arguments(self) -> list[CallArgument]:
        lu, pivots, b = self.buffers()
        sizes = (lu.shape[0], b.shape[0])
        return [
            *(self.transpose is not None, *sizes, lu, lu.leading_dimension),
            *(pivots, b, b.leading_dimension, _UNREAD),
        ]

    def verify_shapes(self) -> None:
        lu, pivots, b = self.buffers()
        _check_pivots(lu, pivots)
        _check_shape(b, b.shape[0], lu.shape[0])


@irdl_op_definition
@_with_operands
class TrsvOp(LapackOp):
    """
    Solve with a triangle of the rows of `a` in place: `b`, [n], becomes `a^-1 b`, by BLAS.

    Only the upper triangle is read, with `lower` the lower one; with `unit_diagonal` its diagonal counts as ones. With
    `transpose`, the system is `a^T x = b`.
    """

    name = "lir.trsv"

    ROUTINE: ClassVar = Routine(
        "trsv", "ltuiaiai", (Parameter("a", 2, is_written=False), Parameter("b", 1)), package="blas"
    )

    lower = opt_prop_def(UnitAttr)
    transpose = opt_prop_def(UnitAttr)
    unit_diagonal = opt_prop_def(UnitAttr)

    def arguments(self) -> list[CallArgument]:
        # BLAS sees `a^T`, whose triangle is the other one
        a, b = self.buffers()
        flags = [self.lower is None, self.transpose is None, self.unit_diagonal is not None]
        return [*flags, a.shape[0], a, a.leading_dimension, b, 1]

    def verify_shapes(self) -> None:
        a, b = self.buffers()
        _check_square(a.shape)
        _check_shape(b, a.shape[0])


@irdl_op_definition
@_with_operands
class GeqrfOp(LapackOp):
    """
    QR factorisation, in place, of the transpose of `a`, by LAPACK's Householder reflections.

    `a[j, :j + 1]` becomes column `j` of `R`. The rest of `a`, and `scales`, hold the reflections from which `lir.orgqr`
    makes `Q`. `work` has at least one element per row; 32 or more per row are faster.
    """

    name = "lir.geqrf"

    ROUTINE: ClassVar = Routine("geqrf", "iiaiaaii", (_A, Parameter("scales", 1), _WORK))

    def arguments(self) -> list[CallArgument]:
        a, scales, work = self.buffers()
        return [a.shape[1], a.shape[0], a, a.leading_dimension, scales, work, work.size, _UNREAD]

    def verify_shapes(self) -> None:
        _check_reflections(*self.buffers())


@irdl_op_definition
@_with_operands
class OrgqrOp(LapackOp):
    """
    The columns of `Q`, as the rows of `a`, in place, from the `a` and `scales` of `lir.geqrf`.

    `work` is as in `lir.geqrf`.
    """

    name = "lir.orgqr"

    ROUTINE: ClassVar = Routine("orgqr", "iiiaiaaii", (_A, Parameter("scales", 1, is_written=False), _WORK))

    def arguments(self) -> list[CallArgument]:
        a, scales, work = self.buffers()
        n, m = a.shape
        return [m, n, n, a, a.leading_dimension, scales, work, work.size, _UNREAD]

    def verify_shapes(self) -> None:
        _check_reflections(*self.buffers())


def _check_reflections(a: BufferArgument, scales: BufferArgument, work: BufferArgument) -> None:
    n, m = a.shape
    if n > m:
        raise VerifyException(f"expected at least as many columns as rows, got [{n}, {m}]")
    _check_shape(scales, n)
    _check_room(work, max(n, 1))


@irdl_op_definition
@_with_operands
class SyevdOp(LapackOp):
    """
    Eigenvalues and eigenvectors of the symmetric matrix stored in the lower triangle of `a`, by LAPACK.

    `values` gets the eigenvalues, ascending; the rows of `a` become the vectors, of length 1. `info`, one i32, becomes
    0, or nonzero if there is no result. `work` has at least `1 + 6 n + 2 n^2` elements, `steps` (i32) at least `3 + 5
    n`. All elements must be finite: LAPACK may not terminate otherwise. With `values_only`, `a` is undefined
    afterwards.
    """

    name = "lir.syevd"

    ROUTINE: ClassVar = Routine("syevd", "vUiaiaaiaia", (_A, _VALUES, _WORK, _STEPS, _INFO))

    values_only = opt_prop_def(UnitAttr)

    @staticmethod
    def room(n: int) -> tuple[int, int]:
        """The elements of `work` and `steps` that a matrix of `n` rows needs."""
        return 1 + 6 * n + 2 * n * n, 3 + 5 * n

    def arguments(self) -> list[CallArgument]:
        a, values, work, steps, info = self.buffers()
        sizes = (a.shape[0], a, a.leading_dimension)
        return [self.values_only is None, *sizes, values, work, work.size, steps, steps.size, info]

    def verify_shapes(self) -> None:
        a, values, work, steps, info = self.buffers()
        _check_square(a.shape)
        _check_shape(values, a.shape[0])
        least = self.room(a.shape[0])
        _check_room(work, least[0])
        _check_room(steps, least[1])
        _check_shape(info, 1)


@irdl_op_definition
@_with_operands
class GesddOp(LapackOp):
    """
    Singular values and vectors of the row-major matrix `a`, [m, n] with `m >= n`, by LAPACK.

    `values`, [n], gets the singular values, descending; the vectors are the columns of `u`, [m, n], and the rows of
    `vt`, [n, n]. `a` is overwritten. `info`, one i32, becomes 0, or nonzero if there is no result. `work` has at least
    `4 n^2 + 7 n + m` elements, `steps` (i32) at least `8 n`. All elements must be finite, as for `lir.syevd`.
    With `values_only`, `u` and `vt` are not written.
    """

    name = "lir.gesdd"

    ROUTINE: ClassVar = Routine(
        "gesdd",
        "siiaiaaiaiaiaa",
        (
            *(_A, _VALUES, Parameter("u", 2), Parameter("vt", 2)),
            *(_WORK, _STEPS, _INFO),
        ),
    )

    values_only = opt_prop_def(UnitAttr)

    @staticmethod
    def room(m: int, n: int) -> tuple[int, int]:
        """The elements of `work` and `steps` that a matrix of `m` rows and `n` columns needs."""
        return 4 * n * n + 7 * n + m, 8 * n

    def arguments(self) -> list[CallArgument]:
        # the transpose has n rows: its left vectors are the right ones here
        a, values, u, vt, work, steps, info = self.buffers()
        m, n = a.shape
        return [
            *(self.values_only is None, n, m, a, a.leading_dimension, values),
            *(vt, vt.leading_dimension, u, u.leading_dimension),
            *(work, work.size, steps, info),
        ]

    def verify_shapes(self) -> None:
        a, values, u, vt, work, steps, info = self.buffers()
        m, n = a.shape
        if m < n:
            raise VerifyException(f"expected at least as many rows as columns, got [{m}, {n}]")
        _check_shape(values, n)
        _check_shape(u, m, n)
        _check_shape(vt, n, n)
        least = self.room(m, n)
        _check_room(work, least[0])
        _check_room(steps, least[1])
        _check_shape(info, 1)


LAPACK_OPS: tuple[type[LapackOp], ...] = (
    *(GetrfOp, GetrsOp, GeqrfOp, OrgqrOp, SyevdOp, GesddOp),
    TrsvOp,
)
