"""Optimisers: `init` makes a state like the parameters, `update` new parameters and a new state from gradients.

Both take trees, of arrays or of values in a traced function. All that belongs to one leaf is in the rule of its class.
Rules compute in f32 or wider: parameters in half precision are widened before and narrowed after, and their slots are
f32, since `eps` and squares of gradients are zero in f16.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import abc
import copy
import difflib
import inspect
from collections.abc import Callable, Hashable, Mapping, Set
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.optim.gradients import as_array, check_shapes, clip_by_global_norm, narrow, wide
from xdsl_rlx.optim.ranges import check_ranges
from xdsl_rlx.optim.schedules import Schedule
from xdsl_rlx.tree import Tree, flatten, leaves_like, paths, unflatten
from xdsl_rlx.tree import map as map_leaves
from xdsl_rlx.tree_control import cond

Slots: TypeAlias = Mapping[str, Any]
"""What an optimiser keeps for one leaf, by name."""

State: TypeAlias = dict[str, Any]
"""`step`, how many updates there were, and for each kind of slot a tree like the parameters."""

Mask: TypeAlias = Tree | Callable[[str, Any], bool] | None
"""Which leaves decay: a tree of booleans, a function of the path and the leaf, or None for all."""


class Optimiser(abc.ABC):
    """
    The base class of optimisers.

    Names of arguments are those of optax. `learning_rate` is a number or a `Schedule`. `clip_norm` limits the global
    norm of the gradients; None is no limit. A subclass defines `slots` and `rule`.

    Call `params, state = optimiser.update(grads, state, params)` in a compiled function. With `donate` for `params` and
    `state`, both are updated in place.
    """

    learning_rate: Any
    """A number, or a `Schedule`; None for that of the optimiser that another one runs."""
    clip_norm: float | None
    elementwise: ClassVar[bool] = False
    """Whether `rule` computes an element without the others of its parameter, so that `Sharded` may divide it."""

    def init(self, params: Tree) -> State:
        """Return the state before the first update: a step count, and arrays of zeros."""
        leaves, spec = flatten(params)
        slots = [self.slots(wide(np.asarray(leaf))) for leaf in leaves]
        names = slots[0].keys() if slots else ()
        return {"step": np.zeros((), np.int64), **{n: unflatten(spec, [one[n] for one in slots]) for n in names}}

    @checked
    def update(self, grads: Tree, state: State, params: Tree) -> tuple[Tree, State]:
        """
        Return the parameters and the state after one more step.

        Raises GraphError for a state that `init` did not make, for trees of different structures, for leaves of
        different shapes, and for parameters that are not floating-point.
        """
        params = map_leaves(as_array, params)
        leaves, spec = flatten(params)
        expected = [self.slots(np.empty(np.shape(leaf), np.float32)) for leaf in leaves]
        self._check_state(state, {"step"}.union(*expected[:1]))
        for name in expected[0] if expected else ():
            slots_of_init = unflatten(spec, [one[name] for one in expected])
            check_shapes("update", "init(params)", slots_of_init, f"state['{name}']", state[name])
        grads = checked_gradients(params, grads)
        if self.clip_norm is not None:
            grads = clip_by_global_norm(grads, self.clip_norm)
        step = state["step"]
        after_step = step + 1
        rate = self.learning_rate(step) if callable(self.learning_rate) else self.learning_rate
        decays = self.decaying(params)
        names = [name for name in state if name != "step"]
        kept = {name: leaves_like(spec, state[name], f"update: state['{name}']", "params") for name in names}
        new: list[Any] = []
        slots: dict[str, list[Any]] = {name: [] for name in names}
        common: dict[Hashable, Any] = {}
        for n, (p, g) in enumerate(zip(leaves, leaves_like(spec, grads, "update: grads", "params"), strict=True)):
            if not p.size:
                # means over no elements are NaN
                new.append(p)
                for name in names:
                    slots[name].append(kept[name][n])
                continue
            mine = {name: wide(kept[name][n]) for name in names}
            at = Leaf(wide(p), g, mine, after_step, rate, decays[n], common)
            after, changed = self.rule(at)
            new.append(narrow(after, p.dtype))
            for name in names:
                slots[name].append(narrow(changed[name], kept[name][n].dtype))
        return unflatten(spec, new), {"step": after_step, **{name: unflatten(spec, slots[name]) for name in names}}

    def _check_state(self, state: object, needed: Set[str]) -> None:
        if not isinstance(state, Mapping) or not needed <= state.keys():
            raise GraphError(f"update: state: expected the result of init(params), got {shown(state)}")

    @abc.abstractmethod
    def slots(self, leaf: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        """Return the initial state of one parameter: arrays by name, such as the moments of Adam."""

    @abc.abstractmethod
    def rule(self, at: Leaf) -> tuple[Any, Slots]:
        """Return the new value of one parameter and its new slots; `at` holds its value, gradient, slots and rate."""

    def decaying(self, params: Tree) -> list[bool]:
        """Return, for each leaf, whether weight decay applies to it."""
        leaves, spec = flatten(params)
        mask = getattr(self, "decay_mask", None)
        if mask is None:
            return [True] * len(leaves)
        if callable(mask):
            return [bool(mask(path, leaf)) for path, leaf in zip(paths(spec), leaves, strict=True)]
        return [bool(one) for one in leaves_like(spec, mask, "decay_mask", "params")]


def checked_gradients(params: Tree, grads: Tree) -> Tree:
    """Gradients in the types that their parameters are computed in; GraphError for others than those of `params`."""
    check_shapes("update", "params", params, "grads", grads)
    leaves, spec = flatten(params)
    for place, p in zip(paths(spec), leaves, strict=True):
        if str(p.dtype) not in _FLOATS:
            raise GraphError(
                f"update: params{place}: expected a floating-point array, got {p.dtype}; remove it from params"
            )
    given = leaves_like(spec, grads, "update: grads", "params")
    return unflatten(spec, [narrow(wide(g), wide(p).dtype) for p, g in zip(leaves, given, strict=True)])


_FLOATS = {
    *("f16", "bf16", "f32", "f64", "c64", "c128"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
}
"""Element types as values of a graph and as NumPy name them."""


@dataclass(frozen=True)
class Leaf:
    """A parameter with its gradient, in f32 or wider, at a step that counts from 1."""

    p: Any
    g: Any
    slots: Slots
    step: Any
    rate: Any
    decays: bool
    common: dict[Hashable, Any]
    """Values that are the same for all parameters of an update, by what they are."""

    def shared(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """A value that all parameters of this element type use; it is computed for the first one that asks for it."""
        # what the body of a condition or loop computes is not for others
        key = key, str(self.p.dtype), self.p.b.builder.insertion_point.block if hasattr(self.p, "b") else None
        if key not in self.common:
            self.common[key] = compute()
        return self.common[key]

    def number(self, x: Any) -> Any:
        """A number in the element type of the parameter."""
        return x.astype(self.p.dtype) if hasattr(x, "astype") else x

    def moved(self, direction: Any, decay: float) -> Any:
        """The parameter after a step against `direction`, and towards zero by `decay`."""
        if decay and self.decays:
            direction = direction + decay * self.p
        return self.p - self.shared("rate", lambda: self.number(self.rate)) * direction


OptimiserT = TypeVar("OptimiserT", bound=Optimiser)

_CURES = {
    **dict.fromkeys(("lr", "rate", "step_size", "alpha"), "write learning_rate="),
    **dict.fromkeys(("betas", "beta"), "write b1= and b2="),
    **dict.fromkeys(("clip", "max_norm", "max_grad_norm", "clip_grad_norm", "grad_clip"), "write clip_norm="),
    **dict.fromkeys(("wd", "l2", "weightdecay", "weight_decay"), "write weight_decay="),
    "beta1": "write b1=",
    "beta2": "write b2=",
    "epsilon": "write eps=",
    "epsilon1": "write eps1=",
    "epsilon2": "write eps2=",
    "beta2_decay": "write b2_decay=",
    "other_rate": "write other_learning_rate=",
    "mask": "write decay_mask=",
    "maximize": "negate the gradients",
}
"""Arguments that other libraries, and earlier versions, have in the place of ours."""


def named(kind: type[OptimiserT]) -> type[OptimiserT]:
    """
    Class decorator of a dataclass: an unknown argument raises GraphTypeError with the name that it has here.

    A missing argument raises it too, and one that is outside of its range raises GraphError; see `ranges.py`.
    """
    own, signature = kind.__init__, inspect.signature(kind)
    names = list(signature.parameters)

    @wraps(own)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in kwargs:
            if name not in names:
                raise GraphTypeError(f"{kind.__name__} has no argument {name!r}: {_cure(name, names, kind.__name__)}")
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise GraphTypeError(f"{kind.__name__}: {error}; its arguments are {', '.join(names)}") from None
        own(self, *args, **kwargs)
        check_ranges(self)

    kind.__init__ = init
    return kind


def _cure(name: str, names: list[str], kind: str) -> str:
    cure = _CURES.get(name.lower(), "")
    if cure and all(one.rstrip("=,") in names for one in cure.split() if one.endswith("=")):
        return cure
    if "weight_decay" in cure:
        return "use AdamW(weight_decay=)" if kind in ("Adam", "NAdam") else "it has no weight decay"
    close = difflib.get_close_matches(name, names, 1)
    return f"did you mean {close[0]}=?" if close else f"its arguments are {', '.join(names)}"


def zeros(leaf: np.ndarray[Any, Any], *names: str) -> dict[str, np.ndarray[Any, Any]]:
    """Slots of zeros, like a leaf."""
    return {name: np.zeros_like(leaf) for name in names}


def with_decay(at: Leaf, decay: float) -> Any:
    """The gradient with that of `decay / 2` times the squares of the parameter."""
    return at.g + decay * at.p if decay and at.decays else at.g


@named
@dataclass(frozen=True)
class SGD(Optimiser):
    """
    Gradient descent, with `momentum` as in Polyak (1964) or, with `nesterov`, Nesterov (1983).

    With `g = grad + weight_decay p`, an update is `m = momentum m + g` and `p = p - learning_rate m`; with `nesterov`
    it is `p = p - learning_rate (g + momentum m)`. So the decay is coupled: it enters the momentum. The learning rate
    does not: a schedule scales all of `m`. The same in optax is
    `chain(add_decayed_weights(weight_decay), sgd(learning_rate, momentum))`, and in PyTorch `torch.optim.SGD`.
    """

    learning_rate: float | Schedule
    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0
    clip_norm: float | None = None
    decay_mask: Mask = None

    elementwise = True

    def slots(self, leaf: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        return zeros(leaf, "momentum") if self.momentum else {}

    def rule(self, at: Leaf) -> tuple[Any, Slots]:
        g = with_decay(at, self.weight_decay)
        if not self.momentum:
            return at.moved(g, 0.0), {}
        m = self.momentum * at.slots["momentum"] + g
        return at.moved(g + self.momentum * m if self.nesterov else m, 0.0), {"momentum": m}


@named
@dataclass(frozen=True)
class Adam(Optimiser):
    """Adam (Kingma and Ba, 2015)."""

    learning_rate: float | Schedule
    b1: float = 0.9
    b2: float = 0.999
    eps: float = 1e-8
    nesterov: bool = False
    clip_norm: float | None = None

    elementwise = True

    def slots(self, leaf: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        return zeros(leaf, "first", "second")

    def rule(self, at: Leaf) -> tuple[Any, Slots]:
        direction, slots = adam_direction(self, at)
        return at.moved(direction, 0.0), slots


@named
@dataclass(frozen=True)
class NAdam(Adam):
    """Adam with Nesterov momentum (Dozat, 2016): `Adam(nesterov=True)`."""

    nesterov: bool = True


@named
@dataclass(frozen=True)
class AdamW(Optimiser):
    """Adam with decoupled weight decay, which bypasses the moments (Loshchilov and Hutter, 2019)."""

    learning_rate: float | Schedule
    b1: float = 0.9
    b2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.01
    nesterov: bool = False
    clip_norm: float | None = None
    decay_mask: Mask = None

    elementwise = True

    def slots(self, leaf: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        return zeros(leaf, "first", "second")

    def rule(self, at: Leaf) -> tuple[Any, Slots]:
        direction, slots = adam_direction(self, at)
        return at.moved(direction, self.weight_decay), slots


def adam_direction(adam: Adam | AdamW, at: Leaf) -> tuple[Any, Slots]:
    """The first moment over the root of the second, both as if they had not begun at zero."""
    first = adam.b1 * at.slots["first"] + (1.0 - adam.b1) * at.g
    second = adam.b2 * at.slots["second"] + (1.0 - adam.b2) * (at.g * at.g)
    size = np.sqrt(second / _since_zero(at, adam.b2)) + adam.eps
    return _ahead(at, first, adam.b1, adam.nesterov) / size, {"first": first, "second": second}


def _since_zero(at: Leaf, beta: float, later: int = 0) -> Any:
    """What an average that began at zero is too small by."""
    return at.shared((beta, later), lambda: at.number(1.0 - beta ** (at.step.astype(np.float64) + later)))


def _ahead(at: Leaf, m: Any, beta: float, nesterov: bool) -> Any:
    """An average as if it had not begun at zero; with `nesterov`, as it is one step later (Dozat, 2016)."""
    if not nesterov:
        return m / _since_zero(at, beta)
    return beta * (m / _since_zero(at, beta, 1)) + (1.0 - beta) * (at.g / _since_zero(at, beta))


@named
@dataclass(frozen=True)
class Lion(Optimiser):
    """Lion (Chen et al., 2023): the sign of a moving average of gradients, with weight decay."""

    learning_rate: float | Schedule
    b1: float = 0.9
    b2: float = 0.99
    weight_decay: float = 0.0
    clip_norm: float | None = None
    decay_mask: Mask = None

    elementwise = True

    def slots(self, leaf: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        return zeros(leaf, "momentum")

    def rule(self, at: Leaf) -> tuple[Any, Slots]:
        m = at.slots["momentum"]
        direction = np.sign(self.b1 * m + (1.0 - self.b1) * at.g)
        return at.moved(direction, self.weight_decay), {"momentum": self.b2 * m + (1.0 - self.b2) * at.g}


@named
@dataclass(frozen=True)
class Adafactor(Optimiser):
    """
    Adafactor (Shazeer and Stern, 2018), as in PyTorch: the second moment of a matrix is factored into rows and columns.

    The relative step is the smaller of the learning rate and `1 / sqrt(step)`. It is multiplied by the root mean square
    of the parameter, or by `eps2` if that is larger.
    """

    learning_rate: float | Schedule = 1e-2
    b2_decay: float = -0.8
    eps1: float | None = None
    eps2: float = 1e-3
    threshold: float = 1.0
    weight_decay: float = 0.0
    clip_norm: float | None = None
    decay_mask: Mask = None

    def slots(self, leaf: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        if leaf.ndim < 2:
            return {"rows": np.zeros_like(leaf), "columns": np.zeros((0,), leaf.dtype)}
        return {
            "rows": np.zeros((*leaf.shape[:-1], 1), leaf.dtype),
            "columns": np.zeros((*leaf.shape[:-2], 1, leaf.shape[-1]), leaf.dtype),
        }

    def rule(self, at: Leaf) -> tuple[Any, Slots]:
        p, g, step = at.p, at.g, at.step.astype(np.float64)
        tiny = float(np.finfo(np.float32).eps) if self.eps1 is None else self.eps1
        new, count = at.number(step**self.b2_decay), float(max(1, p.size)) ** 0.5
        relative = at.number(np.minimum(at.rate, 1.0 / np.sqrt(step)))
        size = np.maximum(np.sqrt((p * p).sum()) / count, self.eps2) * relative
        if self.weight_decay and at.decays:
            p = p * (1.0 - at.number(at.rate) * self.weight_decay)
        rows, columns, squares = at.slots["rows"], at.slots["columns"], g * g
        if p.ndim < 2:
            rows = rows + new * (squares - rows)
            second = rows
        else:
            rows = rows + new * (squares.mean(axis=-1, keepdims=True) - rows)
            columns = columns + new * (squares.mean(axis=-2, keepdims=True) - columns)
            # divided first: the product of two second moments is beyond f32 for gradients of 1e10
            second = (rows / np.maximum(rows.mean(axis=-2, keepdims=True), tiny)) @ columns
        direction = g / np.sqrt(np.maximum(second, tiny * tiny))
        shorter = np.maximum(np.sqrt((direction * direction).sum()) / (count * self.threshold), 1.0)
        return p - size / shorter * direction, {"rows": rows, "columns": columns}


@named
@dataclass(frozen=True)
class Muon(Optimiser):
    """
    Muon (Jordan et al., 2024), as in optax: momentum, orthogonalised by a Newton-Schulz iteration.

    A matrix is `[in, out]`. Leaves that are not matrices are updated as by `Adam`, with `other_learning_rate` if it is
    given.
    """

    learning_rate: float | Schedule
    momentum: float = 0.95
    nesterov: bool = True
    weight_decay: float = 0.0
    iterations: int = 5
    other_learning_rate: float | Schedule | None = None
    clip_norm: float | None = None
    decay_mask: Mask = None

    COEFFICIENTS = (3.4445, -4.7750, 2.0315)

    def slots(self, leaf: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        second = np.zeros((0,), leaf.dtype) if leaf.ndim == 2 else np.zeros_like(leaf)
        return {"first": np.zeros_like(leaf), "second": second}

    def rule(self, at: Leaf) -> tuple[Any, Slots]:
        if at.p.ndim != 2:
            direction, slots = adam_direction(Adam(0.0, nesterov=self.nesterov), at)
            rate = at.rate if self.other_learning_rate is None else self.other_learning_rate
            rate = rate(at.step - 1) if callable(rate) else rate
            return at.p - at.number(rate) * direction, slots
        m = self.momentum * at.slots["first"] + (1.0 - self.momentum) * at.g
        direction = _ahead(at, m, self.momentum, self.nesterov)
        rows, columns = at.p.shape
        scale = max(1.0, columns / rows) ** 0.5
        slots = {"first": m, "second": at.slots["second"]}
        return at.moved(scale * self.orthogonal(direction), self.weight_decay), slots

    def orthogonal(self, x: Any) -> Any:
        """Return a matrix with the singular vectors of `x` and singular values near 1."""
        a, b, c = self.COEFFICIENTS
        flipped = x.shape[0] > x.shape[1]
        x = x.T if flipped else x
        x = x / (np.sqrt((x * x).sum()) + 1e-8)
        for _ in range(self.iterations):
            square = x @ x.T
            x = a * x + (b * square + c * (square @ square)) @ x
        return x.T if flipped else x


def check_optimiser(what: str, given: object) -> None:
    """GraphError, which names `what`, for what is no optimiser."""
    if not isinstance(given, Optimiser):
        raise GraphError(f"{what}: expected an optimiser, got {shown(given)}; AdamW(1e-3) is one")


@named
@dataclass(frozen=True)
class Accumulated(Optimiser):
    """
    Gradient accumulation: run `inner` every `every` steps, on the mean of the gradients since the last update.

    `learning_rate` overrides that of `inner`. A schedule receives the number of updates of `inner`, not of steps.
    `clip_norm` limits the norm of the mean, before `inner` applies its own limit. Half-precision gradients are summed
    in f32.
    """

    inner: Optimiser
    every: int
    learning_rate: float | Schedule | None = None
    clip_norm: float | None = None

    def __post_init__(self) -> None:
        check_optimiser("Accumulated: inner", self.inner)
        if isinstance(self.every, bool) or not isinstance(self.every, int | np.integer) or self.every < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphError(f"Accumulated: every: expected an integer of at least 1, got {shown(self.every)}")

    def init(self, params: Tree) -> State:
        return {
            "step": np.zeros((), np.int64),
            "sum": map_leaves(lambda p: np.zeros_like(wide(np.asarray(p))), params),
            "inner": self.inner.init(params),
        }

    @checked
    def update(self, grads: Tree, state: State, params: Tree) -> tuple[Tree, State]:
        params = map_leaves(as_array, params)
        self._check_state(state, {"step", "sum", "inner"})
        check_shapes("update", "params", params, "state['sum']", state["sum"])
        step = state["step"] + 1
        total = map_leaves(lambda a, g: narrow(a + g, a.dtype), state["sum"], checked_gradients(params, grads))
        inner = self.inner
        if self.learning_rate is not None:
            inner = copy.copy(inner)
            object.__setattr__(inner, "learning_rate", self.learning_rate)

        def run() -> tuple[Tree, Tree, Tree]:
            mean = map_leaves(lambda a: a / self.every, total)
            mean = mean if self.clip_norm is None else clip_by_global_norm(mean, self.clip_norm)
            # not the sum times zero, which stays NaN where it is
            return *inner.update(mean, state["inner"], params), map_leaves(np.zeros_like, total)

        after, kept, left = cond(
            step - step // self.every * self.every == 0, run, lambda: (params, state["inner"], total)
        )
        return after, {"step": step, "sum": left, "inner": kept}

    def slots(self, leaf: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        return {}

    def rule(self, at: Leaf) -> tuple[Any, Slots]:
        return at.p, {}
