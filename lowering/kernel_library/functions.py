"""The functions of the library by name, as kernels. Their buffers are of any length, and are passed by address."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from xdsl.dialects.builtin import MemRefType, StringAttr, i64
from xdsl.ir import Attribute

from xdsl_rlx.dialects.lir import KernelOp
from xdsl_rlx.dialects.lir.fourier import FRAMES, LANES, RADICES, Layout
from xdsl_rlx.dialects.lir.memory import AnyMemRef
from xdsl_rlx.dialects.shapes import DTYPES
from xdsl_rlx.lowering.kernel_dsl import Nested
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel
from xdsl_rlx.lowering.kernel_library.called import MANY
from xdsl_rlx.lowering.kernel_library.calls import function_of
from xdsl_rlx.lowering.kernel_library.fourier import (
    StageLoop,
    append_first,
    append_first_convolved,
    conjugates,
    convolved,
    doubled_halves,
    halves,
    mirror,
    pad,
    prepend_last,
    read,
    real_ends,
    real_part,
    stage,
    times,
    write,
)
from xdsl_rlx.lowering.loops.lir_guard_range import LirGuardRangePass
from xdsl_rlx.lowering.loops.lir_mark_unrolled import LirMarkUnrolledPass
from xdsl_rlx.lowering.pass_costs import with_costs
from xdsl_rlx.lowering.target import CostModel

TOGETHER = 8
"""Points of a block of eight frames of f32 that are read or written at once, as vectors.

LLVM would take twice as many, for which registers do not suffice. Benchmark: `rfft 100x1000` of breadth.py.
"""


@dataclass(frozen=True)
class LibraryFunction:
    """A function: what an iteration does, with its options, and the buffers by name."""

    body: Callable[..., None]
    options: dict[str, Any]
    buffers: dict[str, AnyMemRef]

    def kernel(self, name: str, model: CostModel) -> KernelOp:
        """The function as a kernel, lowered for a processor."""
        made = Kernel([*self.buffers.values()], [*self.buffers])
        body, buffers, zero = Nested(self.body, self.options), made.block.args[:-2], made.index(0)
        for inside, index in made.entry.over(made.bounds, "i"):
            body.emit(inside, index, zero, buffers)
        kernel = made.finish()
        LirGuardRangePass().rewrite(kernel, ())
        return _finished(kernel, name, model)


def _finished(kernel: KernelOp, name: str, model: CostModel) -> KernelOp:
    kernel.sym_name = StringAttr(name)
    with_costs(LirMarkUnrolledPass, model).rewrite(kernel, ())
    return kernel


_TABLES: dict[Callable[..., None], tuple[str, ...]] = {
    write: ("table",),
    halves: ("turns",),
    doubled_halves: ("turns",),
    times: ("chirp",),
    convolved: ("chirp",),
}
_FROM_HERE_TO_THERE = (halves, doubled_halves, convolved)
_IN_PLACE = (append_first, append_first_convolved, prepend_last, real_ends, mirror, conjugates, real_part, pad, times)
_PLAIN = (*_IN_PLACE, *_FROM_HERE_TO_THERE)


@dataclass(frozen=True)
class Step:
    """A step of a transform of `width` frames at once, with options."""

    body: Callable[..., None]
    width: int = FRAMES
    layout: Layout | None = None
    together: int = 1
    """How many points are read or written at once."""
    backwards: bool | None = None
    scaled: bool | None = None

    def name(self, element: str) -> str:
        """The name of its function for an element type."""
        words = [self.body.__name__, str(self.width), *([self.layout] if self.layout else [])]
        words += [word for word in ("backwards", "scaled") if getattr(self, word)]
        words += [f"by{self.together}"] if self.together > 1 else []
        return "_".join(["fourier", *words, element])

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of its tables."""
        return _TABLES.get(self.body, ())

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of its workspace."""
        if self.body is real_ends:
            return ("im",)
        return ("re", "im", "target_re", "target_im") if self.body in _FROM_HERE_TO_THERE else ("re", "im")

    def function(self, element: Attribute) -> LibraryFunction:
        """Its function for an element type."""
        buffers = {"plan": _rows(i64), **dict.fromkeys(self.tables, _rows(element, 2))}
        buffers |= dict.fromkeys(self.parts, _rows(element, self.width))
        if self.layout is None:
            return LibraryFunction(self.body, {"width": self.width}, buffers)
        # columns are beside each other
        buffers |= {f"frame{v}": _rows(element) for v in range(1 if self.layout is Layout.COLUMNS else self.width)}
        options: dict[str, Any] = {"layout": self.layout, "together": self.together}
        own = {"scaled": self.scaled} if self.body is write else {"backwards": self.backwards, "width": self.width}
        options |= own
        return LibraryFunction(self.body, options, buffers)


def _rows(element: Attribute, *shape: int) -> AnyMemRef:
    return MemRefType[Any](element, (MANY, *shape))


def _stage(loop: StageLoop, element: Attribute) -> LibraryFunction:
    part = _rows(element) if loop.lanes is None else _rows(element, loop.lanes)
    buffers = {"plan": _rows(i64), "table": _rows(element, 2)}
    buffers |= dict.fromkeys(("re", "im", "target_re", "target_im"), part)
    return LibraryFunction(stage, {"loop": loop}, buffers)


def stage_name(loop: StageLoop, element: str) -> str:
    """The name of the function of a stage."""
    last = [] if loop.has_factors else ["last"]
    how = [f"x{loop.lanes}"] if loop.lanes else [] if loop.step is None else [f"by{loop.step}"]
    return "_".join(["fourier_stage", str(loop.radix), *last, *how, element])


@cache
def functions() -> dict[str, Callable[[], LibraryFunction]]:
    """All functions of the library, by name."""
    found: dict[str, Callable[[], LibraryFunction]] = {}
    steps = [Step(body, width) for body in _PLAIN for width in _WIDTHS]
    steps += [Step(read, FRAMES, Layout.COLUMNS, backwards=flag) for flag in (False, True)]
    for width in _WIDTHS:
        for layout in (Layout.INTERLEAVED, Layout.PLANAR, Layout.REAL):
            for flag in (False, True):
                for together in (1, TOGETHER) if width == FRAMES else (1,):
                    steps.append(Step(read, width, layout, together, backwards=flag))
                    steps.append(Step(write, width, layout, together, scaled=flag))
    kinds = [*((lanes, None) for lanes in LANES), *((None, step) for step in (None, *range(1, FRAMES)))]
    loops = [StageLoop(radix, has, *kind) for radix in RADICES for has in (False, True) for kind in kinds]
    for name in ("f32", "f64"):
        found |= {step.name(name): partial(step.function, DTYPES[name]) for step in steps}
        found |= {stage_name(loop, name): partial(_stage, loop, DTYPES[name]) for loop in loops}
    return found


_WIDTHS = range(1, FRAMES + 1)


@cache
def library_kernel(name: str, model: CostModel) -> KernelOp:
    """The kernel of a function, lowered for a processor."""
    if (called := function_of(name)) is not None:
        return _finished(called.build(model).finish(), name, model)
    return functions()[name]().kernel(name, model)


def is_function(name: str) -> bool:
    """Whether the library has a function of a name."""
    return name in functions() or function_of(name) is not None


def is_unrolled(name: str) -> bool:
    """Whether the loops of a function are unrolled vectors already, of which LLVM makes code as they are."""
    return (called := function_of(name)) is not None and called.is_unrolled
