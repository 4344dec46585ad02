"""The library that an installation holds as machine code."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx import build_library
from xdsl_rlx.dialects import lir
from xdsl_rlx.lowering import cache
from xdsl_rlx.lowering.backend.driver.process import driver, driver_key
from xdsl_rlx.lowering.backend.llvm.llvm_calls import common_versions, is_version
from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm_parts, library_calls
from xdsl_rlx.lowering.backend.machine import llvm
from xdsl_rlx.lowering.backend.machine.llvm import LIBRARY
from xdsl_rlx.lowering.backend.machine.model import cost_model
from xdsl_rlx.lowering.backend.runtime import shared_code
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir
from xdsl_rlx.lowering.kernel_library.common import common_functions
from xdsl_rlx.lowering.kernel_library.functions import is_function

NAMES = ["fourier_stage_4_x8_f32", "sort_network_v16_i32", "gemm_lines_16_v16_f32"]


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are compiled from now on, by a process without functions of the library and without a cache."""
    driver()
    texts: list[str] = []
    compile_llvm = llvm.compile_llvm

    def counted(*modules: str, effort: llvm.Effort = llvm.Effort.FULL) -> bytes:
        texts.extend(modules)
        return compile_llvm(*modules, effort=effort)

    monkeypatch.setenv("XDSL_RLX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "INSTALLED", tmp_path / "installed")
    monkeypatch.setattr(shared_code, "_addresses", {})
    monkeypatch.setattr(llvm, "compile_llvm", counted)
    return texts


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], None]:
    """Put the library of all names into a folder that is not there; it is built once."""
    library = tmp_path_factory.mktemp("library") / "installed"

    def copied(folder: Path) -> None:
        if not library.exists():
            build_library.build(NAMES, library)
        shutil.copytree(library, folder)

    return copied


def loaded() -> list[int]:
    return shared_code.addresses_of([f"{LIBRARY}{name}" for name in NAMES])


def test_functions_of_the_installation_are_not_compiled(
    compiled: list[str], tmp_path: Path, built: Callable[[Path], None]
):
    built(tmp_path / "installed")
    assert len(list((tmp_path / "installed").iterdir())) == len(NAMES) + 1
    assert cache.is_installed(driver_key())
    compiled.clear()
    assert len(set(loaded())) == len(NAMES)
    assert not compiled
    assert not (tmp_path / "cache").exists()


def test_functions_that_are_not_installed_are_compiled(compiled: list[str], tmp_path: Path):
    build_library.build(NAMES[:1], tmp_path / "installed")
    compiled.clear()
    loaded()
    assert {name for text in compiled for name in NAMES if f"@{LIBRARY}{name}(" in text} == set(NAMES[1:])


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:40] + b"\0" + data[41:], lambda _: b""])
def test_damaged_machine_code_is_not_used(
    compiled: list[str], tmp_path: Path, built: Callable[[Path], None], damage: Callable[[bytes], bytes]
):
    built(tmp_path / "installed")
    for file in (tmp_path / "installed").iterdir():
        file.write_bytes(damage(file.read_bytes()))
    compiled.clear()
    assert len(set(loaded())) == len(NAMES)
    assert compiled
    assert not cache.is_installed(driver_key())


def test_what_was_built_for_other_sources_is_replaced(compiled: list[str], tmp_path: Path):
    (tmp_path / "installed").mkdir()
    (tmp_path / "installed" / "old.bin").write_bytes(b"old")
    build_library.build(NAMES[:1], tmp_path / "installed")
    assert not (tmp_path / "installed" / "old.bin").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["installed"]


def test_functions_that_are_twice_are_loaded_once(compiled: list[str]):
    """Entries that were compiled at different times may have a function in common."""
    codes = [
        llvm.compile_llvm("".join(f"define void @{LIBRARY}{name}() {{ ret void }}\n" for name in names))
        for names in (("a", "b"), ("b", "c"))
    ]
    for name, code in (("a", codes[0]), ("b", codes[0]), ("c", codes[1])):
        cache.store(shared_code.function_key(name), code)
    compiled.clear()
    assert len(set(shared_code.addresses_of([f"{LIBRARY}{name}" for name in "abc"]))) == 3
    assert not compiled


def test_names_are_those_of_functions():
    names = common_functions(cost_model())
    assert len(names) == len(set(names))
    assert all(map(is_function, names))
    assert all(map(is_version, common_versions()))


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        *((lambda x, y: x @ y, ((m, 512), (512, n))) for m, n in ((512, 512), (1000, 64), (128, 96), (70, 256))),
        (lambda x, y: x.T @ y, ((512, 256), (512, 256))),
        *((lambda x: np.abs(np.fft.rfft(x)), ((16, n),)) for n in (64, 100, 1009, 675)),
        (lambda x: np.fft.ifft(x).imag, ((3, 60),)),
        *((lambda x: np.sort(x, axis=1), ((40, n),)) for n in (64, 1000)),
        *((lambda x: np.cov(x, rowvar=False), ((20_000, n),)) for n in (10, 16)),
        (lambda x: np.sin(np.sin(np.sin(np.sin(x)))), ((1000,),)),
        (lambda x: rlx.special.digamma(x), ((1000,),)),
    ],
)
def test_the_functions_of_a_program_are_among_them(f: Callable[..., object], shapes: tuple[tuple[int, ...], ...]):
    arrays = [np.ones(shape, np.float32) for shape in shapes]
    module = lower_to_lir(rlx.compile(f).trace(*arrays).module, 1)
    called = {op.function.data for op in module.walk() if isinstance(op, lir.CallFunctionOp)}
    called |= {name for text in emit_llvm_parts(module) for name in library_calls(text)}
    assert called
    assert called <= {*common_functions(cost_model()), *common_versions()}


def test_the_command_builds_what_is_not_there(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(build_library, "INSTALLED", cache.INSTALLED)
    monkeypatch.setattr(build_library, "common_functions", lambda _: NAMES)
    monkeypatch.setattr(build_library, "common_versions", list[str])
    build_library.main()
    assert capsys.readouterr().out.startswith(f"{cache.INSTALLED}: 3 functions, ")
    build_library.main()
    assert capsys.readouterr().out == f"{cache.INSTALLED} has the library of this processor\n"
