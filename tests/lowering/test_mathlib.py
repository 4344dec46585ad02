"""The mathlib functions against mpmath: every exponent, special values, hard points; and that loops of them vectorise.

`python tests/lowering/test_mathlib.py` measures more points and prints the table of docs/math.md."""

import re
import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest
from levels import EVERY, LEVELS
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import f32, f64
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation

from xdsl_rlx.dialects.lir.scalar import SMALL
from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.lowering.backend.llvm import llvm_calls
from xdsl_rlx.lowering.backend.machine import cpu
from xdsl_rlx.lowering.backend.machine.llvm import host
from xdsl_rlx.lowering.backend.math import mathlib
from xdsl_rlx.transforms.rules.elementwise import gelu_approx_scalar

Run = SimpleNamespace
MEASURED = LEVELS if EVERY else (cpu.NATIVE,)
"""Where errors are measured: on one level, since results are the same bits on all (tests/weaknesses/test_levels.py)."""
DTYPES: dict[str, Any] = {"f32": np.float32, "f64": np.float64}
FORMATS = {"f32": (24, -126, 127), "f64": (53, -1022, 1023)}
TYPES = {"f32": f32, "f64": f64}
INF, NAN = np.inf, np.nan
BIG = mpmath.mpf(2) ** 5000


def quantile(p: Any) -> Any:
    """Where the normal distribution function is `p`: by Newton's method on the logarithm of the smaller tail."""
    if abs(p - 0.5) < 0.3:
        return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)
    tail = min(p, 1 - p)
    x = -mpmath.sqrt(-2 * mpmath.log(tail))
    for _ in range(30):
        x = x - mpmath.log(mpmath.ncdf(x) / tail) * mpmath.ncdf(x) / mpmath.npdf(x)
    return x if p < 0.5 else -x


REFERENCE: dict[str, Callable[..., Any]] = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.power(2, x),
    "expm1": mpmath.expm1,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "gaussian": lambda x: mpmath.exp(-x * x / 2),
    "ndtr": lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2,
    "gelu": lambda x: x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2,
    "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
    "erf_inv": mpmath.erfinv,
    "ndtri": lambda p: quantile(p),
    "lgamma": lambda x: mpmath.loggamma(x).real,
    "digamma": mpmath.digamma,
    "gelu_approx": lambda x: x / (1 + mpmath.exp(-mpmath.sqrt(8 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3))),
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x, 2),
    "log10": mpmath.log10,
    "log1p": mpmath.log1p,
    "asinh": mpmath.asinh,
    "acosh": mpmath.acosh,
    "atanh": mpmath.atanh,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "sin_small": mpmath.sin,
    "cos_small": mpmath.cos,
    "tan_small": mpmath.tan,
    "asin": mpmath.asin,
    "acos": mpmath.acos,
    "atan": mpmath.atan,
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "pow": mpmath.power,
}
# Where the interesting values are: from, to (f32, f64)
DOMAIN = {
    "exp": ((-160, 89), (-780, 710)),
    "exp2": ((-228, 128), (-1124, 1024)),
    "expm1": ((-20, 89), (-40, 710)),
    "sigmoid": ((-135, 44), (-1066, 351)),
    "sinh": ((-90, 90), (-711, 711)),
    "cosh": ((-90, 90), (-711, 711)),
    "tanh": ((-10, 10), (-21, 21)),
    "erf": ((-4.2, 4.2), (-6.2, 6.2)),
    "erfc": ((-4, 11.6), (-6, 27.5)),
    "erfcx": ((-9, 40), (-26, 40)),
    "erf_inv": ((-1, 1), (-1, 1)),
    "ndtri": ((0, 1), (0, 1)),
    "gaussian": ((-16.4, 16.4), (-39, 39)),
    "ndtr": ((-14.6, 6), (-38.8, 9)),
    "gelu": ((-14.6, 6), (-38.8, 9)),
    "gelu_approx": ((-10.2, 6), (-21.4, 9)),
    "log1p": ((-1, 3), (-1, 3)),
    "asinh": ((-20, 20), (-20, 20)),
    "acosh": ((0.9, 3), (0.9, 3)),
    "atanh": ((-1, 1), (-1, 1)),
    "cbrt": ((-8, 8), (-8, 8)),
    "asin": ((-1, 1), (-1, 1)),
    "acos": ((-1, 1), (-1, 1)),
    "atan": ((-20, 20), (-20, 20)),
    "sin": ((-1000, 1000), (-1000, 1000)),
    "cos": ((-1000, 1000), (-1000, 1000)),
    "tan": ((-1000, 1000), (-1000, 1000)),
    "sin_small": ((-1000, 1000), (-1000, 1000)),
    "cos_small": ((-1000, 1000), (-1000, 1000)),
    "tan_small": ((-1000, 1000), (-1000, 1000)),
}
# Beyond these the result is known without computing it (mpmath would take for ever)
SATURATES: dict[str, Callable[[Any], Any]] = {
    "exp": lambda x: BIG if x > 800 else mpmath.mpf(0) if x < -800 else None,
    "exp2": lambda x: BIG if x > 1100 else mpmath.mpf(0) if x < -1100 else None,
    "expm1": lambda x: BIG if x > 800 else mpmath.mpf(-1) if x < -100 else None,
    "sigmoid": lambda x: mpmath.mpf(x > 0) if abs(x) > 800 else None,
    "sinh": lambda x: mpmath.sign(x) * BIG if abs(x) > 800 else None,
    "cosh": lambda x: BIG if abs(x) > 800 else None,
    "tanh": lambda x: mpmath.sign(x) if abs(x) > 100 else None,
    "erf": lambda x: mpmath.sign(x) if abs(x) > 20 else None,
    "erfc": lambda x: mpmath.mpf(1 - mpmath.sign(x)) if abs(x) > 50 else None,
    "erfcx": lambda x: BIG if x < -30 else 1 / (mpmath.sqrt(mpmath.pi) * x) if x > 1e20 else None,
    "erf_inv": lambda x: mpmath.nan if abs(x) > 1 else None,
    "ndtri": lambda p: mpmath.nan if p < 0 or p > 1 else None,
    "lgamma": lambda x: BIG if x < 0 and x == mpmath.floor(x) else None,
    "digamma": lambda x: mpmath.nan if x < 0 and x == mpmath.floor(x) else None,
    "gaussian": lambda x: mpmath.mpf(0) if abs(x) > 50 else None,
    "ndtr": lambda x: mpmath.mpf(x > 0) if abs(x) > 50 else None,
    "gelu": lambda x: max(x, mpmath.mpf(0)) if abs(x) > 50 else None,
    "gelu_approx": lambda x: max(x, mpmath.mpf(0)) if abs(x) > 50 else None,
    "log": lambda x: mpmath.nan if x < 0 else None,
    "log2": lambda x: mpmath.nan if x < 0 else None,
    "log10": lambda x: mpmath.nan if x < 0 else None,
    "rsqrt": lambda x: mpmath.nan if x < 0 else None,
    "log1p": lambda x: mpmath.nan if x < -1 else None,
    "acosh": lambda x: mpmath.nan if x < 1 else None,
    "atanh": lambda x: mpmath.nan if abs(x) > 1 else None,
    "asin": lambda x: mpmath.nan if abs(x) > 1 else None,
    "acos": lambda x: mpmath.nan if abs(x) > 1 else None,
}
# argument -> result, zeros with their signs
SPECIAL: dict[str, list[tuple[float, float]]] = {
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0)],
    "exp2": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (10.0, 1024.0), (-3.0, 0.125)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0)],
    "sigmoid": [(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0)],
    "erfc": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 2.0), (1e30, 0.0), (-1e30, 2.0)],
    "erfcx": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, INF), (-1e30, INF)],
    "erf_inv": [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-1.5, NAN), (INF, NAN)],
    "ndtri": [(0.5, 0.0), (0.0, -INF), (-0.0, -INF), (1.0, INF), (1.5, NAN), (-0.5, NAN), (INF, NAN), (-INF, NAN)],
    "lgamma": [(0.0, INF), (-0.0, INF), (1.0, 0.0), (2.0, 0.0), (-1.0, INF), (-1e30, INF), (INF, INF), (-INF, -INF)],
    "digamma": [(0.0, -INF), (-0.0, INF), (-1.0, NAN), (-1e30, NAN), (INF, INF), (-INF, NAN)],
    "gaussian": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 0.0), (-1e30, 0.0)],
    "ndtr": [(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (1e30, 1.0), (-1e30, 0.0)],
    "gelu": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -0.0), (1e30, 1e30), (-1e30, -0.0)],
    "log": [(0.0, -INF), (-0.0, -INF), (INF, INF), (-INF, NAN), (-1.0, NAN), (1.0, 0.0)],
    "log2": [(0.0, -INF), (-0.0, -INF), (INF, INF), (-INF, NAN), (-1.0, NAN), (1.0, 0.0), (8.0, 3.0)],
    "log10": [(0.0, -INF), (-0.0, -INF), (INF, INF), (-INF, NAN), (-1.0, NAN), (1.0, 0.0), (1000.0, 3.0)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, NAN), (-1.0, -INF), (-1.5, NAN)],
    "asinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)],
    "acosh": [(1.0, 0.0), (INF, INF), (-INF, NAN), (0.5, NAN), (-1.0, NAN), (-4.0, NAN)],
    "atanh": [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (INF, NAN), (-INF, NAN)],
    "cbrt": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (27.0, 3.0), (-8.0, -2.0), (0.125, 0.5)],
    "asin": [(0.0, 0.0), (-0.0, -0.0), (1.5, NAN), (-1.5, NAN), (INF, NAN), (-INF, NAN)],
    "acos": [(1.0, 0.0), (1.5, NAN), (-1.5, NAN), (INF, NAN), (-INF, NAN)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "sin_small": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "cos_small": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)],
    "tan_small": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "atan": [(0.0, 0.0), (-0.0, -0.0)],
    "rsqrt": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-1.0, NAN), (4.0, 0.5)],
}
LIMIT = {
    "rsqrt": 1.6,
    "ndtr": 3.0,
    "erfc": 3.0,
    "gelu": 3.0,
    "erfcx": 3.0,
    "gelu_approx": 1800.0,
    **dict.fromkeys(("erf_inv", "ndtri", "lgamma", "digamma"), 4.0),
}
"""
Greatest error allowed, in units in the last place, where it is not 2.

That of gelu_approx is the rounding of an exponent of up to 700: tests/weaknesses bounds it by the exponent.
"""


def ulps(got: float, exact: Any, suffix: str) -> float:
    """The distance of `got` from `exact`, in units of the last place of a number as large as `exact`."""
    digits, least, most = FORMATS[suffix]
    if isinstance(exact, mpmath.mpc) or mpmath.isnan(exact):
        return 0.0 if np.isnan(got) else INF
    if np.isnan(got):
        return INF
    if abs(exact) >= mpmath.ldexp(2 - mpmath.ldexp(1, -digits), most):
        return 0.0 if np.isinf(got) and (got > 0) == (exact > 0) else INF
    if np.isinf(got):
        return INF
    exponent = least if exact == 0 else max(mpmath.frexp(exact)[1] - 1, least)
    return float(abs(mpmath.mpf(float(got)) - exact) / mpmath.ldexp(1, exponent - digits + 1))


def every_exponent(suffix: str, per: float, rng: np.random.Generator) -> np.ndarray:
    """Random numbers of both signs, `per` of each exponent, denormal ones included."""
    digits, least, most = FORMATS[suffix]
    exponents = np.arange(least - digits + 1, most + 1)
    chosen = rng.choice(exponents, int(per * exponents.size)) if per < 1 else np.repeat(exponents, int(per))
    signs = rng.choice([-1.0, 1.0], chosen.size)
    return np.ldexp(signs * (1 + rng.random(chosen.size)), chosen).astype(DTYPES[suffix])


def samples(name: str, suffix: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Every exponent, `count` points where the function is interesting, and points near multiples of pi/2."""
    low, high = DOMAIN.get(name, ((0.01, 10), (0.01, 10)))[suffix == "f64"]
    parts = [
        every_exponent(suffix, count / 400 if suffix == "f32" else count / 4000, rng),
        rng.uniform(low, high, count),
        rng.uniform(max(low, -1.2), 1.6, count),
    ]
    if name in TRIGONOMETRIC:
        multiples = np.concatenate([np.arange(1, 100), rng.integers(1, 1 << 24, count // 4)])
        parts += [multiples * (np.pi / 2), HARDEST[suffix]]
    x = np.concatenate(parts).astype(DTYPES[suffix])
    return x[abs(x) <= SMALL[f64 if suffix == "f64" else f32]] if name.endswith("_small") else x


TRIGONOMETRIC = [name for name in REFERENCE if name.removesuffix("_small") in ("sin", "cos", "tan")]
# The normal numbers nearest to multiples of pi/2, by continued fractions of 2^k / pi: 2^-29.9 and 2^-61.5 of a quarter
HARDEST = {
    "f32": np.array([16367173 * 2.0**72, 10741887 * 2.0**11, 1.5707964, 3.1415927, 3.4028235e38]),
    "f64": np.array([6381956970095103 * 2.0**797, 6411027962775774 * 2.0**-47, np.pi / 2, np.pi, 1.7e308]),
}


def exact_value(name: str, x: float) -> Any:
    argument = mpmath.mpf(float(x))
    known = SATURATES.get(name, lambda _: None)(argument)
    if known is not None:
        return known
    with mpmath.workprec(1300 if name in TRIGONOMETRIC else 160):
        return REFERENCE[name](argument)


def apply(name: str, b: ScalarBuilder, *values: Scalar) -> Scalar:
    """The function of mathlib of that name."""
    if name == "gelu_approx":
        return gelu_approx_scalar(b, *values)
    result: Scalar = getattr(b, name.removesuffix("_small"))(*values)
    if name.endswith("_small"):
        assert isinstance(result.value.owner, Operation)
        result.value.owner.properties["fastmath"] = FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
    return result


def unary(run: Run, name: str, suffix: str, x: np.ndarray) -> np.ndarray:
    type_ = TYPES[suffix]
    return run.llvm(run.elementwise(lambda b, v: apply(name, b, v), [type_], type_, x.size))(x0=x)[0]


def power(run: Run, suffix: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    type_ = TYPES[suffix]
    return run.llvm(run.elementwise(lambda b, v, w: b.pow(v, w), [type_, type_], type_, x.size))(x0=x, x1=y)[0]


def worst(run: Run, name: str, suffix: str, count: int, levels: Sequence[str] = (cpu.NATIVE,)) -> tuple[float, float]:
    """The greatest error over samples on any processor level, and where it is."""
    x = samples(name, suffix, count, np.random.default_rng(7))
    found = zip(*(on(level, lambda: unary(run, name, suffix, x)) for level in levels), strict=True)
    errors = [worst_of(got, exact_value(name, arg), suffix) for arg, got in zip(x, found, strict=True)]
    at = int(np.argmax(errors))
    return errors[at], float(x[at])


def worst_of(found: Sequence[float], exact: Any, suffix: str) -> float:
    """The error of that one of some numbers that is farthest off."""
    return max(ulps(got, exact, suffix) for got in set(found))


def on(level: str, measure: Callable[[], np.ndarray]) -> np.ndarray:
    """What code for a processor level gives."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(cpu.VARIABLE, level)
        return measure()


def worst_power(
    run: Run, suffix: str, count: int, levels: Sequence[str] = (cpu.NATIVE,)
) -> tuple[float, tuple[float, float]]:
    """The greatest error of pow over bases of every exponent, with exponents that keep the result finite or nearly."""
    rng = np.random.default_rng(8)
    dtype, (digits, least, most) = DTYPES[suffix], FORMATS[suffix]
    wide = abs(every_exponent(suffix, count / 400 if suffix == "f32" else count / 4000, rng))
    near = rng.uniform(0.5, 2, count).astype(dtype)
    one = (1 + rng.normal(size=count) * 2.0 ** rng.uniform(-digits, -3, count)).astype(dtype)
    x = np.concatenate([wide, near, one, -np.floor(rng.uniform(1, 9, count)).astype(dtype)])
    bits = np.maximum(abs(np.log2(abs(x).astype(np.float64))), 2.0**-digits)
    y = (rng.uniform(least - digits, most + 1, x.size) / bits).astype(dtype)
    y[-count:] = np.rint(y[-count:])
    with mpmath.workprec(160):
        found = zip(*(on(level, lambda: power(run, suffix, x, y)) for level in levels), strict=True)
        cases = zip(x, y, found, strict=True)
        errors = [worst_of(z, mpmath.power(mpmath.mpf(float(a)), mpmath.mpf(float(b))), suffix) for a, b, z in cases]
    at = int(np.argmax(errors))
    return errors[at], (float(x[at]), float(y[at]))


@pytest.mark.sampled
@pytest.mark.parametrize("suffix", DTYPES)
@pytest.mark.parametrize("name", [n for n in REFERENCE if n != "pow"])
def test_error_is_below_its_limit_over_the_whole_range(run: Run, name: str, suffix: str):
    error, at = worst(run, name, suffix, 200, MEASURED)
    assert error <= LIMIT.get(name, 2.0), f"{name}({at!r}) is off by {error} ulp"


@pytest.mark.parametrize("suffix", DTYPES)
def test_pow_error_is_below_two_units(run: Run, suffix: str):
    error, at = worst_power(run, suffix, 150, MEASURED)
    assert error <= 2.0, f"pow{at!r} is off by {error} ulp"


@pytest.mark.sampled
@pytest.mark.parametrize("suffix", DTYPES)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(run: Run, name: str, suffix: str):
    arguments, expected = (np.array(v, DTYPES[suffix]) for v in zip(*SPECIAL[name], (NAN, NAN), strict=True))
    got = unary(run, name, suffix, arguments)
    np.testing.assert_array_equal(got, expected)
    finite = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[finite]), np.signbit(expected[finite]))


POW_VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 2.5, 1e9 + 1, -7.0, 1e30, -1e30, INF, -INF, NAN]


@pytest.mark.parametrize("suffix", DTYPES)
def test_pow_special_cases_are_those_of_ieee(run: Run, suffix: str):
    """NumPy's pow is C's, which follows IEEE 754 (9.2.1)."""
    x, y = (v.reshape(-1).astype(DTYPES[suffix]) for v in np.meshgrid(POW_VALUES, POW_VALUES))
    got = power(run, suffix, x, y)
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    np.testing.assert_allclose(got, expected, rtol=1e-6 if suffix == "f32" else 1e-15)
    finite = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[finite]), np.signbit(expected[finite]))


@pytest.mark.parametrize("suffix", DTYPES)
def test_fmod_is_exact(run: Run, suffix: str):
    """Also of quotients of hundreds of digits, denormal numbers, infinities and zeros; the sign is the dividend's."""
    rng, type_ = np.random.default_rng(4), TYPES[suffix]
    random = every_exponent(suffix, 8 if suffix == "f32" else 1, rng)
    near = (rng.integers(1, 1 << 20, 500) * np.float32(0.1)).astype(random.dtype)
    edges = np.array([0.0, -0.0, 1.0, -1.0, 0.1, INF, -INF, NAN, 1e-40, 3e38, 7.0], random.dtype)
    x, y = (v.reshape(-1) for v in np.meshgrid(edges, edges))
    x = np.concatenate([x, random, near, near])
    y = np.concatenate([y, rng.permutation(random), np.full(500, 0.1, random.dtype), rng.permutation(near)])
    program = run.elementwise(lambda b, v, w: b.fmod(v, w), [type_, type_], type_, x.size)
    got = run.llvm(program)(x0=x, x1=y)[0]
    with np.errstate(all="ignore"):
        expected = np.fmod(x, y)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got[got == got]), np.signbit(expected[got == got]))


@pytest.mark.parametrize("suffix", DTYPES)
def test_exact_cases_are_exact(run: Run, suffix: str):
    dtype = DTYPES[suffix]
    k = np.arange(FORMATS[suffix][1], FORMATS[suffix][2] + 1)
    powers = np.ldexp(1.0, k).astype(dtype)
    np.testing.assert_array_equal(unary(run, "log2", suffix, powers), k.astype(dtype))
    np.testing.assert_array_equal(unary(run, "exp2", suffix, k.astype(dtype)), powers)
    exponents = range(-37, 39) if suffix == "f32" else range(-307, 309)
    tens = np.array([float(f"1e{n}") for n in exponents], dtype)
    np.testing.assert_array_equal(unary(run, "log10", suffix, tens), np.array(exponents, dtype))
    n = np.arange(-50, 51).astype(dtype)
    np.testing.assert_array_equal(power(run, suffix, n, np.full_like(n, 2)), n * n)


@pytest.mark.parametrize("suffix", DTYPES)
def test_odd_functions_are_odd(run: Run, suffix: str):
    x = abs(every_exponent(suffix, 0.5, np.random.default_rng(3)))
    for name in (
        "tanh",
        "erf",
        "sin",
        "tan",
        "sin_small",
        "tan_small",
        "atan",
        "asin",
        "sinh",
        "asinh",
        "atanh",
        "cbrt",
    ):
        np.testing.assert_array_equal(unary(run, name, suffix, -x), -unary(run, name, suffix, x))


@pytest.mark.parametrize("suffix", DTYPES)
def test_small_arguments_have_the_same_bits_whichever_variant_computes_them(run: Run, suffix: str):
    x = samples("sin_small", suffix, 500, np.random.default_rng(11))
    for name in ("sin", "cos", "tan"):
        np.testing.assert_array_equal(unary(run, name, suffix, x), unary(run, f"{name}_small", suffix, x))


@pytest.mark.parametrize("suffix", DTYPES)
def test_numba_and_plain_python_compute_the_same(run: Run, suffix: str):
    type_ = TYPES[suffix]
    rng = np.random.default_rng(5)
    x = np.concatenate([every_exponent(suffix, 0.02, rng), rng.normal(size=20), [0.0, -0.0, INF, -INF, NAN, 1.0]])
    names = [name for name in REFERENCE if name != "pow"]
    names = names if EVERY else names[list(DTYPES).index(suffix) :: len(DTYPES)]
    functions = [lambda b, v, n=name: apply(n, b, v) for name in names] + [lambda b, v: b.pow(b.abs(v), v)]
    module = run.elementwise(functions, [type_], [type_] * len(functions), x.size)
    run.agree(module, x0=x.astype(DTYPES[suffix]))


@pytest.mark.sampled
@pytest.mark.parametrize("suffix", DTYPES)
@pytest.mark.parametrize(
    "name", ["exp", "exp2", "sigmoid", "expm1", "tanh", "erf", "ndtr", "gaussian", "erfc", "log1p"]
)
def test_masked_elements_underflow_nowhere(run: Run, name: str, suffix: str, monkeypatch: pytest.MonkeyPatch):
    """A product that is less than all normal numbers takes a processor ten times as long as another one."""
    sign = -1.0 if name in ("exp", "exp2", "sigmoid", "expm1", "ndtr") else 1.0
    far = [2e3, 1e4, 1e9, INF]
    near = [2.0**-n for n in range(10, 64)] if name == "log1p" else [0.5, 3.0, 30.0 if suffix == "f64" else 8.0]
    x = np.array([sign * v for v in far] + near, DTYPES[suffix])
    module = run.elementwise(lambda b, v: apply(name, b, v), [TYPES[suffix]], TYPES[suffix], x.size)
    errstate = np.errstate
    # which the text has in order to ignore errors
    monkeypatch.setattr(np, "errstate", lambda **_: errstate(all="ignore", under="raise"))
    run.text(module, jit=False)(x0=x)


@pytest.mark.parametrize("name", [n for n in mathlib.NAMES if n.endswith(("_f32", "_f64"))])
def test_a_loop_is_vectorised(run: Run, name: str, monkeypatch: pytest.MonkeyPatch):
    # loops of large functions call vector versions, which are not loops
    monkeypatch.setattr(llvm_calls, "LARGE", 1 << 20)
    stem, suffix = name.rsplit("_", 1)
    type_ = TYPES[suffix]
    arity = 2 if stem in ("pow", "fmod") else 1
    module = run.elementwise(lambda b, *v: apply(stem, b, *v), [type_] * arity, type_, 1 << 12)
    text = run.assembly(module)
    loops = [x for x in re.split(r"^\.LBB", text, flags=re.MULTILINE) if _jumps_to_itself(x)]
    packed = r"\bv?(fn?m(?:add|sub)\w+|mul|add|sub|div|sqrt)p[sd]\b"
    scalar = r"\b(v?(add|sub|mul|div|sqrt)s[sd]|vfn?m(add|sub)\w+s[sd]|call\w*)\b"
    main = max(loops, key=lambda x: len(re.findall(packed, x)))
    assert re.search(packed, main) and not re.search(scalar, main)


def _jumps_to_itself(block: str) -> bool:
    return re.search(r"^\s*j\w+\s+\.LBB" + re.escape(block.split(":")[0]) + r"\b", block, re.MULTILINE) is not None


def nanoseconds(run: Run, name: str, suffix: str) -> float:
    """Per element over 64K elements in cache, on one thread, best of 40."""
    n, type_ = 1 << 16, TYPES[suffix]
    arity = 2 if name == "pow" else 1
    program = run.llvm(run.elementwise(lambda b, *v: apply(name, b, *v), [type_] * arity, type_, n))
    x = {f"x{i}": np.random.default_rng(i).uniform(0.01, 8, n).astype(DTYPES[suffix]) for i in range(arity)}
    launch, _ = program.bind(**x)
    best = INF
    for _ in range(40):
        start = perf_counter()
        launch()
        best = min(best, perf_counter() - start)
    return best / n * 1e9


def print_table(run: Run, levels: Sequence[str]) -> None:
    """The worst error on any level, the time of this machine's own."""
    print("| function | f32: max ulp | ns/element | f64: max ulp | ns/element |\n| --- | --- | --- | --- | --- |")
    for name in REFERENCE:
        cells: list[str] = []
        for suffix in DTYPES:
            error, _ = (
                worst_power(run, suffix, 2000, levels) if name == "pow" else worst(run, name, suffix, 4000, levels)
            )
            cells += [f"{error:.2f}", f"{nanoseconds(run, name, suffix):.2f}"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def print_sums(levels: Sequence[str]) -> None:
    """The errors of long sums on each level."""
    from weaknesses.test_levels import SUMS, worst_sums

    print(f"\n| sum of 200,000 | {' | '.join(levels)} |\n{'| --- ' * (len(levels) + 1)}|")
    for name, *errors in zip(SUMS, *(worst_sums(level) for level in levels), strict=True):
        print(f"| {name} | {' | '.join(f'{error:.1f}' for error in errors)} |")


def print_transforms(levels: Sequence[str]) -> None:
    """The errors of Fourier transforms: the worst of the levels."""
    from weaknesses.test_levels import worst_transform

    lengths = (96, 97, 400, 512, 1009, 4096, 5000)
    print(f"\n| points | {' | '.join(map(str, lengths))} |\n{'| --- ' * (len(lengths) + 1)}|")
    for dtype in (np.complex64, np.complex128):
        errors = [max(worst_transform(level, n, dtype) for level in levels) for n in lengths]
        print(f"| {np.dtype(dtype).name} | {' | '.join(f'{error:.1f}' for error in errors)} |")


if __name__ == "__main__":
    from pathlib import Path
    from runpy import run_path

    helpers = run_path(str(Path(__file__).with_name("conftest.py")))
    everywhere = ["native", *cpu.possible_levels(host())]
    print_table(SimpleNamespace(llvm=helpers["LlvmRun"], elementwise=helpers["elementwise"]), everywhere)
    print_sums(everywhere)
    print_transforms(everywhere)
    sys.exit(0)
