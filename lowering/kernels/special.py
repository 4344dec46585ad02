"""Kernels of special functions that iterate. Numbers are f64 in them, also for results in f32, where a row of
`SHORT_KERNELS` does not say otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import factorial, inf, nan, pi, prod

from xdsl.dialects.builtin import f64

from xdsl_rlx.dialects.mir.special import SpecialFunction, SpecialFunctionOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import (
    Array,
    Iteration,
    Number,
    accumulate_max,
    cast,
    floor,
    power,
    rolled,
    scratch,
    select,
)
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import INDEX
from xdsl_rlx.lowering.kernels.special_bessel import (
    expn,
    i0e,
    i0e_f32,
    i1e,
    i1e_f32,
    j0,
    j0_f32,
    j0_near,
    j0_near_f32,
    j1,
    j1_f32,
    j1_near,
    j1_near_f32,
)
from xdsl_rlx.lowering.kernels.special_gamma import (
    beta,
    betainc,
    gamma,
    igamma,
    igamma_grad_a,
    igammac,
    log_beta,
    polynomial,
    weight_of_beta,
    weight_of_gamma,
)
from xdsl_rlx.lowering.kernels.special_integrals import dawsn, expi, owens_t, spence
from xdsl_rlx.lowering.kernels.special_series import hyp1f1
from xdsl_rlx.lowering.kernels.special_short import (
    gamma_excess,
    igamma_short,
    igammac_short,
    weight_of_gamma_short,
    zeta_excess,
    zeta_short,
)
from xdsl_rlx.lowering.kernels.special_waves import ci, fresnel_c, fresnel_s, si
from xdsl_rlx.lowering.kernels.work import NEST, Work

EPSILON = 2.0**-53

# (2 j)! / B(2 j)
_ZETA = (
    12.0,
    -720.0,
    30240.0,
    -1209600.0,
    47900160.0,
    -1307674368000.0 / 691.0,
    74724249600.0,
    -10670622842880000.0 / 3617.0,
    5109094217170944000.0 / 43867.0,
    -802857662698291200000.0 / 174611.0,
    14101100039391805440000.0 / 77683.0,
    -1693824136731743669452800000.0 / 236364091.0,
)


_BERNOULLI = (
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174611.0 / 330.0,
)
"""B(2 j) from j = 1 on."""

_SINE = tuple((-1.0) ** k * pi ** (2 * k) / factorial(2 * k + 1) for k in range(11))
"""`sin(pi d) / (pi d)` in `d^2`: 2^-59 for `|d| <= 1/2`."""

SHIFT = 8
"""Terms of trigamma that are added: the next term of its series is 2^-56 of the result from there on."""

FIRST = 8
"""Terms of zeta that are always added; their powers are computed side by side."""


def negative_power(a: Number, s: Number) -> Number:
    """`a^-s`, of a small whole `s`, as polygamma has it, by multiplication."""
    result = cast(1.0, "f64")
    if s <= 8.0 and s == floor(s):
        count = s
        while count > 0.0:
            result = result * a
            count = count - 1.0
        result = 1.0 / result
    else:
        result = power(a, -s)
    return result


def positive_zeta(s: Number, q: Number) -> Number:
    """
    `zeta(s, q)` for `s > 1` and `q > 0`, by the formula of Euler and Maclaurin from 9 terms or `q + k > 9` on.

    Above `1e8` its first two terms are enough (DLMF 25.11.43).
    """
    a, total, term = q, cast(0.0, "f64"), cast(1.0, "f64")
    if q > 1e8:
        total = (1.0 / (s - 1.0) + 0.5 / q) * power(q, 1.0 - s)
        term = cast(0.0, "f64")
    elif s <= 8.0 and s == floor(s):
        term = negative_power(q, s)
        total = term
    else:
        terms = scratch((FIRST,), "f64")
        for k in range(FIRST):
            terms[k] = q + float(k)
        for k in rolled(range(FIRST)):
            terms[k] = power(terms[k], -s)
        for k in range(FIRST):
            total = total + terms[k]
        term = terms[FIRST - 1]
        a = q + (FIRST - 1.0)
    going = term > EPSILON * total
    while going:
        a = a + 1.0
        term = negative_power(a, s)
        total = total + term
        going = (a <= 9.0 or a < q + 9.0) and term > EPSILON * total
    if term > EPSILON * total:
        total = total + term * a / (s - 1.0) - 0.5 * term
        factor, k = s * term / a, cast(0.0, "f64")
        for divisor in _ZETA:
            total = total + factor / divisor
            factor = factor * (s + k + 1.0) * (s + k + 2.0) / (a * a)
            k = k + 2.0
    return total


def zeta(s: Number, q: Number) -> Number:
    """
    Infinite at `s = 1` and at integers `q <= 0`; NaN for other `s` below 1, and for fractional `s` where `q < 0`.

    For integers `s` and `q = d - n < 0` with `n` nearest to `-q`, terms are those of `zeta(s, 1 + d)`, that of `d`,
    which may be tiny, and those of `zeta(s, 1 - d)` up to `1 - q`, with the sign `(-1)^s`.
    """
    result = cast(nan, "f64")
    nearest = floor(q + 0.5)
    if s == 1.0:
        result = cast(inf, "f64")
    elif s > 1.0 and (q > 0.0 or (q != nearest and floor(s) == s)):
        d, is_positive = q - nearest, q > 0.0
        found, near, far = cast(0.0, "f64"), cast(0.0, "f64"), cast(0.0, "f64")
        # one loop, so that the sum is compiled once
        for n in rolled(range(select(is_positive, cast(1, INDEX), 3))):
            first = select(is_positive, q, 1.0 + d)
            value = positive_zeta(s, select(n == 0, first, select(n == 1, 1.0 - d, 1.0 - q)))
            found = select(n == 0, value, found)
            near = select(n == 1, value, near)
            far = select(n == 2, value, far)
        result = found
        if not is_positive:
            half = 0.5 * s
            sign = cast(1.0, "f64") if floor(half) == half else cast(-1.0, "f64")
            middle = negative_power(abs(d), s)
            result = found + (sign * middle if d < 0.0 else middle) + sign * (near - far)
    elif s > 1.0 and q == nearest:
        result = cast(inf, "f64")
    return result


def trigamma(x: Number) -> Number:
    """
    `1 / x^2 + ... + 1 / (x + 7)^2`, and Euler's and Maclaurin's formula for the other terms: no loop, no branch.

    Below 0 it is `pi^2 / sin(pi x)^2` less that of `1 - x` (DLMF 5.15.6).
    """
    a = select(x < 0.0, 1.0 - x, x)
    total = 1.0 / (a * a)
    for k in range(1, SHIFT):
        total = total + 1.0 / ((a + float(k)) * (a + float(k)))
    inverse = 1.0 / (a + float(SHIFT))
    square = inverse * inverse
    total = total + (inverse + 0.5 * square + inverse * square * polynomial(square, _BERNOULLI))
    d = x - floor(x + 0.5)
    root = 1.0 / (d * polynomial(d * d, _SINE))
    return select(x < 0.0, root * root - total, total)


KERNELS: dict[SpecialFunction, Callable[..., Number]] = {
    SpecialFunction.ZETA: zeta,
    SpecialFunction.TRIGAMMA: trigamma,
    SpecialFunction.IGAMMA: igamma,
    SpecialFunction.IGAMMAC: igammac,
    SpecialFunction.IGAMMA_GRAD_A: igamma_grad_a,
    SpecialFunction.GAMMA_DENSITY: weight_of_gamma,
    SpecialFunction.BETAINC: betainc,
    SpecialFunction.BETA_DENSITY: weight_of_beta,
    SpecialFunction.GAMMA: gamma,
    SpecialFunction.BETA: beta,
    SpecialFunction.BETALN: log_beta,
    SpecialFunction.BESSEL_I0E: i0e,
    SpecialFunction.BESSEL_I1E: i1e,
    SpecialFunction.BESSEL_J0: j0,
    SpecialFunction.BESSEL_J1: j1,
    SpecialFunction.EXPN: expn,
    SpecialFunction.EXPI: expi,
    SpecialFunction.SPENCE: spence,
    SpecialFunction.DAWSN: dawsn,
    SpecialFunction.SI: si,
    SpecialFunction.CI: ci,
    SpecialFunction.FRESNEL_S: fresnel_s,
    SpecialFunction.FRESNEL_C: fresnel_c,
    SpecialFunction.OWENS_T: owens_t,
    SpecialFunction.HYP1F1: hyp1f1,
}
"""Each function of f64 numbers."""

SHORT_KERNELS: dict[SpecialFunction, Callable[..., Number]] = {
    SpecialFunction.BESSEL_I0E: i0e_f32,
    SpecialFunction.BESSEL_I1E: i1e_f32,
    SpecialFunction.BESSEL_J0: j0_f32,
    SpecialFunction.BESSEL_J1: j1_f32,
}
"""Functions of f32 numbers, for elements of f32 and shorter ones: those that lose no more than 3 ulp."""


@dataclass(frozen=True)
class NearForm:
    """A cheaper kernel that holds where the `size` of the numbers is at most `limit`, a number of their type."""

    limit: float
    compute: Callable[..., Number]
    size: Callable[..., Number] = abs


NEAR_FORMS: dict[Callable[..., Number], NearForm] = {
    j0: NearForm(6.16, j0_near),
    j1: NearForm(5.47, j1_near),
    j0_f32: NearForm(6.16, j0_near_f32),
    j1_f32: NearForm(5.47, j1_near_f32),
}
"""By kernel, whose bits it returns. The kernel itself has no branches, so that loops over it are vectors."""

SHORT_FORMS: dict[SpecialFunction, NearForm] = {
    SpecialFunction.ZETA: NearForm(0.0, zeta_short, zeta_excess),
    SpecialFunction.IGAMMA: NearForm(0.0, igamma_short, gamma_excess),
    SpecialFunction.IGAMMAC: NearForm(0.0, igammac_short, gamma_excess),
    SpecialFunction.GAMMA_DENSITY: NearForm(0.0, weight_of_gamma_short, gamma_excess),
}
"""Forms for elements of f32 and shorter ones, beside a kernel of f64 numbers that iterates and has branches."""

WORK = 300
"""About as many additions as an element costs."""

BLOCK = 256
"""Elements of a block that share the choice of a form: many vectors, and still few elements beside a large one."""


@NEST.rule(SpecialFunctionOp)
def special_function_nest(op: SpecialFunctionOp, work: Work) -> None:
    """An iteration computes an element, or a block of elements if the function has a near form."""
    size, element = prod(shape_of(op.result)), element_of(op.result)
    short = None if element == f64 else SHORT_KERNELS.get(op.function.data)
    function, number = (short, "f32") if short else (KERNELS[op.function.data], "f64")
    reads, result = [work.read(x, (size,)) for x in op.parts], work.write(op.result, (size,))
    if form := None if element == f64 else SHORT_FORMS.get(op.function.data):
        compute_blocks(work, function, form, reads, result, "f32", number)
        return
    if near := NEAR_FORMS.get(function):
        compute_blocks(work, function, near, reads, result, number, number)
        return

    @work.over(size, WORK, reads, [result])
    def compute(it: Iteration, *arrays: Array) -> None:
        arrays[-1][it.index] = cast(function(*[cast(x[it.index], number) for x in arrays[:-1]]), element)


def compute_blocks(
    work: Work,
    function: Callable[..., Number],
    near: NearForm,
    reads: Sequence[Argument],
    result: Argument,
    near_number: str,
    number: str,
) -> None:
    """
    Add a launch over blocks of elements, each by the near form if no element is beyond its limit.

    The near form is one of numbers of type `near_number`, the function of those of type `number`.
    """
    (size,), element = result.shape, result.type.element_type

    @work.over(-(-size // BLOCK), WORK * min(size, BLOCK), reads, [result])
    def compute(it: Iteration, *arrays: Array) -> None:
        block, result = range(it.index * BLOCK, min((it.index + 1) * BLOCK, size)), arrays[-1]
        largest = cast(0.0, near_number)
        for i in block:
            largest = accumulate_max(largest, near.size(*[cast(x[i], near_number) for x in arrays[:-1]]))
        # False for NaN, so that a block with a NaN takes the form for all numbers.
        if largest <= near.limit:
            for i in block:
                result[i] = cast(near.compute(*[cast(x[i], near_number) for x in arrays[:-1]]), element)
        else:
            for i in block:
                result[i] = cast(function(*[cast(x[i], number) for x in arrays[:-1]]), element)
