"""Samples of `hir` blocks, one file per family, named as the file of its blocks, and what blocks mean beside them.

A sample's `reference` is written once for NumPy and JAX, from the textbook, and knows nothing of mir. A file is found
by being here.
"""

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from xdsl.ir import Operation

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]


@dataclass(frozen=True)
class BlockSample:
    """A block in a graph: its operands by name, and what its results are."""

    id: str
    op: type[Operation]
    """The block that this is a sample of."""
    arrays: Arrays
    reference: Callable[..., Any]
    """`(numpy or jax.numpy, **arrays)` -> the result, or a tuple of them."""
    options: Mapping[str, Any]
    """Further arguments of the method."""
    build: Callable[..., Any] | None = None
    """`(graph, **values)` -> results, where that is not the method of the block's name on `arrays` and `options`."""
    fixed: tuple[str, ...] = ()
    """Operands that are not differentiated although they are floats."""

    @property
    def wrt(self) -> list[str]:
        """The operands that are differentiated."""
        return [name for name, array in self.arrays.items() if array.dtype.kind == "f" and name not in self.fixed]

    def results(self, m: Any, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """What the graph has of the block."""
        method = getattr(m, self.op.name.removeprefix("hir."))
        found = method(**values, **self.options) if self.build is None else self.build(m, **values)
        return found if isinstance(found, tuple) else (found,)

    def module(self, half: str | None = None) -> rlx.GraphModule:
        """A loss of all results, then the results; in half floats, fixed operands are f32."""

        def dtype(name: str) -> Any:
            floats = self.arrays[name].dtype.kind == "f" and half is not None
            return ("f32" if name in self.fixed else half) if floats else self.arrays[name].dtype

        def build(m: Any) -> Any:
            values = {name: m.param(name, array.shape, dtype(name)) for name, array in self.arrays.items()}
            found = self.results(m, values)
            loss = m.reduce_sum(m.sin(found[0]))
            for other in found[1:]:
                loss = loss + m.reduce_sum(m.cos(other))
            return [loss, *found]

        return rlx.GraphModule.define("f", build)

    def expected(self, np_: Any, arrays: Mapping[str, Any]) -> list[Any]:
        """The loss and the results, by the reference."""
        found = self.reference(np_, **arrays)
        found = found if isinstance(found, tuple) else (found,)
        loss = np_.sum(np_.sin(found[0])) + sum(np_.sum(np_.cos(other)) for other in found[1:])
        return [loss, *found]


def sample(
    name: str,
    op: type[Operation],
    reference: Callable[..., Any],
    arrays: Mapping[str, tuple[int, ...] | Array],
    *,
    fixed: tuple[str, ...] = (),
    build: Callable[..., Any] | None = None,
    **options: Any,
) -> BlockSample:
    """A sample whose operands are arrays, or normally distributed numbers of a shape."""
    rng = np.random.default_rng([*name.encode()])
    given = {
        key: shape if isinstance(shape, np.ndarray) else rng.standard_normal(shape) * 0.7
        for key, shape in arrays.items()
    }
    return BlockSample(name, op, given, reference, options, build, fixed)


def activations(np_: Any) -> dict[str | None, Callable[[Any], Any]]:
    """The activations that samples use."""
    from jax.scipy.special import erf as jax_erf
    from scipy.special import erf

    erf_ = erf if np_ is np else jax_erf
    return {
        None: lambda x: x,
        "relu": lambda x: np_.maximum(x, 0.0),
        "tanh": np_.tanh,
        "silu": lambda x: x / (1 + np_.exp(-x)),
        "sigmoid": lambda x: 1 / (1 + np_.exp(-x)),
        "gelu": lambda x: x * (1 + erf_(x / np.sqrt(2))) / 2,
    }


def layer_norm(np_: Any, x: Any, gamma: Any = 1.0, beta: Any = 0.0, eps: float = 1e-5) -> Any:
    """Along the last axis."""
    d = x - np_.mean(x, axis=-1, keepdims=True)
    return d / np_.sqrt(np_.mean(d * d, axis=-1, keepdims=True) + eps) * gamma + beta


def rms_norm(np_: Any, x: Any, gamma: Any = 1.0, beta: Any = 0.0, eps: float = 1e-5) -> Any:
    """Along the last axis."""
    return x / np_.sqrt(np_.mean(x * x, axis=-1, keepdims=True) + eps) * gamma + beta


def _found() -> tuple[BlockSample, ...]:
    modules = [import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    return tuple(sample for module in modules for sample in module.SAMPLES)


def samples() -> tuple[BlockSample, ...]:
    """Those of all families."""
    return _found()
