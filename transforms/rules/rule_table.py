"""Rule tables: what each transformation does with an op, keyed by exact op class.
The rows stand in the files of the op families beside this one; the row constructors in `rows.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, TypeAlias, TypeVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.locations import named
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value

OpT = TypeVar("OpT", bound=Operation)
RowT = TypeVar("RowT")

Cotangent: TypeAlias = Value | Callable[[], Value] | None
"""The cotangent of an operand, or a function that emits it, called only where wanted; None where nothing flows."""

VjpRule: TypeAlias = Callable[Concatenate[OpT, MirBuilder, ...], Sequence[Cotangent]]
"""`(op, b, *cotangents) -> cotangents of the operands`: an argument per result (None where nothing arrives), an entry
per operand. `op.lhs`, `op.result` are values of the program."""


@dataclass(frozen=True)
class Together:
    """Results of an op and their tangents, computed at once: the op itself is not needed any more."""

    values: Sequence[Value]
    tangents: Sequence[Value | None]


JvpRule: TypeAlias = Callable[Concatenate[OpT, MirBuilder, ...], Sequence[Value | None] | Together]
"""`(op, b, *tangents) -> tangents of the results`: an argument per operand, None where it is zero (but not all)."""

DecomposeRule: TypeAlias = Callable[[OpT, MirBuilder], Sequence[Value]]
"""`(op, b) -> values`: the results of `op` computed by simpler ops."""

VmapRule: TypeAlias = Callable[Concatenate[OpT, MirBuilder, Sequence[bool], int, ...], Sequence[Value] | None]
"""`(op, b, batched, size, *operands) -> results`, all with a leading axis of extent `size`.

`op` is the op without the axis: its shapes and axes are those of one example. An operand has the leading axis where
`batched` says so (of one at least), else it is the same for all. None: batch the ops of the definition instead."""

FlowRule: TypeAlias = Callable[[OpT, Sequence[int]], Sequence[SSAValue]]
"""`(op, active) -> results` that depend on the operands numbered by `active`."""

ScalarRule: TypeAlias = Callable[Concatenate[OpT, ScalarBuilder, ...], Scalar]
"""`(op, b, *operands) -> result` for one element of an elementwise op. Half precision arrives widened to f32; i1, u8
and u32 are signless integers that the rule reads as unsigned."""


class RuleTable(Generic[RowT]):
    """Rows of one transformation: a rule per op class, or the reason why the op has none."""

    def __init__(self, name: str):
        self.name = name
        self._rules: dict[type[Operation], RowT] = {}
        self._reasons: dict[type[Operation], str] = {}

    def add(self, op: type[Operation], rule: RowT) -> None:
        """Add the row of `op`; ValueError if it has one."""
        self._check_new(op)
        self._rules[op] = rule

    def row_of(self, *ops: type[Operation]) -> Callable[[Any], Any]:
        """Decorator: the function is the row of these ops. Tables of functions have it as `rule`, with their types."""

        def register(function: Any) -> Any:
            for op in ops:
                self.add(op, function)
            return function

        return register

    def exempt(self, op: type[Operation], reason: str) -> None:
        """State that `op` has no rule and needs none; ValueError if it has a row."""
        self._check_new(op)
        self._reasons[op] = reason

    def _check_new(self, op: type[Operation]) -> None:
        if op in self._rules or op in self._reasons:
            raise ValueError(f"second {self.name} row for {op.name}")

    def get(self, op: type[Operation]) -> RowT | None:
        """The rule of `op`, or None if it is exempt or missing."""
        return self._rules.get(op)

    def reason(self, op: type[Operation]) -> str | None:
        """Why `op` is exempt; None if it is not."""
        return self._reasons.get(op)

    def missing(self, ops: Iterable[type[Operation]]) -> list[type[Operation]]:
        """The ops that have neither a rule nor an exemption."""
        return [op for op in ops if op not in self._rules and op not in self._reasons]

    def lookup(self, op: Operation) -> RowT:
        """The rule for this op; PassFailedException says what is missing and where to add it."""
        rule = self._rules.get(type(op))
        if rule is None:
            raise PassFailedException(self.complaint(op))
        return rule

    def complaint(self, op: Operation) -> str:
        """What is missing for an op without a rule, and where to add it."""
        if (reason := self._reasons.get(type(op))) is not None:
            return f"{named(op)} has no {self.name} rule: {reason}"
        if op.name.startswith("hir."):
            return f"no {self.name} rule for {named(op)}: run convert-hir-to-mir first"
        if not op.name.startswith("mir."):
            return f"no {self.name} rule for {named(op)}: ops of mir have some, and custom ones (rlx.custom_op)"
        module = type(op).__module__
        package, _, family = module.rpartition(".")
        is_core = package == "xdsl_rlx.dialects.mir"
        where = f"transforms/rules/{family}.py" if is_core else f"the rules of the plugin with {module}"
        return f"no {self.name} rule for {named(op)}: add one to {where}"


class VjpTable(RuleTable[VjpRule[Any]]):
    """Reverse mode."""

    def rule(self, *ops: type[OpT]) -> Callable[[VjpRule[OpT]], VjpRule[OpT]]:
        """Decorator: the function is the row of these ops."""
        return self.row_of(*ops)


class JvpTable(RuleTable[JvpRule[Any]]):
    """Forward mode."""

    def rule(self, *ops: type[OpT]) -> Callable[[JvpRule[OpT]], JvpRule[OpT]]:
        """Decorator: the function is the row of these ops."""
        return self.row_of(*ops)


class DecomposeTable(RuleTable[DecomposeRule[Any]]):
    """Definitions of composite ops by simpler ones."""

    def rule(self, *ops: type[OpT]) -> Callable[[DecomposeRule[OpT]], DecomposeRule[OpT]]:
        """Decorator: the function is the row of these ops."""
        return self.row_of(*ops)


class VmapTable(RuleTable[VmapRule[Any]]):
    """Batching along a new leading axis."""

    def rule(self, *ops: type[OpT]) -> Callable[[VmapRule[OpT]], VmapRule[OpT]]:
        """Decorator: the function is the row of these ops."""
        return self.row_of(*ops)


class ScalarTable(RuleTable[ScalarRule[Any]]):
    """One element of an elementwise op as arith and math ops."""

    def rule(self, *ops: type[OpT]) -> Callable[[ScalarRule[OpT]], ScalarRule[OpT]]:
        """Decorator: the function is the row of these ops."""
        return self.row_of(*ops)


class InertOperands:
    """Operands with respect to which an op is not differentiated although they may be floating-point."""

    def __init__(self) -> None:
        self._rows: dict[type[Operation], list[tuple[int, str, Callable[[Operation], bool]]]] = {}

    def add(
        self, op: type[IRDLOperation], operand: str, reason: str, when: Callable[[Operation], bool] | None = None
    ) -> None:
        """State why nothing flows to or from the operand of that name (`when` says for which ops of the class);
        ValueError for an unknown name. Operands in front of it may not be left out."""
        names = [name for name, _ in op.get_irdl_definition().operands]
        self.add_number(op, names.index(operand), reason, when)

    def add_number(
        self, op: type[Operation], operand: int, reason: str, when: Callable[[Operation], bool] | None = None
    ) -> None:
        """The same of the operand of that number."""
        self._rows.setdefault(op, []).append((operand, reason, when or (lambda _: True)))

    def of(self, op: Operation) -> dict[int, str]:
        """The reasons by operand number."""
        return {index: reason for index, reason, when in self._rows.get(type(op), ()) if when(op)}


class FlowRules:
    """Which results depend on which operands: all on each, but for ops whose rows say otherwise."""

    def __init__(self) -> None:
        self._rows: dict[type[Operation], FlowRule[Any]] = {}

    def rule(self, op: type[OpT]) -> Callable[[FlowRule[OpT]], FlowRule[OpT]]:
        """Decorator: the function is the row of `op`."""

        def register(function: FlowRule[OpT]) -> FlowRule[OpT]:
            self._rows[op] = function
            return function

        return register

    def of(self, op: Operation, active: Sequence[int]) -> Sequence[SSAValue]:
        """The results that depend differentiably on the operands numbered by `active`."""
        row = self._rows.get(type(op))
        return op.results if row is None else row(op, active)


class NarrowRules:
    """Ops whose derivatives are as right in half precision: one step that rounds, or none at all."""

    def __init__(self) -> None:
        self._rows: dict[type[Operation], Callable[[Operation], bool]] = {}

    def add(self, *ops: type[Operation], when: Callable[[Operation], bool] = lambda _: True) -> None:
        """State it of these ops; `when` says for which of the class."""
        for op in ops:
            self._rows[op] = when

    def has(self, op: Operation) -> bool:
        """Whether this op is one of them."""
        when = self._rows.get(type(op))
        return when is not None and when(op)


IN_F32: set[type[Operation]] = set()
"""Ops with a definition and loops of their own, which compute half floats in f32: what a derivative reads of their
results is what these loops have before they round, and is computed once for both."""

INERT = InertOperands()
FLOW = FlowRules()
NARROW = NarrowRules()
VJP = VjpTable("vjp")
JVP = JvpTable("jvp")
VMAP = VmapTable("vmap")
DECOMPOSE = DecomposeTable("decompose")
SCALAR = ScalarTable("scalar")
