"""Rows of registered ops, made of the functions that users register; and what is said of a name that is not registered.
The register is in `dialects/mir/custom.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.locations import where
from xdsl_rlx.dialects.mir.custom import CustomBase, CustomOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.transforms.rules.rule_table import DECOMPOSE, INERT, JVP, NARROW, VJP, VMAP, Cotangent


def _name(op: Operation) -> str:
    assert isinstance(op, CustomBase)
    return f'{op.name} "{op.callee.data}"{where(op)}'


@DECOMPOSE.rule(CustomOp)
def custom_decompose(op: CustomOp, b: MirBuilder) -> Sequence[Value]:
    """An op of this very class is one that nobody registered."""
    raise PassFailedException(f"{_name(op)} is not registered: see xdsl_rlx.custom_op")


@dataclass(frozen=True)
class Functions:
    """What a user registers for an op; each gets a builder, values and the options."""

    definition: Callable[..., Value | Sequence[Value]] | None = None
    """`(b, *inputs, **options)`: the results."""
    vjp: Callable[..., Sequence[Cotangent]] | None = None
    """`(b, inputs, outputs, cotangents, **options)`: a cotangent for each input."""
    jvp: Callable[..., Value | Sequence[Value]] | None = None
    """`(b, inputs, outputs, tangents, **options)`: a tangent for each output."""
    vmap: Callable[..., Value | Sequence[Value]] | None = None
    """`(b, size, batched, inputs, **options)`: the outputs with a leading axis of that size."""
    inert: Mapping[int, str] = field(default_factory=dict[int, str])
    """Inputs with respect to which the op is not differentiated, and why."""


def _values(op: Operation, found: Value | Sequence[Value], what: str, expected: int) -> list[Value]:
    values: list[Any] = [found] if isinstance(found, Value) else list(found)
    if len(values) != expected:
        raise PassFailedException(f"the {what} rule of {_name(op)} gave {len(values)} values, expected {expected}")
    return values


def add_rows(kind: type[CustomBase], functions: Functions) -> None:
    """
    The rows of a registered op.

    Without a derivative of its own an op is differentiated through its definition. Where it has only one of `vjp` and
    `jvp`, the other mode is an error: the definition may have another derivative than the one that was given.
    """
    NARROW.add(kind)
    for number, reason in functions.inert.items():
        INERT.add_number(kind, number, reason)
    if functions.definition is not None:
        _add_definition(kind, functions.definition)
    through = functions.definition is not None and functions.vjp is None and functions.jvp is None
    if not through:
        _add_vjp(kind, functions.vjp)
        _add_jvp(kind, functions.jvp)
    if functions.vmap is not None:
        _add_vmap(kind, functions.vmap)
    elif functions.definition is None:
        VMAP.add(kind, _missing("vmap"))


def _missing(what: str) -> Callable[..., Any]:
    def rule(op: CustomBase, *_: object) -> Any:
        raise PassFailedException(f"{_name(op)} has no {what} rule: give xdsl_rlx.custom_op one")

    return rule


def _add_definition(kind: type[CustomBase], function: Callable[..., Value | Sequence[Value]]) -> None:
    def rule(op: CustomBase, b: MirBuilder) -> Sequence[Value]:
        found = function(b, *map(b.value, op.inputs), **op.option_values)
        results = _values(op, found, "definition", len(op.results))
        for number, (value, result) in enumerate(zip(results, op.results, strict=True)):
            if value.type != result.type:
                raise PassFailedException(
                    f"the definition of {_name(op)} gives {value.type} as result {number}, its shape rule {result.type}"
                )
        return results

    DECOMPOSE.add(kind, rule)


def _add_vjp(kind: type[CustomBase], function: Callable[..., Sequence[Cotangent]] | None) -> None:
    if function is None:
        VJP.add(kind, _missing("vjp"))
        return

    def rule(op: CustomBase, b: MirBuilder, *arrived: Value | None) -> Sequence[Cotangent]:
        inputs, outputs = [b.value(x) for x in op.inputs], [b.value(y) for y in op.outputs]
        cotangents = [b.zeros_like(y) if g is None else g for y, g in zip(outputs, arrived, strict=True)]
        found = list(function(b, inputs, outputs, cotangents, **op.option_values))
        if len(found) != len(inputs):
            raise PassFailedException(f"the vjp rule of {_name(op)} gave {len(found)} values, expected {len(inputs)}")
        return found

    VJP.add(kind, rule)


def _add_jvp(kind: type[CustomBase], function: Callable[..., Value | Sequence[Value]] | None) -> None:
    if function is None:
        JVP.add(kind, _missing("jvp"))
        return

    def rule(op: CustomBase, b: MirBuilder, *arrived: Value | None) -> Sequence[Value]:
        inputs, outputs = [b.value(x) for x in op.inputs], [b.value(y) for y in op.outputs]
        tangents = [b.zeros_like(x) if t is None else t for x, t in zip(inputs, arrived, strict=True)]
        return _values(op, function(b, inputs, outputs, tangents, **op.option_values), "jvp", len(outputs))

    JVP.add(kind, rule)


def _add_vmap(kind: type[CustomBase], function: Callable[..., Value | Sequence[Value]]) -> None:
    def rule(op: CustomBase, b: MirBuilder, batched: Sequence[bool], size: int, *inputs: Value) -> Sequence[Value]:
        found = function(b, size, list(batched), list(inputs), **op.option_values)
        return _values(op, found, "vmap", len(op.results))

    VMAP.add(kind, rule)
