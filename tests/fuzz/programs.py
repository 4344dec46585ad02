"""Random mir programs from a seed: every op family, broadcasting, odd and one-sized dimensions, values kept near one.

Not here: what is claimed about them (test_programs.py) and broken texts (test_texts.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from levels import EVERY

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph

Array = np.ndarray[Any, Any]
Step = Callable[["Maker"], Any]

DIMS = (1, 1, 2, 3, 5, 8, 17)
UNARY = (
    "tanh",
    "sigmoid",
    "sin",
    "cos",
    "gelu",
    "gelu_approx",
    "silu",
    "relu",
    "erf",
    "ndtr",
    "gaussian",
    "neg",
    "abs",
    "atan",
)
BINARY = ("add", "sub", "mul", "max", "min")
REDUCE = ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod")


@dataclass
class Maker:
    """A program under construction: its graph, the values made so far, and the arrays its arguments get."""

    rng: np.random.Generator
    dtype: str
    graph: Any
    values: list[Any] = field(default_factory=list[Any])
    arrays: dict[str, Array] = field(default_factory=dict[str, Array])
    wrt: list[str] = field(default_factory=list[str])

    def pick(self, *least: int) -> Any:
        """One of the values, of at least that rank; a new argument when there is none."""
        rank = least[0] if least else 0
        fitting = [value for value in self.values if len(value.shape) >= rank]
        if not fitting or self.rng.random() < 0.1:
            return self.argument([int(self.rng.choice(DIMS)) for _ in range(int(self.rng.integers(rank, 4)))])
        return fitting[int(self.rng.integers(len(fitting)))]

    def one_of(self, names: Sequence[str]) -> str:
        return names[int(self.rng.integers(len(names)))]

    def axis(self, value: Any) -> int:
        """An axis of the value, from either end."""
        rank = len(value.shape)
        return int(self.rng.integers(-rank, rank))

    def argument(self, shape: Sequence[int], positive: bool = False) -> Any:
        """A new input or param of the program's float type, differentiated."""
        name = f"a{len(self.arrays)}"
        declare = self.graph.param if self.rng.random() < 0.5 else self.graph.input
        array = self.rng.uniform(0.5, 1.5, shape) if positive else self.rng.standard_normal(shape)
        self.arrays[name] = np.asarray(array, np.float64 if self.dtype == "f64" else np.float32)
        self.wrt.append(name)
        value = declare(name, tuple(shape), dtype=self.dtype)
        self.values.append(value)
        return value


def _unary(m: Maker) -> Any:
    return getattr(m.graph, m.one_of(UNARY))(m.pick())


def _guarded(m: Maker) -> Any:
    """A function of restricted domain, on an operand brought into it."""
    x = m.pick()
    kind = m.one_of(("exp", "log", "sqrt", "rsqrt", "recip", "pow", "div"))
    if kind == "exp":
        return m.graph.exp(m.graph.tanh(x))
    positive = x * x + 0.5
    if kind == "pow":
        return m.graph.pow(positive, m.graph.tanh(x))
    return x / positive if kind == "div" else getattr(m.graph, kind)(positive)


def _binary(m: Maker) -> Any:
    """Operands that broadcast: the second has some dimensions of the first dropped or set to one."""
    x = m.pick()
    shape = [1 if m.rng.random() < 0.3 else n for n in x.shape][int(m.rng.integers(len(x.shape) + 1)) :]
    same = [value for value in m.values if value.shape == tuple(shape)]
    y = same[int(m.rng.integers(len(same)))] if same else m.argument(shape)
    pair = (x, y) if m.rng.random() < 0.5 else (y, x)
    if m.rng.random() < 0.2:
        return m.graph.where(pair[0] > pair[1], *pair)
    return getattr(m.graph, m.one_of(BINARY))(*pair)


def _reduce(m: Maker) -> Any:
    x = m.pick(1)
    count = int(m.rng.integers(1, len(x.shape) + 1))
    axes = sorted(int(a) for a in m.rng.choice(len(x.shape), count, replace=False))
    return getattr(m.graph, m.one_of(REDUCE))(x, axes=axes, keep_dim=bool(m.rng.random() < 0.5))


def _weights(m: Maker, x: Any, n: int) -> Any:
    """The right side of a product: one matrix, or one for each of some or all leading indices of the left side."""
    batch = [1 if m.rng.random() < 0.3 else size for size in x.shape[:-2]]
    shared = m.rng.random() < 0.5
    shape = [*([] if shared else batch), x.shape[-1], n]
    if m.rng.random() < 0.7:
        return m.argument(shape)
    rank = len(shape)
    return m.graph.transpose(m.argument([*shape[:-2], n, shape[-2]]), perm=(*range(rank - 2), rank - 1, rank - 2))


def _matmul(m: Maker) -> Any:
    """A product, or several of one shape that meet in a sum or a product, as they do in derivatives."""
    x = m.pick(2)
    n = int(m.rng.choice(DIMS))
    w = m.argument((x.shape[-1], n))
    if m.rng.random() < 0.3:
        activation = m.one_of(("relu", "gelu", "silu", "tanh"))
        return m.graph.fused_matmul_bias_act(x, w, m.argument((w.shape[1],)), activation=activation)
    total = m.graph.matmul(x, w)
    while m.rng.random() < 0.4:
        left = x if m.rng.random() < 0.5 else m.graph.tanh(m.argument(x.shape))
        total = getattr(m.graph, m.one_of(("add", "mul")))(total, m.graph.matmul(left, _weights(m, x, n)))
    return total


def _row(m: Maker) -> Any:
    x = m.pick(1)
    if m.rng.random() < 0.5:
        return m.graph.softmax(x, axis=m.axis(x))
    # Over very short rows the variance may vanish, and the derivative is eps-sized differences of large numbers.
    n = x.shape[-1]
    return m.graph.layer_norm(x, m.argument((n,), positive=True), m.argument((n,)), axis=-1, eps=1e-1)


def _move(m: Maker) -> Any:
    x = m.pick(1)
    rank = len(x.shape)
    match m.one_of(("transpose", "flatten", "split", "narrow", "concat", "expand")):
        case "transpose":
            return m.graph.transpose(x, perm=tuple(int(a) for a in m.rng.permutation(rank)))
        case "flatten":
            return m.graph.reshape(x, new_shape=(int(np.prod(x.shape)),))
        case "split":
            return m.graph.reshape(x, new_shape=(1, *x.shape))
        case "narrow":
            axis = int(m.rng.integers(rank))
            start = int(m.rng.integers(x.shape[axis]))
            length = int(m.rng.integers(1, x.shape[axis] - start + 1))
            return m.graph.narrow(x, axis=axis, start=start, len=length)
        case "concat":
            return m.graph.concat([x, m.graph.tanh(x)], axis=m.axis(x) % rank)
        case _:
            return m.graph.expand(x, target_shape=(int(m.rng.choice(DIMS)), *x.shape))


def _scalars(m: Maker) -> Any:
    """A chain, diamonds or a tree of one-element values, from an argument or a mean, that scale a tensor at the end."""
    shape = ((), (1,), (1, 1))[int(m.rng.integers(3))]
    if m.rng.random() < 0.5:
        x = m.argument(shape)
    else:
        x = m.graph.reshape(m.graph.reduce_mean(m.graph.tanh(m.pick())), new_shape=shape)
    steps = int(m.rng.integers(1, 12))
    match m.one_of(("chain", "diamonds", "tree")):
        case "chain":
            for _ in range(steps):
                x = m.graph.sin(x) * x * 0.5 + 0.25
        case "diamonds":
            y = m.graph.cos(x)
            for _ in range(steps):
                x, y = m.graph.sin(x + y), x * y
        case _:
            level = [m.graph.sin(x * (1 + 0.1 * i)) for i in range(steps)]
            while len(level) > 1:
                pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
                level = [m.graph.tanh(pair[0] + pair[-1]) for pair in pairs]
            (x,) = level
    return x * m.pick() if m.rng.random() < 0.7 else x


def _cross_entropy(m: Maker) -> Any:
    logits = m.graph.reshape(m.pick(1), new_shape=(1, -1)) if m.rng.random() < 0.3 else m.pick(2)
    if len(logits.shape) != 2:
        logits = m.graph.reshape(logits, new_shape=(-1, logits.shape[-1]))
    name = f"labels{len(m.arrays)}"
    m.arrays[name] = m.rng.integers(0, logits.shape[1], logits.shape[0]).astype(np.int32)
    labels = m.graph.input(name, (logits.shape[0],), dtype="i32")
    return m.graph.softmax_cross_entropy_with_logits(logits, labels)


STEPS: tuple[tuple[Step, float], ...] = (
    (_unary, 4),
    (_guarded, 2),
    (_binary, 5),
    (_reduce, 2),
    (_matmul, 1.5),
    (_row, 1.5),
    (_move, 2),
    (_cross_entropy, 0.5),
)
LARGEST = 5000


def compiled(graph: Any, seed: int, threads: int | None = None) -> CompiledGraph:
    """The graph of a seed compiled: of one seed in ten, and with EVERY_SAMPLE of all, as users get it, else quickly."""
    full = seed % 10 == 0 or EVERY
    return compile_module(as_graph_module(graph).module, threads, effort=Effort.FULL if full else Effort.QUICK)


def program(seed: int) -> Maker:
    """The program of a seed, its outputs set: a scalar loss that reaches every value, then two of the values."""
    rng = np.random.default_rng(seed)
    m = Maker(rng, "f64" if seed % 2 else "f32", rlx.Graph(f"program_{seed}"))
    m.argument([int(n) for n in rng.choice(DIMS, 2)])
    weights = np.array([weight for _, weight in STEPS])
    for _ in range(int(rng.integers(4, 25))):
        step, _ = STEPS[int(rng.choice(len(STEPS), p=weights / weights.sum()))]
        value = step(m)
        if np.prod(value.shape) <= LARGEST:
            m.values.append(m.graph.tanh(value) if rng.random() < 0.6 else m.graph.sin(value))
    used = [m.values[int(i)] for i in rng.choice(len(m.values), min(4, len(m.values)), replace=False)]
    if seed % 3 == 0:
        # from numbers of its own, so that the rest of the program is as it would be without
        m.rng = np.random.default_rng((seed, 1))
        used.append(_scalars(m))
    loss = sum((m.graph.reduce_mean(m.graph.sin(value)) for value in used), start=m.graph.reduce_mean(m.values[-1]))
    m.graph.set_outputs([loss, m.values[-1], used[0]])
    return m
