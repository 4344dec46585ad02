"""The on-disk cache: whole entries or none, whatever happens to the folder."""

import errno
import multiprocessing
import os
import signal
import stat
import struct
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering import cache
from xdsl_rlx.lowering.backend.driver.manifest import Program, pack, unpack
from xdsl_rlx.lowering.backend.driver.process import driver
from xdsl_rlx.lowering.backend.machine import cpu, objects
from xdsl_rlx.lowering.backend.machine.llvm import Effort, compile_llvm, environment_key, host
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph
from xdsl_rlx.lowering.run_errors import CacheWarning, ConfigurationError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without entries, also of the driver: this process has it."""
    driver()
    monkeypatch.setenv("XDSL_RLX_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.bin"))


@pytest.mark.parametrize("payload", [b"", b"x", bytes(100_000)])
def test_what_is_stored_is_loaded(folder: Path, payload: bytes):
    assert cache.load("key") is None
    cache.store("key", payload)
    assert cache.load("key") == payload
    assert sorted(path.name for path in folder.iterdir()) == ["key.bin", "total"]


@pytest.mark.parametrize("keep", [0, 10, 47, 60])
def test_a_truncated_entry_is_reported_once_and_replaced(folder: Path, keep: int):
    compiled()
    (entry,) = entries(folder)
    entry.write_bytes(entry.read_bytes()[:keep])
    compiled_anew("damaged")


def compiled() -> CompiledGraph:
    """The sum of two vectors, from the cache if it is there."""
    g = rlx.Graph("sum")
    g.set_outputs([g.input("x", (8,)) + g.input("y", (8,))])
    return compile_module(g.module, 1, Effort.QUICK)


def compiled_anew(warning: str) -> None:
    """The program is compiled again with one warning, and then comes from the cache with none."""
    with pytest.warns(CacheWarning, match=warning) as caught:
        graph = compiled()
    assert [str(one.message) for one in caught if one.category is not CacheWarning] == [] and len(caught) == 1
    assert not graph.from_cache and right(graph)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = compiled()
    assert graph.from_cache and right(graph)


def right(graph: CompiledGraph) -> bool:
    x = np.arange(8, dtype=np.float32)
    return np.array_equal(graph(x, x)[0], x + x)


def test_one_changed_byte_is_noticed(folder: Path):
    cache.store("key", bytes(1000))
    (entry,) = entries(folder)
    data = bytearray(entry.read_bytes())
    data[500] ^= 1
    entry.write_bytes(data)
    with pytest.warns(CacheWarning, match=r"key\.bin is damaged"):
        assert cache.load("key") is None


def test_an_entry_serves_no_other_key(folder: Path):
    cache.store("a", b"one")
    cache.store("b", b"two")
    a, b = entries(folder)
    a.rename(folder / "c")
    b.rename(a)
    (folder / "c").rename(b)
    for key in "ab":
        with pytest.warns(CacheWarning, match=rf"{key}\.bin is damaged"):
            assert cache.load(key) is None


def test_an_entry_of_other_versions_is_a_miss(folder: Path, monkeypatch: pytest.MonkeyPatch):
    cache.store("key", b"payload")
    monkeypatch.setattr(cache, "versions_key", lambda: "of tomorrow")
    with pytest.warns(CacheWarning, match="damaged"):
        assert cache.load("key") is None


def no_object(program: Program, code: bytes) -> bytes:
    return pack(program, b"no object")


def cut_object(program: Program, code: bytes) -> bytes:
    return pack(program, code[: len(code) // 2])


def cut_bundle(program: Program, code: bytes) -> bytes:
    return pack(program, objects.join([code, code])[:-1])


def other_object(program: Program, code: bytes) -> bytes:
    return pack(program, compile_llvm("define void @other() { ret void }"))


def needy_object(program: Program, code: bytes) -> bytes:
    # a function of the machine that wrote the entry, which a linker would not find here
    (kernel,) = program.kernels
    text = f"declare i32 @getpid()\ndefine void @{kernel}() {{\n  call i32 @getpid()\n  ret void\n}}"
    return pack(program, compile_llvm(text).replace(b"\0getpid\0", b"\0getqid\0"))


def no_program(program: Program, code: bytes) -> bytes:
    return b"payload"


def no_fields(program: Program, code: bytes) -> bytes:
    return struct.pack("<QQ", 2, 0) + b"[]" + code


@pytest.mark.parametrize(
    "payload", [no_object, cut_object, cut_bundle, other_object, needy_object, no_program, no_fields]
)
def test_an_entry_that_cannot_be_loaded_is_compiled_anew(folder: Path, payload: Callable[..., bytes]):
    compiled()
    (entry,) = entries(folder)
    program, code = unpack(cache.load(entry.stem) or b"")
    # the digest fits
    cache.store(entry.stem, payload(program, code))
    compiled_anew("cannot be loaded")


def a_link(entry: Path) -> None:
    entry.rename(entry.with_name("elsewhere"))
    entry.symlink_to(entry.with_name("elsewhere"))


def a_pipe(entry: Path) -> None:
    entry.unlink()
    os.mkfifo(entry)


def a_socket(entry: Path) -> None:
    entry.unlink()
    os.mknod(entry, stat.S_IFSOCK | 0o600)


def a_huge_file(entry: Path) -> None:
    os.truncate(entry, 1 << 40)


def writable_by_others(entry: Path) -> None:
    entry.chmod(0o620)


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        (a_link, "is not a regular file"),
        (a_pipe, "is not a regular file"),
        (a_socket, "is not a regular file"),
        (a_huge_file, "has entries larger than XDSL_RLX_CACHE_BYTES="),
        (writable_by_others, "can be written by other users"),
    ],
)
def test_a_file_that_is_no_entry_is_not_opened(folder: Path, change: Callable[[Path], None], warning: str):
    compiled()
    (entry,) = entries(folder)
    change(entry)
    compiled_anew(warning)


def test_a_folder_in_the_place_of_an_entry(folder: Path):
    compiled()
    (entry,) = entries(folder)
    entry.unlink()
    entry.mkdir()
    with pytest.warns(CacheWarning) as caught:
        first, second = compiled(), compiled()
    assert right(first) and right(second)
    # each load says so, and once that nothing can be stored there
    assert ["regular" in str(one.message) for one in caught] == [True, False, True]


def test_the_folder_is_the_users_alone(folder: Path):
    cache.store("key", b"payload")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "key.bin")] == [0o700, 0o600]


def writable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.chmod(0o770)


def of_another(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)


@pytest.mark.parametrize(
    ("change", "warning"), [(writable, "can be written by other users"), (of_another, "belongs to another user")]
)
def test_a_folder_that_others_can_change_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[..., None], warning: str
):
    compiled()
    change(folder, monkeypatch)
    with pytest.warns(CacheWarning, match=rf"{warning}, which XDSL_RLX_CACHE_TRUST=1 would allow") as caught:
        found = [compiled() for _ in range(2)]
        cache.store("other", b"payload")
    assert len(caught) == 1 and not (folder / "other.bin").exists()
    assert [graph.from_cache for graph in found] == [False, False] and right(found[0])
    monkeypatch.setenv("XDSL_RLX_CACHE_TRUST", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled().from_cache
        cache.store("other", b"payload")
    assert cache.load("other") == b"payload"


def test_trust_is_yes_or_no(folder: Path, monkeypatch: pytest.MonkeyPatch):
    cache.store("key", b"payload")
    monkeypatch.setenv("XDSL_RLX_CACHE_TRUST", "0")
    assert cache.load("key") == b"payload"
    monkeypatch.setenv("XDSL_RLX_CACHE_TRUST", "yes")
    with pytest.raises(ConfigurationError, match="XDSL_RLX_CACHE_TRUST must be 0 or 1, got 'yes'"):
        cache.load("key")


def test_a_folder_that_cannot_be_written_warns_once(folder: Path, monkeypatch: pytest.MonkeyPatch):
    # a file where the folder should be: also root cannot write there
    folder.write_text("")
    monkeypatch.setenv("XDSL_RLX_CACHE_DIR", str(folder / "cache"))
    with pytest.warns(CacheWarning, match="cannot be written") as caught:
        first, second = compiled(), compiled()
    assert len(caught) == 1 and first.program == second.program


@pytest.mark.parametrize("part", ["a", "a/"])
@pytest.mark.parametrize("length", [4_000, 6_000])
def test_a_path_that_is_too_long_warns_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, length: int):
    driver()
    monkeypatch.setenv("XDSL_RLX_CACHE_DIR", f"{tmp_path}/{part * (length // len(part))}")
    with pytest.warns(CacheWarning, match="cannot be written") as caught:
        found = [compiled() for _ in range(2)]
    assert len(caught) == 1 and right(found[0]) and not [*tmp_path.iterdir()]


def test_a_user_without_a_home_warns_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def unknown(user: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {user}")

    driver()
    for name in ("HOME", "XDG_CACHE_HOME", "XDSL_RLX_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    monkeypatch.chdir(tmp_path)
    with pytest.warns(CacheWarning, match="has no folder .*XDSL_RLX_CACHE_DIR names one") as caught:
        found = [compiled() for _ in range(2)]
    assert len(caught) == 1 and right(found[0]) and not [*tmp_path.iterdir()]


def test_a_read_only_folder_is_still_read(folder: Path, monkeypatch: pytest.MonkeyPatch):
    cache.store("key", b"payload")
    real = os.open

    def read_only(path: str, flags: int, *args: int, **kwargs: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, "Read-only file system")
        return real(path, flags, *args, **kwargs)

    def refuse(*args: object):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "open", read_only)
    monkeypatch.setattr(os, "utime", refuse)
    assert cache.load("key") == b"payload"
    with pytest.warns(CacheWarning, match=r"cannot be written \(Read-only file system\)"):
        cache.store("other", b"")


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in entries(folder))


def test_the_least_recently_used_entries_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch):
    for number, key in enumerate("abcd"):
        cache.store(key, bytes(1000))
        os.utime(folder / f"{key}.bin", (number, number))
    cache.load("a")
    monkeypatch.setenv("XDSL_RLX_CACHE_BYTES", str(size_of(folder)))
    cache.store("e", bytes(1000))
    assert [path.name for path in entries(folder)] == ["a.bin", "d.bin", "e.bin"]


def test_the_limit_is_kept_while_storing(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_CACHE_BYTES", "50000")
    for number in range(100):
        cache.store(f"key{number:03}", bytes(1000))
        assert size_of(folder) <= 50_000
    assert cache.load("key099") == bytes(1000)
    cache.store("large", bytes(50_000))
    assert cache.load("large") is None and cache.load("key099") == bytes(1000)


def test_a_limit_below_the_entries_warns_once_and_none_turns_the_cache_off(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    for key in "abc":
        cache.store(key, bytes(1000))
    monkeypatch.setenv("XDSL_RLX_CACHE_BYTES", "10")
    with pytest.warns(CacheWarning) as caught:
        assert [cache.load(key) for key in "abc"] == [None] * 3
    assert ["has entries larger than XDSL_RLX_CACHE_BYTES=10" in str(one.message) for one in caught] == [True]
    monkeypatch.setenv("XDSL_RLX_CACHE_BYTES", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.store("d", bytes(10))
        assert [cache.load(key) for key in "abcd"] == [None] * 4
    assert [path.stem for path in entries(folder)] == ["a", "b", "c"]


def test_the_limit_is_kept_whatever_others_put_there(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_CACHE_BYTES", "50000")
    cache.store("key", bytes(1000))
    (folder / "copied.bin").write_bytes(bytes(49_000))
    monkeypatch.setattr(cache, "_scanned", set[str]())
    cache.store("other", bytes(1000))
    assert size_of(folder) <= 50_000
    for text in ("", "-1", "x"):
        (folder / "total").write_text(text)
        cache.store("other", bytes(1000))
        assert 50_000 > int((folder / "total").read_text()) >= size_of(folder)


def in_processes(count: int, work: Callable[[int], None]) -> None:
    """Run `work` in forked children at once."""
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=work, args=(number,)) for number in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        process.kill()
        process.join()
        assert process.exitcode == 0


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_the_limit_is_kept_by_processes_that_store_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_CACHE_BYTES", "20000")
    cache.store("key", b"")

    def work(writer: int) -> None:
        for number in range(30):
            key = f"{writer} {number}"
            cache.store(key, bytes(1000))
            with suppress(FileNotFoundError):
                # entries may go while they are counted, but none comes that has no room
                assert size_of(folder) <= 20_000

    in_processes(4, work)
    assert 10_000 < size_of(folder) <= 20_000 and not list(folder.glob("*.tmp"))


def test_what_dead_writers_left_goes(folder: Path):
    cache.store("key", b"payload")
    (folder / "new.tmp").write_bytes(b"of one that died a moment ago")
    (folder / "old.tmp").write_bytes(b"of another version")
    (folder / "young.tmp").write_bytes(b"of one that may be alive")
    os.utime(folder / "old.tmp", (0, 0))
    cache._scanned.clear()
    cache.store("other", b"payload")
    assert sorted(path.name for path in folder.glob("*.tmp")) == ["young.tmp"]


def killed(step: int, work: Callable[[], None]) -> bool:
    """Whether a forked child that runs `work` comes to the call of that number into the file system, and dies there."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == signal.SIGKILL
    calls = list[str]()

    def counted(call: Callable[..., object]) -> Callable[..., object]:
        def run(*args: object, **kwargs: object) -> object:
            calls.append(call.__name__)
            if len(calls) > step:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return run

    try:
        for name in ("open", "unlink", "replace", "pwrite", "close"):
            setattr(os, name, counted(getattr(os, name)))
        cache.fcntl.flock = counted(cache.fcntl.flock)
        work()
    finally:
        os._exit(0)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_writer_may_be_killed_anywhere(folder: Path):
    cache.store("key", b"payload")
    step = 0
    while killed(step, lambda: cache.store("key", b"another payload")):
        step += 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert cache.load("key") in (b"payload", b"another payload")
            cache.store("other", b"payload")
            assert cache.load("other") == b"payload" and not list(folder.glob("*.tmp"))
        assert int((folder / "total").read_text()) >= size_of(folder)
    # folder, total, lock, count, old file, new file, rename, unlock, and what is closed
    assert step == 10


def test_a_process_that_holds_the_lock_keeps_nobody(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cache, "_LOCK_SECONDS", 0.01)
    cache.store("key", b"payload")
    with open(folder / "total", "rb") as file:
        cache.fcntl.flock(file, cache.fcntl.LOCK_EX)
        with pytest.warns(CacheWarning, match=r"cannot be written \(another process has it locked\)"):
            cache.store("other", b"payload")
        assert cache.load("key") == b"payload"
    cache.store("other", b"payload")
    assert cache.load("other") == b"payload"


def test_a_limit_that_is_no_number_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_CACHE_BYTES", "1GB")
    with pytest.raises(ConfigurationError, match="XDSL_RLX_CACHE_BYTES must be a number of bytes, got '1GB'"):
        cache.store("key", b"")


def test_the_default_folder_is_the_users(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("XDSL_RLX_CACHE_DIR", raising=False)
    assert cache.directory().name == "xdsl-rlx"


def test_the_environment_key_is_stable_and_names_the_processor(monkeypatch: pytest.MonkeyPatch):
    own = environment_key()
    for level in cpu.possible_levels(host()):
        monkeypatch.setenv(cpu.VARIABLE, level)
        assert environment_key() == environment_key() != own
    monkeypatch.setenv(cpu.VARIABLE, "native")
    assert environment_key() == own


def test_threads_share_the_cache(folder: Path):
    results = list[CompiledGraph]()
    threads = [threading.Thread(target=lambda: results.append(compiled())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and all(map(right, results))


PROCESS = """
import sys, threading
from pathlib import Path
import numpy as np
import xdsl_rlx as rlx
from xdsl_rlx.lowering import cache
cache.INSTALLED = Path("nowhere")
x = np.arange(100_000, dtype=np.float64)
wrong = []
def work():
    g = rlx.Graph("shared")
    g.set_outputs([g.reduce_sum(g.input("x", x.shape, "f64"))])
    graph = rlx.compile(g, threads=2)
    wrong.extend(1 for _ in range(50) if graph(x)[0] != 4999950000)
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(wrong), "numba" in sys.modules)
"""


def test_processes_with_threads_share_an_empty_cache(folder: Path):
    command = [sys.executable, "-W", "error", "-c", PROCESS]
    environment = os.environ | {"PYTHONPATH": str(Path(rlx.__file__).parents[1])}
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    # and nothing of this needs Numba's front end
    assert [process.communicate(timeout=120)[0].split() for process in processes] == [["0", "False"]] * 2
    assert len(entries(folder)) == 2 and not list(folder.glob("*.tmp"))
