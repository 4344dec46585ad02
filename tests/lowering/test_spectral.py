"""Complex buffers and transforms, from the LLVM text, by Numba and as plain Python: all agree to the bit."""

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.numba.emit.llvm_module import emit_llvm
from xdsl_rlx.lowering.numba.runtime.compile_module import lower_to_lir


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_both_readings_agree_on_complex_buffers_and_transforms(run: SimpleNamespace, dtype: str):
    g = rlx.Graph("step")
    z = g.input("z", (11, 12), "c64" if dtype == "f32" else "c128")
    x = g.input("x", (3, 10), dtype)
    weights = g.constant(np.arange(12) + 1j, z.dtype)
    g.set_outputs([g.fft(z * weights), z, g.sqrt(z) / z, g.rfft(x), g.fft(x, inverse=True)])
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((11, 12)) + 1j * rng.standard_normal((11, 12))
    wide, narrow = np.complex64 if dtype == "f32" else np.complex128, np.float32 if dtype == "f32" else np.float64
    arrays = {"z": numbers.astype(wide), "x": rng.standard_normal((3, 10)).astype(narrow)}
    transformed, same, *_ = run.agree(lower_to_lir(g.module, 1), **arrays)
    np.testing.assert_array_equal(same, arrays["z"])
    np.testing.assert_allclose(transformed, np.fft.fft(numbers * (np.arange(12) + 1j)), rtol=1e-4)


@pytest.mark.parametrize(("n", "shared"), [(256, {4: 1}), (400, {4: 1, 5: 1}), (64 * 27, {4: 1, 3: 1})])
def test_stages_of_one_radix_are_one_function(n: int, shared: dict[int, int]) -> None:
    """The last stage, which has no factors, is another one; so are the loops that read and write frames."""
    g = rlx.Graph("step")
    g.set_outputs([g.fft(g.input("z", (16, n), "c64"))])
    assert _functions(g) == sum(shared.values()) + 3


def test_transforms_of_all_lengths_and_directions_share_their_stages() -> None:
    g = rlx.Graph("step")
    g.set_outputs([g.fft(g.input("z", (16, 256), "c64")), g.fft(g.input("x", (24, 1024), "c64"), inverse=True)])
    stages, ends = 2, 4
    assert _functions(g) == stages + ends


def _functions(graph: rlx.Graph) -> int:
    """The number of loops that are functions of their own."""
    return len(re.findall(r"^define void @part_", emit_llvm(lower_to_lir(graph.module, 1)), re.MULTILINE))


@pytest.mark.parametrize("frames", [1, 3, 8, 9])
@pytest.mark.parametrize("n", [64, 60, 17, 1009])
def test_the_blocks_of_any_number_of_frames_agree_with_numpy(n: int, frames: int) -> None:
    def transforms(x: Any) -> Any:
        return np.fft.irfft(np.fft.rfft(x), n=n) + np.fft.fft(x).real

    x = np.random.default_rng(0).standard_normal((frames, n))
    ours = rlx.compile(transforms, threads=1)(x)
    np.testing.assert_allclose(ours, x + np.fft.fft(x).real, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("frames", range(1, 26))
def test_the_last_block_of_frames_is_read_and_written_to_its_end(frames: int, threads: int):
    rng = np.random.default_rng(frames)
    forward, back = (rlx.compile(f, threads=threads) for f in (np.fft.rfft, np.fft.ifft))
    for n in (12, 30, 64):
        x = rng.standard_normal((frames, n))
        z = x + 1j * rng.standard_normal((frames, n))
        np.testing.assert_allclose(forward(x), np.fft.rfft(x), 1e-12, 1e-12)
        np.testing.assert_allclose(back(z), np.fft.ifft(z), 1e-12, 1e-12)
