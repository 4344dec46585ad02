"""`rlx.from_stablehlo`: a program in StableHLO as a function of this package."""

# Values of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

import numpy as np

from xdsl_rlx.builder import Graph, GraphModule
from xdsl_rlx.compiled_function import CompiledFunction
from xdsl_rlx.dialects.arrays import read_array
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.shared.values import cast, numpy_dtype, shape_of, traced
from xdsl_rlx.frontends.stablehlo import table, walk
from xdsl_rlx.frontends.stablehlo.attributes import numpy_type
from xdsl_rlx.frontends.stablehlo.read import read
from xdsl_rlx.frontends.stablehlo.tree import Function, Module, Type
from xdsl_rlx.frontends.stablehlo.types import kept, stored
from xdsl_rlx.linearization import ShapeDtypeStruct
from xdsl_rlx.passes import run_passes
from xdsl_rlx.tracing import builder_of, trace
from xdsl_rlx.transforms.driver import is_constant, is_view

assert table.ROWS

PASSES = "mir-canonicalize,mir-cse,mir-raise-loops,mir-fold-int-ranges,mir-canonicalize,mir-cse"
"""What runs on an imported program."""


class ImportedProgram:
    """
    A program in StableHLO as a function of its arguments, in order or by name: on arrays it runs compiled.

    It returns a tuple of results, or the result if there is one. `rlx.grad`, `rlx.vmap` and `rlx.compile` take it.
    `report` counts the operations of the program, `recognised` the loops and composites that were found in it.
    """

    def __init__(self, module: Module, name: str, names: Sequence[str] | None):
        walk.check(module, name)
        self._module = module
        self._function = module.functions[name]
        self._graph: GraphModule | None = None
        self.__name__ = name if name.isidentifier() else "program"
        self.names = argument_names(self._function, names)
        """Names of the arguments."""
        self.__signature__ = Signature([Parameter(one, Parameter.POSITIONAL_OR_KEYWORD) for one in self.names])

        def call(*args: Any) -> Any:
            return self(*args)

        vars(call)["__signature__"] = self.__signature__
        call.__name__ = self.__name__
        self._compiled = CompiledFunction(call)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(self.names, self._types, strict=True))
        return f"<@{self._function.name}({arguments}) of StableHLO>"

    @property
    def _types(self) -> tuple[Type, ...]:
        return self._function.block.types

    @property
    def report(self) -> Mapping[str, int]:
        """How often each operation occurs, with the way it is translated."""
        found: Counter[str] = Counter()
        for (name, status), times in walk.fired(self._module, self._function.name).items():
            found[f"{name} ({status})"] += times
        return dict(found.most_common())

    @cached_property
    def recognised(self) -> Mapping[str, int]:
        """Loops and composite operations that were found in the program, such as `mir.scan` and `mir.attention`."""
        return recognised_in(self.graph)

    @property
    def graph(self) -> GraphModule:
        """The program in mir."""
        # not a cached property: operations would be located in the standard library, which calls it
        if self._graph is None:
            self._graph = run_passes(built(self._module, self._function.name, self.names), PASSES)
        return self._graph

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the results; FrontendError for arguments of other shapes than the program has."""
        bound = self._bound(args, kwargs)
        builder = builder_of(bound)
        if builder is None:
            found = self._compiled(*(self._array(x, n) for n, x in enumerate(bound)))
            several = isinstance(found, tuple)
            results = found if several else (found,)
            restored = tuple(_restored(x, type_) for x, type_ in zip(results, self._function.results, strict=True))
            return restored if several else restored[0]
        operands = [self._operand(x, n) for n, x in enumerate(bound)]
        assert isinstance(builder, Graph)
        results = builder.inline(self.graph, *operands)
        return results[0] if len(results) == 1 else tuple(results)

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        try:
            return list(self.__signature__.bind(*args, **kwargs).arguments.values())
        except TypeError as error:
            raise FrontendError(f"{self.__name__}: {error}; its arguments are {', '.join(self.names)}") from None

    def _array(self, x: Any, number: int) -> Any:
        """An argument that is an array, in the element type that is kept."""
        array = np.asarray(x) if isinstance(x, bool | int | float | complex) else read_array(x)
        if array is None:
            raise FrontendError(f"{self.__name__}: {self.names[number]}: expected an array, got {shown(x)}")
        type_ = self._types[number]
        self._fits(array.shape, number)
        dtype = numpy_type(type_.dtype)
        assert dtype is not None
        if array.dtype != dtype and isinstance(x, bool | int | float | complex):
            array = array.astype(dtype)
        if array.dtype != dtype and array.dtype != numpy_dtype(stored(type_.dtype)):
            raise FrontendError(
                f"{self.__name__}: {self.names[number]}: expected an array of {dtype.name}, got {array.dtype.name}; "
                f"convert it with astype({dtype.name!r})"
            )
        return kept(array)

    def _operand(self, x: Any, number: int) -> Any:
        if not isinstance(x, Value):
            return self._array(x, number)
        self._fits(shape_of(x), number)
        return cast(x, stored(self._types[number].dtype)) if x.weak else x

    def _fits(self, shape: Sequence[int], number: int) -> None:
        expected = self._types[number].extents
        if tuple(shape) != expected:
            raise FrontendError(
                f"{self.__name__}: {self.names[number]}: expected shape {list(expected)}, which the program has, got "
                f"{list(shape)}; lower it for other shapes"
            )


def recognised_in(graph: GraphModule) -> dict[str, int]:
    """Return the loops of a graph, and the composite operations that `mir-raise-composites` finds in it."""
    before, after = (
        Counter(op.name for op in one.module.walk() if not is_view(op) and not is_constant(op))
        for one in (graph, run_passes(graph, "mir-raise-composites"))
    )
    found = dict((after - before).most_common())
    return {**({"mir.scan": before["mir.scan"]} if before["mir.scan"] else {}), **found}


def built(module: Module, name: str, names: Sequence[str]) -> GraphModule:
    """Return a function of a module as a graph whose arguments have these names."""
    block = module.functions[name].block

    def program(*operands: Any) -> Any:
        return tuple(traced(x) for x in walk.Walk(module).call(name, operands))

    program.__name__ = name if name.isidentifier() else "program"
    signature = Signature([Parameter(one, Parameter.POSITIONAL_OR_KEYWORD) for one in names])
    vars(program)["__signature__"] = signature
    return trace(program, *(ShapeDtypeStruct(one.extents, numpy_dtype(stored(one.dtype))) for one in block.types))


def argument_names(function: Function, names: Sequence[str] | None) -> list[str]:
    """Return identifiers for the arguments: those that are given, or those of the text, else `arg0`."""
    count = len(function.block.arguments)
    if names is not None:
        given = [names] if isinstance(names, str) else list(names)
        if len(given) != count or len(set(given)) != count or not all(str(one).isidentifier() for one in given):
            raise FrontendError(
                f"from_stablehlo: names: expected {count} different identifiers, one for each argument, got "
                f"{shown(given)}"
            )
        return given
    found: list[str] = []
    for number, text in enumerate(function.names):
        name = re.sub(r"\W+", "_", text or f"arg{number}").strip("_")
        name = name if name.isidentifier() else f"arg{number}"
        found.append(name if name not in found else f"{name}_{number}")
    return found


def _restored(x: Any, type_: Type) -> Any:
    """A result as an array of the element type that the program has."""
    dtype = numpy_type(type_.dtype)
    return x if dtype is None or x.dtype == dtype else x.view(dtype)


def from_stablehlo(source: str | bytes | Path, *, names: Sequence[str] | None = None) -> ImportedProgram:
    """
    Return a program in StableHLO as a function of this package, with its transformations.

    `source` is text, bytecode, a portable artifact, or a path to one of these. With JAX installed all forms are read;
    without it, text in MLIR's generic form. The program is the function `main`, or the only one that no other calls.
    `names` are the names of its arguments, by default those in the text.

    ```python
    program = rlx.from_stablehlo(jax.jit(loss).lower(w, x).as_text())
    value, gradient = rlx.value_and_grad(program)(w, x)
    ```

    Text has no derivative rules: those of `jax.custom_vjp` and `stop_gradient` are lost, which `rlx.from_jax` keeps.
    `.report` counts the operations. Raises FrontendError for a source that cannot be read, and for operations without
    a translation, all of which the message lists.
    """
    module = read(source)
    return ImportedProgram(module, entry_of(module), names)


def entry_of(module: Module) -> str:
    """The name of the function that is the program: `main`, or the only one that no other calls."""
    if "main" in module.functions:
        return "main"
    called = {name for one in module.functions.values() for op in one.block.walk() for name in walk.called_by(op)}
    entries = [name for name in module.functions if name not in called]
    if len(entries) != 1:
        known = ", ".join(f"@{name}" for name in module.functions) or "none"
        raise FrontendError(f"from_stablehlo: expected a function @main in the module; it has {known}")
    return entries[0]
