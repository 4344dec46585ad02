"""The nests of splats: every reading, however cut in pieces, and tiles that leave out only what cannot be seen."""

import re
from collections.abc import Generator
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cost_models import costs
from levels import EVERY
from numerics import jaxpr
from numerics.families import splat as reference
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module, lower_to_lir
from xdsl_rlx.plugins.splat import tiles as splat_tiles
from xdsl_rlx.plugins.splat.ops import GaussianSplatRenderOp, Picture

jax.config.update("jax_enable_x64", True)

Run = SimpleNamespace
PARTS = {"positions": 3, "scales": 3, "rotations": 4, "opacities": 1, "colors": 3, "sh_coeffs": 12}
CAMERA = np.array([0.3, -0.2, -3.0, 0.05, 0.0, 0.1, 0.1, 1.0, 0.0, 50.0, 0.1, 100.0, 0.2, 0.5, 0.7])
PICTURE = Picture(21, 18, 1 / 255, 0.02)
EFFORT = Effort.FULL if EVERY else Effort.QUICK
"""How kernels are compiled whose values are compared: optimised they take seconds each."""


@pytest.fixture(autouse=True)
def small_chunks() -> Generator[None]:
    with costs(parallel_ops=1):
        yield


def scene(count: int, dtype: str = "f32", seed: int = 0) -> dict[str, np.ndarray]:
    """Splats of all sizes, needles among them, some behind the camera and some around it."""
    rng = np.random.default_rng(seed)
    arrays = {
        "positions": 1.2 * rng.standard_normal(3 * count),
        "scales": rng.uniform(-5.0, -0.5, 3 * count),
        "rotations": rng.standard_normal(4 * count),
        "opacities": rng.uniform(0.0, 1.0, count),
        "colors": rng.uniform(size=3 * count),
        "sh_coeffs": 0.3 * rng.standard_normal(12 * count),
        "meta": CAMERA,
    }
    arrays["positions"][:3] = CAMERA[:3] + 0.02
    return {name: x.astype({"f32": np.float32, "f64": np.float64}[dtype]) for name, x in arrays.items()}


def picture(count: int, dtype: str = "f32", shape: Picture = PICTURE) -> rlx.Graph:
    g = rlx.Graph("picture")
    cloud = [g.input(name, (each * count,), dtype=dtype) for name, each in PARTS.items()]
    g.set_outputs([g.gaussian_splat_render(*cloud, g.input("meta", (15,), dtype=dtype), **asdict(shape))])
    return g


def gradient(count: int, dtype: str = "f32") -> ModuleOp:
    """The picture's mean square and its gradients."""
    g = rlx.Graph("loss")
    cloud = [g.input(name, (each * count,), dtype=dtype) for name, each in PARTS.items()]
    y = g.gaussian_splat_render(*cloud, g.input("meta", (15,), dtype=dtype), **asdict(PICTURE))
    g.set_outputs([g.reduce_mean(y * y)])
    return rlx.grad_with_loss(g, wrt=list(PARTS)).module


def test_gradients_are_those_of_compositing_every_splat_at_every_pixel():
    """By JAX, in f64, with cutoff and threshold."""
    arrays, graph = scene(24, "f64"), picture(24, "f64")
    op = next(op for op in graph.module.walk() if isinstance(op, GaussianSplatRenderOp))
    *cloud, meta = arrays.values()

    def loss(*parts: Any) -> Any:
        return jnp.mean(reference.render(jnp, op, *parts, meta) ** 2)

    expected, *gradients = jaxpr.evaluate(jax.value_and_grad(loss, range(6)), *cloud)
    ours, *found = compile_module(gradient(24, "f64"), effort=EFFORT)(**arrays)
    assert ours == pytest.approx(float(expected), rel=1e-13)
    for x, y in zip(found, gradients, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-12 * float(np.abs(y).max()))


def test_pieces_do_not_matter(run: Run):
    arrays = scene(40)
    first, *others = [run.llvm(lower_to_lir(gradient(40), threads), EFFORT)(**arrays) for threads in (1, 2, 5)]
    for other in others:
        for x, y in zip(first[1:], other[1:], strict=True):
            np.testing.assert_array_equal(x, y)


def test_pieces_of_a_picture_do_not_matter_to_vectors(run: Run):
    whole, cut = [run.llvm(lower_to_lir(picture(40).module, threads))(**scene(40)) for threads in (1, 5)]
    np.testing.assert_array_equal(whole[0], cut[0])


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_the_printed_module_computes_the_same(run: Run, dtype: str):
    shape = Picture(9, 7, 1 / 255, 0.02, 2.2)
    run.agree(lower_to_lir(picture(5, dtype, shape).module, 2), jit=False, **scene(5, dtype))


def test_numba_compiles_the_printed_module(run: Run):
    lowered, arrays = lower_to_lir(gradient(5, "f64"), 2), scene(5, "f64")
    ours = run.llvm(lowered, EFFORT)(**arrays)
    for printed, compiled in zip(run.text(lowered, jit=True)(**arrays), ours, strict=True):
        np.testing.assert_allclose(printed, compiled, rtol=1e-10, atol=1e-12 * max(1.0, np.abs(compiled).max()))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("seed", range(4))
def test_what_tiles_leave_out_cannot_be_seen(run: Run, monkeypatch: pytest.MonkeyPatch, dtype: str, seed: int):
    arrays = scene(60, dtype, seed)
    (tiled,) = run.llvm(lower_to_lir(picture(60, dtype).module), EFFORT)(**arrays)
    with monkeypatch.context() as patch:
        patch.setattr(splat_tiles.Tiles, "culls", property(lambda self: False))
        (dense,) = run.llvm(lower_to_lir(picture(60, dtype).module), EFFORT)(**arrays)
    np.testing.assert_array_equal(tiled, dense)


def test_tiles_leave_something_out(run: Run, monkeypatch: pytest.MonkeyPatch):
    """With a third of the radius, tiles miss what can be seen: so they do look at it."""
    arrays = scene(60)
    (tiled,) = run.llvm(lower_to_lir(picture(60).module), EFFORT)(**arrays)
    whole = splat_tiles.reach

    def third(*arguments: Any) -> Any:
        return whole(*arguments) / 3.0

    monkeypatch.setattr(splat_tiles, "reach", third)
    (less,) = run.llvm(lower_to_lir(picture(60).module), EFFORT)(**arrays)
    assert np.abs(tiled - less).max() > 0.01


@pytest.mark.parametrize("build", [lambda: picture(9).module, lambda: gradient(9)], ids=["picture", "gradient"])
def test_pixels_of_a_tile_become_vectors(run: Run, build):
    text = run.assembly(lower_to_lir(build()))
    assert re.search(r"divps", text)
