"""The callable: what arguments it takes, what it says about others, where results go."""

import gc
import re
import sys
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.driver.dtypes import dtype_of
from xdsl_rlx.lowering.backend.driver.layout import MOST_PASSED
from xdsl_rlx.lowering.backend.driver.manifest import FIRST_BUFFER, ITEM_SIZES, ScheduledLaunch, TensorSpec
from xdsl_rlx.lowering.backend.runtime import binding
from xdsl_rlx.lowering.backend.runtime.arguments import to_array
from xdsl_rlx.lowering.run_errors import ArgumentError, ArgumentTypeError, RlxError

X = np.arange(8, dtype=np.float32)
W = np.full(8, 10, np.float32)
UNALIGNED = np.zeros(33, np.uint8)[1:].view(np.float32)


@pytest.fixture(params=["fast", "slow"])
def add(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, build, make):
    """y = x + w, called through the built-in function or, as on an interpreter with other objects, without it."""
    if request.param == "slow":
        monkeypatch.setattr(binding, "layout_is_known", lambda: False)
    graph = build(make.add(8))
    assert (type(graph._call).__name__ == "builtin_function_or_method") is (request.param == "fast")
    # how long a first run takes nobody knows, so that one is never the built-in function's
    graph(X, W)
    return graph


@pytest.fixture
def shift(build, make):
    """y[i] = x[i - 1], z = y: results that come out wrong when written over x too early."""
    launches = [ScheduledLaunch("shift", 8, 8, ((FIRST_BUFFER, 0), (FIRST_BUFFER + n, 0))) for n in (1, 2)]
    return build(make.program([make.spec("x", 8)], [make.spec("y", 8), make.spec("z", 8)], launches))


def test_arguments_by_position_and_by_name(add):
    for args, kwargs in (((X, W), {}), ((X,), {"w": W}), ((), {"x": X, "w": W}), ((), {"w": W, "x": X})):
        (y,) = add(*args, **kwargs)
        assert type(y) is np.ndarray and y.dtype == np.float32 and np.array_equal(y, X + W)


def test_names_that_are_equal_but_not_the_same_object(add):
    names = {"".join(["x"]) + "": X, "".join(list("w")): W}
    assert np.array_equal(add(**names)[0], X + W)
    assert np.array_equal(add(**{sys.intern("x"): X, str(b"w", "ascii"): W})[0], X + W)


def test_results_are_fresh(add):
    first, second = add(X, W)[0], add(X, X)[0]
    assert np.array_equal(first, X + W) and np.array_equal(second, X + X)


def test_reference_counts_stay(add):
    out = (np.empty(8, np.float32),)
    objects = (X, W, out, out[0], X.dtype, None)

    def call() -> None:
        add(X, W)
        add(x=X, w=W, out=out)
        with pytest.raises(ArgumentError):
            add(X, W, out=(X[:2],))

    # the first error imports what messages need, which holds None
    call()
    gc.collect()
    before = [sys.getrefcount(one) for one in objects]
    for _ in range(100):
        call()
    gc.collect()
    assert all(abs(sys.getrefcount(one) - count) < 20 for one, count in zip(objects, before, strict=True))


def test_a_graph_is_freed_with_its_last_reference(build, make):
    graph = build(make.add(8))
    graph.set_param("w", W)
    graph(X)
    graph([1] * 8)
    gone = weakref.ref(graph._binding)
    gc.disable()
    try:
        del graph
        assert gone() is None
    finally:
        gc.enable()


def test_graphs_in_reference_cycles_are_collected(build, make):
    # a collection goes over what all earlier tests have left
    gc.freeze()
    for _ in range(3):
        cycle: list[object] = [build(make.add(8))]
        cycle.append(cycle)
        del cycle
        gc.collect()
    assert np.array_equal(build(make.add(8))(X, W)[0], X + W)


@pytest.mark.parametrize(
    "x",
    [
        list(range(8)),
        tuple(float(value) for value in range(8)),
        np.arange(16, dtype=np.float32)[::2] / 2,
        np.arange(8, dtype=">f4"),
        np.arange(8, dtype=np.float16),
        np.arange(8, dtype=np.int16),
        np.arange(8, dtype=np.float32).astype(ml_dtypes.bfloat16),
        memoryview(X),
    ],
    ids=["list", "tuple", "strided", "big-endian", "f16", "i16", "bf16", "buffer"],
)
def test_whatever_converts_without_loss_is_taken(add, x: object):
    assert np.array_equal(add(x, W)[0], X + W)


def test_read_only_and_unaligned_arrays_are_taken(add):
    fixed = X.copy()
    fixed.flags.writeable = False
    odd = np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float32)
    assert np.array_equal(add(fixed, odd)[0], X + X)


class FromElsewhere:
    """An array of another library."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return X


class Subclass(np.ndarray):
    """An array class of someone's own."""


def test_arrays_of_other_libraries_are_taken(add):
    assert np.array_equal(add(FromElsewhere(), X.view(Subclass))[0], X + X)
    assert type(add(FromElsewhere(), X.view(Subclass))[0]) is np.ndarray


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((X.astype(np.float64), W), {}, "argument 'x' of graph 'step': expected f32[8], got f64[8]"),
        ((X, W.astype(np.complex64)), {}, "argument 'w' of graph 'step': expected f32[8], got c64[8]"),
        ((X.astype(np.int64), W), {}, "argument 'x' of graph 'step': expected f32[8], got i64[8]"),
        ((X[:5], W), {}, "argument 'x' of graph 'step': expected f32[8], got f32[5]"),
        ((X.reshape(2, 4), W), {}, "argument 'x' of graph 'step': expected f32[8], got f32[2, 4]"),
        (([1, 2], W), {}, "argument 'x' of graph 'step': expected f32[8], got i64[2]"),
        (([[1], [2, 3]], W), {}, "argument 'x' of graph 'step': expected f32[8], got list"),
        (("text", W), {}, "argument 'x' of graph 'step': expected f32[8], got str of str"),
        ((None, W), {}, "argument 'x' of graph 'step': expected f32[8], got NoneType of object"),
        (([1j] * 8, W), {}, "argument 'x' of graph 'step': expected f32[8], got c128[8]"),
        ((X, W, X), {}, "graph 'step' takes 2 arguments, got 3 by position"),
        ((X,), {"x": X}, "argument 'x' of graph 'step' is given by position and by name"),
        ((X,), {"wt": W}, "graph 'step' has no argument 'wt': did you mean 'w'?"),
        ((X,), {"bias": W}, "graph 'step' has no argument 'bias': its arguments are x, w"),
        ((), {"w": W}, "input 'x' of graph 'step' is missing: expected f32[8]"),
        ((X,), {}, "param 'w' of graph 'step' has no value: expected f32[8]; set .weights['w'], or pass it"),
        ((X, W), {"out": X[:5]}, "out[0] of graph 'step': expected f32[8], got f32[5]"),
        ((X, W), {"out": (X.astype(np.float64),)}, "out[0] of graph 'step': expected f32[8], got f64[8]"),
        ((X, W), {"out": (X, X)}, "out of graph 'step': expected 1 buffers, one per result, got 2"),
        ((X, W), {"out": ([0.0] * 8,)}, "out[0] of graph 'step': expected an array f32[8] or None, got list"),
        ((X, W), {"out": 3}, "out must be a tuple of arrays or None, got int"),
        ((X, W), {"out": (np.empty(16, np.float32)[::2],)}, "out[0] of graph 'step': expected a C-contiguous array"),
        ((X, W), {"out": (np.frombuffer(X.tobytes(), np.float32),)}, "expected a writable array, got a read-only one"),
        (
            (X, W),
            {"out": (UNALIGNED,)},
            "expected an aligned array f32[8], got one at an address that is no multiple of 4",
        ),
        ((X, W), {"out": (X.astype(">f4"),)}, "expected f32[8], got big-endian f32[8]; x.astype(x.dtype.newbyteorder"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(add, args, kwargs, message: str):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        add(*args, **kwargs)
    # and the next right call works
    assert np.array_equal(add(X, W)[0], X + W)


def test_errors_are_of_the_kinds_that_python_has():
    assert issubclass(ArgumentError, ValueError) and issubclass(ArgumentTypeError, TypeError)
    assert issubclass(ArgumentError, RlxError)


def test_params_are_copied_and_kept(add):
    w = W.copy()
    add.set_param("w", w)
    w[:] = 0
    assert np.array_equal(add(X)[0], X + W) and np.array_equal(add(x=X)[0], X + W)
    add.set_param("w", [1] * 8)
    assert np.array_equal(add(X)[0], X + 1)


def test_a_param_in_a_call_is_for_that_call(add):
    add.set_param("w", W)
    assert np.array_equal(add(X, w=X)[0], X + X)
    assert np.array_equal(add(X)[0], X + W)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("w", X[:2], "param 'w' of graph 'step': expected f32[8], got f32[2]"),
        ("w", X.astype(np.float64), "param 'w' of graph 'step': expected f32[8], got f64[8]"),
        ("x", X, "graph 'step' has no param 'x' (params: w)"),
        ("v", X, "graph 'step' has no param 'v' (params: w)"),
    ],
)
def test_a_wrong_param_leaves_the_old_one(add, name: str, value: object, message: str):
    add.set_param("w", W)
    with pytest.raises(ArgumentError, match=re.escape(message)):
        add.set_param(name, value)
    with pytest.raises(ArgumentError):
        add(X[:2])
    assert np.array_equal(add(X)[0], X + W)


def test_results_are_written_into_out(add):
    out = np.empty(8, np.float32)
    (y,) = add(X, W, out=(out,))
    assert y is out and np.array_equal(out, X + W)
    assert add(X, X, out=[out])[0] is out and np.array_equal(out, X + X)
    assert add(X, W, out=out)[0] is out and np.array_equal(out, X + W)
    (fresh,) = add(X, X, out=(None,))
    assert fresh is not out and np.array_equal(fresh, X + X)


@pytest.mark.parametrize("given", ["both", "first", "second", "shifted"])
def test_out_may_overlap_arguments(shift, given: str):
    for _ in range(3):
        memory = np.arange(24, dtype=np.float32)
        x = memory[8:16]
        expected = np.concatenate((x[:1], x[:-1]))
        other = np.empty(8, np.float32)
        outs = {
            "both": (x, memory[:8]),
            "first": (x, None),
            "second": (other, x),
            "shifted": (memory[4:12], other),
        }[given]
        y, z = shift(x, out=outs)
        assert np.array_equal(y, expected) and np.array_equal(z, expected)
        assert outs[0] is y and (outs[1] is None or outs[1] is z)


def test_results_do_not_share_memory(shift):
    memory = np.zeros(12, np.float32)
    for outs in ((memory[:8], memory[:8]), (memory[:8], memory[4:])):
        with pytest.raises(ArgumentError, match=re.escape("out[0] and out[1] of graph 'step' overlap")):
            shift(memory[:8], out=outs)
    assert not memory.any()


def test_training_in_place(add):
    x = X.copy()
    for _ in range(10):
        add(x=x, w=W, out=(x,))
    assert np.array_equal(x, X + 10 * W)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_tensors_without_elements(build, make, shape: tuple[int, ...]):
    specs = [TensorSpec(name, shape, "f32") for name in "xy"]
    graph = build(make.program(specs[:1], specs[1:], [ScheduledLaunch("add", 0, 1, ((FIRST_BUFFER, 0),) * 3)]))
    out = np.empty(shape, np.float32)
    assert graph(np.empty(shape, np.float32))[0].shape == shape
    assert graph(x=out, out=(out,))[0] is out
    assert graph(out.tolist())[0].shape == shape if shape != (0, 3) else True


def test_omitted_optional_inputs_are_ones(build, make):
    launch = ScheduledLaunch("add", 8, 8, tuple((FIRST_BUFFER + n, 0) for n in range(3)))
    specs = [make.spec("x", 8), make.spec("d_output", 8)]
    graph = build(make.program(specs, [make.spec("y", 8)], [launch], optional=["d_output"]))
    assert np.array_equal(graph(X)[0], X + 1) and np.array_equal(graph(x=X)[0], X + 1)
    assert np.array_equal(graph(X, d_output=W)[0], X + W)
    assert np.array_equal(graph(list(X))[0], X + 1)


def test_no_results_and_no_arguments(build, make):
    assert build(make.program([], [], []))() == ()


def test_facts_about_a_graph(add, make):
    assert add.params == ("w",) and add.inputs == (make.spec("x", 8),) and add.outputs == (make.spec("y", 8),)
    assert (add.name, add.threads, add.arena_bytes, add.kernel_count) == ("step", 1, 0, 1)


@pytest.mark.parametrize("name", ITEM_SIZES)
def test_every_dtype_has_its_numpy_dtype(name: str):
    assert dtype_of(name).itemsize == ITEM_SIZES[name]
    spec = TensorSpec("x", (2,), name)
    assert to_array(spec, [0, 1], "x").dtype == dtype_of(name)
    exact = np.ones(2, dtype_of(name))
    assert to_array(spec, exact, "x") is exact


@pytest.mark.parametrize(
    ("dtype", "value", "ok"),
    [
        ("i32", np.array([0.0, 3.0], np.float32), True),
        ("i32", np.array([0.5, 3.0], np.float32), False),
        ("i32", np.array([np.nan, 3.0], np.float32), False),
        ("i32", np.array([0, 2**31]), False),
        ("i32", np.array([-(2**31), 2**31 - 1]), True),
        ("i64", np.array([0.0, 2.0**63]), False),
        ("i64", np.array([0, 2**63], np.uint64), False),
        ("u8", np.array([-1, 3]), False),
        ("u8", np.array([0, 255]), True),
        ("i64", [1.5, 2], False),
        ("i64", [1.0, 2], True),
        ("i1", [0, 1], True),
        ("i1", [0, 2], False),
        ("i1", np.array([0, 1]), False),
        ("f32", np.array([True, False]), True),
        ("f32", [2**40, 1], True),
        ("f64", np.array([1, 2], np.int32), True),
        ("bf16", [0.5, 1], True),
        ("bf16", np.array([0.5, 1], np.float32), False),
        ("c64", [1, 2.5], True),
    ],
)
def test_conversions_keep_values(dtype: str, value: object, ok: bool):
    spec = TensorSpec("x", (2,), dtype)
    if ok:
        converted = to_array(spec, value, "x")
        assert converted.dtype == dtype_of(dtype) and converted.tolist() == np.asarray(value).tolist()
    else:
        with pytest.raises(ArgumentTypeError, match="expected"):
            to_array(spec, value, "x")


def test_scalars_stay_scalars():
    scalar = to_array(TensorSpec("lr", (), "f32"), 0.5, "lr")
    assert scalar.shape == () and scalar.dtype == np.float32
    assert to_array(TensorSpec("lr", (), "f32"), np.float64(0.5), "lr").shape == ()
    transposed = np.zeros((2, 3), np.float32).T
    assert to_array(TensorSpec("m", (3, 2), "f32"), transposed, "m").flags.c_contiguous


@pytest.mark.parametrize("inputs", range(1, MOST_PASSED + 2))
def test_a_kernel_gets_its_buffers_in_order_however_many_they_are(inputs: int):
    """With the result, up to as many as are passed, and more, which it finds itself."""
    given = [np.arange(5, dtype=np.float64) + number for number in range(inputs)]

    def digits(*xs: Any) -> Any:
        return sum((k + 1) * x for k, x in enumerate(xs))

    compiled = rlx.compile(digits, threads=1)
    np.testing.assert_array_equal(compiled(*given), digits(*given))
    assert len(compiled.compiled(*given).program.kernels) == 1
