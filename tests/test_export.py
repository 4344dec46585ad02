"""Exported libraries: the same bits as compiled programs, from Python and from C, and what they say of wrong use."""

import ctypes
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import models
import numpy as np
import pytest

import xdsl_rlx as rlx

ROOT = Path(__file__).resolve().parents[1]
LEVEL = "x86-64-v3"

rng = np.random.default_rng(0)


def normal(*shape: int, dtype: str = "f4") -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


def bits(results: Any) -> list[bytes]:
    return [np.asarray(x).tobytes() for x in results]


def spd(n: int) -> np.ndarray:
    x = normal(n, n, dtype="f8")
    return x @ x.T + n * np.eye(n)


def collatz(n: Any) -> Any:
    def body(state: Any) -> Any:
        n, steps = state
        return np.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

    return rlx.while_loop(lambda state: (state[0] != 1).all(), body, (n, np.int32(0)))[1]


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "two threads": (lambda x, w: np.tanh(x @ w).sum(axis=0), (normal(700, 300), normal(300, 500))),
    "loop with history": (
        lambda x: rlx.scan(lambda c, x: (np.tanh(c + x), c * 2), np.zeros(9, np.float32), x),
        (normal(50, 9),),
    ),
    "while": (collatz, (np.int32(27),)),
    "branch": (lambda x: rlx.cond(x.sum() > 0, np.sin, np.cos, x), (normal(40),)),
    "LAPACK": (lambda a, b: np.linalg.solve(a, b) + np.linalg.cholesky(a), (spd(90), normal(90, 90, dtype="f8"))),
    "complex": (lambda x: np.fft.fft(x) * 2j, (normal(60, dtype="f8") + 1j,)),
    "transforms": (
        lambda x, z: (np.fft.irfft(np.fft.rfft(x), n=75) * 2, np.fft.ifft(z), np.fft.rfft(z.real)),
        (normal(19, 75), normal(3, 1009, dtype="f8") + 1j),
    ),
    "bf16": (lambda x: x @ x, (normal(33, 33).astype(ml_dtypes.bfloat16),)),
    "integers": (lambda x, y: (np.sort(x), x % 7, y & 12), (rng.integers(-99, 99, 200), np.uint8([1, 5, 13]))),
    "booleans": (lambda x: ((x > 0), (x > 0).any()), (normal(17),)),
    "empty": (lambda x: (x * 2, x.sum()), (normal(0, 3),)),
    "no arguments": (lambda: np.arange(5) * 2, ()),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_library_gives_the_bits_of_the_program(name: str, tmp_path: Path) -> None:
    function, arguments = PROGRAMS[name]
    compiled = rlx.compile(function, threads=2).compiled(*arguments)
    library = rlx.load_export(rlx.export(compiled, tmp_path / "program"), threads=2)
    for _ in range(3):
        assert bits(library(*arguments)) == bits(compiled(*arguments))


def test_params_that_a_program_updates(tmp_path: Path) -> None:
    """Weights are part of the library, and each instance trains its own."""
    step = rlx.compile(models.mlp_step(), threads=2)
    arrays = models.mlp_arrays()
    for name in step.params:
        step.set_param(name, arrays[name])
    inputs = {name: value for name, value in arrays.items() if name not in step.params}
    path = rlx.export(step, tmp_path / "step")
    first, second = rlx.load_export(path), rlx.load_export(path)
    for _ in range(3):
        expected = bits(step(**inputs))
        assert bits(first(**inputs)) == expected
    assert all(first.param(name).tobytes() == step.weights[name].tobytes() for name in step.params)
    assert all(second.param(name).tobytes() == arrays[name].tobytes() for name in step.params)


def test_weights_in_a_file(tmp_path: Path) -> None:
    g = rlx.Graph("scaled")
    x, w, z = g.input("x", (3,)), g.param("w_0", (3,)), g.param("ä", (2, 3), "f64")
    g.set_outputs([x * w, z * 2.0])
    compiled = rlx.compile(g)
    compiled.set_param("w_0", np.float32([1, 2, 3]))
    compiled.set_param("ä", np.ones((2, 3)))
    path = rlx.export(compiled, tmp_path / "scaled", embed_weights=False)
    weights = tmp_path / "scaled.safetensors"
    library = rlx.load_export(path)
    x = np.ones(3, np.float32)
    assert bits(library(x)) == bits(compiled(x))
    rlx.save(weights, {"w_0": np.float32([5, 6, 7]), "ä": np.zeros((2, 3)), "other": np.ones(1)}, {"a": "b\n"})
    library.load_params(weights)
    assert library(x)[0].tolist() == [5, 6, 7]
    content = weights.read_bytes()
    for damaged in (
        content[:4],
        content[:60],
        content[:-1],
        b"\xff" * 8 + content[8:],
        content[:9] + b"[" + content[10:],
    ):
        weights.write_bytes(damaged)
        with pytest.raises(rlx.RlxError, match="scaled"):
            library.load_params(weights)
    for other in ({"w_0": np.ones(3, np.float32)}, {"w_0": np.ones(3), "ä": np.zeros((2, 3))}):
        rlx.save(weights, other)
        with pytest.raises(rlx.RlxError, match=r"has no|another type"):
            library.load_params(weights)
    with pytest.raises(rlx.RlxError, match="cannot read"):
        library.load_params(tmp_path / "none")
    assert library(x)[0].tolist() == [5, 6, 7]


def test_headers_of_safetensors_that_are_no_json(tmp_path: Path) -> None:
    """Every beginning of a header, and every header with one byte changed, is read or refused."""
    g = rlx.Graph("one")
    g.set_outputs([g.param("w", (2,)) * 1.0])
    compiled = rlx.compile(g)
    compiled.set_param("w", np.float32([1, 2]))
    library = rlx.load_export(rlx.export(compiled, tmp_path / "one"))
    place = tmp_path / "w.safetensors"
    rlx.save(place, {"w": np.float32([3, 4])}, {"k": "v"})
    content = place.read_bytes()
    for at in range(len(content)):
        for byte in (content[at] ^ 1, 0, 34, 92, 123, 255):
            place.write_bytes(content[:at] + bytes([byte]) + content[at + 1 :])
            try:
                library.load_params(place)
            except rlx.RlxError as error:
                assert "w.safetensors" in str(error)
            assert np.asarray(library()[0]).shape == (2,)


def test_an_older_processor(tmp_path: Path) -> None:
    compiled = rlx.compile(lambda x, w: np.tanh(x @ w)).compiled(normal(65, 33), normal(33, 47))
    path = rlx.export(compiled, tmp_path / "v3", target=LEVEL)
    about = json.loads(path.with_suffix(".json").read_text())
    assert about["cpu"] == LEVEL and "avx512f" not in about["features"]
    x, w = normal(65, 33), normal(33, 47)
    np.testing.assert_allclose(rlx.load_export(path)(x, w)[0], np.tanh(x @ w), rtol=1e-5, atol=1e-6)


def test_code_for_another_processor_is_made_but_not_linked_here(tmp_path: Path) -> None:
    compiled = rlx.compile(lambda x: np.exp(x) + x.sum(axis=1, keepdims=True)).compiled(normal(9, 65))
    with pytest.raises(rlx.RlxError, match="cc failed with status"):
        rlx.export(compiled, tmp_path / "arm", target="aarch64", cc="cc")
    assert list(tmp_path.iterdir()) == []


def test_instances_run_at_the_same_time(tmp_path: Path) -> None:
    function, arguments = PROGRAMS["two threads"]
    compiled = rlx.compile(function, threads=2).compiled(*arguments)
    path, expected = rlx.export(compiled, tmp_path / "program"), bits(compiled(*arguments))
    shared = rlx.load_export(path)
    found = list[bool]()

    def work() -> None:
        own = rlx.load_export(path)
        found.append(all(bits(one(*arguments)) == expected for one in (own, shared) for _ in range(20)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


def test_many_instances_and_calls_leave_nothing_behind(tmp_path: Path) -> None:
    function, arguments = PROGRAMS["two threads"]
    path = rlx.export(rlx.compile(function, threads=2).compiled(*arguments), tmp_path / "program")

    def used() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    def once() -> None:
        library = rlx.load_export(path)
        library(*arguments)

    for _ in range(20):
        once()
    before = used()
    for _ in range(200):
        once()
    assert used() - before < 8 << 20
    assert len(list(Path("/proc/self/task").iterdir())) < 60


def test_an_export_replaces_another(tmp_path: Path) -> None:
    x = np.ones(3, np.float32)
    first = rlx.load_export(rlx.export(rlx.compile(lambda x: x + 1).compiled(x), tmp_path / "f"))
    rlx.export(rlx.compile(lambda x: x + 2).compiled(x), tmp_path / "f")
    with pytest.raises(rlx.RlxError, match="still uses an older one"):
        rlx.load_export(tmp_path / "f")
    assert first(x)[0].tolist() == [2, 2, 2]
    del first
    assert rlx.load_export(tmp_path / "f")(x)[0].tolist() == [3, 3, 3]


def test_wrong_calls_are_errors(tmp_path: Path) -> None:
    compiled = rlx.compile(lambda x, y: x + y).compiled(normal(3), normal(3))
    library = rlx.load_export(rlx.export(compiled, tmp_path / "add"))
    x = normal(3)
    for arguments, named, message in (
        ((x,), {}, "'y' of function is missing: expected f32"),
        ((x, x, x), {}, "takes 2 inputs, got 3"),
        ((x, normal(4)), {}, r"expected f32\[3\], got f32\[4\]"),
        ((x, x), {"z": x}, "no input 'z'"),
        ((x, x), {"x": x}, "two values for 'x'"),
        ((x, "a"), {}, "expected f32"),
    ):
        with pytest.raises(rlx.ArgumentError, match=message):
            library(*arguments, **named)
    with pytest.raises(rlx.ArgumentError, match="has no param 'w'; params: none"):
        library.set_param("w", x)


TAKE = """
lir.program @take attributes {arena_bytes = 0 : i64, alignment = 64 : i64} {
  %x = lir.input "x" : memref<8xf32>
  %n = lir.input "n" : memref<8xi32>
  %y = lir.output 0 : memref<8xf32>
  lir.launch @pick over 8 by 8 reads(%x, %n : memref<8xf32>, memref<8xi32>) writes(%y : memref<8xf32>)
}
lir.kernel @pick(%x: memref<8xf32>, %n: memref<8xi32>, %o: memref<8xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %j = %lo to %hi step %c1 {
    %m = memref.load %n[%j] : memref<8xi32>
    %s = arith.index_cast %m : i32 to index
    %v = memref.load %x[%s] : memref<8xf32>
    memref.store %v, %o[%j] : memref<8xf32>
  }
  lir.return
}
"""


def test_failed_checks_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
    compiled = rlx.compile(rlx.parse(TAKE))
    library = rlx.load_export(rlx.export(compiled, tmp_path / "take"))
    x, right, wrong = normal(8), np.arange(8, dtype=np.int32), np.full(8, 9, np.int32)
    with pytest.raises(rlx.OutOfBoundsError) as expected:
        compiled(x, wrong)
    with pytest.raises(rlx.RlxError) as found:
        library(x, wrong)
    assert str(expected.value) in str(found.value)
    assert bits(library(x, right)) == bits(compiled(x, right))


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    f = rlx.compile(lambda x: x * 2)
    with pytest.raises(rlx.GraphError, match=r"0 signatures.*pass .compiled"):
        rlx.export(f, tmp_path / "f")
    f(normal(3)), f(normal(4))
    with pytest.raises(rlx.GraphError, match=r"2 signatures.*pass .compiled"):
        rlx.export(f, tmp_path / "f")
    with pytest.raises(rlx.GraphError, match="takes a compiled graph or function, got function"):
        rlx.export(lambda x: x, tmp_path / "f")
    one = f.compiled(normal(3))
    with pytest.raises(rlx.GraphError, match="name without ending"):
        rlx.export(one, tmp_path / "f.so")
    with pytest.raises(rlx.RlxError, match=r"expected native, x86-64, .* or aarch64, got 'sparc'"):
        rlx.export(one, tmp_path / "f", target="sparc")
    with pytest.raises(rlx.RlxError, match="no C compiler: 'no-such-cc' cannot be run"):
        rlx.export(one, tmp_path / "f", cc="no-such-cc")
    with pytest.raises(FileNotFoundError):
        rlx.export(one, tmp_path / "none" / "f")

    def prints(x: Any) -> Any:
        rlx.debug.print("x {}", x)
        return x * 2

    with pytest.raises(rlx.RlxError, match="prints, which a library cannot"):
        rlx.export(rlx.compile(prints).compiled(normal(3)), tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_no_export(tmp_path: Path) -> None:
    path = rlx.export(rlx.compile(lambda x: x * 2).compiled(normal(3)), tmp_path / "f")
    description = path.with_suffix(".json")
    text = description.read_text()
    for damaged in (text[:20], "[]", text.replace('"format": 1', '"format": 2'), text.replace('"f32"', '"f99"')):
        description.write_text(damaged)
        with pytest.raises(rlx.RlxError, match=r"f\.json"):
            rlx.load_export(path)
    description.write_text(text.replace('"version": "', '"version": "0'))
    with pytest.raises(rlx.RlxError, match="is not the library that"):
        rlx.load_export(path)
    description.write_text(text)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(rlx.RlxError, match="has 1000 bytes; expected"):
        rlx.load_export(path)
    with pytest.raises(FileNotFoundError):
        rlx.load_export(tmp_path / "g")


def interface(path: Path) -> Any:
    library = ctypes.CDLL(str(path))
    library.f_create.restype = ctypes.c_void_p
    library.f_last_error.restype = ctypes.c_char_p
    return library


def test_wrong_use_of_the_c_interface(tmp_path: Path) -> None:
    g = rlx.Graph("f")
    x, w = g.input("x", (4,)), g.param("w", (4,))
    g.set_outputs([x * w])
    path = rlx.export(rlx.compile(g), tmp_path / "f")
    library = interface(path)
    self = ctypes.c_void_p(library.f_create(1))
    x, y = np.ones(5, np.float32), np.zeros(4, np.float32)
    word = ctypes.c_void_p

    def run(x: int | None, y: int | None) -> str:
        failed = library.f_run(self, (word * 1)(x), (word * 1)(y))
        return library.f_last_error().decode() if failed else ""

    assert run(x.ctypes.data, y.ctypes.data) == "param 'w' has no value: call set_param"
    three = ctypes.c_size_t(12)
    assert library.f_set_param(self, b"w", word(x.ctypes.data), three) == 1
    assert library.f_last_error() == b"param 'w' is f32[4]: expected 16 bytes, got 12"
    assert library.f_set_param(self, b"v", word(x.ctypes.data), three) == 1
    assert library.f_last_error() == b"no param 'v'"
    assert library.f_set_param(self, b"w", word(x.ctypes.data), ctypes.c_size_t(16)) == 0
    assert run(x.ctypes.data, y.ctypes.data) == "" and y.tolist() == [1, 1, 1, 1]
    assert run(None, y.ctypes.data) == "'x' is NULL: expected the address of f32[4]"
    assert "multiple of 4" in run(x.ctypes.data + 2, y.ctypes.data)
    assert "overlaps" in run(x.ctypes.data, x.ctypes.data + 4)
    assert run(x.ctypes.data, y.ctypes.data) == ""
    assert library.f_run(None, None, None) == 1 and b"got NULL" in library.f_last_error()
    assert library.f_create(-1) is None and b"at least 0, got -1" in library.f_last_error()
    library.f_destroy(self)
    library.f_destroy(None)


def test_c_programs_train_and_serve(tmp_path: Path) -> None:
    """The example: an epoch over the digits in C has the bits of Python's, and so have predictions."""
    script = ROOT / "examples" / "export_digits.py"
    done = subprocess.run([sys.executable, script, "--folder", tmp_path], capture_output=True, text=True, check=True)
    assert "the same bits in C: True" in done.stdout and "as in Python: True" in done.stdout
    shutil.rmtree(tmp_path / "step.libs")


def test_the_runtime_under_sanitizers(tmp_path: Path) -> None:
    """Address and undefined-behaviour sanitizers find nothing in a life of an instance with workers and params."""
    g = rlx.Graph("f")
    x, w = g.input("x", (600, 300)), g.param("w", (300, 400))
    g.set_outputs([g.tanh(x @ w)], donate={"w": w * 2.0})
    compiled = rlx.compile(g, threads=2)
    compiled.set_param("w", np.ones((300, 400), np.float32))
    flags = "-g -fsanitize=address,undefined -fno-sanitize-recover=all"
    rlx.export(compiled, tmp_path / "f", cc=f"cc {flags}", embed_weights=False)
    source = tmp_path / "main.c"
    source.write_text(
        """
        #include <stdlib.h>
        #include "f.h"
        int main(void) {
            float *x = calloc(600 * 300, 4), *y = malloc(600 * 400 * 4);
            const void *inputs[] = {x};
            void *results[] = {y};
            for (int i = 0; i < 3; i++) {
                f *self = f_create(i);
                if (!self || f_load_params(self, "f.safetensors")) return 1;
                if (!f_load_params(self, "main.c") || !f_run(self, inputs, NULL)) return 2;
                for (int j = 0; j < 5; j++) if (f_run(self, inputs, results)) return 3;
                f_destroy(self);
            }
            free(x);
            free(y);
            return 0;
        }
        """
    )
    command = ["cc", *flags.split(), "-I", tmp_path, "-o", tmp_path / "main", source, tmp_path / "f.so"]
    subprocess.run([*command, f"-Wl,-rpath,{tmp_path}"], check=True)
    done = subprocess.run([tmp_path / "main"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
