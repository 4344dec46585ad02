"""Libraries for ARM with 64 bits, linked by a cross compiler and run by an emulated processor (`make emulated`)."""

import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arm_machine import Machine

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.driver.dtypes import dtype_of

CC = f"{sys.executable} -m ziglang cc -target aarch64-linux-gnu"

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((9, 65)).astype(np.float32), rng.standard_normal((65, 7))


def scanned(x: Any) -> Any:
    return rlx.scan(lambda c, x: (np.tanh(c + x), c), np.zeros(65, np.float32), x)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "elementwise": (lambda x: np.exp(x) * np.log1p(x * x), (X,)),
    "reductions": (lambda x: (x.sum(axis=1), x.max(axis=0), np.mean(x)), (X,)),
    "f64": (lambda y: np.sin(y) / (1 + y * y), (Y,)),
    "small product": (lambda x, w: x @ w, (X[:, :8], X[:8, :5])),
    "scan": (scanned, (X,)),
    "gradient": (rlx.grad(lambda x: (np.tanh(x) ** 2).sum()), (X,)),
    "integers": (lambda i: (np.sort(i), i // 3, np.cumsum(i)), (rng.integers(-99, 99, 50),)),
    "transforms": (lambda x, y: (np.fft.irfft(np.fft.rfft(x), n=65), np.fft.fft(y).real), (X, Y.T[:, :36].copy())),
    "convolution": (lambda x: np.convolve(x, np.float32([1, 2, 3]), "same"), (X[0],)),
}


def parts(folder: Path, compiled: rlx.CompiledGraph, arguments: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    """The results of a run on the emulated processor."""
    machine = Machine(rlx.export(compiled, folder / "f", target="aarch64", cc=CC))
    self = machine.call("f_create", 1)
    assert self, machine.text(machine.call("f_last_error"))
    inputs = [machine.allocate(np.ascontiguousarray(x).tobytes()) for x in arguments]
    results = [machine.allocate(bytes(spec.nbytes)) for spec in compiled.outputs]
    lists = [machine.allocate(struct.pack(f"<{len(one)}Q", *one)) for one in (inputs, results)]
    assert machine.call("f_run", self, *lists) == 0, machine.text(machine.call("f_last_error"))
    found = [machine.read(place, spec.nbytes) for place, spec in zip(results, compiled.outputs, strict=True)]
    machine.call("f_destroy", self)
    kinds = [dtype_of(spec.dtype) for spec in compiled.outputs]
    return [
        np.frombuffer(one, kind).reshape(spec.shape)
        for one, kind, spec in zip(found, kinds, compiled.outputs, strict=True)
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_emulated_processor_gives_what_this_one_gives(name: str, tmp_path: Path) -> None:
    function, arguments = PROGRAMS[name]
    compiled = rlx.compile(function, threads=2).compiled(*arguments)
    for found, expected in zip(parts(tmp_path, compiled, arguments), compiled(*arguments), strict=True):
        assert found.dtype == expected.dtype
        if found.dtype.kind == "f":
            limit = 4 * np.finfo(found.dtype).eps
            np.testing.assert_allclose(found, expected, rtol=limit, atol=limit * np.abs(expected).max())
        else:
            assert np.array_equal(found, expected)
