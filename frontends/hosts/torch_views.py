"""Outputs of a graph that are other views of what it reads or computes: PyTorch makes these without a copy."""

# Objects of torch, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingImports=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

VIEWS = frozenset(
    f"aten.{name}"
    for name in (
        "alias.default",
        "detach.default",
        "permute.default",
        "squeeze.dim",
        "squeeze.dims",
        "t.default",
        "transpose.int",
        "unsqueeze.default",
        "view.default",
    )
)
"""Operators whose results are the elements of their operand, all of them, in the same memory."""


@dataclass(frozen=True)
class View:
    """A value as views of another one: the calls that lead from it, first one first."""

    base: Any
    calls: tuple[tuple[Any, tuple[Any, ...], Mapping[str, Any]], ...]

    @staticmethod
    def of(node: Any) -> View:
        """The value that a node is a view of, through operators whose other arguments are numbers."""
        calls: list[tuple[Any, tuple[Any, ...], Mapping[str, Any]]] = []
        while _is_view(node):
            base, *rest = node.args
            calls.append((node.target, tuple(rest), node.kwargs))
            node = base
        return View(node, tuple(reversed(calls)))

    def replay(self, base: Any) -> Any:
        """The view of this tensor."""
        for target, args, kwargs in self.calls:
            # the memory may be in another order than PyTorch's own, in which a view is possible
            base = base.reshape(*args) if str(target) == "aten.view.default" else target(base, *args, **kwargs)
        return base


def _is_view(node: Any) -> bool:
    return (
        node.op == "call_function"
        and str(node.target) in VIEWS
        and not any(hasattr(one, "op") for one in _flat(node.args[1:]))
    )


def _flat(args: Sequence[Any]) -> list[Any]:
    return [leaf for one in args for leaf in (_flat(one) if isinstance(one, list | tuple) else [one])]


def replayed(outputs: Sequence[Any]) -> dict[int, View]:
    """
    Return the outputs that are made as views, by number.

    These are views of an argument, of a value that is an output too, and those whose elements are in another order than
    in memory, which would be copied into it.
    """
    found = {n: View.of(node) for n, node in enumerate(outputs) if hasattr(node, "op") and _is_view(node)}
    direct = {node for n, node in enumerate(outputs) if n not in found}
    roots = [view.base for view in found.values()]
    return {
        n: view
        for n, view in found.items()
        if view.base.op == "placeholder"
        or view.base in direct
        or roots.count(view.base) > 1
        or not _is_contiguous(outputs[n])
    }


def _is_contiguous(node: Any) -> bool:
    return bool(node.meta["val"].is_contiguous())


def order_in_memory(x: Any) -> tuple[int, ...] | None:
    """Return the axes of a tensor in the order of its memory; None if there are gaps or overlaps between elements."""
    strides, shape = x.stride(), x.shape
    order = tuple(sorted(range(len(shape)), key=lambda axis: (-strides[axis], -shape[axis])))
    # not by an operator: several threads may ask of one fake tensor
    step = 1
    for axis in reversed(order):
        if shape[axis] != 1 and strides[axis] != step:
            return None if 0 not in shape else order
        step *= shape[axis]
    return order


def order_of(node: Any) -> tuple[int, ...] | None:
    """Return the axes of a node's value in the order of PyTorch's memory, if that is not theirs and is known."""
    val = node.meta.get("val")
    if not hasattr(val, "stride") or not all(isinstance(n, int) for n in (*val.stride(), *val.shape)):
        return None
    order = order_in_memory(val)
    return None if order is None or order == tuple(range(val.dim())) else order
