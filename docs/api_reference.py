"""docs/api.md: what the Python API offers, with signatures and docstrings. `generate.py` writes it."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, cached_property
from importlib import import_module
from operator import attrgetter
from typing import Any, get_overloads

import numpy as np

import xdsl_rlx as rlx
from xdsl_rlx.api import FORMS
from xdsl_rlx.builder import Interface
from xdsl_rlx.custom_derivatives import CustomJvp, CustomVjp
from xdsl_rlx.dialects.constants import DTypeName
from xdsl_rlx.dialects.errors import GraphAttributeError, GraphIndexError, GraphTypeError
from xdsl_rlx.dialects.mir.index_updates import Update
from xdsl_rlx.frontends.jaxpr.report import Report
from xdsl_rlx.frontends.numpy.elements import SPELLED_OUT, UFUNCS
from xdsl_rlx.frontends.numpy.functions import FUNCTIONS
from xdsl_rlx.frontends.shared.errors import Missing
from xdsl_rlx.function_types import HvpFunction, JvpFunction, VjpFunction
from xdsl_rlx.graph_methods.graph_builder import GraphBuilder
from xdsl_rlx.lowering import run_errors
from xdsl_rlx.lowering.backend.driver.manifest import TensorSpec
from xdsl_rlx.lowering.backend.runtime.profile import Chunk, LaunchTime, Profile, ThreadTime
from xdsl_rlx.lowering.backend.runtime.roofline import Roofline
from xdsl_rlx.lowering.reports.fusion_report import FusionGroup, MissedFusion
from xdsl_rlx.lowering.reports.inspection import BufferUse, Inspection, KernelUse
from xdsl_rlx.lowering.reports.kernel_work import KernelWork
from xdsl_rlx.lowering.reports.memory_report import MemoryReport, SlotUse
from xdsl_rlx.lowering.reports.text_tables import TextTable
from xdsl_rlx.training import Backward, Forward, TrainingGraphs, TrainingMemory

WIDTH = 100
"""Columns of a line of a signature: as many as the site shows without scrolling (tests/house/test_site.py)."""


@dataclass(frozen=True)
class Group:
    """A section: names below `xdsl_rlx`, and classes that are only met as results or raised."""

    title: str
    about: str
    entries: tuple[str | type, ...]


def _all_of(module: str) -> tuple[str, ...]:
    """The public names of a module of the package."""
    return tuple(f"{module}.{name}" for name in getattr(rlx, module).__all__)


GROUPS = (
    Group(
        "Compiled functions",
        "Compile a Python function of trees of arrays, or a graph, to machine code.",
        ("compile", "CompiledFunction", "trace", "CompiledGraph", TensorSpec, "Weights"),
    ),
    Group(
        "Programs as libraries",
        "See [Deploy a model](howto/deploy.md).",
        ("export", "load_export", "ExportedProgram"),
    ),
    Group(
        "Derivatives and batches",
        "Most of these accept a Python function of trees and return one, or accept a graph and return one.",
        (
            *("grad", "value_and_grad", "grad_with_loss", "vjp", VjpFunction, "jvp", JvpFunction, "hvp", HvpFunction),
            "vmap",
            *("jacfwd", "jacrev", "hessian", "nth_order_grad", "Jacobians"),
            *("linearize", "linear_transpose", "eval_shape", "ShapeDtypeStruct"),
        ),
    ),
    Group(
        "Loops and branches",
        "See [Write loops and branches](howto/control-flow.md).",
        ("scan", "fori_loop", "while_loop", "cond", "switch", "map", "associative_scan", "remat"),
    ),
    Group(
        "Slices and updates at traced positions",
        "`x.at[i].set(y)` of a traced value `x` is a copy with other elements at `x[i]`.",
        (
            *("dynamic_slice", "dynamic_slice_in_dim", "dynamic_index_in_dim", "dynamic_update_slice"),
            *("dynamic_update_slice_in_dim", "dynamic_update_index_in_dim", Update),
            *("segment_sum", "segment_prod", "segment_max", "segment_min"),
        ),
    ),
    Group(
        "Results of a given size",
        "In NumPy, the data decides how many elements these return. Here and in JAX, `size=` or `length=` does.",
        (
            *("nonzero", "flatnonzero", "argwhere", "unique", "union1d", "intersect1d", "setdiff1d"),
            *("bincount", "histogram"),
        ),
    ),
    Group(
        "Ops as functions",
        "Every method of [the builder](builder.md) that builds an op is also a function: `rlx.gelu(x)`, "
        "`rlx.softmax(x, -1)`, `rlx.rng_split(key, 2)`. They accept traced values or arrays; "
        "type checkers know their arguments, and the result is `Any`. These two have no method:",
        ("softmax_cross_entropy", "dropout"),
    ),
    Group(
        "Neural networks",
        "`rlx.nn` has the functions of `jax.nn` and `torch.nn.functional`. They accept traced values or arrays, are "
        "differentiable and batched by `vmap`.",
        _all_of("nn"),
    ),
    Group(
        "Random numbers",
        "`rlx.random` has the distributions of `jax.random`, with its names and orders of arguments, as functions of a "
        "key. The same key gives the same numbers on every machine, for any number of threads, compiled or not; `vmap` "
        "over keys is a loop over them. Parameters broadcast. Real numbers are differentiable by their parameters. "
        "Half floats are drawn in f32 and rounded.",
        _all_of("random"),
    ),
    Group(
        "Special functions",
        "`rlx.special` has the functions of `jax.scipy.special`. They accept traced values or arrays, keep f16, "
        "bf16, f32 and f64, and are differentiable where a derivative is known.",
        _all_of("special"),
    ),
    Group(
        "Solvers",
        "See [Solve equations, integrate and minimise](howto/solve.md).",
        (*_all_of("solvers"), "scipy_fun", "ScipyFunction"),
    ),
    Group(
        "Programs of several processes",
        "See [Train on several machines](howto/distributed.md).",
        _all_of("distributed"),
    ),
    Group(
        "Training",
        "See [Train a model](howto/train.md) and [Save and resume training](howto/checkpoint.md).",
        (
            *("fit", "Batches", "save", "load", "metadata", "load_gguf"),
            *("compile_training", "TrainingProgram", TrainingGraphs, Forward, Backward, TrainingMemory),
        ),
    ),
    Group(
        "Optimisers",
        "",
        (
            *("optim.Optimiser", "optim.SGD", "optim.Adam", "optim.AdamW", "optim.Lion", "optim.Adafactor"),
            *("optim.NAdam", "optim.Adagrad", "optim.RMSprop", "optim.Adadelta", "optim.Muon", "optim.Accumulated"),
            *("optim.Groups", "optim.Sharded"),
            *("optim.Schedule", "optim.constant", "optim.linear", "optim.cosine", "optim.warmup"),
            *("optim.global_norm", "optim.clip_by_global_norm", "optim.ema"),
        ),
    ),
    Group(
        "Initial weights",
        "A matrix is `[in, out]`, the weights of a convolution `[out, in, height, width]`.",
        (
            *("key", "init.params", "init.normal", "init.uniform", "init.truncated_normal", "init.glorot_uniform"),
            *("init.glorot_normal", "init.he_uniform", "init.he_normal", "init.lecun_uniform"),
            *("init.lecun_normal", "init.orthogonal", "init.fans"),
        ),
    ),
    Group(
        "Trees",
        "Dicts, lists, tuples, named tuples, dataclasses and None. Leaves of a dict are in the order of the sorted "
        "keys; the traced function sees the insertion order. A dataclass field with "
        '`metadata={"static": True}` is not a leaf.',
        (
            "tree.Tree",
            "tree.Spec",
            "tree.flatten",
            "tree.unflatten",
            "tree.map",
            "tree.ravel",
            "tree.paths",
            "tree.names",
        ),
    ),
    Group(
        "Graphs",
        "A function is traced to a graph. [Builder methods](builder.md) build one op by op.",
        (
            *("Graph", "GraphModule", Interface, "Value", DTypeName, "parse", "run_passes", "lower_hir"),
            *("prepare_for_ad", "select_outputs", "lower"),
        ),
    ),
    Group(
        "Precision",
        "See [Use mixed precision](howto/mixed-precision.md).",
        (
            *("mixed_precision", "PrecisionPolicy", "scale_loss", "calibrate", "CalibrationEntry", "insert_q_dq"),
            "quantized_weight_bits",
        ),
    ),
    Group(
        "Custom derivatives",
        "See [Write a custom op](howto/custom-op.md).",
        ("custom_vjp", CustomVjp, "custom_jvp", CustomJvp),
    ),
    Group("Custom ops", "See [Custom ops](custom-ops.md).", ("custom_op", "CustomKernel", "GraphBuilder", "Shaped")),
    Group(
        "Other frameworks",
        "See [Port PyTorch code](howto/from-pytorch.md) and [Port JAX code](howto/from-jax.md).",
        (
            *("from_torch", "ImportedModule", "to_torch", "from_jax", "Imported", Report, "to_jax", "from_stablehlo"),
            *("ImportedProgram", "to_stablehlo"),
        ),
    ),
    Group(
        "Debugging",
        "See [Debug a model](howto/debug.md).",
        ("debug.print", "debug.check_nans", "NanError", "eager", "debug.breakpoint"),
    ),
    Group(
        "Inspection and profiling",
        "See [Profile a program](howto/profile.md).",
        (
            *("inspect", Inspection, BufferUse, KernelUse, KernelWork, Profile, LaunchTime, ThreadTime, Chunk),
            *(Roofline, TextTable, "report", "fusion_report", "FusionReport", FusionGroup, MissedFusion),
            *("assert_fusion_clean", "memory_report", MemoryReport, SlotUse),
            *("numba_source", "llvm_source", "asm_source"),
        ),
    ),
    Group(
        "Errors",
        "",
        (
            *("RlxError", "GraphError", GraphTypeError, GraphIndexError, GraphAttributeError, "ArgumentError"),
            *(
                run_errors.ArgumentTypeError,
                run_errors.MissingParamError,
                "OutOfBoundsError",
                "CheckpointError",
                "FrontendError",
                Missing,
                run_errors.KernelError,
            ),
            *(run_errors.ConfigurationError, run_errors.CompileError, run_errors.CacheWarning),
        ),
    ),
)


class _Plain:
    """An annotation or a default that is shown as it was written."""

    def __init__(self, text: object):
        self._text = str(text)

    def __repr__(self) -> str:
        return self._text


def signature(name: str, function: Any) -> str:
    """A function's parameters with their types, and what it returns."""
    parameters: list[inspect.Parameter] = []
    found = inspect.signature(function)
    for one in found.parameters.values():
        if one.name == "self":
            continue
        parameters.append(one.replace(annotation=_annotation(one.annotation), default=_default(one.default)))
    text = name + str(inspect.Signature(parameters, return_annotation=_annotation(found.return_annotation)))
    return text.replace("'", '"')


def _default(default: Any) -> Any:
    """A default as a caller writes it: a member of an enum as its word, a function as its name."""
    if isinstance(default, Enum):
        return _Plain(repr(default.value))
    return _Plain(default.__name__) if inspect.isfunction(default) else default


def _annotation(annotation: Any) -> Any:
    if annotation is inspect.Signature.empty:
        return annotation
    return _Plain(_type(annotation))


def _type(annotation: Any) -> str:
    return annotation.strip("\"'") if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _wrapped(line: str) -> str:
    """A signature as the linter leaves it: a line per parameter where one line is too long."""
    if len(line) <= WIDTH:
        return line
    head, rest = line.split("(", 1)
    inside, tail = rest.rsplit(") -> ", 1)
    parts, depth = [""], 0
    for character in inside:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return "\n".join([f"{head}(", *(f"    {part.strip()}," for part in parts), f") -> {tail}"])


def _code(*lines: str) -> str:
    return "\n".join(["```python", *lines, "```"])


def _doc(entity: Any) -> str:
    return inspect.cleandoc(getattr(entity, "__doc__", None) or "")


@cache
def _said(module: str) -> dict[str, tuple[str, str]]:
    """What stands behind names of a module, and of its classes as `Class.name`: the value, and the docstring."""
    return dict(_assigned(ast.parse(inspect.getsource(import_module(module))).body, ""))


def _assigned(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, tuple[str, str]]]:
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ClassDef):
            yield from _assigned(node.body, f"{node.name}.")
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            value = "" if node.value is None else ast.unparse(node.value)
            yield f"{prefix}{ast.unparse(target)}", (value, inspect.cleandoc(str(said)))


@dataclass(frozen=True)
class Entry:
    """A name of the page, and what it names."""

    name: str
    """As it is reached from `xdsl_rlx`, or that of a class alone."""
    entity: Any

    @staticmethod
    def of(which: str | type) -> Entry:
        """That of a row in a group."""
        if isinstance(which, str):
            return Entry(f"rlx.{which}", attrgetter(which)(rlx))
        return Entry(which.__name__, which)

    @cached_property
    def text(self) -> str:
        """Heading, signature, docstring, and for a class its fields and methods."""
        parts = [f"### `{self.name}`"]
        if inspect.isclass(self.entity) and self.entity.__name__ == self.name.rsplit(".", 1)[-1]:
            parts += self._of_class()
        elif inspect.isfunction(self.entity):
            parts += self._of_function()
        else:
            value, said = self._alias()
            parts += [_code(f"{self.name.rsplit('.', 1)[-1]} = {value}"), said]
        return "\n\n".join(part for part in parts if part)

    def _of_function(self) -> list[str]:
        short = self.entity.__name__
        forms = get_overloads(self.entity) or [self.entity]
        code = [_code("\n\n\n".join(_wrapped(f"def {signature(short, form)}: ...") for form in forms))]
        if short in FORMS:
            of_function, of_graph = _doc(FORMS[short].of_function), _doc(FORMS[short].of_graph)
            if of_function.startswith("See "):
                return [*code, of_graph]
            return [*code, f"Of a graph: {of_graph}", f"Of a Python function: {of_function}"]
        return [*code, _doc(inspect.unwrap(self.entity) if len(forms) > 1 else self.entity)]

    def _alias(self) -> tuple[str, str]:
        short = self.name.rsplit(".", 1)[-1]
        return next(said[short] for module in ALIASES if short in (said := _said(module)))

    def _of_class(self) -> list[str]:
        where = "" if self.name.startswith("rlx.") else f"In `{self.entity.__module__}`."
        bases = [base.__name__ for base in self.entity.__bases__ if issubclass(base, Exception)]
        kind = f"An exception: {' and '.join(f'`{base}`' for base in bases)}." if bases else ""
        return [where, _doc(self.entity), kind, "\n".join([*_fields(self.entity), *_members(self.entity)])]


ALIASES = ("xdsl_rlx.tree", "xdsl_rlx.optim.schedules")
"""Modules with names for types."""


def _bullet(head: str, said: str) -> str:
    """A row of a list; further paragraphs belong to it by their indentation."""
    first, *others = said.split("\n\n") if said else [""]
    line = f"* `{head}`: {' '.join(first.split())}" if first else f"* `{head}`"
    return "\n\n".join([line, *(textwrap.indent(other, "    ") for other in others)])


def _fields(entity: type) -> list[str]:
    """The fields of a dataclass or a named tuple, and the members of an enumeration."""
    said = _said(entity.__module__)
    if issubclass(entity, Enum):
        members = ((name, str(one.value)) for name, one in entity.__members__.items())
        return [_bullet(f'{name} = "{value}"', said[f"{entity.__name__}.{name}"][1]) for name, value in members]
    if issubclass(entity, tuple):
        return [_bullet(f"{name}: {_type(kind)}", "") for name, kind in inspect.get_annotations(entity).items()]
    if not is_dataclass(entity):
        return []
    rows: list[str] = []
    for one in fields(entity):
        text = f"{one.name}: {_type(one.type)}" + ("" if one.default is MISSING else f" = {one.default!r}")
        owner = next(base for base in entity.__mro__ if one.name in inspect.get_annotations(base))
        rows.append(_bullet(text, _said(owner.__module__).get(f"{owner.__name__}.{one.name}", ("", ""))[1]))
    return rows


def members(entity: type) -> dict[str, Any]:
    """
    The public methods and properties that a class has of its own, and how it is called if it says that.

    Not those of its bases on the page, nor those that build ops, which are in builder.md.
    """
    bases = [base for base in entity.__mro__ if base is GraphBuilder or (base is not entity and base in _classes())]
    found: dict[str, Any] = {}
    for base in entity.__mro__:
        if base in bases or not base.__module__.startswith("xdsl_rlx"):
            continue
        for name, member in vars(base).items():
            shown = not name.startswith("_") or (name == "__call__" and member.__doc__)
            known = name in found or name in getattr(entity, "__dataclass_fields__", {})
            if shown and not known and not any(hasattr(other, name) for other in bases) and _is_member(member):
                found[name] = member
    return found


def _is_member(member: object) -> bool:
    return inspect.isroutine(member) or isinstance(member, property | cached_property)


@cache
def _classes() -> frozenset[type]:
    """The classes on the page."""
    every = [Entry.of(one).entity for group in GROUPS for one in group.entries]
    return frozenset(one for one in every if inspect.isclass(one))


def _members(entity: type) -> list[str]:
    rows: list[str] = []
    for name, member in members(entity).items():
        if isinstance(member, property | cached_property):
            function = member.fget if isinstance(member, property) else member.func
            rows.append(_bullet(name, _doc(function)))
        else:
            function = member.__func__ if isinstance(member, staticmethod | classmethod) else member
            rows.append(_bullet(signature(name, function), _doc(function)))
    return rows


def _numpy_names() -> str:
    """The functions of NumPy that take values."""
    names = {*UFUNCS, *SPELLED_OUT, *FUNCTIONS}
    return ", ".join(f"`{name}`" for name in sorted(names) if attrgetter(name)(np))


def api_text(note: str) -> str:
    """All of docs/api.md."""
    lines = [
        "# Python API",
        note,
        "`import xdsl_rlx as rlx`. Classes that are not attributes of `rlx` are results or exceptions; the page names "
        "their module.",
    ]
    for group in GROUPS:
        lines += [f"## {group.title}", group.about, *(Entry.of(one).text for one in group.entries)]
    lines += [
        "## NumPy's functions",
        "These functions of NumPy accept traced values, as do the operators and the methods above. Other functions "
        "raise a `GraphTypeError` that names them.",
        _numpy_names() + ".",
    ]
    return "\n\n".join(line for line in lines if line) + "\n"
