"""A function and its gradients, compiled to train: one program for a step, or two that share weights and residuals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np

from xdsl_rlx.builder import AnyGraph, GraphModule
from xdsl_rlx.compiling import compile, fitted, fusion_report, memory_report
from xdsl_rlx.derivatives import grad_with_loss
from xdsl_rlx.dialects.calls import checked
from xdsl_rlx.dialects.mir.mir_builder import Value
from xdsl_rlx.lowering.backend.driver.dtypes import dtype_of
from xdsl_rlx.lowering.backend.runtime.build_program import spec_of
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph, named_results
from xdsl_rlx.lowering.backend.runtime.weights import Weights
from xdsl_rlx.lowering.reports.fusion_report import FusionReport
from xdsl_rlx.lowering.reports.memory_report import MemoryReport
from xdsl_rlx.lowering.run_errors import ArgumentTypeError
from xdsl_rlx.passes import above_lir, derived
from xdsl_rlx.transforms.mir_grad import SEED
from xdsl_rlx.transforms.mir_partition import MirPartitionPass, Part

if TYPE_CHECKING:
    from xdsl_rlx.lowering.backend.runtime.compiled_graph import Results


@dataclass(frozen=True)
class TrainingMemory:
    """The memory use of training, in bytes."""

    weights: int
    residuals: int
    """Values that `forward` saves for `backward`; `step` has them in its arena."""
    step: MemoryReport
    forward: MemoryReport
    backward: MemoryReport

    def __str__(self) -> str:
        head = f"weights {self.weights:,} bytes, residuals of forward for backward {self.residuals:,} bytes"
        return "\n\n".join([head, *map(str, (self.step, self.forward, self.backward))])


@dataclass(frozen=True)
class TrainingGraphs:
    """The gradient graph, and its forward and backward halves."""

    step: GraphModule
    forward: GraphModule
    backward: GraphModule


class Forward:
    """The forward pass; it saves the residuals for `backward`."""

    def __init__(self, compiled: CompiledGraph, residuals: int):
        self.compiled = compiled
        self._count = len(compiled.outputs) - residuals
        self._named = named_results(compiled.name, compiled.outputs[: self._count])
        self._params = set(compiled.params)
        self.residuals = tuple(np.empty(spec.shape, dtype_of(spec.dtype)) for spec in compiled.outputs[self._count :])
        """What is kept, in the order of the inputs of `backward.compiled`; each call writes to the same arrays."""
        self.has_run = False

    def __call__(self, /, *args: object, **kwargs: object) -> Results:
        """Return the outputs of the graph, for its inputs by position or name; params are read from `weights`."""
        self._check(args, kwargs)
        # a run that does not come to its end leaves residuals of two calls
        self.has_run = False
        results = self.compiled(*args, **kwargs, out=((None,) * self._count + self.residuals))
        self.has_run = True
        found: Any = results[: self._count]
        return found if self._named is None else self._named(found)

    def _check(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
        if "out" in kwargs:
            raise ArgumentTypeError("forward takes no out=; an input of that name is given by position")
        by_position = [spec.name for spec in self.compiled.program.arguments[: len(args)]]
        for name in (*by_position, *kwargs):
            if name in self._params:
                raise ArgumentTypeError(f"forward takes no {name!r}, which backward reads too; set weights[{name!r}]")


class Backward:
    """The backward pass of the last call of `forward`."""

    def __init__(self, compiled: CompiledGraph, forward: Forward):
        self.compiled = compiled
        self._forward = forward
        optional = compiled.program.optional
        # not by the names that they were to have: arguments of the graph may have had them
        names = [spec.name for spec in compiled.inputs if spec.name not in optional]
        self._given = dict(zip(names, forward.residuals, strict=True))
        self._seed = optional[-1] if optional else SEED

    def __call__(self, d_output: object = None) -> Results:
        """
        Return the gradients, in the order of `wrt`; `d_output` is the cotangent of the first output, ones by default.
        """
        if not self._forward.has_run:
            raise ArgumentTypeError("backward needs the residuals of forward: call forward(..) before it")
        seed = {} if d_output is None else {self._seed: d_output}
        return self.compiled(**self._given, **seed)


class TrainingProgram:
    """
    A loss and its gradients, compiled; made by `compile_training`.

    `step(..)` is one program that returns the outputs, then the gradients, for inputs by position or name.
    `forward(..)` returns the outputs alone and keeps the residuals for `backward(d_output)`, so that the forward pass
    does not run twice. The weights must not change in between. All three share `weights`. Each is compiled on first
    use.
    """

    def __init__(
        self,
        graphs: TrainingGraphs,
        weights: Weights,
        threads: SupportsIndex | None,
        backend: Literal["llvm", "numba"],
    ):
        self.graphs = graphs
        self.weights = weights
        self._threads = threads
        self._backend: Literal["llvm", "numba"] = backend

    def _compiled(self, graph: GraphModule) -> CompiledGraph:
        return compile(graph, self._threads, self._backend, weights=self.weights)

    @cached_property
    def step(self) -> CompiledGraph:
        """The program that returns outputs and gradients in one call."""
        return self._compiled(self.graphs.step)

    @cached_property
    def forward(self) -> Forward:
        """The program that returns the outputs."""
        step, forward = self.graphs.step.signature, self.graphs.forward.signature
        residuals = len(forward.outputs) - len(step.outputs) + len(step.gradients)
        return Forward(self._compiled(self.graphs.forward), residuals)

    @cached_property
    def backward(self) -> Backward:
        """The program that returns the gradients of the last `forward`."""
        return Backward(self._compiled(self.graphs.backward), self.forward)

    @cached_property
    def fusion_report(self) -> FusionReport:
        """The fusion report of `step`; see `rlx.fusion_report`."""
        return fusion_report(self.graphs.step)

    @cached_property
    def memory(self) -> TrainingMemory:
        """The memory use of the three programs; `str` of it is a table."""
        step, forward, backward = (
            memory_report(graph, self._threads)
            for graph in (self.graphs.step, self.graphs.forward, self.graphs.backward)
        )
        residuals = sum(array.nbytes for array in self.forward.residuals)
        return TrainingMemory(step.params, residuals, step, forward, backward)


@checked
def compile_training(
    graph: AnyGraph,
    wrt: Sequence[str | Value] | str | Value = (),
    zero_missing_wrt: bool = False,
    threads: SupportsIndex | None = None,
    backend: Literal["llvm", "numba"] = "llvm",
    memory_budget: SupportsIndex | None = None,
) -> TrainingProgram:
    """
    Compile the outputs of a graph and the gradients of the first output, as programs that share their weights.

    `wrt` and `zero_missing_wrt` are as in `grad_with_loss`, `threads` and `backend` as in `compile`. `step` is one
    program for both passes; `forward` and `backward` are two. Between these, values are saved that are cheaper to save
    than to recompute. `memory_budget` limits the arena of `step`, in bytes. Raises the GraphErrors of `grad_with_loss`
    and `compile`.
    """
    above_lir(graph, "compile_training")
    joint = grad_with_loss(graph, wrt, zero_missing_wrt)
    halves = [derived(joint, [MirPartitionPass(part)]) for part in Part]
    step = joint if memory_budget is None else fitted(joint, memory_budget, threads)
    weights = Weights()
    params = [argument for argument in joint.signature.arguments if argument.kind == "param"]
    weights.declare([spec_of(param.name, param.value) for param in params])
    return TrainingProgram(TrainingGraphs(step, *halves), weights, threads, backend)
