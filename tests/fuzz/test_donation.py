"""Random steps with donated and scratch arguments: these change where values lie, and not a bit of results.

Values are small integers, in floats too, so that no order of summation changes a bit.
"""

from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]
SIZES = (3, 8, 17, 40)
DTYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64}
MATRICES, VECTORS = "abcd", "uv"


class _Step:
    """A graph with donated arguments, or without, the same one for a seed."""

    def __init__(self, seed: int, donate: bool) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.n, self.dtype = int(rng.choice(SIZES)), str(rng.choice(list(DTYPES)))
        self.graph = g = rlx.Graph("step")
        self.kinds = {name: str(rng.choice(["input", "param"])) for name in MATRICES + VECTORS}
        shapes = {name: (self.n, self.n) if name in MATRICES else (self.n,) for name in self.kinds}
        arguments = {
            name: (g.input if self.kinds[name] == "input" else g.param)(name, shapes[name], self.dtype)
            for name in self.kinds
        }
        self.matrices: list[Any] = [arguments[name] for name in MATRICES]
        self.vectors: list[Any] = [arguments[name] for name in VECTORS]
        for _ in range(int(rng.integers(0, 9))):
            self._grow()
        pools = {name: self.matrices if name in MATRICES else self.vectors for name in self.kinds}
        self.donated = [name for name in self.kinds if rng.random() < 0.6]
        new = {name: self._pick(pools[name]) for name in self.donated}
        others = [self._pick(self.matrices + self.vectors) for _ in range(int(rng.integers(0, 4)))]
        self.count = len(others)
        free = [name for name in self.kinds if self.kinds[name] == "input" and name not in self.donated]
        self.scratch = free if donate else []
        if donate:
            g.set_outputs(others, donate=new)
        else:
            g.set_outputs([*others, *new.values()] or [self.vectors[0]])

    def _pick(self, pool: list[Any]) -> Any:
        """A value: an argument, a late one, or any."""
        first = len(MATRICES if pool is self.matrices else VECTORS)
        kind = self.rng.random()
        part = pool[:first] if kind < 0.3 else pool[-3:] if kind < 0.7 else pool
        return part[int(self.rng.integers(len(part)))]

    def _grow(self) -> None:
        """One more matrix or vector, perhaps two."""
        m, v, w, o = self._pick(self.matrices), self._pick(self.vectors), self._pick(self.matrices), self.graph
        k, rows = int(self.rng.integers(1, self.n)), self.rng.integers(0, self.n, self.n)
        makes: tuple[Any, ...] = (
            lambda: m + w,
            lambda: m * 2 - v,
            lambda: self._small(m * w),
            lambda: self._small(m @ w),
            lambda: m.T,
            lambda: m[::-1],
            lambda: m[rows],
            lambda: o.concat([m[k:], w[:k] * 2], 0),
            lambda: o.concat([m[:, :k], w[:, k:]], 1),
            lambda: o.concat([m[:k] + 1, w[k:] + v], 0),
            lambda: o.reshape(m, (self.n * self.n,)).reshape(self.n, self.n) + 1,
            lambda: m - o.reduce_max(m, [1], True),
            lambda: self._small(o.reduce_sum(m, [0])),
            lambda: self._small(m @ v),
            lambda: v[::-1],
            lambda: v + m[k],
            lambda: o.constant(np.full((self.n, self.n), k, DTYPES[self.dtype])),
            lambda: o.cond(o.reduce_sum(v) > k, lambda: (m + w, v), lambda: (m.T, v * 2)),
            lambda: o.scan(lambda c, x: (self._small(c + x), self._small(c - x)), v, m),
            lambda: o.scan(lambda c, x: (self._small(c @ m + x), c), v, w),
            lambda: o.while_loop(lambda c: o.reduce_max(c) < 50, lambda c: self._more(c), m),
            lambda: o.while_loop(lambda c: o.reduce_max(c[0]) < 50, lambda c: (self._more(c[0]), c[1] - m), (w, m)),
        )
        made = makes[int(self.rng.integers(len(makes)))]()
        for value in made if isinstance(made, tuple) else (made,):
            (self.matrices if len(value.shape) == 2 else self.vectors).append(value)

    def _small(self, value: Any) -> Any:
        return self.graph.clip(value, -9, 9)

    def run(self, threads: int) -> list[Array]:
        """The other results, then what is in the donated arguments or returned for them, twice."""
        compiled = rlx.compile(self.graph, threads=threads, scratch=self.scratch)
        rng, found = np.random.default_rng(self.n), list[Array]()
        shapes = {name: (self.n,) * (2 if name in MATRICES else 1) for name in self.kinds}
        arrays = {name: rng.integers(-4, 5, shape).astype(DTYPES[self.dtype]) for name, shape in shapes.items()}
        inputs = {name: array for name, array in arrays.items() if self.kinds[name] == "input"}
        for name in arrays.keys() - inputs.keys():
            compiled.set_param(name, arrays[name])
        updated = compiled.program.updated
        for _ in range(2):
            results = compiled(**inputs | {name: inputs[name].copy() for name in self.scratch})
            state = {name: inputs.get(name, compiled.weights.get(name)) for name in self.donated}
            if not updated and self.donated:
                state = dict(zip(self.donated, results[self.count :], strict=True))
                for name, array in state.items():
                    if name in inputs:
                        inputs[name] = array
                    else:
                        compiled.set_param(name, array)
            found += [*map(np.array, results[: self.count]), *map(np.array, state.values())]
        return found

    def _more(self, value: Any) -> Any:
        """Larger elements, after a few times larger than any bound."""
        return self.graph.clip(value, 1, 1000) * 2


@pytest.mark.parametrize("threads", [1, 2])
def test_donated_steps_give_the_same_bits(third_seed: int, threads: int) -> None:
    expected, found = (_Step(third_seed, donate).run(threads) for donate in (False, True))
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert np.array_equal(one, other), f"seed {third_seed}: {number}\n{_Step(third_seed, True).graph}"
