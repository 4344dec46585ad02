"""Calls of universal functions and of those that take single elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from fuzz.numpy_draws import Arguments, Draw, Entry, Near, Plain, special

TABLE: dict[str, Entry] = {}


def _vector(d: Draw, dtype: str) -> np.ndarray:
    """Special values in random order, or a small array."""
    if d.chance(0.75):
        found = d.rng.permutation(special(dtype))
        return np.concatenate([found, d.array(dtype, (7,))]) if d.chance(0.5) else found
    return d.array(dtype, d.shape(), wild=True)


def _unary(kinds: str, dtypes: bool = False) -> Any:
    def draw(d: Draw) -> Arguments:
        dtype = d.dtype(kinds)
        kwargs: dict[str, Any] = {}
        if dtypes and d.chance(0.1):
            kwargs["dtype"] = d.of(("float32", "float64")) if dtype[0] != "c" else "complex128"
        return (_vector(d, dtype),), kwargs

    return draw


def _pair(d: Draw, kinds: str, mixed: bool = True) -> tuple[Any, Any]:
    """Each special value with each other, small arrays that broadcast, or an array and a number."""
    dtype = d.dtype(kinds)
    other = d.dtype(kinds) if mixed and d.chance(0.3) else dtype
    if d.chance(0.6):
        x, y = (d.rng.permutation(special(one))[:40] for one in (dtype, other))
        return x[:, None], y
    if d.chance(0.3):
        x, number = _vector(d, dtype), d.of((0, 1, -1, 2, 3, 7, 0.5, -2.5, np.inf, np.nan))
        if np.dtype(dtype).kind in "biu" and d.chance(0.7):
            number = d.of((0, 1, 2, 3, 7, -1))
        return (x, number) if d.chance(0.6) else (number, x)
    shape = d.shape(2, 3)
    short = shape[d.int(0, len(shape)) :]
    return d.array(dtype, shape, wild=True), d.array(other, d.of((short, (1,) * len(short), shape)), wild=True)


def _binary(kinds: str, mixed: bool = True, dtypes: bool = False) -> Any:
    def draw(d: Draw) -> Arguments:
        pair = _pair(d, kinds, mixed)
        return pair, ({"dtype": d.of(("float32", "float64"))} if dtypes and d.chance(0.06) else {})

    return draw


def _rows() -> None:
    ulps = Near.ULPS
    for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "exp2", "log2", "log1p", "expm1", "sinh", "cosh"):
        TABLE[name] = Entry(_unary("biuffc", True), ulps, complex_ulps=16)
    for name in ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "log10"):
        TABLE[name] = Entry(_unary("biuffc", True), ulps, complex_ulps=16)
    for name in ("cbrt", "rint", "degrees", "radians", "rad2deg", "deg2rad", "fabs", "floor", "ceil", "trunc"):
        TABLE[name] = Entry(_unary("biuff" + "c" * (name == "rint")), ulps)
    TABLE["logical_not"] = Entry(_unary("biufc"))
    for name in ("isnan", "isinf", "isfinite"):
        TABLE[name] = Entry(_kinds_of_numbers)
    for name in ("square", "positive", "negative", "absolute", "sign", "conjugate"):
        TABLE[name] = Entry(_unary("biuffc"), ulps)
    TABLE["reciprocal"] = Entry(_reciprocal, ulps)
    TABLE["signbit"] = Entry(_unary("iuff"))
    TABLE["modf"] = Entry(_unary("iuff"), ulps)
    TABLE["invert"] = Entry(_unary("biu"))
    for name in ("add", "subtract", "multiply", "divide"):
        TABLE[name] = Entry(_binary("biuffc", dtypes=True), ulps)
    for name in ("power", "float_power"):
        TABLE[name] = Entry(_power, ulps, complex_ulps=512)
    for name in ("hypot", "copysign", "arctan2", "heaviside"):
        TABLE[name] = Entry(_binary("iuff"), ulps)
    # a sum of a negative number and a logarithm
    for name in ("logaddexp", "logaddexp2"):
        TABLE[name] = Entry(_binary("iuff"), ulps, 64)
    for name in ("floor_divide", "remainder", "fmod", "divmod"):
        TABLE[name] = Entry(_binary("biuff"), ulps, wider=False)
    # of two zeros either is the larger one
    for name in ("maximum", "minimum", "fmax", "fmin"):
        TABLE[name] = Entry(_binary("biuffc"), zeros=False)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        TABLE[name] = Entry(_binary("biu"))
    for name in ("left_shift", "right_shift"):
        TABLE[name] = Entry(_binary("biu"))
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        TABLE[name] = Entry(_binary("biufc"))
    for name in ("logical_and", "logical_or", "logical_xor"):
        TABLE[name] = Entry(_binary("biufc"))
    TABLE["ldexp"] = Entry(_ldexp, ulps)
    # of two zeros NumPy gives the first one in f16, else the second one
    TABLE["nextafter"] = Entry(_binary("iuff"), zeros=False)
    TABLE["bitwise_count"] = Entry(_unary("biu"))
    for name in ("add", "multiply", "subtract", "maximum", "arctan2", "less", "logical_and"):
        TABLE[f"{name}.outer"] = Entry(_outer, ulps, zeros=name != "maximum")
    for name in ("isreal", "iscomplex", "iscomplexobj", "isrealobj"):
        TABLE[name] = Entry(_unary("biufc"))
    for name in ("isposinf", "isneginf"):
        TABLE[name] = Entry(_unary("biuf"))
    for name in ("real", "imag"):
        TABLE[name] = Entry(_unary("biufc"))
    TABLE["angle"] = Entry(lambda d: (_unary("biuffc")(d)[0], d.some(deg=True)), ulps)
    TABLE["sinc"] = Entry(_unary("iuff"), ulps, 8)
    TABLE["fix"] = Entry(_unary("biuf"))
    for name in ("round", "around"):
        TABLE[name] = Entry(_round, ulps, 0, wider=False)
    TABLE["nan_to_num"] = Entry(
        lambda d: (_unary("biuffc")(d)[0], d.some(nan=7.0, posinf=8.5, neginf=lambda: d.of((-8.5, 0.0)), copy=True))
    )
    TABLE["clip"] = Entry(_clip, zeros=False)
    TABLE["where"] = Entry(_where)
    TABLE["select"] = Entry(_select)
    TABLE["piecewise"] = Entry(_piecewise)
    for name in ("isclose", "allclose"):
        TABLE[name] = Entry(_isclose)
    TABLE["array_equal"] = Entry(_array_equal)
    TABLE["isin"] = Entry(_isin)


def _kinds_of_numbers(d: Draw) -> Arguments:
    (x,), _ = _unary("biufcc")(d)
    if x.dtype.kind == "c":
        parts = d.rng.choice([0.0, 1.0, np.inf, -np.inf, np.nan], (2, 12)).astype(x.real.dtype)
        x = np.concatenate([x.ravel(), [complex(*pair) for pair in parts.T]]).astype(x.dtype)
    return (x,), {}


def _reciprocal(d: Draw) -> Arguments:
    (x,), _ = _unary("iuffc")(d)
    # NumPy does not say what it is of the integer 0
    return (np.where(x == 0, np.asarray(3, x.dtype), x) if x.dtype.kind in "iu" else x,), {}


def _power(d: Draw) -> Arguments:
    if d.chance(0.2):
        # the error of a complex power grows with the logarithm of the result
        dtype = d.dtype("c")
        return (d.array(dtype, (9, 1), 0), d.array(d.of((dtype, "int32", "float32")), (7,), 0)), {}
    x, y = _pair(d, "biuff")
    if all(np.asarray(one).dtype.kind in "biu" for one in (x, y)) and d.chance(0.9):
        y = abs(y) if isinstance(y, int) else (abs(y.astype("i8")) % 9).astype(y.dtype) if y.dtype.kind == "i" else y
    return (x, y), {}


def _ldexp(d: Draw) -> Arguments:
    x = _vector(d, d.dtype("iuff"))
    powers = d.rng.choice([0, 1, -1, 5, -20, 120, -140, 1023, -1074, 2100, -2100], x.shape)
    return (x, np.asarray(powers, d.of(("int32", "int64", "int8" if x.dtype == "f2" else "int32")))), {}


def _outer(d: Draw) -> Arguments:
    dtype = d.dtype("if")
    return (d.array(dtype, d.shape(0, 1, 2)), d.array(dtype, d.shape(0, 1, 2))), {}


def _round(d: Draw) -> Arguments:
    dtype = d.dtype("biufffc")
    x = _vector(d, dtype)
    if np.dtype(dtype).kind in "iu":
        # beyond them NumPy converts floats that no integer is
        x = d.array(dtype, (9,), 0)
    if np.dtype(dtype).kind == "f":
        halves = (d.rng.integers(-40, 40, 9) / d.of((2, 20, 200, 0.2))).astype(dtype)
        x = np.concatenate([np.ravel(x), halves])
    return (x,), d.some(decimals=lambda: d.of((0, 1, 2, 3, -1, -2, 5, 12)))


def _clip(d: Draw) -> Arguments:
    dtype = d.dtype("iuff")
    x = _vector(d, dtype)
    low, high = d.of((None, 0, 1, d.array(dtype, (), 0))), d.of((None, 5, 7, d.array(dtype, (), 0)))
    if d.chance(0.2) and np.dtype(dtype).kind == "f":
        low = d.of((-np.inf, np.nan, 0.5))
    if d.chance(0.3):
        return (x,), {"min": low, "max": high}
    return (x, low, high), {}


def _where(d: Draw) -> Arguments:
    x, y = _pair(d, "biufc")
    shape = np.broadcast_shapes(np.shape(x), np.shape(y))
    condition = d.array(d.dtype("bif"), d.of((shape, shape[-1:], ())), 0.3)
    return (condition, x, y), {}


def _select(d: Draw) -> Arguments:
    shape = d.shape(1, 2)
    dtype = d.dtype("biufc")
    count = d.int(1, 3)
    conditions = [d.array("bool", shape) for _ in range(count)]
    choices = [d.array(dtype, d.of((shape, shape, ()))) for _ in range(count)]
    return (conditions, choices), d.some(default=lambda: d.of((0, 1)))


def _double(x: Any) -> Any:
    return x + x


def _piecewise(d: Draw) -> Arguments:
    x = d.any("if", 0, 1, 2)
    conditions = [d.array("bool", x.shape) for _ in range(d.int(1, 3))]
    return (x, conditions, [d.of((1, -2, _double)) for _ in range(len(conditions) + d.int(0, 1))]), {}


def _isclose(d: Draw) -> Arguments:
    x, y = _pair(d, "biuffc", False)
    if "float16" in (np.asarray(x).dtype, np.asarray(y).dtype):
        x, y = d.array("float32", (9,)), d.array("float32", (9,))
    if d.chance(0.5) and np.shape(x) == np.shape(y):
        y = np.where(d.rng.random(np.shape(x)) < 0.7, x, y)
    return (x, y), d.some(rtol=lambda: d.of((0.0, 1e-3, 0.5)), atol=lambda: d.of((0.0, 1e-3, 1.0)), equal_nan=True)


def _array_equal(d: Draw) -> Arguments:
    x = d.any("biufc")
    y = x.copy() if d.chance(0.6) else d.array(x.dtype.name, d.of((x.shape, d.shape())))
    return (x, y), d.some(equal_nan=True)


def _isin(d: Draw) -> Arguments:
    dtype = d.dtype("biufc")
    other = d.array(dtype, d.shape(0, 1, 2), wild=d.chance(0.3))
    return (d.array(dtype, d.shape(), wild=d.chance(0.3)), d.of((other, Plain(other)))), d.some(
        invert=True, assume_unique=False, kind=lambda: d.of((None, "sort"))
    )


_rows()
