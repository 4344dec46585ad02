"""`rlx.from_jax`: a function of JAX as a function of this package."""

# Objects of jax, which is not installed everywhere, and trees of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import update_wrapper, wraps
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from xdsl_rlx.binding import parameters_of
from xdsl_rlx.collector import paused_collector
from xdsl_rlx.compiled_function import CompiledFunction
from xdsl_rlx.dialects.arrays import read_array
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.frontends.jaxpr import private, table, walk
from xdsl_rlx.frontends.jaxpr.report import Report
from xdsl_rlx.frontends.jaxpr.types import is_key, stored, stored_dtype, stored_shape
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.shared.needed import jax_module
from xdsl_rlx.frontends.shared.values import cast, numpy_dtype, traced
from xdsl_rlx.frontends.stablehlo.imported_program import PASSES, recognised_in
from xdsl_rlx.linearization import ShapeDtypeStruct
from xdsl_rlx.passes import run_passes
from xdsl_rlx.static_keys import is_static_leaf, static_key
from xdsl_rlx.tracing import PLAIN, builder_of
from xdsl_rlx.tracing import traced as trace_for

assert table.ROWS

Tree = Any


@dataclass(frozen=True)
class _Leaf:
    """What a program depends on of a leaf: element type and shape, or the value of a leaf that is no array."""

    dtype: str
    shape: tuple[int, ...] = ()
    weak: bool = False
    static: Hashable = None


@dataclass(frozen=True)
class _Program:
    """A function traced for one signature."""

    jaxpr: Any
    results: Any
    """The tree of the results, as JAX has it, with their types as leaves."""
    moving: tuple[int, ...]
    """Numbers of the leaves of the arguments that are operands."""
    walk: walk.Walk


class Imported:
    """
    A function of JAX as a function of this package: on arrays it runs compiled, in a traced function it builds there.

    Each new signature is traced by JAX once: a tree of arguments with these shapes and element types.
    """

    def __init__(self, function: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None):
        private.read_arrays_at_once()
        self.function = function
        update_wrapper(self, function)
        self._programs: dict[Hashable, _Program] = {}
        self._compiled: dict[Hashable, tuple[list[str], Callable[..., Any]]] = {}

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self(*args, **kwargs)

        self.parameters = parameters_of(call)
        if args or kwargs:
            self._program(*self._flattened(args, kwargs or {}))

    def __repr__(self) -> str:
        return f"<{_name_of(self.function)} of JAX, traced for {len(self._programs)} signatures>"

    @property
    def report(self) -> Report:
        """How the primitives of the first signature are translated. FrontendError before there is one."""
        if not self._programs:
            raise FrontendError(f"report: '{_name_of(self.function)}' is not traced yet; call it, or pass an example")
        program = next(iter(self._programs.values()))
        return Report.of(program.jaxpr, program.walk.x64)

    @property
    def recognised(self) -> Mapping[str, int]:
        """Loops and composite operations that are found in the first signature, such as `mir.softmax`."""
        jaxpr = self.jaxpr
        runs = next(iter(self._programs.values())).walk
        avals = [one.aval for one in jaxpr.jaxpr.invars]

        def program(*operands: Any) -> Any:
            return tuple(traced(x) for x in runs.run(jaxpr, operands))

        names = [f"arg{n}" for n in range(len(avals))]
        vars(program)["__signature__"] = Signature([Parameter(x, Parameter.POSITIONAL_OR_KEYWORD) for x in names])
        structs = [ShapeDtypeStruct(stored_shape(x), numpy_dtype(stored_dtype(x))) for x in avals]
        parameters = parameters_of(program)
        # no derivatives are taken of it: rules that have others in them without end are left out
        made = trace_for(parameters, parameters.bind(structs, {}), "program", modes=())
        return recognised_in(run_passes(made.graph, PASSES))

    @property
    def jaxpr(self) -> Any:
        """The jaxpr of the first signature. FrontendError before there is one."""
        if not self._programs:
            raise FrontendError(f"jaxpr: '{_name_of(self.function)}' is not traced yet; call it, or pass an example")
        return next(iter(self._programs.values())).jaxpr

    def __call__(self, *args: Tree, **kwargs: Tree) -> Tree:
        """Return the results of the function, in trees of JAX's structure."""
        leaves, tree, signature = self._flattened(args, kwargs)
        if builder_of([leaf for leaf in leaves if isinstance(leaf, Value)]) is not None:
            return self._built(leaves, tree, signature)
        program = self._program(leaves, tree, signature)
        key = tree, signature
        if key not in self._compiled:
            self._compiled[key] = self._compiled_for(leaves, tree, signature, program)
        names, compiled = self._compiled[key]
        found: Any = compiled(**{name: _readable(leaves[n]) for n, name in zip(program.moving, names, strict=True)})
        avals = [one.aval for one in program.jaxpr.jaxpr.outvars]
        return _unflattened(program.results, [_restored(x, aval) for x, aval in zip(found, avals, strict=True)])

    def _flattened(self, args: Sequence[Tree], kwargs: Mapping[str, Tree]) -> tuple[list[Any], Any, tuple[_Leaf, ...]]:
        """The leaves of a call, the tree around these, and what a program depends on of them."""
        leaves, tree = jax_module("from_jax").tree.flatten((tuple(args), dict(kwargs)))
        return leaves, tree, tuple(_leaf(leaf) for leaf in leaves)

    def _compiled_for(
        self, leaves: Sequence[Any], tree: Any, signature: tuple[_Leaf, ...], program: _Program
    ) -> tuple[list[str], Callable[..., Any]]:
        """The names of the operands, and the compiled function of these."""
        every = self._names(tree)
        names = [every[n] for n in program.moving]
        fixed = [None if n in program.moving else leaf for n, leaf in enumerate(leaves)]

        def call(**operands: Any) -> Any:
            found = list(fixed)
            for n, name in zip(program.moving, names, strict=True):
                found[n] = operands[name]
            return tuple(self._results(found, tree, signature))

        call.__name__ = _name_of(self.function)
        if not program.jaxpr.jaxpr.outvars:
            return names, lambda **_: ()
        return names, CompiledFunction(call)

    def _names(self, tree: Any) -> list[str]:
        """Identifiers of the leaves of a call: names of parameters, followed by paths."""
        tree_util = jax_module("from_jax").tree_util
        places = [path for path, _ in tree_util.tree_flatten_with_path(tree.unflatten(range(tree.num_leaves)))[0]]
        try:
            parameters = [one.name for one in inspect.signature(self.function).parameters.values()]
        except (TypeError, ValueError):
            parameters = []
        found: list[str] = []
        for path in places:
            kind, first, rest = path[0], path[1], path[2:]
            position = getattr(first, "idx", None)
            if getattr(kind, "idx", 0) == 1 or position is None:
                name = str(getattr(first, "key", first))
            else:
                name = parameters[position] if position < len(parameters) else f"x{position}"
            text = re.sub(r"\W+", "_", name + tree_util.keystr(tuple(rest))).strip("_") or "x"
            found.append(text if text not in found else f"{text}_{len(found)}")
        return found

    def _program(self, leaves: Sequence[Any], tree: Any, signature: tuple[_Leaf, ...]) -> _Program:
        """The function traced for a signature."""
        jax = jax_module("from_jax")
        wide = any(one.dtype in ("float64", "complex128") and not one.weak for one in signature)
        x64 = wide or bool(jax.config.jax_enable_x64)
        key = tree, signature, x64
        if key not in self._programs:
            self._programs[key] = self._traced(leaves, tree, signature, x64)
        return self._programs[key]

    @paused_collector()
    def _traced(self, leaves: Sequence[Any], tree: Any, signature: tuple[_Leaf, ...], x64: bool) -> _Program:
        jax = jax_module("from_jax")
        moving = tuple(n for n, one in enumerate(signature) if one.static is None)

        def of_leaves(*operands: Any) -> Any:
            found = list(leaves)
            for n, x in zip(moving, operands, strict=True):
                found[n] = x
            args, kwargs = jax.tree.unflatten(tree, found)
            return self.function(*args, **kwargs)

        with jax.enable_x64(x64):
            example = [_abstract(jax, leaves[n], signature[n]) for n in moving]
        jaxpr, results = walk.traced_jaxpr(of_leaves, example, x64, _name_of(self.function))
        return _Program(jaxpr, results, moving, walk.Walk(x64))

    def _built(self, leaves: Sequence[Any], tree: Any, signature: tuple[_Leaf, ...]) -> Tree:
        """The results of a call in what is being traced."""
        results = self._program(leaves, tree, signature).results
        return _unflattened(results, self._results(leaves, tree, signature))

    def _results(self, leaves: Sequence[Any], tree: Any, signature: tuple[_Leaf, ...]) -> list[Any]:
        """The leaves of the results of a call in what is being traced."""
        program = self._program(leaves, tree, signature)
        variables = program.jaxpr.jaxpr.invars
        operands = [_operand(leaves[n], one.aval) for n, one in zip(program.moving, variables, strict=True)]
        return program.walk.run(program.jaxpr, operands)


def from_jax(f: Callable[..., Tree], /, *example: Tree, **kwargs: Tree) -> Imported:
    """
    Return a function of JAX as a function of this package, with its transformations.

    Arguments and results are trees, also of the classes that are registered with JAX, such as modules of Flax and
    Equinox. `example` and `kwargs` are arguments of `f`, whose values do not matter: it is traced for them at once.
    Other shapes and element types are traced when they are met. A leaf that is a text or a function is passed as it is.

    ```python
    step = rlx.compile(rlx.value_and_grad(rlx.from_jax(loss)), donate=())
    value, grads = step(params, x, y)
    ```

    Rules of `jax.custom_jvp` and `jax.custom_vjp` are kept. If an argument is f64, JAX traces with 64-bit types;
    otherwise i64 becomes i32, as in JAX. `.report` says how each primitive is translated. Raises FrontendError if JAX
    is not installed, and for primitives without a translation, all of which the message lists.
    """
    jax_module("from_jax")
    if not callable(f):
        raise FrontendError(f"from_jax: f: expected a function of JAX, got {shown(f)}")
    return Imported(f, example, kwargs)


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _leaf(leaf: Any) -> _Leaf:
    """What a program depends on of a leaf; FrontendError for one that JAX cannot trace."""
    if isinstance(leaf, Value):
        return _Leaf(leaf.dtype.name if hasattr(leaf.dtype, "name") else str(leaf.dtype), leaf.shape, leaf.weak)
    if type(leaf) in PLAIN:
        return _Leaf(type(leaf).__name__, (), True)
    if is_key_array(leaf):
        return _Leaf(str(leaf.dtype), tuple(leaf.shape))
    if is_static_leaf(leaf):
        return _Leaf("", static=static_key(leaf, "an argument"))
    array = leaf if hasattr(leaf, "dtype") and hasattr(leaf, "shape") else read_array(leaf)
    if array is None or getattr(array.dtype, "kind", "") in _NO_NUMBERS:
        raise FrontendError(f"from_jax: expected arrays, numbers, texts and functions as leaves, got {shown(leaf)}")
    weak = bool(getattr(leaf, "weak_type", False))
    return _Leaf(str(array.dtype), tuple(int(n) for n in array.shape), weak)


_NO_NUMBERS = ("U", "S", "O", "M", "m")
"""The kinds of NumPy's element types that JAX has not: texts, objects and times."""


def is_key_array(leaf: Any) -> bool:
    """Whether a leaf is an array of random keys of JAX's own type."""
    return str(getattr(leaf, "dtype", "")).startswith("key<")


_PLAIN = {"bool": np.bool_, "int": np.int64, "float": np.float64, "complex": np.complex128}


def _abstract(jax: Any, leaf: Any, one: _Leaf) -> Any:
    """What stands for a leaf while JAX traces."""
    if one.dtype.startswith("key<"):
        return jax.ShapeDtypeStruct(one.shape, leaf.dtype)
    dtype = jax.dtypes.canonicalize_dtype(_PLAIN.get(one.dtype, one.dtype))
    return jax.ShapeDtypeStruct(one.shape, dtype, weak_type=one.weak)


def _readable(leaf: Any) -> Any:
    """A leaf as an operand of a compiled function."""
    if is_key_array(leaf):
        return np.asarray(jax_module("from_jax").random.key_data(leaf))
    if str(getattr(leaf, "dtype", "")) in ("uint16", "uint64"):
        return stored(leaf)
    return leaf


def _operand(leaf: Any, aval: Any) -> Any:
    """A leaf as an operand of the walk, of the type that JAX has traced it with."""
    if is_key_array(leaf):
        return _readable(leaf)
    dtype, shape = stored_dtype(aval), stored_shape(aval)
    if not isinstance(leaf, Value):
        array = np.asarray(read_array(leaf) if not isinstance(leaf, bool | int | float | complex) else leaf)
        return stored(array.astype(np.dtype(aval.dtype), copy=False)).reshape(shape)
    value = Value(leaf.ssa, leaf.b)
    return cast(value, dtype)


def _restored(x: Any, aval: Any) -> Any:
    """A result that is an array, in the type that JAX has for it."""
    if is_key(aval):
        return jax_module("from_jax").random.wrap_key_data(x, impl=private.generator(aval).name)
    return x if str(x.dtype) == str(aval.dtype) else x.view(np.dtype(aval.dtype))


def _unflattened(results: Tree, leaves: Sequence[Any]) -> Tree:
    """Leaves in the tree of results that JAX has."""
    tree = jax_module("from_jax").tree
    return tree.unflatten(tree.structure(results), leaves)
