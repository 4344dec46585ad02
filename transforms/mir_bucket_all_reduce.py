"""The pass `mir-bucket-all-reduce`: reductions over processes that follow each other become one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.effects import has_effects
from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.mir.collectives import AllReduceOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.shape import ReshapeOp, TransposeOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.transforms.driver import RewritingPass


@dataclass(frozen=True)
class MirBucketAllReducePass(RewritingPass):
    """
    Join reductions over processes into buckets of at most `bytes` bytes, so that one message carries each.

    ```
    %0 = mir.all_reduce sum %x over 2 : tensor<3xf32>
    %1 = mir.all_reduce sum %y over 2 : tensor<2x2xf32>
    // becomes
    %0 = mir.reshape %y : tensor<2x2xf32> to tensor<4xf32>
    %1 = mir.concat %x, %0
    %2 = mir.all_reduce sum %1 over 2 : tensor<7xf32>
    // and a slice of %2 for each
    ```

    Reductions are joined that are of one kind, element type and number of processes, of which none needs another one's
    result, and without another op with an effect in between. They fill buckets in the order in which their operands are
    computed, which is that of the backward pass for gradients. A bucket comes behind the last of its operands, also one
    of a single reduction; ops in front of it that read its results move behind it. Kernels that compute operands write
    into the bucket, so that nothing is copied for it. A reduction of more than `bytes` stays alone.
    """

    name = "mir-bucket-all-reduce"

    bytes: int = 4 << 20
    """Bytes of a bucket. A message has a latency of some 10 microseconds; a larger bucket begins later."""

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        if self.bytes < 1:
            raise PassFailedException(f"bytes must be at least 1, got {self.bytes}")
        blocks = dict.fromkeys(op.parent for op in ops_within(module) if isinstance(op, AllReduceOp))
        return sum(_Block(block).join(self.bytes) for block in blocks if block is not None) > 0


def _bytes_of(op: AllReduceOp) -> int:
    return prod(shape_of(op.operand)) * element_bytes(element_of(op.operand))


@dataclass
class _Group:
    """Reductions of which any may be joined."""

    ops: list[AllReduceOp]
    behind: int
    """The number of the last op with an effect in front of them; -1 if there is none."""
    readers: set[Operation]
    """These reductions, and the ops behind the first one that need a result of theirs."""

    def takes(self, op: AllReduceOp) -> bool:
        """Whether one more reduction may be joined with these."""
        first = self.ops[0]
        alike = (first.kind, first.processes, element_of(first.operand))
        return (op.kind, op.processes, element_of(op.operand)) == alike and not _reads(op, self.readers)


class _Block:
    """The reductions of a block, whose ops are numbered."""

    def __init__(self, block: Block):
        self.block = block
        self.ops = list(block.ops)
        self.number = {op: n for n, op in enumerate(self.ops)}
        self.groups: list[_Group] = []
        self._group()

    def _group(self) -> None:
        group: _Group | None = None
        effect = -1
        for n, op in enumerate(self.ops):
            if isinstance(op, AllReduceOp):
                if group is None or not group.takes(op):
                    group = _Group([], effect, set())
                    self.groups.append(group)
                group.ops.append(op)
                group.readers.add(op)
                effect = n
            elif has_effects(op):
                group, effect = None, n
            elif group is not None and _reads(op, group.readers):
                group.readers.add(op)

    def join(self, most: int) -> bool:
        """Replace reductions by those of buckets; whether there was a bucket of more than one, or one has moved."""
        found = [(self._place(group, bucket), bucket) for group in self.groups for bucket in self._buckets(group, most)]
        before = list(self.block.ops)
        # of two at one place the one that is put there last comes first
        for place, bucket in reversed(found):
            if len(bucket) == 1:
                bucket[0].detach()
            at = InsertPoint.at_start(self.block) if place < 0 else InsertPoint.after(self.ops[place])
            if len(bucket) == 1:
                Rewriter.insert_op(bucket[0], at)
            else:
                _replace(bucket, MirBuilder(Builder(at)))
        for op in [op for _, bucket in found if len(bucket) > 1 for op in bucket]:
            op.detach()
            op.erase()
        _sink_readers(self.block)
        return before != list(self.block.ops)

    def _buckets(self, group: _Group, most: int) -> list[list[AllReduceOp]]:
        """The reductions of each bucket, in the order in which their operands are computed."""
        buckets: list[list[AllReduceOp]] = []
        size = 0
        for op in sorted(group.ops, key=lambda op: self._computed(op.operand)):
            if not buckets or size + _bytes_of(op) > most:
                buckets.append([])
                size = 0
            buckets[-1].append(op)
            size += _bytes_of(op)
        return buckets

    def _computed(self, value: SSAValue) -> int:
        """The number of the op that computes a value; reshapes and transposes of it do not."""
        op = value.owner
        if not isinstance(op, Operation) or op not in self.number:
            return -1
        return self._computed(op.operands[0]) if isinstance(op, ReshapeOp | TransposeOp) else self.number[op]

    def _place(self, group: _Group, bucket: list[AllReduceOp]) -> int:
        """The number of the last op that must be in front of a bucket; -1 if there is none."""
        owners = (op.operand.owner for op in bucket)
        return max([group.behind, *(self.number.get(op, -1) for op in owners if isinstance(op, Operation))])


def _replace(bucket: list[AllReduceOp], b: MirBuilder) -> None:
    """Have the results of a bucket read from those of one reduction."""
    # the largest in front, so that most begin at a multiple of a vector
    parts = sorted(bucket, key=lambda op: -_bytes_of(op))
    flat = [b.reshape(op.operand, (prod(shape_of(op.operand)),)) for op in parts]
    whole = b.all_reduce(b.concat(flat, 0), parts[0].reduction, parts[0].count)
    start = 0
    for op, part in zip(parts, flat, strict=True):
        (extent,) = part.shape
        piece = b.reshape(b.narrow(whole, 0, start, extent), shape_of(op.operand))
        piece.ssa.name_hint = op.result.name_hint
        op.result.replace_all_uses_with(piece.ssa)
        start += extent


def _sink_readers(block: Block) -> None:
    """Move ops that read a value which is computed later behind it, in their order."""
    ops = list(block.ops)
    number = {op: n for n, op in enumerate(ops)}
    place = dict(number)
    behind: dict[int, Operation] = {}
    for op in ops:
        owners = (value.owner for value in _values_read(op))
        place[op] = max([number[op], *(place[x] for x in owners if isinstance(x, Operation) and x in place)])
        if place[op] > number[op]:
            op.detach()
            block.insert_op_after(op, behind.get(place[op], ops[place[op]]))
            behind[place[op]] = op


def _values_read(op: Operation) -> Iterator[SSAValue]:
    """What an op reads, also in its regions."""
    for inner in ops_within(op):
        yield from inner.operands


def _reads(op: Operation, ops: set[Operation]) -> bool:
    """Whether an op reads a result of one of others."""
    return any(value.owner in ops for value in _values_read(op) if isinstance(value.owner, Operation))
