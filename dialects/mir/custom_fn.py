"""`mir.custom_fn`: a function with custom derivative rules, as regions. Registered ops are in `custom.py`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import Attribute, Block, SSAValue
from xdsl.irdl import (
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.bodies import (
    BodyOp,
    Function,
    captured_by,
    captured_types,
    cleared_on_error,
    filling,
    is_several,
    several,
    verify_arguments,
    verify_end,
    verify_results,
    yielded_types,
)
from xdsl_rlx.dialects.mir.control import YieldOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Body, OptionalBody, Tensors, optional_region, region, tensors
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand
from xdsl_rlx.dialects.shapes import COMPLEXES, FLOATS, element_of


class CustomFnOp(BodyOp, name="mir.custom_fn"):
    """
    `forward(inputs, captured)`, differentiated by its own `vjp` and `jvp` regions, or through `forward` without them.

    `vjp(inputs, captured, results, cotangents)` yields the cotangents of the floating-point inputs from the cotangents
    of the floating-point results. `jvp(inputs, captured, tangents)` yields the tangents of these results from the
    tangents of these inputs, and is linear in them. With `jvp` only, reverse mode transposes it. With `vjp` only,
    forward mode transposes that, if it is linear in the cotangents. With a rule, nothing is differentiated with respect
    to `captured`.
    """

    inputs: Tensors = tensors()
    captured: Tensors = tensors()
    forward: Body = region()
    vjp: OptionalBody = optional_region(default=None)
    jvp: OptionalBody = optional_region(default=None)
    results_ = var_result_def(AnyTensorConstr)

    assembly_format = (
        "(`inputs` `(` $inputs^ `:` type($inputs) `)`)? (`captured` `(` $captured^ `:` type($captured) `)`)? attr-dict "
        "`->` `(` type($results_) `)` $forward (`vjp` $vjp^)? (`jvp` $jvp^)?"
    )

    def infer_types(self) -> list[Attribute]:
        return yielded_types(self.forward.block)

    @property
    def has_rules(self) -> bool:
        """Whether it is differentiated by rules of its own."""
        return self.vjp is not None or self.jvp is not None

    def verify_(self) -> None:
        operands = [*((f"input {n}", x.type) for n, x in enumerate(self.inputs)), *captured_types(self.captured)]
        results = [(f"result {n}", y.type) for n, y in enumerate(self.results_)]
        verify_arguments(self.forward.block, "the forward", operands)
        verify_results(self.forward.block, "the forward", self.results_)
        inputs = [(n, x.type) for n, x in enumerate(self.inputs) if is_continuous(x)]
        outputs = [(n, y.type) for n, y in enumerate(self.results_) if is_continuous(y)]
        if self.vjp is not None:
            block, cotangents = self.vjp.block, [(f"the cotangent of result {n}", type_) for n, type_ in outputs]
            _verify_count(block, "the vjp", {"operands": operands, "results": results, "cotangents": cotangents})
            verify_arguments(block, "the vjp", [*operands, *results, *cotangents])
            _verify_yields(block, "the vjp", "input", inputs)
        if self.jvp is not None:
            block, tangents = self.jvp.block, [(f"the tangent of input {n}", type_) for n, type_ in inputs]
            _verify_count(block, "the jvp", {"operands": operands, "tangents": tangents})
            verify_arguments(block, "the jvp", [*operands, *tangents])
            _verify_yields(block, "the jvp", "result", outputs)


def is_continuous(value: SSAValue) -> bool:
    """Whether a value has cotangents and tangents: a tensor of floating-point or complex numbers."""
    return element_of(value) in (*FLOATS, *COMPLEXES)


def _verify_count(block: Block, what: str, expected: Mapping[str, Sequence[tuple[str, Attribute]]]) -> None:
    """VerifyException unless a rule takes as many arguments as there are values of these kinds."""
    if len(block.args) != sum(map(len, expected.values())):
        *before, last = (f"{len(values)} {kind}" for kind, values in expected.items())
        raise VerifyException(f"{what} has {len(block.args)} arguments for {', '.join(before)} and {last}")


def _verify_yields(block: Block, what: str, kind: str, expected: Sequence[tuple[int, Attribute]]) -> None:
    """VerifyException unless a rule yields a value of its type for each floating-point input or result."""
    values = verify_end(block, what).values
    if len(values) != len(expected):
        raise VerifyException(f"{what} yields {len(values)} values for {len(expected)} floating-point {kind}s")
    for value, (number, type_) in zip(values, expected, strict=True):
        if value.type != type_:
            raise VerifyException(f"{kind} {number} is {type_}, {what} yields {value.type} for it")


def _takes(function: Function, count: int) -> bool:
    """Whether a function can be called with so many arguments, as far as Python knows."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return True
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


class CustomFnBuilder(BuilderCore):
    """Builder methods of this family."""

    def custom_fn(
        self, fn: Function, *operands: Operand, vjp: Function | None = None, jvp: Function | None = None
    ) -> Any:
        """
        `mir.custom_fn`: `fn(*operands)`, a value or a tuple of values, with custom derivatives.

        `vjp(*operands, *results, *cotangents)` receives a cotangent for each floating-point result and returns one for
        each floating-point operand. `jvp(*operands, *tangents)` receives a tangent for each floating-point operand and
        returns one for each floating-point result; it must be linear in the tangents. Without rules, the derivatives
        are those of `fn`. Functions may capture values; with a rule, captured values are not differentiated. GraphError
        for a rule that takes or returns a wrong number of values, or returns wrong types.
        """
        inputs = [self.operand(x) for x in operands]
        forward, *others = blocks = [Block() for given in (fn, vjp, jvp) if given is not None]
        with cleared_on_error(*blocks):
            found = self._body("the function", fn, forward, inputs)
            one = not is_several(found)
            with filling(self.builder, forward):
                results = [self.operand(y) for y in several(found)]
            forward.add_op(YieldOp(*results))
            floats, outputs = ([x for x in values if is_continuous(x)] for values in (inputs, results))
            if vjp is not None:
                block = others[0]
                found = self._body("the vjp", vjp, block, [*inputs, *results, *outputs])
                self._end("the vjp", found, block, "operands", floats)
            if jvp is not None:
                block = others[-1]
                found = self._body("the jvp", jvp, block, [*inputs, *floats])
                self._end("the jvp", found, block, "results", outputs)
            captured = captured_by("custom_fn", blocks, len(inputs))
        rules = iter(others)
        op = self.emit(
            CustomFnOp, inputs, captured, forward, *(None if rule is None else next(rules) for rule in (vjp, jvp))
        )
        values = tuple(self.value(x) for x in op.results)
        return values[0] if one else values

    def _body(self, what: str, function: Function, block: Block, likes: Sequence[SSAValue]) -> Any:
        """What a function returns of the arguments of its block, which are of these types."""
        if not _takes(function, len(likes)):
            raise GraphError(
                f"custom_fn: {what} is called with {len(likes)} values, which it does not take; only floating-point "
                "operands and results have tangents and cotangents"
            )
        for number, like in enumerate(likes):
            block.insert_arg(like.type, number)
        with filling(self.builder, block):
            return function(*map(self.value, block.args))

    def _end(self, what: str, found: Any, block: Block, kind: str, likes: Sequence[SSAValue]) -> None:
        """End a rule with what it returned: a value like each of these."""
        if len(several(found)) != len(likes):
            raise GraphError(
                f"custom_fn: {what} returns {len(several(found))} values for {len(likes)} floating-point {kind}"
            )
        with filling(self.builder, block):
            values = [self._given(what, x, like) for x, like in zip(several(found), likes, strict=True)]
        for number, (value, like) in enumerate(zip(values, likes, strict=True)):
            if value.type != like.type:
                raise GraphError(
                    f"custom_fn: value {number} that {what} returns is {value.type}, expected {like.type}, as that of "
                    f"the floating-point {kind}"
                )
        block.add_op(YieldOp(*values))

    def _given(self, what: str, x: Any, like: SSAValue) -> SSAValue:
        try:
            return self.operand(x, like)
        except GraphError as error:
            raise GraphError(f"custom_fn: {what}: {error}") from None
