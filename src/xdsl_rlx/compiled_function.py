"""Compiled Python functions of trees: one graph, and one program of machine code, for each signature of a call.
Tracing is in `tracing.py`, what a call binds to in `binding.py`."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, update_wrapper
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, NamedTuple, Self, SupportsIndex, overload

import numpy as np
from typing_extensions import ParamSpec, TypeVar

from xdsl_rlx.binding import DEFAULT, Function, Parameters, Place, parameters_of
from xdsl_rlx.builder import GraphModule
from xdsl_rlx.collector import paused_collector
from xdsl_rlx.compile_log import CompileLog
from xdsl_rlx.compiling import compile as compile_graph
from xdsl_rlx.dialects.arrays import READERS
from xdsl_rlx.dialects.calls import signature_of
from xdsl_rlx.dialects.errors import GraphError, RlxError
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.donation import Donate, Donations, asked, check_overlaps
from xdsl_rlx.lowering.backend.driver.dtypes import dtype_of
from xdsl_rlx.lowering.backend.runtime.observer import OBSERVER
from xdsl_rlx.lowering.run_errors import ArgumentError
from xdsl_rlx.static_keys import Static, is_static_leaf, static_key
from xdsl_rlx.tracing import EAGER, PLAIN, Traced, builder_of, is_tracing, name_of, traced, type_of
from xdsl_rlx.tree import Flatten, Structure, Tree, instance_of, unflatten
from xdsl_rlx.weak_integers import Fit

if TYPE_CHECKING:
    from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph
    from xdsl_rlx.lowering.backend.runtime.profile import Profile

_P = ParamSpec("_P", default=...)
_R = TypeVar("_R", default=Any)
_Rest = ParamSpec("_Rest")


@dataclass(frozen=True)
class _Entry:
    """A function compiled for one signature."""

    compiled: CompiledGraph
    traced: Traced
    kept: tuple[int, ...] | None
    """Which leaves are operands, None for all: others are passed on as they are."""
    picked: Callable[[Sequence[Any]], Sequence[Any]] | None
    """Picks the results from operands and what a call returns behind them; None if none is written over an operand."""
    fits: tuple[Fit, ...]
    """What Python's integers among the operands have to fit in."""
    scalars: tuple[tuple[int, np.dtype[Any]], ...]
    """Index and dtype of each operand without axes that is not donated: a call may pass a number for it."""

    def operands(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """Those of the leaves that are."""
        return leaves if self.kept is None else [leaves[number] for number in self.kept]

    def __call__(self, leaves: Sequence[Any]) -> Tree:
        operands = self.operands(leaves)
        for fit in self.fits:
            fit.check(operands)
        if self.scalars:
            operands = list(operands)
            for number, dtype in self.scalars:
                if type(operands[number]) is not np.ndarray:
                    operands[number] = _array_of(operands[number], dtype)
        found: Sequence[Any] = self.compiled(*operands)
        if self.picked is not None:
            found = self.picked((*operands, *found))
        return self.tree(found)

    def tree(self, found: Sequence[Any]) -> Tree:
        """The results as a tree."""
        made = self.traced
        if self.one:
            return found[0]
        return unflatten(made.results, found if not made.fixed else made.with_fixed(found))

    @cached_property
    def one(self) -> bool:
        """Whether the result is one array."""
        return self.traced.results.is_leaf() and not self.traced.fixed

    @property
    def takes_leaves(self) -> bool:
        """Whether plain arrays are the operands as they are."""
        return self.kept is None and self.picked is None and not self.fits


class _Direct(NamedTuple):
    """A call whose arguments by position are the operands of a compiled graph."""

    entry: _Entry
    arity: int
    """The number of operands."""
    call: Callable[..., Sequence[Any] | None]
    """`CompiledGraph.call_exact`."""
    one: bool
    """Whether the result is one array."""


def _array_of(number: Any, dtype: np.dtype[Any]) -> Any:
    """
    Return a number as an array of the operand's dtype: a call of arrays alone binds them in machine code.

    Any other object is returned as it is. The general path converts it or raises.
    """
    if type(number) in PLAIN or isinstance(number, np.generic):
        array = np.asarray(number)
        if array.dtype == dtype:
            return array
    return number


def _picked(
    operands: int, results: int, replaced: Mapping[int, int]
) -> Callable[[Sequence[Any]], Sequence[Any]] | None:
    """See `_Entry.picked`, where results `replaced` are operands of these numbers."""
    if not replaced:
        return None
    returned = count(operands)
    first, *others = [replaced[n] if n in replaced else next(returned) for n in range(results)]
    return itemgetter(first, *others) if others else lambda found: (found[first],)


class CompiledFunction(Generic[_P, _R]):
    """
    A Python function of trees of arrays, traced and compiled once for each signature.

    A signature consists of the tree structure of the arguments, the shapes and element types of their leaves, and the
    type and value of each `static` argument. Results are trees of new arrays. A compiled function that is a class
    attribute works as a method; `@staticmethod` and `@classmethod` stand above `@rlx.compile`, where type checkers know
    them, or below. A captured value is read at the first call with a signature, and kept for later calls.
    """

    def __init__(
        self,
        function: Callable[_P, _R],
        static: str | int | Sequence[str | int] = (),
        donate: Donate = None,
        scratch: str | int | Sequence[str | int] = (),
        **options: Any,
    ):
        """`options` are those of `rlx.compile` for a graph."""
        update_wrapper(self, function, ("__module__", "__name__", "__qualname__", "__doc__"), ())
        self.__wrapped__: Function = function
        self.parameters: Parameters = parameters_of(function)
        self._static = (static,) if isinstance(static, str | int) else tuple(static)
        self._donate = asked(donate)
        self._scratch = (scratch,) if isinstance(scratch, str | int) else tuple(scratch)
        self._options = options
        self._entries: dict[Hashable, _Entry] = {}
        self._last: tuple[Structure, tuple[Hashable, ...], _Entry] | None = None
        """What the last call ran: the next one has mostly the same signature, and to compare is faster than to hash."""
        self._direct: _Direct | None = None
        """As `_last`, if arguments by position are the operands: nothing to bind."""
        self._flatten = Flatten()
        self._log = CompileLog()
        for one in self._static:
            self.parameters.check_known(one, "static")
        for one in self._donate:
            self.parameters.check_known(one, "donate")
        for one in self._scratch:
            self.parameters.check_known(one, "scratch")

    def __repr__(self) -> str:
        return f"<compiled function {name_of(self.__wrapped__)}, for {len(self._entries)} signatures so far>"

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: CompiledFunction[Concatenate[Any, _Rest], _R], instance: object, owner: type | None = None
    ) -> CompiledMethod[_Rest, _R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else CompiledMethod(self, instance)

    @property
    def direct(self) -> CompiledGraph | None:
        """
        The program of the last call, where arguments by position are its operands and results its outputs, in order.

        None while functions run as they are, see `rlx.eager`.
        """
        if self._direct is None or EAGER.get():
            return None
        entry = self._direct.entry
        return None if entry.traced.fixed else entry.compiled

    @property
    def _overwritten(self) -> tuple[str | int, ...]:
        return (*self._donate, *self._scratch)

    @property
    def donates(self) -> bool:
        """Whether calls write over arguments."""
        return bool(self._donate or self._scratch)

    @property
    def donated(self) -> Mapping[str | int, int | None]:
        """The donated arguments, and the numbers of their results where those are given."""
        return self._donate

    def __call__(self, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if EAGER.get() and not is_tracing():
            return self.__wrapped__(*args, **kwargs)
        direct = self._direct
        if direct is not None and not kwargs and len(args) == direct.arity and OBSERVER.get() is None:
            try:
                found = direct.call(*args)
            except ArgumentError:
                check_overlaps(self.parameters, self.parameters.bind(args, kwargs), self._overwritten)
                raise
            if found is not None:
                return found[0] if direct.one else direct.entry.tree(found)
        values = self.parameters.bind(args, kwargs)
        if self._static:
            values = self._with_static(values)
        leaves, structure = self._flatten(values)
        if READERS and not READERS.keys().isdisjoint([type(leaf) for leaf in leaves]):
            leaves = _read(leaves)
        signatures = _signatures(leaves)
        last = self._last
        if last is not None and last[0] is structure and last[1] == signatures:
            entry = last[2]
        else:
            entry = self._entries.get((structure, signatures))
            if entry is None:
                if builder_of(values) is not None:
                    return self.parameters.call(values)
                # a program may take long to compile
                check_overlaps(self.parameters, values, self._overwritten)
                entry = self._entry(leaves, structure, values)
            self._last = structure, signatures, entry
            self._direct = None
            exact = entry.compiled.call_exact
            if exact is not None and entry.takes_leaves and self.parameters.are_leaves(values, leaves):
                self._direct = _Direct(entry, len(leaves), exact, entry.one)
        try:
            return entry(leaves)
        except ArgumentError:
            # the program names the inputs of its graph
            check_overlaps(self.parameters, values, self._overwritten)
            raise

    def trace(self, /, *args: _P.args, **kwargs: _P.kwargs) -> GraphModule:
        """
        Return the graph compiled for arguments of this signature; captured arrays larger than 64 KiB are params of it.
        """
        made = self._entry_for(args, kwargs)[0].traced
        if made.left_out:
            values = self._with_static(self.parameters.bind(args, kwargs))
            made = traced(self.parameters, values, name_of(self.__wrapped__), hold=True)
        return made.graph

    def compiled(self, /, *args: _P.args, **kwargs: _P.kwargs) -> CompiledGraph:
        """Return the compiled graph for arguments of this signature; its inputs are their leaves, in order."""
        return self._entry_for(args, kwargs)[0].compiled

    def profile(self, /, *args: Tree, runs: int = 20, **kwargs: Tree) -> Profile:
        """
        Return the time of each launch in a call with these arguments: medians of `runs` runs, as
        `CompiledGraph.profile`.

        Donated arguments are unchanged.
        """
        entry, leaves = self._entry_for(args, kwargs)
        return entry.compiled.profile(*entry.operands(leaves), runs=runs)

    def _entry_for(self, args: Sequence[Tree], kwargs: Mapping[str, Tree]) -> tuple[_Entry, list[Any]]:
        """What is kept for the signature of these arguments, made if it is not there, and their leaves."""
        values = self._with_static(self.parameters.bind(args, kwargs))
        leaves, structure = self._flatten(values)
        found = self._entries.get((structure, _signatures(leaves)))
        if found is None:
            found = self._entry(leaves, structure, values)
        return found, leaves

    def _with_static(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Bound values with the static ones marked; GraphTypeError for one that has no key."""
        found = list(values)
        for name in self._static:
            slot = self.parameters.fixed_slot(name)
            places: list[Place] = self.parameters.places(values, name) if slot is None else [(slot, None)]
            for slot, key in places:
                if key is None:
                    found[slot] = _marked(found[slot], name)
                elif isinstance(key, int):
                    found[slot] = (*found[slot][:key], _marked(found[slot][key], name), *found[slot][key + 1 :])
                else:
                    found[slot] = {**found[slot], key: _marked(found[slot][key], name)}
        return tuple(found)

    @paused_collector()
    def _entry(self, leaves: Sequence[Any], structure: Structure, values: Sequence[Any]) -> _Entry:
        self._log.add(name_of(self.__wrapped__), self.parameters, values)
        made = traced(self.parameters, values, name_of(self.__wrapped__), hold=True, modes=())
        if made.captured:
            raise GraphError(
                f"'{made.graph.name}' uses a traced value of an enclosing function; pass it as an argument"
            )
        kept = [number for number, leaf in enumerate(leaves) if not is_static_leaf(leaf)]
        donations = Donations(made, self.parameters, values)
        donate = donations.of(self._donate) if self._donate else {}
        scratch = donations.scratch(self._scratch) if self._scratch else ()
        inputs = [name for one in made.arguments for name in one.inputs if name is not None]
        options = {"donate": donate, "scratch": scratch, **self._options}
        graph, named = signature_of(compile_graph).bind((made.graph,), options)
        compiled = compile_graph(*graph, **named)
        for name, array in made.held.items():
            compiled.set_param(name, array)
        entry = _Entry(
            compiled,
            # arguments hold the arrays of this call, whose memory would never be free again
            replace(made, arguments=()),
            None if len(kept) == len(leaves) else tuple(kept),
            _picked(len(inputs), made.count, {n: inputs.index(name) for name, n in donate.items()}),
            made.fits,
            tuple(_scalars(compiled, inputs, {*donate, *scratch})),
        )
        self._entries[(structure, _signatures(leaves))] = entry
        return entry


def compile(
    function: Function,
    static: str | int | Sequence[str | int] = (),
    donate: Donate = None,
    *,
    threads: SupportsIndex | None = None,
    backend: Literal["llvm", "numba"] = "llvm",
    memory_budget: SupportsIndex | None = None,
    strict_donation: bool = False,
    scratch: str | int | Sequence[str | int] = (),
) -> CompiledFunction:
    """See `rlx.compile`."""
    options: dict[str, Any] = {"threads": threads, "backend": backend, "memory_budget": memory_budget}
    return CompiledFunction(function, static, donate, scratch, **options, strict_donation=strict_donation)


def only_graph(function: CompiledFunction[..., Any]) -> CompiledGraph:
    """The one compiled graph of a function. GraphError if it was called with none or several signatures."""
    found = list(function._entries.values())  # pyright: ignore[reportPrivateUsage]
    if len(found) != 1:
        raise GraphError(f"{function!r}: expected one; pass .compiled(*args) of the arguments that you mean")
    return found[0].compiled


class CompiledMethod(Generic[_P, _R]):
    """A compiled function as a method of an object, whose arrays are arguments like others."""

    def __init__(self, function: CompiledFunction[..., _R], instance: Any):
        self.__func__ = function
        self.__self__ = instance
        update_wrapper(self, function, ("__module__", "__name__", "__qualname__", "__doc__"), ())

    def __repr__(self) -> str:
        return f"<method of {type(self.__self__).__name__}: {self.__func__!r}>"

    def __call__(self, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if EAGER.get() and not is_tracing():
            return self.__func__.__wrapped__(self.__self__, *args, **kwargs)
        return self.__func__(instance_of(self.__self__), *args, **kwargs)

    def trace(self, /, *args: _P.args, **kwargs: _P.kwargs) -> GraphModule:
        """As `CompiledFunction.trace`."""
        return self.__func__.trace(instance_of(self.__self__), *args, **kwargs)

    def compiled(self, /, *args: _P.args, **kwargs: _P.kwargs) -> CompiledGraph:
        """As `CompiledFunction.compiled`."""
        return self.__func__.compiled(instance_of(self.__self__), *args, **kwargs)

    def profile(self, /, *args: Tree, runs: int = 20, **kwargs: Tree) -> Profile:
        """As `CompiledFunction.profile`."""
        return self.__func__.profile(instance_of(self.__self__), *args, runs=runs, **kwargs)


def run_traced(
    parameters: Parameters, values: Sequence[Any], name: str, declares: Callable[[int, Any], bool] | None = None
) -> Tree:
    """
    The results of a function that is traced for this call alone; `declares` is that of `traced`.

    So what it reads beside its arguments counts as it is now. The program for a graph that was run before is kept.
    """
    made = traced(parameters, values, name, declares=declares, hold=True, modes=())
    if made.captured:
        raise GraphError(f"'{made.graph.name}' uses a traced value of an enclosing function; pass it as an argument")
    operands = [
        leaf
        for one in made.arguments
        for input_name, leaf in zip(one.inputs, one.leaves, strict=True)
        if input_name is not None
    ]
    for fit in made.fits:
        fit.check(operands)
    return made.unflatten(_program(_ByFingerprint(made.graph))(*operands, **made.held))


def run_graph(graph: GraphModule, operands: Mapping[str, Any]) -> Sequence[Any]:
    """The results of a graph for arrays by the names of its arguments. The program is kept, as that of `run_traced`."""
    return _program(_ByFingerprint(graph))(**operands)


class _ByFingerprint:
    """A graph that compares by its fingerprint, and by the names of its arguments, which errors have."""

    def __init__(self, graph: GraphModule):
        self.graph = graph
        self.key = graph.fingerprint

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByFingerprint) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(maxsize=32)
def _program(graph: _ByFingerprint) -> CompiledGraph:
    """The program of a graph; 32 are kept, for each holds the memory that it computes in."""
    return compile_graph(graph.graph)


def _scalars(
    compiled: CompiledGraph, inputs: Sequence[str], donate: Container[str]
) -> Iterator[tuple[int, np.dtype[Any]]]:
    """The numbers and dtypes of the operands that may be given as numbers: a donated one is written to."""
    specs = {spec.name: spec for spec in compiled.program.arguments}
    for number, name in enumerate(inputs):
        if not specs[name].shape and name not in donate:
            yield number, dtype_of(specs[name].dtype)


def _marked(value: Any, name: str | int) -> Any:
    # what is left to its default is so in each call
    return value if value is DEFAULT else Static(value, f"static argument {name!r}")


def _read(leaves: Sequence[Any]) -> list[Any]:
    """Leaves with plain arrays in the place of arrays of other libraries that are read at once."""
    try:
        return [leaf if (read := READERS.get(type(leaf))) is None else read(leaf) for leaf in leaves]
    except (TypeError, ValueError, RuntimeError):
        # tracing says which one cannot be read
        return [*leaves]


def _signatures(leaves: Sequence[Any]) -> tuple[Hashable, ...]:
    array = np.ndarray
    return tuple([(x.dtype, x.shape) if type(x) is array else _signature(x) for x in leaves])


def _signature(leaf: Any) -> Hashable:
    """Return the signature of a leaf that is not a plain array; a NumPy scalar has that of an array without axes."""
    if (plain := PLAIN.get(type(leaf))) is not None:
        return plain
    if isinstance(leaf, np.number | np.bool_):
        return leaf.dtype, ()
    if isinstance(leaf, Value):
        # it has the type of a number that this may have been compiled for, and cannot be passed to that
        return Value, type_of(leaf, "")
    if is_static_leaf(leaf):
        return static_key(leaf, "an argument")
    try:
        return type_of(leaf, "")
    except RlxError:
        # tracing it says where it is
        return type(leaf)
