"""Deliberate faults, each a change of one place in the package, with the tests that must notice it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A text that occurs once in a file, what stands there instead, and the part of `make test` that is run on it."""

    name: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]
    """Arguments of pytest."""


VJP = "tests/numerics/test_vjp.py"
JVP = "tests/numerics/test_jvp.py"
VMAP = "tests/numerics/test_vmap.py"
LOWERED = "tests/numerics/test_lowered.py"
DECOMPOSE = "tests/numerics/test_decompose.py"
RUNTIME = "tests/lowering/numba/test_runtime.py"
DRIVER = "tests/lowering/numba/test_driver.py"
LOOPS = "tests/lowering/test_loops.py"
TILED = "tests/lowering/test_lir_tile_products.py"
IN_PLACE = "tests/lowering/test_in_place.py"
OUTLINED = ("tests/lowering/test_lir_outline_loops.py", "tests/lowering/test_scan_loop.py")
HOMES = "tests/lowering/test_homes.py"
BRANCH_RUNS = "tests/lowering/test_branches.py"
BRANCH_LOWER = "tests/lowering/test_branch_lower.py"
LANES = "tests/lowering/test_solve_lanes.py"
PARTS = "tests/lowering/test_loop_parts.py"
CACHE = "tests/lowering/numba/test_cache.py"
FUZZ = ("tests/fuzz/test_programs.py", "tests/fuzz/test_products.py")
PLANNER = ("tests/test_filecheck.py", "tests/fuzz/test_programs.py")


def _fault(name: str, path: str, old: str, new: str, *tests: str) -> Fault:
    return Fault(name, path, old, new, tests)


RULES = (
    _fault(
        "what a delta net's key took away has no cotangent",
        "transforms/rules/recurrence.py",
        "lam * d - kept * dv",
        "lam * d",
        VJP,
        "-k",
        "gated_delta_net",
    ),
    _fault(
        "the cotangent of a recurrence's final state is lost",
        "transforms/rules/recurrence.py",
        "b.zeros_like(op.final) if dfinal is None else dfinal",
        "b.zeros_like(op.final)",
        "tests/weaknesses/test_recurrence.py",
    ),
    _fault(
        "the cotangent of the states of each time is lost",
        "transforms/rules/recurrence.py",
        "return (more[0] + left if more else left, da",
        "return (left, da",
        "tests/numerics/test_second_order.py",
        VJP,
        "-k",
        "selective_scan",
    ),
    _fault(
        "a GRU's gate leaves out what the state adds",
        "transforms/rules/hir.py",
        "b.sigmoid(p_r + u_r)",
        "b.sigmoid(p_r)",
        "tests/transforms/test_hir_recurrent.py",
    ),
    _fault(
        "softmax's derivative with a wrong sign",
        "transforms/rules/norm.py",
        "return [weighted - y * b.reduce_sum(weighted",
        "return [weighted + y * b.reduce_sum(weighted",
        VJP,
        "-k",
        "softmax",
    ),
    _fault(
        "a mean's cotangent not divided by the count",
        "transforms/rules/reduce.py",
        "g if _count(op) == 1 else g / float(_count(op))",
        "g",
        VJP,
        "-k",
        "reduce_mean",
    ),
    _fault(
        "every tie of a maximum gets the whole cotangent",
        "transforms/rules/reduce.py",
        "_broadcastable(op, b, g / ties)",
        "_broadcastable(op, b, g)",
        VJP,
        "tests/weaknesses/test_arithmetic.py",
        "-k",
        "reduce_max or reduce_min or ties",
    ),
    _fault(
        "the tangent of a maximum is the sum over ties",
        "transforms/rules/reduce.py",
        "t, 0.0)) / _sum(op, b, b.cast(hit, t.dtype))",
        "t, 0.0))",
        VJP,
        JVP,
        "tests/weaknesses/test_forward_mode.py",
        "-k",
        "reduce_max or reduce_min or ties",
    ),
    _fault(
        "partners swapped in the products of odd extents",
        "transforms/rules/reduce.py",
        "[shared * second, shared * first, b.narrow",
        "[shared * first, shared * second, b.narrow",
        VJP,
        "-k",
        "reduce_prod",
    ),
    _fault(
        "epsilon outside of the root of a layer norm",
        "transforms/rules/norm.py",
        "inv = b.rsqrt(b.reduce_mean(centred * centred, axis, keep_dim=True) + eps)",
        "inv = b.recip(b.sqrt(b.reduce_mean(centred * centred, axis, keep_dim=True)) + eps)",
        DECOMPOSE,
        LOWERED,
        "-k",
        "layer_norm",
    ),
    _fault(
        "the mean of a normalisation's gradient not along the row",
        "transforms/rules/norm.py",
        "(s - n * b.reduce_mean(s * n",
        "(s - b.reduce_mean(s * n",
        VJP,
        "-k",
        "rms_norm",
    ),
    _fault(
        "the conjugate missing from a matrix product's cotangent",
        "transforms/rules/linalg.py",
        "g @ transposed(b, b.conjugate(rhs))",
        "g @ transposed(b, rhs)",
        VJP,
        "-k",
        "matmul",
    ),
    _fault(
        "the causal mask hides a query's own key",
        "transforms/rules/attention.py",
        "high = min(max(at + 1, 0), e.keys)",
        "high = min(max(at, 0), e.keys)",
        DECOMPOSE,
        "-k",
        "attention",
    ),
    _fault(
        "a mask missing from the definition of attention",
        "transforms/rules/attention.py",
        "        z = b.where(seen, z, -inf)\n",
        "        z = b.where(seen, z, z)\n",
        DECOMPOSE,
        "-k",
        "attention",
    ),
    _fault(
        "the cotangent of a running sum runs the same way",
        "transforms/rules/index.py",
        "return [b.cumsum(g, op.axis.value.data, op.is_exclusive, not op.is_reverse)]",
        "return [b.cumsum(g, op.axis.value.data, op.is_exclusive, op.is_reverse)]",
        VJP,
        "-k",
        "cumsum",
    ),
    _fault(
        "axes of a contraction's batch swapped",
        "transforms/rules/linalg.py",
        "at = len(left.batch) + (0 if batched[0] else len(left.free))",
        "at = len(left.batch) + (len(left.free) if batched[0] else 0)",
        VMAP,
        "-k",
        "dot_general",
    ),
    _fault(
        "a batch of indices moved to the wrong axis",
        "transforms/rules/index.py",
        "move_axis(b, indices, 0, dims), axis, dims), axis, 0)",
        "move_axis(b, indices, 0, dims), axis, dims), dims, 0)",
        "tests/weaknesses/test_vmap.py",
    ),
    _fault(
        "only the last user's cotangent counts",
        "transforms/engines/reverse.py",
        "_plus(cotangents.get(operand), grad, builder)",
        "grad",
        VJP,
        "tests/face",
        "-k",
        "softmax or grad",
    ),
    _fault(
        "a result that has no batch axis is said to have one",
        "transforms/engines/batch.py",
        "return new if old in self.batched else lift(self.b, self.b.value(new), self.size).ssa",
        "return new",
        "tests/face/test_vmap.py",
        "tests/transforms/test_mir_vmap.py",
    ),
)

BRANCHES = (
    _fault(
        "a batch takes the branch that was not chosen",
        "transforms/rules/branch.py",
        "b.where(align(b, predicate, on_true.rank - 1), on_true, on_false)",
        "b.where(align(b, predicate, on_true.rank - 1), on_false, on_true)",
        "tests/transforms/test_branch.py",
        "-k",
        "batches and both",
    ),
    _fault(
        "a loop that is done in a batch goes on counting",
        "transforms/rules/branch.py",
        "body.b.add(trips, body.b.cast(active, i32))",
        "body.b.add(trips, 1)",
        "tests/transforms/test_branch.py",
        "-k",
        "batches and counted",
    ),
    _fault(
        "a binary search that goes too far down",
        "transforms/rules/branch.py",
        "b.lt(index, middle)",
        "b.le(index, middle)",
        "tests/dialects/test_branch.py",
    ),
    _fault(
        "the cotangent of a value that goes in twice is given twice",
        "transforms/rules/branch.py",
        "total = totals.pop(x, None)",
        "total = totals.get(x)",
        "tests/transforms/test_branch.py",
        "-k",
        "twice",
    ),
    _fault(
        "a loop with a bound, unrolled, goes past it",
        "transforms/rules/branch.py",
        "draft = Draft(op.most, False)",
        "draft = Draft(op.most + 1, False)",
        "tests/transforms/test_branch.py",
        "-k",
        "jax and until",
    ),
    _fault(
        "a carry goes that only a condition reads",
        "transforms/canonicalize/bodies.py",
        " or asking[k] in asked}",
        "}",
        "tests/test_filecheck.py",
        "-k",
        "bodies_canonicalize",
    ),
    _fault(
        "a branch that is known is the other one",
        "transforms/canonicalize/bodies.py",
        "op.branches[0 if known else 1]",
        "op.branches[1 if known else 0]",
        "tests/test_filecheck.py",
        "-k",
        "bodies_canonicalize",
    ),
)

RULES_OF_FUNCTIONS = (
    _fault(
        "a rule of a batch adds up no cotangents of what is the same for all",
        "transforms/rules/custom_fn.py",
        "g if batched[i] else body.b.reduce_sum(g, 0)",
        "g if batched[i] else body.b.reduce_mean(g, 0)",
        "tests/transforms/test_custom_fn.py",
        "-k",
        "batches and several",
    ),
    _fault(
        "a result that is the same for all has one cotangent",
        "transforms/rules/custom_fn.py",
        "body, batch = of_batch(op.vjp.block, more, [True] * len(more))",
        "body, batch = of_batch(op.vjp.block, more, [False] * len(more))",
        "tests/transforms/test_custom_fn.py",
        "-k",
        "batch",
    ),
    _fault(
        "loops behind a rule are unrolled",
        "transforms/mir_unroll_while.py",
        " and not is_behind_a_rule(op)",
        "",
        "tests/transforms/test_custom_fn.py",
        "-k",
        "behind",
    ),
    _fault(
        "a value from around a rule has a gradient of zero",
        "transforms/rules/custom_fn.py",
        "*(partial(_refuse, op, x) if",
        "*(partial(b.zeros_like, x) if",
        "tests/dialects/test_custom_fn.py",
    ),
    _fault(
        "the regions of a batch in the other order",
        "transforms/rules/region.py",
        "for x in op.inputs]",
        "for x in reversed(op.inputs)]",
        "tests/numerics/test_decompose.py",
        "-k",
        "batch_elementwise",
    ),
)

LOWERING = (
    _fault(
        "blocks that leave a rest are taken for whole ones",
        "lowering/group_kernel.py",
        "if size % n == 0), None)",
        "if size % n < 64), None)",
        "tests/weaknesses/test_sums.py",
    ),
    _fault(
        "loops of a row taken apart by the extent of another",
        "lowering/row_kernel.py",
        "extent = self.group.space.extents[loop]",
        "extent = self.group.space.extents[loops[0]]",
        "tests/test_corner_cases.py",
    ),
    _fault(
        "a loop that runs twice taken for its body",
        "lowering/nest.py",
        "0 < end - first <= step:",
        "0 < end - first <= 2 * step:",
        LOWERED,
        "-k",
        "reduce",
    ),
    _fault(
        "the row of a batched product without its matrix",
        "lowering/row_kernel.py",
        "(nest.scalars.of(batch) * m + nest.scalars.of(i)).value",
        "(nest.scalars.of(batch) + nest.scalars.of(i)).value",
        "tests/fuzz/test_products.py",
    ),
    _fault(
        "accumulators of columns not cleared",
        "lowering/column_kernel.py",
        "            clear(nest, at)\n",
        "",
        LOWERED,
        "-k",
        "reduce",
    ),
    _fault(
        "the last block of a long column not added to its total",
        "lowering/column_kernel.py",
        "            if long:\n                flush(nest, at)\n",
        "",
        "tests/weaknesses/test_sums.py",
    ),
    _fault(
        "a large argument of the sine forgotten when a small one follows",
        "lowering/guard_range.py",
        "(inside.of(flags[type]) | inside.cast(is_large, type)).value",
        "inside.cast(is_large, type).value",
        "tests/lowering/test_guard_range.py",
    ),
    _fault(
        "a loop that reads what it writes runs twice",
        "lowering/guard_range.py",
        "return not loaded & stored",
        "return True",
        "tests/lowering/test_guard_range.py",
    ),
    _fault(
        "BLAS told that a transposed factor is not",
        "lowering/numba/gemm.py",
        "return self.col_stride != 1 and self.cols != 1",
        "return self.col_stride != 1 and self.cols != 1 and self.rows > self.cols",
        "tests/fuzz/test_products.py",
        LOWERED,
        "-k",
        "matmul or product",
    ),
    _fault(
        "a batched factor taken for a matrix",
        "lowering/products.py",
        "if any(n != 1 for n in rhs.shape[:-2]) or prod",
        "if prod",
        "tests/fuzz/test_products.py",
        LOWERED,
        "-k",
        "matmul or product",
    ),
    _fault(
        "attention's window one key too wide",
        "lowering/nests/attention.py",
        "s.minimum(s.maximum(at - self.window, 0), high)",
        "s.minimum(s.maximum(at - self.window - 1, 0), high)",
        LOWERED,
        "-k",
        "attention",
    ),
    _fault(
        "of equal pivots the last is chosen, among matrices side by side",
        "lowering/nests/solve_lanes.py",
        "s.select(here > before, number, chosen)",
        "s.select(here < before, chosen, number)",
        LANES,
    ),
    _fault(
        "matrices side by side of which those behind the end of a batch are read",
        "lowering/nests/solve_lanes.py",
        "number if self.batch % self.lanes == 0 else s.minimum(number, self.batch - 1)",
        "number",
        LANES,
        "-k",
        "inside",
    ),
    _fault(
        "matrices side by side whose finished lines are not interchanged",
        "lowering/nests/solve_lanes.py",
        "inside.each((zero, k), ",
        "inside.each((k, k), ",
        LANES,
    ),
    _fault(
        "matrices side by side divided by a pivot of zero",
        "lowering/nests/solve_lanes.py",
        "s.select(s.eq(pivot, 0.0), 1.0, pivot)",
        "pivot",
        LANES,
    ),
)

PLACES = (
    _fault(
        "the stack of a carry begins a place too late",
        "lowering/scan_loop.py",
        "first = layout.strides[0] if after != self.reverse else 0",
        "first = layout.strides[0] if after or self.reverse else 0",
        HOMES,
    ),
    _fault(
        "what one branch has stored twice is taken for stored in the other",
        "lowering/convert_mir_to_lir.py",
        "self.block, self.views, self.homes.filled = outer, views, filled",
        "self.block, self.views = outer, views",
        HOMES,
    ),
    _fault(
        "a product is computed into lines with gaps",
        "lowering/homes.py",
        "return PRODUCT.get(type(owner)) is None and REDUCTION.get(type(owner)) is None",
        "return REDUCTION.get(type(owner)) is None",
        HOMES,
    ),
    _fault(
        "a value is wanted where a slice of it is",
        "lowering/homes.py",
        "prod(extents) != prod(place.layout.shape) or ",
        "",
        "tests/lowering/test_scan_loop.py",
        "-k",
        "rounded",
    ),
    _fault(
        "what others read goes into lines with gaps alone",
        "lowering/convert_mir_to_lir.py",
        "if not self.homes.of(part) and not place.is_contiguous and not is_only_placed(part):",
        "if False:",
        "tests/test_filecheck.py",
    ),
    _fault(
        "a sum behind a loop is over the wrong axes",
        "transforms/mir_fission_scans.py",
        "[0, *(axis + 1 for axis in term.axis_list)]",
        "[*term.axis_list, len(shape_of(operands[0])) - 1]",
        "tests/transforms/test_fission_scans.py",
    ),
)

OUTLINE = (
    _fault(
        "parts that read what other parts write",
        "lowering/loop_parts.py",
        "if not _stays_inside(kernel, iterations, owned):",
        "if not owned:",
        PARTS,
    ),
    _fault(
        "a part of a launch moved along what it reads by the iterations of the whole",
        "lowering/lir_outline_loops.py",
        "launch.extent.value.data // self.parts.count)",
        "launch.extent.value.data)",
        PARTS,
    ),
    _fault(
        "all parts change the places of the carries of the first",
        "lowering/lir_outline_loops.py",
        "(deep.scalars.of(ahead[size]) + deep.scalars.of(i)).value if count > 1 else i",
        "i",
        PARTS,
    ),
    _fault(
        "halves change places after the last iteration too",
        "lowering/lir_outline_loops.py",
        "        if last % 2:\n",
        "        if self.loop.count:\n",
        *OUTLINED,
    ),
    _fault(
        "a carry is stored over one that is still to be read",
        "lowering/in_place.py",
        "or any(x.memref is old for x in behind)",
        "",
        IN_PLACE,
    ),
    _fault(
        "a carry is stored over elements that others are computed from",
        "lowering/in_place.py",
        " or any([*x.indices] != [index] for x in touched[last])",
        "",
        IN_PLACE,
    ),
    _fault(
        "what is stored over a carry is looked for where it was",
        "lowering/in_place.py",
        "for op in (*stores, *behind):",
        "for op in stores:",
        IN_PLACE,
    ),
    _fault(
        "loops are merged whose lines are apart",
        "lowering/merge_loops.py",
        " and constant_index(op.rhs) == width for op in products)",
        " for op in products)",
        IN_PLACE,
        *OUTLINED,
    ),
    _fault(
        "an outlined loop in reverse runs forwards",
        "lowering/lir_outline_loops.py",
        "if self.loop.reverse is not None:\n            index =",
        "if self.loop.count < 0:\n            index =",
        *OUTLINED,
    ),
    _fault(
        "a kernel's buffers may be the same memory",
        "lowering/lir_outline_loops.py",
        "return len({*roots}) == len(roots) and not {*roots} & {*others}",
        "return True",
        *OUTLINED,
    ),
    _fault(
        "pieces in order run side by side",
        "lowering/numba/program.py",
        "return self.in_order or self.chunks == 1",
        "return self.chunks == 1",
        *OUTLINED,
    ),
)
TILES = (
    _fault(
        "sums into a buffer take the columns at the edge twice",
        "lowering/tiles.py",
        "if not self.goes_on and self.columns >=",
        "if self.columns >=",
        TILED,
    ),
    _fault(
        "rows behind the last whole tile of an uneven piece are left out",
        "lowering/tiles.py",
        "        if height > 1:\n            rest =",
        "        if height > 99:\n            rest =",
        TILED,
    ),
    _fault(
        "a panel that is copied has the columns of the first one",
        "lowering/tiles.py",
        "deep.load(op.b, [*op.b_indices, k, place]), copy, [line, j])",
        "deep.load(op.b, [*op.b_indices, k, j]), copy, [line, j])",
        TILED,
    ),
)
FUSION = (
    _fault(
        "reductions over other axes are taken for the same",
        "transforms/simplify.py",
        "op.operand, op.axes, frozenset",
        "op.operand, frozenset",
        "tests/transforms/test_canonicalize.py",
    ),
    _fault(
        "rows of a block share what waits of them",
        "lowering/short_row_kernel.py",
        "frame.nest.store(x, self.waiting[value], [frame.indices[LANE]])",
        "frame.nest.store(x, self.waiting[value], [self.kernel.index(0)])",
        "tests/lowering/test_short_rows.py",
    ),
    _fault(
        "what short rows bring side by side is read from the first row",
        "lowering/row_kernel.py",
        "lanes = [LANE] if self.lanes else []",
        "lanes = [self.group.inner[0]] if self.lanes else []",
        "tests/lowering/test_short_rows.py",
    ),
    _fault(
        "two fusions with a number each have a kernel each",
        "transforms/share_bodies.py",
        "if len(set(values)) > 1]",
        "if len(set(values)) > 2]",
        "tests/transforms/test_share_bodies.py",
    ),
    _fault(
        "clusters merge across one that has to run in between",
        "transforms/clusters.py",
        "(first.after & second.before | second.after & first.before) & ~both",
        "(second.after & first.before) & ~both",
        "tests/test_filecheck.py",
        *FUZZ,
    ),
    _fault(
        "a product fused with what makes its operand",
        "transforms/clusters.py",
        "    if any(operand.owner in first.ops or operand.owner in second.ops "
        "for op in products for operand in op.operands):\n"
        "        return None\n",
        "",
        *FUZZ,
    ),
    _fault(
        "an output that each row writes again",
        "transforms/clusters.py",
        "if not required <= loops or (rank and not loops):",
        "if rank and not loops:",
        LOWERED,
        *FUZZ,
        "-k",
        "softmax or reduce or layer_norm or program",
    ),
    _fault(
        "a value computed again from operands that are nowhere in memory",
        "transforms/clusters.py",
        "        return value in cluster.outputs\n",
        "        return True\n",
        "tests/test_filecheck.py",
        *FUZZ,
    ),
)

PLAN = (
    _fault(
        "liveness too short by one",
        "lowering/lir_plan_memory.py",
        "if o.first <= slot.last and slot.first <= o.last]",
        "if o.first < slot.last and slot.first < o.last]",
        *PLANNER,
    ),
    _fault(
        "a slot lies in an output that the same launch writes",
        "lowering/lir_plan_memory.py",
        "if slot.last >= self.until:",
        "if slot.last > self.until:",
        *PLANNER,
    ),
    _fault(
        "a slot after another one, not aligned",
        "lowering/lir_plan_memory.py",
        "free = max(free, -(-(other.at + other.size) // alignment) * alignment)",
        "free = max(free, other.at + other.size)",
        *PLANNER,
    ),
)

RUNNING = (
    _fault(
        "no barrier before a launch that reads what was written",
        "lowering/numba/build.py",
        "            independent = bool(writes) and not (\n                _overlap(own_reads, writes) or ",
        "            independent = bool(writes) and not (\n                ",
        "tests/lowering/numba/test_build.py",
    ),
    _fault(
        "no barrier before a launch that writes what is being read",
        "lowering/numba/build.py",
        "_overlap(own_writes, writes) or _overlap(own_writes, reads)",
        "_overlap(own_writes, writes)",
        "tests/lowering/numba/test_build.py",
    ),
    _fault(
        "a view's offset in elements where bytes are meant",
        "dialects/lir/places.py",
        "begin = source.start + op.offset.value.data * size",
        "begin = source.start + op.offset.value.data",
        LOWERED,
        "-k",
        "narrow or concat or transpose",
    ),
    _fault(
        "two launches of an iteration that may meet run side by side",
        "dialects/lir/places.py",
        "return ahead * one.stride, (ahead - one.period) * one.stride",
        "return (ahead * one.stride,)",
        "tests/lowering/numba/test_build.py",
    ),
    _fault(
        "a slot around a loop lives from its first use in it",
        "dialects/lir/liveness.py",
        "life.first = self.time if loop is None else loop.begin",
        "life.first = self.time",
        *PLANNER,
    ),
    _fault(
        "a slot around a loop lives to its last use in it",
        "dialects/lir/liveness.py",
        "                    life.last = self.time\n",
        "                    pass\n",
        *PLANNER,
    ),
    _fault(
        "a moving argument stays one iteration too long before it wraps around",
        "lowering/numba/phases.py",
        "top = stride * (wraps - 1) if wraps else -1",
        "top = stride * wraps if wraps else -1",
        LOOPS,
    ),
    _fault(
        "a carry of a while is written while others are still computed from it",
        "lowering/branch_lower.py",
        "into.room(shape_of(last[n]), element_of(last[n]), last[n])) for n",
        "places[n]) for n",
        BRANCH_LOWER,
    ),
    _fault(
        "a while goes on once more than max_iterations",
        "transforms/rules/trips.py",
        "(inside.value(count) < op.most)",
        "(inside.value(count) <= op.most)",
        BRANCH_LOWER,
    ),
    _fault(
        "a predicate is asked with the bytes behind it",
        "lowering/numba/driver_code.py",
        "if peek8(peek(bases",
        "if peek(peek(bases",
        BRANCH_RUNS,
    ),
    _fault(
        "a predicate stays where the first iteration has it",
        "lowering/numba/build.py",
        "place.start, tuple(_moves(0, place, loops))",
        "place.start, ()",
        BRANCH_RUNS,
    ),
    _fault(
        "what one branch writes counts as written behind both",
        "dialects/lir/schedule.py",
        "both = then & self.written",
        "both = then | self.written",
        "tests/test_filecheck.py",
    ),
    _fault(
        "a loop that was short before is waited for",
        "lowering/numba/driver_code.py",
        "if brief != 0 and peek(phase",
        "if brief > 1 and peek(phase",
        "tests/lowering/test_interrupts.py",
    ),
    _fault(
        "a signal handler's exception is kept until the loop is through",
        "lowering/numba/interrupts.py",
        "            stop()\n",
        "",
        "tests/lowering/test_interrupts.py",
    ),
    _fault(
        "an argument goes on from where the last run left it",
        "lowering/numba/driver_code.py",
        "        if begins:\n            new = peek(patch + PATCH_START)\n        elif",
        "        if",
        LOOPS,
    ),
    _fault(
        "the last chunk runs past the end",
        "lowering/numba/driver_code.py",
        "invoke(kernel, bases, arguments, low, min(low + chunk, extent))",
        "invoke(kernel, bases, arguments, low, low + chunk)",
        RUNTIME,
        DRIVER,
    ),
    _fault(
        "a worker leaves out the last chunk of a ticket",
        "lowering/numba/driver_code.py",
        "run_chunks(phase, bases, first, min(first + granule, peek(phase + PHASE_CHUNKS)))",
        "run_chunks(phase, bases, first, min(first + granule, peek(phase + PHASE_CHUNKS) - 1))",
        RUNTIME,
        DRIVER,
    ),
    _fault(
        "arrays that are not contiguous read as they lie",
        "lowering/numba/driver_code.py",
        " or peek32(value + ARRAY_FLAGS) & flags != flags:",
        ":",
        RUNTIME,
        "tests/face/test_api.py",
    ),
    _fault(
        "the first extent of an argument not compared",
        "lowering/numba/driver_code.py",
        "    for axis in range(rank):\n        if peek(shape + 8 * axis)",
        "    for axis in range(1, rank):\n        if peek(shape + 8 * axis)",
        RUNTIME,
        "tests/test_errors.py",
    ),
    _fault(
        "a result that starts inside of an argument is no overlap",
        "lowering/numba/driver_code.py",
        "(other < data + size) & (data < other + peek(arguments + index * SPEC_SIZE + SPEC_BYTES))",
        "(other == data) & (data < other + peek(arguments + index * SPEC_SIZE + SPEC_BYTES))",
        RUNTIME,
        "tests/face/test_api.py",
    ),
    _fault(
        "workers keep the float modes of the thread that made them",
        "lowering/numba/driver_code.py",
        "    load_float_state(time)\n    idle_since = 0\n",
        "    idle_since = 0\n",
        RUNTIME,
        DRIVER,
        "tests/test_concurrency.py",
    ),
)

KEYS = (
    _fault(
        "a key without element types",
        "lowering/numba/build.py",
        'self.hash.update(b"%d:" % self._number(value) + self._text(value.type))',
        'self.hash.update(b"%d:" % self._number(value))',
        "tests/lowering/numba/test_fingerprint.py",
    ),
    _fault(
        "a key without the elements of constants",
        "lowering/numba/build.py",
        'return self._text(dense.type) + b"<" + dense.data.data + b">"',
        'return self._text(dense.type) + b"<>"',
        "tests/lowering/numba/test_fingerprint.py",
    ),
    _fault(
        "a key without the number of threads",
        "lowering/numba/compilation.py",
        "[source, str(count), backend, *checked]",
        "[source, backend, *checked]",
        "tests/lowering/numba/test_fingerprint.py",
    ),
    _fault(
        "the newest entries are deleted first",
        "lowering/numba/cache.py",
        "in sorted(entries):",
        "in sorted(entries, reverse=True):",
        CACHE,
    ),
)

FAULTS: tuple[Fault, ...] = (
    *RULES,
    *BRANCHES,
    *RULES_OF_FUNCTIONS,
    *LOWERING,
    *PLACES,
    *OUTLINE,
    *TILES,
    *FUSION,
    *PLAN,
    *RUNNING,
    *KEYS,
)
