"""
Random numbers from explicit keys, and sampling from a distribution.

The generator is Philox 4x32-10 (Salmon et al., 2011): a function of key and position. Results do not depend on the
number of threads, and equal keys give equal numbers. Use a new key for each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from xdsl.dialects.builtin import TensorType, f64, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.mir.core import HasKernel, MirOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Integer,
    Real,
    Tensor,
    f64_attr,
    i64_attr,
    integer,
    real,
    tensor,
)
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, method
from xdsl_rlx.dialects.shapes import FLOATS, check_element, dims, element_of, shape_of


def key_batch(key: SSAValue) -> tuple[int, ...]:
    """The leading dimensions of a key `[.., 2]`; VerifyException for anything else."""
    shape = shape_of(key)
    if not shape or shape[-1] != 2:
        raise VerifyException(f"expected a key of shape [.., 2], such as rlx.key(0), got shape {dims(shape)}")
    check_element(element_of(key), (i32, i64), "key")
    return shape[:-1]


def _random_type(key: SSAValue, result: SSAValue | Attribute, elements: Sequence[Attribute]) -> Attribute:
    """The type of `result`, if it may be drawn from `key`."""
    batch, shape, element = key_batch(key), shape_of(result), element_of(result)
    check_element(element, elements)
    if shape[: len(batch)] != batch:
        raise VerifyException(f"expected a result that begins with the dimensions {dims(batch)}, got {dims(shape)}")
    return TensorType(element, shape)


class RngBitsOp(MirOp, name="mir.rng_bits"):
    """
    `result[i] = word i of the Philox 4x32-10 stream of the key`: 32 random bits each, as an i32.

    A key is two integers, seed and stream: i64 `[2]`, or i32 whose bits are read as unsigned. Words `4 n` to `4 n + 3`
    are the block of counter `(offset + n, seed >> 32, stream >> 32)` (64, 32 and 32 bits, the least significant word
    first) and key `(seed mod 2^32, stream mod 2^32)`. A key `[b.., 2]` is a batch of keys: the result is `[b.., i..]`.
    """

    key: Tensor = tensor()
    offset: Integer = integer(default=0)
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())
    assembly_format = "$key `offset` $offset attr-dict `:` type($key) `to` type($result)"

    def __init__(self, key: SSAValue, shape: Sequence[int], offset: int = 0):
        result = TensorType(i32, (*key_batch(key), *shape))
        self.assemble(operands=[key], properties={"offset": i64_attr(offset)}, result_types=[result])

    def infer_types(self) -> tuple[Attribute]:
        return (_random_type(self.key, self.result, (i32,)),)


class RngUniformOp(MirOp, name="mir.rng_uniform"):
    """
    `result = low + u (high - low)`, independent uniform numbers of `[low, high)`.

    `u[i] = (word i >> 8) / 2^24` of `mir.rng_bits`; in f64 it has 53 bits, of words `i` and `n + i` (of `n` numbers
    per key). Bounds are rounded to the element type, and a result that rounds to `high` is the number below it.
    """

    key: Tensor = tensor()
    low: Real = real()
    high: Real = real()
    result = result_def(AnyTensorConstr)

    assembly_format = "$key `low` $low `high` $high attr-dict `:` type($key) `to` type($result)"

    def __init__(self, key: SSAValue, shape: Sequence[int], element: Attribute, low: float = 0.0, high: float = 1.0):
        result = TensorType(element, (*key_batch(key), *shape))
        self.assemble(operands=[key], properties={"low": f64_attr(low), "high": f64_attr(high)}, result_types=[result])

    @property
    def bounds(self) -> tuple[float, float]:
        """`low` and `high`, rounded to the element type."""
        element = element_of(self.result)
        return constants.round_to(self.low.value.data, element), constants.round_to(self.high.value.data, element)

    def infer_types(self) -> tuple[Attribute]:
        type_ = _random_type(self.key, self.result, FLOATS)
        low, high = self.bounds
        if not (low < high and isfinite(constants.round_to(high - low, element_of(type_)))):
            raise VerifyException(f"expected finite bounds low < high, got {low} and {high}")
        return (type_,)


class RngNormalOp(MirOp, name="mir.rng_normal"):
    """
    `result = mean + scale z`, independent standard normal `z[i] = sqrt(-2 ln u) cos(2 pi v)` (Box-Muller).

    For `n` numbers per key, `u` in (0, 1] and `v` in [0, 1) are made of words `i` and `n + i` of `mir.rng_bits`:
    `u = (word >> 8 + 1) / 2^24`, `v = (word >> 8) / 2^24`. In f64 they have 53 bits, of words `i` and `n + i`, and of
    `2 n + i` and `3 n + i`.
    """

    key: Tensor = tensor()
    mean: Real = real()
    scale: Real = real()
    result = result_def(AnyTensorConstr)

    assembly_format = "$key `mean` $mean `scale` $scale attr-dict `:` type($key) `to` type($result)"

    def __init__(self, key: SSAValue, shape: Sequence[int], element: Attribute, mean: float = 0.0, scale: float = 1.0):
        result = TensorType(element, (*key_batch(key), *shape))
        self.assemble(
            operands=[key], properties={"mean": f64_attr(mean), "scale": f64_attr(scale)}, result_types=[result]
        )

    def infer_types(self) -> tuple[Attribute]:
        return (_random_type(self.key, self.result, FLOATS),)


def _check_filters(op: DrawOp | SampleOp) -> tuple[int, ...]:
    """The rows of the logits; VerifyException for logits or filters that mean nothing."""
    check_element(element_of(op.logits), FLOATS, "logits")
    shape = shape_of(op.logits)
    if not shape or not shape[-1]:
        raise VerifyException(f"expected logits of at least one id, got {dims(shape)}")
    if not 0 <= op.temperature.value.data < float("inf"):
        raise VerifyException(f"expected a finite temperature of at least 0, got {op.temperature.value.data}")
    if op.top_k.value.data < 0:
        raise VerifyException(f"expected top_k of at least 0, got {op.top_k.value.data}")
    if not 0 < op.top_p.value.data <= 1:
        raise VerifyException(f"expected top_p above 0 and up to 1, got {op.top_p.value.data}")
    return shape[:-1]


_FILTERS = "`temperature` $temperature `top_k` $top_k `top_p` $top_p attr-dict `:` functional-type(operands, results)"


class DrawOp(MirOp, name="mir.draw"):
    """
    The id at quantile `u` of each row of `logits` `[.., v]`: the first one whose cumulative probability exceeds `u`.

    Probabilities are a softmax of `logits / max(temperature, 1e-6)` over the ids that pass two filters, in this order:

    * `top_k > 0` keeps logits that are not below the `top_k`-th largest; ties stay.
    * `top_p < 1` keeps the most probable ids, ties by smaller id, up to and including the one at which
      their sum reaches `top_p`.

    An id of probability 0 is not drawn. `u` is f64 `[..]`, in [0, 1); the result is i64 `[..]`. A row with NaN gives 0.
    """

    logits: Tensor = tensor()
    u: Tensor = tensor(alone=True)
    temperature: Real = real(default=1.0)
    top_k: Integer = integer(default=0)
    top_p: Real = real(default=1.0)
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> tuple[Attribute]:
        rows = _check_filters(self)
        if element_of(self.u) != f64 or shape_of(self.u) != rows:
            raise VerifyException(f"expected u of type {TensorType(f64, rows)}, got {self.u.type}")
        return (TensorType(i64, rows),)


class SampleOp(MirOp, name="mir.sample"):
    """
    An id drawn from each row of `logits` `[.., v]`, i64 `[..]`: `mir.draw` at numbers `u` of `mir.rng_uniform` in f64.

    Row `r` of `n` uses words `r` and `n + r` of the stream of the key `[2]`, so rows are independent. Equal keys give
    equal draws. With a batch of keys (`mir-vmap`, `rng_split`), each example has its own draws.
    """

    logits: Tensor = tensor()
    key: Tensor = tensor(alone=True)
    temperature: Real = real(default=1.0)
    top_k: Integer = integer(default=0)
    top_p: Real = real(default=1.0)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        rows = _check_filters(self)
        if key_batch(self.key):
            raise VerifyException(f"expected one key of shape [2], got {dims(shape_of(self.key))}")
        return (TensorType(i64, rows),)


class RandomBuilder(BuilderCore):
    """Builder methods of this family. A key is an i64 tensor `[2]`, seed and stream: an input of the graph."""

    def rng_bits(self, key: Operand, shape: Sequence[int], offset: int = 0) -> Value:
        """`mir.rng_bits`: random words, i32, of `shape` per key."""
        return self.op(RngBitsOp, self.operand(key), shape, offset)

    def rng_uniform(
        self, key: Operand, shape: Sequence[int], low: float = 0.0, high: float = 1.0, dtype: object = "f32"
    ) -> Value:
        """`mir.rng_uniform`: numbers of `[low, high)`, of `shape` per key."""
        return self.op(RngUniformOp, self.operand(key), shape, constants.element_type(dtype), low, high)

    def rng_normal(
        self, key: Operand, shape: Sequence[int], mean: float = 0.0, scale: float = 1.0, dtype: object = "f32"
    ) -> Value:
        """`mir.rng_normal`: normally distributed numbers, of `shape` per key."""
        return self.op(RngNormalOp, self.operand(key), shape, constants.element_type(dtype), mean, scale)

    draw = method(DrawOp)
    sample = method(SampleOp)
