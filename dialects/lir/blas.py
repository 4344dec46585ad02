"""Calls of BLAS inside kernels. LAPACK is in `lapack.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IndexType, MemRefType, UnitAttr, bf16, f32, f64, i8, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
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


@irdl_op_definition
class GemmOp(IRDLOperation):
    """
    `c[r0:r1, c0:c1] = a[r0:r1, :] @ b[:, c0:c1]` on the trailing two dimensions, by BLAS; `accumulate` adds to `c`.

    With `inner k0 to k1` it is `a[r0:r1, k0:k1] @ b[k0:k1, c0:c1]`: zeros if that range is empty. Index operands select
    the leading dimensions of each buffer. f32 or f64; one trailing stride of `a` and of `b` is 1, and `c` has rows of
    unit stride.

    Of bf16, each element is a sum in f32 that is rounded once; of i8, `c` is i32, and sums are exact (they wrap). No
    library has these products: `lir-tile-matmuls` makes loops of them, and they have neither `inner` nor `accumulate`.
    """

    name = "lir.gemm"

    a = operand_def(MemRefType.constr())
    a_indices = var_operand_def(INDEX)
    b = operand_def(MemRefType.constr())
    b_indices = var_operand_def(INDEX)
    c = operand_def(MemRefType.constr())
    c_indices = var_operand_def(INDEX)
    row_lo = operand_def(INDEX)
    row_hi = operand_def(INDEX)
    col_lo = operand_def(INDEX)
    col_hi = operand_def(INDEX)
    inner_lo = opt_operand_def(INDEX)
    inner_hi = opt_operand_def(INDEX)
    accumulate = opt_prop_def(UnitAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$a `[` $a_indices `]` `,` $b `[` $b_indices `]` `,` $c `[` $c_indices `]` "
        "`rows` $row_lo `to` $row_hi `cols` $col_lo `to` $col_hi (`inner` $inner_lo^ `to` $inner_hi)? "
        "(`accumulate` $accumulate^)? attr-dict `:` type($a) `,` type($b) `,` type($c)"
    )

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        c: SSAValue,
        rows: tuple[SSAValue, SSAValue],
        cols: tuple[SSAValue, SSAValue],
        inner: tuple[SSAValue, SSAValue] | None = None,
        *,
        a_indices: Sequence[SSAValue] = (),
        b_indices: Sequence[SSAValue] = (),
        c_indices: Sequence[SSAValue] = (),
        accumulate: bool = False,
    ):
        super().__init__(
            operands=[a, a_indices, b, b_indices, c, c_indices, *rows, *cols, *(inner or (None, None))],
            properties={"accumulate": UnitAttr() if accumulate else None},
        )

    def verify_(self) -> None:
        if (self.inner_lo is None) != (self.inner_hi is None):
            raise VerifyException("expected both bounds of the inner range, or none")
        types: list[AnyMemRef] = []
        for value, indices in ((self.a, self.a_indices), (self.b, self.b_indices), (self.c, self.c_indices)):
            type_ = cast(AnyMemRef, value.type)
            if len(indices) != type_.get_num_dims() - 2:
                raise VerifyException(f"expected {type_.get_num_dims() - 2} leading indices for {type_}")
            types.append(type_)
        a, b, c = types
        _check_elements(self, *types)
        (m, k), (k2, n), cs = a.get_shape()[-2:], b.get_shape()[-2:], c.get_shape()[-2:]
        if k != k2 or cs != (m, n):
            raise VerifyException(f"shapes do not chain: [{m}, {k}] @ [{k2}, {n}] into [{cs[0]}, {cs[1]}]")
        for type_ in (a, b):
            if not any(s == 1 or d == 1 for s, d in zip(strides_of(type_)[-2:], type_.get_shape()[-2:], strict=True)):
                raise VerifyException(f"expected a unit trailing stride, got {type_}")
        if strides_of(c)[-1] != 1 and cs[1] != 1:
            raise VerifyException(f"expected rows of unit stride, got {c}")


def _check_elements(op: GemmOp, a: AnyMemRef, b: AnyMemRef, c: AnyMemRef) -> None:
    found = (a.element_type, b.element_type, c.element_type)
    if found not in (*((x, x, x) for x in (f32, f64, bf16)), (i8, i8, i32)):
        raise VerifyException(f"expected f32, f64 or bf16 throughout, or i8, i8, i32, got {', '.join(map(str, found))}")
    if a.element_type in (bf16, i8) and (op.accumulate is not None or op.inner_lo is not None):
        raise VerifyException(f"expected neither inner nor accumulate in {a.element_type}")


@irdl_op_definition
class BlockGemmOp(IRDLOperation):
    """
    `c[i, j] = sum over k < depth of a[i, k] b[k, j]` for `i < rows`, `j < cols`, by BLAS; `accumulate` adds to `c`.

    The indices of a buffer give the first element of its block, which extends along the last two dimensions. A block
    may be read `transposed`. f32 or f64, rows of unit stride.
    """

    name = "lir.block_gemm"

    a = operand_def(MemRefType.constr())
    a_indices = var_operand_def(INDEX)
    b = operand_def(MemRefType.constr())
    b_indices = var_operand_def(INDEX)
    c = operand_def(MemRefType.constr())
    c_indices = var_operand_def(INDEX)
    rows = operand_def(INDEX)
    cols = operand_def(INDEX)
    depth = operand_def(INDEX)
    transpose_a = opt_prop_def(UnitAttr)
    transpose_b = opt_prop_def(UnitAttr)
    accumulate = opt_prop_def(UnitAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$a `[` $a_indices `]` (`transposed` $transpose_a^)? `,` $b `[` $b_indices `]` (`transposed` $transpose_b^)? "
        "`,` $c `[` $c_indices `]` `rows` $rows `cols` $cols `depth` $depth (`accumulate` $accumulate^)? attr-dict "
        "`:` type($a) `,` type($b) `,` type($c)"
    )

    def __init__(
        self,
        a: tuple[SSAValue, Sequence[SSAValue]],
        b: tuple[SSAValue, Sequence[SSAValue]],
        c: tuple[SSAValue, Sequence[SSAValue]],
        sizes: tuple[SSAValue, SSAValue, SSAValue],
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        accumulate: bool = False,
    ):
        flags = {"transpose_a": transpose_a, "transpose_b": transpose_b, "accumulate": accumulate}
        super().__init__(
            operands=[*a, *b, *c, *sizes],
            properties={name: UnitAttr() if flag else None for name, flag in flags.items()},
        )

    def verify_(self) -> None:
        elements: list[Attribute] = []
        for value, indices in ((self.a, self.a_indices), (self.b, self.b_indices), (self.c, self.c_indices)):
            type_ = cast(AnyMemRef, value.type)
            rank = type_.get_num_dims()
            if rank < 2 or len(indices) != rank:
                raise VerifyException(f"expected an index for each of at least 2 dimensions of {type_}")
            if strides_of(type_)[-1] != 1 and type_.get_shape()[-1] != 1:
                raise VerifyException(f"expected rows of unit stride, got {type_}")
            elements.append(type_.element_type)
        if elements[0] not in (f32, f64) or len(set(elements)) > 1:
            raise VerifyException(f"expected f32 or f64 throughout, got {', '.join(map(str, elements))}")
