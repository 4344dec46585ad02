"""Functions of the library that a `lir.call_function` calls: what is known of each by its name."""

from __future__ import annotations

import abc
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

from xdsl.dialects.builtin import MemRefType, i64
from xdsl.ir import Attribute

from xdsl_rlx.dialects.lir.memory import AnyMemRef
from xdsl_rlx.dialects.shapes import DTYPES
from xdsl_rlx.lowering.kernel_dsl import Nested
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel
from xdsl_rlx.lowering.target import CostModel

MANY = 1 << 40
"""Elements of a buffer whose length a function does not know."""


class Work(NamedTuple):
    """What a call computes, and the elements that it loads of each buffer it reads and stores to each it writes."""

    multiplications: int
    """Of floating-point numbers, each with an addition."""
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    packed: int = 0
    """Those of packed bf16 among `multiplications`."""


@dataclass(frozen=True)
class CalledFunction(abc.ABC):
    """A function of the library, with what is known of it in its name."""

    FORM: ClassVar[str]
    """The name, with fields in braces; a field with `:d` is a truth value."""
    ELEMENTS: ClassVar[tuple[str, ...]] = ("f32", "f64")
    """The element types that there are functions for."""
    WORDS: ClassVar[int]
    """Numbers that it is called with."""
    READS: ClassVar[tuple[str, ...]]
    WRITES: ClassVar[tuple[str, ...]]
    """The buffers, in the order of the arguments."""

    element: str

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.FORM.format(**vars(self))

    @property
    def is_unrolled(self) -> bool:
        """Whether its loops are unrolled vectors already, of which LLVM makes code as they are."""
        return True

    @property
    def elements(self) -> Mapping[str, Attribute]:
        """The element type of each buffer."""
        return dict.fromkeys((*self.READS, *self.WRITES), DTYPES[self.element])

    @classmethod
    def of(cls, name: str) -> Self | None:
        """The function of a name, None if that has another form."""
        found = _pattern(cls.FORM, cls.ELEMENTS).fullmatch(name)
        if found is None:
            return None
        fields: dict[str, Any] = {x: text if x == "element" else int(text) for x, text in found.groupdict().items()}
        return cls(**fields)

    @abc.abstractmethod
    def work(self, words: Sequence[int], length: int) -> Work:
        """The work of a call for so many numbers of the range."""

    @abc.abstractmethod
    def build(self, model: CostModel) -> Kernel:
        """The kernel, whose loops are not lowered for a processor yet."""


@dataclass(frozen=True)
class IteratedFunction(CalledFunction):
    """A function that does the same for each number of its range, written as a loop of kernels is."""

    @property
    def is_unrolled(self) -> bool:
        return False

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The extents of a line of the buffers that have lines."""
        return {}

    @property
    @abc.abstractmethod
    def body(self) -> Nested:
        """An iteration, `(it, plan, *buffers)`."""

    @property
    def types(self) -> dict[str, AnyMemRef]:
        """The buffers, behind the plan."""
        found: dict[str, AnyMemRef] = {"plan": MemRefType(i64, (MANY,))}
        for name, element in self.elements.items():
            found[name] = MemRefType(element, (MANY, *self.shapes.get(name, ())))
        return found

    def build(self, model: CostModel) -> Kernel:
        made, body = Kernel([*self.types.values()], [*self.types]), self.body
        buffers, zero = made.block.args[:-2], made.index(0)
        for inside, index in made.entry.over(made.bounds, "i"):
            body.emit(inside, index, zero, buffers)
        return made


@cache
def _pattern(form: str, elements: tuple[str, ...]) -> re.Pattern[str]:
    """What matches names of a form."""

    def group(field: re.Match[str]) -> str:
        text = "|".join(elements) if field[1] == "element" else "[01]" if field[2] else r"\d+"
        return f"(?P<{field[1]}>{text})"

    return re.compile(re.sub(r"\{(\w+)(:d)?\}", group, form))
