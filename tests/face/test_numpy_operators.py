"""Operators on traced values, and the element types that they give: NumPy's."""

from typing import Any

import numpy_lines
import pytest

import xdsl_rlx as rlx

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
