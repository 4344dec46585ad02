"""What a compiled function remembers: static values by type and value, deep; captured values from its first call, and
in calls of transformations that are not compiled as they are."""

import copy
import dataclasses
import enum
import functools
import itertools
import types
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.dialects.errors import GraphTypeError
from xdsl_rlx.static_keys import static_key


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass(frozen=True)
class Config:
    n: Any
    more: Any = ()


@dataclasses.dataclass
class Tree:
    x: Any
    n: Any = dataclasses.field(default=1, metadata={"static": True})


class Settings:
    def __init__(self, n: Any):
        self.n = n

    def scaled(self, x: Any) -> Any:
        return self.n * x


def one() -> None:
    """A function."""


DIFFERENT: list[Any] = [
    *(0, 0.0, -0.0, False, 1, 1.0, True, 2, 2.0, 1 + 0j, complex(1, -0.0), "1", b"1", None, float("inf")),
    *(np.float32(1), np.float64(1), np.int64(1), np.bool_(True), np.float32(-0.0), np.float32(0.0)),
    *(Color.RED, Color.BLUE, Level.LOW, Color, int, float, one, np.sin, np.cos, len, np.dtype("f4"), np.dtype("f8")),
    *((1,), (1.0,), (True,), (), (1, 2), ((1,), 2), frozenset((1,)), frozenset((1.0,)), range(3), slice(3)),
    *(
        Config(1),
        Config(1.0),
        Config(True),
        Config(0.0),
        Config(-0.0),
        Config([1, 2]),
        Config([1, 2.0]),
        Config([2, 1]),
    ),
    *(Config({"a": 1, "b": 2}), Config({"b": 2, "a": 1}), Config({1: 2}), Config({True: 2}), Config({1, 2})),
    *(Settings(1), Settings(1.0), Settings([1]), Settings([True]), types.SimpleNamespace(n=1)),
    *(Settings(1).scaled, Settings(2).scaled, Settings(1).__init__),
    *(functools.partial(one, 1), functools.partial(one, 1.0), functools.partial(one, x=1)),
]


def test_keys_tell_all_of_these_apart():
    keys = [static_key(value, "it") for value in DIFFERENT]
    for (a, first), (b, second) in itertools.combinations(zip(DIFFERENT, keys, strict=True), 2):
        assert first != second, (a, b)
    for value, key in zip(DIFFERENT, keys, strict=True):
        again = static_key(copy.deepcopy(value), "it")
        assert again == key and hash(again) == hash(key), value
    assert static_key(float("nan"), "it") == static_key(float("nan"), "it")


@pytest.mark.parametrize(("first", "second"), [(2, 2.0), (1, True), (0.0, -0.0), (Color.RED, Color.BLUE)])
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: (x, 1), Config, Settings])
def test_equal_values_of_other_types_share_no_program(first: Any, second: Any, wrap: Any):
    def seen(x: Any, value: Any) -> Any:
        value = getattr(value, "n", value[0] if isinstance(value, tuple) else value)
        number = value.value if isinstance(value, enum.Enum) else value
        return x * (len(type(value).__name__) + 10 * np.copysign(1.0, number) + number)

    run = rlx.compile(seen, static="value")
    for value in (first, second, first):
        assert run(1.0, wrap(value)) == seen(1.0, wrap(value))


def test_a_static_value_that_has_changed_is_another_one():
    config, settings = Config([1, 2]), Settings(2)
    run = rlx.compile(lambda x, c: x * (sum(c.n) if isinstance(c.n, list) else c.n), static="c")
    assert run(1.0, config) == 3 and run(1.0, settings) == 2
    config.n.append(3)
    settings.n = 5
    assert run(1.0, config) == 6 and run(1.0, settings) == 5


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1], "static argument 'n' is a list, which is not hashable"),
        ((1, [2]), "static argument 'n' is a tuple, which is not hashable"),
        (np.ones(2), r"static argument 'n' is an array \(ndarray\)"),
        (Config(np.ones(2)), r"static argument 'n'\.n is an array"),
        (np.random.default_rng(0), "changes when it is used"),
        (iter([1]), "changes when it is used"),
    ],
)
def test_what_has_no_hash_is_an_error(value: Any, message: str):
    with pytest.raises(GraphTypeError, match=message):
        rlx.compile(lambda x, n: x, static="n")(1.0, value)


def test_static_fields_of_trees_count_by_type():
    run = rlx.compile(lambda tree: tree.x / tree.n if isinstance(tree.n, float) else tree.x // tree.n)
    seven = np.array([7])
    for n in (2, 2.0, 2):
        np.testing.assert_array_equal(run(Tree(seven, n)), [3.5] if isinstance(n, float) else [3])


def test_a_transformation_that_is_not_compiled_reads_what_it_captures_at_each_call():
    k, scale = [2.0], np.array([1.0, 2.0])
    slope = rlx.grad(lambda x: k[0] * x * x)
    batch = rlx.vmap(lambda x: (x * scale).sum())
    assert slope(1.0) == 4
    np.testing.assert_array_equal(batch(np.ones((2, 2))), [3, 3])
    k[0] = 5.0
    scale += 1
    assert slope(1.0) == 10
    np.testing.assert_array_equal(batch(np.ones((2, 2))), [5, 5])


def test_a_compiled_function_keeps_what_it_captured_at_its_first_call():
    k = [2.0]
    run = rlx.compile(lambda x: k[0] * x)
    assert run(1.0) == 2
    k[0] = 5.0
    assert run(1.0) == 2 and run(np.float32(1.0)) == 5


def test_objects_that_can_be_called_are_trees():
    class Scale:
        def __init__(self, factor: Any):
            self.factor = factor

        def __call__(self, x: Any) -> Any:
            return x * self.factor

    scale = Scale(np.array(2.0))
    run = rlx.compile(lambda f, x: f(x))
    assert run(scale, 3.0) == 6
    scale.factor = np.array(5.0)
    assert run(scale, 3.0) == 15
    assert rlx.grad(lambda f, x: f(x) ** 2)(scale, 3.0).factor == 2 * 15 * 3


def test_what_was_compiled_for_a_number_is_traced_for_a_value():
    square = rlx.compile(lambda x: x * x)
    assert square(2.0) == 4.0
    assert rlx.grad(lambda x: square(x))(3.0) == 6.0
    assert rlx.compile(lambda x: square(x) + x)(3.0) == 12.0
    of_buffer = np.arange(3.0)
    np.testing.assert_array_equal(square(memoryview(of_buffer)), [0.0, 1.0, 4.0])
    np.testing.assert_array_equal(rlx.compile(lambda x: square(x) + x)(of_buffer), [0.0, 2.0, 6.0])


def test_a_static_value_stands_between_others():
    """Arguments behind it stay in their places, in a tuple of arguments, too."""
    summed = rlx.compile(lambda *xs: xs[0] * xs[1] + sum(xs[2:]), static=1)
    np.testing.assert_array_equal(summed(np.ones(2), 3, np.full(2, 4.0), np.full(2, 5.0)), [12.0, 12.0])
    named = rlx.compile(lambda first, *, count, last: first * count + last, static="count")
    np.testing.assert_array_equal(named(np.ones(2), last=np.full(2, 4.0), count=3), [7.0, 7.0])
