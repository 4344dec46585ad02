"""src/xdsl_rlx/op_signatures.pyi: what type checkers see of the functions of ops, and of the methods of plugins.

`generate.py` writes it. When a program runs, functions such as `rlx.relu` are made from the methods of graphs, and
plugins add methods to the builder.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import xdsl_rlx as rlx
from xdsl_rlx import op_functions
from xdsl_rlx.dialects.mir.value import BuilderCore
from xdsl_rlx.signatures import bare_signature

_HEAD = '''\
"""Functions of ops, and methods of plugins. Written by `make docs` from the builders: change those, not this file."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from numpy.typing import ArrayLike

from xdsl_rlx.dialects.mir.value import Value

Operand: TypeAlias = Value | ArrayLike
Axes: TypeAlias = int | Sequence[int] | None
Steps: TypeAlias = int | Sequence[int]
'''

_KNOWN = re.compile(r"(int|float|bool|str|object|None|Operand|Axes|Steps|(Sequence\[)+(int|float|Operand)\]+)")
"""The types that the stub has."""


def op_stub_text() -> str:
    """The whole file: a function for each op that `__init__.pyi` does not name."""
    names = sorted(op_functions.names() - set(rlx.__all__))
    signatures = {name: inspect.signature(op_functions.function(name)) for name in names}
    # arrays where arrays are given, and values of a graph in a traced function
    functions = [_declared(name, signature, "Any") for name, signature in signatures.items()]
    methods = [
        f"    {_declared(name, bare_signature(method), 'Value')}" for name, method in _methods_of_plugins().items()
    ]
    return "\n".join([_HEAD, *functions, "", "class PluginMethods:", *methods]) + "\n"


def _methods_of_plugins() -> dict[str, Callable[..., object]]:
    """The builder methods that the plugins of this package add to graphs."""
    builders = [kind for kind in BuilderCore.__subclasses__() if kind.__module__.startswith("xdsl_rlx.plugins.")]
    return {name: method for kind in builders for name, method in vars(kind).items() if name[0] != "_"}


def _declared(name: str, signature: inspect.Signature, value: str) -> str:
    parameters = [_typed(one) for one in signature.parameters.values()]
    result = re.sub(r"\bValue\b", value, str(signature.return_annotation))
    result = result if re.fullmatch(rf"{value}|tuple\[{value}(, ({value}|\.\.\.))*\]", result) else "Any"
    return f"def {name}{inspect.Signature(parameters)} -> {result}: ..."


def _typed(parameter: inspect.Parameter) -> inspect.Parameter:
    if parameter.name == "self":
        return parameter
    default = parameter.default if parameter.default is inspect.Parameter.empty else _Text("...")
    return parameter.replace(annotation=_Text(_annotation(str(parameter.annotation))), default=default)


class _Text(str):
    """A text that a signature shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _annotation(text: str) -> str:
    """The annotation: a member of an enumeration is a string, and other types of this package are left to run time."""
    parts = text.split(" | ")
    known = [part for part in parts if _KNOWN.fullmatch(part)]
    return " | ".join(known) if known == parts or "str" in known else "Any"
