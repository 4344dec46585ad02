"""Format strings of `rlx.debug.print`: what is known while a function is traced becomes text, values become fields."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

import numpy as np

from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.lowering.backend.driver.debug_prints import formatted
from xdsl_rlx.lowering.backend.driver.dtypes import dtype_of

_CONTAINERS = {tuple: "()", list: "[]"}


def template(fmt: object, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[str, list[Value]]:
    """
    Return a format string whose fields are the numbers of traced values, and these values.

    GraphError where the format string does not fit the arguments.
    """
    if not isinstance(fmt, str):
        raise GraphError(f"debug.print: expected a format string such as 'x = {{}}', got {shown(fmt)}; pass one first")
    writer = _Writer(args, kwargs)
    text = writer.text(fmt)
    names = [*range(len(args)), *kwargs]
    if unused := [name for name in names if name not in writer.used]:
        what = f"positional argument {unused[0]}" if isinstance(unused[0], int) else f"argument '{unused[0]}'"
        field = "{}" if isinstance(unused[0], int) else f"{{{unused[0]}}}"
        raise GraphError(f"debug.print: no field of {fmt!r} shows {what}; add {field} to the format string, or drop it")
    return text, writer.values


def _braces(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


class _Writer:
    """The text so far, with the arguments that it shows."""

    def __init__(self, args: Sequence[Any], kwargs: Mapping[str, Any]):
        self._args, self._kwargs = args, kwargs
        self._formatter = Formatter()
        self._next: int | None = None
        """The number of the next `{}`; -1 where numbers are written."""
        self.used: set[int | str] = set()
        self.values: list[Value] = []

    def text(self, fmt: str) -> str:
        try:
            pieces = list(self._formatter.parse(fmt))
        except ValueError as error:
            raise GraphError(
                f"debug.print: expected a format string of str.format, got {fmt!r}: {error}; write {{{{ and }}}} for "
                "braces"
            ) from None
        found: list[str] = []
        for literal, field, spec, conversion in pieces:
            found.append(_braces(literal))
            if field is not None:
                found.append(self._field(field, spec or "", conversion))
        return "".join(found)

    def _field(self, field: str, spec: str, conversion: str | None) -> str:
        words = f"{{{field}{f'!{conversion}' if conversion else ''}{f':{spec}' if spec else ''}}}"
        value = self._argument(field, words)
        if conversion not in (None, "r", "s", "a"):
            raise GraphError(f"debug.print: field {words}: expected the conversion r, s or a, got {conversion!r}")
        if "{" in spec:
            spec = self._known(spec, words)
        return self._shown(value, spec, conversion, words)

    def _argument(self, field: str, words: str) -> Any:
        """The value of a field."""
        first = field.split(".")[0].split("[")[0]
        numbered = first == ""
        if numbered or first.isdecimal():
            if self._next is not None and (self._next < 0) == numbered:
                raise GraphError(f"debug.print: field {words}: expected all fields with numbers, or none; number all")
            if not numbered:
                self._next = -1
            else:
                number = self._next or 0
                self._next = number + 1
                field = f"{number}{field}"
        try:
            value, name = self._formatter.get_field(field, self._args, self._kwargs)
        except (IndexError, KeyError, AttributeError, TypeError, ValueError) as error:
            given = [*map(str, range(len(self._args))), *self._kwargs]
            raise GraphError(
                f"debug.print: field {words}: expected one of the arguments {', '.join(given) or '(none given)'}, or "
                f"what they have, got {type(error).__name__}: {error}; pass the value to debug.print"
            ) from None
        self.used.add(name)
        return value

    def _known(self, spec: str, words: str) -> str:
        """A format whose own fields are filled in, which must be known now."""
        count = len(self.values)
        text = self.text(spec)
        if len(self.values) > count:
            raise GraphError(
                f"debug.print: field {words}: expected widths and precisions known at trace time, got a "
                "traced value; pass a Python number"
            )
        return text.format()

    def _shown(self, value: Any, spec: str, conversion: str | None, words: str) -> str:
        if isinstance(value, Value):
            return self._traced(value, spec, conversion, words)
        if not _has_values(value):
            try:
                return _braces(self._formatter.format_field(self._formatter.convert_field(value, conversion), spec))
            except (TypeError, ValueError) as error:
                raise GraphError(
                    f"debug.print: field {words}: {error}; expected a format for {shown(value)}, such as {{}}"
                ) from None
        if spec:
            raise GraphError(
                f"debug.print: field {words}: expected no format for a {type(value).__name__}, got {spec!r}; show its "
                "elements one by one"
            )
        if isinstance(value, dict):
            inner = ", ".join(f"{_braces(repr(k))}: {self._shown(x, '', None, words)}" for k, x in value.items())
            return f"{{{{{inner}}}}}"
        left, right = _CONTAINERS[list if isinstance(value, list) else tuple]
        items = [self._shown(x, "", None, words) for x in value]
        comma = "," if len(items) == 1 and left == "(" else ""
        return f"{left}{', '.join(items)}{comma}{right}"

    def _traced(self, value: Value, spec: str, conversion: str | None, words: str) -> str:
        piece = f"{'!' + conversion if conversion else ''}{':' + spec if spec else ''}"
        if piece:
            sample = np.zeros(value.shape, dtype_of(value.dtype.short))
            try:
                formatted(f"{{0{piece}}}", [sample])
            except (TypeError, ValueError) as error:
                raise GraphError(
                    f"debug.print: field {words}: expected a format for an array of shape {value.shape} and dtype "
                    f"{value.dtype.name}, got {spec!r} ({error}); formats of numbers are for arrays of rank 0: write "
                    "{}, or index the array"
                ) from None
        self.values.append(value)
        return f"{{{len(self.values) - 1}{piece}}}"


def _has_values(value: Any) -> bool:
    """Whether a tuple, list or dict has traced values; GraphError for another object that has."""
    if isinstance(value, Value):
        return True
    if isinstance(value, dict):
        return any(map(_has_values, value.values()))
    return isinstance(value, tuple | list) and any(map(_has_values, value))
