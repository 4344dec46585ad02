"""Control flow that depends on values (`mir.if`, `mir.switch`, `mir.while`), and rematerialisation (`mir.remat`)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import StringAttr, TensorType, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import (
    result_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.calls import called_as
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.bodies import (
    BodyOp,
    Function,
    captured_by,
    captured_types,
    cleared_on_error,
    end_of,
    filling,
    is_several,
    several,
    verify_arguments,
    verify_end,
    verify_results,
    yielded_types,
)
from xdsl_rlx.dialects.mir.control import YieldOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Bodies,
    Body,
    Field,
    OptionalInteger,
    Tensor,
    Tensors,
    attribute,
    integer,
    region,
    regions,
    tensor,
    tensors,
)
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, INTS, element_of, i1, shape_of

TRUTH = TensorType(i1, [])
COUNT = TensorType(i32, [])
MOST_ITERATIONS = (1 << 31) - 1
"""What the trip count of a loop can hold."""


class IfOp(BodyOp, name="mir.if"):
    """
    `then(captured)` if `predicate` is true, else `otherwise(captured)`; the other branch is not run.

    Both branches take `captured`, and yield the results.
    """

    predicate: Tensor = tensor()
    captured: Tensors = tensors()
    then: Body = region()
    otherwise: Body = region()
    results_ = var_result_def(AnyTensorConstr)

    assembly_format = (
        "$predicate `:` type($predicate) (`captured` `(` $captured^ `:` type($captured) `)`)? attr-dict "
        "`->` `(` type($results_) `)` $then `else` $otherwise"
    )

    def infer_types(self) -> list[Attribute]:
        return yielded_types(self.then.block)

    @property
    def branches(self) -> tuple[Block, Block]:
        """What is run where the predicate is true, and else."""
        return self.then.block, self.otherwise.block

    def verify_(self) -> None:
        if self.predicate.type != TRUTH:
            raise VerifyException(f"expected a predicate of type {TRUTH}, got {self.predicate.type}")
        for what, block in zip(("the first branch", "the other branch"), self.branches, strict=True):
            verify_arguments(block, what, captured_types(self.captured))
            verify_results(block, what, self.results_)


class SwitchOp(BodyOp, name="mir.switch"):
    """
    The branch of number `index`, which is clamped to the range of the branches.

    The other branches are not run. All take `captured`, and yield the results.
    """

    index: Tensor = tensor()
    captured: Tensors = tensors()
    regions_: Bodies = regions(alias="branches")
    results_ = var_result_def(AnyTensorConstr)

    assembly_format = (
        "$index `:` type($index) (`captured` `(` $captured^ `:` type($captured) `)`)? attr-dict "
        "`->` `(` type($results_) `)` $regions_"
    )

    def infer_types(self) -> list[Attribute]:
        return yielded_types(self.branches[0])

    @property
    def branches(self) -> tuple[Block, ...]:
        """What is run for each index."""
        return tuple(region.block for region in self.regions_)

    def verify_(self) -> None:
        if shape_of(self.index) or element_of(self.index) not in INTS:
            raise VerifyException(f"expected an index that is an integer of rank 0, got {self.index.type}")
        if not self.regions_:
            raise VerifyException("expected at least one branch")
        for number, block in enumerate(self.branches):
            verify_arguments(block, f"branch {number}", captured_types(self.captured))
            verify_results(block, f"branch {number}", self.results_)


class WhileOp(BodyOp, name="mir.while"):
    """
    `while condition(carry, captured): carry = body(carry, captured)`.

    `condition` yields one i1, and `body` the carries of the next iteration, of the types of `init`. The results are the
    carries after the last iteration, and the number of iterations. `max_iterations` bounds that number: the loop stops
    there even if the condition is true. Only a bounded loop has a gradient in reverse mode. The error for others says
    `remedy` instead of "set max_iterations": the function that builds a loop may have another argument for its bound.
    """

    init: Tensors = tensors()
    captured: Tensors = tensors()
    condition: Body = region()
    body: Body = region()
    max_iterations: OptionalInteger = integer(default=None)
    remedy: Field[StringAttr | None, StringAttr | None] = attribute(StringAttr, default=None)
    carries = var_result_def(AnyTensorConstr)
    trips = result_def(COUNT)

    assembly_format = (
        "(`carries` `(` $init^ `:` type($init) `)`)? (`captured` `(` $captured^ `:` type($captured) `)`)? "
        "(`max_iterations` $max_iterations^)? (`remedy` $remedy^)? attr-dict "
        "`->` `(` type($carries) `)` $condition `do` $body"
    )

    def infer_types(self) -> list[Attribute]:
        return [*(x.type for x in self.init), COUNT]

    @property
    def most(self) -> int | None:
        """How often the body is run at most; None if that is not said."""
        return None if self.max_iterations is None else self.max_iterations.value.data

    @property
    def last(self) -> YieldOp:
        """What the body yields."""
        return end_of(self.body.block)

    @property
    def asked(self) -> SSAValue:
        """What the condition yields."""
        return end_of(self.condition.block).values[0]

    def verify_(self) -> None:
        if self.most is not None and not 0 <= self.most <= MOST_ITERATIONS:
            raise VerifyException(f"expected max_iterations from 0 to {MOST_ITERATIONS}, got {self.most}")
        expected = [*((f"carry {n}", x.type) for n, x in enumerate(self.init)), *captured_types(self.captured)]
        verify_arguments(self.condition.block, "the condition", expected)
        verify_arguments(self.body.block, "the body", expected)
        asked = [value.type for value in verify_end(self.condition.block, "the condition").values]
        if asked != [TRUTH]:
            found = ", ".join(map(str, asked)) or "nothing"
            raise VerifyException(f"expected a condition that yields one {TRUTH}, got {found}")
        values = verify_end(self.body.block, "the body").values
        if len(values) != len(self.init) or len(self.carries) != len(self.init):
            raise VerifyException(
                f"the body yields {len(values)} values for {len(self.init)} carries and {len(self.carries)} results"
            )
        for number, (carry, value, result) in enumerate(zip(self.init, values, self.carries, strict=True)):
            if value.type != carry.type:
                raise VerifyException(f"carry {number} is {carry.type}, the body yields {value.type}")
            if result.type != carry.type:
                raise VerifyException(f"carry {number} is {carry.type}, its result {result.type}")


class RematOp(BodyOp, name="mir.remat"):
    """`body(captured)`, which the backward pass recomputes from `captured` instead of saving intermediates."""

    captured: Tensors = tensors()
    body: Body = region()
    results_ = var_result_def(AnyTensorConstr)

    assembly_format = (
        "(`captured` `(` $captured^ `:` type($captured) `)`)? attr-dict `->` `(` type($results_) `)` $body"
    )

    def infer_types(self) -> list[Attribute]:
        return yielded_types(self.body.block)

    def verify_(self) -> None:
        verify_arguments(self.body.block, "the body", captured_types(self.captured))
        verify_results(self.body.block, "the body", self.results_)


class BranchBuilder(BuilderCore):
    """
    Branches and loops that depend on values.

    Functions that build a body return a value or a tuple of values, and may use values from around it.
    """

    def cond(self, pred: Operand, then: Function, otherwise: Function, *operands: Operand) -> Any:
        """
        `mir.if`: `then(*operands)` if `pred` is true, else `otherwise(*operands)`, as `jax.lax.cond`.

        `pred` has one element; a number is true if it is not 0. A Python number takes the element type of the other
        branch's result. GraphError if the branches return different numbers of values or different types.
        """
        predicate = self._truth("cond", pred)
        functions = {"the first branch": then, "the other branch": otherwise}
        blocks, captured, one = self._filled("cond", functions, operands)
        return self._taken(self.emit(IfOp, predicate, captured, *blocks), one)

    def switch(self, index: Operand, branches: Sequence[Function], *operands: Operand) -> Any:
        """
        `mir.switch`: call branch number `index` with `operands`, as `jax.lax.switch`.

        `index` is an integer of one element; it is clamped to the valid range. GraphError if the branches return
        different numbers of values or different types.
        """
        if not branches:
            raise GraphError("switch: expected at least one branch")
        chosen = self.value(self.operand(index, self.scalar(0, i32) if isinstance(index, int) else None))
        if prod(chosen.shape) != 1 or element_of(chosen.ssa) not in INTS:
            raise GraphError(f"switch: expected an index that is one integer, got {chosen.type}")
        functions = {f"branch {number}": function for number, function in enumerate(branches)}
        blocks, captured, one = self._filled("switch", functions, operands)
        at = self._this.reshape(chosen, ()).ssa
        return self._taken(self.emit(SwitchOp, at, captured, blocks), one)

    def remat(self, fn: Function, *operands: Operand) -> Any:
        """`mir.remat`: `fn(*operands)`, rematerialised in the backward pass, as `jax.checkpoint`."""
        blocks, captured, one = self._filled("remat", {"the body": fn}, operands)
        return self._taken(self.emit(RematOp, captured, *blocks), one)

    def while_loop(
        self,
        cond: Function,
        body: Function,
        init: Operand | Sequence[Operand],
        max_iterations: int | None = None,
        return_trips: bool = False,
        remedy: str | None = None,
    ) -> Any:
        """
        `mir.while`: `carry = body(carry)` while `cond(carry)` holds, starting at `init`, as `jax.lax.while_loop`.

        `init` and the result of `body` are a value or a tuple of values; the tuple is passed as one argument.
        `max_iterations` limits the trip count and enables reverse-mode differentiation. With `return_trips` the result
        is `(carry, trips)`, where `trips` is the trip count as i32. `remedy` replaces the words "set max_iterations" in
        the error of a gradient in reverse mode. GraphError if the carry changes its type.
        """
        if max_iterations is not None and not 0 <= max_iterations <= MOST_ITERATIONS:
            raise GraphError(f"while_loop: expected max_iterations from 0 to {MOST_ITERATIONS}, got {max_iterations}")
        cond, body = called_as("while_loop: cond(carry)", cond), called_as("while_loop: body(carry)", body)
        carries = [self.operand(x) for x in several(init)]
        first, second = (Block(arg_types=[x.type for x in carries]) for _ in range(2))

        def passed(block: Block) -> Any:
            args = tuple(self.value(arg) for arg in block.args)
            return args if is_several(init) else args[0]

        with cleared_on_error(first, second):
            with filling(self.builder, first):
                self.builder.insert(YieldOp(self._truth("while_loop: the condition", cond(passed(first)))))
            with filling(self.builder, second):
                self.builder.insert(YieldOp(*self._next(body(passed(second)), second)))
            captured = captured_by("while_loop", [first, second], len(carries))
        text = None if remedy is None else StringAttr(remedy)
        op = self.emit(WhileOp, carries, captured, first, second, max_iterations, text)
        left = tuple(self.value(x) for x in op.carries)
        found = left if is_several(init) else left[0]
        return (found, self.value(op.trips)) if return_trips else found

    def _next(self, found: Any, block: Block) -> list[SSAValue]:
        """The carries that the body of a loop returns."""
        values = several(found)
        if len(values) != len(block.args):
            raise GraphError(
                f"while_loop: expected the body to return {len(block.args)} carries, as in init, got {len(values)}"
            )
        after = [self.operand(value, like) for value, like in zip(values, block.args, strict=True)]
        for number, (arg, value) in enumerate(zip(block.args, after, strict=True)):
            if value.type != arg.type:
                raise GraphError(
                    f"while_loop: expected carry {number} of the body as in init, {arg.type}, got {value.type}"
                )
        return after

    def _truth(self, what: str, x: Operand) -> SSAValue:
        """One truth value, of rank 0; a number is true if it is not 0."""
        value = self.value(self.operand(x))
        if prod(value.shape) != 1 or element_of(value.ssa) in COMPLEXES:
            raise GraphError(f"{what}: expected one truth value or real number, got {value.type}")
        if element_of(value.ssa) != i1:
            value = self._this.ne(value, 0)
        return self._this.reshape(value, ()).ssa

    def _filled(
        self, name: str, functions: dict[str, Function], operands: Sequence[Operand]
    ) -> tuple[list[Block], list[SSAValue], bool]:
        """A block for each function, what they use from outside, and whether they return one value, not a tuple."""
        given = [self.value(self.operand(x)) for x in operands]
        blocks = [Block() for _ in functions]
        with cleared_on_error(*blocks):
            returned: dict[str, Any] = {}
            for (what, function), block in zip(functions.items(), blocks, strict=True):
                with filling(self.builder, block):
                    returned[what] = called_as(f"{name}: {what}", function)(*given)
            one = not is_several(next(iter(returned.values())))
            if len({(is_several(found), len(several(found))) for found in returned.values()}) > 1:
                raise GraphError(f"{name}: {_counts(returned)}")
            for block, values in zip(blocks, self._yields(name, blocks, returned), strict=True):
                block.add_op(YieldOp(*values))
            return blocks, captured_by(name, blocks, 0), one

    def _yields(self, name: str, blocks: Sequence[Block], returned: dict[str, Any]) -> list[list[SSAValue]]:
        """What each body yields: of the same types in all."""
        columns = list(zip(*map(several, returned.values()), strict=True))
        likes = [next((x for x in column if isinstance(x, Value)), None) for column in columns]
        rows: list[list[SSAValue]] = []
        for (what, found), block in zip(returned.items(), blocks, strict=True):
            with filling(self.builder, block):
                try:
                    rows.append([self.operand(x, like) for x, like in zip(several(found), likes, strict=True)])
                except GraphError as error:
                    raise GraphError(f"{name}: {what}: {error}") from None
            for number, (value, first) in enumerate(zip(rows[-1], rows[0], strict=True)):
                if value.type != first.type:
                    other = next(iter(returned))
                    raise GraphError(
                        f"{name}: result {number} of {other} is {first.type}, but of {what} it is {value.type}"
                    )
        return rows

    def _taken(self, op: Operation, one: bool) -> Any:
        values = tuple(self.value(x) for x in op.results)
        return values[0] if one else values


def _counts(returned: dict[str, Any]) -> str:
    """How many values each of several functions returns, in words."""
    return ", ".join(
        f"{what} returns {f'a tuple of {len(several(found))}' if is_several(found) else 'one value'}"
        for what, found in returned.items()
    )
