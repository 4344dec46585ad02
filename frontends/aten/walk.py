"""The walk over a graph of `torch.fx`: look all operators up, then build them one by one."""

# Graphs of torch, which is not installed everywhere, and arguments of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false, reportMissingImports=false

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from typing import Any

import numpy as np

from xdsl_rlx import random
from xdsl_rlx.builder import Graph
from xdsl_rlx.dialects.arrays import read_array
from xdsl_rlx.frontends.aten import rng_states
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast, dtype_of, is_tensor, numpy_dtype
from xdsl_rlx.frontends.shared.errors import FrontendError, Missing
from xdsl_rlx.frontends.shared.rows import Status
from xdsl_rlx.tracing import builder_of

DTYPES = {
    "torch.bool": "i1",
    "torch.uint8": "u8",
    "torch.int8": "i8",
    "torch.int16": "i16",
    "torch.int32": "i32",
    "torch.int64": "i64",
    "torch.uint32": "u32",
    "torch.float16": "f16",
    "torch.bfloat16": "bf16",
    "torch.float32": "f32",
    "torch.float64": "f64",
    "torch.complex64": "c64",
    "torch.complex128": "c128",
}
"""Names of element types by the text of PyTorch's."""

_IGNORED = ("device", "layout", "pin_memory", "memory_format", "requires_grad", "non_blocking")
"""Keyword arguments that say nothing of values."""

_ON_SIZES = (operator.__name__, math.__name__, "_operator", "builtins", "torch.fx.experimental.sym_node")
"""Modules whose functions compute with sizes."""


def _name(target: Any) -> str:
    return str(target)


def _is_on_sizes(target: Any) -> bool:
    if ROWS.get(_name(target)) is not None:
        return False
    module = getattr(target, "__module__", "")
    return callable(target) and (module in _ON_SIZES or getattr(target, "__name__", "").startswith("sym_"))


def _is_dropped(node: Any) -> bool:
    """Whether a node only checks what is known when the graph is made."""
    name = _name(node.target)
    return name.startswith(("aten._assert", "aten.sym_constrain", "aten._check", "aten._linalg_check"))


def checks(node: Any) -> bool:
    """Whether a node only checks what an operator of `torch.linalg` found: it takes a token, and passes it on."""
    return _name(node.target) == "with_effects" and _name(node.args[1]).startswith("aten._linalg_check")


_BY_STRIDES = ("aten.as_strided.default", "aten.as_strided_copy.default", "aten.as_strided_scatter.default")


def _reason(node: Any) -> str | None:
    """Why an operator is not translated; None if it is."""
    for dtype in (text for one in (node, *node.all_input_nodes) for text in _texts_of_dtypes(one.meta.get("val"))):
        if dtype not in DTYPES:
            return f"the element type {dtype} is not supported"
    row = ROWS.get(_name(rng_states.target_of(node)))
    if row is None:
        return "has no translation"
    if row.status is Status.REFUSED:
        return row.reason
    if row.name in _BY_STRIDES and not _has_own_memory(node.args[0].meta.get("val")):
        return "it reads memory that is not the tensor's own; write it with views, unfold or indexing"
    return None


def _has_own_memory(val: Any) -> bool:
    """Whether a tensor is contiguous, and fills its memory: places in memory are those of elements in order."""
    if not hasattr(val, "untyped_storage"):
        return False
    size = val.untyped_storage().nbytes() // val.element_size()
    return bool(val.is_contiguous() and val.storage_offset() == 0 and size == val.numel())


def missing(graph: Any) -> list[Missing]:
    """Return the operators of a graph that have no row, with counts and first locations."""
    counts: Counter[str] = Counter()
    first: dict[str, tuple[str, str]] = {}
    for node in graph.nodes:
        if node.op != "call_function" or _is_on_sizes(node.target):
            continue
        if _is_dropped(node) or checks(node):
            continue
        name = _name(rng_states.target_of(node))
        if (reason := _reason(node)) is not None:
            counts[name] += 1
            first.setdefault(name, (location(node), reason))
    return [Missing(name, count, *first[name]) for name, count in counts.most_common()]


def unreadable(graph: Any) -> list[Missing]:
    """Return the tensors of a graph that are on other devices than the CPU, or of element types that are not known."""
    found: dict[tuple[str, str], list[Any]] = {}
    for node in graph.nodes:
        val = node.meta.get("val")
        for one in val if isinstance(val, list | tuple) else (val,):
            # the device of a fake tensor is "meta" while another thread runs an operator in its mode
            device = getattr(one, "fake_device", None) or getattr(one, "device", None)
            if device is not None and device.type != "cpu":
                cure = "programs run on the CPU; call .cpu() on the model and its inputs"
                found.setdefault((f"a tensor on device {device.type}", cure), []).append(node)
            elif (dtype := getattr(one, "dtype", None)) is not None and str(dtype) not in DTYPES:
                cure = "the element type is not supported; convert it with .to(torch.float32)"
                found.setdefault((f"a tensor of {dtype}", cure), []).append(node)
    return [Missing(what, len(nodes), location(nodes[0]), cure) for (what, cure), nodes in found.items()]


def fired(graph: Any) -> Counter[tuple[str, str]]:
    """Return how often each row of a graph is used, by operator and status."""
    names = [_name(rng_states.target_of(node)) for node in graph.nodes if node.op == "call_function"]
    rows = [ROWS.get(name) for name in names]
    return Counter((row.name, row.status.value) for row in rows if row is not None)


def location(node: Any) -> str:
    """Return the place in the model's source that a node is from: file and line, and the line's text."""
    trace = (node.meta.get("stack_trace") or "").strip().splitlines()
    frames = [number for number, line in enumerate(trace) if line.strip().startswith("File ")]
    own = [n for n in frames if "/torch/" not in trace[n]] or frames
    if not own:
        return "an unknown location"
    place = trace[own[-1]].strip().removeprefix("File ").rsplit(", in ", 1)[0].replace('"', "").replace(", line ", ":")
    text = trace[own[-1] + 1].strip() if own[-1] + 1 < len(trace) else ""
    return f"{place}, {text}" if text else place


def run(
    graph: Any,
    inputs: Sequence[Any],
    constants: Mapping[str, Any],
    key: Any,
    wanted: Sequence[Any] | None = None,
) -> list[Any]:
    """
    Build a graph whose operators all have rows; return its outputs, in order, or the values of the nodes `wanted`.

    `inputs` are the values of its placeholders, in order, and `constants` those of its attributes, by name. Random
    numbers are drawn by `key`; FrontendError if there are any and it is None.
    """
    return _Walk(graph, constants, key, wanted).run(inputs)


class _Walk:
    """One walk over a graph, with the values of its nodes."""

    def __init__(
        self,
        graph: Any,
        constants: Mapping[str, Any],
        key: Any,
        wanted: Sequence[Any] | None = None,
    ):
        self.graph = graph
        self.constants = constants
        self.key = key
        self.drawn = count()
        self.values: dict[Any, Any] = {}
        self.floating = _default_floating()
        self.wanted = wanted
        self.last = _last_uses(graph, frozenset(wanted or ()))

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Build all nodes."""
        given = iter(inputs)
        for node in self.graph.nodes:
            if node.op == "placeholder":
                self.values[node] = next(given)
            elif node.op == "get_attr":
                self.values[node] = constant(self.constants[node.target])
            elif node.op == "call_function" and checks(node):
                self.values[node] = [self._argument(node.args[0])]
            elif node.op == "call_function" and not _is_dropped(node):
                self.values[node] = self._called(node)
            elif node.op == "output":
                return [self._argument(one) for one in (node.args[0] if self.wanted is None else self.wanted)]
            for one in self.last.get(node, ()):
                self.values.pop(one, None)
        raise FrontendError("expected a graph with an output")

    def _called(self, node: Any) -> Any:
        args = [self._argument(one) for one in node.args]
        kwargs = {name: self._argument(one) for name, one in node.kwargs.items() if name not in _IGNORED}
        if _is_on_sizes(node.target):
            return _on_sizes(node.target, args, kwargs)
        row = ROWS.get(_name(rng_states.target_of(node)))
        assert row is not None and row.build is not None, f"{node.target} has no row"
        call = Call(tuple(_dtypes_of(node.meta.get("val"))), self.next_key, self.floating)
        try:
            with self._part(node):
                if rng_states.is_wrapped(node):
                    return rng_states.build(node, row, args, kwargs, self.next_key, self.floating)
                return _typed(row.build(call, *args, **kwargs), node.meta.get("val"))
        except FrontendError:
            raise
        except (ValueError, TypeError) as error:
            raise FrontendError(
                f"{row.name}, at {location(node)}: {error}",
                [Missing(row.name, 1, location(node), str(error))],
            ) from error

    def next_key(self) -> Any:
        """A new key at each call."""
        if self.key is None:
            raise FrontendError(
                "the module draws random numbers, as dropout does in training: pass key=, such as key=rlx.key(0), or "
                "export it with train=False"
            )
        return random.fold_in(self.key, next(self.drawn))

    def _part(self, node: Any) -> AbstractContextManager[None]:
        """A scope for the locations of operations: the module of the model that a node is from."""
        builder, name = builder_of(), _module_of(node)
        return builder.named(name) if name and isinstance(builder, Graph) else nullcontext()

    def _argument(self, x: Any) -> Any:
        """An argument with nodes replaced by their values, and types of torch by names."""
        if isinstance(x, list | tuple):
            return [self._argument(one) for one in x]
        if x is None or isinstance(x, bool | int | float | complex | str):
            return x
        if type(x).__name__ == "Node":
            return self.values[x]
        text = str(x)
        if text in DTYPES:
            return DTYPES[text]
        if type(x).__module__.split(".")[0] == "torch":
            # a device, layout or memory format in the place of a positional argument
            return None if not hasattr(x, "numpy") else constant(x)
        return x


def _module_of(node: Any) -> str:
    """The path of the module that a node is from, such as `layers.0.norm`; empty for the model itself."""
    stack = node.meta.get("nn_module_stack") or {}
    path = str(next(reversed(stack.values()), ("",))[0]) if stack else ""
    return path.removeprefix("L['self']").lstrip(".")


def _on_sizes(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    name = getattr(target, "__name__", "")
    if name.startswith("sym_") and hasattr(math, name.removeprefix("sym_")):
        return getattr(math, name.removeprefix("sym_"))(*args, **kwargs)
    by_name: dict[str, Callable[..., Any]] = {
        "sym_max": max,
        "sym_min": min,
        "sym_float": float,
        "sym_int": int,
        "sym_not": operator.not_,
    }
    return (by_name.get(name) or target)(*args, **kwargs)


def constant(x: Any) -> Any:
    """A tensor of torch as an array that is a constant; other attributes as they are."""
    if str(getattr(x, "dtype", "")) == "torch.bfloat16":
        return x.detach().float().numpy().astype(numpy_dtype("bf16"))
    array = read_array(x.detach() if hasattr(x, "detach") else x)
    return x if array is None else np.array(array)


def _typed(found: Any, val: Any) -> Any:
    """Results of a row with the element types that PyTorch has."""
    if isinstance(val, list | tuple) and isinstance(found, list | tuple) and len(found) == len(val):
        return [_typed(one, its) for one, its in zip(found, val, strict=True)]
    if not is_tensor(found) or not hasattr(val, "dtype"):
        return found
    (dtype,) = _dtypes_of(val)
    return found if dtype_of(found) == dtype else cast(found, dtype)


def _texts_of_dtypes(val: Any) -> Iterator[str]:
    for one in val if isinstance(val, list | tuple) else (val,):
        if hasattr(one, "dtype"):
            yield str(one.dtype)


def _dtypes_of(val: Any) -> Iterator[str]:
    return (DTYPES[text] for text in _texts_of_dtypes(val))


def _default_floating() -> str:
    import torch

    return DTYPES[str(torch.get_default_dtype())]


def _last_uses(graph: Any, wanted: Set[Any]) -> dict[Any, list[Any]]:
    """The nodes that each node is the last one to use: their values are not kept any longer, unless they are wanted."""
    last: dict[Any, Any] = {}
    for node in graph.nodes:
        for one in node.all_input_nodes:
            last[one] = node
    found: dict[Any, list[Any]] = {}
    for one, node in last.items():
        if one not in wanted:
            found.setdefault(node, []).append(one)
    return found
