"""Floats divided by constants, which are multiplied by both parts of a reciprocal, beside NumPy's quotients."""

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, f32

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir.scalar_builder import _reciprocal
from xdsl_rlx.lowering.backend.machine.model import cost_model
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir

DIVISORS = (
    3.0,
    -7.0,
    0.1,
    255.0,
    0.999,
    1e30,
    -1e-30,
    1e38,
    1e-38,
    2.0,
    -0.25,
    5e-324,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    np.nan,
)
SMALLEST_EXACT = {np.float32: 1e-30, np.float64: 1e-292}


def numbers(dtype: type[np.floating]) -> np.ndarray:
    rng = np.random.default_rng(0)
    ends = np.finfo(dtype)
    exponents = rng.uniform(ends.minexp - 20, ends.maxexp, 50_000)
    with np.errstate(under="ignore"):
        drawn = (rng.standard_normal(50_000) * 2.0 ** np.clip(exponents, -1070, 1020)).astype(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, ends.max, -ends.max, ends.tiny, ends.smallest_subnormal]
    return np.concatenate([drawn, np.arange(-1000, 1000, dtype=dtype), np.array(special, dtype)])


@pytest.mark.sampled
@pytest.mark.optimised
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("divisor", DIVISORS)
def test_quotients_are_numpys(dtype: type[np.floating], divisor: float):
    x = numbers(dtype)
    with np.errstate(all="ignore"):
        expected = x / dtype(divisor)
        found = np.asarray(rlx.compile(lambda v: v / dtype(divisor))(x))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    numeric = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[numeric], np.signbit(expected)[numeric])
    tiny = np.abs(expected) < SMALLEST_EXACT[dtype]
    np.testing.assert_array_equal(found[numeric & ~tiny], expected[numeric & ~tiny])
    np.testing.assert_allclose(
        found[tiny], expected[tiny], rtol=float(np.finfo(dtype).eps), atol=float(np.finfo(dtype).smallest_subnormal)
    )


@pytest.mark.sampled
@pytest.mark.parametrize("wide", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", ["u1", "i1"])
@pytest.mark.parametrize("divisor", [255, 127, 127.5, 3, 7, 10, 0.1, 0.229, -5, 1 / 3, 256, 1e30, 1e-42, 5e-324])
def test_pixels_have_the_bits_of_a_division(divisor: float, dtype: str, wide: type[np.floating]):
    x = np.arange(256).astype(dtype)
    with np.errstate(all="ignore"):
        exact = x.astype(wide) / wide(divisor)
    found = np.asarray(rlx.compile(lambda v: v.astype(wide) / wide(divisor))(x))
    nan = np.isnan(exact)
    assert np.array_equal(np.isnan(found), nan)
    assert found[~nan].tobytes() == exact[~nan].tobytes()


def test_exact_quotients_are_exact():
    k = np.arange(-40_000, 40_000)
    for divisor in (3, 7, 10, 49, 255, 1000):
        found = np.asarray(
            rlx.compile(lambda v, c=divisor: v / np.float32(c))((k % 16_000 * divisor).astype(np.float32))
        )
        np.testing.assert_array_equal(found, (k % 16_000).astype(np.float32))


def test_a_division_is_left_where_a_part_is_no_normal_number_or_the_divisor_a_power_of_two():
    for divisor in (2.0, -0.5, 0.0, float("inf"), float("nan"), 1e38, 1e-39):
        assert _reciprocal(divisor, f32) is None
    high, low = _reciprocal(-3.0, f32) or (0, 0)
    assert high < 0 and low < 0 and abs(1 / 3 + high + low) < 2.0**-48


def test_a_kernel_has_no_division_by_a_constant():
    def divisions(divisor: float) -> int:
        module: ModuleOp = rlx.compile(lambda v: v / divisor).trace(np.ones(100, np.float32)).module
        lowered = lower_to_lir(module.clone(), 1, False, cost_model())
        return sum(isinstance(op, arith.DivfOp) for op in lowered.walk())

    assert divisions(3.0) == 0 and divisions(0.0) == 1
