"""Graphs as primitives of JAX: programs that XLA calls, with rules for derivatives and batches.

A program is a graph with what is derived of it: the two halves of its gradient, its tangents, its batches. Each is a
program again, so that JAX's transformations compose to any depth. Machine code is made where JAX lowers.
"""

# Objects of jax, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false, reportMissingImports=false

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property, partial
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Literal, Primitive
from jax.extend.mlir.dialects import func
from jax.interpreters import ad, batching, mlir
from jax.interpreters import partial_eval as pe

import xdsl_rlx.derivatives as on_graphs
from xdsl_rlx.builder import GraphModule
from xdsl_rlx.compiling import compile
from xdsl_rlx.dialects.constants import NAMED
from xdsl_rlx.dialects.shapes import COMPLEXES, FLOATS, element_of, shape_of
from xdsl_rlx.forks import at_fork
from xdsl_rlx.frontends.hosts.jax_ffi import Target, target
from xdsl_rlx.frontends.hosts.jax_modules import find_lapack, is_saved, varying
from xdsl_rlx.frontends.hosts.split_function import INPUT, OUTPUT, SplitFunction
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.stablehlo.write import stablehlo_text
from xdsl_rlx.linearization import ShapeDtypeStruct
from xdsl_rlx.lowering.backend.runtime.build_program import spec_of
from xdsl_rlx.lowering.backend.runtime.weights import Weights
from xdsl_rlx.tracing import builder_of
from xdsl_rlx.tree import flatten

Array = np.ndarray[Any, Any]

_making = threading.RLock()
at_fork.hold(_making)


class Run(StrEnum):
    """How XLA runs a program."""

    RLX = "rlx"
    """As machine code of this package."""
    NANS = "nans"
    """The same, and each call looks for NaN in its results."""
    XLA = "xla"
    """As StableHLO."""


Flags = tuple[bool, ...]
"""Which operands have an axis of examples in front."""


class JaxProgram:
    """A graph, and the large arrays that it captures, as a function of JAX arrays: one for each input."""

    def __init__(
        self,
        graph: GraphModule,
        held: Mapping[str, Array],
        options: Mapping[str, Any],
        weights: Weights | None = None,
        donate: Mapping[str, int] | None = None,
    ):
        """`weights` are those of the program that this is derived of, so that memory of captured arrays is shared."""
        self.graph = graph
        self.held = held
        self._options = options
        self._weights = Weights() if weights is None else weights
        self._donate = dict(donate or {})
        interface = graph.interface
        self.inputs = [one for one in interface.arguments if one.kind == "input"]
        self.types = [(shape_of(one), NAMED[element_of(one)]) for one in interface.outputs]
        """Shape and element type of each result."""
        self.floats = [n for n, one in enumerate(interface.outputs) if element_of(one) in (*FLOATS, *COMPLEXES)]
        """The results that have tangents."""
        self._splits: dict[tuple[int, ...], Split] = {}
        self._batches: dict[tuple[Flags, int], JaxProgram] = {}
        self._pushed: dict[tuple[int, ...], JaxProgram] = {}
        self.origin: tuple[JaxProgram, tuple[int, ...]] | None = None
        """For a program of results and tangents, that of the results, and the inputs that have tangents."""
        self._targets: dict[bool, tuple[Target, list[int]]] = {}

    def __repr__(self) -> str:
        return self.graph.name

    @cached_property
    def stablehlo(self) -> str:
        """The graph as StableHLO text."""
        return stablehlo_text(self.graph, self.held)

    def target(self, nans: bool) -> tuple[Target, list[int]]:
        """The target that XLA calls, and for each of its results the number among those of the graph."""
        with _making:
            if nans not in self._targets:
                self._targets[nans] = self._compiled(nans)
            return self._targets[nans]

    def _compiled(self, nans: bool) -> tuple[Target, list[int]]:
        params = [one for one in self.graph.interface.arguments if one.kind == "param"]
        if params:
            self._weights.declare([spec_of(one.name, one.value) for one in params])
        compiled = compile(self.graph, weights=self._weights, donate=self._donate or None, **self._options)
        for name in compiled.params:
            compiled.set_param(name, self.held[name])
        returned = [n for n in range(len(self.types)) if n not in self._donate.values()]
        return target(compiled, self.held, nans), [*returned, *self._donate.values()]

    @property
    def aliases(self) -> dict[int, int]:
        """The numbers of the results that are written over inputs, among those of the target, by the input's number."""
        first = len(self.types) - len(self._donate)
        names = [one.name for one in self.inputs]
        return {names.index(name): first + n for n, name in enumerate(self._donate)}

    def is_float(self, number: int) -> bool:
        """Whether an input has a tangent."""
        return element_of(self.inputs[number].value.type) in (*FLOATS, *COMPLEXES)

    def split(self, wanted: tuple[int, ...]) -> Split:
        """The halves of the gradient by some inputs."""
        with _making:
            if wanted not in self._splits:
                self._splits[wanted] = self._split(wanted)
            return self._splits[wanted]

    def _split(self, wanted: tuple[int, ...]) -> Split:
        structs = [ShapeDtypeStruct(shape_of(x), NAMED[element_of(x)]) for x in (one.value.type for one in self.inputs)]
        leaves, spec = flatten((tuple(structs), {}))
        found = SplitFunction(self._function(), leaves, spec, wanted, self._options)
        halves = found.halves
        forward, backward = (
            JaxProgram(one, halves.held, self._options, found.weights) for one in (halves.forward, halves.backward)
        )
        linear = Linear(partial(self.tangents, wanted), backward, halves.order, len(self.inputs))
        return Split(forward, linear, halves.residuals)

    def inlined(self, *operands: Any) -> list[Any]:
        """The results of the graph, in a function of this package that is traced."""
        builder: Any = builder_of(operands)
        given = {one.name: builder.constant(x) for one, x in zip(self.inputs, operands, strict=True)}
        return list(builder.inline(self.graph, **given, **{name: builder.constant(x) for name, x in self.held.items()}))

    def _function(self) -> Callable[..., Any]:
        """The graph as a function that is traced."""

        def function(*operands: Any) -> Any:
            return self.inlined(*operands)

        function.__name__ = self.graph.name
        return function

    def tangents(self, wanted: tuple[int, ...]) -> JaxProgram:
        """The program of the tangents of the float results, whose inputs are those of this one and their tangents."""
        names = [self.inputs[n].name for n in wanted]
        graph = on_graphs.jvp(self.graph, names)
        return self._derived(on_graphs.select_outputs(graph, [len(self.types) + n for n in self.floats]))

    def pushed(self, wanted: tuple[int, ...]) -> JaxProgram:
        """The program of the results and of the tangents of the float ones, in one."""
        with _making:
            if wanted not in self._pushed:
                graph = on_graphs.jvp(self.graph, [self.inputs[n].name for n in wanted])
                kept = [*range(len(self.types)), *(len(self.types) + n for n in self.floats)]
                found = self._pushed[wanted] = self._derived(on_graphs.select_outputs(graph, kept))
                found.origin = self, wanted
            return self._pushed[wanted]

    def batched(self, flags: Flags, size: int) -> JaxProgram:
        """The program for a batch of examples in those of the operands."""
        with _making:
            if (flags, size) not in self._batches:
                names = [one.name for one, is_batched in zip(self.inputs, flags, strict=True) if is_batched]
                self._batches[(flags, size)] = self._derived(on_graphs.vmap(self.graph, names, size))
            return self._batches[(flags, size)]

    def _derived(self, graph: GraphModule) -> JaxProgram:
        return JaxProgram(graph, self.held, self._options, self._weights)


@dataclass(frozen=True, eq=False)
class Split:
    """A program that also returns residuals, and the linear function that reads these."""

    forward: JaxProgram
    linear: Linear
    residuals: tuple[tuple[int, int], ...]

    def read(self, operands: Sequence[Any], found: Sequence[Any]) -> list[Any]:
        """The residuals, among operands and results of `forward`."""
        sources = {INPUT: operands, OUTPUT: found}
        return [sources.get(source, found)[n] for source, n in self.residuals]


class Linear:
    """
    A linear function of tangents: a program that computes it from inputs, and one of its transpose, from residuals.

    Its operands are the residuals, the inputs of the function that it is derived of, and tangents.
    """

    def __init__(
        self,
        tangents: Callable[[], JaxProgram],
        backward: JaxProgram,
        order: Sequence[tuple[bool, int]],
        inputs: int,
    ):
        """`order`: for each input of `backward` whether it is a cotangent, and its number among these or residuals."""
        self._tangents = tangents
        self.backward = backward
        self.order = order
        self.residuals = sum(not is_cotangent for is_cotangent, _ in order)
        self.inputs = inputs
        self._batches: dict[tuple[Flags, int], Linear] = {}

    @cached_property
    def tangents(self) -> JaxProgram:
        """The program of inputs and tangents."""
        with _making:
            return self._tangents()

    def batched(self, flags: Flags, size: int) -> Linear:
        """The function for a batch of examples, where all tangents have one."""
        with _making:
            if (flags, size) not in self._batches:
                own = [True if is_cotangent else flags[n] for is_cotangent, n in self.order]
                others = (*flags[self.residuals :],)
                self._batches[(flags, size)] = Linear(
                    lambda: self.tangents.batched(others, size),
                    self.backward.batched((*own,), size),
                    self.order,
                    self.inputs,
                )
            return self._batches[(flags, size)]

    def parts(self, operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """The residuals, the inputs and the tangents among operands."""
        first, second = self.residuals, self.residuals + self.inputs
        return operands[:first], operands[first:second], operands[second:]


call_p = Primitive("xdsl_rlx")
"""The results of a program."""
call_p.multiple_results = True

linear_p = Primitive("xdsl_rlx_linear")
"""Tangents of the float results, by a linear function."""
linear_p.multiple_results = True


def _avals(program: JaxProgram, given: Sequence[Any]) -> list[Any]:
    """
    The types of results: they vary over those axes of a mesh that an operand varies over.

    The program reads the memory of its operands as it was compiled for, whatever they are: so this looks.
    """
    types = [(shape_of(one.value), NAMED[element_of(one.value)]) for one in program.inputs]
    if (found := [(one.shape, one.dtype) for one in given]) != types:
        raise AssertionError(f"{program} is called with {found}, not {types}")
    like = next((one for one in given if varying(one)), None)
    if like is None:
        return [ShapedArray(shape, dtype) for shape, dtype in program.types]
    # in `shard_map`, where `everywhere` has made all operands vary over the same axes
    mesh = jax.sharding.get_abstract_mesh()
    replicated = [jax.sharding.NamedSharding(mesh, jax.P(*[None] * len(shape))) for shape, _ in program.types]
    return [
        like.update(shape=shape, dtype=dtype, weak_type=False, sharding=sharding)
        for (shape, dtype), sharding in zip(program.types, replicated, strict=True)
    ]


def everywhere(operands: Sequence[Any]) -> list[Any]:
    """Operands that all vary over the axes of a mesh that one of them varies over, in `shard_map`."""
    axes = [varying(jax.typeof(x)) for x in operands]
    every = frozenset[Any]().union(*axes)
    return [
        x if own == every else jax.lax.pcast(x, (*sorted(every - own),), to="varying")
        for x, own in zip(operands, axes, strict=True)
    ]


@call_p.def_abstract_eval
def _types_of_call(*avals: Any, program: JaxProgram, run: Run) -> list[Any]:
    return _avals(program, avals)


@linear_p.def_abstract_eval
def _types_of_linear(*avals: Any, linear: Linear, run: Run) -> list[Any]:
    return _avals(linear.tangents, avals[linear.residuals :])


@cache
def _jitted(primitive: Any, **params: Any) -> Callable[..., Any]:
    return jax.jit(partial(primitive.bind, **params))


call_p.def_impl(lambda *operands, **params: _jitted(call_p, **params)(*operands))
linear_p.def_impl(lambda *operands, **params: _jitted(linear_p, **params)(*operands))


def _lower_call(ctx: Any, *operands: Any, program: JaxProgram, run: Run) -> Sequence[Any]:
    """The call of a target by its name, or of a StableHLO function."""
    if run is Run.XLA:
        return _lower_to_stablehlo(ctx, operands, program)
    if (*ctx.module_context.platforms,) != ("cpu",):
        platforms = ", ".join(ctx.module_context.platforms)
        raise FrontendError(
            f'to_jax: {program} runs as machine code on CPUs, and is lowered for {platforms}; use run="xla" there'
        )
    found, order = program.target(run is Run.NANS)
    rule = jax.ffi.ffi_lowering(
        found.name,
        has_side_effect=found.compiled.program.prints,
        operand_output_aliases=program.aliases or None,
    )
    results = rule(ctx.replace(avals_out=[ctx.avals_out[n] for n in order]), *operands)
    placed = dict(zip(order, results, strict=True))
    return [placed[n] for n in range(len(order))]


def _lower_to_stablehlo(ctx: Any, operands: Sequence[Any], program: JaxProgram) -> Sequence[Any]:
    """A function of its own in the module that is lowered, and a call of it."""
    outer = ctx.module_context
    if "lapack_" in program.stablehlo:
        if (*outer.platforms,) != ("cpu",):
            raise FrontendError(
                f"to_jax: {program} calls LAPACK for eigenvalues or singular values, which XLA has on CPUs, and is "
                f"lowered for {', '.join(outer.platforms)}; compute that part on the CPU"
            )
        find_lapack()
    module = mlir.ir.Module.parse(program.stablehlo, outer.context)
    name = mlir.merge_mlir_modules(outer.module, program.graph.name, module, outer.symbol_table)
    return func.CallOp(outer.symbol_table[name], list(operands)).results


def _lower_linear(ctx: Any, *operands: Any, linear: Linear, run: Run) -> Sequence[Any]:
    avals = ctx.avals_in[linear.residuals :]
    return _lower_call(ctx.replace(avals_in=avals), *operands[linear.residuals :], program=linear.tangents, run=run)


mlir.register_lowering(call_p, _lower_call)
mlir.register_lowering(linear_p, _lower_linear)


def _differentiate(
    primals: Sequence[Any], tangents: Sequence[Any], program: JaxProgram, run: Run
) -> tuple[list[Any], list[Any]]:
    """
    The rule of JVP: one program of results and tangents.

    Where JAX evaluates only the results, for reverse mode, `_evaluate_partly` takes it apart.
    """
    wanted = tuple(n for n, x in enumerate(tangents) if type(x) is not ad.Zero and program.is_float(n))
    if not wanted or not program.floats:
        results = call_p.bind(*primals, program=program, run=run)
        return results, [ad.Zero(jax.typeof(x).to_tangent_aval()) for x in results]
    found = call_p.bind(*primals, *(tangents[n] for n in wanted), program=program.pushed(wanted), run=run)
    results, along = found[: len(program.types)], iter(found[len(program.types) :])
    floats = set(program.floats)
    return results, [
        next(along) if n in floats else ad.Zero(jax.typeof(x).to_tangent_aval()) for n, x in enumerate(results)
    ]


ad.primitive_jvps[call_p] = _differentiate


def _evaluate_partly(trace: Any, *tracers: Any, program: JaxProgram, run: Run) -> Any:
    """
    Results where they are known and their tangents are not: a program with residuals, and a linear function of these.
    """
    given = [x.pval.get_known() for x in tracers]
    if program.origin is None or all(x is not None for x in given):
        return trace.default_process_primitive(call_p, tracers, {"program": program, "run": run})
    first, wanted = program.origin
    primals, count = given[: len(first.inputs)], len(first.types)
    if any(x is None for x in primals):
        return trace.default_process_primitive(call_p, tracers, {"program": program, "run": run})
    split = first.split(wanted)
    found = call_p.bind(*primals, program=split.forward, run=run)
    operands = [*split.read(primals, found), *primals, *tracers[len(primals) :]]
    along = trace.default_process_primitive(linear_p, operands, {"linear": split.linear, "run": run})
    return [*found[:count], *along]


pe.custom_partial_eval_rules[call_p] = _evaluate_partly


def _evaluate_partly_staged(policy: Any, unknown: Sequence[bool], staged: Sequence[bool], eqn: Any) -> Any:
    """The same under `jax.checkpoint`: the results now, and both once more, from the operands, in the backward pass."""
    program: JaxProgram = eqn.params["program"]
    outputs = len(eqn.outvars)
    missing = [x for x, there in zip(eqn.invars, staged, strict=True) if not there and not isinstance(x, Literal)]
    if not any(unknown):
        if is_saved(policy(call_p, *[x.aval for x in eqn.invars], **eqn.params)):
            return eqn, None, [False] * outputs, [False] * outputs, []
        return eqn, eqn, [False] * outputs, [True] * outputs, missing
    if program.origin is None or any(unknown[: len(program.origin[0].inputs)]):
        return None, eqn, [True] * outputs, [True] * outputs, missing
    first, count = program.origin[0], len(program.origin[0].types)
    known = eqn.replace(
        invars=eqn.invars[: len(first.inputs)], outvars=eqn.outvars[:count], params={**eqn.params, "program": first}
    )
    return known, eqn, [n >= count for n in range(outputs)], [True] * outputs, missing


pe.partial_eval_jaxpr_custom_rules[call_p] = _evaluate_partly_staged


def _differentiate_linear(
    primals: Sequence[Any], tangents: Sequence[Any], linear: Linear, run: Run
) -> tuple[Sequence[Any], Sequence[Any]]:
    residuals, inputs, given = linear.parts(primals)
    _, of_inputs, of_tangents = linear.parts(tangents)
    if any(type(x) is not ad.Zero for x in of_inputs):
        return _differentiate([*inputs, *given], [*of_inputs, *of_tangents], linear.tangents, run)
    along = map(ad.instantiate_zeros, of_tangents)
    bind = partial(linear_p.bind, *residuals, *inputs, linear=linear, run=run)
    return bind(*given), bind(*along)


ad.primitive_jvps[linear_p] = _differentiate_linear


def _transpose(cotangents: Sequence[Any], *operands: Any, linear: Linear, run: Run) -> list[Any]:
    """The backward program; gradients of complex numbers are conjugates of JAX's."""
    residuals, inputs, _ = linear.parts(operands)
    given = [_conjugate(ad.instantiate_zeros(x)) for x in cotangents]
    read = [given[n] if is_cotangent else residuals[n] for is_cotangent, n in linear.order]
    found = call_p.bind(*read, program=linear.backward, run=run)
    return [None] * (len(residuals) + len(inputs)) + [_conjugate(x) for x in found]


ad.primitive_transposes[linear_p] = _transpose


def _conjugate(x: Any) -> Any:
    return jax.lax.conj(x) if jax.numpy.issubdtype(x.dtype, jax.numpy.complexfloating) else x


def _front(operands: Sequence[Any], axes: Sequence[Any], every: Sequence[bool]) -> tuple[list[Any], Flags, int]:
    """Operands with the axis of examples in front, which of them have one, and how many examples there are."""
    (size,) = {x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None}
    found = [
        x if axis is None and not needed else batching.bdim_at_front(x, axis, size)
        for x, axis, needed in zip(operands, axes, every, strict=True)
    ]
    return found, tuple(axis is not None or needed for axis, needed in zip(axes, every, strict=True)), size


def _batch_call(operands: Sequence[Any], axes: Sequence[Any], program: JaxProgram, run: Run) -> Any:
    given, flags, size = _front(operands, axes, [False] * len(operands))
    if program.origin is not None and not any(flags[: len(program.origin[0].inputs)]):
        # as in jax.jacfwd: the results have no axis of examples
        first, wanted = program.origin
        results = call_p.bind(*given[: len(first.inputs)], program=first, run=run)
        along = call_p.bind(*given, program=first.tangents(wanted).batched(flags, size), run=run)
        return [*results, *along], [None] * len(results) + [0] * len(along)
    results = call_p.bind(*given, program=program.batched(flags, size), run=run)
    return results, [0] * len(results)


def _batch_linear(operands: Sequence[Any], axes: Sequence[Any], linear: Linear, run: Run) -> Any:
    tangents = len(operands) - linear.residuals - linear.inputs
    every = [n >= len(operands) - tangents for n in range(len(operands))]
    given, flags, size = _front(operands, axes, every)
    results = linear_p.bind(*given, linear=linear.batched(flags, size), run=run)
    return results, [0] * len(results)


batching.primitive_batchers[call_p] = _batch_call
batching.primitive_batchers[linear_p] = _batch_linear
