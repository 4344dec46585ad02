"""Shared by all tests: a compile cache of this run's own, double precision in JAX, other compilers in a hurry, the size
of the fuzz run, rare garbage collections, and no verdict by a processor that divides wrongly."""

import gc
import os
import sys
from collections.abc import Iterator
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path

import pytest

from xdsl_rlx.lowering.target import COMMON, Caches

# importlib mode does not put this directory on the path, where the helper modules of the tests are.
sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_ENABLE_X64", "1")
QUICK_XLA = (
    "--xla_backend_optimization_level=0",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)
"""XLA compiles an eager op in 20 ms with these and in 40 ms with the first alone, a small gradient in 60 and 200 ms.
XLA stops at a flag that it does not know, and later versions may not know the others."""
if "EVERY_SAMPLE" not in os.environ:
    # what XLA and Numba compile here runs once; `backend="numba"` takes text from Numba before it is optimised
    os.environ.setdefault("XLA_FLAGS", " ".join(QUICK_XLA if version("jaxlib").startswith("0.10.") else QUICK_XLA[:1]))
    os.environ.setdefault("NUMBA_OPT", "0")
    # threads of BLAS wait for each other by spinning, and with a worker on each core for as long as they work; workers
    # and processes of tests start with this
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    cases = 24 if "EVERY_SAMPLE" in os.environ else 8
    parser.addoption("--fuzz-cases", type=int, default=cases, help="programs per generator in tests/fuzz")
    parser.addoption(
        "--fault-turns", type=int, default=1, help="how often each fault of programs of several processes is tried"
    )
    parser.addoption("--mpi-python", help="the Python of an environment, whose MPI tests/distributed uses")


def pytest_configure(config: pytest.Config) -> None:
    from processor import DefectiveProcessor
    from sampling import Sampling

    def found() -> Path:
        return _folder_of_the_run(vars(config)["_tmp_path_factory"]) / "wrong_quotients"

    config.pluginmanager.register(DefectiveProcessor(found))
    config.pluginmanager.register(Sampling())
    config.addinivalue_line("markers", "optimised: programs are compiled as users get them, in `make test` too")


def pytest_collectstart() -> None:
    """What is imported and collected stays: looking for garbage among it took a tenth of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What modules and samples hold lives to the end: passing over it at each collection was a tenth of the time."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _folder_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """
    No test reads what an earlier run, perhaps of other code, left in the user's cache.

    The workers of a run share one folder: none compiles what another has compiled.
    """
    before = os.environ.get("XDSL_RLX_CACHE_DIR")
    os.environ["XDSL_RLX_CACHE_DIR"] = str(_folder_of_the_run(tmp_path_factory) / "cache")
    yield
    if before is None:
        del os.environ["XDSL_RLX_CACHE_DIR"]
    else:
        os.environ["XDSL_RLX_CACHE_DIR"] = before


@pytest.fixture(autouse=True)
def _effort(request: pytest.FixtureRequest) -> Iterator[None]:
    """Most programs are compiled quickly; what modules share is not."""
    from hurry import FULL, effort_of, hurry

    hurry(effort_of(request.node))
    yield
    hurry(FULL)


@pytest.fixture
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to eight threads are used, on any machine."""
    monkeypatch.setattr("xdsl_rlx.lowering.backend.driver.process.cores", lambda: 8)


@pytest.fixture
def common_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Programs are lowered for caches of common sizes, on any machine."""
    table = tmp_path / "caches.toml"
    table.write_text("".join(f"{field.name} = {getattr(COMMON, field.name)}\n" for field in fields(Caches)))
    monkeypatch.setenv("XDSL_RLX_COSTS", str(table))


@pytest.fixture(scope="session")
def mpi_python(request: pytest.FixtureRequest) -> str:
    """The Python of the environment whose MPI runs jobs of several processes."""
    # jobs have working directories of their own
    return os.path.abspath(request.config.getoption("--mpi-python") or sys.executable)
