"""Rows of operators that move elements, and of tensors made from numbers."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import Any

import numpy as np

from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import axes_of, cast, numpy_dtype
from xdsl_rlx.op_functions import function


@ROWS.add("view.default", "reshape.default", "_unsafe_view.default", "view_copy.default", "_reshape_alias.default")
def _view(c: Call, self: Any, size: Sequence[int], *_: Any) -> Any:
    return self.reshape(tuple(size))


@ROWS.add("permute.default", "permute_copy.default")
def _permute(c: Call, self: Any, dims: Sequence[int]) -> Any:
    return np.transpose(self, tuple(dim % max(np.ndim(self), 1) for dim in dims))


@ROWS.add("transpose.int", "transpose_copy.int")
def _transpose(c: Call, self: Any, dim0: int, dim1: int) -> Any:
    return np.swapaxes(self, dim0, dim1) if np.ndim(self) else self


@ROWS.add("t.default", "numpy_T.default", "t_copy.default")
def _t(c: Call, self: Any) -> Any:
    return np.transpose(self)


@ROWS.add("expand.default", "expand_copy.default")
def _expand(c: Call, self: Any, size: Sequence[int], implicit: bool = False) -> Any:
    new = len(size) - np.ndim(self)
    shape = [self.shape[n - new] if one == -1 else one for n, one in enumerate(size)]
    return np.broadcast_to(self, tuple(shape))


@ROWS.add("unsqueeze.default")
def _unsqueeze(c: Call, self: Any, dim: int) -> Any:
    return np.expand_dims(self, dim)


@ROWS.add("squeeze.dim", "squeeze.dims")
def _squeeze(c: Call, self: Any, dim: int | Sequence[int]) -> Any:
    rank = np.ndim(self)
    axes = axes_of(dim, rank) if not isinstance(dim, list) or dim else ()
    return self.reshape([n for axis, n in enumerate(self.shape) if axis not in axes or n != 1])


@ROWS.add("squeeze.default")
def _squeeze_all(c: Call, self: Any) -> Any:
    return self.reshape([n for n in self.shape if n != 1])


@ROWS.add("cat.default")
def _cat(c: Call, tensors: Sequence[Any], dim: int = 0) -> Any:
    # tensors of shape (0,) may stand beside those of any rank
    parts = [cast(x, c.dtype) for x in tensors if x.shape != (0,)] or [cast(tensors[0], c.dtype)]
    return np.concatenate(parts, dim)


@ROWS.add("stack.default")
def _stack(c: Call, tensors: Sequence[Any], dim: int = 0) -> Any:
    return np.stack([cast(x, c.dtype) for x in tensors], dim)


def _sliced(x: Any, dim: int, start: int, stop: int, step: int = 1) -> Any:
    return x[(slice(None),) * (dim % np.ndim(x)) + (slice(start, stop, step),)]


@ROWS.add("split.Tensor")
def _split(c: Call, self: Any, split_size: int, dim: int = 0) -> Any:
    n = self.shape[dim]
    count = max(ceil(n / split_size), 1) if split_size else 1
    return [_sliced(self, dim, k * split_size, min((k + 1) * split_size, n)) for k in range(count)]


@ROWS.add("split_with_sizes.default", "split.sizes")
def _split_with_sizes(c: Call, self: Any, split_sizes: Sequence[int], dim: int = 0) -> Any:
    ends = np.cumsum(split_sizes).tolist()
    return [_sliced(self, dim, end - size, end) for size, end in zip(split_sizes, ends, strict=True)]


@ROWS.add("chunk.default")
def _chunk(c: Call, self: Any, chunks: int, dim: int = 0) -> Any:
    size = max(ceil(self.shape[dim] / chunks), 1)
    return _split(c, self, size, dim)


@ROWS.add("unbind.int")
def _unbind(c: Call, self: Any, dim: int = 0) -> Any:
    return [_select(c, self, dim, k) for k in range(self.shape[dim])]


@ROWS.add("slice.Tensor")
def _slice(c: Call, self: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    return self[(slice(None),) * (dim % np.ndim(self)) + (slice(start, end, step),)]


@ROWS.add("select.int")
def _select(c: Call, self: Any, dim: int, index: int) -> Any:
    return self[(slice(None),) * (dim % np.ndim(self)) + (index,)]


@ROWS.add("narrow.default")
def _narrow(c: Call, self: Any, dim: int, start: int, length: int) -> Any:
    start = start if start >= 0 else start + self.shape[dim]
    return _sliced(self, dim, start, start + length)


@ROWS.add("flip.default")
def _flip(c: Call, self: Any, dims: Sequence[int]) -> Any:
    return np.flip(self, tuple(dims)) if dims else self


@ROWS.add("roll.default")
def _roll(c: Call, self: Any, shifts: Any, dims: Any = ()) -> Any:
    shifts = shifts if isinstance(shifts, list) else [shifts]
    dims = dims if isinstance(dims, list) else [dims]
    if not dims:
        return np.roll(self, shifts[0])
    return np.roll(self, tuple(shifts), tuple(dims))


@ROWS.add("repeat.default")
def _repeat(c: Call, self: Any, repeats: Sequence[int]) -> Any:
    return np.tile(self, tuple(repeats)) if repeats else self


@ROWS.add("repeat_interleave.self_int")
def _repeat_interleave(c: Call, self: Any, repeats: int, dim: int | None = None, output_size: Any = None) -> Any:
    return np.repeat(self, repeats, dim)


@ROWS.add("diagonal.default")
def _diagonal(c: Call, self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return np.diagonal(self, offset, dim1, dim2)


@ROWS.add("tril.default")
def _tril(c: Call, self: Any, diagonal: int = 0) -> Any:
    return np.tril(self, diagonal)


@ROWS.add("triu.default")
def _triu(c: Call, self: Any, diagonal: int = 0) -> Any:
    return np.triu(self, diagonal)


@ROWS.add("constant_pad_nd.default")
def _constant_pad(c: Call, self: Any, pad: Sequence[int], value: float = 0) -> Any:
    """Widths from the last axis on; negative ones cut elements off."""
    rank = np.ndim(self)
    pairs = [(0, 0)] * (rank - len(pad) // 2) + [(pad[k], pad[k + 1]) for k in range(len(pad) - 2, -1, -2)]
    cut = tuple(slice(max(-low, 0), n - max(-high, 0)) for (low, high), n in zip(pairs, self.shape, strict=True))
    x = self[cut] if any(low < 0 or high < 0 for low, high in pairs) else self
    widths = [(max(low, 0), max(high, 0)) for low, high in pairs]
    if not any(map(any, widths)):
        return x
    return np.pad(x, widths, constant_values=cast(value, c.dtype).item())


@ROWS.add("arange.default", "arange.start", "arange.start_step")
def _arange(c: Call, *bounds: Any, dtype: str | None = None) -> Any:
    if all(isinstance(one, int) for one in bounds):
        # negative numbers of unsigned types wrap around
        return np.arange(*bounds).astype(numpy_dtype(c.dtype))
    return np.arange(*bounds, dtype=numpy_dtype(c.dtype))


@ROWS.add("linspace.default")
def _linspace(c: Call, start: float, end: float, steps: int, dtype: str | None = None) -> Any:
    return np.linspace(start, end, steps).astype(numpy_dtype(c.dtype))


def _full(c: Call, shape: Sequence[int], value: Any) -> Any:
    if not isinstance(value, bool | int | float | complex):
        return np.broadcast_to(cast(value, c.dtype), tuple(shape))
    return np.broadcast_to(np.asarray(value).astype(numpy_dtype(c.dtype)), tuple(shape))


@ROWS.add("full.default")
def _of_full(c: Call, size: Sequence[int], fill_value: Any, dtype: str | None = None) -> Any:
    return _full(c, size, fill_value)


@ROWS.add("full_like.default", "new_full.default", "fill.Scalar", "fill.Tensor")
def _full_like(c: Call, self: Any, *args: Any, dtype: str | None = None) -> Any:
    *shape, value = args
    return _full(c, shape[0] if shape else self.shape, value)


@ROWS.add("zeros.default", "empty.memory_format")
def _zeros(c: Call, size: Sequence[int], dtype: str | None = None) -> Any:
    return _full(c, size, 0)


@ROWS.add("ones.default")
def _ones(c: Call, size: Sequence[int], dtype: str | None = None) -> Any:
    return _full(c, size, 1)


@ROWS.add("zeros_like.default", "empty_like.default", "new_zeros.default", "new_empty.default")
def _zeros_like(c: Call, self: Any, size: Sequence[int] | None = None, dtype: str | None = None) -> Any:
    return _full(c, self.shape if size is None else size, 0)


@ROWS.add("ones_like.default", "new_ones.default")
def _ones_like(c: Call, self: Any, size: Sequence[int] | None = None, dtype: str | None = None) -> Any:
    return _full(c, self.shape if size is None else size, 1)


@ROWS.add("scalar_tensor.default")
def _scalar_tensor(c: Call, s: Any, dtype: str | None = None) -> Any:
    return _full(c, (), s)


@ROWS.add("eye.default", "eye.m")
def _eye(c: Call, n: int, m: int | None = None, dtype: str | None = None) -> Any:
    return np.eye(n, m, dtype=numpy_dtype(c.dtype))


@ROWS.add("one_hot.default")
def _one_hot(c: Call, self: Any, num_classes: int = -1) -> Any:
    return function("one_hot")(self, num_classes, dtype="i64")


@ROWS.add("sym_size.int")
def _size(c: Call, self: Any, dim: int) -> int:
    return self.shape[dim]


@ROWS.add("sym_numel.default")
def _numel(c: Call, self: Any) -> int:
    return prod(self.shape)


@ROWS.add("sym_stride.int")
def _stride(c: Call, self: Any, dim: int) -> int:
    """As in a tensor that is contiguous: a graph that depends on other strides has `as_strided`, which is refused."""
    return prod(self.shape[dim % np.ndim(self) + 1 :])


@ROWS.add("sym_storage_offset.default")
def _offset(c: Call, self: Any) -> int:
    return 0
