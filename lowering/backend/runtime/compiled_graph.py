"""The callable that a compiled program becomes: names, params, results. What a call does is in `binding.py`."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from xdsl_rlx.lowering.backend.driver.collectives import engine_for
from xdsl_rlx.lowering.backend.driver.layout import KEY_DIGITS, PlanTable
from xdsl_rlx.lowering.backend.driver.manifest import Program, TensorSpec
from xdsl_rlx.lowering.backend.driver.process import RunPlan, thread_count
from xdsl_rlx.lowering.backend.machine.llvm import LoadedObject
from xdsl_rlx.lowering.backend.runtime.binding import Array, Binding, fast_calls
from xdsl_rlx.lowering.backend.runtime.observer import OBSERVER
from xdsl_rlx.lowering.backend.runtime.weights import Weights
from xdsl_rlx.lowering.reports.text_tables import short
from xdsl_rlx.lowering.run_errors import RlxError

if TYPE_CHECKING:
    from xdsl_rlx.lowering.backend.runtime.profile import Profile

    class Results(tuple[Array, ...]):
        """What a call returns, as type checkers see it: a tuple, and a named tuple where the results have names."""

        _fields: tuple[str, ...]

        def _asdict(self) -> dict[str, Array]: ...
        def _replace(self, **values: Any) -> Results: ...
        def __getattr__(self, name: str) -> Array: ...


@dataclass(frozen=True)
class Origin:
    """What a program was compiled from, made again when it is looked at."""

    module: Callable[[], ModuleOp]
    """As it was given, at any stage."""
    lowered: Callable[[], ModuleOp]
    """The planned lir program; raises `RlxError` where the graph has changed meanwhile."""
    compile_text: Callable[[str, int, Mapping[str, Array], Any, Any, bool], CompiledGraph]
    """The function of that name in `compile_module.py`, which makes such graphs."""
    effort: int
    backend: str
    checked: bool = False
    """Whether it has checks of bounds."""


class CompiledGraph:
    """
    A compiled program that is called with NumPy arrays.

    Pass arguments by name, or by position: inputs, then params, then optional inputs. C-contiguous arrays of the
    declared dtype are read in place. A call returns a tuple of arrays, a named tuple if the graph names its outputs.
    The arrays are new, or those given as `out`, a tuple with an array or None per result. An `out` array may be one of
    the arguments: it is written after all reads.

    Calls from several threads are safe and run one after the other. An invalid call raises an `ArgumentError`.
    """

    def __init__(
        self,
        program: Program,
        code: LoadedObject,
        threads: int | None = None,
        *,
        from_cache: bool = False,
        weights: Weights | None = None,
        origin: Origin | None = None,
        key: str | None = None,
    ) -> None:
        """`from_cache` says whether the code was compiled before, rather than just now; `key` is that of the cache."""
        self._origin = origin
        self.key = key
        self.program = program
        self.from_cache = from_cache
        if program.processes > 1:
            engine_for(program.processes, program.name).agree(key or "", f"graph {program.name!r}")
        self._binding = Binding(program, code, thread_count(threads), Weights() if weights is None else weights)
        if program.processes > 1 and key:
            self._binding.plan.set(PlanTable.KEY, int(key[:KEY_DIGITS], 16))
        # held here and not by the tables: the tables' owner must not be kept alive by a callable that it points to
        self._slow_call = self._binding.call
        self._call: Callable[..., Any]
        self._call, self.call_exact = fast_calls(self._binding.plan, self._slow_call)
        """
        The second one serves a call by position without an observer: None where an argument is no array of its type.
        None of its own where this interpreter has none.
        """
        self._named = named_results(program.name, program.outputs)

    def __call__(self, /, *args: object, **kwargs: object) -> Results:
        observer: Any = OBSERVER.get()
        if observer is not None:
            return observer(self, args, kwargs)
        found = self._call(*args, **kwargs)
        return found if self._named is None or len(found) != len(self.program.outputs) else self._named(found)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """
        What it was compiled from, as text, and the values of its params: what takes it compiles it, or has it cached.

        Raises `RlxError` where what it was compiled from is not known, or has changed since.
        """
        # it says whether the graph is still what this was compiled from
        _ = self.origin.lowered()
        made = self.origin
        how = (made.effort, made.backend, made.checked)
        return made.compile_text, (str(made.module()), self.threads, dict(self.weights), *how)

    def copies(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, np.ndarray[Any, Any]]:
        """Return copies of all arguments of a call by name, params and optional inputs included."""
        return self._binding.copies(args, kwargs)

    def set_param(self, name: str, value: object) -> None:
        """Copy a param's value; calls use it until it is set again. Raises `ArgumentError` if it does not fit."""
        self._binding.set_param(name, value)

    def profile(self, /, *args: object, runs: int = 20, **kwargs: object) -> Profile:
        """
        Return the time of each launch in a call with these arguments: medians of `runs` runs, after one warm-up run.

        Donated arguments and params are copied for each run and stay unchanged. Pass an input named `runs` by position.
        Raises the errors of a call.
        """
        from xdsl_rlx.lowering.backend.runtime.launch_times import profile_of

        return profile_of(self, self._binding, args, kwargs, runs)

    @property
    def origin(self) -> Origin:
        """The graph that this was compiled from, with its options; `RlxError` if it is unknown."""
        if self._origin is None:
            raise RlxError(f"graph {self.name!r} was loaded as machine code and has no IR to inspect")
        return self._origin

    def __repr__(self) -> str:
        arguments = [f"{spec.name}: {spec}" for spec in self.program.arguments]
        words, results = _listed(arguments, "arguments"), _listed(list(map(str, self.outputs)), "results")
        launches, memory = len(self.program.launches), short(self.arena_bytes, "B")
        return (
            f"CompiledGraph {self.name}({words}) -> ({results})\n"
            f"  {self.kernel_count} kernels, {launches} launches, {self.threads} threads, arena {memory}, "
            f"{'from the cache' if self.from_cache else 'compiled now'}"
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    @property
    def weights(self) -> Weights:
        """The values of the params."""
        return self._binding.weights

    @property
    def name(self) -> str:
        """The name of the graph."""
        return self.program.name

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """The specs of the inputs, in order."""
        return self.program.inputs

    @property
    def params(self) -> tuple[str, ...]:
        """Names of the params."""
        return tuple(spec.name for spec in self.program.params)

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """The specs of the outputs, in order."""
        return self.program.outputs

    @property
    def threads(self) -> int:
        """The maximum number of threads of a call."""
        return self._binding.plan.threads

    @property
    def arena_bytes(self) -> int:
        """The size in bytes of the arena, which holds all buffers that are neither arguments nor results."""
        return self.program.arena_bytes

    @property
    def kernel_count(self) -> int:
        """The number of distinct kernels."""
        return len(self.program.kernels)


def plan_of(compiled: CompiledGraph) -> RunPlan:
    """The tables of a program that machine code reads."""
    return compiled._binding.plan  # pyright: ignore[reportPrivateUsage]


MOST_LISTED = 4
"""Arguments or results that `repr` lists; `inputs`, `params` and `outputs` have all."""


def _listed(items: Sequence[str], kind: str) -> str:
    """The items, or the first ones and how many there are."""
    if len(items) <= MOST_LISTED + 1:
        return ", ".join(items)
    return f"{', '.join(items[:MOST_LISTED])}, .. {len(items)} {kind}"


def named_results(name: str, outputs: Sequence[TensorSpec]) -> Callable[[tuple[Array, ...]], Results] | None:
    """What makes the results of a graph of that name a named tuple; None if not all have a name."""
    names = [spec.name for spec in outputs]
    if len(set(names)) < len(names) or not all(map(_is_word, names)):
        return None
    return namedtuple(name if _is_word(name) else "results", names)._make  # pyright: ignore


def _is_word(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name) and not name.startswith("_")
