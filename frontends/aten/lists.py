"""Decompositions of operators on lists of tensors, which optimisers and the clipping of gradients use."""

# Objects of torch, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false, reportPrivateUsage=false

from __future__ import annotations

from typing import Any

_FOREACH = "aten::_foreach_"

_UNLIKE = {"norm": "linalg_vector_norm", "zero": "zeros_like"}
"""Operators on lists whose operator on one tensor has another name."""

_VALUE_LAST = ("addcdiv", "addcmul")
"""Operators on lists whose last argument is a keyword of the operator on one tensor."""


def on_lists() -> dict[Any, Any]:
    """Return, for each operator on lists of tensors, the function that calls the operator on each tensor."""
    import torch

    found: dict[Any, Any] = {}
    for full in torch._C._dispatch_get_all_op_names():
        name, _, overload = full.removeprefix(_FOREACH).partition(".")
        if not full.startswith(_FOREACH) or name.endswith("_") or overload.endswith("out"):
            continue
        each = getattr(torch.ops.aten, str(_UNLIKE.get(name, name)), None)
        if each is not None and not (name in _VALUE_LAST and overload == "Tensor"):
            packet = getattr(torch.ops.aten, f"_foreach_{name}")
            found[getattr(packet, overload or "default")] = _OnLists(each, name in _VALUE_LAST)
    return found


class _OnLists:
    """An operator for each tensor of a list; other lists among the arguments are as long."""

    def __init__(self, each: Any, value_last: bool):
        self._each, self._value_last = each, value_last

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        if self._value_last and len(args) == 4:
            args, kwargs = args[:3], {"value": args[3]}
        lists = [x for x in (*args, *kwargs.values()) if isinstance(x, list | tuple)]

        def at(n: int, x: Any) -> Any:
            return x[n] if isinstance(x, list | tuple) else x

        return [
            self._each(*(at(n, x) for x in args), **{name: at(n, x) for name, x in kwargs.items()})
            for n in range(len(lists[0]))
        ]
