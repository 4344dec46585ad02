"""A graph of AOTAutograd as a compiled program on tensors."""

# Objects of torch, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingImports=false, reportPrivateUsage=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from types import NoneType
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily

from xdsl_rlx import random
from xdsl_rlx.compiled_function import CompiledFunction
from xdsl_rlx.frontends.aten import walk
from xdsl_rlx.frontends.aten.rng_states import target_of
from xdsl_rlx.frontends.hosts.torch_memory import array_of, tensor_of
from xdsl_rlx.frontends.hosts.torch_views import order_in_memory, order_of, replayed
from xdsl_rlx.frontends.hosts.torch_windows import Windows

MOST_PROGRAMS = 32
"""Programs kept of one graph whose sizes or memory layouts vary: those used last."""

MOST_ORDERS = 1024
"""Sizes and strides of tensors that are not contiguous whose order of axes is kept."""

Key = tuple[tuple[Any, ...], tuple[tuple[int, tuple[int, ...]], ...], bool]
"""
The sizes that are arguments, the order of axes in memory of each tensor that is not contiguous, by position, and
whether arguments are overwritten.
"""


class _OfSizes:
    """The function of a graph for sizes and layouts of a call."""

    def __init__(self, function: CompiledFunction, sizes: dict[Any, Any]):
        self.sizes = sizes
        """The outputs that are sizes, by node: they are known when the function is traced, at its first call."""
        self._function = function
        self._windows: Windows | None = None

    def __call__(self, tensors: Sequence[Any]) -> Sequence[Any]:
        """Return the other outputs for contiguous tensors."""
        # PyTorch has looked at types and devices
        if self._windows is not None and self._function.direct is not None:
            return self._windows(tensors, are_dense=True)
        found = list(map(tensor_of, self._function(*map(array_of, tensors))))
        if (direct := self._function.direct) is not None:
            self._windows = Windows(direct)
        return found


class Program:
    """
    A graph with one compiled function for each combination of sizes and layouts; called with a list, which it empties.

    Contiguous tensors are read where they are, and those whose axes are in another order as well. Others are copied.
    `scratch` are the numbers of arguments that nobody reads afterwards, unless a backward pass keeps its graph.
    """

    def __init__(self, module: Any, options: Mapping[str, Any], scratch: Collection[int] = ()):
        self._graph = module.graph
        # constants are real tensors, which a mode of fake ones refuses
        with unset_fake_temporarily():
            self._constants = {
                node.target: walk.constant(_attribute(module, node.target))
                for node in module.graph.nodes
                if node.op == "get_attr"
            }
        self._options = dict(options)
        self._functions: OrderedDict[Key, _OfSizes] = OrderedDict()
        self._known_orders: dict[Any, tuple[int, ...] | None] = {}
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self._sizes = [n for n, node in enumerate(placeholders) if not _is_tensor(node)]
        self._tensors = [n for n in range(len(placeholders)) if n not in self._sizes]
        self._scratch = tuple(place for place, n in enumerate(self._tensors) if n in scratch)
        self._is_random = any(_draws(node) for node in module.graph.nodes)
        self._given = {node: n for n, node in enumerate(placeholders)}
        (output,) = [node for node in module.graph.nodes if node.op == "output"]
        self._outputs = list(output.args[0])
        self._views = replayed(self._outputs)
        roots = [self._views[n].base if n in self._views else one for n, one in enumerate(self._outputs)]
        nodes = [one for one in dict.fromkeys(roots) if hasattr(one, "op")]
        self._computed = [one for one in nodes if one not in self._given]
        """What the functions return, in the order of PyTorch's memory."""
        self._orders = [order_of(one) for one in self._computed]
        self._axes = [None if order is None else _inverse(order) for order in self._orders]
        self._position = {one: n for n, one in enumerate(nodes)}
        """The place of each argument and computed value that outputs are, or are views of."""
        self._passed = [(self._position[one], self._given[one]) for one in nodes if one in self._given]
        self._plan = [
            (n, self._position.get(root, -1), self._views.get(n)) for n, root in enumerate(roots) if hasattr(root, "op")
        ]

    def __call__(self, args: list[Any]) -> list[Any]:
        values: list[Any] = [None] * len(self._position)
        for place, one in self._passed:
            values[place] = args[one]
        if self._computed:
            self._run(args, values)
        args.clear()
        found: list[Any] = list(self._outputs)
        for n, place, view in self._plan:
            found[n] = values[place] if view is None else view.replay(values[place])
        return found

    def _run(self, args: Sequence[Any], values: list[Any]) -> None:
        """Compute what is computed, into its place among the values."""
        tensors: list[Any] = []
        layouts: list[tuple[int, tuple[int, ...]]] = []
        for n in self._tensors:
            x = args[n]
            if not x.is_contiguous():
                if (order := self._order(x)) is None:
                    x = x.contiguous()
                else:
                    x = x.permute(order)
                    layouts.append((len(tensors), order))
            tensors.append(x)
        if self._is_random:
            tensors.append(tensor_of(_seed()))
        overwrites = bool(self._scratch) and not torch._C._autograd._get_current_graph_task_keep_graph()
        function = self._function((tuple(args[n] for n in self._sizes), tuple(layouts), overwrites))
        sizes = function.sizes
        results = iter(function(tensors) if len(sizes) < len(self._computed) or not sizes else ())
        for node, axes in zip(self._computed, self._axes, strict=True):
            if node in sizes:
                values[self._position[node]] = sizes[node]
                continue
            x = next(results)
            values[self._position[node]] = x if axes is None else x.permute(axes)

    def _order(self, x: Any) -> tuple[int, ...] | None:
        """As `order_in_memory`, which is kept."""
        key = x.shape, x.stride()
        if key not in self._known_orders:
            if len(self._known_orders) > MOST_ORDERS:
                self._known_orders.clear()
            self._known_orders[key] = order_in_memory(x)
        return self._known_orders[key]

    def _function(self, key: Key) -> _OfSizes:
        if key in self._functions:
            self._functions.move_to_end(key)
        else:
            self._functions[key] = self._made(key)
            if len(self._functions) > MOST_PROGRAMS:
                self._functions.popitem(last=False)
        return self._functions[key]

    def _made(self, key: Key) -> _OfSizes:
        sizes, layouts, overwrites = key
        found_sizes: dict[Any, Any] = {}

        def graph(*arrays: Any) -> tuple[Any, ...]:
            tensors = list(arrays)
            for place, order in layouts:
                tensors[place] = np.transpose(tensors[place], _inverse(order))
            values: list[Any] = [None] * len(self._given)
            for n, one in [*zip(self._tensors, tensors, strict=False), *zip(self._sizes, sizes, strict=True)]:
                values[n] = one
            key = arrays[-1] if self._is_random else None
            found = walk.run(self._graph, values, self._constants, key, self._computed)
            known = zip(self._computed, found, strict=True)
            found_sizes.update({node: one for node, one in known if type(one) in (bool, int, float, NoneType)})
            return tuple(
                one if order is None else np.transpose(one, order)
                for node, one, order in zip(self._computed, found, self._orders, strict=True)
                if node not in found_sizes
            )

        scratch = self._scratch if overwrites else ()
        return _OfSizes(CompiledFunction(graph, scratch=scratch, **self._options), found_sizes)


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=lambda axis: order[axis]))


def _is_tensor(node: Any) -> bool:
    """Whether an argument is a tensor: others are sizes, and tokens of the order of checks, which are None."""
    return hasattr(node.meta.get("val"), "dtype") and not any(
        walk.checks(user) and user.args[0] is node for user in node.users if user.op == "call_function"
    )


def _attribute(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module


def _draws(node: Any) -> bool:
    """Whether an operator draws random numbers: attention does not where it drops nothing."""
    target = target_of(node)
    if torch.Tag.nondeterministic_seeded not in getattr(target, "tags", ()):
        return False
    if target is not node.target:
        return True
    names = [one.name for one in target._schema.arguments]
    given = dict(zip(names, node.args, strict=False)) | dict(node.kwargs)
    return "dropout_p" not in names or given.get("dropout_p", 0.0) != 0.0


def _seed() -> np.ndarray[Any, Any]:
    """A key drawn from PyTorch's generator."""
    return random.key(int(torch.empty((), dtype=torch.int64).random_()))
