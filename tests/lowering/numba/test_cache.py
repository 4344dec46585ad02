"""The on-disk cache: whole entries or none, whatever happens to the folder."""

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import xdsl_rlx
from xdsl_rlx.lowering.errors import CacheWarning, ConfigurationError
from xdsl_rlx.lowering.numba import cache, cpu
from xdsl_rlx.lowering.numba.compile import host
from xdsl_rlx.lowering.numba.runtime import CompiledGraph, compile_cached


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDSL_RLX_CACHE_DIR", str(tmp_path))
    monkeypatch.setitem(cache._state, "warned", False)
    monkeypatch.setitem(cache._state, "stores", 0)
    return tmp_path


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.bin"))


@pytest.mark.parametrize("payload", [b"", b"x", bytes(100_000)])
def test_what_is_stored_is_loaded(folder: Path, payload: bytes):
    assert cache.load("key") is None
    cache.store("key", payload)
    assert cache.load("key") == payload
    assert [path.name for path in folder.iterdir()] == ["key.bin"]


@pytest.mark.parametrize("keep", [0, 10, 47, 60])
def test_a_truncated_entry_is_reported_once_and_replaced(folder: Path, keep: int, make):
    calls = list[int]()

    def build():
        calls.append(1)
        return make.add(8), make.text

    _, code = compile_cached("key", build)
    (entry,) = entries(folder)
    entry.write_bytes(entry.read_bytes()[:keep])
    with pytest.warns(CacheWarning, match="damaged") as caught:
        again, code_again = compile_cached("key", build)
    assert len(caught) == 1 and (again, code_again) == (make.add(8), code)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compile_cached("key", build) == (again, code)
    assert len(calls) == 2


def test_one_changed_byte_is_noticed(folder: Path):
    cache.store("key", bytes(1000))
    (entry,) = entries(folder)
    data = bytearray(entry.read_bytes())
    data[500] ^= 1
    entry.write_bytes(data)
    with pytest.warns(CacheWarning, match=r"key\.bin is damaged"):
        assert cache.load("key") is None


def test_a_folder_that_cannot_be_written_warns_once(folder: Path, monkeypatch: pytest.MonkeyPatch, make):
    # a file where the folder should be: also root cannot write there
    (folder / "file").write_text("")
    monkeypatch.setenv("XDSL_RLX_CACHE_DIR", str(folder / "file" / "cache"))
    with pytest.warns(CacheWarning, match="cannot be written") as caught:
        first = compile_cached("a", lambda: (make.add(8), make.text))
        second = compile_cached("a", lambda: (make.add(8), make.text))
    assert len(caught) == 1 and first == second


def test_a_read_only_folder_is_still_read(folder: Path, monkeypatch: pytest.MonkeyPatch):
    cache.store("key", b"payload")

    def refuse(*args: object, **kwargs: object):
        raise PermissionError("read-only")

    monkeypatch.setattr(cache.tempfile, "mkstemp", refuse)
    monkeypatch.setattr(cache.os, "utime", refuse)
    assert cache.load("key") == b"payload"
    with pytest.warns(CacheWarning, match="cannot be written"):
        cache.store("other", b"")


def test_the_least_recently_used_entries_go_first(folder: Path):
    for number, key in enumerate("abcd"):
        cache.store(key, bytes(1000))
        os.utime(folder / f"{key}.bin", (number, number))
    cache.load("a")
    size = entries(folder)[0].stat().st_size
    cache.prune(folder, 2 * size)
    assert [path.name for path in entries(folder)] == ["a.bin", "d.bin"]


def test_the_limit_is_kept_while_storing(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_CACHE_BYTES", "50000")
    for number in range(100):
        cache.store(f"key{number:03}", bytes(1000))
    assert sum(path.stat().st_size for path in entries(folder)) <= 50_000 + 16 * 1048
    assert cache.load("key099") == bytes(1000)


def test_a_limit_that_is_no_number_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_CACHE_BYTES", "1GB")
    with pytest.raises(ConfigurationError, match="XDSL_RLX_CACHE_BYTES must be a number of bytes, got '1GB'"):
        cache.store("key", b"")


def test_the_default_folder_is_the_users(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("XDSL_RLX_CACHE_DIR", raising=False)
    assert cache.directory().name == "xdsl-rlx"


def test_the_environment_key_is_stable_and_names_the_processor(monkeypatch: pytest.MonkeyPatch):
    own = cache.environment_key()
    for level in cpu.possible_levels(host()):
        monkeypatch.setenv(cpu.VARIABLE, level)
        assert cache.environment_key() == cache.environment_key() != own
    monkeypatch.setenv(cpu.VARIABLE, "native")
    assert cache.environment_key() == own


def test_threads_share_the_cache(folder: Path, make):
    results = list[tuple[object, bytes]]()
    threads = [
        threading.Thread(target=lambda: results.append(compile_cached("key", lambda: (make.add(8), make.text))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and all(result == results[0] for result in results)
    x = np.arange(8, dtype=np.float32)
    assert np.array_equal(CompiledGraph(*results[0], 1)(x, x)[0], x + x)


PROCESS = """
import sys, threading
sys.path.insert(0, sys.argv[1])
import numpy as np
from conftest import TEXT, sum_program
from xdsl_rlx.lowering.numba.runtime import CompiledGraph, compile_cached
x = np.arange(1000, dtype=np.float32)
wrong = []
def work():
    graph = CompiledGraph(*compile_cached("shared", lambda: (sum_program(1000), TEXT)), 2)
    wrong.extend(1 for _ in range(50) if graph(x)[0] != 499500)
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(wrong), "numba" in sys.modules)
"""


def test_processes_with_threads_share_an_empty_cache(folder: Path):
    command = [sys.executable, "-W", "error", "-c", PROCESS, str(Path(__file__).parent)]
    environment = os.environ | {"PYTHONPATH": str(Path(xdsl_rlx.__file__).parents[1])}
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(4)]
    # and nothing of this needs Numba's front end
    assert [process.communicate(timeout=120)[0].split() for process in processes] == [["0", "False"]] * 4
    assert len(entries(folder)) == 2 and not list(folder.glob("*.tmp"))
