"""`lir-overlap-collectives`: collectives that run beside the launches that do not need their results."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from heapq import heapify, heappop, heappush
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.lir import IfOp, LaunchOp, ProgramOp, SlotOp, WhileOp
from xdsl_rlx.dialects.lir.collectives import REQUEST
from xdsl_rlx.dialects.lir.places import ByteSpan, place_of
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.lowering.collectives.collective_kernels import CollectiveKernels, CollectiveLaunch
from xdsl_rlx.lowering.target import OverlapCosts
from xdsl_rlx.transforms.driver import verify_dominance


@dataclass(frozen=True)
class LirOverlapCollectivesPass(OverlapCosts, ModulePass):
    """
    Split collectives into a start and a wait, and move other launches in between.

    ```mlir
    lir.launch @all_reduce writes(%bucket, %console : ..)
    lir.launch @update reads(%bucket : ..) writes(%0 : ..)
    lir.launch @gradient reads(%x : ..) writes(%y : ..)
    // becomes
    %request = lir.slot : memref<1xi64>
    lir.launch @all_reduce_start writes(%bucket, %request, %console : ..)
    lir.launch @gradient reads(%x : ..) writes(%y : ..)
    lir.launch @all_reduce_wait reads(%request : ..) writes(%bucket : ..)
    lir.launch @update reads(%bucket : ..) writes(%0 : ..)
    ```

    A collective starts as soon as its operand is complete. Launches that do not need its result come before those that
    do; the wait takes source and target, so that memory planning keeps them until then. Starts keep their order, which
    is the same in all processes. At most `collectives_in_flight` have been started and not waited for. With
    `poll_collectives`, a launch in between is followed by one that gives the library of MPI time. A collective with
    nothing to run beside it stays one launch. `overlap=false` leaves all of them.
    """

    name = "lir-overlap-collectives"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.collectives_in_flight < 1:
            raise PassFailedException(f"collectives_in_flight must be at least 1, got {self.collectives_in_flight}")
        kernels = CollectiveKernels(op)
        if not self.overlap or not kernels:
            return
        verify_dominance(op)
        for program in [x for x in op.ops if isinstance(x, ProgramOp)]:
            launches = [x for x in program.walk() if isinstance(x, LaunchOp) and kernels.launch_of(x)]
            for block in dict.fromkeys(launch.parent_block() for launch in launches):
                if block is not None:
                    _Reordered(block, kernels, self).replace()
        kernels.erase_unused()


class _Kind(Enum):
    """In the order in which those come that may run."""

    START = auto()
    OTHER = auto()
    WAIT = auto()


@dataclass(eq=False)
class _Item:
    """An op of a block, or the start or wait of a collective."""

    kind: _Kind
    op: Operation
    number: int
    reads: list[ByteSpan]
    writes: list[ByteSpan]
    depth: int = 0
    """The most collectives, one behind the other, that it waits for."""
    waiting_for: int = 0
    followers: list[_Item] = field(default_factory=list["_Item"])

    @property
    def runs(self) -> bool:
        """Whether it takes time."""
        return bool(self.reads or self.writes)

    @property
    def rank(self) -> tuple[int, int, int]:
        """Of items that may run, which comes first."""
        return self.depth, self.kind.value, self.number


class _Reordered:
    """The ops of a block in an order in which collectives overlap with others."""

    def __init__(self, block: Block, kernels: CollectiveKernels, options: LirOverlapCollectivesPass):
        self.block = block
        self.kernels = kernels
        self.options = options
        self.places: dict[SSAValue, ByteSpan] = {}
        self.launches: dict[Operation, CollectiveLaunch] = {}
        self.items: list[_Item] = []
        for op in block.ops:
            found = self.kernels.launch_of(op) if isinstance(op, LaunchOp) else None
            reads, writes = self._touched(op)
            if found is None:
                self._add(_Kind.OTHER, op, reads, writes)
            else:
                self.launches[op] = found
                self._add(_Kind.START, op, reads, writes)
                both = [self._place(found.source), self._place(found.target)]
                self._add(_Kind.WAIT, op, both[:1], both[1:])
        self._connect()

    def _add(self, kind: _Kind, op: Operation, reads: list[ByteSpan], writes: list[ByteSpan]) -> None:
        self.items.append(_Item(kind, op, len(self.items), reads, writes))

    def _touched(self, op: Operation) -> tuple[list[ByteSpan], list[ByteSpan]]:
        """What an op reads and writes, with what is in its regions."""
        reads: list[ByteSpan] = []
        writes: list[ByteSpan] = []
        for inner in ops_within(op):
            if isinstance(inner, LaunchOp):
                reads += map(self._place, inner.reads)
                writes += map(self._place, inner.writes)
            elif isinstance(inner, IfOp | WhileOp):
                reads.append(self._place(inner.predicate))
        return reads, writes

    def _place(self, value: SSAValue) -> ByteSpan:
        if value not in self.places:
            assert isinstance(value.owner, Operation)
            self.places[value] = place_of(value.owner, self._place)
        return self.places[value]

    def _connect(self) -> None:
        """Find what each item has to be behind: what defines its operands, and what touches the same bytes."""
        last: dict[Operation, _Item] = {}
        touched: dict[SSAValue, list[tuple[_Item, ByteSpan, bool]]] = {}
        for item in self.items:
            owners = (value.owner for inner in ops_within(item.op) for value in inner.operands)
            before = {last[owner]: None for owner in owners if isinstance(owner, Operation) and owner in last}
            own = [*((span, False) for span in item.reads), *((span, True) for span in item.writes)]
            for span, written in own:
                for other, place, was_written in touched.get(span.root, ()):
                    if (written or was_written) and other is not item and span.may_meet(place):
                        before[other] = None
                touched.setdefault(span.root, []).append((item, span, written))
            for other in before:
                other.followers.append(item)
                waits = item.kind is _Kind.WAIT and other.op is item.op
                item.depth = max(item.depth, other.depth + waits)
            item.waiting_for = len(before)
            last[item.op] = item

    def order(self) -> list[_Item]:
        """Starts as early as may be, waits behind all that needs none of them."""
        ready = [(item.rank, item) for item in self.items if not item.waiting_for]
        heapify(ready)
        held: deque[_Item] = deque()
        found: list[_Item] = []
        in_flight = 0
        while ready:
            _, item = heappop(ready)
            if item.kind is _Kind.START:
                if in_flight == self.options.collectives_in_flight:
                    held.append(item)
                    continue
                in_flight += 1
            elif item.kind is _Kind.WAIT:
                in_flight -= 1
                if held:
                    first = held.popleft()
                    heappush(ready, (first.rank, first))
            found.append(item)
            for follower in item.followers:
                follower.waiting_for -= 1
                if not follower.waiting_for:
                    heappush(ready, (follower.rank, follower))
        return found

    def replace(self) -> None:
        """Bring the ops into that order."""
        order = self.order()
        whole = set(_alone(order))
        for op in list(self.block.ops):
            op.detach()
        requests: dict[Operation, SSAValue] = {}
        for item in order:
            if item.kind is _Kind.OTHER or item.op in whole:
                if item.kind is not _Kind.WAIT:
                    self.block.add_op(item.op)
            elif item.kind is _Kind.START:
                slot = SlotOp(REQUEST)
                slot.result.name_hint = "request"
                self.block.add_op(slot)
                requests[item.op] = slot.result
                self._start(item.op, slot.result)
            else:
                self._wait(item.op, requests.pop(item.op))
            if item.kind is _Kind.OTHER and item.runs and requests and self.options.poll_collectives:
                self._launch(item.op, self.kernels.poll().sym_name.data, [], [next(iter(requests.values()))])
        for op in self.launches:
            if op not in whole:
                op.erase()

    def _start(self, op: Operation, request: SSAValue) -> None:
        found = self.launches[op]
        name = self.kernels.start(found).sym_name.data
        self._launch(op, name, found.separate, [found.target, request, found.network])

    def _wait(self, op: Operation, request: SSAValue) -> None:
        found = self.launches[op]
        self._launch(op, self.kernels.wait(found).sym_name.data, [request, *found.separate], [found.target])

    def _launch(self, like: Operation, kernel: str, reads: Sequence[SSAValue], writes: Sequence[SSAValue]) -> None:
        launch = LaunchOp(kernel, 1, 1, reads, writes)
        launch.location = like.location
        self.block.add_op(launch)


def _alone(order: list[_Item]) -> Iterator[Operation]:
    """The collectives whose wait follows their start."""
    running = [item for item in order if item.runs]
    for one, other in pairwise(running):
        if one.kind is _Kind.START and other.kind is _Kind.WAIT and one.op is other.op:
            yield one.op
