"""Loops and branches as StableHLO. A scan is a `while` with a counter, and slices of its inputs, as JAX prints it."""

# Types of xDSL are generic in their attributes.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i1, i32
from xdsl.ir import Block, SSAValue

from xdsl_rlx.dialects.mir import branch, scan
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.frontends.stablehlo.write_constants import is_range
from xdsl_rlx.frontends.stablehlo.writer import Writer, numbers, row

_COUNT, _TRUTH = TensorType(i32, ()), TensorType(i1, ())


def _give(w: Writer, names: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
    for name, value in zip(names, values, strict=True):
        w.set(name, value)


@row(branch.IfOp)
def _if(op: branch.IfOp, w: Writer) -> Sequence[SSAValue]:
    blocks = [_branch(w, block, op.captured) for block in op.branches]
    return w.ops("if", [w[op.predicate]], [x.type for x in op.results], blocks)


@row(branch.SwitchOp)
def _switch(op: branch.SwitchOp, w: Writer) -> Sequence[SSAValue]:
    index = w[op.index]
    element = element_of(index)
    bounds = [w.scalar(x, element) for x in (0, len(op.branches) - 1)]
    clamped = w.op("clamp", [bounds[0], index, bounds[1]], index.type)
    blocks = [_branch(w, block, op.captured) for block in op.branches]
    return w.ops("case", [w.convert(clamped, i32)], [x.type for x in op.results], blocks)


def _branch(w: Writer, source: Block, captured: Sequence[SSAValue]) -> Block:
    block = Block()
    inner = w.inside(block)
    _give(inner, source.args, [inner[x] for x in captured])
    inner.end(inner.body(source))
    return block


@row(branch.RematOp)
def _remat(op: branch.RematOp, w: Writer) -> Sequence[SSAValue]:
    for arg, x in zip(op.body.block.args, op.captured, strict=True):
        w.set(arg, w[x])
    return w.body(op.body.block)


@row(branch.WhileOp)
def _while(op: branch.WhileOp, w: Writer) -> Sequence[SSAValue]:
    """The number of iterations is the last carry."""
    init = [*(w[x] for x in op.init), w.scalar(0, i32)]
    types = [x.type for x in init]
    asks, does = Block(arg_types=types), Block(arg_types=types)
    inner = w.inside(asks)
    _give(inner, op.condition.block.args, [*asks.args[:-1], *(inner[x] for x in op.captured)])
    (asked,) = inner.body(op.condition.block)
    if op.most is not None:
        left = inner.compare("LT", asks.args[-1], inner.scalar(op.most, i32), "SIGNED")
        asked = inner.op("and", [asked, left], _TRUTH)
    inner.end([asked])
    inner = w.inside(does)
    _give(inner, op.body.block.args, [*does.args[:-1], *(inner[x] for x in op.captured)])
    after = inner.body(op.body.block)
    inner.end([*after, inner.op("add", [does.args[-1], inner.scalar(1, i32)], _COUNT)])
    return w.ops("while", init, types, [asks, does])


@row(scan.ScanOp)
def _scan(op: scan.ScanOp, w: Writer) -> Sequence[SSAValue]:
    """A counter, the carries, and the stacked results."""
    stacks = [w.full(0, shape_of(y), element_of(y)) for y in op.ys]
    if not op.times:
        return [*(w[x] for x in op.init), *stacks]
    init = [w.scalar(0, i32), *(w[x] for x in op.init), *stacks]
    types = [x.type for x in init]
    asks, does = Block(arg_types=types), Block(arg_types=types)
    inner = w.inside(asks)
    inner.end([inner.compare("LT", asks.args[0], inner.scalar(op.times, i32), "SIGNED")])
    inner = w.inside(does)
    count, carries, ys = does.args[0], does.args[1 : 1 + len(op.init)], does.args[1 + len(op.init) :]
    at = count
    if op.reverse is not None:
        at = inner.op("subtract", [inner.scalar(op.times, i32), count], _COUNT)
        at = inner.op("subtract", [at, inner.scalar(1, i32)], _COUNT)
    elements = [_element(inner, w[x], at) for x in op.xs]
    given = [*carries, *elements, *(inner[x] for x in op.captured)]
    _give(inner, op.body.block.args, given)
    found = inner.body(op.body.block)
    after = found[: len(carries)]
    stacked = [_placed(inner, y, x, at) for y, x in zip(ys, found[len(carries) :], strict=True)]
    inner.end([inner.op("add", [count, inner.scalar(1, i32)], _COUNT), *after, *stacked])
    return w.ops("while", init, types, [asks, does])[1:]


def _starts(w: Writer, at: SSAValue, rank: int) -> list[SSAValue]:
    return [at, *[w.scalar(0, i32)] * (rank - 1)]


def _element(w: Writer, x: SSAValue, at: SSAValue) -> SSAValue:
    """An element along the leading axis."""
    shape = shape_of(x)
    array = w.elements_of(x)
    if array is not None and is_range(array, element_of(x)):
        # import takes slices of a range for the counter
        return w.convert(at, element_of(x))
    sizes = (1, *shape[1:])
    type_ = TensorType(element_of(x), sizes)
    found = w.op("dynamic_slice", [x, *_starts(w, at, len(shape))], type_, slice_sizes=numbers(sizes))
    return w.reshape(found, shape[1:])


def _placed(w: Writer, stack: SSAValue, x: SSAValue, at: SSAValue) -> SSAValue:
    """The stack with an element along its leading axis replaced."""
    shape = shape_of(stack)
    update = w.reshape(x, (1, *shape[1:]))
    return w.op("dynamic_update_slice", [stack, update, *_starts(w, at, len(shape))], stack.type)
