"""Calls of every builder method with arguments that fit, and what to put in their place to see what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numerics.families import SAMPLES
from numerics.sample import Operand, Sample, method
from xdsl.dialects.builtin import f32

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.elementwise import ConstantOp

OTHER = rlx.Graph("other")
FOREIGN = OTHER.input("foreign", (2, 3))

HOSTILE: dict[str, Any] = {
    "None": None,
    "text": "a",
    "bytes": b"a",
    "fraction": 1.5,
    "nan": float("nan"),
    "inf": float("inf"),
    "minus one": -1,
    "zero": 0,
    "2^62": 2**62,
    "2^200": 2**200,
    "10^400": 10**400,
    "complex": 1j,
    "True": True,
    "list": [],
    "dict": {},
    "set": {1},
    "nested": [[1], [2, 3]],
    "huge list": [2**62, 2**62, 2**62],
    "texts": ["a"],
    "object": object(),
    "type": int,
    "function": len,
    "np.int64": np.int64(0),
    "np.float32": np.float32(2.5),
    "np.bool": np.bool_(False),
    "array": np.arange(3),
    "array of nothing": np.zeros((0, 2)),
    "array of objects": np.array([None, "a"], dtype=object),
    "array of texts": np.array(["a"]),
    "half": np.ones((2, 2), ml_dtypes.bfloat16),
    "masked": np.ma.array([1.0, 2.0], mask=[True, False]),
    "value of another graph": FOREIGN,
}
"""Arguments that hardly any method takes in any place."""


@dataclass(frozen=True)
class Call:
    """A call of a method that fits; operands are made anew in each graph."""

    method: str
    sample: Any
    dtype: str
    number: int
    """Which of the sample's calls it is."""
    places: tuple[int | str, ...]
    """The positions and names of its arguments."""


class Recorder:
    """Passes calls on to a graph, and makes the one of a number its own."""

    def __init__(self, graph: rlx.Graph, seen: Callable[[str, int, tuple[Any, ...], dict[str, Any]], Any]):
        self._graph = graph
        self._seen = seen
        self._count = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._graph, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self._count += 1
            self._seen(name, self._count - 1, args, kwargs)
            return found(*args, **kwargs)

        return call


class Reached(Exception):
    """The call that was looked for has been reached."""


def graph_of(sample: Any, dtype: str) -> tuple[rlx.Graph, list[Any]]:
    """A graph with the operands of a sample."""
    g = rlx.Graph("g")
    return g, [g.input(f"x{i}", one.shape, one.type_in(dtype)) for i, one in enumerate(sample.operands)]


X = Operand((2, 4))

_ONE_OPERAND = (
    *("angle", "atan", "cos", "erf", "gelu", "gelu_approx", "recip", "relu", "round", "rsqrt", "sigmoid", "silu"),
    *("exp", "safe_rsqrt", "safe_sqrt", "sin", "tan", "is_finite", "is_inf", "is_nan"),
)

_INLINED = rlx.Graph("inlined")
_INLINED.set_outputs(_INLINED.input("a", X.shape) + _INLINED.input("b", X.shape))


def _also(name: str, build: Callable[..., Any], *operands: Operand) -> Sample:
    return Sample(name, ConstantOp, build, operands or (X,), ("f32",))


MORE: list[Sample] = [
    *(_also(name, method(name)) for name in _ONE_OPERAND),
    _also("frames", lambda m, x: m.frames(x, 3, 1)),
    _also("fft_real", lambda m, x: m.fft_real(x, n=4)),
    _also("fftfreq", lambda m, x: (m.fftfreq(4, d=0.5, dtype="f64"), m.rfftfreq(5, d=0.5, dtype="f64"))),
    _also("rng_split", lambda m, key: m.rng_split(key, 2), Operand((2,), dtype="i64")),
    _also("expand_to", lambda m, x: m.expand_to(x, (2, 3, 4), [1], keep_dim=False)),
    _also("unbroadcast", lambda m, x: m.unbroadcast(x, (4,))),
    _also("mulhi", lambda m, x, y: m.mulhi(x, y), Operand((3,), dtype="i32"), Operand((3,), dtype="i32")),
    _also("accumulated", lambda m, x: m.accumulated(x, dtype="f64")),
    _also("scalar", lambda m, x: m.scalar(1.5, f32)),
    _also("zeros_like", lambda m, x: (m.zeros_like(x), m.ones_like(x))),
    _also("arguments", lambda m, x: (m.input("y", (2,), dtype="i32"), m.param("z", (2,), dtype="i32"))),
    _also("set_outputs", lambda m, x: m.set_outputs([x])),
    _also("named", lambda m, x: m.named("part")),
    _also("tap", lambda m, x: m.tap(m.exp(x), "middle")),
    _also("inline", lambda m, x: m.inline(_INLINED, x, b=x)),
    _also("fake_quantize", lambda m, x: m.fake_quantize(x, None, 8, axis=0, ste="identity", decay=None)),
    _also("attention", lambda m, q: m.attention(q, q, q, num_heads=2, mask_kind="causal", score_scale=0.5)),
    _also(
        "conv",
        lambda m, x, w, b: m.conv(x, w, stride=1, padding=(1,), dilation=1, groups=1, bias=b),
        Operand((1, 2, 5)),
        Operand((3, 2, 3)),
        Operand((3,)),
    ),
    _also(
        "scan",
        lambda m, h, x: m.scan(lambda c, e: (c + e, c), h, xs=x, length=3, reverse=True, checkpoints=2)[0],
        Operand((2,)),
        Operand((3, 2)),
    ),
    _also("cond", lambda m, x: m.cond(True, lambda a: a * 2.0, lambda a: a, x)),
    _also("switch", lambda m, x: m.switch(1, [lambda a: a * 2.0, lambda a: a], x)),
    _also("remat", lambda m, x: m.remat(lambda a: a * 2.0, x)),
    _also(
        "while_loop",
        lambda m, x: m.while_loop(
            lambda c: m.reduce_sum(c) < 9.0, lambda c: c + 1.0, x, max_iterations=3, return_trips=True
        ),
    ),
    _also("custom_fn", lambda m, x: m.custom_fn(lambda a: a, x, vjp=lambda a, y, d: d, jvp=lambda a, t: t)),
    _also("elementwise_region", lambda m, x: m.elementwise_region(lambda a: a * 2.0, x)),
    _also("batch_elementwise_region", lambda m, x: m.batch_elementwise_region(lambda a: a * 2.0, [x, x])),
    _also(
        "transform_region",
        lambda m, x: (m.resize_nearest_2x(x), m.transform_region(lambda a: m.resize_nearest_2x(a), x)),
        Operand((1, 2, 3, 2)),
    ),
    _also("rms_norm", lambda m, x: m.rms_norm(x, gamma=None, beta=None, axis=-1, eps=1e-5)),
    _also("reduce_sum", lambda m, x: m.reduce_sum(x, axes=[0], keep_dim=True, dtype="f64")),
    _also("cumsum", lambda m, x: m.cumsum(x, axis=0, exclusive=True, reverse=True, dtype="f64")),
    *(
        _also(name, lambda m, x, n=name: getattr(m, n)(x, axis=1, keepdims=True))
        for name in ("all", "any", "logsumexp")
    ),
    *(_also(name, lambda m, x, n=name: getattr(m, n)(x, axis=[0], ddof=1, keepdims=True)) for name in ("std", "var")),
    _also("log_softmax", lambda m, x: m.log_softmax(x, axis=0)),
    _also("clip", lambda m, x: m.clip(x, low=0.0, high=1.0)),
    _also("full", lambda m, x: m.full(shape=(2, 3), value=1.5, dtype="f16")),
]
"""Calls that no sample makes, or with arguments that samples leave out."""


_SQUARE, _LINE, _PLACES = Operand((3, 3)), Operand((4,)), Operand((2, 4), dtype="i64")

OF_NUMPY: list[Sample] = [
    _also("ranges", lambda m, x: (m.arange(1, 9, 2, dtype="f64"), m.linspace(0, 1, 5, endpoint=True, dtype="f64"))),
    _also("eye", lambda m, x: m.eye(3, 4, 1, dtype="f64")),
    _also("one_hot", lambda m, n: m.one_hot(n, 4, axis=-1, dtype="f64"), _PLACES),
    *(_also(name, lambda m, x, n=name: getattr(m, n)(x, k=1)) for name in ("tril", "triu")),
    _also("pad", lambda m, x: m.pad(x, (1, 2), constant_values=1.5, interior=1)),
    _also("stack", lambda m, x: m.stack([x, x], axis=1)),
    _also("split", lambda m, x: m.split(x, 2, axis=1)),
    _also("roll", lambda m, x: m.roll(x, 1, axis=1)),
    _also("tile", lambda m, x: m.tile(x, (2, 1))),
    _also("repeat", lambda m, x: m.repeat(x, 2, axis=1)),
    _also("axes", lambda m, x: (m.moveaxis(x, 0, 1), m.swapaxes(x, 0, 1), m.expand_dims(x, 1))),
    _also("squeeze", lambda m, x: m.squeeze(x, axis=1), Operand((2, 1))),
    _also("broadcast_to", lambda m, x: m.broadcast_to(x, (3, 2, 4))),
    _also("lines", lambda m, x: (m.ravel(x), m.flatten(x))),
    _also("take_along_axis", lambda m, x, n: m.take_along_axis(x, n, axis=1), X, _PLACES),
    *(_also(name, lambda m, x, n=name: getattr(m, n)(x, axis=0)) for name in ("sort", "argsort", "cummax", "cummin")),
    *(_also(name, lambda m, x, n=name: getattr(m, n)(x, axis=0, keepdims=True)) for name in ("argmax", "argmin")),
    _also("cumprod", lambda m, x: m.cumprod(x, axis=0, dtype="f64")),
    _also("searchsorted", lambda m, a, v: m.searchsorted(a, v, side="right"), _LINE, X),
    _also("einsum", lambda m, a: m.einsum("ij,kj->ik", a, a)),
    _also("tensordot", lambda m, a: m.tensordot(a, a, axes=2)),
    *(
        _also(name, lambda m, a, n=name: getattr(m, n)(a, a), _LINE)
        for name in ("dot", "inner", "vdot", "outer", "kron")
    ),
    _also("diagonal", lambda m, a: m.diagonal(a, offset=1, axis1=0, axis2=1)),
    _also("trace", lambda m, a: m.trace(a, offset=1, axis1=0, axis2=1, dtype="f64")),
    _also("norm", lambda m, a: m.norm(a, ord=2, axis=1, keepdims=True)),
    _also(
        "triangular_solve",
        lambda m, a, b: m.triangular_solve(a, b, lower=False, transpose=True, unit_diagonal=True),
        _SQUARE,
        Operand((3, 2)),
    ),
    _also("all_reduce", lambda m, x: m.all_reduce(x, "mean", 2)),
    _also("all_gather", lambda m, x: m.all_gather(x, 2)),
    _also("reduce_scatter", lambda m, x: m.reduce_scatter(x, 2), Operand((4, 3))),
    _also("broadcast", lambda m, x: m.broadcast(x, 1, 2)),
    _also("reduce_to", lambda m, x: m.reduce_to(x, 1, 2)),
    _also("debug_print", lambda m, x: (m.debug_print("{0}", x), x)[1]),
    _also("cho_solve", lambda m, a, b: m.cho_solve(a, b, lower=False), _SQUARE, Operand((3, 2))),
    *(_also(name, method(name), _SQUARE) for name in ("inv", "det", "slogdet")),
    _also("integer_power", lambda m, n: m.integer_power(n, 3), _PLACES),
    _also("power_by_squarings", lambda m, x: m.power_by_squarings(x, 3)),
    _also("complex_power", lambda m, z: m.complex_power(z, 2.5), Operand((2, 4), dtype="c64")),
]
"""Calls of methods that build ops which exist: they have no samples, but rows in `tests/face/`."""


def calls() -> Iterator[Call]:
    """Calls of every method: the first that a sample makes, and those of `MORE` and `OF_NUMPY`."""
    done = {"value", "op", "emit", "operand", "operands"}
    for sample in [*MORE, *OF_NUMPY, *SAMPLES]:
        dtype = sample.dtypes[0]
        found: list[Call] = []

        def seen(
            name: str,
            number: int,
            args: tuple[Any, ...],
            kwargs: dict[str, Any],
            sample: Any = sample,
            dtype: str = dtype,
            found: list[Call] = found,
        ) -> None:
            if name not in done:
                done.add(name)
                found.append(Call(name, sample, dtype, number, (*range(len(args)), *kwargs)))

        g, xs = graph_of(sample, dtype)
        sample.build(Recorder(g, seen), *xs)
        yield from found


Change = Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]


def replacing(place: int | str, value: Any) -> Change:
    """The same arguments but for one."""

    def change(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if isinstance(place, int):
            return (*args[:place], value, *args[place + 1 :]), kwargs
        return args, {**kwargs, place: value}

    return change


def as_numpys(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same numbers as NumPy's scalars, lists of them as arrays."""

    def turned(x: Any) -> Any:
        if isinstance(x, bool | int | float):
            return np.asarray(x)[()]
        if isinstance(x, tuple | list) and x and all(isinstance(one, int | float) for one in x):
            return np.asarray(x)
        return x

    return tuple(map(turned, args)), {name: turned(x) for name, x in kwargs.items()}


def outcome(call: Call, change: Change) -> Exception | None:
    """
    What the call raises when its arguments are changed.

    Asserts that a call that raises leaves no ops and no arguments behind, and that the graph works after it.
    """
    g, xs = graph_of(call.sample, call.dtype)
    caught: list[Exception | None] = []

    def contents() -> tuple[int, int]:
        block = g.builder.insertion_point.block
        return len(block.args), sum(1 for op in block.ops if op.results)

    def seen(name: str, number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if number != call.number:
            return
        args, kwargs = change(args, kwargs)
        before = contents()
        try:
            getattr(g, name)(*args, **kwargs)
            caught.append(None)
        except Exception as error:
            caught.append(error)
            assert contents() == before, f"{name} leaves something behind"
        raise Reached

    with suppress(Reached):
        call.sample.build(Recorder(g, seen), *xs)
    assert caught, f"{call.method} was not called"
    if xs:
        g.set_outputs(xs[0])
        assert g.module
    return caught[0]
