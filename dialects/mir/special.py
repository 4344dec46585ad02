"""Special functions: elementwise ops that are closed expressions, and one op with loops for those that iterate."""

from __future__ import annotations

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition, result_def, traits_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.mir.core import HasKernel, MirOp
from xdsl_rlx.dialects.mir.elementwise import UnaryOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Tensors, Word, tensors, word
from xdsl_rlx.dialects.mir.value import BuilderCore, method
from xdsl_rlx.dialects.shapes import FLOATS, check_element, dims, same_element_type, shape_of


class LgammaOp(UnaryOp, name="mir.lgamma"):
    """`result = ln |gamma(x)|`: infinite at 0 and negative integers."""


class DigammaOp(UnaryOp, name="mir.digamma"):
    """`result` is the derivative of `ln |gamma(x)|`: NaN at negative integers."""


class ErfcxOp(UnaryOp, name="mir.erfcx"):
    """`result = e^(x^2) (1 - erf(x))`, which is finite where its factors are not."""


class ErfInvOp(UnaryOp, name="mir.erf_inv"):
    """`erf(result) = x`: infinite at -1 and 1, NaN beyond."""


class NdtriOp(UnaryOp, name="mir.ndtri"):
    """`ndtr(result) = x`, the quantile of the normal distribution: infinite at 0 and 1, NaN beyond."""


class SpecialFunction(StrEnum):
    """Functions that are computed by series and continued fractions, named as in `jax.scipy.special`."""

    ZETA = "zeta"
    TRIGAMMA = "trigamma"
    IGAMMA = "igamma"
    IGAMMAC = "igammac"
    IGAMMA_GRAD_A = "igamma_grad_a"
    GAMMA_DENSITY = "gamma_density"
    BETAINC = "betainc"
    BETA_DENSITY = "beta_density"
    GAMMA = "gamma"
    BETA = "beta"
    BETALN = "betaln"
    BESSEL_I0E = "bessel_i0e"
    BESSEL_I1E = "bessel_i1e"
    BESSEL_J0 = "bessel_j0"
    BESSEL_J1 = "bessel_j1"
    EXPN = "expn"
    EXPI = "expi"
    SPENCE = "spence"
    DAWSN = "dawsn"
    SI = "si"
    CI = "ci"
    FRESNEL_S = "fresnel_s"
    FRESNEL_C = "fresnel_c"
    OWENS_T = "owens_t"
    HYP1F1 = "hyp1f1"

    @property
    def arity(self) -> int:
        """How many operands the function has."""
        return _ARITIES[self]


_ARITIES: dict[SpecialFunction, int] = {
    SpecialFunction.ZETA: 2,
    SpecialFunction.TRIGAMMA: 1,
    SpecialFunction.IGAMMA: 2,
    SpecialFunction.IGAMMAC: 2,
    SpecialFunction.IGAMMA_GRAD_A: 2,
    SpecialFunction.GAMMA_DENSITY: 2,
    SpecialFunction.BETAINC: 3,
    SpecialFunction.BETA_DENSITY: 3,
    SpecialFunction.GAMMA: 1,
    SpecialFunction.BETA: 2,
    SpecialFunction.BETALN: 2,
    SpecialFunction.BESSEL_I0E: 1,
    SpecialFunction.BESSEL_I1E: 1,
    SpecialFunction.BESSEL_J0: 1,
    SpecialFunction.BESSEL_J1: 1,
    SpecialFunction.EXPN: 2,
    SpecialFunction.EXPI: 1,
    SpecialFunction.SPENCE: 1,
    SpecialFunction.DAWSN: 1,
    SpecialFunction.SI: 1,
    SpecialFunction.CI: 1,
    SpecialFunction.FRESNEL_S: 1,
    SpecialFunction.FRESNEL_C: 1,
    SpecialFunction.OWENS_T: 2,
    SpecialFunction.HYP1F1: 3,
}


@irdl_attr_definition
class SpecialFunctionAttr(EnumAttribute[SpecialFunction], SpacedOpaqueSyntaxAttribute):
    """A special function as a property."""

    name = "mir.special_kind"


class SpecialFunctionOp(MirOp, name="mir.special_function"):
    """
    `result[i] = function(operands[i]..)`, of operands of one type.

    | function | |
    | --- | --- |
    | `zeta(s, q)` | `sum over k >= 0 of (q + k)^-s`, Hurwitz's |
    | `trigamma(x)` | `zeta(2, x)`, the derivative of `digamma` |
    | `igamma(a, x)`, `igammac(a, x)` | the regularised lower and upper incomplete gamma functions |
    | `igamma_grad_a(a, x)` | the derivative of `igamma` by `a` |
    | `gamma_density(a, x)` | `x^(a - 1) e^-x / gamma(a)`, the derivative of `igamma` by `x` |
    | `betainc(a, b, x)` | the regularised incomplete beta function |
    | `beta_density(a, b, x)` | `x^(a - 1) (1 - x)^(b - 1) / B(a, b)`, the derivative of `betainc` by `x` |
    | `gamma(x)` | the gamma function |
    | `beta(a, b)`, `betaln(a, b)` | `gamma(a) gamma(b) / gamma(a + b)`, and the logarithm of its size |
    | `bessel_i0e(x)`, `bessel_i1e(x)` | `e^-abs(x)` times the modified Bessel functions of orders 0 and 1 |
    | `bessel_j0(x)`, `bessel_j1(x)` | the Bessel functions of orders 0 and 1 |
    | `expn(n, x)` | the exponential integral `integral over t >= 1 of e^(-x t) t^-n`, for whole `n` |
    | `expi(x)` | the exponential integral `integral up to x of e^t / t`, its principal value |
    | `spence(x)` | the dilogarithm of `1 - x` |
    | `dawsn(x)` | Dawson's function `e^(-x^2) integral from 0 to x of e^(t^2)` |
    | `si(x)`, `ci(x)` | the sine and the cosine integral |
    | `fresnel_s(x)`, `fresnel_c(x)` | `integral from 0 to x of sin(pi t^2 / 2)`, and of the cosine |
    | `owens_t(h, a)` | Owen's function, the probability of `X > h` and `0 < Y < a X` |
    | `hyp1f1(a, b, x)` | Kummer's confluent hypergeometric function |
    """

    parts: Tensors = tensors()
    function: Word[SpecialFunction] = word(SpecialFunctionAttr, "special function")
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> tuple[Attribute]:
        function = self.function.data
        if len(self.parts) != function.arity:
            raise VerifyException(f"{function} has {function.arity} operands, got {len(self.parts)}")
        first, *others = self.parts
        for other in others:
            if shape_of(other) != shape_of(first):
                raise VerifyException(
                    f"expected operands of one shape, got {dims(shape_of(first))} and {dims(shape_of(other))}"
                )
        check_element(same_element_type(*self.parts), FLOATS)
        return (first.type,)


class SpecialBuilder(BuilderCore):
    """Builder methods of this family."""

    lgamma = method(LgammaOp)
    digamma = method(DigammaOp)
    erfcx = method(ErfcxOp)
    erf_inv = method(ErfInvOp)
    ndtri = method(NdtriOp)
    special_function = method(SpecialFunctionOp)
