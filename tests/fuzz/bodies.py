"""Random programs of branches, loops, scans and remats in each other, for the builder and for JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

import xdsl_rlx as rlx

TIMES = 3
"""Elements of `m` [3, 3], and the bound of loops."""


class Language(Protocol):
    """What a program is made of, on vectors of three elements and an integer `k`."""

    k: Any
    m: Any

    def unary(self, name: str, x: Any) -> Any: ...

    def total(self, x: Any) -> Any: ...

    def cond(self, p: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any: ...

    def switch(self, i: Any, branches: Sequence[Callable[[], Any]]) -> Any: ...

    def loop(self, going: Callable[[Any], Any], body: Callable[[Any], Any], x: Any) -> Any: ...

    def scan(self, body: Callable[[Any, Any], Any], x: Any, reverse: bool) -> tuple[Any, Any]: ...

    def remat(self, body: Callable[[], Any]) -> Any: ...


class Ours:
    """The builder."""

    def __init__(self, g: rlx.Graph, m: Any, k: Any):
        self.g, self.m, self.k = g, m, k

    def unary(self, name: str, x: Any) -> Any:
        return getattr(self.g, name)(x)

    def total(self, x: Any) -> Any:
        return self.g.reduce_sum(x, axes=[-1])

    def cond(self, p: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        return self.g.cond(p, then, otherwise)

    def switch(self, i: Any, branches: Sequence[Callable[[], Any]]) -> Any:
        return self.g.switch(i, branches)

    def loop(self, going: Callable[[Any], Any], body: Callable[[Any], Any], x: Any) -> Any:
        return self.g.while_loop(going, body, x, max_iterations=TIMES)

    def scan(self, body: Callable[[Any, Any], Any], x: Any, reverse: bool) -> tuple[Any, Any]:
        return self.g.scan(body, x, self.m, reverse=reverse)

    def remat(self, body: Callable[[], Any]) -> Any:
        return self.g.remat(body)


class Jax:
    """JAX, whose loops have no gradient in reverse mode: a scan of branches stands for them."""

    def __init__(self, m: Any, k: Any):
        self.m, self.k = m, k

    def unary(self, name: str, x: Any) -> Any:
        return getattr(jnp, name)(x)

    def total(self, x: Any) -> Any:
        return jnp.sum(x, -1)

    def cond(self, p: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        return jax.lax.cond(p, then, otherwise)

    def switch(self, i: Any, branches: Sequence[Callable[[], Any]]) -> Any:
        return jax.lax.switch(i, branches)

    def loop(self, going: Callable[[Any], Any], body: Callable[[Any], Any], x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            y, active = c

            def go() -> Any:
                after = body(y)
                return after, going(after)

            return jax.lax.cond(active, go, lambda: (y, active)), None

        return jax.lax.scan(step, (x, going(x)), None, length=TIMES)[0][0]

    def scan(self, body: Callable[[Any, Any], Any], x: Any, reverse: bool) -> tuple[Any, Any]:
        return jax.lax.scan(body, x, self.m, reverse=reverse)

    def remat(self, body: Callable[[], Any]) -> Any:
        return jax.checkpoint(body)()


Meaning = Callable[[Language, list[Any]], Any]
"""From the vectors that are seen to one more."""


@dataclass(frozen=True)
class Program:
    """A loss of the vectors x and w, the matrix m and the number k."""

    steps: Meaning

    def loss(self, language: Language, x: Any, w: Any) -> Any:
        return language.total(self.steps(language, [x, w]))

    def graph(self) -> rlx.Graph:
        g = rlx.Graph("loss")
        x, w, m = g.param("x", (3,), "f64"), g.param("w", (3,), "f64"), g.param("m", (TIMES, 3), "f64")
        g.set_outputs(self.loss(Ours(g, m, g.input("k", (), "i32")), x, w))
        return g

    def in_jax(self, x: Any, w: Any, m: Any, k: Any) -> Any:
        return self.loss(Jax(m, k), x, w)


def program(seed: int) -> Program:
    """A program of a few steps, in which bodies are nested up to two deep."""
    return Program(_steps(np.random.default_rng(seed), 2, 2))


def _steps(rng: np.random.Generator, depth: int, seen: int) -> Meaning:
    """Some steps one after the other, where so many vectors are seen before; the last is what they give."""
    count = int(rng.integers(1, 3))
    made = [_step(rng, depth, seen + n) for n in range(count)]

    def mean(language: Language, values: list[Any]) -> Any:
        found = list(values)
        for one in made:
            found.append(one(language, found))
        return found[-1]

    return mean


def _step(rng: np.random.Generator, depth: int, seen: int) -> Meaning:
    kinds = [_plain, _plain, *([_branch, _choice, _loop, _scan, _remat] if depth else [])]
    return kinds[int(rng.integers(len(kinds)))](rng, depth, seen)


def _plain(rng: np.random.Generator, depth: int, seen: int) -> Meaning:
    name = ("sin", "tanh", "cos")[int(rng.integers(3))]
    i, j, kind = (int(rng.integers(n)) for n in (seen, seen, 4))

    def mean(language: Language, values: list[Any]) -> Any:
        x, y = values[i], values[j]
        return language.unary(name, (x * y, x + y, x * 0.5, x - language.total(y))[kind])

    return mean


def _predicate(rng: np.random.Generator, seen: int) -> Meaning:
    i, by_k, limit = int(rng.integers(seen)), rng.random() < 0.3, float(rng.normal())

    def mean(language: Language, values: list[Any]) -> Any:
        return language.k > int(limit) if by_k else language.total(values[i]) > limit

    return mean


def _branch(rng: np.random.Generator, depth: int, seen: int) -> Meaning:
    asked, (then, otherwise) = _predicate(rng, seen), (_steps(rng, depth - 1, seen) for _ in range(2))

    def mean(language: Language, values: list[Any]) -> Any:
        return language.cond(
            asked(language, values), lambda: then(language, values), lambda: otherwise(language, values)
        )

    return mean


def _choice(rng: np.random.Generator, depth: int, seen: int) -> Meaning:
    shift, branches = int(rng.integers(-1, 2)), [_steps(rng, depth - 1, seen) for _ in range(int(rng.integers(1, 4)))]

    def mean(language: Language, values: list[Any]) -> Any:
        return language.switch(language.k + shift, [lambda one=one: one(language, values) for one in branches])

    return mean


def _loop(rng: np.random.Generator, depth: int, seen: int) -> Meaning:
    asked, body, start = _predicate(rng, seen + 1), _steps(rng, depth - 1, seen + 1), int(rng.integers(seen))

    def mean(language: Language, values: list[Any]) -> Any:
        return language.loop(
            lambda c: asked(language, [*values, c]), lambda c: body(language, [*values, c]), values[start]
        )

    return mean


def _scan(rng: np.random.Generator, depth: int, seen: int) -> Meaning:
    body, start, reverse = _steps(rng, depth - 1, seen + 2), int(rng.integers(seen)), bool(rng.integers(2))
    stacked = int(rng.integers(seen + 2))

    def mean(language: Language, values: list[Any]) -> Any:
        def step(c: Any, e: Any) -> Any:
            inside = [*values, c, e]
            return body(language, inside), inside[stacked] * c

        last, ys = language.scan(step, values[start], reverse)
        return last + language.total(ys * language.m)

    return mean


def _remat(rng: np.random.Generator, depth: int, seen: int) -> Meaning:
    body = _steps(rng, depth - 1, seen)
    return lambda language, values: language.remat(lambda: body(language, values))
