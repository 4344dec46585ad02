"""The house rules that a machine can check: names, packages, layers, and what a start of xdsl-opt may import.

Not here: whether the package can be built and installed (test_wheel.py).
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Container, Iterator
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from rows import for_each
from setuptools import find_packages
from xdsl.passes import ModulePass
from xdsl.utils.target import Target

from xdsl_rlx import dialects, lowering, transforms
from xdsl_rlx.plugins import GROUP

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("dialects", "transforms", "lowering")
FRONTENDS = "frontends"
"""The front ends stand above the package's own modules: they use the public API, and nothing uses them at a start."""
PLUGINS = "plugins"
"""Packages of ops, which stand above the layers. Only their entry points name them."""
LINKED = (*LAYERS, PLUGINS, FRONTENDS)
HEAVY = ("numba", "llvmlite", "numpy", "scipy", "ml_dtypes", "jax", "torch")
BELOW = {"collector", "forks", "plugins"}
"""Modules of the package itself that import nothing of it, and that every layer may use."""
MAY_IMPORT = {
    "dialects": {*BELOW, "dialects"},
    "transforms": {*BELOW, "dialects", "transforms"},
    "lowering": {*BELOW, *LAYERS},
    "plugins": {*BELOW, *LAYERS},
}

BACKEND = ("lowering/backend", "math", "machine", "driver", "llvm", "numba", "runtime", "export")
"""The backend and its folders, each of which uses those in front of it."""

ROOMS = (
    *("fingerprint", "run_errors", "kernel_pass", "scalar_functions", "target", "pass_costs", "cache", "progress"),
    *("kernel_dsl", "analysis", "loops", "tile_blocks", "kernel_library", "tiles"),
    *("fusion/analysis", "buffers", "kernels", "fusion/codegen", "prepare", "fusion"),
    *("collectives", "bufferize", "pipelines", "pipeline_passes", "reports", "reports/page", "backend"),
)
"""The folders of lowering, and the files at its top: each imports only those in front of it."""

_PACKAGE = ROOT / "src" / "xdsl_rlx"
FACE = sorted(path for path in _PACKAGE.rglob("*.py") if path.relative_to(_PACKAGE).parts[0] not in LINKED)
READERS = sorted((ROOT / FRONTENDS).rglob("*.py"))
SOURCES = [path for layer in (*LAYERS, PLUGINS) for path in sorted((ROOT / layer).rglob("*.py"))]
PASSES = {**transforms.UNIVERSE.all_passes, **lowering.UNIVERSE.all_passes}


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def _imported(tree: ast.AST) -> tuple[str, ...]:
    """Every module named by an import statement inside `tree`, which no test changes."""
    return tuple(_named(tree))


def _named(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"relative import in line {node.lineno}: pyright sees a second copy of the module"
            yield node.module or ""


@cache
def _tree(path: Path) -> ast.Module:
    """A module's text, parsed once for all tests, which do not change it."""
    return ast.parse(path.read_text())


class _WhenCalled(ast.NodeTransformer):
    """Leaves out what is for type checkers."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        for_checkers = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if for_checkers else self.generic_visit(node)


class _Needed(_WhenCalled):
    """Leaves out how an op finds its patterns, too, which xDSL's ops import in that method as well."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST | None:
        return None if node.name == "get_canonicalization_patterns" else self.generic_visit(node)


class _AtModuleLevel(_WhenCalled):
    """Leaves out function bodies, too."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        return None


def _stripped(path: Path, strip: ast.NodeTransformer) -> ast.Module:
    stripped = strip.visit(ast.parse(path.read_text()))
    assert isinstance(stripped, ast.Module)
    return stripped


@cache
def _at_module_level(path: Path) -> ast.Module:
    """The statements that run when the module is imported: no function bodies, no type-checking blocks."""
    return _stripped(path, _AtModuleLevel())


@for_each(SOURCES, _name)
def test_a_layer_imports_only_layers_below_it(path: Path) -> None:
    layer = path.relative_to(ROOT).parts[0]
    tree = _tree(path)
    for module in _imported(tree):
        assert module.split(".")[0] not in (*LAYERS, PLUGINS), (
            f"{_name(path)} imports {module}: write xdsl_rlx.{module}"
        )
    for module in _imported(_at_module_level(path)):
        head, _, rest = module.partition(".")
        if head == "xdsl_rlx":
            assert rest, f"{_name(path)} imports the package face: name the layer"
            assert rest.split(".")[0] in MAY_IMPORT[layer], f"{_name(path)} imports {module}, which is above {layer}"


@for_each([*SOURCES, *FACE, *READERS], _name)
def test_nothing_but_its_entry_point_names_a_plugin(path: Path) -> None:
    place = path.relative_to(ROOT).parts
    own = f"xdsl_rlx.plugins.{place[1]}" if place[0] == PLUGINS and len(place) > 2 else None
    named = set(re.findall(r"xdsl_rlx\.plugins\.\w+", path.read_text()))
    assert not named - {own}, f"{_name(path)} names {sorted(named - {own})}: extend xdsl_rlx.plugins.Plugin instead"


@for_each(sorted((ROOT / PLUGINS).glob("*/__init__.py")), _name)
def test_a_plugin_imports_nothing_until_its_modules_are_needed(path: Path) -> None:
    assert set(_imported(_tree(path))) == {"xdsl_rlx.plugins"}, f"{_name(path)} is imported at each start of xdsl-opt"


def test_the_plugins_of_the_tree_are_installed() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][GROUP]
    folders = {path.parent.name for path in (ROOT / PLUGINS).glob("*/__init__.py")}
    assert wanted == {name: f"xdsl_rlx.plugins.{name}:PLUGIN" for name in folders}
    found = {entry.name: entry.value for entry in entry_points(group=GROUP)}
    assert wanted.items() <= found.items(), "the installed package is an older one: run pip install -e ."


@for_each(SOURCES, _name)
def test_heavy_libraries_are_imported_only_by_the_backend(path: Path) -> None:
    if path.is_relative_to(ROOT / "lowering" / "backend"):
        allowed = {"numba", "llvmlite", "numpy", "scipy", "ml_dtypes"}
    else:
        allowed = set[str]()
    found = {module.split(".")[0] for module in _imported(_at_module_level(path))}
    wrong = found & set(HEAVY) - allowed
    assert not wrong, f"{_name(path)} imports {sorted(wrong)} at module level"


@for_each(READERS, _name)
def test_a_front_end_imports_its_framework_when_it_is_used(path: Path) -> None:
    """Only a host is loaded by the framework itself; only hosts run programs."""
    folder, tree = path.relative_to(ROOT / FRONTENDS).parts[0], _tree(path)
    if folder != "hosts":
        found = {module.split(".")[0] for module in _imported(_at_module_level(path))}
        assert not found & {"torch", "jax", "mpi4py"}, f"{_name(path)} imports {sorted(found)} at module level"
        wrong = [module for module in _imported(tree) if module.startswith("xdsl_rlx.lowering")]
        assert not wrong, f"{_name(path)} imports {wrong[0]}"
    for module in _imported(tree):
        assert module.split(".")[0] not in LINKED, f"{_name(path)} imports {module}: write xdsl_rlx.{module}"


@for_each([*SOURCES, *FACE], _name)
def test_the_package_imports_no_front_end_at_a_start(path: Path) -> None:
    found = [module for module in _imported(_at_module_level(path)) if FRONTENDS in module]
    assert not found, f"{_name(path)} imports {found[0]} at module level"


def test_there_is_one_canonicalizer_one_cse_and_one_dce() -> None:
    own = {
        "CanonicalizePass": "run mir-canonicalize",
        "CommonSubexpressionElimination": "run mir-cse",
        "DeadCodeElimination": "call remove_dead of transforms/dead_ops.py",
    }
    for path in (*SOURCES, *FACE):
        imports = (node for node in ast.walk(_tree(path)) if isinstance(node, ast.ImportFrom))
        for name in (alias.name for node in imports for alias in node.names):
            assert name not in own, f"{_name(path)}: {name}: {own[name]}"


@for_each(SOURCES, _name)
def test_nothing_but_the_backend_imports_the_backend(path: Path) -> None:
    # lowering/__init__.py says where the targets are
    if path.parts[-2:] != ("lowering", "__init__.py") and not path.is_relative_to(ROOT / "lowering" / "backend"):
        found = [module for module in _imported(_tree(path)) if "lowering.backend" in module]
        assert not found, f"{_name(path)} imports {found[0]}: what both need stands beside lowering/backend"


@for_each([path for path in SOURCES if path.parent.parent == ROOT / BACKEND[0]], _name)
def test_a_folder_of_the_backend_imports_those_before_it(path: Path) -> None:
    own = BACKEND.index(path.parent.name)
    for module in _imported(_tree(path)):
        if module.startswith("xdsl_rlx.lowering.backend."):
            folder = module.split(".")[3]
            assert BACKEND.index(folder) <= own, f"{_name(path)} imports {module}, which is above {path.parent.name}"


def _room(path: Path) -> int | None:
    """The number of the folder of lowering that a file is in, or of a file at its top; None for one that is new."""
    parts = path.relative_to(ROOT / "lowering").with_suffix("").parts
    names = ("/".join(parts[:2]), parts[0]) if len(parts) > 1 else parts
    return next((ROOMS.index(name) for name in names if name in ROOMS), None)


@for_each([path for path in sorted((ROOT / "lowering").rglob("*.py")) if path.name != "__init__.py"], _name)
def test_a_folder_of_lowering_imports_those_before_it(path: Path) -> None:
    own = _room(path)
    assert own is not None, "add the folder, or the file at the top of lowering, to ROOMS"
    for module in _imported(_tree(path)):
        file = (ROOT / module.removeprefix("xdsl_rlx.").replace(".", "/")).with_suffix(".py")
        if module.startswith("xdsl_rlx.lowering.") and file.exists():
            other = _room(file)
            assert other is not None and other <= own, f"{_name(path)} imports {module}, which is above it"


def test_no_modules_import_each_other_in_a_circle() -> None:
    sources = {path.relative_to(ROOT / "src"): path for path in FACE} | {
        Path("xdsl_rlx") / path.relative_to(ROOT): path for path in [*SOURCES, *READERS]
    }
    modules = {".".join(p.with_suffix("").parts).removesuffix(".__init__"): path for p, path in sources.items()}
    needs: dict[str, set[str]] = {}
    for name, path in modules.items():
        # those inside of functions, too: they hide circles
        tree = _stripped(path, _Needed())
        needs[name] = {x for node in ast.walk(tree) for x in _from(node, modules)} - {name}
    while free := [name for name, found in needs.items() if not found & needs.keys()]:
        for name in free:
            del needs[name]
    assert not needs, f"modules that import each other: {sorted(needs)}"


def _from(node: ast.AST, modules: Container[str]) -> Iterator[str]:
    """Which of the modules an import statement names; `a.b` of `from a import b`, if that is one."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in modules)
    elif isinstance(node, ast.ImportFrom) and node.module in modules:
        full = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name if name in modules else node.module for name in full)


def test_a_class_name_is_unique_in_its_folder() -> None:
    """Two folders may each have a `Buffer`: a rule for the whole tree breeds synonyms."""
    found: dict[tuple[Path, str], list[str]] = {}
    for path in (*SOURCES, *FACE, *READERS):
        for node in _tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault((path.parent, node.name), []).append(_name(path))
    shared = {name: paths for (_, name), paths in found.items() if len(paths) > 1}
    assert not shared, shared


def test_every_pass_is_registered() -> None:
    for path in SOURCES:
        for node in _tree(path).body:
            if isinstance(node, ast.ClassDef) and node.name.endswith("Pass"):
                names = [
                    x.value.value for x in node.body if isinstance(x, ast.Assign) and isinstance(x.value, ast.Constant)
                ]
                for name in names:
                    assert name in PASSES, f"{name} of {_name(path)} is missing in the __init__.py of its layer"


@for_each(PASSES)
def test_a_pass_stands_in_the_file_of_its_name_with_a_filecheck_file(name: str) -> None:
    pass_class = PASSES[name]()
    assert issubclass(pass_class, ModulePass)
    stem = name.replace("-", "_")
    assert pass_class.name == name
    assert pass_class.__module__.rsplit(".", 1)[-1] == stem, f"pass {name} stands in {pass_class.__module__}"
    assert pass_class.__name__ == "".join(word.capitalize() for word in name.split("-")) + "Pass"
    assert pass_class.__doc__, f"pass {name} has no docstring"
    layer = pass_class.__module__.split(".")[1]
    check = ROOT / "tests" / "filecheck" / layer / f"{stem}.mlir"
    assert check.exists(), f"pass {name} has no {_name(check)}"
    assert name in check.read_text(), f"{_name(check)} does not run {name}"


@for_each(lowering.UNIVERSE.all_targets)
def test_a_target_has_its_name_and_a_docstring(name: str) -> None:
    target = lowering.UNIVERSE.all_targets[name]()
    assert issubclass(target, Target)
    assert target.name == name
    assert target.__doc__, f"target {name} has no docstring"


@for_each(dialects.UNIVERSE.all_dialects)
def test_a_dialect_has_its_name_and_documented_ops_and_filecheck_files(name: str) -> None:
    dialect = dialects.UNIVERSE.all_dialects[name]()
    assert dialect.name == name
    texts = (ROOT / "tests" / "filecheck" / "dialects" / name).glob("*.mlir")
    listed = "".join(path.read_text() for path in texts if "invalid" not in path.stem)
    for op in dialect.operations:
        assert op.name.startswith(f"{name}."), f"{op.name} is in dialect {name}"
        assert op.__name__ == "".join(word.capitalize() for word in op.name.split(".")[1].split("_")) + "Op"
        assert op.__doc__, f"{op.name} has no docstring"
        assert op.name in listed, f"{op.name} is not in tests/filecheck/dialects/{name}"
    for stem in ("invalid", "canonicalize") if name == "mir" else ("invalid",):
        assert (ROOT / "tests" / "filecheck" / "dialects" / name / f"{stem}.mlir").exists(), f"no {stem}.mlir of {name}"


def test_every_folder_with_modules_is_a_package_that_setuptools_finds() -> None:
    found = set(find_packages(str(ROOT / "src")))
    for layer in LINKED:
        for folder in {path.parent for path in (ROOT / layer).rglob("*.py")}:
            package = ".".join(("xdsl_rlx", *folder.relative_to(ROOT).parts))
            assert (folder / "__init__.py").exists(), f"{_name(folder)} has modules but no __init__.py"
            assert package in found, f"setuptools does not find {package}"
    assert not set(LINKED) & found


@for_each([*SOURCES, *FACE, *READERS], _name)
def test_a_module_says_what_it_is_and_stays_readable(path: Path) -> None:
    text, tree = path.read_text(), _tree(path)
    if text.strip():
        assert ast.get_docstring(tree), f"{_name(path)} has no module docstring"
    assert len(text.splitlines()) <= 700, f"{_name(path)} is past reading: split it by family"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= 60, f"{node.name} in {_name(path)} has {length} lines: split it"


RAW = {
    *(f"{kind}{part}_def" for kind in ("", "opt_", "var_") for part in ("operand", "region")),
    *("prop_def", "opt_prop_def", "attr_def", "opt_attr_def", "opt_result_def"),
    *("AttrSizedOperandSegments", "AttrSizedResultSegments", "AttrSizedRegionSegments"),
}
"""Definitions of xDSL for which `mir/fields.py` has fields."""


@for_each([path for path in SOURCES if path.parent.name in ("mir", "hir")], _name)
def test_an_op_of_mir_or_hir_declares_fields(path: Path) -> None:
    if path.name != "fields.py":
        names = {
            alias.name for node in ast.walk(_tree(path)) if isinstance(node, ast.ImportFrom) for alias in node.names
        }
        assert not names & RAW, f"{_name(path)} imports {sorted(names & RAW)}: use the fields of mir/fields.py"


START = """
import sys
{statement}
print(*sorted({{name.split(".")[0] for name in sys.modules}} & set({heavy!r})))
"""


@pytest.mark.parametrize(
    "statement",
    ["import xdsl_rlx", "from xdsl.xdsl_opt_main import xDSLOptMain; xDSLOptMain(args=['/dev/null'])"],
    ids=["package", "xdsl-opt"],
)
def test_starting_imports_nothing_heavy(statement: str) -> None:
    script = START.format(statement=statement, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "", f"{statement} imports {done.stdout.strip()}"
