"""Ops on quantised weights, and their builder methods. The packings are named in `quant_schemes.py`.
Integer arithmetic on i8 tensors is in `quant_int.py`."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DenseArrayBase, TensorType, f32, f64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    result_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import HasKernel, MirOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Field,
    Integer,
    IntegerList,
    Tensor,
    Tensors,
    attribute,
    integer,
    integer_list,
    tensor,
    tensors,
)
from xdsl_rlx.dialects.mir.quant_schemes import Scheme, SchemeAttr, check_weights
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
from xdsl_rlx.dialects.shapes import FLOATS, check_element, dims, element_of, shape_of

_SIDES = "(`scales` `(` $scales^ `)`)? `scheme` $scheme"


class _Quantised(Operation):
    """An op that takes quantised weights, and the rows that they are multiplied by in front of them."""

    if TYPE_CHECKING:
        w: Tensor
        scales: Tensors
        scheme: Field[SchemeAttr, SchemeAttr]


class _QuantisedOp(_Quantised, MirOp, abc.ABC):
    """What ops on one matrix of quantised weights share: the operands that hold it, and how it is packed."""

    @property
    def scale(self) -> SSAValue | None:
        """The scales of blocks or columns."""
        return self.scales[0] if self.scales else None

    @property
    def zero_point(self) -> SSAValue | None:
        """The zero points of blocks."""
        return self.scales[1] if len(self.scales) > 1 and self.scheme.scheme != Scheme.NVFP4_BLOCK else None

    @property
    def global_scale(self) -> SSAValue | None:
        """The scale of scales that are codes themselves."""
        return self.scales[1] if len(self.scales) > 1 and self.scheme.scheme == Scheme.NVFP4_BLOCK else None

    @property
    @abc.abstractmethod
    def matrix(self) -> tuple[int, int]:
        """The extents (K, N) of the weights."""

    @property
    def stored(self) -> tuple[int, int]:
        """The extents of the weights as they are stored: (N, K) if blocks hold their scales, else (K, N)."""
        k, n = self.matrix
        return (n, k) if self.scheme.scheme.embeds_scales else (k, n)

    def check(self) -> None:
        """Require all operands to fit the scheme."""
        check_weights(self.scheme, self.stored, self.w, self.scales)


class DequantizeWeightsOp(_QuantisedOp, name="mir.dequantize_weights"):
    """
    The dequantised weights, as a tensor of that `shape`.

    * int8 and int4: `result[p, j] = (q[p, j] - z[p div block, j]) scale[p div block, j]`, where z is `zero_point`
      (by default 8 for int4, 0 for int8_block).
    * fp8: `decode(byte) scale[j]`, with scale 1 by default.
    * nvfp4: `fp4[nibble] e4m3(scale[p div 16, j]) global_scale[0]`.
    * gguf, and other schemes of plugins: the elements of consecutive blocks, in a shape with as many elements.

    The shape of all but these is `[K, N]`. Nibbles are packed two to a byte, the even element in the low one. The
    result has the element type of scale or global_scale, and f32 without one.
    """

    w: Tensor = tensor(alone=True)
    scheme: Field[SchemeAttr, SchemeAttr] = attribute(SchemeAttr)
    shape: IntegerList = integer_list()
    scales: Tensors = tensors(default=())
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())
    assembly_format = f"$w {_SIDES} `shape` custom<IntList>($shape) attr-dict `:` functional-type(operands, results)"

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape of the result."""
        values: DenseArrayBase = self.shape
        return tuple(int(n) for n in values.get_values())

    @property
    def matrix(self) -> tuple[int, int]:
        """(K, N); blocks that hold their scales lie in (elements of a block, blocks)."""
        extents = self.extents
        if self.scheme.scheme.embeds_scales:
            block = self.scheme.scheme.block
            return block, prod(extents) // block
        if len(extents) != 2:
            raise VerifyException(f"expected a shape of rank 2 for {self.scheme.scheme}, got {dims(extents)}")
        return extents[0], extents[1]

    def infer_types(self) -> tuple[Attribute]:
        if any(n < 0 for n in self.extents):
            raise VerifyException("expected a static shape")
        block = self.scheme.scheme.block
        if self.scheme.scheme.embeds_scales and prod(self.extents) % block:
            raise VerifyException(f"{prod(self.extents)} elements are not whole blocks of {block}")
        self.check()
        return (TensorType(self.scheme.result_element(self.scales), self.extents),)


class _DequantProductOp(_QuantisedOp, abc.ABC):
    """A product of rows with quantised weights."""

    def check_product(self, rows: SSAValue) -> Attribute:
        """Require the operands to fit the scheme and each other; the element type of the product."""
        element = element_of(rows)
        check_element(element, FLOATS)
        side = element if element in (f32, f64) else f32
        self.check()
        given = self.scheme.result_element(self.scales)
        if not self.scheme.scheme.embeds_scales and self.scales and given != side:
            raise VerifyException(f"expected scales of element type {side} for {element}, got {given}")
        return element


def features_of(rows: SSAValue, what: str) -> int:
    shape = shape_of(rows)
    if len(shape) < 2:
        raise VerifyException(f"expected {what} of rank at least 2, got {dims(shape)}")
    return shape[-1]


def columns_of(scheme: SchemeAttr, w: SSAValue, scales: Sequence[SSAValue], k: int) -> int:
    """N of weights of K rows."""
    kind = scheme.scheme
    if kind.embeds_scales:
        elements = prod(shape_of(w)) // kind.block_bytes * kind.block
        if not k or elements % k:
            raise VerifyException(f"{elements} elements are not whole rows of {k}")
        return elements // k
    if kind.is_nibbles:
        if not scales or not shape_of(scales[0]):
            raise VerifyException(f"{kind} needs the operand scale, a matrix")
        return shape_of(scales[0])[-1]
    return shape_of(w)[-1] if shape_of(w) else 0


class DequantMatmulOp(_DequantProductOp, name="mir.dequant_matmul"):
    """
    `result = x @ W` with `x` `[..., K]` and quantised weights `W` `[K, N]`, as `mir.dequantize_weights` defines them.

    gguf weights, and others whose blocks hold their scales, are stored as `[N, K]`, row by row. Weights are dequantised
    a panel at a time, in the element type of `x` (f32 for half floats).
    """

    x: Tensor = tensor()
    w: Tensor = tensor(alone=True)
    scheme: Field[SchemeAttr, SchemeAttr] = attribute(SchemeAttr)
    scales: Tensors = tensors(default=())
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())
    assembly_format = f"$x `,` $w {_SIDES} attr-dict `:` functional-type(operands, results)"

    @property
    def matrix(self) -> tuple[int, int]:
        k = features_of(self.x, "x")
        return k, columns_of(self.scheme, self.w, self.scales, k)

    def infer_types(self) -> tuple[Attribute]:
        _, n = self.matrix
        return (TensorType(self.check_product(self.x), (*shape_of(self.x)[:-1], n)),)


class DequantMatmulBackwardInputOp(_DequantProductOp, name="mir.dequant_matmul_backward_input"):
    """`result = dy @ transpose(W)` with `dy` `[..., N]` and quantised weights `W` `[K, N]`: the cotangent of x."""

    dy: Tensor = tensor()
    w: Tensor = tensor(alone=True)
    scheme: Field[SchemeAttr, SchemeAttr] = attribute(SchemeAttr)
    k: Integer = integer()
    scales: Tensors = tensors(default=())
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())
    assembly_format = f"$dy `,` $w {_SIDES} `k` $k attr-dict `:` functional-type(operands, results)"

    @property
    def matrix(self) -> tuple[int, int]:
        return self.k.value.data, features_of(self.dy, "dy")

    def infer_types(self) -> tuple[Attribute]:
        k, _ = self.matrix
        if k < 0:
            raise VerifyException(f"expected k of at least 0, got {k}")
        return (TensorType(self.check_product(self.dy), (*shape_of(self.dy)[:-1], k)),)


class QuantBuilder(BuilderCore):
    """Builder methods of this family."""

    def dequantize_weights(
        self,
        w: Operand,
        shape: Sequence[int],
        scheme: Scheme | str | SchemeAttr,
        scale: Operand | None = None,
        zero_point: Operand | None = None,
        global_scale: Operand | None = None,
        block_size: int | None = None,
    ) -> Value:
        """`mir.dequantize_weights`: decode packed weights to floats."""
        how, scales = packing(self, scheme, block_size, scale, zero_point, global_scale)
        return self.op(DequantizeWeightsOp, self.operand(w), how, shape, scales)

    def dequant_matmul(
        self,
        x: Operand,
        w: Operand,
        scheme: Scheme | str | SchemeAttr,
        scale: Operand | None = None,
        zero_point: Operand | None = None,
        global_scale: Operand | None = None,
        block_size: int | None = None,
    ) -> Value:
        """`mir.dequant_matmul`: `x @ W` with quantised weights."""
        how, scales = packing(self, scheme, block_size, scale, zero_point, global_scale)
        return self.op(DequantMatmulOp, self.operand(x), self.operand(w), how, scales)

    def dequant_matmul_backward_input(
        self,
        dy: Operand,
        w: Operand,
        k: int,
        scheme: Scheme | str | SchemeAttr,
        scale: Operand | None = None,
        zero_point: Operand | None = None,
        global_scale: Operand | None = None,
        block_size: int | None = None,
    ) -> Value:
        """`mir.dequant_matmul_backward_input`: `dy @ transpose(W)` with quantised weights `W` of `k` rows."""
        how, scales = packing(self, scheme, block_size, scale, zero_point, global_scale)
        op = DequantMatmulBackwardInputOp
        return self.op(op, self.operand(dy), self.operand(w), how, k, scales)


def scheme_attribute(scheme: Scheme | str | SchemeAttr, block_size: int | None = None) -> SchemeAttr:
    """The attribute of a scheme; VerifyException for an unknown one."""
    return scheme if isinstance(scheme, SchemeAttr) else SchemeAttr.of(scheme, block_size)


def packing(
    b: BuilderCore, scheme: Scheme | str | SchemeAttr, block_size: int | None, *given: Operand | None
) -> tuple[SchemeAttr, list[SSAValue]]:
    """
    How weights are packed, and what goes with them in the order of the op.

    `given` are scale, zero point and global scale; VerifyException if one does not belong.
    """
    how = scheme_attribute(scheme, block_size)
    names: dict[str, Operand | None] = dict(zip(("scale", "zero_point", "global_scale"), given, strict=True))
    for name in names:
        if names[name] is not None and name not in how.scheme.sides:
            raise VerifyException(f"{how.scheme} takes no operand {name}")
    chosen = [names[name] for name in how.scheme.sides]
    while chosen and chosen[-1] is None:
        chosen.pop()
    if any(x is None for x in chosen):
        raise VerifyException(f"{how.scheme} needs the operand {how.scheme.sides[chosen.index(None)]}")
    return how, [b.operand(x) for x in chosen if x is not None]
