"""Operators on traced values, and the element types that they give: NumPy's."""

from typing import Any

import numpy as np
import numpy_lines
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.frontends.numpy.elements import SPELLED_OUT, UFUNCS

LINES = numpy_lines.lines("""
x.t + x.t
x.t * x.t
np.maximum(x.t, x.t)
np.minimum(x.t, x.b > 0)
abs(x.t), np.floor(x.t), np.trunc(x.t)
x.t // x.t, x.t % (x.b > 0), x.t ** x.t, x.t << x.t
x.t @ x.t.T
x.t - x.n
x.n ** 2, x.n ** 3, x.n ** 7, x.n ** 0, x.n ** 1
x.m ** x.m
2 ** x.m
x.n ** np.array([1, 2, 3, 4])
x.i8 ** (x.i8 & 7), x.u8 ** (x.u8 & 7)
x.i32 ** 2, x.i32 ** x.i
x.n ** 2.0, x.n ** 0.5
x.z ** 2, abs(x.z), np.abs(x.z)
x.z ** 3, x.z ** -2, x.z ** 0.5, x.z ** x.b, np.power(x.z, 1j), (x.z * 0) ** 2.5, (x.z * 0) ** (x.b * 0), x.z ** 0
x.b + [1.0, 2, 3, 4]
[1, 2, 3, 4] + x.b
x.n + [1, 2, 3, 4], x.n + [0.5, 2, 3, 4]
x.b - [[1.0], [2], [3]]
x.w + [x.r, 1.0, x.r], x.w * (x.r, 1, 2)
x.b @ [1.0, 2.0, 3.0, 4.0]
x.b == [1.0, 2, 3, 4]
x.b == None, x.b != None, x.b == "a"
np.exp(x.t), np.sqrt(x.u8), np.sin(x.i32), np.rint(x.n), np.isnan(x.n)
np.arctan2(x.u8, x.i8), np.hypot(x.t, x.t), np.hypot(x.h, x.h), np.logaddexp(x.i8, x.i8), np.copysign(x.t, x.i32)
np.divide(x.i8, x.i8), x.i8 / 2, x.t / x.t
np.zeros(2, x.f.dtype) + x.r
np.finfo(x.f.dtype).eps + x.f
x.b.astype(float), x.b.astype(int), x.b.astype(x.f.dtype), x.b.astype("f4"), x.n.astype(complex)
np.sum(x.f, dtype=float), np.zeros_like(x.b, dtype=int)
""")

ERRORS = {
    "x.t - x.t": r"write x \^ y and ~x",
    "-x.t": r"write x \^ y and ~x",
    "x.n ** -1": "integers to the power -1 are not integers",
    "x.b + [[1], [2, 3]]": "cannot convert a list to an array",
    "x.b + 'a'": "expected a value, a number, an array or a list of these, got 'a'",
    "x.b < None": "got None",
    "x.b + np.array(['a'] * 4)": "expected an array of numbers, got one of str32",
}


@pytest.fixture(scope="module")
def compiled() -> dict[str, Any]:
    """What all lines give."""
    return numpy_lines.compiled(LINES)


@pytest.mark.parametrize("line", LINES)
def test_an_operator_gives_what_it_gives_in_numpy(line: str, compiled: dict[str, Any]):
    numpy_lines.check(line, compiled[line])


@pytest.mark.parametrize("line", ERRORS)
def test_what_no_operator_takes_is_said(line: str):
    with pytest.raises(rlx.GraphError, match=ERRORS[line]):
        rlx.trace(lambda given: numpy_lines.value(line, given), numpy_lines.ARGUMENTS)


BINARY = [
    name
    for name in (*UFUNCS, *SPELLED_OUT)
    if isinstance(one := getattr(np, name, None), np.ufunc) and one.nin == 2 and one.signature is None
]
PARTNERS = {
    "bool": (np.array([True, False]), [2, True, 0.5, np.int64(3), np.int16(3), np.float32(2), np.float64(1.5)]),
    "int8": (np.array([1, 2, -3], np.int8), [2, 0.5, np.float16(2), np.float32(2), np.float64(1.5)]),
    "int16": (np.array([1, 2, -3], np.int16), [2, 0.5, np.float32(2), np.float32([2, 3, 4])]),
}
"""Beside values of a lower kind, scalars and arrays of NumPy have their own type."""


@pytest.mark.parametrize("kind", PARTNERS)
@pytest.mark.parametrize("name", BINARY)
def test_a_binary_function_gives_the_type_of_numpy(name: str, kind: str) -> None:
    function, (array, others) = getattr(np, name), PARTNERS[kind]
    others = [*others, np.array(3, np.int8), array]
    pairs = [pair for other in others for pair in ((array, other), (other, array))]
    if name == "ldexp":
        # of an integer of Python's NumPy has the type from the exponents
        pairs = [(x, y) for x, y in pairs if type(x) is not int]
    expected = {}
    with np.errstate(all="ignore"):
        for n, (x, y) in enumerate(pairs):
            try:
                expected[n] = function(x, y)
            except (TypeError, ValueError, OverflowError):
                continue

    def program(array: Any) -> Any:
        return {n: function(*(array if one is PARTNERS[kind][0] else one for one in pairs[n])) for n in expected}

    found = rlx.compile(program)(array)
    for n, result in expected.items():
        for mine, theirs in zip(np.atleast_1d(found[n]), np.atleast_1d(result), strict=True):
            assert mine.dtype == theirs.dtype, (name, pairs[n])
            np.testing.assert_allclose(mine, theirs, rtol=2e-3 if theirs.dtype == np.float16 else 1e-6)
