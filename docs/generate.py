"""Write docs/ops.md, passes.md, cost-model.md, coverage.md, builder.md and api.md from definitions and docstrings.

docs/howto/names.md and from-rlx.md are written from the tables in names_table.py and rlx_table.py, docs/howto/aten.md
from the rows of frontends/aten, docs/howto/stablehlo.md from those of frontends/stablehlo.
src/xdsl_rlx/op_signatures.pyi has the functions of ops for type checkers (op_stub.py).

`--check` writes nothing and fails if a file is out of date; a test runs it.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from xdsl.ir import Dialect, Operation
from xdsl.irdl import (
    IRDLOperation,
    OptionalDef,
    OptOperandDef,
    OptResultDef,
    VarOperandDef,
    VarResultDef,
)
from xdsl.traits import ConstantLike

from xdsl_rlx import dialects, frontends, lowering, transforms
from xdsl_rlx.builder import Graph
from xdsl_rlx.dialects.hir.hir_builder import HirBuilder
from xdsl_rlx.dialects.mir import Mir, branch, control
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.dialects.mir.value import OP
from xdsl_rlx.dialects.shapes import DTYPE_NAMES
from xdsl_rlx.graph_methods.graph_builder import GraphBuilder
from xdsl_rlx.lowering import target
from xdsl_rlx.lowering.fusion.analysis.loop_tables import LOOPS, PLACE, VIEW
from xdsl_rlx.lowering.kernels import NEST
from xdsl_rlx.lowering.target import CostModel
from xdsl_rlx.transforms.rules import DECOMPOSE, JVP, VJP, VMAP
from xdsl_rlx.transforms.rules.rule_table import RuleTable

COST_GROUPS = [
    group
    for group in vars(target).values()
    if inspect.isclass(group) and issubclass(CostModel, group) and inspect.get_annotations(group)
]
"""The classes of `target.py` that declare fields."""

DOCS = Path(__file__).resolve().parent
sys.path.append(str(DOCS.parent / "tests"))
from api_reference import api_text  # noqa: E402
from aten_page import aten_text  # noqa: E402
from names_page import names_text, rlx_text  # noqa: E402
from numerics.families import SAMPLES  # noqa: E402
from op_stub import op_stub_text  # noqa: E402
from stablehlo_page import stablehlo_text  # noqa: E402

TABLE_NOTE = "<!-- Generated from docs/names_table.py by `make docs`: change that file, not this one. -->"
ATEN_NOTE = "<!-- Generated from frontends/aten by `make docs`: change the rows there, not this file. -->"
STABLEHLO_NOTE = ATEN_NOTE.replace("aten", "stablehlo")
NOTE = "<!-- Generated from the docstrings by `make docs`: change them, not this file. -->"


def _doc(entity: type) -> str:
    """A class's own docstring; an op of a family may leave it to the base class."""
    return inspect.cleandoc(next((base.__doc__ for base in entity.__mro__ if base.__doc__), ""))


def _operand(name: str, definition: object) -> str:
    if isinstance(definition, OptOperandDef | OptResultDef):
        return f"`{name}`?"
    return f"`{name}`..." if isinstance(definition, VarOperandDef | VarResultDef) else f"`{name}`"


def _list(title: str, words: Iterable[str]) -> str:
    return f"{title}: {text}" if (text := ", ".join(words)) else ""


def op_section(op: type[Operation]) -> str:
    """Mnemonic, docstring, then one line of operands, attributes and results, and the assembly format."""
    assert issubclass(op, IRDLOperation)
    definition = op.get_irdl_definition()
    attributes = {**definition.properties, **definition.attributes}
    facts = [
        _list("operands", (_operand(*pair) for pair in definition.operands)),
        _list(
            "attributes",
            (f"`{name}`{'?' if isinstance(one, OptionalDef) else ''}" for name, one in attributes.items()),
        ),
        _list("regions", (f"`{name}`" for name, _ in definition.regions)),
        _list("results", (_operand(*pair) for pair in definition.results)),
        _list("traits", sorted(f"`{type(trait).__name__}`" for trait in definition.traits.traits)),
    ]
    parts = [f"#### `{op.name}`", _doc(op), " · ".join(fact for fact in facts if fact)]
    if definition.assembly_format is not None:
        parts.append(f"Format: ``{op.name} {definition.assembly_format}``")
    return "\n\n".join(part for part in parts if part)


def _families(ops: Iterable[type[Operation]]) -> dict[str, list[type[Operation]]]:
    """Ops by the file that holds them, in the dialect's order."""
    families = dict[str, list[type[Operation]]]()
    for op in ops:
        families.setdefault(op.__module__.removeprefix("xdsl_rlx.").replace(".", "/") + ".py", []).append(op)
    return families


def ops_text() -> str:
    """All of docs/ops.md."""
    lines = ["# Operations", NOTE]
    for name, factory in dialects.UNIVERSE.all_dialects.items():
        dialect: Dialect = factory()
        lines.append(f"## Dialect `{name}`")
        for file, ops in _families(dialect.operations).items():
            lines.append(f"### {file}")
            module = sys.modules[ops[0].__module__]
            lines.append(inspect.cleandoc(module.__doc__ or ""))
            lines += [op_section(op) for op in ops]
    return "\n\n".join(line for line in lines if line) + "\n"


def _meanings(entity: type) -> dict[str, str]:
    """Return the first paragraph of the docstring below each annotated field, by the field's name."""
    (definition,) = ast.parse(inspect.getsource(entity)).body
    assert isinstance(definition, ast.ClassDef)
    found = dict[str, str]()
    for field, below in pairwise(definition.body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(inspect.cleandoc(text).split("\n\n")[0].split())
            case _:
                pass
    return found


def _options(entity: type) -> Sequence[str]:
    if not dataclasses.is_dataclass(entity):
        return []
    rows, meanings = list[str](), _meanings(entity)
    costs = {one.name for group in entity.__mro__[1:] if group in COST_GROUPS for one in dataclasses.fields(group)}
    for one in (one for one in dataclasses.fields(entity) if one.name not in costs):
        if get_origin(one.type) is Literal:
            kind = " | ".join(get_args(one.type))
        else:
            kind = one.type.__name__ if type(one.type) is type else str(one.type)
        if one.default is not dataclasses.MISSING:
            default = f"default `{one.default}`"
        else:
            default = "optional" if one.default_factory is not dataclasses.MISSING else "required"
        said = f". {meanings[one.name]}" if one.name in meanings else ""
        rows.append(f"* `{one.name.replace('_', '-')}`: `{kind}`, {default}{said}")
    if issubclass(entity, CostModel):
        return [*rows, "* all fields of the [cost model](cost-model.md)"]
    for group in (one for one in COST_GROUPS if issubclass(entity, one)):
        names = ", ".join(f"`{name.replace('_', '-')}`" for name in _meanings(group))
        rows.append(f"* of [{group.__name__}](cost-model.md#{group.__name__.lower()}): {names}")
    return rows


def _entries(universe: dict[str, Callable[[], Any]], kind: str) -> list[str]:
    parts = list[str]()
    for name, factory in universe.items():
        entity: type = factory()
        file = entity.__module__.removeprefix("xdsl_rlx.").replace(".", "/") + ".py"
        parts += [f"### {kind} `{name}`", f"{file}", _doc(entity)]
        if options := _options(entity):
            parts.append("\n".join(["Options:", "", *options]))
    return parts


_HOW_TO_RUN = """\
Run passes with `xdsl-opt file.mlir -p 'mir-prepare-for-ad,mir-grad{wrt=w}'`, or in Python with
`rlx.run_passes(graph, 'mir-canonicalize')`. Print a target with `xdsl-opt -t rlx-llvm`. `lowering/pipelines.py` defines
the standard pipelines."""


def passes_text() -> str:
    """All of docs/passes.md."""
    lines = [
        "# Passes and targets",
        NOTE,
        _HOW_TO_RUN,
    ]
    lines += ["## On `hir` and `mir`", *_entries(dict(transforms.UNIVERSE.all_passes), "pass")]
    lines += ["## From and to StableHLO", *_entries(dict(frontends.UNIVERSE.all_passes), "pass")]
    lines += ["## To and on `lir`", *_entries(dict(lowering.UNIVERSE.all_passes), "pass")]
    lines += ["## Targets", *_entries(dict(lowering.UNIVERSE.all_targets), "target")]
    return "\n\n".join(lines) + "\n"


_COST_MODEL = """\
`lowering/target.py` describes the processor that code is compiled for, and what the decisions of passes cost on it. A
field is an option of each pass that reads it, with `-` for `_`: `lir-tile-matmuls{l2-bytes=262144}`. The defaults
describe a common processor. `rlx.compile` reads the registers and caches of the processor that it compiles for. For a
whole pipeline, such as `rlx-to-lir`, set them in a file that [`XDSL_RLX_COSTS`](configuration.md#costs) names."""


def cost_model_text() -> str:
    """All of docs/cost-model.md."""
    lines = ["# Target and cost model", NOTE, _COST_MODEL]
    for group in COST_GROUPS:
        rows = [f"| `{name}` | {getattr(group, name)} | {meaning} |" for name, meaning in _meanings(group).items()]
        lines += [f"## {group.__name__}", _doc(group)]
        lines += ["\n".join(["| field | default | unit, trade-off, benchmark |", "| --- | --- | --- |", *rows])]
    return "\n\n".join(lines) + "\n"


def _rule(table: RuleTable[Any], op: type[Operation]) -> str:
    """How a transformation treats an op: by its row, by its definition, or not at all."""
    if table.get(op) is not None:
        return "row"
    if (reason := table.reason(op)) is not None:
        return f"none: {reason}"
    return "definition" if DECOMPOSE.get(op) is not None else "**missing**"


_STRUCTURE: dict[type[Operation], str] = {
    ScanOp: "loop",
    branch.WhileOp: "loop",
    branch.IfOp: "branch",
    branch.RematOp: "in place",
}
"""How ops with bodies are run."""


def _lowering(op: type[Operation]) -> str:
    tables = {LOOPS.name: LOOPS, "kernel": NEST, VIEW.name: VIEW, PLACE.name: PLACE}
    ways = [name for name, table in tables.items() if table.get(op) is not None]
    if op.has_trait(ConstantLike):
        return "constant"
    if op in _STRUCTURE:
        return _STRUCTURE[op]
    return ", ".join(ways) or ("definition" if DECOMPOSE.get(op) is not None else "**missing**")


def _error(op: type[Operation]) -> str:
    """What the tests allow compiled results of an op to be off by."""
    samples = [sample for sample in SAMPLES if sample.op is op and not {"f16", "bf16"} & set(sample.dtypes)]
    if all(sample.exact for sample in samples):
        return "exact"
    return f"{max(sample.tol for sample in samples if not sample.exact):g}"


_COLUMNS = """\
How each transformation treats every tensor op of `mir`.

- **vjp, jvp, vmap**: `row` is a rule of the op's own. `definition` means that the op's definition by simpler ops is
  transformed. `none` states why there is no rule.
- **definition**: whether the op has a definition by simpler ops (a `DECOMPOSE` row).
- **lowering**: `loops` are fused. `kernel` is a kernel of the op's own. `view` is a layout without a copy. `place`
  writes operands into windows of the result. `definition` is lowered instead of the op. Ops with bodies become a
  `loop` or a `branch`, or are launched `in place`.
- **error**: the largest error that the tests allow, in ulps of the largest element of the result, or of 1 if that is
  larger. f32 results are compared with f64, f64 results with an oracle in f64.

Layer and group norm have large errors because their samples have means a thousand times the spread. Tests require every
column, and an oracle, samples and a FileCheck line for each op."""


def coverage_text() -> str:
    """All of docs/coverage.md."""
    lines = [
        "# Op coverage",
        NOTE,
        _COLUMNS,
        "| op | vjp | jvp | vmap | definition | lowering | error |\n| --- | --- | --- | --- | --- | --- | --- |\n"
        + "\n".join(
            f"| `{op.name}` | {_rule(VJP, op)} | {_rule(JVP, op)} | {_rule(VMAP, op)} | "
            f"{'yes' if DECOMPOSE.get(op) is not None else ''} | {_lowering(op)} | {_error(op)} |"
            for op in Mir.operations
            if op not in {control.YieldOp, control.VjpOp, control.FusionOp}
        ),
    ]
    return "\n\n".join(lines) + "\n"


def _plain(default: object) -> object:
    """A member of an enumeration as the word that stands for it."""
    return default.value if isinstance(default, Enum) else default


def _method(name: str, function: Any) -> str:
    """A method's signature, without the types, and its docstring."""
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty, default=_plain(parameter.default))
        for parameter in list(inspect.signature(function).parameters.values())[1:]
    ]
    text = str(inspect.Signature(parameters))
    said = inspect.cleandoc(function.__doc__ or "")
    # the docstring of an op stands as a whole in ops.md
    shown = said.split("\n\n")[0] if hasattr(function, OP) else said
    return f"* `{name}{text}`: {' '.join(shown.split())}"


def _methods(entity: type, *, inherited: bool) -> list[str]:
    found = {name: getattr(entity, name) for name in dir(entity) if not name.startswith("_")}
    # the methods of a graph stand in its class once more, with their arguments checked
    own = {
        name: f
        for name, f in found.items()
        if inspect.isfunction(f) and (inherited or f.__qualname__.startswith(f"{entity.__name__}."))
    }
    return [_method(name, function) for name, function in sorted(own.items())]


def _choices() -> list[str]:
    """The enumerations that arguments of builder methods are of, with their members."""
    found = dict[str, type[Enum]]()
    for op in Mir.operations:
        for entity in vars(sys.modules[op.__module__]).values():
            if inspect.isclass(entity) and issubclass(entity, str) and issubclass(entity, Enum) and len(entity):
                found[entity.__name__] = entity
    return [f"* {name}: " + ", ".join(f"`{member.value}`" for member in found[name]) for name in sorted(found)]


_OPERATORS = """\
Values support Python's arithmetic, comparison and bitwise operators, including `==`, `!=` and `@`. Operands can be
values, numbers, arrays and lists of these. They promote to NumPy's common element type; numbers and arrays are
weakly typed. (Methods named after ops need operands of one element type.) Values have `x.shape`, `x.dtype`,
`x.rank`, `x.T` and the methods of arrays. `x[...]` accepts the indices of NumPy, except boolean masks that are
values. NumPy functions with an equivalent op accept values: `np.exp(x)`."""


def builder_text() -> str:
    """All of docs/builder.md."""
    lines = [
        "# Builder methods",
        NOTE,
        "The methods of `rlx.Graph`, and of the builder that custom ops receive, by op family. [Operations](ops.md) "
        "defines each op. The builder of derivative rules and passes (`MirBuilder`) has those that build one op; the "
        "functions of `dialects/mir/compositions.py` take it as their first argument.",
        "## Values",
        _OPERATORS,
        "## Graphs",
        "\n".join(_methods(Graph, inherited=False)),
    ]
    lines += [
        "## Blocks",
        "`rlx.GraphModule.define(name, build)` passes a graph to `build` that also has these methods. They replace "
        "methods of the same name below.",
        "\n".join(_methods(HirBuilder, inherited=False)),
    ]
    for base in MirBuilder.__mro__:
        if base in (object, MirBuilder) or not (methods := _methods(base, inherited=False)):
            continue
        module = base.__module__.removeprefix("xdsl_rlx.").removeprefix("dialects.")
        lines += [f"## {module}", "\n".join(methods)]
    lines += ["## mir.builder", "\n".join(_methods(MirBuilder, inherited=False))]
    lines += ["## Methods that build several ops"]
    several = dict[str, list[str]]()
    for name, function in sorted(vars(GraphBuilder).items()):
        if inspect.isfunction(function) and not name.startswith("_"):
            several.setdefault(function.__module__.rsplit(".", 1)[1], []).append(_method(name, function))
    lines += [part for module, methods in sorted(several.items()) for part in (f"### {module}", "\n".join(methods))]
    about = "An argument of an enumeration type accepts the string or the member."
    lines += ["## Enumerations", about, "\n".join(_choices())]
    lines += [f"Element types: {', '.join(f'`{name}`' for name in DTYPE_NAMES.values())}."]
    return "\n\n".join(lines) + "\n"


def main() -> int:
    """Write the files, or with `--check` say which differ; 1 when one does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a file is out of date")
    check = parser.parse_args().check
    stale = list[str]()
    pages = {
        "ops.md": ops_text,
        "passes.md": passes_text,
        "cost-model.md": cost_model_text,
        "coverage.md": coverage_text,
        "builder.md": builder_text,
        "api.md": lambda: api_text(NOTE),
        "howto/names.md": lambda: names_text(TABLE_NOTE),
        "howto/aten.md": lambda: aten_text(ATEN_NOTE),
        "howto/stablehlo.md": lambda: stablehlo_text(STABLEHLO_NOTE),
        "howto/from-rlx.md": lambda: rlx_text(TABLE_NOTE.replace("names_table", "rlx_table")),
    }
    made = {f"docs/{name}": make for name, make in pages.items()} | {"src/xdsl_rlx/op_signatures.pyi": op_stub_text}
    for name, text in ((name, make()) for name, make in made.items()):
        path = DOCS.parent / name
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if not check:
            path.write_text(text)
    if stale:
        print(f"out of date: {', '.join(stale)}; run make docs" if check else f"wrote {', '.join(stale)}")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
