"""
Draws by rejection and by shuffling: the number of random words that an element needs depends on the words.

An element draws from blocks of the generator of `mir.rng_bits` that no other element draws from. Attempts are made
until one is accepted, so no draw is cut short; each attempt is accepted with a probability of at least 0.7.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.mir.core import HasKernel, MirOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Flag, Tensor, flag, tensor
from xdsl_rlx.dialects.mir.random import key_batch
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, method
from xdsl_rlx.dialects.shapes import FLOATS, check_element, dims, element_of, shape_of


def _check_parameters(key: SSAValue, *parameters: SSAValue) -> tuple[int, ...]:
    """The shape of parameters, which are alike and begin with the dimensions of the keys."""
    batch, first = key_batch(key), parameters[0]
    shape = shape_of(first)
    for parameter in parameters:
        check_element(element_of(parameter), FLOATS)
        if parameter.type != first.type:
            raise VerifyException(f"expected parameters of one type, got {first.type} and {parameter.type}")
    if shape[: len(batch)] != batch:
        raise VerifyException(f"expected parameters that begin with the dimensions {dims(batch)}, got {dims(shape)}")
    return shape


class RngGammaOp(MirOp, name="mir.rng_gamma"):
    """
    `result[i]` is drawn from the gamma distribution of shape `alpha[i]` and scale 1; with `log`, its logarithm.

    Marsaglia and Tsang, 2000: `d (1 + z / sqrt(9 d))^3` for a normal `z` and `d = alpha - 1/3`, accepted with a
    probability of at least 0.95. Below 1, a draw for `alpha + 1` is multiplied by `u^(1 / alpha)`. An `alpha` of 0
    gives 0, infinity infinity, and NaN or a negative number NaN.

    Attempt `t` of element `i` of `n` uses block `t n + i` of the key, in f64 blocks `2 (t n + i)` and the next one. The
    derivative by `alpha` is that of the quantile at fixed probability, `mir.gamma_slope` (Figurnov et al., 2018).
    """

    key: Tensor = tensor(alone=True)
    alpha: Tensor = tensor()
    log: Flag = flag(default=False)
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> tuple[Attribute]:
        _check_parameters(self.key, self.alpha)
        return (self.alpha.type,)


class GammaSlopeOp(MirOp, name="mir.gamma_slope"):
    """
    `result = dx/dalpha` of the quantile `x` of the gamma distribution of shape `alpha`, at fixed probability.

    `-(dP/dalpha) / p` with the distribution function `P(alpha, x)` and its density `p`. With `log`, `x` is the
    logarithm of the quantile, and so is what the derivative is of. By the power series of DLMF 8.7.1, the continued
    fraction of 8.9.2, or, for a large `alpha`, the expansion 8.12; computed in f64.
    """

    alpha: Tensor = tensor()
    x: Tensor = tensor()
    log: Flag = flag(default=False)
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.alpha), FLOATS)
        if self.alpha.type != self.x.type:
            raise VerifyException(f"expected alpha and x of one type, got {self.alpha.type} and {self.x.type}")
        return (self.alpha.type,)


class RngPoissonOp(MirOp, name="mir.rng_poisson"):
    """
    `result[i]`, i64, is drawn from the Poisson distribution of mean `rate[i]`; -1 for a rate that is NaN or negative.

    Below 10 by summing up probabilities until their sum exceeds `u`, else by transformed rejection (PTRS; Hoermann,
    1993). Computed in f64. Attempt `t` of element `i` of `n` uses block `t n + i` of the key.
    """

    key: Tensor = tensor(alone=True)
    rate: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> tuple[Attribute]:
        return (TensorType(i64, _check_parameters(self.key, self.rate)),)


class RngBinomialOp(MirOp, name="mir.rng_binomial"):
    """
    `result[i]`: the successes in `count[i]` trials of probability `p[i]`, drawn, of the type of both.

    NaN for a negative or infinite `count` (others are rounded down) and for a `p` outside of [0, 1]. If a mean of
    successes or failures is below 10 by summing up probabilities until their sum exceeds `u`, else by transformed
    rejection (BTRS; Hoermann, 1993). Computed in f64. Attempt `t` of element `i` of `n` uses block
    `t n + i` of the key.
    """

    key: Tensor = tensor(alone=True)
    count: Tensor = tensor()
    p: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> tuple[Attribute]:
        _check_parameters(self.key, self.count, self.p)
        return (self.count.type,)


class RngPermutationOp(MirOp, name="mir.rng_permutation"):
    """
    `result[.., :]`: the numbers from 0 to `n - 1` in random order, i32 or i64, independent for each row.

    An inside-out Fisher-Yates shuffle: element `i` swaps places with element `floor(r (i + 1) / 2^64)`, of 64 random
    bits `r`, so no order is more probable than another by more than `n^2 / 2^64`. Row `k` of a key uses blocks from
    `2^32 k` on, one for two elements. A row has less than `2^31` elements.
    """

    key: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())
    assembly_format = "$key attr-dict `:` type($key) `to` type($result)"

    def __init__(self, key: SSAValue, shape: Sequence[int], element: Attribute = i64):
        self.assemble(operands=[key], result_types=[TensorType(element, (*key_batch(key), *shape))])

    def infer_types(self) -> tuple[Attribute]:
        batch, shape = key_batch(self.key), shape_of(self.result)
        check_element(element_of(self.result), (i32, i64))
        if shape[: len(batch)] != batch or len(shape) == len(batch):
            raise VerifyException(f"expected rows behind the dimensions {dims(batch)}, got {dims(shape)}")
        if shape[-1] >= 2**31:
            raise VerifyException(f"expected a row of less than 2^31 elements, got {shape[-1]}")
        return (self.result.type,)


class DistributionsBuilder(BuilderCore):
    """Builder methods of this family. `mir.rng_uniform` and others have theirs in `random.py`."""

    rng_gamma = method(RngGammaOp)
    gamma_slope = method(GammaSlopeOp)
    rng_poisson = method(RngPoissonOp)
    rng_binomial = method(RngBinomialOp)

    def rng_permutation(self, key: Operand, shape: Sequence[int], dtype: object = "i64") -> Value:
        """`mir.rng_permutation`: the numbers below `shape[-1]` in random order, for each row of `shape`, per key."""
        return self.op(RngPermutationOp, self.operand(key), shape, constants.element_type(dtype))
