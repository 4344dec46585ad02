"""Reading and writing by indices, the largest elements, running sums."""

from math import prod
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from numerics.sample import Operand, Sample, apart, complex_normal, integers, method, uniform, values
from oracle import Array, convert, widen

from xdsl_rlx.dialects.mir import index
from xdsl_rlx.dialects.shapes import shape_of


def ascending(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Rows that ascend, with equal neighbours."""
    return np.cumsum(rng.integers(0, 3, shape), -1)


def _gather_samples() -> list[Sample]:
    pairs = (Operand((5, 2), complex_normal(), "complex"), Operand((4,), integers(0, 5), "i64"))
    rows = [Sample("gather-complex", index.GatherOp, method("gather"), pairs, differentiable=(0,), exact=True)]
    for suffix, table, indices, axis, batch in (
        ("", (5, 3), (4,), 0, 0),
        ("-matrix", (5, 3), (2, 3), 0, 0),
        ("-one", (5, 3), (), 0, 0),
        ("-columns", (2, 5), (3,), 1, 0),
        ("-last", (2, 3, 5), (4,), -1, 0),
        ("-batch", (2, 5, 3), (2, 4), 1, 1),
        ("-batch-outer", (2, 3, 5, 2), (2, 4), 2, 1),
        ("-vector", (5,), (7,), 0, 0),
        ("-many", (5, 3), (200,), 0, 0),
        ("-none", (5, 3), (0,), 0, 0),
        ("-empty", (5, 0), (2,), 0, 0),
    ):
        build = lambda m, x, i, a=axis, d=batch: m.gather(x, i, a, d)  # noqa: E731
        operands = (Operand(table), Operand(indices, integers(0, 5), "i64"))
        rows.append(Sample(f"gather{suffix}", index.GatherOp, build, operands, differentiable=(0,), exact=True))
    outside = Operand((4,), values(-3, 7, 4, 0), "i32")
    build = lambda m, x, i: m.gather(x, i)  # noqa: E731
    rows.append(Sample("gather-outside", index.GatherOp, build, (Operand((5, 2)), outside), differentiable=(0,)))
    encoded = Operand((4,), values(3, 0, 4, 3), "f32")
    rows.append(Sample("gather-f32-indices", index.GatherOp, build, (Operand((5, 2)), encoded), differentiable=(0,)))
    narrow = (Operand((5, 2)), Operand((3,), integers(0, 5), "i32"))
    rows.append(Sample("gather-narrow", index.GatherOp, build, narrow, ("f16", "bf16", "i32", "i1"), exact=True))
    return rows


_SCATTERS = (
    ("", (6, 3), (6,), 0, 0),
    ("-matrix", (2, 3, 4), (2, 3), 0, 0),
    ("-one", (3,), (), 0, 0),
    ("-columns", (2, 4), (4,), 1, 0),
    ("-last", (2, 3, 6), (6,), -1, 0),
    ("-batch", (2, 4, 3), (2, 4), 1, 1),
    ("-batch-outer", (2, 3, 4, 2), (2, 4), 2, 1),
    ("-wide", (4, 131), (4,), 0, 0),
    ("-empty", (2, 0), (2,), 0, 0),
)
"""Of samples of scatters: name, shapes of updates and of indices, axis, batch axes."""


def _scatter_samples() -> list[Sample]:
    op = index.ScatterAddOp
    pairs = (Operand((4, 2), complex_normal(), "complex"), Operand((4,), integers(0, 5), "i64"))
    rows = [Sample("scatter_add-complex", op, method("scatter_add", 5), pairs, differentiable=(0,))]
    for suffix, updates, indices, axis, batch in (*_SCATTERS, ("-none", (0, 3), (0,), 0, 0)):
        build = lambda m, x, i, a=axis, d=batch: m.scatter_add(x, i, 5, a, d)  # noqa: E731
        operands = (Operand(updates), Operand(indices, integers(0, 5), "i64"))
        rows.append(Sample(f"scatter_add{suffix}", op, build, operands, differentiable=(0,)))
    build = lambda m, x, i: m.scatter_add(x, i, 5)  # noqa: E731
    outside = Operand((4,), values(-3, 7, 4, 0), "i32")
    rows.append(Sample("scatter_add-outside", op, build, (Operand((4, 2)), outside), differentiable=(0,)))
    encoded = Operand((4,), values(3, 0, 4, 3), "f32")
    rows.append(Sample("scatter_add-f32-indices", op, build, (Operand((4, 2)), encoded), differentiable=(0,)))
    narrow = (Operand((9, 2)), Operand((9,), integers(0, 5), "i32"))
    rows.append(Sample("scatter_add-narrow", op, build, narrow, ("f16", "bf16")))
    ints = (Operand((9, 2), integers(-5, 5), "i32"), Operand((9,), integers(0, 5), "i32"))
    rows.append(Sample("scatter_add-int", op, build, ints, ("i32",), exact=True))
    return rows


def _added_samples() -> list[Sample]:
    op = index.IndexAddOp
    rows: list[Sample] = []
    for suffix, updates, indices, axis, batch in (*_SCATTERS, ("-none", (0, 3), (0,), 0, 0)):
        taken = len(indices) - batch
        for extent, kept in ((5, 5), (5, 4), (5, 0)):
            at = axis % (len(updates) - taken + 1)
            shape = (*updates[:at], kept, *updates[at + taken :])
            build = lambda m, x, y, i, n=extent, a=axis, d=batch: m.index_add(x, y, i, n, a, d)  # noqa: E731
            operands = (Operand(shape), Operand(updates), Operand(indices, integers(0, 5), "i64"))
            rows.append(Sample(f"index_add{suffix}-{kept}", op, build, operands, differentiable=(0, 1)))
    build = lambda m, x, y, i: m.index_add(x, y, i, 5)  # noqa: E731
    outside = Operand((4,), values(-3, 7, 4, 0), "i32")
    for kept in (4, 5):
        operands = (Operand((kept, 2)), Operand((4, 2)), outside)
        rows.append(Sample(f"index_add-outside-{kept}", op, build, operands, differentiable=(0, 1)))
    narrow = (Operand((5, 2)), Operand((9, 2)), Operand((9,), integers(0, 5), "i32"))
    rows.append(Sample("index_add-narrow", op, build, narrow, ("f16", "bf16")))
    whole = (Operand((4,), integers(0, 9)), Operand((9,), integers(0, 9)), Operand((9,), integers(0, 5), "i32"))
    rows.append(Sample("index_add-int", op, build, whole, ("i8", "u8", "i32", "u32", "i64"), exact=True))
    return rows


def _extreme_samples() -> list[Sample]:
    op = index.ScatterMaxOp
    rows: list[Sample] = []
    for suffix, updates, indices, axis, batch in _SCATTERS:
        # every position has an element: infinity has no slope
        extent = min(2, prod(indices))
        build = lambda m, x, i, n=extent, a=axis, d=batch: m.scatter_max(x, i, n, a, d)  # noqa: E731
        operands = (Operand(updates, apart()), Operand(indices, values(1, 0, 1, 1, 0), "i64"))
        rows.append(Sample(f"scatter_max{suffix}", op, build, operands, differentiable=(0,), exact=True))
    least = lambda m, x, i: m.scatter_max(x, i, 5, smallest=True)  # noqa: E731
    most = lambda m, x, i: m.scatter_max(x, i, 5)  # noqa: E731
    outside = (Operand((4, 2), apart()), Operand((4,), values(-3, 7, 4, 0), "i32"))
    hard = (Operand((7,), values(np.nan, 1, -np.inf, -0.0, 0.0, np.inf, 3)), Operand((7,), integers(0, 5), "i32"))
    ints = (Operand((9, 2), integers(0, 5), "i32"), Operand((9,), integers(0, 4), "i32"))
    for name, build in (("smallest", least), ("largest", most)):
        none = (Operand((0, 3)), Operand((0,), integers(0, 5), "i64"))
        rows.append(Sample(f"scatter_max-{name}-none", op, build, none))
        rows.append(Sample(f"scatter_max-{name}-outside", op, build, outside))
        rows.append(Sample(f"scatter_max-{name}-hard", op, build, hard, ("f32", "f64")))
        rows.append(Sample(f"scatter_max-{name}-narrow", op, build, ints, ("f16", "bf16", "i32", "i8", "u8", "u32")))
    return rows


def _backward_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, dy, indices, axis, batch in (
        ("", (6, 3), (6,), 0, 0),
        ("-columns", (2, 4), (4,), -1, 0),
        ("-batch-outer", (2, 3, 4, 2), (2, 4), 2, 1),
    ):
        build = lambda m, x, i, a=axis, d=batch: m.gather_backward(x, i, 5, a, d)  # noqa: E731
        operands = (Operand(dy), Operand(indices, integers(-1, 7), "i32"))
        rows.append(Sample(f"gather_backward{suffix}", index.GatherBackwardOp, build, operands, differentiable=(0,)))
    return rows


def _topk_samples() -> list[Sample]:
    rows: list[Sample] = []
    hard = values(np.nan, 1, -np.inf, -0.0, 0.0, np.inf, 1, np.nan, -1, np.inf, -1e-30, 2)
    for suffix, shape, k, sampler in (
        ("", (3, 7), 2, apart()),
        ("-ties", (4, 9), 5, integers(-2, 3)),
        ("-hard", (2, 12), 12, hard),
        ("-one", (2, 3, 5), 1, integers(0, 3)),
        ("-vector", (300,), 40, integers(-100, 100)),
        ("-single", (2, 1), 1, apart()),
        ("-none", (2, 3), 0, apart()),
        ("-empty", (0, 3), 2, apart()),
    ):
        build = lambda m, x, k=k: m.topk(x, k)  # noqa: E731
        rows.append(Sample(f"topk{suffix}", index.TopkOp, build, (Operand(shape, sampler),)))
    build = lambda m, x: m.topk(x, 4)  # noqa: E731
    halves = (Operand((3, 9), integers(-4, 4)),)
    rows.append(Sample("topk-narrow", index.TopkOp, build, halves, ("f16", "bf16", "i32", "i64", "i8")))
    smallest = lambda m, x: m.topk(x, 7, smallest=True)  # noqa: E731
    for suffix, sampler in (("", integers(-3, 3)), ("-hard", hard)):
        rows.append(Sample(f"topk-smallest{suffix}", index.TopkOp, smallest, (Operand((2, 12), sampler),)))
    values_of = lambda m, x: m.topk_values(x, 3)  # noqa: E731
    pick = Sample(
        "topk-values", index.TopkOp, values_of, (Operand((2, 4, 6), apart()),), differentiable=(0,), exact=True
    )
    return [*rows, pick]


def _sort_samples() -> list[Sample]:
    rows: list[Sample] = []
    hard = values(np.nan, 1, -np.inf, 0.5, 0.0, np.inf, 1, np.nan, -1, np.inf, -1e-30, 2)
    for suffix, shape, sampler in (
        *(("", (3, 7), apart()), ("-ties", (19, 9), integers(-2, 3)), ("-hard", (2, 12), hard)),
        *(("-block", (2, 3, 8), apart()), ("-row", (300,), integers(-100, 100)), ("-single", (2, 1), apart())),
        *(("-empty", (0, 3), apart()), ("-none", (2, 0), apart())),
    ):
        for descending in (False, True):
            build = lambda m, x, flag=descending: m.op(index.SortOp, x.ssa, flag)  # noqa: E731
            name = f"sort{suffix}{'-descending' if descending else ''}"
            rows.append(Sample(name, index.SortOp, build, (Operand(shape, sampler),), exact=True))
    for first, count in ((0, 1), (5, 2), (11, 1), (12, 0), (0, 12)):
        part = lambda m, x, f=first, c=count: m.op(index.SortOp, x.ssa, f % 2 == 1, f, c)  # noqa: E731
        rows.append(Sample(f"sort-part-{first}-{count}", index.SortOp, part, (Operand((2, 12), hard),), exact=True))
    build = lambda m, x: m.op(index.SortOp, x.ssa)  # noqa: E731
    narrow = (Operand((3, 9), integers(-4, 4)),)
    rows.append(Sample("sort-narrow", index.SortOp, build, narrow, ("f16", "bf16", "i32", "i64", "i8"), exact=True))
    apart_ = (Operand((2, 4, 6), apart()),)
    rows.append(Sample("sort-slope", index.SortOp, build, apart_, differentiable=(0,), exact=True))
    middle = lambda m, x: m.op(index.SortOp, x.ssa, False, 2, 2)  # noqa: E731
    rows.append(Sample("sort-part-slope", index.SortOp, middle, apart_, differentiable=(0,), exact=True))
    return rows


def _bisect_samples() -> list[Sample]:
    rows: list[Sample] = []
    ends = values(-np.inf, -0.0, 0.0, 0.5, 3.0, np.inf, np.nan, np.nan)
    for suffix, table, x, dtypes in (
        ("", Operand((7,), ascending), Operand((2, 5), values(*range(-1, 9))), ("f32", "i64")),
        ("-rows", Operand((2, 4), ascending), Operand((2, 3), uniform(-1, 6)), ("f64", "bf16")),
        ("-number", Operand((3, 4), ascending), Operand((3,), integers(0, 6)), ("u8", "i32")),
        ("-none", Operand((2, 0), ascending), Operand((2, 2)), ("f32",)),
        ("-one", Operand((1,), ascending), Operand((3,), integers(-1, 2)), ("f16", "i8")),
        ("-ends", Operand((8,), ends), Operand((8,), ends), ("f32", "f64")),
    ):
        for side, left in (("", False), ("-left", True)):
            build = lambda m, table, x, left=left: m.bisect(table, x, left=left)  # noqa: E731
            rows.append(Sample(f"bisect{suffix}{side}", index.BisectOp, build, (table, x), dtypes, exact=True))
    return rows


def _cumsum_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, shape, axis, exclusive, reverse in (
        ("", (3, 7), -1, False, False),
        ("-exclusive", (3, 7), 1, True, False),
        ("-reverse", (3, 7), -1, False, True),
        ("-both", (3, 7), -1, True, True),
        ("-first", (5, 3), 0, False, False),
        ("-first-exclusive", (5, 3), 0, True, False),
        ("-middle-reverse", (2, 5, 3), -2, False, True),
        ("-middle-both", (2, 5, 3), 1, True, True),
        ("-wide", (3, 131), 0, False, False),
        ("-vector", (9,), 0, False, False),
        ("-single", (4, 1, 3), 1, True, False),
        ("-empty", (0, 3), 0, False, False),
    ):
        arguments = (axis, exclusive, reverse)
        build = lambda m, x, a=arguments: m.cumsum(x, *a)  # noqa: E731
        rows.append(Sample(f"cumsum{suffix}", index.CumsumOp, build, (Operand(shape),), differentiable=(0,)))
        back = lambda m, x, a=arguments: m.cumsum_backward(x, *a)  # noqa: E731
        op = index.CumsumBackwardOp
        rows.append(Sample(f"cumsum_backward{suffix}", op, back, (Operand(shape),), differentiable=(0,)))
    build = lambda m, x: m.cumsum(x, 0)  # noqa: E731
    rows.append(Sample("cumsum-narrow", index.CumsumOp, build, (Operand((40, 3)),), ("f16", "bf16")))
    ints = (Operand((40,), integers(-100, 100)),)
    wrapping = lambda m, x: m.cumsum(x, 0, dtype=x.dtype)  # noqa: E731
    rows.append(Sample("cumsum-int", index.CumsumOp, wrapping, ints, ("i32", "i64", "i8"), exact=True))
    back = lambda m, x: m.cumsum(x, 1, True, True)  # noqa: E731
    rows.append(Sample("cumsum-long", index.CumsumOp, back, (Operand((2, 9001)),), tol=16))
    rows.append(Sample("cumsum-infinite", index.CumsumOp, build, (Operand((6,), values(1, np.inf, 2, -np.inf, 1)),)))
    return rows


def _cumprod_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, shape, axis in (
        ("", (3, 7), -1),
        ("-first", (5, 3), 0),
        ("-middle", (2, 5, 3), -2),
        ("-wide", (3, 131), 0),
        ("-rows", (9, 21), 1),
        ("-vector", (9,), 0),
        ("-single", (4, 1, 3), 1),
        ("-empty", (0, 3), 0),
    ):
        build = lambda m, x, axis=axis: m.cumprod(x, axis)  # noqa: E731
        rows.append(Sample(f"cumprod{suffix}", index.CumprodOp, build, (Operand(shape),), differentiable=(0,)))
    first = lambda m, x: m.cumprod(x, 0)  # noqa: E731
    rows.append(Sample("cumprod-narrow", index.CumprodOp, first, (Operand((8, 3)),), ("f16", "bf16")))
    special = (Operand((6,), values(1, np.inf, 2, np.nan, -np.inf, 1)),)
    rows.append(Sample("cumprod-special", index.CumprodOp, first, special))
    wrapping = lambda m, x: m.cumprod(x, 1, dtype=x.dtype)  # noqa: E731
    ints = (Operand((5, 11), integers(-9, 10)),)
    rows.append(Sample("cumprod-int", index.CumprodOp, wrapping, ints, ("i32", "i64", "i8", "i16"), exact=True))
    counts = (Operand((5, 11), integers(0, 200)),)
    rows.append(Sample("cumprod-unsigned", index.CumprodOp, wrapping, counts, ("u8", "u32"), exact=True))
    return rows


def _gather(np_: Any, op: index.GatherOp, table: Any, indices: Any) -> Any:
    e = op.extents
    flat = table.reshape(e.batches, e.outer, e.extent, e.inner)
    at = np_.clip(indices, 0, max(e.extent - 1, 0)).reshape(e.batches, 1, e.indices, 1)
    return np_.take_along_axis(flat, at, 2).reshape(shape_of(op.result)) if e.extent else flat


def _oracle_gather(op: index.GatherOp, table: Array, indices: Array) -> Array:
    return _gather(np, op, table, convert(indices, np.dtype(np.int64)))


Adding = index.ScatterOp | index.GatherBackwardOp


def _extents(op: Adding) -> index.Taken:
    shape, batch = shape_of(op.result), op.batch_dims.value.data
    axis = op.axis.value.data % len(shape)
    count = prod(shape_of(op.indices)[batch:])
    return index.Taken(prod(shape[:batch]), prod(shape[batch:axis]), shape[axis], count, prod(shape[axis + 1 :]))


def _places(np_: Any, op: Adding, updates: Any, indices: Any) -> tuple[Any, Any, Any]:
    """Zeros to add to, the index arrays of where, and the updates as [batch, outer, k, inner]."""
    e = _extents(op)
    flat = updates.reshape(e.batches, e.outer, e.indices, e.inner)
    at = np_.clip(indices, 0, max(e.extent - 1, 0)).reshape(e.batches, 1, e.indices)
    where = (np_.arange(e.batches)[:, None, None], np_.arange(e.outer)[None, :, None], at)
    return np_.zeros((e.batches, e.outer, e.extent, e.inner), updates.dtype), where, flat


def _oracle_scatter_add(op: Adding, updates: Array, indices: Array) -> Array:
    total, where, flat = _places(np, op, widen(updates), convert(indices, np.dtype(np.int64)))
    np.add.at(total, where, flat)
    return total.reshape(shape_of(op.result))


def _added_places(np_: Any, op: index.IndexAddOp, given: Any, updates: Any, indices: Any) -> tuple[Any, Any, Any]:
    """What is added to, with room for what is dropped, the index arrays of where, and the updates."""
    e, ends = op.extents, op.extent.value.data
    at = np_.clip(indices, 0, max(ends - 1, 0)).reshape(e.batches, 1, e.indices)
    where = (np_.arange(e.batches)[:, None, None], np_.arange(e.outer)[None, :, None], at)
    room = np_.zeros((e.batches, e.outer, ends - e.extent, e.inner), given.dtype)
    total = np_.concatenate([given.reshape(e.batches, e.outer, e.extent, e.inner), room], 2)
    return total, where, updates.reshape(e.batches, e.outer, e.indices, e.inner)


def _oracle_index_add(op: index.IndexAddOp, given: Array, updates: Array, indices: Array) -> Array:
    at = convert(indices, np.dtype(np.int64))
    total, where, flat = _added_places(np, op, widen(given), widen(updates), at)
    np.add.at(total, where, flat)
    return total[:, :, : op.extents.extent].reshape(shape_of(op.result))


def _jax_index_add(op: index.IndexAddOp, given: Any, updates: Any, indices: Any) -> Any:
    total, where, flat = _added_places(jnp, op, given, updates, indices.astype(jnp.int64))
    return total.at[where].add(flat)[:, :, : op.extents.extent].reshape(shape_of(op.result))


def _oracle_scatter_max(op: index.ScatterMaxOp, updates: Array, indices: Array) -> Array:
    wide = widen(updates) if updates.dtype.kind not in "iu" else updates.astype(np.int64)
    found, where, flat = _places(np, op, wide, convert(indices, np.dtype(np.int64)))
    combine = np.maximum if op.smallest is None else np.minimum
    found[...] = _identity(op, updates.dtype)
    combine.at(found, where, flat)
    return found.reshape(shape_of(op.result))


def _identity(op: index.ScatterMaxOp, dtype: Any) -> Any:
    if np.dtype(dtype).kind not in "iu":
        return -np.inf if op.smallest is None else np.inf
    info = np.iinfo(dtype)
    return info.min if op.smallest is None else info.max


def _jax_scatter_max(op: index.ScatterMaxOp, updates: Any, indices: Any) -> Any:
    zeros, where, flat = _places(jnp, op, updates, indices.astype(jnp.int64))
    at = jnp.full_like(zeros, _identity(op, updates.dtype)).at[where]
    return (at.max(flat) if op.smallest is None else at.min(flat)).reshape(shape_of(op.result))


def _oracle_bisect(op: index.BisectOp, table: Array, x: Array) -> Array:
    found = np.zeros(x.shape, np.int64)
    side = "right" if op.left is None else "left"
    for at in np.ndindex(table.shape[:-1]):
        found[at] = np.searchsorted(table[at], x[at], side=side)
    return found


def _jax_scatter_add(op: Adding, updates: Any, indices: Any) -> Any:
    total, where, flat = _places(jnp, op, updates, indices.astype(jnp.int64))
    return total.at[where].add(flat).reshape(shape_of(op.result))


def _oracle_topk(op: index.TopkOp, x: Array) -> Array:
    """By a sort of the row from behind: NaN, infinity and the larger numbers first, equal ones by position."""
    wide = widen(x) if x.dtype.kind not in "iu" else x.astype(np.int64)
    unordered = np.isnan(wide)
    numbers = np.where(unordered, 0, wide)
    order = np.lexsort((-numbers, ~unordered) if op.smallest is None else (numbers, unordered))
    return order[..., : op.k.value.data]


def _oracle_sort(op: index.SortOp, x: Array) -> Array:
    found = np.sort(widen(x) if x.dtype.kind not in "iu" else x.astype(np.int64), axis=-1)
    return _part(op, found if op.descending is None else found[..., ::-1])


def _part(op: index.SortOp, ordered: Any) -> Any:
    first, count = op.part
    return ordered[..., first : first + count]


def _jax_sort(op: index.SortOp, x: Any) -> Any:
    return _part(op, jnp.sort(x) if op.descending is None else jnp.flip(jnp.sort(x), -1))


def _jax_topk(op: index.TopkOp, x: Any) -> Any:
    k = op.k.value.data
    return lax.top_k(x, k)[1].astype(jnp.int64) if op.smallest is None else jnp.argsort(x, stable=True)[..., :k]


def _running(np_: Any, x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    turned = np_.flip(x, axis) if reverse else x
    n = x.shape[axis]
    if exclusive:
        turned = np_.concatenate([np_.zeros_like(turned), turned], axis)
        turned = np_.take(turned, np_.arange(n - 1, 2 * n - 1) if n else np_.arange(0), axis)
    total = np_.cumsum(turned, axis, dtype=x.dtype)
    return np_.flip(total, axis) if reverse else total


def _oracle_cumsum(op: index.RunningSumOp, x: Array) -> Array:
    return _running(np, widen(x), op.axis_index, op.is_exclusive, op.is_reverse)


def _oracle_cumsum_backward(op: index.RunningSumOp, dy: Array) -> Array:
    return _running(np, widen(dy), op.axis_index, op.is_exclusive, not op.is_reverse)


SAMPLES = (
    *_gather_samples(),
    *_scatter_samples(),
    *_added_samples(),
    *_extreme_samples(),
    *_backward_samples(),
    *_topk_samples(),
    *_sort_samples(),
    *_bisect_samples(),
    *_cumsum_samples(),
    *_cumprod_samples(),
)
ORACLE = {
    index.GatherOp: _oracle_gather,
    index.ScatterAddOp: _oracle_scatter_add,
    index.IndexAddOp: _oracle_index_add,
    index.ScatterMaxOp: _oracle_scatter_max,
    index.GatherBackwardOp: _oracle_scatter_add,
    index.TopkOp: _oracle_topk,
    index.SortOp: _oracle_sort,
    index.BisectOp: _oracle_bisect,
    index.CumsumOp: _oracle_cumsum,
    index.CumsumBackwardOp: _oracle_cumsum_backward,
    index.CumprodOp: lambda op, x: np.multiply.accumulate(widen(x), op.axis_index),
}
JAX = {
    index.GatherOp: lambda op, table, indices: _gather(jnp, op, table, indices.astype(jnp.int64)),
    index.ScatterAddOp: _jax_scatter_add,
    index.IndexAddOp: _jax_index_add,
    index.ScatterMaxOp: _jax_scatter_max,
    index.GatherBackwardOp: _jax_scatter_add,
    index.TopkOp: _jax_topk,
    index.SortOp: _jax_sort,
    index.CumsumOp: lambda op, x: _running(jnp, x, op.axis_index, op.is_exclusive, op.is_reverse),
    index.CumsumBackwardOp: lambda op, x: _running(jnp, x, op.axis_index, op.is_exclusive, not op.is_reverse),
    index.CumprodOp: lambda op, x: lax.cumprod(x, op.axis_index),
}
