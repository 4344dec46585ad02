"""Plain NumPy programs as they are: compiled they give NumPy's numbers, and JAX's gradients of the same functions."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xdsl_rlx as rlx

jax.config.update("jax_enable_x64", True)

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "numpy_programs"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "run")

BY_DIFFERENCES = ("conv_net", "hyper_gradient")
"""Those whose functions `jax.numpy` cannot take the place of NumPy in: it has no windows, and no `rlx.grad`."""

SMALLER = {"fluid": {"TIMES": 2, "JACOBI": 2}, "predators": {"STEPS": 2}, "text_lstm": {"DIGITS": 1}}
"""Settings with which loops are written out fewer times."""


@pytest.fixture(scope="module")
def load(load_example: Callable[[str], ModuleType]) -> Callable[[str], Any]:
    """A program by its name, as a module of its own."""
    return lambda name: load_example(f"numpy_programs/{name}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_numpy_s_value_and_its_gradient(
    name: str, load: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = load(name)
    for setting, number in SMALLER.get(name, {}).items():
        monkeypatch.setattr(program, setting, number)
    params, *given = program.example()
    value, gradient = rlx.value_and_grad(program.loss)(params, *given)
    np.testing.assert_allclose(value, program.loss(params, *given), rtol=1e-11)
    if name in BY_DIFFERENCES:
        along_random_directions(program.loss, params, given, gradient)
        return
    monkeypatch.setattr(program, "np", jnp)
    expected = jax.jit(jax.grad(program.loss))(params, *given)
    for found, wanted in zip(rlx.tree.flatten(gradient)[0], jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


def along_random_directions(function: Callable[..., Any], params: Any, given: Any, gradient: Any) -> None:
    """A gradient against central differences in f64."""
    rng, compiled = np.random.default_rng(0), rlx.compile(function)
    for _ in range(3):
        direction = rlx.tree.map(lambda leaf: rng.standard_normal(np.shape(leaf)), params)
        ends = [rlx.tree.map(lambda a, d, s=s: a + s * d, params, direction) for s in (1e-5, -1e-5)]
        difference = (compiled(ends[0], *given) - compiled(ends[1], *given)) / 2e-5
        products = rlx.tree.map(lambda g, d: (g * d).sum(), gradient, direction)
        np.testing.assert_allclose(sum(rlx.tree.flatten(products)[0]), difference, rtol=1e-7)


def test_derivatives_of_derivatives_are_polynomials(load: Callable[[str], Any]) -> None:
    program, x = load("tanh_derivatives"), np.linspace(-2, 2, 9)
    function = program.tanh
    for polynomial in program.polynomials(3):
        np.testing.assert_allclose(function(x), polynomial(np.tanh(x)), rtol=1e-12, atol=1e-12)
        function = program.derivative(function)


def test_a_gaussian_process_is_as_likely_by_its_determinant(load: Callable[[str], Any]) -> None:
    program = load("gaussian_process")
    theta, *points = program.example()
    value, slope = rlx.value_and_grad(program.loss_by_determinant)(theta, *points)
    other, expected = rlx.value_and_grad(program.loss)(theta, *points)
    np.testing.assert_allclose(value, other, rtol=1e-12)
    np.testing.assert_allclose(slope, expected, rtol=1e-10)


@pytest.mark.parametrize(("name", "said"), [("rosenbrock", "Newton-CG: f = "), ("funnel", "of at most 0")])
def test_a_program_runs(name: str, said: str, load: Callable[[str], Any], capsys: pytest.CaptureFixture[str]) -> None:
    load(name).main()
    assert said in capsys.readouterr().out


def test_the_runner_and_the_page_name_all_programs(load: Callable[[str], Any]) -> None:
    assert list(load("run").programs()) == PROGRAMS
    page = (FOLDER.parents[1] / "docs" / "numpy-programs.md").read_text()
    for name in PROGRAMS:
        assert f"numpy_programs/{name}.py)" in page, f"docs/numpy-programs.md does not name {name}"
