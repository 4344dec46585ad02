"""A function of trees for one signature as two programs: results with residuals, and gradients from these."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import BlockArgument

from xdsl_rlx.binding import parameters_of
from xdsl_rlx.builder import GraphModule
from xdsl_rlx.compiling import compile
from xdsl_rlx.dialects.constants import NAMED
from xdsl_rlx.dialects.shapes import COMPLEXES, FLOATS, element_of, shape_of
from xdsl_rlx.linearization import ShapeDtypeStruct
from xdsl_rlx.lowering.backend.runtime.build_program import spec_of
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph
from xdsl_rlx.lowering.backend.runtime.weights import Weights
from xdsl_rlx.lowering.pipelines import SIMPLIFY
from xdsl_rlx.passes import run_passes
from xdsl_rlx.static_keys import is_static_leaf
from xdsl_rlx.tracing import Traced, name_of, traced
from xdsl_rlx.transforms.mir_partition import RESIDUAL, MirPartitionPass, Part
from xdsl_rlx.transforms.signature import OPTIONAL, argument_attributes, graph_of
from xdsl_rlx.tree import Tree, flatten, unflatten
from xdsl_rlx.tree_functions import vjp

INPUT, OUTPUT, SAVED = range(3)
"""Sources of a residual: an input of the forward program, a result of the function, or another value."""


@dataclass(frozen=True)
class Halves:
    """The graphs of both programs."""

    forward: GraphModule
    """Inputs to results, then the residuals that are neither inputs nor results."""
    backward: GraphModule
    residuals: tuple[tuple[int, int], ...]
    """For each residual its source, and the number of it there; values of `SAVED` are numbered among all outputs."""
    order: tuple[tuple[bool, int], ...]
    """For each argument of the backward program whether it is a cotangent, and the number among these or residuals."""
    held: Mapping[str, np.ndarray[Any, Any]]
    """Large arrays that the function captures, by the names of their params."""


class SplitFunction:
    """
    A function of trees, for one signature and one choice of leaves to differentiate by.

    `leaves` are those of `(args, kwargs)`, with a `ShapeDtypeStruct` for each array. Graphs and machine code are made
    when they are first needed.
    """

    def __init__(
        self,
        function: Callable[..., Tree],
        leaves: Sequence[Any],
        spec: Any,
        wanted: Sequence[int],
        options: Mapping[str, Any],
    ):
        self._function = function
        self._leaves = list(leaves)
        self._spec = spec
        self._options = options
        self.weights = Weights()
        """The values of large captured arrays, which both programs read."""
        self.on_tensors: Any = None
        """Both programs as functions of tensors, for a host that has made these."""
        args, kwargs = unflatten(spec, self._leaves)
        parameters = parameters_of(function)
        values = parameters.bind(args, kwargs)
        self.made: Traced = traced(parameters, values, name_of(function), hold=True, modes=())
        outputs = self.made.graph.interface.outputs
        self.count = len(outputs)
        self.types = [(shape_of(one), NAMED[element_of(one)]) for one in outputs]
        """Shape and element type of each result that is an array."""
        self.floats = [n for n, one in enumerate(outputs) if element_of(one) in (*FLOATS, *COMPLEXES)]
        """The results that have cotangents."""
        self.wanted = list(wanted) if self.floats else []
        self.operands = [n for n, leaf in enumerate(self._leaves) if not is_static_leaf(leaf)]
        """The leaves that are inputs of the forward program, in order."""

    @cached_property
    def halves(self) -> Halves:
        """The graphs, where there is something to differentiate by."""
        made, names, seeds = self._joint()
        shared = run_passes(made.graph, SIMPLIFY)
        module = shared.module.clone()
        signature = graph_of(module, "to_torch")
        given = {one.name: one.value for one in signature.arguments}
        cotangents: dict[str, int] = {}
        for place, (number, name) in enumerate(zip(self.floats, seeds, strict=True)):
            # the optional arguments are those of the backward program alone
            value = signature.add_cotangent(f"cotangent_{place}", number, optional=True)
            given[name].replace_all_uses_with(value)
            cotangents[signature.arguments[-1].name] = place
        signature.drop_unused(seeds)
        signature.mark_gradients(self.count, names)
        joint = GraphModule(module, "mir")
        forward, backward = (run_passes(joint, [MirPartitionPass(part)]) for part in Part)
        kept, sources = self._without_repeated(forward)
        backward = _all_required(backward)
        order: list[tuple[bool, int]] = []
        place = 0
        # params are last among the arguments of a program, and have their values
        for one in backward.signature.arguments:
            if one.name in cotangents:
                order.append((True, cotangents[one.name]))
            elif one.kind == "input":
                order.append((False, place))
                place += 1
        if place != len(sources):
            raise AssertionError(f"{place} of {len(sources)} {RESIDUAL}s are read")
        return Halves(kept, backward, tuple(sources), tuple(order), made.held)

    def _joint(self) -> tuple[Traced, list[str], list[str]]:
        """
        The function that returns results and gradients.

        With the names of the inputs to differentiate by, and those of the cotangents.
        """
        function, wanted, spec, made = self._function, self.wanted, self._spec, self.made

        def joint(inputs: Sequence[Any], cotangents: Sequence[Any]) -> Tree:
            def of_wanted(*given: Any) -> Tree:
                leaves = list(inputs)
                for n, x in zip(wanted, given, strict=True):
                    leaves[n] = x
                args, kwargs = unflatten(spec, leaves)
                return function(*args, **kwargs)

            every: list[Any] = [np.broadcast_to(np.zeros((), dtype), shape) for shape, dtype in self.types]
            for n, x in zip(self.floats, cotangents, strict=True):
                every[n] = x
            results, gradients = vjp(of_wanted)(tuple(inputs[n] for n in wanted), made.unflatten(every))
            outputs = [x for n, x in enumerate(flatten(results)[0]) if n not in made.fixed]
            return [*outputs, *gradients]

        weights = [ShapeDtypeStruct(*self.types[n]) for n in self.floats]
        parameters = parameters_of(joint)
        values = parameters.bind((self._leaves, weights), {})
        found = traced(parameters, values, name_of(function), hold=True, modes=())
        inputs, seeds = (one.inputs for one in found.arguments)
        return found, [str(inputs[n]) for n in wanted], [str(name) for name in seeds]

    def _without_repeated(self, forward: GraphModule) -> tuple[GraphModule, list[tuple[int, int]]]:
        """The forward graph without the residuals that are inputs or results, and the sources of all."""
        module = forward.module.clone()
        signature = graph_of(module, "to_torch")
        outputs = signature.outputs
        results, kept = list(outputs[: self.count]), list(outputs[: self.count])
        sources: list[tuple[int, int]] = []
        for value in outputs[self.count :]:
            if isinstance(value, BlockArgument):
                sources.append((INPUT, value.index))
            elif value in results:
                sources.append((OUTPUT, results.index(value)))
            else:
                sources.append((SAVED, len(kept)))
                kept.append(value)
        signature.set_outputs(kept)
        return GraphModule(module, "mir"), sources

    @cached_property
    def saved_types(self) -> list[tuple[tuple[int, ...], Any]]:
        """Shape and element type of each output of `forward` that is no result."""
        outputs = self.halves.forward.interface.outputs[self.count :] if self.wanted else []
        return [(shape_of(one), NAMED[element_of(one)]) for one in outputs]

    @cached_property
    def forward(self) -> CompiledGraph:
        """The program of the results and, if there are gradients, the residuals."""
        if self.wanted:
            return self._compiled(self.halves.forward, self.halves.held)
        return self._compiled(self.made.graph, self.made.held)

    @cached_property
    def backward(self) -> CompiledGraph:
        """The program of the gradients."""
        return self._compiled(self.halves.backward, self.halves.held)

    def _compiled(self, graph: GraphModule, held: Mapping[str, np.ndarray[Any, Any]]) -> CompiledGraph:
        params = [one for one in graph.signature.arguments if one.kind == "param"]
        self.weights.declare([spec_of(one.name, one.value) for one in params])
        compiled = compile(graph, weights=self.weights, **self._options)
        for name in compiled.params:
            compiled.set_param(name, held[name])
        return compiled

    def forward_operands(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The operands of `forward` among leaves, with arrays for tensors; GraphError if an integer is too large."""
        found = arrays if len(self.operands) == len(arrays) else [arrays[n] for n in self.operands]
        for fit in self.made.fits:
            fit.check(found)
        return found

    def backward_operands(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """The operands of `backward`."""
        return [cotangents[n] if is_given else residuals[n] for is_given, n in self.halves.order]

    @cached_property
    def zeros(self) -> list[np.ndarray[Any, Any]]:
        """Cotangents of results that nothing was computed from."""
        return [np.zeros(*self.types[n]) for n in self.floats]


def _all_required(graph: GraphModule) -> GraphModule:
    """The graph without optional arguments, which a program has behind its params."""
    module = graph.module.clone()
    func = graph_of(module, "to_torch").func
    entries = [{name: x for name, x in entry.items() if name != OPTIONAL} for entry in argument_attributes(func)]
    func.arg_attrs = ArrayAttr(map(DictionaryAttr, entries))
    return GraphModule(module, "mir")
