"""The pass `mir-bucket-all-reduce`: reductions over processes that follow each other become one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.effects import has_effects
from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.mir.collectives import AllReduceOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.transforms.driver import RewritingPass


@dataclass(frozen=True)
class MirBucketAllReducePass(RewritingPass):
    """
    Join reductions over processes of at most `bytes` bytes together, so that one message carries them.

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
    result, and without another op with an effect in between. The bucket comes where the last one was; ops that read the
    results of the others move behind it. Kernels that compute operands write into the bucket, so that nothing is copied
    for it. A reduction of more than `bytes` stays alone.
    """

    name = "mir-bucket-all-reduce"

    bytes: int = 4 << 20
    """Bytes of a bucket. A message has a latency of some 10 microseconds; a larger bucket begins later."""

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        blocks = dict.fromkeys(op.parent for op in ops_within(module) if isinstance(op, AllReduceOp))
        buckets = [bucket for block in blocks if block is not None for bucket in self._buckets(block)]
        return sum(bucket.join() for bucket in buckets) > 0

    def _buckets(self, block: Block) -> Iterator[_Bucket]:
        """Reductions that may become one, in order."""
        bucket: _Bucket | None = None
        for op in block.ops:
            if bucket is not None and not bucket.takes(op, self.bytes):
                yield bucket
                bucket = None
            if isinstance(op, AllReduceOp) and bucket is None:
                bucket = _Bucket([op], _bytes_of(op), {op})
        if bucket is not None:
            yield bucket


def _bytes_of(op: AllReduceOp) -> int:
    return prod(shape_of(op.operand)) * element_bytes(element_of(op.operand))


@dataclass
class _Bucket:
    """Reductions that become one."""

    ops: list[AllReduceOp]
    size: int
    readers: set[Operation]
    """These reductions, and the ops behind the first one that need a result of theirs."""
    moved: list[Operation] = field(default_factory=list[Operation])
    """These readers in order."""
    in_front: int = 0
    """How many of them are in front of the last reduction: they move behind it."""

    def takes(self, op: Operation, most: int) -> bool:
        """Whether the bucket goes on at an op: it is one more reduction, or has nothing to do with effects."""
        reads = any(_is_among(x, self.readers) for x in _values_read(op))
        if not isinstance(op, AllReduceOp):
            if has_effects(op):
                return False
            if reads:
                self.readers.add(op)
                self.moved.append(op)
            return True
        first, size = self.ops[0], _bytes_of(op)
        alike = (op.kind, op.processes, element_of(op.operand)) == (
            first.kind,
            first.processes,
            element_of(first.operand),
        )
        if reads or not alike or self.size + size > most:
            return False
        self.ops.append(op)
        self.size += size
        self.readers.add(op)
        self.in_front = len(self.moved)
        return True

    def join(self) -> bool:
        """Put one reduction in the place of the last. Whether there was more than one."""
        if len(self.ops) < 2:
            return False
        last = self.ops[-1]
        b = MirBuilder(Builder(InsertPoint.before(last)))
        flat = [b.reshape(op.operand, (prod(shape_of(op.operand)),)) for op in self.ops]
        whole = b.all_reduce(b.concat(flat, 0), last.reduction, last.count)
        start = 0
        for op, part in zip(self.ops, flat, strict=True):
            (extent,) = part.shape
            piece = b.reshape(b.narrow(whole, 0, start, extent), shape_of(op.operand))
            piece.ssa.name_hint = op.result.name_hint
            op.result.replace_all_uses_with(piece.ssa)
            start += extent
        block = last.parent
        assert block is not None
        behind = last
        for op in self.moved[: self.in_front]:
            op.detach()
            block.insert_op_after(op, behind)
            behind = op
        for op in self.ops:
            op.detach()
            op.erase()
        return True


def _values_read(op: Operation) -> Iterator[SSAValue]:
    """What an op reads, also in its regions."""
    for inner in ops_within(op):
        yield from inner.operands


def _is_among(value: SSAValue, ops: set[Operation]) -> bool:
    return isinstance(value.owner, Operation) and value.owner in ops
