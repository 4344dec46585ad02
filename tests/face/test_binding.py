"""Calls of transformed functions: samples of what bound to something else than in Python. Random ones are in
`tests/fuzz/test_binding.py`."""

import dataclasses
import functools
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import xdsl_rlx as rlx
from xdsl_rlx.dialects.errors import GraphTypeError

ONES = np.ones(2)


def rest(n: Any, x: Any, *others: Any) -> Any:
    return x * n + sum(others)


class Model:
    """A model as programs have it: arrays, counts and functions as attributes."""

    def __init__(self) -> None:
        self.w = np.arange(3.0)
        self.layers = 2
        self.activation = np.tanh

    def plain(self, x: Any) -> Any:
        for _ in range(self.layers):
            x = self.activation(x * self.w)
        return (x**2).sum()

    @rlx.compile
    def loss(self, x: Any) -> Any:
        return self.plain(x)

    @rlx.value_and_grad
    def by_model(self, x: Any) -> Any:
        return (self.w * x).sum()

    @rlx.compile
    def keeps(self, x: Any) -> Any:
        self.last = x
        return x * 2

    @staticmethod
    @rlx.compile
    def without(x: Any) -> Any:
        return x + 1

    @classmethod
    @rlx.compile
    def of_class(cls, x: Any) -> Any:
        return x + len(cls.__name__)

    @rlx.compile
    @classmethod
    def of_class_below(cls, x: Any) -> Any:
        return x + len(cls.__name__)

    @rlx.compile
    @staticmethod
    def without_below(x: Any) -> Any:
        return x + 1

    def __call__(self, x: Any, scale: float = 1.0) -> Any:
        return self.plain(x) * scale


SAMPLES: dict[str, tuple[Callable[[], Any], Any]] = {
    "keywords in another order": (lambda: rlx.compile(lambda a, b: a - b)(b=1.0, a=5.0), 4.0),
    "three keywords": (lambda: rlx.compile(lambda x, w, b: x * w + b)(x=2.0, w=3.0, b=1.0), 7.0),
    "a name that begins another": (
        lambda: rlx.grad(lambda w_in, w: (3 * w_in + 5 * w).sum(), argnums="w")(ONES, ONES),
        5 * ONES,
    ),
    "a name with an underscore": (
        lambda: rlx.grad(lambda x_train, y: (x_train * y).sum(), argnums="x_train")(ONES, 2 * ONES),
        2 * ONES,
    ),
    "*args beside a static name": (lambda: rlx.compile(rest, static="n")(2, 1.0, 10.0, 100.0), 112.0),
    "a static element of *args": (lambda: rlx.compile(rest, static=(0, 3))(2, 1.0, 10.0, 100.0), 112.0),
    "argnums beside a static position": (
        lambda: rlx.compile(rlx.grad(lambda n, p, x: (p * x**2 * n).sum(), argnums=1), static="n")(3.0, ONES, 2 * ONES),
        12 * ONES,
    ),
    "argnums of keywords in another order": (lambda: rlx.grad(lambda x, y: x * y**2)(y=3.0, x=5.0), 9.0),
    "argnums of a keyword-only argument": (
        lambda: rlx.grad(lambda x, *, scale: (x * scale**2).sum(), argnums="scale")(ONES, scale=3.0),
        12.0,
    ),
    "argnums of an element of *args": (lambda: rlx.grad(lambda *xs: xs[0] * xs[1] ** 2, argnums=1)(3.0, 5.0), 30.0),
    "the last argument": (lambda: rlx.grad(lambda x, y, n=2: x * y**n, argnums=-1)(3.0, 5.0), 30.0),
    "vmap of a keyword": (lambda: rlx.vmap(lambda x, y: x + y)(np.ones(3), y=np.arange(3.0)), np.arange(3.0) + 1),
    "vmap with an axis by name": (lambda: rlx.vmap(lambda x, y: x + y, in_axes={"y": None})(ONES, y=2.0), 3 * ONES),
    "a truth value beside a gradient": (lambda: rlx.grad(lambda x, t: x * (2 if t else 3))(1.0, True), 2.0),
    "a static truth value in a compiled gradient": (
        lambda: rlx.compile(rlx.grad(lambda x, training: x * (2 if training else 3)), static="training")(1.0, False),
        3.0,
    ),
    "a text and a function as arguments": (
        lambda: rlx.grad(lambda x, how, f: f(x) if how == "sin" else x)(0.0, "sin", np.sin),
        1.0,
    ),
    "names of builders and of what derivatives add": (
        lambda: rlx.grad(
            lambda graph, self, d_output, tangent_x, captured_0: graph * self * d_output + tangent_x * captured_0**2,
            argnums="captured_0",
        )(1.0, 2.0, 3.0, 4.0, 5.0),
        40.0,
    ),
    "the tangent of an argument that another is named after": (
        lambda: rlx.jvp(lambda tangent_x, x: tangent_x * x)((2.0, 3.0), (1.0, 10.0))[1],
        23.0,
    ),
    "identifiers outside of ASCII": (lambda: rlx.grad(lambda größe, ß: größe * ß, argnums="ß")(3.0, 4.0), 3.0),
    "a partial": (lambda: rlx.compile(functools.partial(lambda w, x, n: x * w * n, 3.0, n=2))(ONES), 6 * ONES),
    "a complex number of Python's": (lambda: rlx.compile(lambda z: z * 2)(1j), 2j),
    "dicts with other orders": (
        lambda: [rlx.compile(in_order)(tree) for tree in ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0})],
        [12.0, 21.0],
    ),
}


def in_order(tree: dict[str, Any]) -> Any:
    found = 0.0
    for value in tree.values():
        found = found * 10 + value
    return found


@pytest.mark.parametrize("name", SAMPLES)
def test_a_call_binds_as_in_python(name: str):
    make, wanted = SAMPLES[name]
    np.testing.assert_allclose(make(), wanted, rtol=1e-12)


def test_one_compiled_function_sees_the_order_of_dicts():
    run = rlx.compile(in_order)
    for tree in ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}, {"a": 1.0, "b": 2.0}):
        assert run(tree) == in_order(tree)
    returned = rlx.compile(lambda tree: {key: value * 2 for key, value in tree.items()})
    for tree in ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}):
        assert list(returned(tree)) == list(tree)


def test_what_an_object_holds_is_an_argument():
    model, x = Model(), np.ones(3)
    run = rlx.compile(model.plain)
    called = rlx.compile(model)
    slope = rlx.compile(rlx.grad(model.plain))
    for change in ("w", "layers", "activation", "nothing"):
        np.testing.assert_allclose([model.loss(x), run(x), called(x)], [model.plain(x)] * 3, rtol=1e-12)
        np.testing.assert_allclose(called(x, scale=2.0), 2 * model.plain(x), rtol=1e-12)
        wanted = optimize.approx_fprime(x, model.plain)
        np.testing.assert_allclose(slope(x), wanted, atol=1e-6)
        np.testing.assert_allclose(rlx.grad(model.plain)(x), wanted, atol=1e-6)
        new = {"w": model.w * 0.5, "layers": 3, "activation": np.sin, "nothing": 0}
        setattr(model, change, new[change])
    assert Model.without_below(1.0) == model.without_below(1.0) == 2 and Model.of_class_below(1.0) == 6
    assert Model.without(1.0) == model.without(1.0) == 2 and Model.of_class(1.0) == model.of_class(1.0) == 6
    assert model.loss.trace(x).interface.arguments[0].name == "self_w"
    assert model.loss.compiled(x).inputs[1].name == "x"


@dataclasses.dataclass
class Layers:
    w: Any
    count: int

    def plain(self, x: Any) -> Any:
        for _ in range(self.count):
            x = x * self.w
        return x

    run = rlx.compile(plain)


def test_a_method_of_a_dataclass_counts_with_its_numbers():
    model = Layers(np.array(2.0), 3)
    run = rlx.compile(model.plain)
    assert run(1.0) == model.run(1.0) == rlx.grad(model.plain)(1.0) == 8
    model.count, model.w = 2, np.array(3.0)
    assert run(1.0) == model.run(1.0) == rlx.grad(model.plain)(1.0) == 9


def test_a_method_by_its_object_has_the_tree_of_the_object():
    model = Model()
    value, by_model = model.by_model(np.ones(3))
    assert value == 3
    np.testing.assert_array_equal(by_model.w, np.ones(3))
    assert by_model.layers == 2


def test_an_object_that_a_function_changes_is_an_error():
    with pytest.raises(rlx.GraphError, match="'keeps' sets attribute 'last' of an argument of class Model"):
        Model().keeps(ONES)

    def moved(model: Model, x: Any) -> Model:
        model.w = model.w + x
        return model

    model = Model()
    after = rlx.compile(moved)(model, 1.0)
    np.testing.assert_array_equal(after.w, np.arange(3.0) + 1)
    np.testing.assert_array_equal(model.w, np.arange(3.0))


def test_donation_is_by_binding():
    def f(x: Any, /, s: Any) -> Any:
        return s + x

    for call in (lambda run, x, s: run(x, s), lambda run, x, s: run(x, s=s)):
        for name in ("s", 1):
            x, s = np.ones(2), np.zeros(2)
            call(rlx.compile(f, donate={name: 0}), x, s)
            np.testing.assert_array_equal([x, s], [ONES, ONES])


def test_an_illegal_call_has_the_text_of_python():
    def f(a: Any, b: Any, *, c: Any) -> Any:
        return a + b + c

    for args, kwargs in (((), {}), ((1.0,), {}), ((1.0, 2.0, 3.0), {}), ((1.0,), {"a": 2.0}), ((1.0, 2.0), {"d": 1.0})):
        with pytest.raises(TypeError) as python:
            f(*args, **kwargs)
        for made in (rlx.compile(f), rlx.grad(f), rlx.vmap(f), rlx.compile(rlx.jacfwd(f)), rlx.compile(f, static="a")):
            with pytest.raises(GraphTypeError) as ours:
                made(*args, **kwargs)
            assert str(ours.value) == str(python.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rlx.grad(lambda x, w_ih, w_hh: x, "w_hi"), "argnums: no argument 'w_hi'; arguments are x, w_ih, w_hh"),
        (lambda: rlx.grad(lambda x: x, argnums=()), "argnums: expected at least one argument, got none"),
        (lambda: rlx.compile(lambda x: x, static=1), "static: no argument 1; arguments are x"),
        (lambda: rlx.compile(lambda x: x, donate={"y": 0}), "donate: no argument 'y'; arguments are x"),
        (
            lambda: rlx.grad(lambda x, w=1.0: x * w, "w")(1.0),
            "argument 'w' is left to its default; pass 'w' in the call",
        ),
        (
            lambda: rlx.grad(lambda x: x, True),
            "argnums: expected an integer or a string or a sequence",
        ),
        (
            lambda: rlx.vjp(lambda x: x * 2)((ONES,), 1.0),
            r"cotangents: expected shape \[2\] like the value that it belongs to",
        ),
        (lambda: rlx.vjp(lambda x: x * 2)((ONES,), np.ones((1, 2))), r"got \[1, 2\]; broadcast it"),
        (lambda: rlx.jvp(lambda x: x * 2)((ONES,), (np.ones(3),)), r"tangents\[0\]: expected shape"),
        (lambda: rlx.jvp(lambda x: x * 2)((ONES,), (ONES * 1j,)), "expected float64, got complex128; convert it"),
        (
            lambda: rlx.vmap(lambda x, y: x, in_axes=(0,))(ONES, ONES),
            "in_axes: expected one entry for each of 2 arguments, got 1",
        ),
        (
            lambda: rlx.vmap(lambda x, y: x, in_axes={"z": 0})(ONES, ONES),
            "in_axes: no argument 'z'; arguments are x, y",
        ),
    ],
)
def test_a_wrong_name_is_an_error_that_lists_the_right_ones(make: Callable[[], Any], message: str):
    with pytest.raises(rlx.GraphError, match=message):
        make()


def test_the_name_of_a_positional_only_parameter_is_not_the_keyword_spelled_the_same():
    def function(v: Any, /, **rest: Any) -> Any:
        return 2 * v + 3 * rest["v"]

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    for one in (function, wrapper):
        assert rlx.grad(one, "v")(1.0, v=1.0) == 2.0
        assert rlx.jacfwd(one, "v")(1.0, v=1.0) == 2.0


@pytest.mark.parametrize("donate", [None, "x"])
def test_a_compiled_function_does_not_keep_the_arrays_of_its_first_call(donate: str | None):
    def step(x: Any, more: Any) -> Any:
        return x * 2 + more["y"]

    compiled = rlx.compile(step, donate=donate)
    x, y = np.ones((3, 4)), np.ones((3, 4))
    left = [weakref.ref(one) for one in (x, y)]
    compiled(x, {"y": y})
    del x, y
    gc.collect()
    assert [one() for one in left] == [None, None]


ARRAY = np.arange(6.0).reshape(2, 3)
READ_ONLY = ARRAY.copy()
READ_ONLY.flags.writeable = False
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "array": ((ARRAY,), {}),
    "both arrays": ((ARRAY, ARRAY), {}),
    "by name": ((ARRAY,), {"y": ARRAY}),
    "all by name": ((), {"y": ARRAY, "x": ARRAY + 1}),
    "f32": ((ARRAY.astype(np.float32), ARRAY.astype(np.float32)), {}),
    "mixed": ((ARRAY, ARRAY.astype(np.float32)), {}),
    "integers": ((ARRAY.astype(np.int64), ARRAY), {}),
    "other byte order": ((ARRAY.astype(">f8"), ARRAY), {}),
    "transposed": ((ARRAY.T, np.ascontiguousarray(ARRAY.T)), {}),
    "strided": ((np.arange(12.0).reshape(2, 6)[:, ::2], ARRAY), {}),
    "read-only": ((READ_ONLY, ARRAY), {}),
    "broadcast": ((np.broadcast_to(1.0, (2, 3)), ARRAY), {}),
    "other shape": ((np.ones((4, 3)), np.ones(3)), {}),
    "no elements": ((np.ones((0, 3)), np.ones(3)), {}),
    "scalar": ((ARRAY, 2.0), {}),
    "integer": ((ARRAY, 3), {}),
    "NumPy scalar": ((np.float64(1.5), ARRAY), {}),
    "no axes": ((np.array(2.0), ARRAY), {}),
    "list": (([1.0, 2.0, 3.0], ARRAY), {}),
    "subclass": ((ARRAY.view(type("Sub", (np.ndarray,), {})), ARRAY), {}),
}


def test_any_call_may_follow_any_other():
    def function(x: Any, y: Any = 2.0) -> Any:
        return np.sin(np.stack(x) if isinstance(x, list) else x) * y

    compiled = rlx.compile(function)
    for first in CALLS:
        for name in CALLS:
            for each in (first, first, name):
                args, kwargs = CALLS[each]
                found, expected = compiled(*args, **kwargs), np.asarray(function(*args, **kwargs))
                assert (found.dtype, found.shape) == (expected.dtype, expected.shape), (first, name)
                np.testing.assert_allclose(found, expected, 1e-6)


def test_a_call_within_check_nans_is_looked_at_whatever_was_called_before():
    log = rlx.compile(lambda x: np.log(x - 1))
    for _ in range(3):
        log(np.full(3, 2.0))
    with rlx.debug.check_nans(), pytest.raises(rlx.NanError):
        log(np.zeros(3))
    assert np.isnan(log(np.zeros(3))).all()
