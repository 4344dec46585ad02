"""Rows of functions with derivative rules of their own: a rule is copied to where it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.locations import named
from xdsl_rlx.dialects.mir.bodies import end_of, ops_of
from xdsl_rlx.dialects.mir.custom_fn import CustomFnOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.engines.batch import Batch
from xdsl_rlx.transforms.engines.reverse import add_seeds, has_derivative, pull_back, varying
from xdsl_rlx.transforms.located import recorded
from xdsl_rlx.transforms.rules.bodies import Body, or_zeros, pushed_forward, results_of
from xdsl_rlx.transforms.rules.rows import decompose
from xdsl_rlx.transforms.rules.rule_table import FLOW, JVP, VJP, VMAP, Cotangent, Together


@FLOW.rule(CustomFnOp)
def custom_fn_flow(op: CustomFnOp, active: Sequence[int]) -> Sequence[SSAValue]:
    """What depends on what is for a rule to say; without one, for the function."""
    if op.has_rules:
        return op.results
    block = op.forward.block
    varied = varying(ops_of(block), [block.args[n] for n in active])
    return [result for result, y in zip(op.results, end_of(block).values, strict=True) if y in varied]


@decompose(CustomFnOp)
def custom_fn_decompose(op: CustomFnOp, b: MirBuilder) -> Sequence[Value]:
    """The ops of the function, side by side with the rest."""
    return [b.value(x) for x in results_of(op.forward.block, op.operands, b)]


def _refuse(op: CustomFnOp, value: SSAValue) -> Value:
    """No rule says what depends on a captured value."""
    name = f"%{value.name_hint}, " if value.name_hint else ""
    raise PassFailedException(
        f"{named(op)}: its derivative rules do not cover a captured value "
        f"({name}{value.type}): pass it as an operand, or apply stop_gradient to it first"
    )


@VJP.rule(CustomFnOp)
def custom_fn_vjp(op: CustomFnOp, b: MirBuilder, *cotangents: Value | None) -> Sequence[Cotangent]:
    """That of the rule for reverse mode, else the transpose of the one for forward mode, else that of the function."""
    if not op.has_rules:
        return _through_forward(op, b, cotangents)
    found = iter(_by_vjp(op, op.vjp.block, b, cotangents) if op.vjp else _by_transpose(op, b, cotangents))
    of_inputs = [next(found) if has_derivative(x) else None for x in op.inputs]
    return [*of_inputs, *(partial(_refuse, op, x) if has_derivative(x) else None for x in op.captured)]


def _by_vjp(op: CustomFnOp, rule: Block, b: MirBuilder, cotangents: Sequence[Value | None]) -> list[Value]:
    arrived = [
        or_zeros(b, None if g is None else g.ssa, y)
        for y, g in zip(op.results, cotangents, strict=True)
        if has_derivative(y)
    ]
    return [b.value(x) for x in results_of(rule, [*op.operands, *op.results, *arrived], b)]


def _by_transpose(op: CustomFnOp, b: MirBuilder, cotangents: Sequence[Value | None]) -> list[Cotangent]:
    """The tangents of the results are linear in those of the inputs: their gradient at zero is the transpose."""
    assert op.jvp is not None
    zeros = [b.zeros_like(x).ssa for x in op.inputs if has_derivative(x)]
    arrived = [None if g is None else g.ssa for y, g in zip(op.results, cotangents, strict=True) if has_derivative(y)]
    found = _pulled_back(b, op.jvp.block, op.operands, zeros, arrived)
    if found is None:
        raise PassFailedException(
            f"{named(op)} has no vjp, and its jvp is not linear in the tangents: reverse mode (rlx.grad, rlx.vjp, "
            "rlx.jacrev) needs a vjp; define one, or use forward mode"
        )
    return [partial(b.zeros_like, zero) if g is None else b.value(g) for g, zero in zip(found, zeros, strict=True)]


def _pulled_back(
    b: MirBuilder, rule: Block, given: Sequence[SSAValue], zeros: Sequence[SSAValue], arrived: Sequence[SSAValue | None]
) -> list[SSAValue | None] | None:
    """The transpose of a rule, as the gradient of its results at `zeros`; None where it depends on the place."""
    with recorded(b.builder) as made:
        results = results_of(rule, [*given, *zeros], b)
    seeds = add_seeds(b, [b.value(x) for x in results], arrived)
    with recorded(b.builder) as transposed:
        found = pull_back(b, list(made), seeds, zeros)
    dependent = set(zeros)
    for one in (*made, *transposed):
        if not dependent.isdisjoint(one.operands):
            dependent.update(one.results)
    return found if dependent.isdisjoint(x for x in found if x is not None) else None


def _through_forward(op: CustomFnOp, b: MirBuilder, cotangents: Sequence[Value | None]) -> list[Cotangent]:
    with recorded(b.builder) as made:
        values = custom_fn_decompose(op, b)
    seeds = add_seeds(b, values, [None if g is None else g.ssa for g in cotangents])
    wrt = list(dict.fromkeys(x for x in op.operands if has_derivative(x)))
    found = dict(zip(wrt, pull_back(b, list(made), seeds, wrt), strict=True))
    leaving: list[Cotangent] = []
    for x in op.operands:
        # what one value gets as several operands is in its one cotangent
        total = found.pop(x, None)
        nothing = partial(b.zeros_like, x) if has_derivative(x) else None
        leaving.append(nothing if total is None else b.value(total))
    return leaving


@JVP.rule(CustomFnOp)
def custom_fn_jvp(op: CustomFnOp, b: MirBuilder, *tangents: Value | None) -> Sequence[Value | None] | Together:
    """That of the rule for forward mode; without rules, that of the function."""
    if not op.has_rules:
        return _with_tangents(op, b, tangents)
    n = len(op.inputs)
    for x, t in zip(op.captured, tangents[n:], strict=True):
        if t is not None:
            _refuse(op, x)
    given = [
        or_zeros(b, None if t is None else t.ssa, x)
        for x, t in zip(op.inputs, tangents[:n], strict=True)
        if has_derivative(x)
    ]
    if op.jvp is not None:
        found = iter(results_of(op.jvp.block, [*op.operands, *given], b))
    else:
        assert op.vjp is not None
        found = iter(_by_transposed_vjp(op, op.vjp.block, b, given))
    return [b.value(next(found)) if has_derivative(y) else None for y in op.results]


def _by_transposed_vjp(op: CustomFnOp, rule: Block, b: MirBuilder, tangents: Sequence[SSAValue]) -> list[SSAValue]:
    """The cotangents of the inputs are linear in those of the results: their gradient at zero is the transpose."""
    zeros = [b.zeros_like(y).ssa for y in op.results if has_derivative(y)]
    found = _pulled_back(b, rule, [*op.operands, *op.results], zeros, tangents)
    if found is None:
        raise PassFailedException(
            f"{named(op)} has no jvp, and its vjp is not linear in the cotangents: forward mode (rlx.jvp, rlx.hvp, "
            "rlx.jacfwd) needs a jvp; define one, or use reverse mode"
        )
    return [b.zeros_like(zero).ssa if x is None else x for x, zero in zip(found, zeros, strict=True)]


def _with_tangents(op: CustomFnOp, b: MirBuilder, tangents: Sequence[Value | None]) -> Together:
    """The ops of the function, each with its tangent."""
    body = Body()
    known = {x: t.ssa for x, t in zip(op.operands, tangents, strict=True) if t is not None}
    values, found = pushed_forward(body, op.forward.block, op.operands, known)
    for inner in list(body.block.ops):
        inner.detach()
        b.builder.insert(inner)
    return Together([b.value(y) for y in values], [None if t is None else b.value(t) for t in found])


@VMAP.rule(CustomFnOp)
def custom_fn_vmap(
    op: CustomFnOp, b: MirBuilder, batched: Sequence[bool], size: int, *operands: Value
) -> Sequence[Value] | None:
    """
    The same of the whole batch, with rules of the whole batch; without rules, the ops of the function.

    All results have the new axis, even those that are the same for all: so do their cotangents, which rules may take
    together with values that differ.
    """
    if not op.has_rules:
        return None
    n = len(op.inputs)
    types = [x.ssa.type for x in operands]
    floats = [i for i, x in enumerate(op.inputs) if has_derivative(x)]
    outputs = [TensorType(element_of(y), (size, *shape_of(y))) for y in op.results]
    moving = [type_ for type_, y in zip(outputs, op.results, strict=True) if has_derivative(y)]

    def of_batch(source: Block, more: Sequence[Attribute], has_axis: Sequence[bool]) -> tuple[Body, Batch]:
        body = Body([*types, *more])
        batch = Batch(size, body.b)
        batch.values |= zip(source.args, body.block.args, strict=True)
        batch.batched |= {arg for arg, has in zip(source.args, [*batched, *has_axis], strict=True) if has}
        batch.copy(ops_of(source))
        return body, batch

    body, batch = of_batch(op.forward.block, [], [])
    forward = body.end(batch.with_axis(y) for y in end_of(op.forward.block).values)
    vjp = jvp = None
    if op.vjp is not None:
        more = [*outputs, *moving]
        body, batch = of_batch(op.vjp.block, more, [True] * len(more))
        found = [body.b.value(batch.with_axis(y)) for y in end_of(op.vjp.block).values]
        # what is the same for all gets what each of them gives it
        summed = [g if batched[i] else body.b.reduce_sum(g, 0) for i, g in zip(floats, found, strict=True)]
        vjp = body.end(g.ssa for g in summed)
    if op.jvp is not None:
        body, batch = of_batch(op.jvp.block, [types[i] for i in floats], [batched[i] for i in floats])
        jvp = body.end(batch.with_axis(y) for y in end_of(op.jvp.block).values)
    values = [x.ssa for x in operands]
    return [b.value(y) for y in b.emit(CustomFnOp, values[:n], values[n:], forward, vjp, jvp).results]
