"""The pass `mir-lower-regions`: regions as the ops in them, so that each is one kernel where that is possible."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xdsl_rlx.dialects.mir.bodies import end_of, ops_of
from xdsl_rlx.dialects.mir.elementwise import ConstantOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.pool import ResizeNearest2xOp
from xdsl_rlx.dialects.mir.region import BatchElementwiseRegionOp, ElementwiseRegionOp, TransformRegionOp
from xdsl_rlx.dialects.mir.shape import NarrowOp
from xdsl_rlx.dialects.shapes import broadcast_shapes, element_of, shape_of
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.rules.bodies import backward_slice

REGIONS = (BatchElementwiseRegionOp, ElementwiseRegionOp, TransformRegionOp)


class LowerRegion(RewritePattern):
    """Replace a region by its ops, with resizes as broadcasts."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ElementwiseRegionOp | TransformRegionOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, [], [lowered(op.body.block, op.operands, MirBuilder(rewriter)).ssa])


class LowerBatch(RewritePattern):
    """Replace a region of slices by its ops on each run of consecutive slices, and a concatenation of these."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BatchElementwiseRegionOp, rewriter: PatternRewriter) -> None:
        b = MirBuilder(rewriter)
        runs = _runs(op.inputs) if _is_along_batch(op) else [[x] for x in op.inputs]
        parts = [lowered(op.body.block, [_joined(run, b), *op.captured], b) for run in runs]
        rewriter.replace(op, [], [(b.concat(parts, 0) if len(parts) > 1 else parts[0]).ssa])


def _runs(slices: Sequence[SSAValue]) -> list[list[SSAValue]]:
    """Slices in groups, in each of which every slice begins where the one before ends."""
    runs = [[slices[0]]]
    for before, after in pairwise(slices):
        if _follows(before.owner, after.owner):
            runs[-1].append(after)
        else:
            runs.append([after])
    return runs


def _follows(before: object, after: object) -> bool:
    if not isinstance(before, NarrowOp) or not isinstance(after, NarrowOp) or before.operand != after.operand:
        return False
    (axis, start, length), (other, next_start, _) = before.bounds, after.bounds
    return axis == other == 0 and start + length == next_start


def _joined(run: Sequence[SSAValue], b: MirBuilder) -> SSAValue:
    """The slices of a run as one."""
    first = run[0].owner
    if len(run) == 1 or not isinstance(first, NarrowOp):
        return run[0]
    _, start, length = first.bounds
    return b.narrow(first.operand, 0, start, length * len(run)).ssa


def _is_along_batch(op: BatchElementwiseRegionOp) -> bool:
    """Whether index `i` of axis 0 of the result depends on index `i` of the slice, and on nothing else of axis 0."""
    block, slice_ = op.body.block, op.inputs[0]
    shared = [shape_of(x) for x in op.captured]
    rank = len(shape_of(slice_))
    if any(len(shape) > rank or (len(shape) == rank and shape[0] != 1) for shape in shared):
        return False
    return block.args[0] in backward_slice(end_of(block).values)


def lowered(block: Block, inputs: Sequence[SSAValue], b: MirBuilder) -> Value:
    """
    The value of a body, whose inputs may be longer along axis 0 than its arguments.

    A resize by `f` is a broadcast: an axis of `h` elements becomes two, `h` and 1, where the others have `h` and `f`.
    Of several resizes, by `f g` and by `g`, the axes have `h`, `f` and `g` elements.
    """
    needed = backward_slice(end_of(block).values)
    ops = [op for op in ops_of(block) if op.results[0] in needed]
    times: dict[SSAValue, int] = {}
    """How often each value is resized."""
    sources: dict[SSAValue, SSAValue] = dict(zip(block.args, inputs, strict=True))
    for op in ops:
        if isinstance(op, ResizeNearest2xOp):
            times[op.result] = times.get(op.x, 0) + 1
            sources[op.result] = sources[op.x]
    read = {x for op in ops if not isinstance(op, ResizeNearest2xOp) for x in op.operands} | {*end_of(block).values}
    levels = sorted({times[x] for x in read if x in times}, reverse=True)
    factors = [1 << (more - fewer) for more, fewer in pairwise([*levels, 0])]
    env: dict[SSAValue, Value] = {}
    for x, source in sources.items():
        if x in read:
            known = levels.index(times[x]) if x in times else len(levels)
            env[x] = b.reshape(source, _split(shape_of(source), factors, known))
    for op in ops:
        if not isinstance(op, ResizeNearest2xOp):
            env[op.results[0]] = _again(op, [env[x] for x in op.operands], b)
    (end,) = end_of(block).values
    return _whole(env[end], factors, b)


def _split(shape: Sequence[int], factors: Sequence[int], known: int) -> list[int]:
    """A shape whose last two axes are split by the first `known` factors; along the others it broadcasts."""
    first = prod(factors[:known])
    found = list(shape[:-2])
    for extent in shape[-2:] if factors else ():
        repeats = extent == 1 and known == len(factors)
        inner = [1] * known if repeats else factors[:known]
        found += [extent if repeats else extent // first, *inner, *([1] * (len(factors) - known))]
    return found if factors else list(shape)


def _whole(value: Value, factors: Sequence[int], b: MirBuilder) -> Value:
    """A value with its last two axes split by all factors, broadcast along these and joined."""
    if not factors:
        return value
    many = len(factors) + 1
    height, width = value.shape[-2 * many], value.shape[-many]
    outer, times = value.shape[: -2 * many], prod(factors)
    return b.reshape(
        b.expand(value, (*outer, height, *factors, width, *factors)), (*outer, height * times, width * times)
    )


def _again(op: Operation, operands: Sequence[Value], b: MirBuilder) -> Value:
    """The result of an elementwise op, or of a constant, for operands of other shapes."""
    if isinstance(op, ConstantOp):
        copy = op.clone()
    else:
        type_ = TensorType(element_of(op.results[0]), broadcast_shapes(*(x.shape for x in operands)))
        copy = type(op).create(
            operands=[x.ssa for x in operands],
            result_types=[type_],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        copy.location = op.location
    copy.results[0].name_hint = op.results[0].name_hint
    return b.value(b.builder.insert(copy).results[0])


class MirLowerRegionsPass(RewritingPass):
    """
    Inline regions of elementwise ops and of resizes in a form that fuses into few kernels.

    ```
    %0 = mir.narrow %x axis 0 start 0 len 1
    %1 = mir.narrow %x axis 0 start 1 len 1
    %y = mir.batch_elementwise_region (%0, %1) -> 2xT {mir.relu}
    // becomes
    %0 = mir.narrow %x axis 0 start 0 len 2
    %y = mir.relu %0
    ```

    Slices of consecutive indices are computed together, unless a shared value varies along axis 0. Other slices are
    computed one by one and concatenated. A resize becomes a broadcast along axes of its own, which elementwise ops
    share: the resized value is not stored. `mir-decompose-fusion-regions` and `mir-unfuse-elementwise-regions` inline
    regions as they are written.
    """

    name = "mir-lower-regions"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        # compile runs this pass, on modules most of which have no regions
        if not any(isinstance(op, REGIONS) for op in module.walk()):
            return False
        rewrite(module, LowerBatch())
        rewrite(module, LowerRegion())
        return True
