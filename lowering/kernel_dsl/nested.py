"""`@nest`: a plain Python function as the body of a kernel's iteration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, cast

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.lowering.kernel_dsl.array_views import ArrayView
from xdsl_rlx.lowering.kernel_dsl.frames import Callee, PlainFunction
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.lowering.kernel_dsl.language import Iteration
from xdsl_rlx.lowering.kernel_dsl.translate import Translator
from xdsl_rlx.lowering.run_errors import KernelError


class Nested(PlainFunction):
    """
    A function `(it, *buffers)`: called, it runs as Python on NumPy's arrays; `emit` translates it.

    `options` are further arguments by name, known now.
    """

    def __init__(self, function: Callable[..., Any], options: Mapping[str, object] | None = None):
        super().__init__(cast(FunctionType, function))
        self.options = options or {}
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__

    def __call__(self, *given: Any) -> Any:
        return self.function(*given, **self.options)

    def emit(self, place: Nest, index: SSAValue, piece: SSAValue, buffers: Sequence[SSAValue]) -> None:
        """Insert one iteration into a kernel. Raises `KernelError`, with file and line, for what is not translated."""
        walk = Translator(place)
        known: list[Any] = []
        for value in (index, piece):
            found = constant_index(value)
            walk.arithmetic.mark_natural(value)
            known.append(place.scalars.of(value) if found is None else found)
        callee = Callee.of_function(self.function)
        try:
            names = callee.bind([Iteration(*known), *map(ArrayView.of, buffers)], self.options)
        except TypeError as e:
            raise KernelError(f"{callee.file}:{self.function.__code__.co_firstlineno}: {e}") from None
        walk.inline(callee, names)


def nest(function: Callable[..., Any]) -> Nested:
    """Decorator: what a function does to NumPy's arrays is what the kernel does (docs/custom-ops.md has the subset)."""
    return Nested(function)
