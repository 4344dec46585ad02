"""PyTorch's ops that move elements, as mir graphs: shapes, slices, joins, and reading and writing by index."""

from collections.abc import Sequence
from math import prod
from typing import Any

from numpy import broadcast_shapes
from peers.opinfo import Adapter, need, swapped

from xdsl_rlx import Graph


def _shape(sizes: Sequence[Any]) -> Sequence[int]:
    return sizes[0] if len(sizes) == 1 and isinstance(sizes[0], Sequence) else sizes


def _permute(g: Graph, x: Any, *dims: Any) -> Any:
    order = dims[0] if len(dims) == 1 and isinstance(dims[0], Sequence) else dims
    return g.transpose(x, [d % max(x.rank, 1) for d in order])


def _transpose(g: Graph, x: Any, a: int, b: int) -> Any:
    return swapped(g, x, a, b) if x.rank else x


def _reversed_axes(g: Graph, x: Any) -> Any:
    return x.T


def _movedim(g: Graph, x: Any, source: Any, destination: Any) -> Any:
    at = dict(zip([d % x.rank for d in destination], [d % x.rank for d in source], strict=True))
    need(len(at) == x.rank, "dimensions that stay")
    return g.transpose(x, [at[d] for d in range(x.rank)])


def _adjoint(g: Graph, x: Any) -> Any:
    return g.conjugate(swapped(g, x))


def _reshape(g: Graph, x: Any, *shape: Any) -> Any:
    return g.reshape(x, tuple(_shape(shape)))


def _like(name: str) -> Adapter:
    return lambda g, x, y: getattr(g, name)(x, y.shape)


def _flatten(g: Graph, x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    shape = x.shape or (1,)
    first, last = start_dim % len(shape), end_dim % len(shape)
    return g.reshape(x, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


def _unflatten(g: Graph, x: Any, dim: int, sizes: Sequence[int]) -> Any:
    dim %= x.rank
    return g.reshape(x, (*x.shape[:dim], *sizes, *x.shape[dim + 1 :]))


def _squeeze(g: Graph, x: Any, dim: Any = None) -> Any:
    dims = range(x.rank) if dim is None else dim if isinstance(dim, Sequence) else (dim,)
    ones = {d % max(x.rank, 1) for d in dims}
    return g.reshape(x, [n for d, n in enumerate(x.shape) if n != 1 or d not in ones])


def _unsqueeze(g: Graph, x: Any, dim: int) -> Any:
    dim %= x.rank + 1
    return g.reshape(x, (*x.shape[:dim], 1, *x.shape[dim:]))


def _expand(g: Graph, x: Any, *shape: Any) -> Any:
    sizes = _shape(shape)
    lead = len(sizes) - x.rank
    return g.expand(x, [x.shape[i - lead] if n == -1 else n for i, n in enumerate(sizes)])


def _narrow(g: Graph, x: Any, dim: int, start: Any, length: int) -> Any:
    need(isinstance(start, int), "a start in a tensor")
    return g.narrow(x, dim, start % x.shape[dim] if start < 0 else start, length)


def _select(g: Graph, x: Any, dim: int, index: int) -> Any:
    return x[(slice(None),) * (dim % x.rank) + (index,)]


def _slice(g: Graph, x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    need(step == 1, "a step")
    return x[(slice(None),) * (dim % x.rank) + (slice(start, end),)]


def _getitem(g: Graph, x: Any, index: Any) -> Any:
    """Numbers and slices, or one vector of positions."""
    if isinstance(index, tuple | slice):
        return x[index]
    need(not isinstance(index, list) and index.dtype == "i64", "a list or a mask")
    return g.gather(x, index)


def _split(g: Graph, x: Any, size: Any, dim: int = 0) -> Any:
    """Parts of one size, the last one smaller, or of the sizes given."""
    n = x.shape[dim]
    sizes = size if isinstance(size, Sequence) else [min(size, n - at) for at in range(0, n, size)]
    return [g.narrow(x, dim, sum(sizes[:i]), length) for i, length in enumerate(sizes)]


def _chunk(g: Graph, x: Any, chunks: int, dim: int = 0) -> Any:
    return _split(g, x, -(-x.shape[dim] // chunks), dim)


def _unbind(g: Graph, x: Any, dim: int = 0) -> Any:
    return [_select(g, x, dim, i) for i in range(x.shape[dim])]


def _cat(g: Graph, parts: Sequence[Any], dim: int = 0) -> Any:
    need(all(p.rank == parts[0].rank for p in parts), "an empty vector among tensors")
    return g.concat(list(parts), dim)


def _stack(g: Graph, parts: Sequence[Any], dim: int = 0) -> Any:
    dim %= parts[0].rank + 1
    return g.concat([_unsqueeze(g, p, dim) for p in parts], dim)


def _hstack(g: Graph, parts: Sequence[Any]) -> Any:
    return g.concat(list(parts), min(parts[0].rank - 1, 1))


def _vstack(g: Graph, parts: Sequence[Any]) -> Any:
    return g.concat([p if p.rank > 1 else _unsqueeze(g, p, 0) for p in parts], 0)


def _embedding(g: Graph, weight: Any, indices: Any, **options: Any) -> Any:
    need(not any(options.values()), "a norm or a padding index")
    return g.gather(weight, indices)


def _index_select(g: Graph, x: Any, dim: int, index: Any) -> Any:
    need(x.rank > 0 and index.rank == 1, "a scalar")
    return g.gather(x, index, dim)


def _index_add(g: Graph, x: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    need(x.rank > 0 and index.rank == 1, "a scalar")
    return x + g.mul(g.scatter_add(source, index, x.shape[dim], dim), alpha)


def _last(x: Any, dim: int) -> list[int]:
    return [*(d for d in range(x.rank) if d != dim % x.rank), dim % x.rank]


def _back(g: Graph, x: Any, dim: int) -> Any:
    order = _last(x, dim)
    return g.transpose(x, [order.index(d) for d in range(x.rank)])


def _gather(g: Graph, x: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    need(x.rank == index.rank > 0, "a scalar")
    for d, n in enumerate(index.shape):
        x = x if d == dim % x.rank else g.narrow(x, d, 0, n)
    order = _last(x, dim)
    return _back(g, g.gather(g.transpose(x, order), g.transpose(index, order), x.rank - 1, x.rank - 1), dim)


def _from_end(g: Graph, index: Any, n: int) -> Any:
    """Positions, of which negative ones count from the end."""
    return g.where(index < 0, index + n, index)


def _take_along_dim(g: Graph, x: Any, index: Any, dim: Any = None) -> Any:
    if dim is None:
        return _take(g, x, _flatten(g, index))
    shape = list(broadcast_shapes(*((*t.shape[:dim], 1, *t.shape[dim + 1 :]) for t in (x, index))))
    wide = [g.expand(t, (*shape[:dim], t.shape[dim], *shape[dim + 1 :])) for t in (x, index)]
    return _gather(g, wide[0], dim, _from_end(g, wide[1], x.shape[dim]))


def _scatter_add(g: Graph, x: Any, dim: int, index: Any, source: Any, reduce: str = "add", **options: Any) -> Any:
    need(reduce in ("add", "sum") and options.get("include_self", True), "another reduction")
    need(x.rank > 0 and hasattr(source, "shape"), "a scalar")
    others = [d for d in range(x.rank) if d != dim % x.rank]
    need(all(index.shape[d] == x.shape[d] for d in others), "an index that leaves out part of the tensor")
    for d, n in enumerate(index.shape):
        source = g.narrow(source, d, 0, n)
    order = [*others, dim % x.rank]
    moved = g.transpose(source, order), g.transpose(index, order)
    return x + _back(g, g.scatter_add(*moved, x.shape[dim], x.rank - 1, x.rank - 1), dim)


def _scatter(g: Graph, x: Any, dim: int, index: Any, source: Any, *, reduce: str = "none") -> Any:
    return _scatter_add(g, x, dim, index, source, reduce)


def _index_put(g: Graph, x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    need(accumulate and len(indices) == 1 and indices[0].dtype == "i64", "a mask, or elements that are replaced")
    return x + g.scatter_add(values, indices[0], x.shape[0])


def _take(g: Graph, x: Any, index: Any) -> Any:
    return g.gather(_flatten(g, x), _from_end(g, index, prod(x.shape)))


def _cumsum(g: Graph, x: Any, dim: int, *, dtype: Any = None) -> Any:
    need(dtype is None and x.rank > 0, "dtype")
    return g.cumsum(x, dim)


def _topk(g: Graph, x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The values; the positions of equal ones may differ."""
    need(x.rank > 0 and largest, "the smallest")
    return _back(g, g.topk_values(g.transpose(x, _last(x, dim)), k), dim)


def _sort(g: Graph, x: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    return _topk(g, x, x.shape[dim] if x.rank else 1, dim, descending)


def _argsort(g: Graph, x: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    need(x.rank > 0 and descending, "the smallest first")
    return _back(g, g.topk(g.transpose(x, _last(x, dim)), x.shape[dim]), dim)


def _argmax(g: Graph, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    need(x.rank > 0 and not (dim is None and keepdim), "a scalar")
    x, dim = (_flatten(g, x), 0) if dim is None else (x, dim)
    places = _back(g, g.topk(g.transpose(x, _last(x, dim)), 1), dim)
    return places if keepdim else g.reshape(places, [n for d, n in enumerate(x.shape) if d != dim % x.rank])


ADAPTERS: dict[str, Adapter] = {
    "permute": _permute,
    "transpose": _transpose,
    "movedim": _movedim,
    **dict.fromkeys(("T", "t"), _reversed_axes),
    "mT": swapped,
    **dict.fromkeys(("H", "mH"), _adjoint),
    **dict.fromkeys(("reshape", "view"), _reshape),
    **{name: _like("reshape") for name in ("reshape_as", "view_as")},
    **dict.fromkeys(("flatten", "ravel"), _flatten),
    "unflatten": _unflatten,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
    **dict.fromkeys(("expand", "broadcast_to"), _expand),
    "expand_as": _like("expand"),
    "narrow": _narrow,
    "select": _select,
    "slice": _slice,
    "__getitem__": _getitem,
    **dict.fromkeys(("split", "split_with_sizes"), _split),
    "chunk": _chunk,
    "unbind": _unbind,
    "cat": _cat,
    "stack": _stack,
    "hstack": _hstack,
    "vstack": _vstack,
    "nn.functional.embedding": _embedding,
    "index_select": _index_select,
    "index_add": _index_add,
    "gather": _gather,
    "take_along_dim": _take_along_dim,
    "take": _take,
    **dict.fromkeys(("scatter_add", "scatter_reduce"), _scatter_add),
    "scatter": _scatter,
    "index_put": _index_put,
    "cumsum": _cumsum,
    "topk": _topk,
    "sort": _sort,
    "argsort": _argsort,
    "argmax": _argmax,
    "argmin": lambda g, x, *args, **kwargs: _argmax(g, -x, *args, **kwargs),
}
"""How the samples of an OpInfo are built, by its name."""
