"""Tensors made from positions alone: ranges, identities, triangles, one-hot vectors."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.core import MirOp, PositionDependent
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Integer, i64_attr, integer
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
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

    def arange(
        self, start: int | float, stop: int | float | None = None, step: int | float = 1, dtype: object = None
    ) -> Value:
        """
        Return `start + i step` below `stop`, as `np.arange`; with one number, the integers from 0 up to it, exclusive.

        The default element type is i64 for integers, else f32. GraphError for a step of 0 and for ends that are not
        finite.
        """
        first, last = (0, start) if stop is None else (start, stop)
        if not step:
            raise GraphError("arange: expected a step other than 0")
        if not isfinite((last - first) / step):
            raise GraphError(f"arange: expected finite numbers, got {first} to {last} by {step}")
        whole = all(isinstance(number, int) for number in (first, last, step))
        if dtype is None:
            dtype = "i64" if whole else "f32"
        count = max(-((first - last) // step) if whole else ceil((last - first) / step), 0)
        return self._line(int(count), first, step, dtype)

    def linspace(self, start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: object = "f32") -> Value:
        """
        Return `num` evenly spaced numbers from `start` to `stop`, as `np.linspace`; `endpoint=False` excludes `stop`.
        """
        if num < 0:
            raise GraphError(f"linspace: expected at least 0 points, got {num}")
        gaps = num - 1 if endpoint else num
        line = self._line(num, start, (stop - start) / gaps if gaps > 0 else 0.0, dtype)
        if not endpoint or num < 2:
            return line
        b = self._this
        return b.where(b.eq(b.iota(num), num - 1), b.constant(stop, dtype), line)

    def _line(self, count: int, first: float, step: float, dtype: object) -> Value:
        """`first + i step`, computed in `dtype`."""
        b, line = self._this, self.iota(count, 0, dtype)
        if step != 1:
            line = b.mul(line, step)
        return b.add(line, first) if first else line

    def eye(self, N: int, M: int | None = None, k: int = 0, dtype: object = "f32") -> Value:
        """Return an `N` by `M` matrix with ones on diagonal `k` and zeros elsewhere, as `np.eye`."""
        row, column = self._rows_and_columns(N, N if M is None else M)
        return self._this.cast(self._this.eq(column - k if k else column, row), dtype)

    def one_hot(self, indices: Operand, depth: int, axis: int = -1, dtype: object = "f32") -> Value:
        """
        Return 1 where the index along the new axis, of extent `depth`, equals `indices`, else 0; out-of-range gives 0.
        """
        b, at = self._this, self.value(self.operand(indices))
        if element_of(at.ssa) not in INTS:
            raise GraphError(f"one_hot: expected integers, got {at.dtype}; cast them")
        axis = normalize_axis(axis, at.rank + 1)
        shape = (*at.shape[:axis], 1, *at.shape[axis:])
        numbers = b.reshape(b.iota(depth, 0, "i64"), (depth, *([1] * (at.rank - axis))))
        return b.cast(b.eq(b.reshape(b.cast(at, "i64"), shape), numbers), dtype)

    def tril(self, x: Operand, k: int = 0) -> Value:
        """`x` with zeros above diagonal `k` of its last two axes, as `np.tril`."""
        return self._triangle(x, k, lower=True)

    def triu(self, x: Operand, k: int = 0) -> Value:
        """`x` with zeros below diagonal `k` of its last two axes, as `np.triu`."""
        return self._triangle(x, k, lower=False)

    def _triangle(self, x: Operand, k: int, lower: bool) -> Value:
        b, value = self._this, self.value(self.operand(x))
        if value.rank < 2:
            raise VerifyException(f"expected matrices, got a tensor of rank {value.rank}")
        row, column = self._rows_and_columns(*value.shape[-2:])
        shifted = column - k if k else column
        return b.where(b.ge(row, shifted) if lower else b.le(row, shifted), value, 0)

    def _rows_and_columns(self, rows: int, columns: int) -> tuple[Value, Value]:
        """The number of its row and that of its column for each element of a matrix, which broadcast."""
        b = self._this
        return b.reshape(b.iota(rows), (rows, 1)), b.iota(columns)
