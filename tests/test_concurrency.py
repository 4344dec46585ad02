"""`rlx.compile` from many threads and processes, with a damaged or read-only cache, and after fork: the same bits."""

import ast
import os
import subprocess
import sys
import threading
import warnings
from glob import glob
from pathlib import Path
from typing import Any

import models
import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.run_errors import CacheWarning

GRAPHS = {"mlp": (models.mlp_step, models.mlp_arrays), "norm": (models.norm_step, models.norm_arrays)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("XDSL_RLX_CACHE_DIR", str(tmp_path))
    return tmp_path


def bits(results: tuple[np.ndarray[Any, Any], ...]) -> bytes:
    return b"".join(result.tobytes() for result in results)


def expected(name: str, threads: int) -> bytes:
    step, arrays = GRAPHS[name]
    return bits(rlx.compile(step(), threads)(**arrays()))


def test_four_threads_compile_at_once_on_an_empty_cache(folder: Path):
    start, results, failures = threading.Barrier(4), list[tuple[str, bytes]](), list[BaseException]()

    def work(name: str) -> None:
        step, arrays = GRAPHS[name]
        try:
            start.wait()
            compiled = rlx.compile(step(), 2)
            results.extend((name, bits(compiled(**arrays()))) for _ in range(20))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("mlp", "norm", "mlp", "norm")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(results) == 80 and set(results) == {(name, expected(name, 2)) for name in GRAPHS}
    assert len(list(folder.glob("*.bin"))) >= 2 and not list(folder.glob("*.tmp"))


PROCESS = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
from test_concurrency import GRAPHS, bits
import xdsl_rlx as rlx
for name, (step, arrays) in GRAPHS.items():
    compiled = rlx.compile(step(), 2)
    found = {hashlib.sha256(bits(compiled(**arrays()))).hexdigest() for _ in range(20)}
    print(name, compiled.from_cache, *found)
"""


def run_process() -> "subprocess.Popen[str]":
    command = [sys.executable, "-W", "error", "-c", PROCESS, str(Path(__file__).parent)]
    environment = os.environ | {"PYTHONPATH": str(Path(rlx.__file__).parents[1])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def lines(process: "subprocess.Popen[str]") -> list[list[str]]:
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    return [line.split() for line in out.splitlines()]


def test_processes_compile_at_once_on_an_empty_cache(folder: Path):
    found = [lines(process) for process in [run_process() for _ in range(2)]]
    # one set of bits per graph in every process, and the same in all
    assert {len(line) for process in found for line in process} == {3}
    digests = [[(name, digest) for name, _, digest in process] for process in found]
    assert all(process == digests[0] for process in digests) and len(digests[0]) == len(GRAPHS)
    # a process that comes later compiles nothing
    assert [[name, was, digest] for name, was, digest in lines(run_process())] == [
        [name, "True", digest] for name, digest in digests[0]
    ]


@pytest.mark.parametrize("keep", [0, 20, 0.5, 0.999])
def test_a_truncated_entry_is_one_warning_and_right_results(folder: Path, keep: float):
    step, arrays = models.mlp_step(), models.mlp_arrays()
    right = bits(rlx.compile(step, 1)(**arrays))
    for entry in folder.glob("*.bin"):
        data = entry.read_bytes()
        entry.write_bytes(data[: int(keep * len(data)) if isinstance(keep, float) else keep])
    with pytest.warns(CacheWarning, match="damaged") as caught:
        again = rlx.compile(step, 1)
    assert len(caught) == 1 and not again.from_cache and bits(again(**arrays)) == right
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        third = rlx.compile(step, 1)
    assert third.from_cache and bits(third(**arrays)) == right


def test_a_read_only_cache_is_read_and_not_missed(folder: Path, monkeypatch: pytest.MonkeyPatch):
    right = {name: expected(name, 1) for name in ("mlp",)}

    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(30, "Read-only file system")

    # permissions do not bind root, so the calls that would write are made to fail
    for name in ("utime", "pwrite", "replace"):
        monkeypatch.setattr(os, name, refuse)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert expected("mlp", 1) == right["mlp"]
    with pytest.warns(CacheWarning, match="cannot be written") as caught:
        first = expected("norm", 1)
        second = expected("norm", 1)
    assert len(caught) == 1 and first == second


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_runs_and_compiles(folder: Path):
    step, arrays = GRAPHS["norm"]
    compiled = rlx.compile(step(), 2)
    right = bits(compiled(**arrays()))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            other = rlx.compile(models.mlp_step(), 2)(**models.mlp_arrays())
            ran = all(bits(compiled(**arrays())) == right for _ in range(10))
            status = 0 if ran and all(np.isfinite(result).all() for result in other) else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert bits(compiled(**arrays())) == right


@pytest.mark.usefixtures("eight_cores")
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("name", GRAPHS)
def test_results_are_the_same_from_run_to_run(name: str, threads: int):
    step, arrays = GRAPHS[name]
    given = arrays()
    found = {
        bits(compiled(**given)) for compiled in (rlx.compile(step(), threads) for _ in range(2)) for _ in range(25)
    }
    assert len(found) == 1


def test_threads_share_one_compiled_graph():
    step, arrays = GRAPHS["norm"]
    compiled, given = rlx.compile(step(), 2), arrays()
    right, found = bits(compiled(**given)), set[bytes]()

    def work() -> None:
        found.update({bits(compiled(**given)) for _ in range(20)})

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {right}


def _is_module(name: str) -> bool:
    place = Path(rlx.__file__).parent.joinpath(*name.split(".")[1:])
    return place.is_dir() or place.with_suffix(".py").exists()


def _imported_late() -> set[str]:
    """The modules of the package that functions of it import when they are called."""
    found: set[str] = set()
    for path in map(Path, glob(f"{Path(rlx.__file__).parent}/**/*.py", recursive=True)):
        functions = [one for one in ast.walk(ast.parse(path.read_text())) if isinstance(one, ast.FunctionDef)]
        for node in (node for function in functions for node in ast.walk(function)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("xdsl_rlx"):
                found |= {str(node.module), *(f"{node.module}.{one.name}" for one in node.names)}
    return {*filter(_is_module, found)}


def test_nothing_is_imported_late_but_the_emitters():
    """Once a name of the package was used: two threads could wait for each other."""
    folders = ("xdsl_rlx.lowering.backend.llvm", "xdsl_rlx.lowering.backend.numba")
    emitters = (*folders, "xdsl_rlx.lowering.backend.runtime.targets")
    late = _imported_late()
    assert len(late) > 10
    left = sorted(name for name in late if name.startswith(emitters))
    script = f"""
import importlib, sys, xdsl_rlx
xdsl_rlx.Graph
print(*sys.modules)
before = {{*sys.modules}}
for name in {left}:
    importlib.import_module(name)
print(*(name for name in {{*sys.modules}} - before if name.startswith("xdsl_rlx")))
"""
    environment = os.environ | {"PYTHONPATH": str(Path(rlx.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    loaded, more = (set(line.split()) for line in done.stdout.splitlines())
    assert late - loaded <= {*left}
    # nor do these wait for a package that imports its own modules
    folder = Path(rlx.__file__).parent
    packages = {name.rpartition(".")[0] for name in more}
    inits = [
        folder.joinpath(*name.split(".")[1:], "__init__.py").read_text() for name in packages - loaded | {*folders}
    ]
    assert not any("import" in text for text in inits)
