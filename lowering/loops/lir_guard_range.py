"""`lir-guard-range`: loops over sin, cos and tan run first with the variants for small arguments, and again with those
for all arguments when one was large. Single calls branch."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import Float64Type, IntegerAttr, i32, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from xdsl_rlx.dialects.lir import KernelOp, LaunchOp
from xdsl_rlx.dialects.lir.kernel import GUARDED
from xdsl_rlx.dialects.lir.scalar import SMALL
from xdsl_rlx.dialects.lir.scalar_builder import ScalarBuilder
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.lowering.kernel_pass import KernelPass
from xdsl_rlx.lowering.scalar_functions import SMALL_VARIANTS


class LirGuardRangePass(KernelPass):
    """
    Run innermost loops over sin, cos or tan with small-argument versions first, and again if an argument was large.

    The small-argument versions take a fraction of the time. The loop carries one flag per float width. Only loops that
    can be rerun qualify: they read nothing that they write. A call outside of loops, as in a scan of single numbers,
    becomes a branch: each iteration then waits for the short version only.

    ```mlir
    %r = scf.for %j = %a to %b step %c iter_args(%acc = %init) -> (f32) {
      %y = math.sin %x : f32
      ...
    }
    // becomes
    %fast, %large = scf.for %j = %a to %b step %c iter_args(%acc = %init, %seen = %zero) -> (f32, i32) {
      %y = lir.sin_small %x : f32
      ...
      %now = arith.ori %seen, (|%x| > 2^16 ? 1 : 0)
    } {lir.guarded = 1 : i64}
    %again = arith.cmpi ne, %large, %zero
    %r = scf.if %again -> (f32) { the loop as it was } else { scf.yield %fast }
    ```
    """

    name = "lir-guard-range"

    def rewrite(self, kernel: KernelOp, launches: Sequence[LaunchOp]) -> None:
        """Guard the loops of one kernel, and its calls outside of them."""
        for op in [op for op in kernel.body.block.ops if type(op) in SMALL_VARIANTS]:
            _branch(op)
        for loop in [op for op in ops_within(kernel) if isinstance(op, scf.ForOp)]:
            if (calls := [op for op in loop.body.block.ops if type(op) in SMALL_VARIANTS]) and _may_run_twice(loop):
                _guard(loop, calls)


def _may_run_twice(loop: scf.ForOp) -> bool:
    """Whether the loop has no loops or branches inside, and reads nothing that it writes."""
    loaded: set[SSAValue] = set()
    stored: set[SSAValue] = set()
    for op in loop.body.block.ops:
        if isinstance(op, memref.LoadOp):
            loaded.add(op.memref)
        elif isinstance(op, memref.StoreOp):
            stored.add(op.memref)
        elif op.regions or not (isinstance(op, scf.YieldOp) or is_side_effect_free(op)):
            return False
    return not loaded & stored


def _branch(op: Operation) -> None:
    """Have the variant for small arguments computed where the argument of a call is small."""
    before = ScalarBuilder(Builder(InsertPoint.before(op)))
    (x,), (old,) = op.operands, op.results
    is_small = before.abs(before.of(x)) <= SMALL[x.type]
    is_small.value.name_hint = "small"
    small, full = SMALL_VARIANTS[type(op)](x), op.clone()
    small.location = op.location
    sides = [Block([one, scf.YieldOp(*one.results)]) for one in (small, full)]
    chosen = before.insert(scf.IfOp(is_small.value, [old.type], [sides[0]], [sides[1]]))
    chosen.location = op.location
    for result in (*small.results, *full.results, *chosen.results):
        result.name_hint = old.name_hint
    Rewriter.replace_op(op, [], list(chosen.results))


def _guard(loop: scf.ForOp, calls: list[Operation]) -> None:
    before = ScalarBuilder(Builder(InsertPoint.before(loop)))
    full = loop.clone()
    block = loop.body.detach_block(0)
    starts = _collect_large(block, calls, before)
    fast = before.insert(scf.ForOp(loop.lb, loop.ub, loop.step, [*loop.iter_args, *starts], block))
    fast.location, fast.attributes[GUARDED] = loop.location, IntegerAttr(len(starts), i64)
    kept = len(loop.results)
    large = [before.of(result) for result in fast.results[kept:]]
    again = before.ne(large[0], 0)
    for flag in large[1:]:
        again = again | before.ne(flag, 0)
    for flag in large:
        flag.value.name_hint = "large"
    again.value.name_hint = "again"
    repeat = Block([full, scf.YieldOp(*full.results)])
    keep = [Block([scf.YieldOp(*fast.results[:kept])])] if kept else None
    chosen = before.insert(scf.IfOp(again.value, [r.type for r in loop.results], [repeat], keep))
    chosen.location = loop.location
    for old, quick, repeated, new in zip(loop.results, fast.results, full.results, chosen.results, strict=False):
        quick.name_hint = repeated.name_hint = new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    loop.detach()
    loop.erase()


def _collect_large(block: Block, calls: list[Operation], before: ScalarBuilder) -> list[SSAValue]:
    """
    Give `calls` the variants for small arguments, and the loop's `block` a flag per width of argument: an integer as
    wide as they are, so that one vector shape does. Returns the flags' values to start from.
    """
    end = block.last_op
    assert isinstance(end, scf.YieldOp)
    inside = ScalarBuilder(Builder(InsertPoint.before(end)))
    flags: dict[Attribute, SSAValue] = {}
    for x in dict.fromkeys(op.operands[0] for op in calls):
        flag = i64 if isinstance(x.type, Float64Type) else i32
        if flag not in flags:
            flags[flag] = block.insert_arg(flag, len(block.args))
            flags[flag].name_hint = "large"
        is_large = inside.abs(inside.of(x)) > SMALL[x.type]
        flags[flag] = (inside.of(flags[flag]) | inside.cast(is_large, flag)).value
    for op in calls:
        small = SMALL_VARIANTS[type(op)](op.operands[0])
        small.result.name_hint, small.location = op.results[0].name_hint, op.location
        Rewriter.replace_op(op, small)
    block.add_op(scf.YieldOp(*end.operands, *flags.values()))
    end.detach()
    end.erase()
    return [before.const(0, flag).value for flag in flags]
