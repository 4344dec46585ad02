"""Clusters of ops that are to share a kernel, and the merging of them. What becomes of a cluster is in `mir_fuse.py`.

The work of merging two clusters is that of the smaller one, beside what both read and write, which is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.traits import IsTerminator

from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of, shape_of
from xdsl_rlx.lowering.fusion.analysis.bit_sets import BitSet
from xdsl_rlx.lowering.fusion.analysis.equal_parts import Copy, Part, insert_copy, repeat_copies
from xdsl_rlx.lowering.fusion.analysis.iteration_space import Space
from xdsl_rlx.lowering.fusion.analysis.loop_tables import PRODUCT, REDUCTION, VIEW
from xdsl_rlx.lowering.fusion.analysis.nesting import Demand, Reduces, agree, demand_of, rows_of
from xdsl_rlx.lowering.fusion.analysis.repeated_work import RepeatedWork
from xdsl_rlx.lowering.target import FusionCosts
from xdsl_rlx.transforms.driver import is_constant
from xdsl_rlx.transforms.rules.rule_table import SCALAR
from xdsl_rlx.transforms.scalar_cost import DEAR as FUNCTION
from xdsl_rlx.transforms.scalar_cost import scalar_cost

EMPTY = BitSet()


@dataclass(eq=False)
class Cluster:
    """
    Ops that are to share a kernel, and what merging asks of them.

    `members` is the set of the ops' numbers, `name` that of one of them. `before` and `after` have the names of
    all clusters that it depends on and that depend on it, directly or not (and numbers of other members of these).
    `used` counts the uses of values by the ops; `outputs` are the results with uses outside, and how many; `reads` the
    values that come from outside; `demands` what the reductions ask of the nesting. `version` is new at each change.
    """

    ops: set[Operation]
    costs: FusionCosts
    space: Space | None
    products: list[Operation]
    used: dict[SSAValue, int]
    outputs: dict[SSAValue, int]
    reads: set[SSAValue]
    demands: dict[Operation, Demand | None]
    members: BitSet = EMPTY
    name: BitSet = EMPTY
    before: BitSet = EMPTY
    after: BitSet = EMPTY
    again: int = 0
    """Ops that are copies of those of other clusters."""
    calls: int = 0
    """Ops that cost as much as a transcendental function."""
    version: int = 0
    dear: int | None = None
    """The elements of the smallest result that costs more than `max_repeated_additions` each; None if none does."""
    cost: int = 0
    """What its elementwise ops cost for each iteration, in additions."""
    like: Cluster | None = None
    """The cluster of an equal part that is grouped as this one is, of which only `ops` and `space` are known."""

    @staticmethod
    def of(op: Operation, number: int, before: BitSet, costs: FusionCosts) -> Cluster:
        """The cluster of one op."""
        name = BitSet.of(number)
        used: dict[SSAValue, int] = {}
        for operand in op.operands:
            used[operand] = used.get(operand, 0) + 1
        space = None if _stays_outside(op) else Space.of(op)
        is_reduction = space is not None and REDUCTION.get(type(op)) is not None
        cost = scalar_cost(op) if SCALAR.get(type(op)) is not None else 0
        return Cluster(
            {op},
            costs,
            space,
            [op] if PRODUCT.get(type(op)) is not None else [],
            used,
            {result: count for result in op.results if (count := result.uses.get_length())},
            set(used),
            {op: demand_of(space, op, False, costs)} if space is not None and is_reduction else {},
            name,
            name,
            before,
            calls=int(cost >= FUNCTION),
            cost=cost,
            dear=_elements(op) if cost > costs.max_repeated_additions else None,
        )

    def repeats(self, other: Cluster) -> bool:
        """Whether one kernel with a cluster that reads this one's results would compute dear ones several times."""
        if self.dear is None or other.space is None or other.used.keys().isdisjoint(self.outputs):
            return False
        return prod(other.space.extents) >= 2 * self.dear

    def makes_single(self, other: Cluster) -> bool:
        """
        Whether functions of what this one reduces rows to would be computed row by row, in no vectors.

        So they would in one kernel with a cluster of rows alone. It pays where they take long beside the row.
        """
        if other.space is None or self.space is None or other.cost < FUNCTION:
            return False
        rows = prod(other.space.extents)
        kinds = {demand.kind for demand in other.demands.values() if demand is not None}
        if rows < self.costs.min_separate_rows or Reduces.ROW in kinds:
            return False
        reduced = [op.results[0] for op, demand in self.demands.items() if demand is not None]
        if not any(value in other.used and prod(shape_of(value)) == rows for value in reduced):
            return False
        return prod(self.space.extents) // rows * max(self.cost, 1) < self.costs.vector_elements * other.cost

    def demands_with(self, other: Cluster, space: Space) -> dict[Operation, Demand | None]:
        """What the reductions ask for in a group with another cluster, over `space`."""
        assert self.space is not None
        if self.space.extents != space.extents:
            return {op: self._demand(op, other, space) for op in self.demands}
        changed = [value.owner for value in self.outputs if value in other.used and value.owner in self.demands]
        if not changed:
            return self.demands
        return self.demands | {op: self._demand(op, other, space) for op in changed if isinstance(op, Operation)}

    def _demand(self, op: Operation, other: Cluster, space: Space) -> Demand | None:
        return demand_of(space, op, op.results[0] in self.used or op.results[0] in other.used, self.costs)

    def take_in(self, other: Cluster, space: Space, demands: dict[Operation, Demand | None]) -> None:
        """Make the ops of a smaller cluster this one's, over `space`; its place among the others is not set."""
        self.outputs = dict(_outputs(self, other))
        for op in other.ops:
            self.reads.difference_update(op.results)
        self.reads.update(value for value in other.reads if value.owner not in self.ops)
        for value, count in other.used.items():
            self.used[value] = self.used.get(value, 0) + count
        self.ops |= other.ops
        self.products += other.products
        self.again += other.again
        self.calls += other.calls
        self.space = space
        self.demands = demands
        self.cost += other.cost
        self.dear = min((n for n in (self.dear, other.dear) if n is not None), default=None)
        self.version += 1


def _outputs(first: Cluster, second: Cluster) -> Iterable[tuple[SSAValue, int]]:
    """The results of both with uses outside of both."""
    for cluster, other in ((first, second), (second, first)):
        for value, count in cluster.outputs.items():
            if left := count - other.used.get(value, 0):
                yield value, left


def _shared(first: Cluster, second: Cluster, space: Space) -> dict[Operation, Demand | None] | None:
    """
    What the reductions of two clusters ask for in one nest over `space`, or None if there is none.

    Each row has to write once what is needed outside.
    """
    costs = first.costs
    if len(first.ops) + len(second.ops) > costs.max_group_ops or first.calls + second.calls > costs.max_group_functions:
        return None
    outputs = [value for value, _ in _outputs(first, second)]
    reads = len(first.reads) + sum(value not in first.reads and value.owner not in first.ops for value in second.reads)
    reads -= sum(result in first.reads for op in second.ops for result in op.results)
    if reads + len(outputs) > costs.max_group_buffers:
        return None
    products = [*first.products, *second.products]
    rows = rows_of(products, space)
    if products and rows is None:
        return None
    if any(operand.owner in first.ops or operand.owner in second.ops for op in products for operand in op.operands):
        return None
    if space.extents and any(not space.loops(op.results[0]) for op in products):
        return None
    mine, theirs = first.demands_with(second, space), second.demands_with(first, space)
    demands = mine | theirs if mine and theirs else mine or theirs
    place = agree(demands.values(), rows and rows.split)
    return demands if place is not None and _cover_rows(outputs, space, place[0], demands) else None


def _cover_rows(
    outputs: Iterable[SSAValue], space: Space, split: int | None, demands: Mapping[Operation, Demand | None]
) -> bool:
    rank = len(space.extents)
    kinds = {demand.kind for demand in set(demands.values()) if demand is not None}
    last = max(rank - 1, 0) if split is None else split
    required = frozenset(range(last if Reduces.ROW in kinds else rank))
    for value in outputs:
        demand = demands.get(value.owner)  # pyright: ignore
        if demand is not None and demand.kind in (Reduces.COLUMN, Reduces.ALL):
            continue
        loops = space.loops(value)
        if not required <= loops or (rank and not loops):
            return False
    return True


class Clusters:
    """The clusters of a block, and the merging of them."""

    def __init__(
        self,
        block: Block,
        waits: Mapping[Operation, Sequence[Operation]],
        costs: FusionCosts,
        equal: Sequence[Sequence[Part]] = (),
    ):
        """
        `waits`: the ops that have to run before an op, though it reads nothing of them.

        `equal`: equal parts of the block, of which only the first is in clusters until these are repeated.
        """
        self.block = block
        self.costs = costs
        self.waits = waits
        self.equal = equal
        left_out = {op for _, *others in equal for part in others for op in part}
        self.order = {op: index for index, op in enumerate(block.ops)}
        self.ops = [op for op in self.order if op not in left_out]
        self.of: dict[Operation, Cluster] = {}
        self._copies: list[Copy] = []
        self._repeated = RepeatedWork(self.ops, costs)
        self._refused: dict[tuple[Cluster, Cluster], tuple[int, int]] = {}
        for op in self.ops:
            if op.has_trait(IsTerminator):
                continue
            before = EMPTY
            for owner in (*(operand.owner for operand in op.operands), *waits.get(op, ())):
                if isinstance(owner, Operation):
                    producer = self.of[owner]
                    before |= producer.before | producer.name
            self.of[op] = Cluster.of(op, self.order[op], before, costs)
        self._by_number = {self.order[op]: cluster for op, cluster in self.of.items()}
        """The cluster that has a number as its name, or had it before it was merged into another."""
        for op, cluster in reversed(self.of.items()):
            for result in op.results:
                for use in result.uses:
                    if (user := self.of.get(use.operation)) is not None:
                        cluster.after |= user.after | user.name
            for other in waits.get(op, ()):
                self.of[other].after |= cluster.after | cluster.name

    def in_order(self) -> list[Cluster]:
        """
        The clusters in an order that respects their dependences, of two the one by which fewer bytes wait at most.

        One runs, of those that may, the first in the block; the other runs them one by one, each behind what it needs.
        The first holds back what is computed early for something late, the second what waits for nothing.
        """
        # copies stand right behind what they are copies of
        first = {self.of[op]: self.order[op] for op in reversed(self.block.ops) if op in self.of}
        placed = sorted(first, key=first.__getitem__)
        needs: dict[Cluster, dict[Cluster, None]] = {cluster: {} for cluster in placed}
        for op, cluster in self.of.items():
            if op.parent is self.block:
                owners = (*(operand.owner for operand in op.operands), *self.waits.get(op, ()))
                found = (self.of[owner] for owner in owners if isinstance(owner, Operation))
                needs[cluster].update((other, None) for other in found if other is not cluster)
        ready, needed = when_ready(placed, needs), when_needed(placed, needs)
        return ready if ready == needed else min(ready, needed, key=self._most_waiting)

    def _most_waiting(self, order: Sequence[Cluster]) -> int:
        """How many bytes wait at most for clusters that read them, in an order."""
        place = {cluster: number for number, cluster in enumerate(order)}
        last: dict[SSAValue, int] = {}
        for op in reversed(self.block.ops):
            at = place[self.of[op]] if op in self.of else len(order)
            for operand in op.operands:
                last[operand] = max(last.get(operand, 0), at)
            if VIEW.get(type(op)) is not None:
                # who reads a view reads what it is a view of
                last[op.operands[0]] = max(last[op.operands[0]], last.get(op.results[0], 0))
        change = [0] * (len(order) + 1)
        for op, cluster in self.of.items():
            if op.parent is not self.block or VIEW.get(type(op)) is not None:
                continue
            for result in op.results:
                end = last.get(result, 0)
                if place[cluster] < end < len(order) and isinstance(result.type, TensorType):
                    size = prod(shape_of(result)) * element_bytes(element_of(result))
                    change[place[cluster]] += size
                    change[end] -= size
        return max(accumulate(change))

    def grow(self) -> None:
        """Merge each op with its users, from the last op to the first; then clusters that read the same values."""
        for op in reversed(self.ops):
            if op in self.of and self.of[op].space is not None:
                for result in op.results:
                    for user in sorted({use.operation for use in result.uses}, key=self.order.__getitem__):
                        if user in self.of:
                            self.merge(self.of[op], self.of[user])
        readers: dict[SSAValue, list[Operation]] = {}
        for op in self.ops:
            if op in self.of:
                for operand in op.operands:
                    if not isinstance(operand.owner, Operation) or not is_constant(operand.owner):
                        readers.setdefault(operand, []).append(op)
        for users in readers.values():
            for first, second in pairwise(users):
                self.merge(self.of[first], self.of[second])

    def merge(self, a: Cluster, b: Cluster) -> bool:
        """Make one cluster of two if they can share a nest and nothing between them has to run in the middle."""
        if a is b or a.space is None or b.space is None:
            return False
        first, second = (b, a) if len(a.ops) < len(b.ops) else (a, b)
        versions = first.version, second.version
        if self._refused.get((first, second)) == versions:
            return False
        both = first.members | second.members
        between = (first.after & second.before | second.after & first.before) - both
        apart = a.repeats(b) or b.repeats(a) or a.makes_single(b) or b.makes_single(a)
        apart = apart or self._computes_again(a, b) or self._computes_again(b, a)
        if between or apart or not _unite(first, second):
            self._refused[first, second] = versions
            return False
        self._replace(first, second, both)
        return True

    def _computes_again(self, producer: Cluster, user: Cluster) -> bool:
        """Whether one kernel of both would compute results of the first one many times, which are cheaper to read."""
        space = user.space
        if producer.space is None or space is None or len(producer.space.extents) >= len(space.extents):
            return False
        return any(value in user.used and self._is_dear(value, user) for value in producer.outputs)

    def _is_dear(self, value: SSAValue, user: Cluster) -> bool:
        """Whether a cluster had better read a value than compute it."""
        columns = any(demand is not None and demand.kind is Reduces.COLUMN for demand in user.demands.values())
        return user.space is not None and self._repeated.is_dear(value, user.space, columns)

    def _replace(self, merged: Cluster, gone: Cluster, both: BitSet) -> None:
        """Note that the ops of `gone`, the smaller one, have become part of `merged`."""
        for op in gone.ops:
            self.of[op] = merged
        (number,) = gone.name
        del self._by_number[number]
        before, after = merged.before, merged.after
        merged.members = both
        merged.before, merged.after = (before | gone.before) - both, (after | gone.after) - both
        # Who knows of both has nothing to learn; who knows of `merged` alone, only where more is added to it.
        learn = (gone.before - before) | (before - gone.before if merged.after - after else EMPTY)
        news = merged.after | merged.name
        for other in self._named(learn & merged.before):
            other.after |= news
        learn = (gone.after - after) | (after - gone.after if merged.before - before else EMPTY)
        news = merged.before | merged.name
        for other in self._named(learn & merged.after):
            other.before |= news

    def _named(self, numbers: BitSet) -> Iterable[Cluster]:
        """The clusters whose names are among these numbers."""
        return (self._by_number[number] for number in numbers if number in self._by_number)

    def recompute_cheap_values(self) -> None:
        """Compute a cheap value again in every cluster that uses it, rather than store it, if it has the operands."""
        for op in reversed(self.ops):
            own = self.of.get(op)
            # what an op costs is dear to find out, and few results are outputs
            if own is None or own.outputs.keys().isdisjoint(op.results) or not self._may_be_repeated(op):
                continue
            (result,) = op.results
            outside: dict[Cluster | None, list[Use]] = {}
            for use in result.uses:
                other = self.of.get(use.operation)
                if other is not own:
                    outside.setdefault(other, []).append(use)
            targets = {other: uses for other, uses in outside.items() if other is not None}
            if any(self._is_dear(result, cluster) for cluster in targets):
                continue
            if len(targets) == len(outside) and all(_has_room_for(op, *target) for target in targets.items()):
                for target, uses in targets.items():
                    self._compute_again(op, target, uses)
                del own.outputs[result]

    def _is_cheap(self, op: Operation) -> bool:
        if len(op.results) != 1 or PRODUCT.get(type(op)) is not None or REDUCTION.get(type(op)) is not None:
            return False
        return not is_constant(op) and scalar_cost(op) <= self.costs.recompute_additions

    def _is_stored(self, value: SSAValue, cluster: Cluster) -> bool:
        """Whether a value is in memory whatever a cluster does: an argument, a constant, or needed outside."""
        owner = value.owner
        if not isinstance(owner, Operation) or is_constant(owner) or self.of[owner] is not cluster:
            return True
        return value in cluster.outputs

    def _compute_again(self, op: Operation, target: Cluster, uses: Sequence[Use]) -> None:
        users = [(use.operation, use.index) for use in uses]
        copy = insert_copy(op, users)
        self._copies.append(Copy(op, copy, users))
        self.order[copy] = self.order[op]
        self.of[copy] = target
        target.used[copy.results[0]] = target.used.pop(op.results[0])
        space = Space.of(copy)
        assert target.space is not None and space is not None
        maps = target.space.maps
        maps[copy.results[0]] = maps.pop(op.results[0])
        joined = target.space.take_in(space)
        assert joined
        target.ops.add(copy)
        target.reads.discard(op.results[0])
        target.again += 1
        for operand in copy.operands:
            self._note_use(operand, target)

    def keep_to_parts(self) -> bool:
        """
        Whether what was merged is what would be if all equal parts were in clusters.

        It is if the clusters of a part are of its ops alone, each with a loop that other parts have no values in
        common over, and will compute nothing again that all parts read.
        """
        for first, *_ in self.equal:
            part = set(first)
            for cluster in {self.of[op]: None for op in first}:
                if not cluster.ops <= part or (cluster.space is not None and not cluster.space.extents):
                    return False
            owners = {operand.owner for op in first for operand in op.operands} - part
            if any(isinstance(owner, Operation) and self._may_be_repeated(owner) for owner in owners):
                return False
        return True

    def _may_be_repeated(self, op: Operation) -> bool:
        """Whether clusters that use the result of an op may compute it again for themselves."""
        own = self.of[op]
        if own.space is None or not self._is_cheap(op):
            return False
        return all(self._is_stored(operand, own) for operand in op.operands)

    def repeat(self) -> None:
        """Put the other ones of equal parts into clusters like those of the first."""
        for first, *others in self.equal:
            for op, copy in repeat_copies(first, others, self._copies):
                self.order[copy] = self.order[op]
            places: dict[Cluster, list[int]] = {}
            for place, op in enumerate(first):
                places.setdefault(self.of[op], []).append(place)
            for part in others:
                for cluster, own in places.items():
                    ops = {part[place] for place in own}
                    repeated = Cluster(ops, self.costs, cluster.space, [], {}, {}, set(), {}, like=cluster)
                    self.of.update(dict.fromkeys(ops, repeated))

    def _note_use(self, value: SSAValue, cluster: Cluster) -> None:
        """Count a new use of a value by a cluster."""
        cluster.used[value] = cluster.used.get(value, 0) + 1
        owner = value.owner
        if owner in cluster.ops:
            return
        cluster.reads.add(value)
        if isinstance(owner, Operation):
            outputs = self.of[owner].outputs
            outputs[value] = outputs.get(value, 0) + 1


def when_ready(placed: Sequence[Cluster], needs: Mapping[Cluster, Iterable[Cluster]]) -> list[Cluster]:
    """Of the clusters that may run, always the first of those in `placed`."""
    number = {cluster: n for n, cluster in enumerate(placed)}
    users: dict[Cluster, list[Cluster]] = {cluster: [] for cluster in placed}
    left = dict.fromkeys(placed, 0)
    for cluster, found in needs.items():
        for other in found:
            users[other].append(cluster)
            left[cluster] += 1
    ready = [number[cluster] for cluster in placed if not left[cluster]]
    order: list[Cluster] = []
    while ready:
        order.append(placed[heappop(ready)])
        for user in users[order[-1]]:
            left[user] -= 1
            if not left[user]:
                heappush(ready, number[user])
    assert len(order) == len(placed), "clusters depend on each other in a circle"
    return order


def when_needed(placed: Sequence[Cluster], needs: Mapping[Cluster, Iterable[Cluster]]) -> list[Cluster]:
    """The clusters as they are in `placed`, but each behind what it needs, which comes right in front of it."""
    order: dict[Cluster, None] = {}
    for cluster in placed:
        path = {cluster: iter(needs[cluster])}
        while path:
            top, waiting = next(reversed(path.items()))
            if (inner := next((other for other in waiting if other not in order), None)) is None:
                order[top] = None
                del path[top]
            else:
                assert inner not in path, "clusters depend on each other in a circle"
                path[inner] = iter(needs[inner])
    return list(order)


def _unite(first: Cluster, second: Cluster) -> bool:
    """Take the second cluster into the first if they can share a nest."""
    assert first.space is not None and second.space is not None
    large, small = first.space, second.space
    if (len(small.extents), len(small.maps)) > (len(large.extents), len(large.maps)):
        large, small = small, large
    images = large.embedding(small)
    if images is None:
        return False
    new = {value: axes for value, axes in small.moved(images).items() if value not in large.maps}
    large.maps.update(new)
    if (demands := _shared(first, second, large)) is not None:
        first.take_in(second, large, demands)
        return True
    for value in new:
        del large.maps[value]
    return False


def _has_room_for(op: Operation, target: Cluster, uses: Sequence[Use]) -> bool:
    """Whether a cluster can compute `op` itself for its own uses of it."""
    space = Space.of(op)
    if target.space is None or space is None or 2 * target.again >= target.costs.max_recomputed_ops + len(target.ops):
        return False
    if any(use.operation in target.products for use in uses):
        return False
    if len(space.extents) > len(target.space.extents) or target.space.embedding(space) is None:
        return False
    reads = len(target.reads) + sum(operand not in target.reads for operand in set(op.operands))
    costs = target.costs
    if len(target.ops) > costs.max_group_ops or reads + len(target.outputs) > costs.max_group_buffers:
        return False
    return len(target.ops) > 1 or _stands_alone(target)


def _stands_alone(cluster: Cluster) -> bool:
    """Whether a cluster of one op can be a kernel: `_shared` has seen larger ones only."""
    nothing = Cluster(set(), cluster.costs, cluster.space, [], {}, {}, set(), {})
    return cluster.space is not None and _shared(cluster, nothing, cluster.space) is not None


def _elements(op: Operation) -> int:
    return min(prod(shape_of(result)) for result in op.results)


def _stays_outside(op: Operation) -> bool:
    """Constants that need a buffer, complex numbers, and views of something that has to be in memory anyway."""
    if is_constant(op):
        return True
    if SCALAR.get(type(op)) is not None and any(
        isinstance(x.type, TensorType) and element_of(x) in COMPLEXES for x in (*op.operands, *op.results)
    ):
        return True
    return VIEW.get(type(op)) is not None and not isinstance(op.operands[0].owner, Operation)
