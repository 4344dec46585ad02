"""The pass `mir-fission-scans`: products and sums that need no carry leave the loop, for one over all times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xdsl_rlx.dialects.effects import has_effects, with_effects
from xdsl_rlx.dialects.mir.elementwise import AddOp
from xdsl_rlx.dialects.mir.index import ScatterAddOp
from xdsl_rlx.dialects.mir.linalg import DotGeneralOp, MatmulOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.reduce import ReduceSumOp
from xdsl_rlx.dialects.mir.scan import ScanOp, ops_of_body
from xdsl_rlx.dialects.mir.shape import TransposeOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.checkpoints import runs_segments
from xdsl_rlx.transforms.driver import RewritingPass, is_constant, is_elementwise, is_view, sweep
from xdsl_rlx.transforms.engines.batch import Batch
from xdsl_rlx.transforms.engines.residuals import bytes_of
from xdsl_rlx.transforms.engines.reverse import has_derivative
from xdsl_rlx.transforms.rules.bodies import backward_slice, needed_carries
from xdsl_rlx.transforms.rules.scan import Draft

WIDE = 1 << 10
"""Elements of each time from which on they are summed behind the loop: fewer are added up in passing, inside of it."""

CACHED = 1 << 18
"""Bytes of all times that products may stack whatever the loop needs: they stay in a cache of the second level."""

FRACTION = 4
"""Products may stack a part of 1 / FRACTION of the bytes that one iteration works on."""

RECURRENT = 8
"""Bytes that products of a recurrence may stack for each byte of the elements that it goes along. The gates of an LSTM
take four times as many as its state, which is often twice as wide as an element."""


class MirFissionScansPass(RewritingPass):
    """
    Move work that depends on no carry out of a `mir.scan`: inputs in front of it, sums and stacks behind it.

    ```mlir
    scan {h = tanh(h @ w + x[t] @ u)}        ->  xu = x @ u;  scan {h = tanh(h @ w + xu[t])}
    scan {sum = sum + a[t]^T g; ..}          ->  scan {..} stacked g;  sum = sum + a^T g, over t too
    scan {sum = sum + scatter(g, i[t]); ..}  ->  scan {..} stacked g;  sum = sum + scatter(g, i), over t too
    ```

    Moves matmuls, sums of scatters, loop-invariant ops, and sums of large values that are stacked anyway. Removes
    unused results and carries.

    A matmul moves only if the operands it must stack fit a bound. The bound is the bytes the loop stacks anyway plus a
    fraction of the bytes one iteration uses. In a recurrence, a multiple of the bytes it scans over is added. So
    gradient accumulation over micro-batches keeps the memory of one. In loops with `checkpoints`, or over recomputed
    segments, all matmuls stay.
    """

    name = "mir-fission-scans"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return sweep(module, SplitScan(), inner_first=True)


class SplitScan(RewritePattern):
    """A scan becomes a smaller one, with what leaves it in front of it and behind."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ScanOp, rewriter: PatternRewriter) -> None:
        if op.times > 1:
            _Fission(op).run(rewriter)


@dataclass(frozen=True)
class _Sum:
    """A carry that only adds up: `carry = carry + term`, of a product or of `reduce_sum` of what is stacked anyway."""

    carry: int
    term: Operation

    @property
    def is_product(self) -> bool:
        return _is_product(self.term) or isinstance(self.term, ScatterAddOp)


class _Fission:
    """One scan on its way to a smaller one, with what stands in front of it and behind."""

    def __init__(self, op: ScanOp):
        self.op = op
        n, m = len(op.init), len(op.init) + len(op.xs)
        args = op.body.block.args
        self.carries, self.elements, self.captured = args[:n], args[n:m], args[m:]
        self.ops = [inner for inner in ops_of_body(op) if inner.results]
        self.effects = with_effects(ops_of_body(op))
        self.same = self._reached(self.captured, ())
        """Values that are the same each time."""
        self.free = self._reached(self.captured, self.elements)
        """Values that hang on no carry."""
        self.products = self._within_bound()
        """The products that may leave."""
        self.sums = [found for k in range(n) if (found := self._sum(k)) is not None]
        self.ys = [k for k in range(n, len(op.last.values)) if self._is_late(op.last.values[k].owner)]
        """Numbers of yielded values that are products behind the loop."""

    def _saves_memory(self) -> bool:
        """Whether nothing of all times is to be kept for the sake of time."""
        return self.op.kept is not None or runs_segments(self.op)

    def _within_bound(self) -> set[Operation]:
        """The products that may leave: in their order, those that fit into the bytes that may be stacked."""
        op, found = self.op, set[Operation]()
        if self._saves_memory():
            return found
        left, yielded = self._bound(), op.last.values[len(op.init) :]
        there = {*self.same, *self.elements, *yielded}
        summed = [x for y in op.last.values[: len(op.init)] if isinstance(y.owner, AddOp) for x in y.owner.operands]
        for product in self.ops:
            result = product.results[0]
            scatters = isinstance(product, ScatterAddOp) and result in summed and result not in self.free
            leaves = result in self.free or result in summed or result in yielded
            if not scatters and not (_is_product(product) and leaves):
                continue
            # what is computed in front of the loop is computed from others there
            needed = backward_slice([result], there) if result in self.free else ()
            together = [x for x in self.ops if x.results[0] in needed and not _is_cheap(x)]
            if self._stays(together, there | {result}):
                continue
            stored = [self._base(x) for one in (*together, product) for x in one.operands]
            stored += [one.results[0] for one in together]
            more = [x for x in dict.fromkeys(stored) if x not in there]
            # a loop that scatters goes over the whole of what it adds to, each time
            size = sum(map(bytes_of, more)) * op.times - (bytes_of(result) if scatters else 0)
            if size <= left:
                left -= max(size, 0)
                there.update(more)
                found.add(product)
        return found

    def _stays(self, ops: Sequence[Operation], known: set[SSAValue]) -> bool:
        """Whether the loop needs one of these, which is no product, for itself too: it would be computed twice."""
        others = [op for op in ops if not _is_product(op) and not isinstance(op, ScatterAddOp)]
        values = [*self.op.last.values, *self._read_by_effects()]
        inside = backward_slice(values, known - {*self.op.last.values}) if others else ()
        return any(op.results[0] in inside for op in others)

    def _bound(self) -> int:
        """The bytes of all times that products may stack."""
        op = self.op
        results = [x for inner in self.ops if not is_view(inner) for x in inner.results]
        iteration = sum(map(bytes_of, {*op.body.block.args, *results}))
        stacked = sum(bytes_of(y) for y in op.ys if y.first_use is not None)
        along = sum(map(bytes_of, {*op.xs})) if self._is_recurrence() else 0
        return max(CACHED, iteration // FRACTION) + stacked + RECURRENT * along

    def _is_recurrence(self) -> bool:
        """Whether a product, or an op with a body, hangs on a carry: then each iteration waits for the one before."""
        hanging: set[SSAValue] = {*self.carries}
        for op in self.ops:
            if not hanging.isdisjoint(op.operands):
                if _is_product(op) or op.regions:
                    return True
                hanging.update(op.results)
        return False

    def _reached(self, captured: Iterable[SSAValue], elements: Iterable[SSAValue]) -> set[SSAValue]:
        found = {*captured, *elements}
        for op in self.ops:
            if not op.regions and not has_effects(op) and all(x in found for x in op.operands):
                found.update(op.results)
        return found

    def _sum(self, number: int) -> _Sum | None:
        value = self.op.last.values[number]
        add, carry = value.owner, self.carries[number]
        if not isinstance(add, AddOp) or carry not in add.operands or not (carry.has_one_use() and value.has_one_use()):
            return None
        (added,) = [x for x in add.operands if x is not carry]
        term = added.owner
        if added.type != carry.type or not isinstance(term, Operation) or not has_derivative(added):
            return None
        if not self._is_late(term) and not (isinstance(term, ReduceSumOp) and not self._saves_memory()):
            return None
        return _Sum(number, term) if all(self._base(x) not in self.same for x in term.operands) else None

    def _is_late(self, op: object) -> bool:
        """Whether an op may be computed for all times behind the loop: a product of what can be stacked."""
        return isinstance(op, Operation) and op in self.products and op.results[0] not in self.free

    def _base(self, value: SSAValue) -> SSAValue:
        """What a value is a view of, within the body."""
        owner = value.owner
        while isinstance(owner, Operation) and is_view(owner):
            value = owner.operands[0]
            owner = value.owner
        return value

    def _needed(self) -> tuple[set[int], set[int], set[SSAValue]]:
        """The carries and the yielded results that stay, and the values of the body that they are computed from."""
        n = len(self.op.init)
        summed = {found.carry for found in self.sums}
        carries = {k for k in range(n) if self.op.carries[k].first_use is not None} - summed
        ys = {k for k in range(n, len(self.op.last.values)) if self.op.ys[k - n].first_use is not None} - {*self.ys}
        others = [*(self.op.last.values[k] for k in ys), *self._stacked(), *self._read_by_effects()]
        carries, needed = needed_carries(self.carries, self.op.last.values, carries, others)
        return carries, ys, needed

    def _read_by_effects(self) -> list[SSAValue]:
        """What ops read that stay for their effects."""
        return [x for op in self.effects for x in op.operands]

    def _used_sums(self) -> list[_Sum]:
        return [found for found in self.sums if self.op.carries[found.carry].first_use is not None]

    def _late(self) -> list[Operation]:
        """The products behind the loop that something is computed from."""
        n = len(self.op.init)
        late = [found.term for found in self._used_sums() if found.is_product]
        for k in self.ys:
            owner = self.op.last.values[k].owner
            if self.op.ys[k - n].first_use is not None and isinstance(owner, Operation):
                late.append(owner)
        return list(dict.fromkeys(late))

    def _stacked(self) -> list[SSAValue]:
        """What the products behind the loop need of each time, and do not find outside."""
        bases = dict.fromkeys(self._base(x) for product in self._late() for x in product.operands)
        return [x for x in bases if x not in self.same and x not in self.elements]

    def _moves(self, op: Operation) -> bool:
        """Whether an op that hangs on no carry is worth a place in memory: a product, or what is the same each time."""
        if op.results[0] in self.same:
            return not is_constant(op) and (not is_view(op) or isinstance(op, TransposeOp))
        return op in self.products

    def _is_there(self, value: SSAValue) -> bool:
        """Whether a value of each time is outside of the loop anyway, and large."""
        base, n = self._base(value), len(self.op.init)
        if prod(shape_of(value)) < WIDE:
            return False
        kept = [x for x, y in zip(self.op.last.values[n:], self.op.ys, strict=True) if y.first_use is not None]
        return base in self.elements or base in self._stacked() or base in kept

    def _settle(self) -> None:
        """Give up what the loop itself needs: a carry that others read, a product that goes on."""
        while True:
            carries, _, needed = self._needed()
            sums = [s for s in self.sums if s.carry not in carries and s.term.results[0] not in needed]
            sums = [s for s in sums if s.is_product or self._is_there(s.term.operands[0])]
            ys = [k for k in self.ys if self.op.last.values[k] not in needed]
            if len(sums) == len(self.sums) and len(ys) == len(self.ys):
                return
            self.sums, self.ys = sums, ys

    def run(self, rewriter: PatternRewriter) -> None:
        """Replace the scan, if there is something to take out."""
        self._settle()
        op, n = self.op, len(self.op.init)
        carries, kept, needed = self._needed()
        early = [x for x in self.ops if x.results[0] in needed and x.results[0] in self.free and self._moves(x)]
        unused = len(carries) < n or len(kept) < len(op.ys)
        if not early and not unused and not self.sums and not self.ys:
            return
        values = self._rebuild(MirBuilder(rewriter), sorted(carries), sorted(kept), early)
        rewriter.replace(op, [], [value.ssa for value in values])

    def _batch(self, b: MirBuilder) -> Batch:
        """Values for all times: those of `xs` have a leading axis, those that are captured none."""
        batch = Batch(self.op.times, b)
        batch.values |= dict(zip(self.elements, self.op.xs, strict=True))
        batch.batched |= {*self.elements}
        batch.values |= dict(zip(self.captured, self.op.captured, strict=True))
        return batch

    def _copy(self, batch: Batch, value: SSAValue) -> SSAValue:
        """The value for all times, with what it is computed from."""
        wanted = backward_slice([value], batch.values)
        batch.copy([op for op in self.ops if not wanted.isdisjoint(op.results)])
        return batch.values[value]

    def _rebuild(self, b: MirBuilder, carries: list[int], kept: list[int], early: list[Operation]) -> list[Value]:
        op, n, last = self.op, len(self.op.init), self.op.last.values
        draft = Draft.along(op)
        env: dict[SSAValue, SSAValue] = dict(zip(self.captured, op.captured, strict=True))
        env |= {self.carries[k]: draft.carry(op.init[k]) for k in carries}
        before = self._batch(b)
        for inner in early:
            value = inner.results[0]
            outside = self._copy(before, value)
            env[value] = draft.element(outside) if value in before.batched else outside
        wanted = [*(last[k] for k in (*carries, *kept)), *self._stacked(), *self._read_by_effects()]
        inside = backward_slice(wanted, env)
        env |= {arg: draft.element(x) for arg, x in zip(self.elements, op.xs, strict=True) if arg in inside}
        for inner in ops_of_body(op):
            if has_effects(inner) or any(result in inside for result in inner.results):
                draft.b.builder.insert(inner.clone(env))
        there = {last[k]: number for number, k in enumerate(kept)}
        stacked = [x for x in self._stacked() if x not in there]
        scan = draft.finish(b, [env[last[k]] for k in carries], [env[x] for x in (*(last[k] for k in kept), *stacked)])
        results: dict[int, Value] = {k: b.value(x) for k, x in zip(carries, scan.carries, strict=True)}
        results |= {k: b.value(y) for k, y in zip(kept, scan.ys, strict=False)}
        behind = self._batch(b)
        known = {value: scan.ys[number] for value, number in there.items() if value not in behind.values}
        known |= dict(zip(stacked, scan.ys[len(kept) :], strict=True))
        behind.values |= known
        behind.batched |= {*known}
        for k in self.ys:
            if op.ys[k - n].first_use is not None:
                self._copy(behind, last[k])
                results[k] = b.value(behind.with_axis(last[k]))
        for one in self._used_sums():
            operands = [self._copy(behind, x) for x in one.term.operands]
            results[one.carry] = b.add(op.init[one.carry], _over_all_times(b, one.term, operands))
        # nothing uses the others: they go with the op
        return [results.get(k, b.value(x)) for k, x in enumerate(op.results)]


def _is_cheap(op: Operation) -> bool:
    """Whether an op is part of the kernels that read its results."""
    return is_constant(op) or is_view(op) or is_elementwise(type(op))


def _is_product(op: Operation) -> bool:
    if isinstance(op, MatmulOp):
        return all(len(shape_of(x)) == 2 for x in op.operands)
    return isinstance(op, DotGeneralOp)


def _over_all_times(b: MirBuilder, term: Operation, operands: Sequence[SSAValue]) -> Value:
    """The sum of a product or sum over a leading axis of its operands."""
    if isinstance(term, ReduceSumOp):
        total = b.reduce_sum(operands[0], [0, *(axis + 1 for axis in term.axis_list)])
        return b.reshape(total, shape_of(term.result))
    lhs, rhs = operands
    if isinstance(term, ScatterAddOp):
        axis, batch, extent = term.axis_index, term.batch_dims.value.data, term.extent.value.data
        updates, indices = b.moveaxis(lhs, 0, axis), b.moveaxis(rhs, 0, batch)
        return b.op(ScatterAddOp, updates.ssa, indices.ssa, extent, axis, batch)
    if isinstance(term, DotGeneralOp):
        sums, batch = (term.lhs_contracting, term.rhs_contracting), (term.lhs_batch, term.rhs_batch)
        pairs = [[d + 1 for d in side.get_values()] for side in (*sums, *batch)]
    else:
        pairs = [[2], [1], [], []]
    return b.dot_general(lhs, rhs, [0, *pairs[0]], [0, *pairs[1]], pairs[2], pairs[3])
