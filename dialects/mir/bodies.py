"""What ops with bodies share: the base class, how a Python function fills a body, and how bodies are checked.
No op is defined here."""

from __future__ import annotations

import abc
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeAlias

from xdsl.builder import Builder
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import traits_def
from xdsl.pattern_rewriter import RewritePattern
from xdsl.rewriter import InsertPoint
from xdsl.traits import IsolatedFromAbove, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.control import YieldOp
from xdsl_rlx.dialects.mir.core import DeclaredOp

Function: TypeAlias = Callable[..., Any]
"""From values to a value or a tuple of values; what it builds is a body."""


class BodyOp(DeclaredOp, HasCanonicalizationPatternsInterface, abc.ABC):
    """
    An op that computes by blocks of ops, which see nothing but their arguments.

    Its constructor takes blocks that end with a `mir.yield`; the types of the results follow from that.
    """

    traits = traits_def(RecursiveMemoryEffect(), IsolatedFromAbove())

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from xdsl_rlx.transforms.canonicalize.mir import patterns_of

        return patterns_of(cls)


def end_of(block: Block) -> YieldOp:
    """What a body yields."""
    op = block.last_op
    assert isinstance(op, YieldOp)
    return op


def yielded_values(block: Block) -> list[SSAValue]:
    """The values that a block yields, as far as it does."""
    last = block.last_op
    return list(last.operands) if last is not None else []


def yielded_types(block: Block) -> list[Attribute]:
    """The types of what a block yields, as far as it does."""
    return [value.type for value in yielded_values(block)]


def ops_of(block: Block) -> list[Operation]:
    """The ops of a body, without its yield."""
    return list(block.ops)[:-1]


def verify_arguments(block: Block, what: str, expected: Sequence[tuple[str, Attribute]]) -> None:
    """VerifyException unless the arguments of a body are of these types, which belong to what is named."""
    if len(block.args) != len(expected):
        raise VerifyException(f"{what} has {len(block.args)} arguments for {len(expected)} operands")
    for arg, (operand, type_) in zip(block.args, expected, strict=True):
        if arg.type != type_:
            raise VerifyException(f"{operand} is {type_}, {what} takes {arg.type}")


def verify_end(block: Block, what: str) -> YieldOp:
    """What a body yields; VerifyException if it has no yield at its end."""
    last = block.last_op
    if not isinstance(last, YieldOp):
        raise VerifyException(f"expected a mir.yield at the end of {what}")
    return last


def verify_results(block: Block, what: str, results: Sequence[SSAValue]) -> None:
    """VerifyException unless a body yields values of the types of the results of its op."""
    values = verify_end(block, what).values
    if len(values) != len(results):
        raise VerifyException(f"{what} yields {len(values)} values for {len(results)} results")
    for number, (value, result) in enumerate(zip(values, results, strict=True)):
        if value.type != result.type:
            raise VerifyException(f"result {number} is {result.type}, {what} yields {value.type}")


def captured_types(captured: Sequence[SSAValue]) -> list[tuple[str, Attribute]]:
    """What `verify_arguments` expects of captured operands."""
    return [(f"captured {n}", x.type) for n, x in enumerate(captured)]


def isolate(block: Block, number: int) -> list[SSAValue]:
    """The values from outside that a block uses, each of which gets an argument behind the first `number`."""
    return isolate_all([block], number)


def isolate_all(blocks: Sequence[Block], number: int) -> list[SSAValue]:
    """
    The values from outside that any of some blocks uses: each gets an argument in all of them, behind `number` others.

    Ops that nothing uses stay: what they are for is not known here.
    """
    captured: dict[SSAValue, None] = {}
    foreign: list[tuple[Block, Operation, int]] = []
    for block in blocks:
        inside: set[SSAValue] = set(block.args)
        for op in block.walk():
            inside.update(op.results)
            for region in op.regions:
                for inner in region.blocks:
                    inside.update(inner.args)
        for op in block.walk():
            for index, operand in enumerate(op.operands):
                if operand not in inside:
                    captured[operand] = None
                    foreign.append((block, op, index))
    places = {value: number + n for n, value in enumerate(captured)}
    for block in blocks:
        for value in captured:
            block.insert_arg(value.type, places[value]).name_hint = value.name_hint
    for block, op, index in foreign:
        op.operands[index] = block.args[places[op.operands[index]]]
    return list(captured)


def captured_by(name: str, blocks: Sequence[Block], number: int) -> list[SSAValue]:
    """`isolate_all` for a method of that name; GraphError if a body uses what another one has built."""
    owners = {op: block for block in blocks for op in block.ops}
    for block in blocks:
        for op in block.walk():
            for x in op.operands:
                if isinstance(x.owner, Operation) and owners.get(x.owner, block) is not block:
                    raise GraphError(f"{name}: a body uses a value of another body; compute it outside of both")
    return isolate_all(blocks, number)


def clear(block: Block) -> None:
    """Erase the ops of a block that is given up."""
    for op in reversed(list(block.ops)):
        op.detach()
        op.erase(safe_erase=False)


@contextmanager
def cleared_on_error(*blocks: Block) -> Generator[None]:
    """After an error in here, nothing in these blocks uses values from around them."""
    with ExitStack() as undo:
        for block in blocks:
            undo.callback(clear, block)
        yield
        undo.pop_all()


@contextmanager
def filling(builder: Builder, block: Block) -> Generator[None]:
    """Meanwhile `builder` inserts at the end of another block."""
    before, builder.insertion_point = builder.insertion_point, InsertPoint.at_end(block)
    try:
        yield
    finally:
        builder.insertion_point = before


def is_several(x: object) -> bool:
    """Whether what a function takes or gives is a sequence of values, not one."""
    return isinstance(x, Sequence) and not isinstance(x, str)


def several(x: Any) -> Sequence[Any]:
    """A value or a sequence of values as a sequence."""
    return x if is_several(x) else (x,)
