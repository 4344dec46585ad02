"""Sizes, thresholds and costs of passes are fields of the cost model, described, and options that pipelines fill.

A module-level name in capitals with a number as its value is such a size, unless `FACTS` says what else it is: a fact
about LLVM, a representation, a format, or the patience of a user. Kernels of single ops (`lowering/kernels`) keep the
extents of their blocks.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import Field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from rows import for_each
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_rlx.lowering import UNIVERSE, target
from xdsl_rlx.lowering.pass_costs import with_costs
from xdsl_rlx.lowering.pipelines import remaining_passes
from xdsl_rlx.lowering.prepare.mir_prepare_for_fusion import MirPrepareForFusionPass, prepared_for_fusion
from xdsl_rlx.lowering.target import COMMON, CostModel

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    "",
    "prepare",
    "pipeline_passes",
    "fusion",
    "fusion/analysis",
    "fusion/codegen",
    "bufferize",
    "collectives",
    "loops",
    "tile_blocks",
    "tiles",
    "reports",
)

FACTS = {
    "lowering/cache.py": {"_LOCK_SECONDS", "_OLD_SECONDS", "_PART", "_DEFAULT_LIMIT"},  # files on disk
    "lowering/progress.py": {"PATIENCE", "PAUSE"},  # what a user waits for
    "lowering/fusion/analysis/bit_sets.py": {"WIDTH"},  # a representation
    "lowering/fusion/codegen/group.py": {"ROW", "UNIT", "BATCH", "LANE"},  # names of indices
    "lowering/reports/kernel_work.py": {"DOT", "MOST_VISITS"},  # operations of an instruction; steps of a count
    # loops that LLVM's vectoriser takes, which the emitter asks about, too
    "lowering/scalar_functions.py": {"SHORTEST", "MASKED_LOOP", "SHORT_VECTOR", "MOST_SINGLE"},
    "lowering/loops/lir_mark_unrolled.py": {"SHORT", "ROW_OF_VECTOR", "DIVIDED"},
    "lowering/tile_blocks/factors.py": {"UNSIGNED"},  # bits
    "lowering/tile_blocks/tile_block.py": {"GROUP"},  # rows that addresses of x86 reach by one stride
    "lowering/tile_blocks/side_by_side.py": {"MERGED"},  # lines that two merges bring together
}


def is_number(node: ast.expr) -> bool:
    """Whether an expression is a number, or a tuple or range of numbers."""
    match node:
        case ast.Constant(value=int() | float()):
            return not isinstance(node.value, bool)
        case ast.UnaryOp(operand=operand):
            return is_number(operand)
        case ast.BinOp(left=left, right=right):
            return is_number(left) and is_number(right)
        case ast.Tuple(elts=elements):
            return bool(elements) and all(map(is_number, elements))
        case ast.Call(func=ast.Name(id="range"), args=arguments):
            return all(map(is_number, arguments))
        case _:
            return False


def numbers(path: Path) -> Iterator[str]:
    """The names in capitals of a module that are numbers."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        for one in targets:
            for name in one.elts if isinstance(one, ast.Tuple) else [one]:
                if isinstance(name, ast.Name) and name.id.isupper() and is_number(value):
                    yield name.id


def test_numbers_of_passes_are_fields_of_the_cost_model() -> None:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / "lowering" / folder).glob("*.py"))]
    found = {str(path.relative_to(ROOT)): set(numbers(path)) for path in paths}
    bare = [f"{path}: {name}" for path, names in found.items() for name in sorted(names - FACTS.get(path, set()))]
    assert not bare, f"make them fields of a group in lowering/target.py: {', '.join(bare)}"
    assert {path: names for path, names in found.items() if names} == FACTS, "FACTS has a name that is gone"


@cache
def meanings() -> dict[str, str]:
    """The docstrings of the fields of the model."""
    found: dict[str, str] = {}
    for group in ast.parse(inspect.getsource(target)).body:
        if isinstance(group, ast.ClassDef):
            for field, below in zip(group.body, group.body[1:], strict=False):
                match field, below:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                        found[name] = text
                    case _:
                        pass
    return found


OF_THE_PROCESSOR = {field.name for field in fields(target.Target)} | {"min_matmul_columns"}


@for_each(fields(CostModel), lambda field: field.name)
def test_each_cost_has_a_unit_and_a_benchmark(field: "Field[Any]") -> None:
    text = meanings()[field.name]
    named = re.findall(r"\b\w+\.py\b", text)
    assert named or field.name in OF_THE_PROCESSOR, f"{field.name} names no benchmark"
    assert all((ROOT / "benchmarks" / name).exists() for name in named), text


def other(value: Any) -> Any:
    """Another value of a field."""
    return not value if isinstance(value, bool) else value * 2


def options(steps: list[ModulePass]) -> Iterator[tuple[ModulePass, str]]:
    """The passes, and the names of their options that are costs."""
    names = {field.name for field in fields(CostModel)}
    yield from ((step, field.name) for step in steps for field in fields(step) if field.name in names)


def test_pipelines_fill_the_options_of_passes_from_the_model() -> None:
    model = replace(COMMON, **{field.name: other(getattr(COMMON, field.name)) for field in fields(COMMON)})
    steps = remaining_passes(ModuleOp([]), 2, model)
    steps += prepared_for_fusion(with_costs(MirPrepareForFusionPass, model))
    found = list(options(steps))
    assert [(step.name, name) for step, name in found if getattr(step, name) != getattr(model, name)] == []
    assert {name for _, name in found} == {field.name for field in fields(CostModel)}


def test_options_of_passes_have_the_defaults_of_a_common_processor() -> None:
    kinds = [factory() for factory in UNIVERSE.all_passes.values()]
    steps = [kind() for kind in kinds if not kind.required_fields()]
    found = list(options(steps))
    assert [(step.name, name) for step, name in found if getattr(step, name) != getattr(COMMON, name)] == []
