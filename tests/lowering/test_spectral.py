"""Complex buffers and transforms, from the LLVM text, by Numba and as plain Python: all agree to the bit."""

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from levels import EVERY
from ml_dtypes import bfloat16
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.spectral import IrfftOp, RfftOp
from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm, emit_llvm_parts, library_calls
from xdsl_rlx.lowering.backend.runtime import shared_code
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir
from xdsl_rlx.lowering.kernel_library.functions import functions, library_kernel
from xdsl_rlx.lowering.kernel_pass import kernels_of
from xdsl_rlx.lowering.reports.kernel_work import launch_works
from xdsl_rlx.lowering.target import COMMON


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
    # Numba takes seconds, and compiles the other type in test_both_readings_agree_on_columns_and_on_all_bins
    transformed, same, *_ = run.agree(lower_to_lir(g.module, 1), jit=EVERY or dtype == "f32", **arrays)
    np.testing.assert_array_equal(same, arrays["z"])
    np.testing.assert_allclose(transformed, np.fft.fft(numbers * (np.arange(12) + 1j)), rtol=1e-4)


def test_both_readings_agree_on_columns_and_on_all_bins(run: SimpleNamespace):
    """Eight columns, a rest that overlaps, and planes; even and odd lengths."""
    for rows, columns in ((5, 8), (6, 19)):
        g = rlx.Graph("step")
        z, x = g.input("z", (2, rows, columns), "c128"), g.input("x", (2, columns, rows), "f64")
        turned = g.transpose(z, (0, 2, 1))
        g.set_outputs([g.fft(turned), g.op(IrfftOp, turned.ssa, rows, True), g.op(RfftOp, x.ssa, True)])
        rng = np.random.default_rng(0)
        given = rng.standard_normal((2, rows, columns)) + 1j * rng.standard_normal((2, rows, columns))
        arrays = {"z": given, "x": rng.standard_normal((2, columns, rows))}
        bins, real, whole = run.agree(lower_to_lir(g.module, 1), jit=EVERY or columns > 8, **arrays)
        turned_z = given.transpose(0, 2, 1)
        np.testing.assert_allclose(bins, np.fft.fft(turned_z), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(real, np.fft.ifft(turned_z).real * rows, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(whole, np.fft.fft(arrays["x"]), rtol=1e-9, atol=1e-12)


SHAPES = [(5, 7), (8, 8), (9, 12), (3, 8, 9), (4, 17, 16), (2, 3, 10, 11), (11, 4, 9), (1, 9, 8), (12, 10, 3), (20, 34)]


@pytest.mark.sampled(most=4)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_transforms_along_all_axes_and_of_all_layouts(shape: tuple[int, ...], kind: str):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    if kind == "complex":
        x = x + 1j * rng.standard_normal(shape)
    rolled = tuple(np.roll(range(len(shape)), 1))

    def f(x: Any) -> list[Any]:
        found = [np.fft.fft2(x), np.fft.ifft2(x), np.fft.fftn(x), np.fft.ifftn(x), np.fft.irfft2(np.fft.fft2(x))]
        for axis in range(len(shape)):
            found += [np.fft.fft(x, axis=axis), np.fft.fft(x.T, axis=axis)]
            found.append(np.fft.ifft(np.transpose(x, rolled), axis=axis).imag)
        return [*found, np.fft.irfft(np.swapaxes(x + 0j, -1, -2)), np.fft.hfft(np.swapaxes(x + 0j, -1, -2))]

    for threads in (1, 2) if EVERY else (1 + shape[-1] % 2,):
        for found, expected in zip(rlx.compile(f, threads=threads)(x), f(x), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-12 * x.size)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [np.float16, bfloat16])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "ihfft", "fft2", "rfft2"])
def test_transforms_of_half_floats_are_of_single_precision(name: str, dtype: Any):
    transform = getattr(np.fft, name)
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(dtype)
    found = rlx.compile(transform)(x)
    assert found.dtype == np.complex64
    np.testing.assert_allclose(found, transform(x.astype(np.float64)), atol=1e-4)


@pytest.mark.sampled(most=4)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients_of_transforms_of_real_numbers(shape: tuple[int, ...]):
    """`2 Re F^H (w F x)`, where `F^H` is the inverse transform times the points."""
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(shape), rng.standard_normal(shape)
    found = rlx.compile(rlx.grad(lambda x: (np.abs(np.fft.fftn(x)) ** 2 * w).sum()))(x)
    np.testing.assert_allclose(found, 2 * np.fft.ifftn(w * np.fft.fftn(x)).real * x.size, rtol=1e-9, atol=1e-9)


def test_transforms_of_all_lengths_and_directions_call_the_same_stages() -> None:
    """The last stage, which has no factors, is another function; so are those that read and write frames."""
    g = rlx.Graph("step")
    g.set_outputs([g.fft(g.input("z", (16, 256), "c64")), g.fft(g.input("x", (24, 1024), "c64"), inverse=True)])
    calls = [name for text in emit_llvm_parts(kernels_of(lower_to_lir(g.module, 1))) for name in library_calls(text)]
    assert {name for name in calls if "stage" in name} == {"fourier_stage_4_x8_f32", "fourier_stage_4_last_x8_f32"}


def test_a_module_that_is_printed_has_the_functions_of_the_library_in_it() -> None:
    g = rlx.Graph("step")
    g.set_outputs([g.fft(g.input("z", (16, 48), "c128"))])
    text = emit_llvm(lower_to_lir(g.module, 1))
    called, defined = (set(re.findall(rf"{word} void @rlx.callee.(\w+)", text)) for word in ("call", "internal"))
    assert called == defined >= {"fourier_stage_3_last_x8_f64"}


def test_the_work_of_a_transform_is_counted() -> None:
    g = rlx.Graph("step")
    g.set_outputs([g.fft(g.input("z", (16, 64), "c64"))])
    (launch,) = launch_works(lower_to_lir(g.module, 1))
    assert launch.all.flops == 16 * 5 * 64 * 6
    assert launch.all.read == launch.all.written == 16 * 64 * 8
    assert not launch.all.unknown


def test_functions_of_the_library_are_sound() -> None:
    names = [name for name in functions() if name.endswith("f32") and re.search(r"_(1|3|8)_|stage_(4|3)_", name)]
    for name in names:
        ModuleOp([library_kernel(name, COMMON).clone()]).verify()


def test_programs_share_the_machine_code_of_the_library() -> None:
    def twice(z: Any) -> Any:
        return np.fft.fft(z) * 2.0

    z = np.random.default_rng(0).standard_normal((8, 16)) + 1j
    np.testing.assert_array_equal(rlx.compile(np.fft.fft)(z) * 2.0, rlx.compile(twice)(z))
    symbols = ["rlx.callee.fourier_stage_4_x8_f64"]
    assert shared_code.addresses_of(symbols) == shared_code.addresses_of(symbols)


@pytest.mark.sampled
@pytest.mark.parametrize("frames", [1, 3, 8, 9])
@pytest.mark.parametrize("n", [64, 60, 17, 1009])
def test_the_blocks_of_any_number_of_frames_agree_with_numpy(n: int, frames: int) -> None:
    def transforms(x: Any) -> Any:
        return np.fft.irfft(np.fft.rfft(x), n=n) + np.fft.fft(x).real

    x = np.random.default_rng(0).standard_normal((frames, n))
    ours = rlx.compile(transforms, threads=1)(x)
    np.testing.assert_allclose(ours, x + np.fft.fft(x).real, rtol=1e-12, atol=1e-11)


@pytest.mark.sampled(most=5)
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
