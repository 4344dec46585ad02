"""Rows of operators that draw random numbers: each by a key of its own.

The numbers are those of `rlx.random`, in the distributions of PyTorch, but not PyTorch's own for the same seed.
"""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xdsl_rlx import random
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast, category, is_tensor, numpy_dtype

_WIDEST = {"f16": "f32", "bf16": "f32"}


def _drawn(c: Call) -> Any:
    """The type that numbers are drawn in: that of the result, or one that has more digits."""
    return numpy_dtype(_WIDEST.get(c.dtype, c.dtype if category(c.dtype) == 2 else "f64"))


def _shape(x: Any) -> tuple[int, ...]:
    return tuple(x.shape)


@ROWS.add("rand.default", "rand.generator")
def _rand(c: Call, size: Sequence[int], *, generator: Any = None, dtype: str | None = None) -> Any:
    return cast(random.uniform(c.next_key(), tuple(size), _drawn(c)), c.dtype)


@ROWS.add("rand_like.default")
def _rand_like(c: Call, self: Any, *, dtype: str | None = None) -> Any:
    return _rand(c, self.shape)


@ROWS.add("randn.default", "randn.generator")
def _randn(c: Call, size: Sequence[int], *, generator: Any = None, dtype: str | None = None) -> Any:
    if category(c.dtype) == 3:
        part = numpy_dtype("f64" if c.dtype == "c128" else "f32")
        both = random.normal(c.next_key(), (2, *size), part) * cast(np.sqrt(0.5), "f64").astype(part)
        return cast(both[0] + 1j * both[1], c.dtype)
    return cast(random.normal(c.next_key(), tuple(size), _drawn(c)), c.dtype)


@ROWS.add("randn_like.default")
def _randn_like(c: Call, self: Any, *, dtype: str | None = None) -> Any:
    return _randn(c, self.shape)


@ROWS.add("uniform.default")
def _uniform(c: Call, self: Any, low: float = 0.0, high: float = 1.0, *, generator: Any = None, **named: float) -> Any:
    low, high = named.get("from", low), named.get("to", high)
    return cast(random.uniform(c.next_key(), _shape(self), _drawn(c), low, high), c.dtype)


@ROWS.add("normal_functional.default")
def _normal(c: Call, self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    return _randn(c, self.shape) * cast(std, c.dtype) + cast(mean, c.dtype)


@ROWS.add("normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor")
def _normal_of(c: Call, mean: Any, std: Any = 1.0, *, generator: Any = None) -> Any:
    shape = np.broadcast_shapes(*(_shape(x) for x in (mean, std) if is_tensor(x)))
    return _randn(c, shape) * cast(std, c.dtype) + cast(mean, c.dtype)


@ROWS.add("normal.float_float")
def _normal_sized(
    c: Call, mean: float, std: float, size: Sequence[int], *, generator: Any = None, dtype: str | None = None
) -> Any:
    return _randn(c, size) * cast(std, c.dtype) + cast(mean, c.dtype)


@ROWS.add("log_normal.default")
def _log_normal(c: Call, self: Any, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Any:
    return np.exp(_normal(c, self, mean, std))


@ROWS.add("exponential.default")
def _exponential(c: Call, self: Any, lambd: float = 1.0, *, generator: Any = None) -> Any:
    return cast(random.exponential(c.next_key(), _shape(self), _drawn(c)) / lambd, c.dtype)


@ROWS.add("cauchy.default")
def _cauchy(c: Call, self: Any, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Any:
    return cast(random.cauchy(c.next_key(), _shape(self), _drawn(c)) * sigma + median, c.dtype)


@ROWS.add("geometric.default")
def _geometric(c: Call, self: Any, p: float, *, generator: Any = None) -> Any:
    return cast(random.geometric(c.next_key(), p, _shape(self)), c.dtype)


@ROWS.add("bernoulli.default")
def _bernoulli(c: Call, self: Any, *, generator: Any = None) -> Any:
    return cast(random.bernoulli(c.next_key(), self), c.dtype)


@ROWS.add("bernoulli.p", "bernoulli.Tensor")
def _bernoulli_p(c: Call, self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    return cast(random.bernoulli(c.next_key(), p, _shape(self)), c.dtype)


@ROWS.add("poisson.default")
def _poisson(c: Call, self: Any, generator: Any = None) -> Any:
    return cast(random.poisson(c.next_key(), self), c.dtype)


@ROWS.add("binomial.default")
def _binomial(c: Call, count: Any, prob: Any, generator: Any = None) -> Any:
    return cast(random.binomial(c.next_key(), count, prob), c.dtype)


@ROWS.add("_standard_gamma.default")
def _gamma(c: Call, self: Any, generator: Any = None) -> Any:
    return random.gamma(c.next_key(), self)


@ROWS.add("_sample_dirichlet.default")
def _dirichlet(c: Call, self: Any, generator: Any = None) -> Any:
    return random.dirichlet(c.next_key(), self)


def _integers(c: Call, shape: Sequence[int], low: Any, high: Any) -> Any:
    return cast(random.randint(c.next_key(), tuple(shape), low, high, np.int64), c.dtype)


@ROWS.add("randint.default", "randint.generator")
def _randint(c: Call, high: int, size: Sequence[int], *, generator: Any = None, dtype: str | None = None) -> Any:
    return _integers(c, size, 0, high)


@ROWS.add("randint.low", "randint.low_generator")
def _randint_low(
    c: Call, low: int, high: int, size: Sequence[int], *, generator: Any = None, dtype: str | None = None
) -> Any:
    return _integers(c, size, low, high)


@ROWS.add("randint_like.default")
def _randint_like(c: Call, self: Any, high: int, *, dtype: str | None = None) -> Any:
    return _integers(c, self.shape, 0, high)


@ROWS.add("randint_like.low_dtype")
def _randint_like_low(c: Call, self: Any, low: int, high: int, *, dtype: str | None = None) -> Any:
    return _integers(c, self.shape, low, high)


@ROWS.add("random.from")
def _random_from(c: Call, self: Any, low: int, high: int | None, *, generator: Any = None) -> Any:
    return _integers(c, self.shape, low, (1 << 63) - 1 if high is None else high)


@ROWS.add("random.to")
def _random_to(c: Call, self: Any, high: int, *, generator: Any = None) -> Any:
    return _integers(c, self.shape, 0, high)


@ROWS.add("randperm.default", "randperm.generator")
def _randperm(c: Call, n: int, *, generator: Any = None, dtype: str | None = None) -> Any:
    return cast(random.permutation(c.next_key(), n), c.dtype)


@ROWS.add("multinomial.default")
def _multinomial(c: Call, self: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Any:
    """Positions with probabilities proportional to the elements of each row."""
    logits = np.log(self)
    front = (num_samples, *self.shape[:-1])
    if replacement:
        return np.moveaxis(random.categorical(c.next_key(), logits, shape=front), 0, -1)
    if np.ndim(self) == 1:
        return random.categorical(c.next_key(), logits, shape=front, replace=False)
    keys = [c.next_key() for _ in range(self.shape[0])]
    rows = [random.categorical(key, logits[n], shape=(num_samples,), replace=False) for n, key in enumerate(keys)]
    return np.stack(rows)


@ROWS.add("rrelu_with_noise_functional.default", composite=True)
def _rrelu(
    c: Call,
    self: Any,
    noise: Any,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Any:
    """With the slopes of negative elements, which are 1 elsewhere."""
    if not training:
        slope = cast((lower + upper) / 2, c.dtype)
        return [np.where(self > 0, self, self * slope), noise]
    drawn = cast(random.uniform(c.next_key(), _shape(self), _drawn(c), lower, upper), c.dtype)
    slopes = np.where(self <= 0, drawn, cast(1, c.dtype))
    return [self * slopes, slopes]
