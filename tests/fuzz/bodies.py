"""Random programs of bodies in each other, for the builder, for functions of trees, and for JAX.

Bodies are those of scans, loops, branches, remats and functions with derivative rules. Each may use all that is seen
where it stands, and yields what it computes or what it does not: captured values, its arguments, one value twice. What
is claimed about the programs is in test_bodies.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

import xdsl_rlx as rlx

TIMES = 3
"""The extent of every axis, how often scans with elements run, and the bound of loops."""

KINDS: dict[str, tuple[tuple[int, ...], str]] = {
    "v": ((TIMES,), "f64"),
    "s": ((), "f64"),
    "m": ((TIMES, TIMES), "f64"),
    "f": ((TIMES,), "f32"),
    "k": ((), "i32"),
    "j": ((TIMES,), "i32"),
    "b": ((), "i1"),
}
"""Shapes and element types by the kind of a value."""

STACKED = {"v": "m", "s": "v", "k": "j"}
"""The kind of a stack of values, by their kind."""

ARGUMENTS = {"x": "v", "w": "v", "a": "s", "m": "m", "k": "k", "j": "j"}
"""The kinds of the arguments of every program; those of f64 are differentiated."""

NAMES = [name for name, kind in ARGUMENTS.items() if KINDS[kind][1] == "f64"]

Values = list[Any]
Body = Callable[..., Any]


class Language(Protocol):
    """What a program is made of."""

    def unary(self, name: str, x: Any) -> Any: ...

    def total(self, x: Any) -> Any: ...

    def cast(self, x: Any, dtype: str) -> Any: ...

    def where(self, p: Any, x: Any, y: Any) -> Any: ...

    def gather(self, x: Any, j: Any) -> Any: ...

    def scatter(self, x: Any, j: Any) -> Any: ...

    def constant(self, kind: str, value: float) -> Any: ...

    def cond(self, p: Any, then: Body, otherwise: Body) -> Values: ...

    def switch(self, i: Any, branches: Sequence[Body]) -> Values: ...

    def loop(self, going: Body, body: Body, init: Values) -> Values: ...

    def count(self, times: int, body: Body, init: Values) -> Values: ...

    def scan(self, body: Body, init: Values, xs: Values, how: How) -> tuple[Values, Values]: ...

    def remat(self, body: Body) -> Values: ...

    def custom(self, function: Body, rules: str, operands: Values) -> Values: ...


@dataclass(frozen=True)
class How:
    """How often a scan runs, from which end, and what its gradient keeps."""

    length: int
    reverse: bool
    checkpoints: int | None


class Ours:
    """The methods of a graph, or with `face` the functions of trees where there are such."""

    def __init__(self, g: Any, face: bool, true_rules: bool):
        self.g, self.face, self.true_rules = g, face, true_rules

    def unary(self, name: str, x: Any) -> Any:
        return getattr(self.g, name)(x)

    def total(self, x: Any) -> Any:
        return self.g.reduce_sum(x) if x.shape else x

    def cast(self, x: Any, dtype: str) -> Any:
        return self.g.cast(x, dtype)

    def where(self, p: Any, x: Any, y: Any) -> Any:
        return self.g.where(p, x, y)

    def gather(self, x: Any, j: Any) -> Any:
        return self.g.gather(x, j)

    def scatter(self, x: Any, j: Any) -> Any:
        return self.g.scatter_add(x, j, TIMES)

    def constant(self, kind: str, value: float) -> Any:
        return self.g.full(*KINDS[kind][:1], value, KINDS[kind][1])

    def cond(self, p: Any, then: Body, otherwise: Body) -> Values:
        return [*(rlx.cond if self.face else self.g.cond)(p, lambda: tuple(then()), lambda: tuple(otherwise()))]

    def switch(self, i: Any, branches: Sequence[Body]) -> Values:
        return [*self.g.switch(i, [lambda one=one: tuple(one()) for one in branches])]

    def loop(self, going: Body, body: Body, init: Values) -> Values:
        loop = rlx.while_loop if self.face else self.g.while_loop
        return [*loop(going, lambda c: tuple(body(c)), tuple(init), max_iterations=TIMES)]

    def count(self, times: int, body: Body, init: Values) -> Values:
        def step(i: Any, c: Any) -> tuple[Any, ...]:
            return tuple(body(self.g.cast(i, "i32"), c))

        if self.face:
            return [*rlx.fori_loop(0, times, step, tuple(init))]
        start = (self.g.full((), 0, "i64"), *init)
        return [*self.g.scan(lambda c, _: ((c[0] + 1, *step(c[0], c[1:])), None), start, None, times)[0][1:]]

    def scan(self, body: Body, init: Values, xs: Values, how: How) -> tuple[Values, Values]:
        def step(c: Any, e: Any) -> Any:
            after, ys = body(c, e or ())
            return tuple(after), tuple(ys) or None

        scan = rlx.scan if self.face else self.g.scan
        last, ys = scan(step, tuple(init), tuple(xs) or None, how.length, how.reverse, how.checkpoints)
        return [*last], [*(ys or ())]

    def remat(self, body: Body) -> Values:
        return [*self.g.remat(lambda: tuple(body()))]

    def custom(self, function: Body, rules: str, operands: Values) -> Values:
        """`sin(x) y z` by rules, true ones or such in which `z` is 2; or the function by none."""
        g = self.g
        if not rules:
            return [*g.custom_fn(lambda *xs: tuple(function(xs)), *operands)]
        x, y, z = operands[0], operands[1], g.stop_gradient(operands[2])
        by = z if self.true_rules else 2.0

        def vjp(x: Any, y: Any, result: Any, d: Any) -> Any:
            return by * d * y * g.cos(x), by * d * g.sin(x)

        def jvp(x: Any, y: Any, dx: Any, dy: Any) -> Any:
            return by * y * g.cos(x) * dx + by * g.sin(x) * dy

        given = {"vjp": vjp} if rules == "vjp" else {"jvp": jvp} if rules == "jvp" else {"vjp": vjp, "jvp": jvp}
        return [g.custom_fn(lambda x, y: g.sin(x) * y * z, x, y, **given)]


class Jax:
    """JAX, whose loops have no gradient in reverse mode: a scan of branches stands for them."""

    def __init__(self, true_rules: bool):
        self.true_rules = true_rules

    def unary(self, name: str, x: Any) -> Any:
        return getattr(jnp, name)(x)

    def total(self, x: Any) -> Any:
        return jnp.sum(x)

    def cast(self, x: Any, dtype: str) -> Any:
        return x.astype({"f64": jnp.float64, "f32": jnp.float32, "i32": jnp.int32}[dtype])

    def where(self, p: Any, x: Any, y: Any) -> Any:
        return jnp.where(p, x, y)

    def gather(self, x: Any, j: Any) -> Any:
        return x[jnp.clip(j, 0, TIMES - 1)]

    def scatter(self, x: Any, j: Any) -> Any:
        return jnp.zeros_like(x).at[jnp.clip(j, 0, TIMES - 1)].add(x)

    def constant(self, kind: str, value: float) -> Any:
        shape, dtype = KINDS[kind]
        return jnp.full(shape, value, {"f64": jnp.float64, "f32": jnp.float32, "i32": jnp.int32, "i1": bool}[dtype])

    def cond(self, p: Any, then: Body, otherwise: Body) -> Values:
        return jax.lax.cond(p, then, otherwise)

    def switch(self, i: Any, branches: Sequence[Body]) -> Values:
        return jax.lax.switch(i, branches)

    def loop(self, going: Body, body: Body, init: Values) -> Values:
        def step(c: Any, _: Any) -> Any:
            carries, active = c

            def go() -> Any:
                after = body(carries)
                return after, going(after)

            return jax.lax.cond(active, go, lambda: (carries, active)), None

        return jax.lax.scan(step, (init, going(init)), None, length=TIMES)[0][0]

    def count(self, times: int, body: Body, init: Values) -> Values:
        return jax.lax.scan(lambda c, i: (body(i, c), None), init, jnp.arange(times, dtype=jnp.int32))[0]

    def scan(self, body: Body, init: Values, xs: Values, how: How) -> tuple[Values, Values]:
        return jax.lax.scan(body, init, xs, how.length, how.reverse)

    def remat(self, body: Body) -> Values:
        return jax.checkpoint(body)()

    def custom(self, function: Body, rules: str, operands: Values) -> Values:
        def value(x: Any, y: Any, z: Any) -> Any:
            return jnp.sin(x) * y * z

        def jvp(primals: Any, tangents: Any) -> Any:
            (x, y, z), (dx, dy, _) = primals, tangents
            by = z if self.true_rules else 2.0
            # of the function, whose derivatives are by the rule again
            return found(*primals), by * y * jnp.cos(x) * dx + by * jnp.sin(x) * dy

        if not rules:
            return function(operands)
        found = jax.custom_jvp(value)
        found.defjvp(jvp)
        x, y, z = operands
        return [found(x, y, jax.lax.stop_gradient(z))]


Meaning = Callable[[Language, Values], Values]
"""From the values that are seen to more of them."""


@dataclass(frozen=True)
class Program:
    """A loss of the arguments, and what of it some modes cannot do."""

    steps: Meaning
    face: bool
    is_mixed: bool
    """Whether some values are f32."""
    has_tangents: bool
    """Whether there is forward mode."""
    true_rules: bool = False
    """Whether rules are the derivatives of their functions. With others, JAX's second derivatives are not defined: its
    `jvp(grad)` of a scan may differentiate a function instead of by its rule."""

    def loss(self, language: Language, arguments: Values) -> Any:
        values = self.steps(language, arguments)
        total = language.total(language.unary("tanh", values[0]))
        for value in values[len(ARGUMENTS) :]:
            total = total + language.total(language.unary("sin", language.cast(value, "f64")))
        return total

    def graph(self) -> rlx.Graph:
        g = rlx.Graph("loss")
        values = [
            g.param(name, *KINDS[kind]) if name in NAMES else g.input(name, *KINDS[kind])
            for name, kind in ARGUMENTS.items()
        ]
        g.set_outputs([self.loss(Ours(g, self.face, self.true_rules), values)])
        return g

    def in_jax(self, *arguments: Any) -> Any:
        return self.loss(Jax(self.true_rules), [*arguments])


def program(seed: int) -> Program:
    """A program of a few steps, in which bodies are nested up to three deep."""
    rng = np.random.default_rng(seed)
    maker = _Maker(rng, mixed=rng.random() < 0.25)
    depth = (1, 2, 2, 3)[int(rng.integers(4))]
    steps, _ = maker.steps(depth, [*ARGUMENTS.values()], least=2)
    return Program(steps, bool(rng.integers(2)), maker.mixed, "vjp" not in maker.rules)


@dataclass
class _Maker:
    """Makes steps for values of known kinds."""

    rng: np.random.Generator
    mixed: bool
    rules: list[str] = field(default_factory=list[str])

    def one_of(self, *options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def pick(self, kinds: Sequence[str], kind: str) -> int:
        """A value of a kind: often the last one made, which is what a body computes, else any that is seen."""
        fitting = [n for n, one in enumerate(kinds) if one == kind]
        return fitting[-1] if self.rng.random() < 0.4 else self.one_of(*fitting)

    def some(self, kinds: Sequence[str], least: int, most: int) -> list[int]:
        """Numbers of some of the values that are seen; one may be there twice."""
        return [self.pick(kinds, self.one_of(*kinds)) for _ in range(int(self.rng.integers(least, most + 1)))]

    def steps(self, depth: int, kinds: Sequence[str], least: int = 0) -> tuple[Meaning, list[str]]:
        """Some steps one after the other, for values of these kinds; the kinds of all values behind them."""
        seen, made = list(kinds), list[Meaning]()
        for _ in range(int(self.rng.integers(least, 3))):
            one, more = self._step(depth, seen)
            made.append(one)
            seen += more

        def mean(language: Language, values: Values) -> Values:
            found = list(values)
            for one in made:
                found += one(language, found)
            return found

        return mean, seen

    def body(self, depth: int, kinds: Sequence[str], wanted: Sequence[str]) -> Meaning:
        """Steps that give values of the kinds that are wanted."""
        steps, seen = self.steps(depth, kinds)
        chosen = [self.pick(seen, kind) for kind in wanted]

        def mean(language: Language, values: Values) -> Values:
            found = steps(language, values)
            return [found[n] for n in chosen]

        return mean

    def _step(self, depth: int, kinds: list[str]) -> tuple[Meaning, list[str]]:
        nested = [self._branch, self._choice, self._loop, self._count, self._scan, self._scan, self._again, self._rule]
        plain = [self._plain, self._plain, self._indexed, self._integer, self._constant]
        return self.one_of(*plain, *(nested * 2 if depth else []))(depth, kinds)

    def _plain(self, _: int, kinds: list[str]) -> tuple[Meaning, list[str]]:
        name, what = self.one_of("sin", "tanh", "cos"), int(self.rng.integers(7 if self.mixed else 6))
        v, w, s, m = (self.pick(kinds, kind) for kind in "vvsm")
        f = self.pick(kinds, "f") if "f" in kinds else None

        def mean(language: Language, values: Values) -> Values:
            x, y, a, rows = values[v], values[w], values[s], values[m]
            match what:
                case 0:
                    return [language.unary(name, x * y)]
                case 1:
                    return [language.unary(name, x + y * a)]
                case 2:
                    return [language.unary(name, x @ rows)]
                case 3:
                    return [language.unary(name, x - language.total(y)), a * 0.5]
                case 4:
                    return [language.total(x * y) * 0.3]
                case 5:
                    return [language.unary(name, rows + x)]
                case _:
                    narrow = language.cast(language.unary(name, x), "f32")
                    return [narrow if f is None else language.unary(name, values[f] * narrow)]

        return mean, [["v"], ["v"], ["v"], ["v", "s"], ["s"], ["m"], ["f"]][what]

    def _indexed(self, _: int, kinds: list[str]) -> tuple[Meaning, list[str]]:
        kind, by, scatters = self.one_of("v", "m"), self.one_of("j", "k"), bool(self.rng.integers(2))
        x, j = self.pick(kinds, kind), self.pick(kinds, by)

        def mean(language: Language, values: Values) -> Values:
            if scatters and by == "j":
                return [language.scatter(values[x], values[j])]
            return [language.gather(values[x], values[j])]

        return mean, [kind if by == "j" else {"v": "s", "m": "v"}[kind]]

    def _integer(self, _: int, kinds: list[str]) -> tuple[Meaning, list[str]]:
        kind, more = self.one_of("j", "k"), int(self.rng.integers(1, 4))
        n = self.pick(kinds, kind)
        return lambda language, values: [(values[n] + more) % TIMES], [kind]

    def _constant(self, _: int, kinds: list[str]) -> tuple[Meaning, list[str]]:
        kind, value = self.one_of("v", "s", "k"), int(self.rng.integers(-1, 2))
        return lambda language, values: [language.constant(kind, value)], [kind]

    def _predicate(self, kinds: list[str]) -> Callable[[Language, Values], Any]:
        limit = float(self.rng.normal())
        if "b" in kinds and self.rng.random() < 0.4:
            n = self.pick(kinds, "b")
            return lambda language, values: values[n]
        kind = self.one_of("v", "s", "k")
        n = self.pick(kinds, kind)
        if kind == "k":
            return lambda language, values: values[n] > int(limit)
        return lambda language, values: language.total(values[n]) > limit

    def _branch(self, depth: int, kinds: list[str]) -> tuple[Meaning, list[str]]:
        asked, given = self._predicate(kinds), [kinds[n] for n in self.some(kinds, 1, 3)]
        then, otherwise = (self.body(depth - 1, kinds, given) for _ in range(2))

        def mean(language: Language, values: Values) -> Values:
            p = asked(language, values)
            found = language.cond(p, lambda: then(language, values), lambda: otherwise(language, values))
            return [*found, p]

        return mean, [*given, "b"]

    def _choice(self, depth: int, kinds: list[str]) -> tuple[Meaning, list[str]]:
        k, given = self.pick(kinds, "k"), [kinds[n] for n in self.some(kinds, 1, 3)]
        branches = [self.body(depth - 1, kinds, given) for _ in range(int(self.rng.integers(1, 4)))]

        def mean(language: Language, values: Values) -> Values:
            return language.switch(values[k], [lambda one=one: one(language, values) for one in branches])

        return mean, given

    def _loop(self, depth: int, kinds: list[str]) -> tuple[Meaning, list[str]]:
        starts = self.some(kinds, 1, 3)
        carried = [kinds[n] for n in starts]
        inside = [*kinds, *carried]
        asked, body = self._predicate(inside), self.body(depth - 1, inside, carried)

        def mean(language: Language, values: Values) -> Values:
            return language.loop(
                lambda c: asked(language, [*values, *c]),
                lambda c: body(language, [*values, *c]),
                [values[n] for n in starts],
            )

        return mean, carried

    def _count(self, depth: int, kinds: list[str]) -> tuple[Meaning, list[str]]:
        starts, times = self.some(kinds, 1, 3), int(self.rng.integers(0, 4))
        carried = [kinds[n] for n in starts]
        body = self.body(depth - 1, [*kinds, "k", *carried], carried)

        def mean(language: Language, values: Values) -> Values:
            return language.count(times, lambda i, c: body(language, [*values, i, *c]), [values[n] for n in starts])

        return mean, carried

    def _scan(self, depth: int, kinds: list[str]) -> tuple[Meaning, list[str]]:
        starts, element = self.some(kinds, 1, 3), {stack: kind for kind, stack in STACKED.items()}
        over = [n for n in self.some(kinds, 0, 2) if kinds[n] in element]
        carried, elements = [kinds[n] for n in starts], [element[kinds[n]] for n in over]
        stacked = [self.one_of(*STACKED) for _ in range(int(self.rng.integers(3)))]
        length = TIMES if over or stacked else int(self.rng.integers(4))
        how = How(length, bool(self.rng.integers(2)), self.one_of(None, None, 1, 2) if length > 1 else None)
        body = self.body(depth - 1, [*kinds, *carried, *elements], [*carried, *stacked])

        def mean(language: Language, values: Values) -> Values:
            def step(c: Any, e: Any) -> Any:
                found = body(language, [*values, *c, *e])
                return found[: len(carried)], found[len(carried) :]

            last, ys = language.scan(step, [values[n] for n in starts], [values[n] for n in over], how)
            return [*last, *ys]

        return mean, [*carried, *(STACKED[kind] for kind in stacked)]

    def _again(self, depth: int, kinds: list[str]) -> tuple[Meaning, list[str]]:
        given = [kinds[n] for n in self.some(kinds, 1, 3)]
        body = self.body(depth - 1, kinds, given)
        return lambda language, values: language.remat(lambda: body(language, values)), given

    def _rule(self, depth: int, kinds: list[str]) -> tuple[Meaning, list[str]]:
        rules = self.one_of("", "", "jvp", "jvp", "vjp", "both")
        self.rules.append(rules)
        if rules:
            operands, given, body = [self.pick(kinds, kind) for kind in "vvv"], ["v"], None
        else:
            operands, given = self.some(kinds, 1, 3), [kinds[n] for n in self.some(kinds, 1, 2)]
            body = self.body(depth - 1, [*kinds, *(kinds[n] for n in operands)], given)

        def mean(language: Language, values: Values) -> Values:
            def function(inside: Any) -> Values:
                assert body is not None
                return body(language, [*values, *inside])

            return language.custom(function, rules, [values[n] for n in operands])

        return mean, given
