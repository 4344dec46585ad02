"""`mir.scan`: a loop over the leading axis of its operands, with carries between iterations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import (
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.calls import called_as
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.bodies import (
    BodyOp,
    captured_types,
    cleared_on_error,
    end_of,
    filling,
    is_several,
    isolate,
    ops_of,
    several,
    verify_arguments,
    verify_end,
    yielded_values,
)
from xdsl_rlx.dialects.mir.control import YieldOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Body,
    Flag,
    Integer,
    OptionalInteger,
    Tensors,
    flag,
    integer,
    region,
    tensors,
)
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand
from xdsl_rlx.dialects.shapes import AnyTensor, element_of, shape_of

ScanBody: TypeAlias = Callable[..., Any]
"""`(carry, x) -> (carry, y)`, each of them a value or a tuple of values, y or None."""


class ScanOp(BodyOp, name="mir.scan"):
    """
    `carry, y[t] = body(carry, x[t], captured)` for t = 0 .. length - 1, or down from there with `reverse`.

    `body` takes the carries, an element of the leading axis of each of `xs`, and `captured`, which is the same in all
    iterations. It yields the carries of the next iteration, of the types of `init`, then the elements of the stacked
    results. The results are the carries after the last iteration, and the stacked results, in the order of t.

    With `checkpoints`, 1 to `length`, a gradient keeps that many carries and recomputes the others. With `recomputed`,
    the gradient of an enclosing scan saves nothing of this scan and recomputes it. Neither changes values.
    """

    init: Tensors = tensors()
    xs: Tensors = tensors()
    captured: Tensors = tensors()
    length: Integer = integer()
    body: Body = region()
    reverse: Flag = flag(default=False)
    checkpoints: OptionalInteger = integer(default=None)
    recomputed: Flag = flag(default=False)
    carries = var_result_def(AnyTensorConstr)
    ys = var_result_def(AnyTensorConstr)

    assembly_format = (
        "$length (`reverse` $reverse^)? (`checkpoints` $checkpoints^)? (`recomputed` $recomputed^)? "
        "(`carries` `(` $init^ `:` type($init) `)`)? "
        "(`over` `(` $xs^ `:` type($xs) `)`)? (`captured` `(` $captured^ `:` type($captured) `)`)? attr-dict "
        "`->` `(` type($carries) `)` (`stacked` `(` type($ys)^ `)`)? $body"
    )

    def infer_types(self) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        yielded = yielded_values(self.body.block)[len(self.init) :]
        return [x.type for x in self.init], [stacked(y, self.times) for y in yielded]

    @property
    def times(self) -> int:
        """How often the body is run."""
        return self.length.value.data

    @property
    def kept(self) -> int | None:
        """Of how many times a gradient keeps the carries; None: of all that it needs."""
        return None if self.checkpoints is None else self.checkpoints.value.data

    @property
    def last(self) -> YieldOp:
        """What the body yields."""
        return end_of(self.body.block)

    def verify_(self) -> None:
        if self.times < 0:
            raise VerifyException(f"expected a length of at least 0, got {self.times}")
        if self.kept is not None and not 1 <= self.kept <= self.times:
            raise VerifyException(f"expected checkpoints of 1 to {self.times}, the length, got {self.kept}")
        for number, x in enumerate(self.xs):
            if not shape_of(x) or shape_of(x)[0] != self.times:
                raise VerifyException(f"xs {number} of type {x.type} has no leading axis of the length {self.times}")
        expected = [
            *((f"carry {n}", x.type) for n, x in enumerate(self.init)),
            *((f"the element of xs {n}", unstacked(x)) for n, x in enumerate(self.xs)),
            *captured_types(self.captured),
        ]
        verify_arguments(self.body.block, "the body", expected)
        self._verify_yield()

    def _verify_yield(self) -> None:
        last = verify_end(self.body.block, "the body")
        if len(last.values) != len(self.init) + len(self.ys):
            raise VerifyException(
                f"the body yields {len(last.values)} values for {len(self.init)} carries and {len(self.ys)} results"
            )
        for number, (carry, value) in enumerate(zip(self.init, last.values, strict=False)):
            if value.type != carry.type:
                raise VerifyException(f"carry {number} is {carry.type}, the body yields {value.type}")
        for number, (carry, result) in enumerate(zip(self.init, self.carries, strict=True)):
            if result.type != carry.type:
                raise VerifyException(f"carry {number} is {carry.type}, its result {result.type}")
        for number, (y, value) in enumerate(zip(self.ys, last.values[len(self.init) :], strict=True)):
            if y.type != stacked(value, self.times):
                raise VerifyException(f"stacked result {number} is {y.type}, the body yields {value.type}")


def stacked(value: SSAValue, length: int) -> AnyTensor:
    """The type of `length` values of a value's type along a new leading axis."""
    return TensorType(element_of(value), (length, *shape_of(value)))


def unstacked(value: SSAValue) -> AnyTensor:
    """The type of an element of the leading axis of a value."""
    return TensorType(element_of(value), shape_of(value)[1:])


class ScanBuilder(BuilderCore):
    """Loops that hand values on."""

    def scan(
        self,
        body: ScanBody,
        init: Operand | Sequence[Operand],
        xs: Operand | Sequence[Operand] | None = None,
        length: int | None = None,
        reverse: bool = False,
        checkpoints: int | None = None,
    ) -> tuple[Any, Any]:
        """
        `mir.scan`: return `(carry, ys)` with `carry, ys[t] = body(carry, xs[t])` for each t, as `jax.lax.scan`.

        `init`, `xs` and the results of the body are values or tuples of values. `xs` may be None if `length` is given,
        and y may be None. The body may capture values. `reverse` runs t from the last to the first. With
        `checkpoints=k`, a gradient stores k carries and recomputes the others: with k the square root of the length,
        its memory grows with that root. GraphError if the carry changes its type, and for axes of different lengths.
        """
        carries = [self.operand(x) for x in several(init)]
        over = [] if xs is None else [self.operand(x) for x in several(xs)]
        times = _length(over, length, checkpoints)
        block = Block(arg_types=[*(x.type for x in carries), *(unstacked(x) for x in over)])
        args = [self.value(arg) for arg in block.args]
        first, rest = args[: len(carries)], args[len(carries) :]
        with cleared_on_error(block), filling(self.builder, block):
            found = called_as("scan: body(carry, x)", body)(
                tuple(first) if is_several(init) else first[0],
                None if xs is None else tuple(rest) if is_several(xs) else rest[0],
            )
            if not isinstance(found, tuple) or len(pair := cast("tuple[Any, ...]", found)) != 2:
                raise GraphError("scan: expected the body to return a pair: the next carry, and y or None")
            carry, y = pair
            after = [self.operand(value, like) for value, like in zip(several(carry), first, strict=False)]
            if len(several(carry)) != len(first):
                raise GraphError(
                    f"scan: expected the body to return {len(first)} carries, as in init, got {len(several(carry))}"
                )
            for number, (start, value) in enumerate(zip(carries, after, strict=True)):
                if value.type != start.type:
                    raise GraphError(
                        f"scan: expected carry {number} of the body as in init, {start.type}, got {value.type}"
                    )
            out = [] if y is None else [self.operand(value) for value in several(y)]
            self.builder.insert(YieldOp(*after, *out))
        captured = isolate(block, len(args))
        op = self.emit(ScanOp, carries, over, captured, times, block, reverse, checkpoints)
        left, ys = [self.value(x) for x in op.carries], [self.value(y) for y in op.ys]
        return (
            tuple(left) if is_several(init) else left[0],
            None if y is None else tuple(ys) if is_several(y) else ys[0],
        )


def _length(over: Sequence[SSAValue], length: int | None, checkpoints: int | None) -> int:
    """How often a body is run; GraphError where that is not one number, or less than there are checkpoints."""
    for number, x in enumerate(over):
        if not shape_of(x):
            raise GraphError(f"scan: xs {number} of type {x.type} has no leading axis")
    found = {shape_of(x)[0] for x in over}
    if length is not None:
        found.add(length)
    if len(found) != 1:
        if not found:
            raise GraphError("scan: expected xs or length, got neither")
        raise GraphError(
            f"scan: expected equal lengths of all xs and of length=, got {', '.join(map(str, sorted(found)))}"
        )
    (times,) = found
    if times < 0:
        raise GraphError(f"scan: expected a length of at least 0, got {times}")
    if checkpoints is not None and not 1 <= checkpoints <= times:
        raise GraphError(f"scan: expected checkpoints from 1 to the length {times}, got {checkpoints}")
    return times


def ops_of_body(op: ScanOp) -> list[Operation]:
    """The ops of the body, without its yield."""
    return ops_of(op.body.block)
