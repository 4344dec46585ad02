"""The backend of `torch.compile`: graphs of AOTAutograd, forward and backward, as compiled programs."""

# Objects of torch, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingImports=false

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
import torch

from xdsl_rlx import random
from xdsl_rlx.compiled_function import CompiledFunction
from xdsl_rlx.frontends.aten import table, walk
from xdsl_rlx.frontends.aten.decompositions import without_rows
from xdsl_rlx.frontends.hosts.torch_memory import array_of, tensor_of
from xdsl_rlx.frontends.shared.errors import FrontendError, missing_ops

assert table.ROWS

MOST_SIZES = 32
"""Programs kept of one graph whose sizes vary: those used last."""

OPTIONS = ("threads", "memory_budget", "strict")


def xdsl_rlx(graph: Any, example: Sequence[Any], *, options: Mapping[str, Any] | None = None, **others: Any) -> Any:
    """
    Compile a graph of Dynamo: the backend "xdsl_rlx" of `torch.compile`.

    `options`: `threads` and `memory_budget` as in `rlx.compile`; `strict` raises for a graph with an operator that has
    no translation, which otherwise runs in PyTorch, with one warning that lists these operators.
    """
    from torch._dynamo.backends.common import aot_autograd
    from torch._dynamo.backends.debugging import aot_eager
    from torch._functorch.partitioners import default_partition

    given = {**(options or {}), **others}
    if unknown := [name for name in given if name not in OPTIONS]:
        raise FrontendError(
            f"torch.compile: option {unknown[0]!r} is not known to the backend xdsl_rlx; expected {', '.join(OPTIONS)}"
        )
    strict = bool(given.pop("strict", False))

    def partition(joint: Any, *args: Any, **kwargs: Any) -> Any:
        _check(joint.graph)
        return default_partition(joint, *args, **kwargs)

    def compiler(module: Any, example: Sequence[Any]) -> Any:
        _check(module.graph)
        return _boxed(_Program(module, given))

    backend = aot_autograd(
        fw_compiler=compiler,
        bw_compiler=compiler,
        inference_compiler=compiler,
        decompositions=without_rows(),
        partition_fn=partition,
    )
    try:
        return backend(graph, example)
    except FrontendError as error:
        if strict or not error.missing:
            raise
        warnings.warn(str(error), RuntimeWarning, stacklevel=2)
        return aot_eager(graph, list(example))


def _check(graph: Any) -> None:
    """FrontendError for a graph with operators that have no row."""
    if found := walk.missing(graph):
        raise missing_ops(
            "torch.compile(backend='xdsl_rlx')",
            found,
            "The whole graph runs in PyTorch (aot_eager); options={'strict': True} raises this as an error.",
        )


def _boxed(program: _Program) -> Callable[[list[Any]], list[Any]]:
    """A function of a list, which it empties; of a function PyTorch keeps the attribute that says so."""

    def call(args: list[Any]) -> list[Any]:
        return program(args)

    vars(call)["_boxed_call"] = True
    return call


class _Program:
    """A graph with one compiled function for each combination of sizes; called with a list of tensors and sizes."""

    def __init__(self, module: Any, options: Mapping[str, Any]):
        self._graph = module.graph
        self._constants = {
            node.target: walk.constant(_attribute(module, node.target))
            for node in module.graph.nodes
            if node.op == "get_attr"
        }
        self._options = dict(options)
        self._functions: OrderedDict[tuple[int, ...], tuple[CompiledFunction, dict[int, Any]]] = OrderedDict()
        """For each combination of sizes the function, and the outputs that are sizes, by number."""
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self._sizes = [n for n, node in enumerate(placeholders) if not hasattr(node.meta.get("val"), "dtype")]
        self._tensors = [n for n in range(len(placeholders)) if n not in self._sizes]
        self._is_random = any(_draws(node) for node in module.graph.nodes)
        number = {node: n for n, node in enumerate(placeholders)}
        (output,) = [node for node in module.graph.nodes if node.op == "output"]
        self._outputs = list(output.args[0])
        self._passed = {n: number[one] for n, one in enumerate(self._outputs) if one in number}
        """Outputs that are arguments."""
        self._computed = [n for n, one in enumerate(self._outputs) if n not in self._passed and hasattr(one, "op")]

    def __call__(self, args: list[Any]) -> list[Any]:
        sizes = tuple(args[n] for n in self._sizes)
        arrays = [array_of(args[n]) for n in self._tensors]
        if self._is_random:
            arrays.append(_seed())
        found: list[Any] = list(self._outputs)
        for n, one in self._passed.items():
            found[n] = args[one]
        args.clear()
        if self._computed:
            function, sizes_found = self._function(sizes)
            results = iter(function(*arrays))
            for n in self._computed:
                found[n] = sizes_found[n] if n in sizes_found else tensor_of(next(results))
        return found

    def _function(self, sizes: tuple[int, ...]) -> tuple[CompiledFunction, dict[int, Any]]:
        if sizes in self._functions:
            self._functions.move_to_end(sizes)
        else:
            self._functions[sizes] = self._made(sizes)
            if len(self._functions) > MOST_SIZES:
                self._functions.popitem(last=False)
        return self._functions[sizes]

    def _made(self, sizes: Sequence[int]) -> tuple[CompiledFunction, dict[int, Any]]:
        sizes_found: dict[int, Any] = {}

        def graph(*arrays: Any) -> tuple[Any, ...]:
            values: list[Any] = [None] * (len(self._tensors) + len(self._sizes))
            for n, one in [*zip(self._tensors, arrays, strict=False), *zip(self._sizes, sizes, strict=True)]:
                values[n] = one
            key = arrays[-1] if self._is_random else None
            found = walk.run(self._graph, values, self._constants, _keys(key))
            sizes_found.update({n: found[n] for n in self._computed if isinstance(found[n], int | float)})
            return tuple(found[n] for n in self._computed if n not in sizes_found)

        return CompiledFunction(graph, **self._options), sizes_found


def _attribute(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module


def _draws(node: Any) -> bool:
    """Whether an operator draws random numbers."""
    tags = getattr(node.target, "tags", ())
    return torch.Tag.nondeterministic_seeded in tags


def _seed() -> np.ndarray[Any, Any]:
    """A key drawn from PyTorch's generator."""
    return random.key(int(torch.empty((), dtype=torch.int64).random_()))


def _keys(key: Any) -> Callable[[], Any]:
    number = count()
    return lambda: random.fold_in(key, next(number))
