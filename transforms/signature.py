"""The one public function of a module: names and kinds of its arguments, its outputs, and how derivatives change them.
Bodies are not looked into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.names import fresh_name, hint_of, text_of
from xdsl_rlx.dialects.shapes import check_size

NAME, KIND, OPTIONAL = "mir.name", "mir.kind", "mir.optional"

KINDS = ("input", "param")
"""The words that `mir.kind` of an argument may be."""

ALIASES_INPUT = "mir.aliases_input"
"""The attribute of a result that is written over an argument, which it names."""

MUST_ALIAS = "mir.must_alias"
"""The attribute of such a result that may not be copied there."""

SCRATCH = "mir.scratch"
"""The attribute of an input that may be overwritten once it has been read, though no result takes its memory."""

TANGENT = "mir.tangent_of"
"""The attribute of an input that is the tangent of an argument, which it names."""

COTANGENT = "mir.cotangent_of"
"""The attribute of an input that is the cotangent of a result, of which it has the number."""

GRADIENT = "mir.gradient_of"
"""The attribute of a result that is a gradient by an argument, which it names."""


KEPT = "mir.kept"
"""The attribute of a result that is there to keep a tap, which it names."""


@dataclass(frozen=True)
class NamedArgument:
    """An argument of a graph function: its name for the caller, `input` or `param`, and the value."""

    name: str
    kind: str
    value: BlockArgument
    optional: bool = False
    """Whether it is ones where a caller leaves it out."""
    tangent_of: str | None = None
    """The argument of which it is the tangent."""
    cotangent_of: int | None = None
    """The number of the result, of the function that was differentiated, of which it is the cotangent."""


def argument_attributes(func: FuncOp) -> list[dict[str, Attribute]]:
    """
    Return the attributes of each argument of a function.

    Raises PassFailedException where these are not one entry for each argument, and for an unknown kind.
    """
    count = len(func.function_type.inputs)
    if func.arg_attrs is None:
        return [{} for _ in range(count)]
    if (found := len(func.arg_attrs)) != count:
        # upstream's verifier leaves this out
        raise PassFailedException(f"@{func.sym_name.data} has {count} arguments, and attributes of {found}")
    for number, entry in enumerate(func.arg_attrs):
        if (kind := entry.data.get(KIND)) is not None and text_of(kind) not in KINDS:
            words = " or ".join(f'"{word}"' for word in KINDS)
            raise PassFailedException(
                f"argument {number} of @{func.sym_name.data}: {KIND}: expected {words}, got {kind}"
            )
    return [dict(entry.data) for entry in func.arg_attrs]


@dataclass(frozen=True)
class Signature:
    """The one public function of a module."""

    func: FuncOp

    @property
    def block(self) -> Block:
        """The function's only block."""
        return self.func.body.block

    @property
    def arguments(self) -> list[NamedArgument]:
        """The arguments in order; PassFailedException if one lacks its name or kind, or shares its name."""
        found: dict[str, NamedArgument] = {}
        for value, attributes in zip(self.block.args, self._argument_attributes(), strict=True):
            check_size(value.type)
            name, kind = text_of(attributes.get(NAME)), text_of(attributes.get(KIND))
            if name is None or kind is None:
                raise PassFailedException(f"argument {value.index} of @{self.name} needs {NAME} and {KIND}")
            if name in found:
                raise PassFailedException(f'two arguments of @{self.name} are named "{name}"')
            cotangent = attributes.get(COTANGENT)
            found[name] = NamedArgument(
                name,
                kind,
                value,
                OPTIONAL in attributes,
                text_of(attributes.get(TANGENT)),
                cotangent.value.data if isinstance(cotangent, IntegerAttr) else None,
            )
        return list(found.values())

    @property
    def name(self) -> str:
        """The symbol name."""
        return self.func.sym_name.data

    @property
    def outputs(self) -> tuple[SSAValue, ...]:
        """The returned values."""
        return tuple(self._return.operands)

    @property
    def replaced(self) -> dict[int, NamedArgument]:
        """The arguments that results are written over, by the number of the result."""
        entries = () if self.func.res_attrs is None else self.func.res_attrs.data
        wanted = {n: name for n, e in enumerate(entries) if (name := text_of(e.data.get(ALIASES_INPUT))) is not None}
        known = {argument.name: argument for argument in self.arguments} if wanted else {}
        outputs, times = self.outputs, Counter(wanted.values())
        for number, name in wanted.items():
            what = f'result {number} of @{self.name} cannot overwrite "{name}"'
            if name not in known:
                raise PassFailedException(f"{what}: no such argument; arguments are {', '.join(known) or 'none'}")
            if times[name] > 1:
                raise PassFailedException(f"{what}: another result overwrites it")
            if known[name].optional:
                raise PassFailedException(f"{what}: it is an optional argument")
            if (found := outputs[number].type) != known[name].value.type:
                raise PassFailedException(f"{what}: the result is {found}, the argument {known[name].value.type}")
        return {number: known[name] for number, name in wanted.items()}

    @property
    def in_place(self) -> set[int]:
        """The numbers of the results that are computed right into the arguments that they replace, or not at all."""
        entries = () if self.func.res_attrs is None else self.func.res_attrs.data
        return {number for number, entry in enumerate(entries) if MUST_ALIAS in entry.data}

    def replace(self, names: Mapping[int, str], strict: bool = False) -> None:
        """
        Have results, by number, written over the arguments of these names, as `replaced` then says.

        `strict`: these, and what replaces arguments already, are `in_place`.
        """
        if wrong := [number for number in names if not 0 <= number < len(self.outputs)]:
            raise PassFailedException(f"@{self.name} has {len(self.outputs)} results, got result number {wrong[0]}")
        entries = self.func.res_attrs or [DictionaryAttr({})] * len(self.outputs)
        self.func.res_attrs = ArrayAttr(
            DictionaryAttr({**entry.data, ALIASES_INPUT: StringAttr(names[n])}) if n in names else entry
            for n, entry in enumerate(entries)
        )
        replaced = self.replaced
        if strict:
            self.func.res_attrs = ArrayAttr(
                DictionaryAttr({**entry.data, MUST_ALIAS: UnitAttr()}) if n in replaced else entry
                for n, entry in enumerate(self.func.res_attrs)
            )

    def mark_scratch(self, names: Sequence[str]) -> None:
        """Have these inputs be overwritten; PassFailedException for what is none, or holds a result in the end."""
        if not names:
            return
        known = {argument.name: argument for argument in self.arguments}
        taken = {argument.name for argument in self.replaced.values()}
        for name in names:
            what = f'"{name}" of @{self.name} cannot be scratch memory'
            if name not in known:
                raise PassFailedException(f"{what}: no such argument; arguments are {', '.join(known) or 'none'}")
            if known[name].kind != "input" or known[name].optional:
                kind = "an optional input" if known[name].optional else f"a {known[name].kind}"
                raise PassFailedException(f"{what}: expected an input that each call passes, got {kind}")
            if name in taken:
                raise PassFailedException(f"{what}: a result overwrites it")
        attributes = self._argument_attributes()
        for entry, argument in zip(attributes, self.arguments, strict=True):
            if argument.name in names:
                entry[SCRATCH] = UnitAttr()
        self.func.arg_attrs = ArrayAttr(map(DictionaryAttr, attributes))

    @property
    def _return(self) -> ReturnOp:
        last = self.block.last_op
        if not isinstance(last, ReturnOp):
            raise PassFailedException(f"@{self.name} does not end with func.return")
        return last

    def _argument_attributes(self) -> list[dict[str, Attribute]]:
        return argument_attributes(self.func)

    def add_tangent(self, argument: NamedArgument) -> BlockArgument:
        """Append the tangent of an argument as an input, which `NamedArgument.tangent_of` then tells."""
        marks = {TANGENT: StringAttr(argument.name)}
        return self.add_input(f"tangent_{argument.name}", argument.value.type, marks=marks)

    def add_cotangent(self, name: str, number: int, optional: bool = False) -> BlockArgument:
        """Append the cotangent of a result as an input, which `NamedArgument.cotangent_of` then tells."""
        marks = {COTANGENT: IntegerAttr(number, i64)}
        return self.add_input(name, self.outputs[number].type, optional, marks)

    def forget_tangents(self) -> None:
        """Have no input be the tangent of an argument any more: those to be added are of another derivative."""
        attributes = self._argument_attributes()
        kept = [{name: x for name, x in entry.items() if name != TANGENT} for entry in attributes]
        self.func.arg_attrs = ArrayAttr(map(DictionaryAttr, kept))

    def add_input(
        self, name: str, type_: Attribute, optional: bool = False, marks: Mapping[str, Attribute] | None = None
    ) -> BlockArgument:
        """
        Append an input, named `name` or, if that is taken, `name_2`, `name_3`, ...; `optional`: ones if left out.

        `marks` are more attributes of the argument.
        """
        unique = fresh_name(name, {argument.name for argument in self.arguments})
        entry: dict[str, Attribute] = {NAME: StringAttr(unique), KIND: StringAttr("input"), **(marks or {})}
        if optional:
            entry[OPTIONAL] = UnitAttr()
        attributes = [*self._argument_attributes(), entry]
        value = self.block.insert_arg(type_, len(self.block.args))
        value.name_hint = hint_of(unique)
        self.func.arg_attrs = ArrayAttr([DictionaryAttr(entry) for entry in attributes])
        self.update_type()
        return value

    def drop_last_argument(self, value: SSAValue) -> None:
        """Remove the last argument, and put `value` of the function in its place."""
        argument = self.block.args[-1]
        argument.replace_all_uses_with(value)
        self.block.erase_arg(argument)
        self.func.arg_attrs = ArrayAttr([DictionaryAttr(entry) for entry in self._argument_attributes()[:-1]])
        self.update_type()

    def drop_unused(self, names: Container[str]) -> None:
        """Remove the arguments of these names that nothing reads."""
        gone = {a.value.index for a in self.arguments if a.name in names and not a.value.uses.get_length()}
        attributes = self._argument_attributes()
        self.func.arg_attrs = ArrayAttr(DictionaryAttr(e) for n, e in enumerate(attributes) if n not in gone)
        for index in sorted(gone, reverse=True):
            self.block.erase_arg(self.block.args[index])
        self.update_type()

    @property
    def gradients(self) -> dict[int, str]:
        """The results that are gradients: their numbers, and the arguments by which."""
        entries = () if self.func.res_attrs is None else self.func.res_attrs.data
        return {n: name for n, e in enumerate(entries) if (name := text_of(e.data.get(GRADIENT))) is not None}

    def mark_gradients(self, first: int, names: Sequence[str]) -> None:
        """Note which results are gradients, from the number `first` on, and by which arguments; no others are."""
        if self.func.res_attrs is not None:
            entries = [{name: x for name, x in entry.data.items() if name != GRADIENT} for entry in self.func.res_attrs]
            self.func.res_attrs = ArrayAttr(map(DictionaryAttr, entries))
        self._note(GRADIENT, first, names)
        if self.output_names:
            taken = set(self.output_names.values())
            for number, name in enumerate(names, first):
                taken.add(unique := fresh_name(f"d_{name}", taken))
                self._note(NAME, number, [unique])

    @property
    def output_names(self) -> dict[int, str]:
        """The names of the results that have one, by number."""
        entries = () if self.func.res_attrs is None else self.func.res_attrs.data
        return {n: name for n, e in enumerate(entries) if (name := text_of(e.data.get(NAME))) is not None}

    def name_outputs(self, names: Sequence[str]) -> None:
        """Name the first results."""
        self._note(NAME, 0, names)

    def _note(self, what: str, first: int, names: Sequence[str]) -> None:
        entries = list(self.func.res_attrs or [DictionaryAttr({})] * len(self.outputs))
        for number, name in enumerate(names, first):
            entries[number] = DictionaryAttr({**entries[number].data, what: StringAttr(name)})
        self.func.res_attrs = ArrayAttr(entries)

    def keep(self, values: Mapping[str, SSAValue]) -> None:
        """Return these values, by name, behind the others, until `forget_kept`."""
        first = len(self.outputs)
        self.set_outputs([*self.outputs, *values.values()])
        self._note(KEPT, first, list(values))

    def forget_kept(self) -> None:
        """Return no values that are there to be kept."""
        entries = () if self.func.res_attrs is None else self.func.res_attrs.data
        kept = {number for number, entry in enumerate(entries) if KEPT in entry.data}
        if kept:
            self.set_outputs([value for number, value in enumerate(self.outputs) if number not in kept])

    def set_outputs(self, outputs: Sequence[SSAValue]) -> None:
        """Return other values; attributes of results that keep their place are kept."""
        same = [old is new for old, new in zip(self.outputs, outputs, strict=False)]
        self._return.operands = outputs
        if self.func.res_attrs is not None:
            kept = [entry for entry, keep in zip(self.func.res_attrs, same, strict=False) if keep]
            self.func.res_attrs = ArrayAttr([*kept, *([DictionaryAttr({})] * (len(outputs) - len(kept)))])
        self.update_type()

    def rename(self, name: str) -> None:
        """Give the function another symbol name."""
        self.func.sym_name = StringAttr(name)

    def update_type(self) -> None:
        """Make the type of the function that of its block."""
        self.func.function_type = FunctionType.from_lists(
            [arg.type for arg in self.block.args], [value.type for value in self.outputs]
        )


def graph_of(module: ModuleOp, by: str) -> Signature:
    """The one public function of the module; PassFailedException, in the name of pass `by`, if there are others."""
    found = [
        op
        for op in module.ops
        if isinstance(op, FuncOp)
        and op.body.blocks
        and not (op.sym_visibility is not None and op.sym_visibility.data == "private")
    ]
    if len(found) != 1:
        names = ", ".join(f"@{func.sym_name.data}" for func in found) or "none"
        raise PassFailedException(f"{by} works on a module with one public function, found {names}")
    if len(found[0].body.blocks) != 1:
        raise PassFailedException(f"@{found[0].sym_name.data} has several blocks; a graph has one")
    results = len(found[0].function_type.outputs)
    if found[0].res_attrs is not None and len(found[0].res_attrs) != results:
        name, given = found[0].sym_name.data, len(found[0].res_attrs)
        raise PassFailedException(f"@{name} has {results} results, and attributes of {given}")
    argument_attributes(found[0])
    return Signature(found[0])


def named(graph: Signature, names: Sequence[str], by: str) -> list[NamedArgument]:
    """The arguments of those names, in that order; PassFailedException lists what there is if one is unknown."""
    by_name = {argument.name: argument for argument in graph.arguments}
    for name in names:
        if name not in by_name:
            raise PassFailedException(f'{by}: @{graph.name} has no argument "{name}"; it has {", ".join(by_name)}')
    return [by_name[name] for name in names]
