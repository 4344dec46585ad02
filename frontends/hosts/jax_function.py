"""Functions of trees of arrays in JAX: what `rlx.to_jax` returns."""

# Objects of jax, which is not installed everywhere, and trees of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false, reportMissingImports=false

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import Any

import jax
import numpy as np

from xdsl_rlx.binding import parameters_of
from xdsl_rlx.compiled_function import CompiledFunction
from xdsl_rlx.dialects.arrays import read_array
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.donation import Donations
from xdsl_rlx.forks import at_fork
from xdsl_rlx.frontends.hosts.jax_program import JaxProgram, Run, call_p, everywhere
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.linearization import ShapeDtypeStruct
from xdsl_rlx.lowering.backend.runtime.compiled_graph import OBSERVER
from xdsl_rlx.static_keys import is_static_leaf, static_key
from xdsl_rlx.tracing import PLAIN, name_of, traced
from xdsl_rlx.tree import Tree
from xdsl_rlx.tree import flatten as flatten_own
from xdsl_rlx.tree import unflatten as unflatten_own

_making = threading.RLock()
at_fork.hold(_making)


@dataclass(frozen=True)
class _Signature:
    """A function for arguments of these types: its program, and how its results become a tree."""

    program: JaxProgram
    tree: Callable[[Sequence[Any]], Tree]


class JaxFunction:
    """
    A function of trees of JAX arrays whose programs run as targets of XLA.

    One program is made for each signature, as for `rlx.compile`. The function is inlined where JAX traces it.
    """

    def __init__(self, function: Callable[..., Tree], run: Run, options: Mapping[str, Any]):
        update_wrapper(self, function, ("__module__", "__name__", "__qualname__", "__doc__"), ())
        self.__wrapped__ = function.__wrapped__ if isinstance(function, CompiledFunction) else function
        self.name = name_of(function)
        self._compiled = function if isinstance(function, CompiledFunction) and function.donates else None
        self._options = dict(options)
        self._signatures: dict[Hashable, _Signature] = {}
        self._run_as = run
        self._jitted = {one: jax.jit(partial(self._traced, one), inline=True) for one in Run}
        self._static: dict[Hashable, Any] = {}
        self._has_static = False

    def __repr__(self) -> str:
        return f"<function {self.name} of JAX arrays, for {len(self._signatures)} signatures so far>"

    def __call__(self, /, *args: Tree, **kwargs: Tree) -> Tree:
        run = self._run_as if OBSERVER.get() is None or self._run_as is Run.XLA else Run.NANS
        if not self._has_static:
            try:
                return self._jitted[run](*args, **kwargs)
            except TypeError:
                if all(map(_is_array, jax.tree.leaves((args, kwargs)))):
                    raise
                self._has_static = True
        return self._with_static(run, args, kwargs)

    def _with_static(self, run: Run, args: Sequence[Tree], kwargs: Mapping[str, Tree]) -> Tree:
        """A call with leaves that are no arrays: what JAX takes for leaves may be containers, or fixed values."""
        outer, spec = jax.tree.flatten((args, kwargs))
        leaves, inner = flatten_own(outer)
        fixed = {n: leaf for n, leaf in enumerate(leaves) if not _is_array(leaf)}
        keys = tuple((n, static_key(x, f"{self.name}: argument leaf {n}")) for n, x in fixed.items())
        key = run, spec, inner, keys
        with _making:
            if key not in self._static:

                def call(*arrays: Any) -> Tree:
                    left = iter(arrays)
                    found = [fixed[n] if n in fixed else next(left) for n in range(len(leaves))]
                    return self._run(run, found, key, lambda given: spec.unflatten(unflatten_own(inner, given)))

                self._static[key] = jax.jit(call, inline=True)
        return self._static[key](*(leaf for n, leaf in enumerate(leaves) if n not in fixed))

    def _traced(self, run: Run, /, *args: Tree, **kwargs: Tree) -> Tree:
        leaves, spec = jax.tree.flatten((args, kwargs))
        return self._run(run, leaves, spec, spec.unflatten)

    def _run(self, run: Run, leaves: Sequence[Any], key: Hashable, tree: Callable[[Sequence[Any]], Tree]) -> Tree:
        signature = self._signature(leaves, key, tree)
        operands = [leaf for leaf in leaves if _is_array(leaf)]
        return signature.tree(call_p.bind(*everywhere(operands), program=signature.program, run=run))

    def compile(self, /, *args: Tree, **kwargs: Tree) -> None:
        """Compile the program for arguments like these."""
        structs = jax.tree.map(_struct, (args, kwargs))
        jax.eval_shape(lambda args, kwargs: self(*args, **kwargs), *structs)

    def serialize(self, /, *args: Tree, vjp_order: int = 0, **kwargs: Tree) -> bytes:
        """
        Return the function for arguments like these as bytes that `jax.export.deserialize` reads.

        They run without this package. `vjp_order` is the number of times that it can be differentiated there. Raises
        FrontendError for a function that runs as machine code.
        """
        if self._run_as is not Run.XLA:
            raise FrontendError(f'{self.name}: machine code cannot be serialized; use rlx.to_jax(f, run="xla")')
        structs = jax.tree.map(_struct, (args, kwargs))
        exported = jax.export.export(jax.jit(self.__call__))(*structs[0], **structs[1])
        try:
            return bytes(exported.serialize(vjp_order=vjp_order))
        except ImportError as error:
            raise FrontendError(f"{self.name}: {error}: pip install 'xdsl-rlx[jax]'") from error

    def _signature(self, leaves: Sequence[Any], key: Hashable, tree: Callable[[Sequence[Any]], Tree]) -> _Signature:
        """The program for a signature, made if it is not there."""
        types = tuple((x.shape, x.dtype, x.weak_type) for x in map(jax.typeof, filter(_is_array, leaves)))
        whole = key, types, jax.dtypes.canonicalize_dtype(np.int64)
        with _making:
            if whole not in self._signatures:
                self._signatures[whole] = self._made(leaves, tree)
            return self._signatures[whole]

    def _made(self, leaves: Sequence[Any], tree: Callable[[Sequence[Any]], Tree]) -> _Signature:
        given = [_Struct(n, x, self.name) if _is_array(x) else x for n, x in enumerate(leaves)]
        structs = [x for x in given if isinstance(x, _Struct)]
        specs: list[Any] = []

        def flat(*values: Value) -> list[Any]:
            weak = iter(
                Value(x.ssa, x.b, True) if struct.weak else x for x, struct in zip(values, structs, strict=True)
            )
            args, kwargs = tree([next(weak) if isinstance(x, _Struct) else x for x in given])
            outer, spec = jax.tree.flatten(self.__wrapped__(*args, **kwargs))
            found, inner = flatten_own(outer)
            specs[:] = [spec, inner]
            return [self._result(n, x) for n, x in enumerate(found)]

        flat.__name__ = self.name
        parameters = parameters_of(flat)
        made = traced(parameters, parameters.bind(structs, {}), self.name, hold=True)
        spec, inner = specs
        donate = self._donated(given, tree)
        names = [one.inputs[0] for one in made.arguments]
        program = JaxProgram(
            made.graph, made.held, self._options, donate={str(names[i]): out for i, out in donate.items()}
        )
        return _Signature(program, lambda results: spec.unflatten(unflatten_own(inner, results)))

    def _result(self, number: int, x: Any) -> Any:
        """A leaf of the results in a type that JAX has: without `jax_enable_x64` there are no numbers of 64 bits."""
        if type(x) in PLAIN:
            return np.asarray(x, jax.dtypes.canonicalize_dtype(np.asarray(x).dtype))
        if is_static_leaf(x):
            raise FrontendError(f"{self.name}: result leaf {number} is {shown(x)}; expected an array or a number")
        dtype = np.dtype(x.dtype)
        known = jax.dtypes.canonicalize_dtype(dtype)
        return x if known == dtype else x.astype(known)

    def _donated(self, leaves: Sequence[Any], tree: Callable[[Sequence[Any]], Tree]) -> dict[int, int]:
        """The numbers of the results that are written over inputs, by the number of the input."""
        function = self._compiled
        if function is None:
            return {}
        args, kwargs = tree(leaves)
        values = function.parameters.bind(args, kwargs)
        made = traced(function.parameters, values, self.name, hold=True)
        found = Donations(made, function.parameters, values).of(function.donated)
        order = [x for x in leaves if isinstance(x, _Struct)]
        return {
            order.index(leaf): found[name]
            for one in made.arguments
            for name, leaf in zip(one.inputs, one.leaves, strict=True)
            if name in found
        }


class _Struct(ShapeDtypeStruct):
    """The type of a leaf, which knows its number, and whether it is a Python number."""

    __slots__ = ("number", "weak")

    def __init__(self, number: int, x: Any, name: str):
        aval = jax.typeof(x)
        if jax.numpy.issubdtype(aval.dtype, jax.dtypes.extended):
            raise FrontendError(
                f"{name}: argument leaf {number} is a typed key of JAX; pass jax.random.key_data(key), an array"
            )
        super().__init__(aval.shape, aval.dtype)
        self.number = number
        self.weak = bool(aval.weak_type)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def _is_array(x: Any) -> bool:
    """Whether JAX takes a leaf for an array."""
    return isinstance(x, jax.Array | jax.ShapeDtypeStruct) or type(x) in PLAIN or read_array(x) is not None


def _struct(x: Any) -> Any:
    """The type of an array that the values of an example do not matter of."""
    if not _is_array(x) or type(x) in PLAIN:
        return x
    return jax.ShapeDtypeStruct(x.shape, jax.dtypes.canonicalize_dtype(x.dtype))
