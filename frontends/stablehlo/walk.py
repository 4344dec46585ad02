"""The walk over a tree: look all operations up, then build them one by one; calls are walked into."""

# Values are traced or constant.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from xdsl_rlx.builder import Graph
from xdsl_rlx.dialects.errors import RlxError
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.frontends.shared.errors import FrontendError, Missing, missing_ops
from xdsl_rlx.frontends.shared.values import cast, dtype_of, is_constant, is_tensor, shape_of, traced
from xdsl_rlx.frontends.stablehlo import custom_calls
from xdsl_rlx.frontends.stablehlo.rows import ROWS, Call, Row
from xdsl_rlx.frontends.stablehlo.tree import Block, Module, Op
from xdsl_rlx.frontends.stablehlo.types import kept, stored, unsupported
from xdsl_rlx.tracing import builder_of
from xdsl_rlx.tree_functions import vmap

RETURNS = ("func.return", "stablehlo.return", "mhlo.return")

MOST_FOLDED = 1 << 20
"""Bytes of a result up to which an operation on constants is computed while building."""

CURE = "Replace them in the program, or compute that part outside of it."


def reachable(module: Module, name: str) -> Iterator[Op]:
    """The operations of a function and of those that it calls, in the order of calls; a recursive call is an error."""
    yield from _reachable(module, name, ())


def _reachable(module: Module, name: str, around: tuple[str, ...]) -> Iterator[Op]:
    if name in around:
        raise FrontendError(f"from_stablehlo: the function @{name} calls itself")
    if name not in module.functions:
        known = ", ".join(f"@{one}" for one in module.functions) or "none"
        raise FrontendError(f"from_stablehlo: there is no function @{name} in the module; it has {known}")
    for op in module.functions[name].block.walk():
        yield op
        for called in called_by(op):
            yield from _reachable(module, called, (*around, name))


def called_by(op: Op) -> list[str]:
    """Names of functions whose bodies are in the place of an operation."""
    if op.name == "func.call":
        return [str(op.attributes["callee"])]
    return [str(op.attributes["decomposition"])] if op.name == "stablehlo.composite" else []


def name_of(op: Op) -> str:
    """The name of an operation as it is reported: a custom call has its target."""
    if op.name == "stablehlo.custom_call":
        return f"{op.name} @{op.attributes.get('call_target_name', '')}"
    return op.name


def _reason(op: Op) -> str | None:
    """Why an operation is not translated; None if it is."""
    if op.name in RETURNS:
        return None
    row = ROWS.get(op.name)
    if row is None:
        return "has no translation"
    if row.build is None:
        return row.reason
    for type_ in (*op.given, *op.made):
        if (why := unsupported(type_)) is not None:
            return why
    return custom_calls.reason(op) if op.name == "stablehlo.custom_call" else None


def missing(module: Module, name: str) -> list[Missing]:
    """Return the operations that cannot be translated, with counts and first locations."""
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}
    for op in reachable(module, name):
        if (reason := _reason(op)) is not None:
            counts[name_of(op), reason] += 1
            first.setdefault((name_of(op), reason), op.location)
    return [Missing(key[0], count, first[key], key[1]) for key, count in counts.most_common()]


def check(module: Module, name: str) -> None:
    """FrontendError that lists all operations of a function that cannot be translated."""
    if found := missing(module, name):
        raise missing_ops(f"@{name}", found, CURE)


def fired(module: Module, name: str) -> Counter[tuple[str, str]]:
    """Return how often each row is used, by operation and status."""
    found: Counter[tuple[str, str]] = Counter()
    for op in reachable(module, name):
        if (row := ROWS.get(op.name)) is not None:
            found[name_of(op), row.status.value] += 1
    return found


class Walk:
    """One walk over a module, with the values of its operations by number."""

    def __init__(self, module: Module):
        self.module = module
        self.values: dict[int, Any] = {}
        self.notes: dict[SSAValue, Any] = {}

    def call(self, name: str, operands: Sequence[Any]) -> list[Any]:
        """The results of a function."""
        return self.block(self.module.functions[name].block, operands)

    def function(self, name: str) -> Block:
        """The body of a function."""
        return self.module.functions[name].block

    def block(self, block: Block, operands: Sequence[Any]) -> list[Any]:
        """Build the operations of a block; return what it returns."""
        values = self.values
        values.update(zip(block.arguments, operands, strict=True))
        for op in block.ops:
            arguments = [values[n] for n in op.operands]
            if op.name in RETURNS:
                return arguments
            values.update(zip(op.results, self._built(op, arguments), strict=True))
        raise FrontendError("from_stablehlo: a block does not end with a return")

    def elementwise(self, block: Block, operands: Sequence[Any]) -> list[Any]:
        """A block on single elements, for tensors of one shape."""
        if _is_elementwise(self.module, block):
            shape = np.broadcast_shapes(*(shape_of(x) for x in operands))
            found = self.block(block, operands)
            return [x if shape_of(x) == shape else np.broadcast_to(traced(x), shape) for x in found]
        shape = shape_of(operands[0])
        flat = [traced(x).reshape(-1) for x in operands]
        results = vmap(lambda *each: tuple(map(traced, self.block(block, each))))(*flat)
        return [one.reshape(shape) for one in results]

    def _built(self, op: Op, operands: list[Any]) -> list[Any]:
        row = ROWS.get(op.name)
        assert row is not None and row.build is not None, f"{op.name} has no row"
        try:
            with _scope(op):
                found = _folded(row, op, operands) or self._traced(row, op, operands)
        except FrontendError as error:
            if error.missing:
                raise
            raise _located(op, error) from error
        except (RlxError, ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError) as error:
            raise _located(op, error) from error
        return found

    def _traced(self, row: Row, op: Op, operands: list[Any]) -> list[Any]:
        assert row.build is not None
        result = row.build(Call(op, self), *operands)
        found = list(result) if isinstance(result, list | tuple) else [result]
        return [_typed(x, type_.dtype) for x, type_ in zip(found, op.made, strict=True)]


def _located(op: Op, error: Exception) -> FrontendError:
    text = str(error).removeprefix("from_stablehlo: ") or type(error).__name__
    return FrontendError(
        f"from_stablehlo: {name_of(op)}, at {op.location}: {text}", [Missing(name_of(op), 1, op.location, text)]
    )


def _folded(row: Row, op: Op, operands: Sequence[Any]) -> list[Any] | None:
    """The results of an operation on constants, computed by NumPy; None where it is built into the graph."""
    if not row.folds or not op.operands or not is_constant(*operands) or len(op.made) != 1:
        return None
    (made,) = op.made
    wide = [*op.given, made]
    if any(type_.dtype in ("bf16", "f16") for type_ in wide):
        return None
    if 8 * np.prod(made.extents, dtype=np.int64) > MOST_FOLDED and not _is_splat(*operands):
        return None
    assert row.build is not None
    with np.errstate(all="ignore"):
        found = row.build(Call(op, _NO_WALK), *operands)
    return [_typed(found, made.dtype)]


def _is_splat(*arrays: Any) -> bool:
    """Whether constants are single numbers, repeated in memory by strides of 0."""
    return all(not any(np.asarray(x).strides) for x in arrays)


_NO_WALK: Any = None


def _typed(x: Any, dtype: str) -> Any:
    """A result with the element type that StableHLO has; constants of types that mir has not as their bits."""
    if not is_tensor(x):
        return x
    if not isinstance(x, Value):
        x = kept(np.asarray(x))
    return x if dtype_of(x) == stored(dtype) else cast(x, stored(dtype))


_OF_ELEMENTS = frozenset(
    """
    abs add and atan2 cbrt ceil clamp compare complex constant convert cosine count_leading_zeros divide exponential
    exponential_minus_one floor imag is_finite log log_plus_one logistic maximum minimum multiply negate not or popcnt
    power real reduce_precision remainder round_nearest_afz round_nearest_even rsqrt select shift_left
    shift_right_arithmetic shift_right_logical sign sine sqrt subtract tan tanh xor
    """.split()  # noqa: SIM905
)


def _is_elementwise(module: Module, block: Block) -> bool:
    """Whether operations of a block on single elements are the same ones on tensors of elements."""
    for op in block.ops:
        if op.name == "func.call":
            if not _is_elementwise(module, module.functions[str(op.attributes["callee"])].block):
                return False
        elif op.name not in RETURNS and (op.blocks or op.name.removeprefix("stablehlo.") not in _OF_ELEMENTS):
            return False
    return True


def _scope(op: Op) -> AbstractContextManager[None]:
    """A scope for the locations of operations: the place in the source, and the names that JAX has for it."""
    known = op.name not in _CALLS and not op.location.startswith("an unknown")
    builder = builder_of() if known else None
    return builder.named(op.location) if isinstance(builder, Graph) else nullcontext()


_CALLS = ("func.call", "stablehlo.composite")
