"""What loops and branches carry: the values of names that change inside, as scalars of the kernel and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import INDEX, Scalar
from xdsl_rlx.lowering.kernel_dsl import arithmetic
from xdsl_rlx.lowering.kernel_dsl.arithmetic import TypesError
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.lowering.kernel_dsl.trees import is_alike, is_number, leaves, rebuilt


class Retyped(Exception):
    """A number that a loop carries turned out to have these types, by name and number of the leaf."""

    def __init__(self, types: Mapping[tuple[str, int], Attribute]):
        super().__init__()
        self.types = types


def type_of_number(name: str, x: Any) -> Attribute:
    """The type of a number that nothing else gives one. Raises `TypesError` for a float."""
    if isinstance(x, bool):
        return i1
    if isinstance(x, int):
        return INDEX
    raise TypesError(f'{name} is a float that changes here, and needs a type; begin with cast({x}, "f32") or "f64"')


@dataclass
class Carried:
    """The names that a loop may change, and which of the leaves of their values are carried, with types."""

    before: dict[str, Any]
    types: dict[tuple[str, int], Attribute]
    """By name and number of the leaf; a leaf without a type is not carried."""

    @staticmethod
    def of(names: Sequence[str], values: Mapping[str, Any], known: Mapping[tuple[str, int], Attribute]) -> Carried:
        """Scalars have types; of numbers, those have one whose type was found out (`known`)."""
        before = {name: values[name] for name in names if name in values}
        types: dict[tuple[str, int], Attribute] = {}
        for name, value in before.items():
            for n, leaf in enumerate(leaves(value)):
                if isinstance(leaf, Scalar):
                    types[name, n] = leaf.type
                elif is_number(leaf) and (name, n) in known:
                    types[name, n] = known[name, n]
        return Carried(before, types)

    def initial(self, nest: Nest) -> list[SSAValue]:
        """What the loop begins with."""
        found: list[SSAValue] = []
        for name, value in self.before.items():
            for n, leaf in enumerate(leaves(value)):
                if (name, n) in self.types:
                    found.append(self._typed(nest, leaf, self.types[name, n]))
        return found

    def _typed(self, nest: Nest, leaf: Any, type_: Attribute) -> SSAValue:
        if not isinstance(leaf, Scalar) and type_ == INDEX:
            return nest.kernel.index(int(leaf))
        return arithmetic.cast(nest.scalars, leaf, type_).value

    def values(self, nest: Nest, given: Sequence[SSAValue]) -> dict[str, Any]:
        """The names with carried values in place of the leaves."""
        rest = iter(given)
        made: dict[str, Any] = {}
        for (name, _), x in zip(self.types, given, strict=True):
            x.name_hint = name.replace(" ", "_")
        for name, value in self.before.items():
            kept = [
                nest.scalars.of(next(rest)) if (name, n) in self.types else leaf for n, leaf in enumerate(leaves(value))
            ]
            made[name] = rebuilt(value, iter(kept))
        return made

    def final(self, nest: Nest, names: Mapping[str, Any]) -> list[SSAValue]:
        """What an iteration hands on. Raises `Retyped`, or `TypesError` for what a loop cannot carry."""
        found: list[SSAValue] = []
        retyped: dict[tuple[str, int], Attribute] = {}
        for name, value in self.before.items():
            after = names[name]
            if not is_alike(value, after):
                raise TypesError(f"{name} changes its structure in a loop; use another name")
            for n, (old, new) in enumerate(zip(leaves(value), leaves(after), strict=True)):
                type_ = self.types.get((name, n))
                if type_ is None:
                    if (wanted := self._wanted(name, old, new)) is not None:
                        retyped[name, n] = wanted
                    continue
                if isinstance(new, Scalar) and new.type != type_:
                    if isinstance(old, Scalar):
                        raise TypesError(f"{name} is of type {type_} before the loop and {new.type} in it; cast it")
                    retyped[name, n] = new.type
                    continue
                if not isinstance(new, Scalar) and not is_number(new):
                    raise TypesError(f"{name} becomes {new!r} in a loop, which is not a number; use another name")
                found.append(self._typed(nest, new, type_))
        if retyped:
            raise Retyped(retyped)
        return found

    def _wanted(self, name: str, old: Any, new: Any) -> Attribute | None:
        """The type of a leaf that was not carried and has changed."""
        if old is new or (is_number(old) and is_number(new) and type(old) is type(new) and old == new):
            return None
        if not is_number(old):
            raise TypesError(f"{name} is {old!r} before the loop and changes in it; only numbers may")
        if isinstance(new, Scalar):
            return new.type
        if is_number(new):
            return type_of_number(name, new)
        raise TypesError(f"{name} becomes {new!r} in a loop, which is not a number; use another name")


class Choice:
    """The result of a branch that a leaf will be, by its number."""

    def __init__(self, number: int):
        self.number = number


@dataclass(frozen=True)
class BranchSide:
    """A branch that was translated: its place, and the names behind it."""

    nest: Nest
    names: dict[str, Any]


def merged(
    a: BranchSide, b: BranchSide, before: Mapping[str, Any]
) -> tuple[dict[str, Any], list[tuple[SSAValue, SSAValue]]]:
    """
    The names that both branches leave, and pairs of values between which the branch chooses.

    A leaf that is a choice stands as the number of its pair in a `Choice`. A name that only one of them sets, or both
    in ways that do not go together, is not there behind the branch, unless it was before: then it is a `TypesError`.
    """
    names: dict[str, Any] = {}
    pairs: list[tuple[SSAValue, SSAValue]] = []
    for name in a.names:
        if name not in b.names:
            continue
        x, y = a.names[name], b.names[name]
        if x is y:
            names[name] = x
            continue
        try:
            if not is_alike(x, y):
                raise TypesError(f"{name} has another structure in each branch")
            found = [_pair(name, a, b, p, q) for p, q in zip(leaves(x), leaves(y), strict=True)]
        except TypesError:
            if name in before:
                raise
            continue
        made: list[Any] = []
        for leaf in found:
            if isinstance(leaf, tuple):
                made.append(Choice(len(pairs)))
                pairs.append(cast("tuple[SSAValue, SSAValue]", leaf))
            else:
                made.append(leaf)
        names[name] = rebuilt(x, iter(made))
    return names, pairs


def _pair(name: str, a: BranchSide, b: BranchSide, x: Any, y: Any) -> Any:
    if x is y or (is_number(x) and is_number(y) and type(x) is type(y) and x == y):
        return x
    for leaf in (x, y):
        if not isinstance(leaf, Scalar) and not is_number(leaf):
            raise TypesError(f"{name} is {leaf!r} in a branch, which is not a number")
    if isinstance(x, Scalar) and isinstance(y, Scalar) and x.value is y.value:
        return x
    known = next((leaf.type for leaf in (x, y) if isinstance(leaf, Scalar)), None)
    type_ = known if known is not None else type_of_number(name, x)
    for leaf in (x, y):
        if isinstance(leaf, Scalar) and leaf.type != type_:
            raise TypesError(f"{name} is of type {x.type} in one branch and {y.type} in the other; cast one")
    return arithmetic.cast(a.nest.scalars, x, type_).value, arithmetic.cast(b.nest.scalars, y, type_).value
