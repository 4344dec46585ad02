"""What a sample is: a small graph, its operands, where to sample, how exact. The rows are in `families/`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from oracle import numpy_dtype
from xdsl.builder import Builder
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.constants import element_type
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.graph_methods.graph_builder import GraphBuilder

Array: TypeAlias = "np.ndarray[Any, Any]"
Sampler: TypeAlias = Callable[[np.random.Generator, tuple[int, ...]], Array]
Build: TypeAlias = Callable[..., Value | tuple[Value, ...]]


COMPLEX_OF = {"f32": "c64", "f64": "c128"}
NARROW = ("f16", "bf16")
EVERY_FLOAT = ("f32", "f64", *NARROW)


def normal(scale: float = 1.0) -> Sampler:
    """Normally distributed numbers."""
    return lambda rng, shape: scale * rng.standard_normal(shape)


def complex_normal(scale: float = 1.0) -> Sampler:
    """Complex numbers with normally distributed parts."""
    return lambda rng, shape: scale * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))


def ring(low: float, high: float) -> Sampler:
    """Complex numbers of magnitudes between `low` and `high`, away from the negative axis by an angle of 0.3."""
    return lambda rng, shape: rng.uniform(low, high, shape) * np.exp(1j * rng.uniform(0.3 - np.pi, np.pi - 0.3, shape))


def uniform(low: float, high: float) -> Sampler:
    """Numbers between `low` and `high`."""
    return lambda rng, shape: rng.uniform(low, high, shape)


def apart(gap: float = 0.1) -> Sampler:
    """Distinct numbers at least `gap` from each other and from 0: no ties, no kinks."""

    def sample(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        n = int(np.prod(shape))
        steps = gap * (1 + np.arange(n)) * np.where(np.arange(n) % 2, 1, -1)
        return rng.permutation(steps).reshape(shape)

    return sample


def values(*numbers: complex) -> Sampler:
    """These numbers, in order, repeated to fill the shape."""
    return lambda rng, shape: np.resize(np.array(numbers), shape)


def integers(low: int, high: int) -> Sampler:
    """Integers from `low` to `high - 1`."""
    return lambda rng, shape: rng.integers(low, high, shape)


SPECIAL = values(0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3e38, -3e38, 0.5, -2.5)
"""Signed zeros, infinities, NaN, numbers that are denormal or near the largest in f32."""

TIES = values(1.0, 1.0, -2.0, -2.0, 0.0, -0.0, 3.0)
"""Equal neighbours, and zeros of both signs."""


@dataclass(frozen=True)
class Operand:
    """One operand of a sample."""

    shape: tuple[int, ...]
    sampler: Sampler = field(default_factory=normal)
    dtype: str = "float"
    """An element type, or `float` for the one a test runs the sample in, `complex` for that of its pairs."""

    def type_in(self, dtype: str) -> str:
        """The name of the element type in a run in `dtype`."""
        if self.dtype == "complex":
            return COMPLEX_OF[dtype]
        return dtype if self.dtype == "float" else self.dtype


def ints(shape: tuple[int, ...], dtype: str = "i32") -> Operand:
    """Integers from -5 to 5."""
    return Operand(shape, integers(-5, 6), dtype)


def method(name: str, *parameters: Any) -> Build:
    """What the builder's method of this name builds with these last arguments."""
    return lambda m, *xs: getattr(m, name)(*xs, *parameters)


@dataclass(frozen=True)
class Sample:
    """A small graph around one op."""

    id: str
    op: type[Operation]
    """The op that this is a sample of."""
    build: Build
    operands: tuple[Operand, ...]
    dtypes: tuple[str, ...] = ("f32", "f64")
    """What `float` may stand for; without such operands, one entry that names the sample's type."""
    differentiable: tuple[int, ...] = ()
    """Operands that a derivative test differentiates."""
    smooth: bool = True
    """Whether derivatives exist at the sampled points, so that finite differences show them."""
    tol: float = 8.0
    """Error allowed, in units of the type's epsilon times the largest finite magnitude of the result (at least 1)."""
    exact: bool = False
    """Whether results are equal bit for bit (moves, comparisons, integer arithmetic, correctly rounded arithmetic)."""
    first: int = 0
    """The result of `build` that comes first: it is the one that derivative tests differentiate."""

    def results(self, m: GraphBuilder, *xs: Value) -> tuple[Value, ...]:
        """What is built, the result to differentiate in front."""
        built = self.build(m, *xs)
        found = built if isinstance(built, tuple) else (built,)
        return (found[self.first], *found[: self.first], *found[self.first + 1 :])

    def arrays(self, dtype: str, seed: int = 0) -> list[Array]:
        """Operands for a run in `dtype`: the same numbers, rounded, for every dtype."""
        rng = np.random.default_rng([seed, *self.id.encode()])
        result: list[Array] = []
        for operand in self.operands:
            to = numpy_dtype(operand.type_in(dtype))
            with np.errstate(over="ignore"):
                result.append(np.asarray(operand.sampler(rng, operand.shape)).astype(to))
        return result

    def module(self, dtype: str) -> ModuleOp:
        """The graph as a module of one function, verified the first time; operands are the inputs `x0`, `x1`, ..."""
        module = self.unverified(dtype)
        if (self.id, self.first, dtype) not in _VERIFIED:
            module.verify()
            _VERIFIED.add((self.id, self.first, dtype))
        return module

    def unverified(self, dtype: str) -> ModuleOp:
        """As `module`, for a look at the ops that `build` makes."""
        types = [TensorType(element_type(operand.type_in(dtype)), operand.shape) for operand in self.operands]
        return _module(self.results, types)


_VERIFIED: set[tuple[str, int, str]] = set()


@contextmanager
def named(sample: Sample, dtype: str) -> Iterator[None]:
    """Failures inside say which sample of a test of many it was."""
    try:
        yield
    except Exception as error:
        error.add_note(f"sample {sample.id} in {dtype}")
        raise


def build_module(build: Build, types: Sequence[TensorType[Any]]) -> ModuleOp:
    """A verified module of one function `@f` with inputs `x0`, `x1`, ... of these types."""
    module = _module(build, types)
    module.verify()
    return module


def _module(build: Build, types: Sequence[TensorType[Any]]) -> ModuleOp:
    block = Block(arg_types=types)
    m = GraphBuilder(Builder(InsertPoint.at_end(block)))
    for number, arg in enumerate(block.args):
        arg.name_hint = f"x{number}"
    built = build(m, *(m.value(arg) for arg in block.args))
    results = [v.ssa for v in (built if isinstance(built, tuple) else (built,))]
    m.builder.insert(ReturnOp(*results))
    arg_attrs = ArrayAttr(
        DictionaryAttr({"mir.name": StringAttr(f"x{number}"), "mir.kind": StringAttr("input")})
        for number in range(len(types))
    )
    return ModuleOp([FuncOp("f", (types, [v.type for v in results]), Region(block), arg_attrs=arg_attrs)])
