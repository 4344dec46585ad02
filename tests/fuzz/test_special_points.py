"""Derivatives at special points, in f64 and f32: forward and reverse mode, batches, and second derivatives of every
order of modes, against mpmath or a formula.

`make test` takes most functions in one type each, with one order of modes for second derivatives; with EVERY_SAMPLE set
in the environment, all in both.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from fuzz import special_points as special
from levels import EVERY

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir import Mir
from xdsl_rlx.transforms.rules import DECOMPOSE, JVP, VJP

Array = np.ndarray[Any, Any]
DTYPES = (np.float64, np.float32)
TOGETHER = 12 if EVERY else 1000
"""Functions in one program: fewer, where each is differentiated in many ways."""


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules are verified behind each pass with EVERY_SAMPLE alone: it takes half of the time."""
    monkeypatch.setenv("XDSL_RLX_CHECK", "1" if EVERY else "0")


def test_every_differentiable_op_has_points_or_a_reason():
    tables = VJP, JVP, DECOMPOSE
    ops = {op.name.removeprefix("mir.") for op in Mir.operations if any(table.get(op) for table in tables)}
    known = {*special.CURVES, *special.SURFACES, *special.VECTORS}
    assert sorted(ops - known - set(special.WITHOUT)) == []
    assert sorted(set(special.WITHOUT) - ops) == []


def _chunks(names: Sequence[str], dtype: Any) -> list[list[str]]:
    few = [name for name in names if name not in special.RARE]
    chosen = list(names) if EVERY else few[DTYPES.index(dtype) :: 2]
    return [chosen[start : start + TOGETHER] for start in range(0, len(chosen), TOGETHER)]


def _number(formula: Callable[[], Any], dtype: Any) -> float | None:
    """What a formula gives, rounded to the range of a type; None where it has no value."""
    try:
        with mp.workdps(60):
            return _in_range(formula(), dtype)
    except (ZeroDivisionError, ValueError, OverflowError):
        return None


def _in_range(found: Any, dtype: Any) -> float | None:
    if isinstance(found, mp.mpc) or mp.isnan(found):
        return None
    if abs(found) > float(np.finfo(dtype).max):
        return float(mp.sign(found)) * special.INF
    return float(found)


def _near(found: float, expected: float, allowed: float) -> bool:
    same = found == expected or (np.isnan(found) and np.isnan(expected))
    return bool(same or abs(found - expected) <= allowed)


def _complaints(
    what: str, found: dict[str, float], expected: float | None, ulps: float, absolute: float, dtype: Any
) -> list[str]:
    """What is wrong with one number, as several modes give it."""
    info = np.finfo(dtype)
    reference = next(iter(found.values())) if expected is None else expected
    allowed = float(info.eps) * (ulps * abs(reference) + absolute) + 2048 * float(info.smallest_subnormal)
    if not np.isfinite(reference):
        allowed = 0.0
    wrong = {mode: value for mode, value in found.items() if not _near(value, reference, allowed)}
    return [f"{what} {info.dtype}: {found}, expected {expected}"] if wrong else []


def _modes_of_curve(f: Any, turn: int) -> Callable[[Any], dict[str, Any]]:
    """Derivatives by the modes that make them; the numeral of a name is their order."""

    def run(x: Any) -> dict[str, Any]:
        one = np.ones(x.shape, x.dtype)
        slope = rlx.grad(lambda x: f(x).sum())
        forward = lambda x: rlx.jvp(f)((x,), (one,))[1]  # noqa: E731
        inner, name = ((slope, "reverse"), (forward, "forward"))[turn % 2]
        first, second = rlx.jvp(inner)((x,), (one,))
        found = {f"1 {name}": first, f"2 forward over {name}": second}
        if EVERY:
            other, name = ((forward, "forward"), (slope, "reverse"))[turn % 2]
            first, second = rlx.jvp(other)((x,), (one,))
            found |= {f"1 {name}": first, f"2 forward over {name}": second}
            found["1 batch of gradients"] = rlx.vmap(rlx.grad(f))(x)
            found["2 reverse over reverse"] = rlx.grad(lambda x: slope(x).sum())(x)
            found["2 reverse over forward"] = rlx.grad(lambda x: forward(x).sum())(x)
        return found

    return run


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_one_number(dtype: Any):
    x, wrong = special.points(dtype), list[str]()
    for names in _chunks(list(special.CURVES), dtype):
        runs = {name: _modes_of_curve(special.CURVES[name].f, turn) for turn, name in enumerate(names)}
        results = rlx.compile(lambda x, runs=runs: {name: run(x) for name, run in runs.items()})(x)
        for name, modes in results.items():
            curve = special.CURVES[name]
            for k in np.flatnonzero((x >= curve.domain[0]) & (x <= curve.domain[1])):
                for order in (1, 2):
                    found = {mode: float(y[k]) for mode, y in modes.items() if mode[0] == str(order)}
                    expected = _number(lambda k=k, order=order, curve=curve: curve.expected(float(x[k]), order), dtype)
                    what = f"{name}, derivative {order} at {x[k]}"
                    wrong += _complaints(what, found, expected, curve.ulps, curve.absolute, dtype)
    assert not wrong, "\n".join(wrong[:40])


def _modes_of_surface(f: Any, turn: int) -> Callable[[Any, Any], dict[str, Any]]:
    """Partial derivatives by the modes that make them; the numerals of a name are the operands."""

    def run(x: Any, y: Any) -> dict[str, Any]:
        one = np.ones(x.shape, x.dtype)

        def reverse(h: Any) -> Any:
            return rlx.grad(lambda x, y: h(x, y).sum(), argnums=(0, 1))

        def forward(h: Any) -> Any:
            """The other operand is fixed, not of a tangent of 0: 0 times an infinite slope is NaN."""

            def both(x: Any, y: Any) -> tuple[Any, Any]:
                in_x = rlx.jvp(lambda x: h(x, y))((x,), (one,))[1]
                return in_x, rlx.jvp(lambda y: h(x, y))((y,), (one,))[1]

            return both

        modes = {"reverse": reverse, "forward": forward}
        found: dict[str, Any] = {}
        for number, (outer, inner) in enumerate(product(modes, modes)):
            if not EVERY and number != turn % 4:
                continue
            for by in (0, 1) if EVERY else [turn // 4 % 2]:
                derived = modes[outer](lambda x, y, inner=inner, by=by: modes[inner](f)(x, y)[by])
                found |= {f"{by}{n} {outer} over {inner}": d for n, d in enumerate(derived(x, y))}
            found |= {f"{n} {inner}": d for n, d in enumerate(modes[inner](f)(x, y))}
        if EVERY:
            gradients = rlx.vmap(rlx.grad(f, argnums=(0, 1)))(x, y)
            found |= {f"{n} batch of gradients": d for n, d in enumerate(gradients)}
        return found

    return run


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_two_numbers(dtype: Any):
    (x, y), wrong = special.pairs(dtype), list[str]()
    for names in _chunks(list(special.SURFACES), dtype):
        runs = {name: _modes_of_surface(special.SURFACES[name].f, turn) for turn, name in enumerate(names)}
        results = rlx.compile(lambda x, y, runs=runs: {name: run(x, y) for name, run in runs.items()})(x, y)
        for name, modes in results.items():
            surface = special.SURFACES[name]
            for k in range(len(x)):
                partials = _partials(surface, float(x[k]), float(y[k]), dtype)
                largest = max((abs(p) for p in partials[2:] if p is not None and np.isfinite(p)), default=0.0)
                for n, by in enumerate(("0", "1", "00", "01", "10", "11")):
                    found = {mode: float(r[k]) for mode, r in modes.items() if mode.split()[0] == by}
                    expected = partials[(0, 1, 2, 3, 3, 4)[n]]
                    if expected is None or not found:
                        continue
                    absolute = surface.absolute * max(largest, 1e-3) if len(by) == 2 else surface.absolute
                    what = f"{name}, d{by} at {x[k]}, {y[k]}"
                    wrong += _complaints(what, found, expected, surface.ulps, absolute, dtype)
    assert not wrong, "\n".join(wrong[:40])


def _partials(surface: special.Surface, x: float, y: float, dtype: Any) -> list[float | None]:
    with mp.workdps(60):
        try:
            formulas = surface.partials(mp.mpf(x), mp.mpf(y))
        except (ZeroDivisionError, ValueError, OverflowError):
            return [None] * 5
    return [_in_range(p, dtype) for p in formulas]


def _modes_of_row(f: Any) -> Callable[[Any, Any], dict[str, Any]]:
    """Gradients, tangents along `u`, and products of the Hessian with `u`."""
    slope = rlx.grad(f)

    def one(x: Any, u: Any) -> dict[str, Any]:
        gradient, curvature = rlx.jvp(slope)((x,), (u,))
        found = {"gradient": gradient, "product forward over reverse": curvature}
        if EVERY:
            found["tangent"] = rlx.jvp(f)((x,), (u,))[1]
            found["product reverse over reverse"] = rlx.grad(lambda x: (slope(x) * u).sum())(x)
            found["product reverse over forward"] = rlx.grad(lambda x: rlx.jvp(f)((x,), (u,))[1])(x)
        return found

    def run(x: Any, u: Any) -> dict[str, Any]:
        together = {"gradient of the batch": rlx.grad(lambda x: rlx.vmap(f)(x).sum())(x)} if EVERY else {}
        return {**rlx.vmap(one, in_axes=(0, None))(x, u), **together}

    return run


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_a_row(dtype: Any):
    """Of rows with equal elements, zeros and infinities, along one direction."""
    u, eps, wrong = np.array([0.7, -0.4, 0.9], dtype), float(np.finfo(dtype).eps), list[str]()
    for names in _chunks(list(special.VECTORS), dtype):
        operands = {name: special.rows(dtype, special.VECTORS[name].rows) for name in names}
        runs = {name: _modes_of_row(special.VECTORS[name].f) for name in names}
        program = rlx.compile(lambda xs, u, runs=runs: {name: run(xs[name], u) for name, run in runs.items()})
        for name, modes in program(operands, u).items():
            for k, x in enumerate(operands[name].astype(np.float64)):
                gradient, curvature = special.VECTORS[name].slopes(x, u.astype(np.float64))
                expected = {"gradient": gradient, "tangent": gradient @ u, "product": curvature}
                allowed = 256 * eps * max(1.0, abs(gradient).max(), abs(curvature).max())
                for mode, values in modes.items():
                    wanted = expected[mode.split()[0]]
                    if not np.allclose(values[k], wanted, rtol=0, atol=allowed):
                        wrong.append(f"{name}, {mode} {np.dtype(dtype)} at {x}: {values[k]}, expected {wanted}")
    assert not wrong, "\n".join(wrong[:40])


def test_second_derivatives_at_nan_are_those_of_what_is_chosen():
    """Of `abs`, `max` and reductions by it, where the first derivative is NaN or one that was chosen."""

    def run(x: Any, u: Any) -> list[Any]:
        found: list[Any] = []
        for f in (lambda x: x.max(), lambda x: np.ptp(x), lambda x: abs(x).sum(), lambda x: np.maximum(x, 1.0).sum()):
            slope = rlx.grad(f)
            found.append(rlx.jvp(slope)((x,), (u,))[1])
            found.append(rlx.grad(lambda x, slope=slope: (slope(x) * u).sum())(x))
            found.append(rlx.grad(lambda x, f=f: rlx.jvp(f)((x,), (u,))[1])(x))
        return found

    for second in rlx.compile(run)(np.array([np.nan, 0.0, 1.0]), np.ones(3)):
        np.testing.assert_array_equal(second, np.zeros(3))
