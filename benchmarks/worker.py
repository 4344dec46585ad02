"""One framework at one thread count on one workload, driven line by line over its standard streams by run.py.

A process of its own keeps thread settings, compile caches and peak memory honest. Commands and answers are JSON lines.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from transformer_workloads import LARGE
from workload import BETA1, BETA2, CLIP, DECAY, EPSILON, RATE, Step, Workload
from workloads import WORKLOADS

Arrays = list[np.ndarray]


class Runner(Protocol):
    """A prepared framework: `step` computes what the workload says and returns when it is there."""

    def step(self) -> Any: ...
    def arrays(self, outputs: Any) -> Arrays: ...
    def facts(self) -> dict[str, float]: ...


class Jax:
    """XLA's CPU client takes its pool size from the processors this process may use."""

    def __init__(self, work: Workload, threads: int) -> None:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
        from ops import JaxOps

        self.jax, self.ops, self.work = jax, JaxOps(), work
        self.values = {name: jax.device_put(array) for name, array in work.data().items()}

    def prepare(self) -> None:
        rest = {name: value for name, value in self.values.items() if name not in self.work.wrt}
        self.arguments = ({name: self.values[name] for name in self.work.wrt}, rest)
        if self.work.step is Step.TRAIN:
            self.prepare_training()
        else:
            self.run = self.jax.jit(self.computed)

    def computed(self, parameters: dict[str, Any], others: dict[str, Any]) -> list[Any]:
        jax, work = self.jax, self.work

        def loss(by: dict[str, Any]) -> Any:
            return work.loss(self.ops, {**by, **others})

        def gradient(by: dict[str, Any]) -> list[Any]:
            value, gradients = jax.value_and_grad(loss)(by)
            return [value, *(gradients[name] for name in work.wrt)]

        match work.step:
            case Step.GRADIENT:
                return gradient(parameters)
            case Step.VALUE:
                return loss(parameters)
            case Step.HVP:
                along = {name: others[f"tangent_{name}"] for name in work.wrt}
                values, tangents = jax.jvp(gradient, (parameters,), (along,))
                return [*values, *tangents[1:]]
            case Step.JACFWD:
                jacobians = jax.jacfwd(loss)(parameters)
                return [jacobians[name] for name in work.wrt]
            case Step.TRAIN:
                raise AssertionError("trained_by_optax")

    def prepare_training(self) -> None:
        """One function of parameters and optimiser, which gives both up."""
        import optax

        jax, work = self.jax, self.work
        adamw = optax.adamw(RATE, BETA1, BETA2, EPSILON, weight_decay=DECAY)
        optimiser = optax.chain(optax.clip_by_global_norm(CLIP), adamw)

        def train(parameters: Any, state: Any, others: Any) -> Any:
            loss, gradients = jax.value_and_grad(lambda by: work.loss(self.ops, {**by, **others}))(parameters)
            updates, state = optimiser.update(gradients, state, parameters)
            return loss, optax.apply_updates(parameters, updates), state

        parameters, rest = self.arguments
        self.run = jax.jit(train, donate_argnums=(0, 1))
        self.state = parameters, optimiser.init(parameters)
        self.arguments = (*self.state, rest)

    def step(self) -> Any:
        if self.work.step is Step.TRAIN:
            loss, *self.state = self.run(*self.state, self.arguments[-1])
            return [self.jax.block_until_ready(loss)]
        return self.jax.block_until_ready(self.run(*self.arguments))

    def arrays(self, outputs: Any) -> Arrays:
        return [np.asarray(output) for output in outputs]

    def facts(self) -> dict[str, float]:
        # a training step has given its first arguments up
        shapes = self.jax.eval_shape(lambda *x: x, *self.arguments[:-1]), self.arguments[-1]
        training = self.work.step is Step.TRAIN
        arguments = (*shapes[0], shapes[1]) if training else self.arguments
        memory = self.run.lower(*arguments).compile().memory_analysis()
        return {"arena": memory.temp_size_in_bytes}


class Torch:
    """Eager PyTorch."""

    def __init__(self, work: Workload, threads: int) -> None:
        os.environ["OMP_NUM_THREADS"] = str(threads)
        import torch
        from ops import TorchOps

        torch.set_num_threads(threads)
        self.torch, self.ops, self.work = torch, TorchOps(), work
        self.values = {name: torch.from_numpy(array) for name, array in work.data().items()}
        if "labels" in self.values:
            self.values["labels"] = self.values["labels"].long()
        differentiated = work.step != Step.VALUE
        self.wrt = [self.values[name].requires_grad_(differentiated) for name in work.wrt]

    def prepare(self) -> None:
        self.loss: Callable[[], Any] = lambda: self.work.loss(self.ops, self.values)
        if self.work.step is Step.TRAIN:
            adamw = self.torch.optim.AdamW
            self.optimiser = adamw(self.wrt, RATE, (BETA1, BETA2), EPSILON, weight_decay=DECAY, fused=True)

    def step(self) -> Any:
        torch, work = self.torch, self.work
        match work.step:
            case Step.GRADIENT:
                loss = self.loss()
                return loss, *torch.autograd.grad(loss, self.wrt)
            case Step.VALUE:
                return self.loss()
            case Step.HVP:
                loss = self.loss()
                gradients = torch.autograd.grad(loss, self.wrt, create_graph=True)
                along = [self.values[f"tangent_{name}"] for name in work.wrt]
                return loss, *gradients, *torch.autograd.grad(gradients, self.wrt, along)
            case Step.JACFWD:
                return self.jacobians(*self.wrt)
            case Step.TRAIN:
                self.optimiser.zero_grad()
                loss = self.loss()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.wrt, CLIP)
                self.optimiser.step()
                return [loss]

    def jacobians(self, *by: Any) -> Any:
        """By functions of the parameters, as `torch.func` differentiates."""
        names = self.work.wrt

        def results(*given: Any) -> Any:
            return self.work.loss(self.ops, {**self.values, **dict(zip(names, given, strict=True))})

        return self.torch.func.jacfwd(results, tuple(range(len(names))))(*by)

    def arrays(self, outputs: Any) -> Arrays:
        return [output.detach().numpy() for output in outputs]

    def facts(self) -> dict[str, float]:
        return {}


class TorchCompile(Torch):
    """`torch.compile` of the loss, which compiles its backward pass too."""

    def prepare(self) -> None:
        super().prepare()
        compiled = self.torch.compile(lambda values: self.work.loss(self.ops, values), dynamic=False, fullgraph=True)
        self.loss = lambda: compiled(self.values)
        if self.work.step == Step.JACFWD:
            self.jacobians = self.torch.compile(self.jacobians, dynamic=False)


class Rlx:
    """This project: parameters are set once and persist, the other inputs are passed at each call."""

    backend = "llvm"

    def __init__(self, work: Workload, threads: int) -> None:
        os.environ["XDSL_RLX_NUM_THREADS"] = str(threads)
        import numba  # noqa: F401  # pyright: ignore[reportUnusedImport]
        import scipy.linalg.cython_blas  # noqa: F401  # pyright: ignore[reportUnusedImport]

        import xdsl_rlx as rlx

        # The package imports its parts on first use; what is timed later is their work, not their import.
        for part in (
            "derivatives",
            "lowering.pipelines",
            "lowering.backend.runtime.compile_module",
            "lowering.backend.llvm.llvm_module",
        ):
            import_module(f"xdsl_rlx.{part}")

        self.rlx, self.work = rlx, work
        self.values = work.data()

    def prepare(self) -> None:
        from ops import RlxOps

        graph = self.rlx.Graph("step")
        values: dict[str, Any] = {}
        for name, array in self.values.items():
            if name.startswith("tangent_"):
                continue  # an input that `hvp` adds
            declare = graph.param if name in self.work.wrt else graph.input
            values[name] = declare(name, array.shape, dtype=array.dtype)
        results = self.work.loss(RlxOps(graph), values)
        graph.set_outputs(results)
        self.compiled = self.rlx.compile(self.derived(graph), backend=self.backend)
        for name in [name for name in self.compiled.params if name not in self.work.wrt]:
            self.compiled.set_param(name, np.zeros_like(self.values[name[2:]]))
        for name in self.work.wrt:
            # from here on they are the program's
            self.compiled.set_param(name, self.values.pop(name))
        self.steps = 0
        self.inputs = {name: array for name, array in self.values.items() if name not in self.work.wrt}

    def derived(self, graph: Any) -> Any:
        """What a step runs."""
        wrt = list(self.work.wrt)
        match self.work.step:
            case Step.GRADIENT:
                return self.rlx.grad_with_loss(graph, wrt)
            case Step.VALUE:
                return graph
            case Step.HVP:
                n = len(wrt) + 1
                return self.rlx.select_outputs(self.rlx.hvp(graph, wrt), [*range(n), *range(n + 1, 2 * n)])
            case Step.JACFWD:
                return self.rlx.jacfwd(graph, wrt)
            case Step.TRAIN:
                return self.training(graph)

    def training(self, loss: Any) -> Any:
        """AdamW behind the gradient, over the weights and moments that it replaces."""
        g = self.rlx.Graph("train")
        step = g.input("step", ())
        weights = {name: g.param(name, self.values[name].shape) for name in self.work.wrt}
        value, *gradients = g.inline(self.rlx.grad_with_loss(loss, list(self.work.wrt)), d_output=1.0)
        square = g.full((), 0.0)
        for gradient in gradients:
            square = square + g.reduce_sum(gradient * gradient)
        shorter = g.min(CLIP * g.safe_rsqrt(square), 1.0)
        parts = [1.0 - g.exp(step * float(np.log(beta))) for beta in (BETA1, BETA2)]
        new: dict[str, Any] = {}
        for (name, w), gradient in zip(weights.items(), gradients, strict=True):
            first, second = (g.param(f"{kind}_{name}", w.shape) for kind in "mv")
            gradient = shorter * gradient
            first = BETA1 * first + (1 - BETA1) * gradient
            second = BETA2 * second + (1 - BETA2) * gradient * gradient
            move = (first / parts[0]) / (g.sqrt(second / parts[1]) + EPSILON)
            new |= {name: w - RATE * (move + DECAY * w), f"m_{name}": first, f"v_{name}": second}
        g.set_outputs(value, donate=new)
        return g

    def step(self) -> Any:
        if self.work.step is Step.TRAIN:
            self.steps += 1
            return self.compiled(**self.inputs, step=float(self.steps))
        return self.compiled(**self.inputs)

    def arrays(self, outputs: Any) -> Arrays:
        return [np.asarray(output) for output in outputs]

    def facts(self) -> dict[str, float]:
        program = self.compiled.program
        return {"arena": program.arena_bytes, "launches": len(program.launches)}


class RlxNumba(Rlx):
    """The same with kernels compiled by Numba from the printed module."""

    backend = "numba"


RUNNERS = {"jax": Jax, "torch": Torch, "torch.compile": TorchCompile, "ours": Rlx, "ours-numba": RlxNumba}


def _peak_mb() -> float:
    """The peak of this program in MB; `ru_maxrss` is at least the parent's, because it survives exec."""
    (peak,) = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
    return int(peak) / 1024


def _measure(step: Callable[[], Any], seconds: float) -> dict[str, float]:
    """
    The least and the middle time of single steps, after a few that put this process back to work.

    Five steps at least, but of those that take longer than all of this should, one.
    """
    clock, times = time.perf_counter, list[float]()
    begin = clock()
    for _ in range(3):
        step()
        if clock() - begin > seconds:
            break
    begin = clock()
    while not times or clock() < begin + seconds or (len(times) < 5 and clock() < begin + 5 * seconds):
        start = clock()
        step()
        times.append(clock() - start)
    return {"min": min(times), "median": statistics.median(times), "steps": len(times)}


def main(kind: str, threads: int, workload: str) -> None:
    """Serve commands until the input ends."""
    # Whatever a framework prints must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def answer(values: object) -> None:
        answers.write(json.dumps(values) + "\n")

    work = (WORKLOADS | LARGE)[workload]
    start = time.perf_counter()
    runner = RUNNERS[kind](work, threads)
    imports, baseline = time.perf_counter() - start, _peak_mb()
    start = time.perf_counter()
    runner.prepare()
    prepared = time.perf_counter()
    outputs = runner.step()
    ready = time.perf_counter()
    answer({"imports": imports, "ready": ready - start, "first": ready - prepared})
    for line in sys.stdin:
        command = json.loads(line)
        match command["do"]:
            case "measure":
                answer(_measure(runner.step, command["seconds"]))
            case "save":
                np.savez(command["path"], *runner.arrays(outputs))
                answer({})
            case "facts":
                answer({"peak_mb": _peak_mb(), "own_mb": _peak_mb() - baseline, **runner.facts()})
            case other:
                raise ValueError(f"unknown command {other}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
