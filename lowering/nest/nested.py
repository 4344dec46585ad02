"""`@nest`: a plain Python function as the body of a kernel's iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, cast

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.lowering.nest.array_views import ArrayView
from xdsl_rlx.lowering.nest.builder import Nest
from xdsl_rlx.lowering.nest.frames import Callee, PlainFunction
from xdsl_rlx.lowering.nest.language import Iteration
from xdsl_rlx.lowering.nest.translate import Translator
from xdsl_rlx.lowering.run_errors import NestError


class Nested(PlainFunction):
    """A function `(it, *buffers)`: called, it runs as Python on NumPy's arrays; `emit` translates it."""

    def __init__(self, function: FunctionType):
        super().__init__(function)
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.function(*given, **named)

    def emit(
        self, place: Nest, index: SSAValue, piece: SSAValue, buffers: Sequence[SSAValue], **options: object
    ) -> None:
        """
        Insert one iteration into a kernel. Raises `NestError`, with file and line, for what is outside of the subset.

        `options` are further arguments by name, known now.
        """
        walk = Translator(place)
        known: list[Any] = []
        for value in (index, piece):
            found = constant_index(value)
            walk.arithmetic.mark_natural(value)
            known.append(place.scalars.of(value) if found is None else found)
        callee = Callee.of_function(self.function)
        try:
            names = callee.bind([Iteration(*known), *map(ArrayView.of, buffers)], options)
        except TypeError as e:
            raise NestError(f"{callee.file}:{self.function.__code__.co_firstlineno}: {e}") from None
        walk.inline(callee, names)


def nest(function: Callable[..., Any]) -> Nested:
    """Decorator: what a function does to NumPy's arrays is what the kernel does (docs/custom-ops.md has the subset)."""
    return Nested(cast(FunctionType, function))
