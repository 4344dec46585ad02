"""Constants from numbers, lists and arrays: bytes, element types, round trips through text."""

import re

import ml_dtypes
import numpy as np
import pytest
from oracle import numpy_dtype
from xdsl.dialects.builtin import ModuleOp, f32, i1

import xdsl_rlx as rlx
from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.elementwise import ConstantOp
from xdsl_rlx.dialects.shapes import DTYPES
from xdsl_rlx.passes import parse

ARRAYS = [
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.arange(6, dtype=np.float64).reshape(2, 3).T,
    np.array([1.5, -0.0, np.inf, -np.inf, np.nan, 1e-45], np.float32),
    np.array([1.5, 6e-8, 65504], np.float16),
    np.array([1.5, 3.4e38], ml_dtypes.bfloat16),
    np.array([[True], [False]]),
    np.array([-128, 127], np.int8),
    np.array([0, 255], np.uint8),
    np.array([-(2**31), 2**31 - 1], np.int32),
    np.array([-(2**63), 2**63 - 1], np.int64),
    np.array(3.25, np.float64),
    np.zeros((0, 3), np.float32),
    np.full((3,), np.inf, np.float16),
    np.array(-np.inf, np.float64),
    np.full((2,), np.nan, np.float32),
    np.array([0.0, -0.0]),
    np.array([-0.0, -0.0]),
    np.random.default_rng(0).standard_normal((9, 11)),
    np.random.default_rng(0).standard_normal((99,)).astype(np.float32),
    np.random.default_rng(0).standard_normal((20, 11)),
    np.arange(6, dtype=">f4").reshape(2, 3),
]


def values_of(dense: constants.AnyDense) -> np.ndarray:
    dtype = numpy_dtype(dense.get_element_type())
    raw = np.frombuffer(dense.data.data, np.int8 if dtype == np.bool_ else dtype)
    return raw.astype(dtype).reshape(dense.get_shape())


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}-{a.shape}")
def test_an_array_keeps_its_dtype_and_bits(array: np.ndarray):
    found = values_of(constants.from_array(array))
    native = array.astype(array.dtype.newbyteorder("=")) if array.dtype.byteorder == ">" else array
    assert found.dtype == native.dtype and found.shape == array.shape
    assert found.tobytes() == np.ascontiguousarray(native).tobytes()


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}-{a.shape}")
def test_a_constant_survives_text(array: np.ndarray):
    module = ModuleOp([ConstantOp(constants.from_array(array))])
    again = parse(str(module))
    assert again.is_structurally_equivalent(module)


def test_booleans_built_equal_booleans_parsed():
    built = ModuleOp([ConstantOp(constants.from_nested([True, False]))])
    assert parse("%0 = mir.constant dense<[true, false]> : tensor<2xi1>").is_structurally_equivalent(built)


@pytest.mark.parametrize("name", list(DTYPES))
def test_element_types_by_any_of_their_names(name: str):
    long = constants.NUMPY_NAMES[name]
    assert constants.element_type(name) == constants.element_type(long) == DTYPES[name]
    assert constants.element_type(numpy_dtype(name)) == DTYPES[name]
    assert constants.element_type(numpy_dtype(name).type) == DTYPES[name]
    assert constants.element_type(DTYPES[name]) == DTYPES[name]


@pytest.mark.parametrize(("given", "name"), [(float, "f64"), (int, "i64"), (bool, "i1"), ("f4", "f32"), ("<i4", "i32")])
def test_what_is_no_name_of_ours_means_what_it_means_to_numpy(given: object, name: str):
    assert constants.element_type(given) == DTYPES[name]


@pytest.mark.parametrize("name", list(DTYPES))
def test_numpy_takes_the_name_of_a_value_s_element_type(name: str):
    found = constants.NAMED[DTYPES[name]]
    wanted = numpy_dtype(name)
    assert np.zeros(2, found).dtype == wanted and np.dtype(found) == wanted == found and found == wanted.type
    assert (found.kind, found.itemsize, found.name) == (wanted.kind, wanted.itemsize, wanted.name)
    assert found == name == f"{found}" and {name: 1}[found] == 1 and repr(found) == repr(name)
    assert found != "f12" and found != 3 and (found == "f32") == (name == "f32")


@pytest.mark.parametrize("bad", ["f31", list, object(), np.dtype("U3"), None])
def test_other_dtypes_are_refused(bad: object):
    with pytest.raises(GraphError, match="is not supported; expected one of f32"):
        constants.element_type(bad)


def test_lists_are_f32_unless_told_otherwise():
    assert constants.from_nested([[1, 2], [3, 4]]).get_element_type() == f32
    assert constants.from_nested([True, False]).get_element_type() == i1
    assert constants.from_nested(2).get_shape() == ()
    assert constants.from_nested([]).get_shape() == (0,)
    with pytest.raises(GraphError, match="ragged"):
        constants.from_nested([[1, 2], [3]])
    with pytest.raises(GraphError, match="ragged"):
        constants.from_nested([1, [2]])


@pytest.mark.parametrize(
    ("value", "name", "expected"),
    [
        (3.4e38, "f32", np.float32(3.4e38)),
        (float("-inf"), "f16", -np.inf),
        (65519.0, "f16", 65504.0),
        (0.1, "f64", 0.1),
        (255.0, "u8", 255),
        (-(2**63), "i64", -(2**63)),
        (True, "i1", True),
    ],
)
def test_numbers_round_to_their_type(value: float, name: str, expected: float):
    assert values_of(constants.number(value, DTYPES[name])) == expected


@pytest.mark.parametrize(
    ("value", "name", "words"),
    [
        (200, "i8", "200 is out of range for i8, -128 to 127; cast the other operand"),
        (-129.0, "i8", "-129.0 is out of range for i8"),
        (-1, "u8", "-1 is out of range for u8, 0 to 255"),
        (2**32, "u32", "out of range for u32"),
        (2**63, "i64", "9223372036854775808 is out of range for i64"),
        (2, "i1", "2 is out of range for i1, 0 to 1"),
        (2**40, "i32", "1099511627776 is out of range for i32"),
        (1.5, "i32", "1.5 is not an integer"),
        (float("nan"), "i32", "nan is not an integer"),
        (float("inf"), "i64", "inf is not an integer"),
        (1e39, "f32", "1e+39 is out of range for f32, where it is infinite"),
        (70000, "f16", "70000.0 is out of range for f16"),
        (-3.5e38, "bf16", "-3.5e+38 is out of range for bf16"),
        (10**400, "f64", "an integer of 1329 bits is out of range for f64"),
        (1e39j, "c64", "1e+39 is out of range for f32"),
        (10**400, "c128", "out of range for f64"),
        (1j, "f32", "1j is not a number of type f32; cast the operand to a complex one"),
    ],
)
def test_a_number_that_a_type_cannot_hold_is_refused(value: complex, name: str, words: str):
    with pytest.raises(GraphError, match=re.escape(words)):
        constants.number(value, DTYPES[name])
    with pytest.raises(GraphError, match=re.escape(words)):
        constants.from_nested([[0, value]], DTYPES[name])
    if abs(value) < 2**64 or isinstance(value, complex | float):
        array = np.array([0, value])
        if array.dtype != object and not (name == "c64" and array.dtype == np.complex64):
            with pytest.raises(GraphError):
                constants.from_array(array, DTYPES[name])


def test_arrays_convert_where_no_element_is_lost():
    wide = np.array([1.0, np.inf, np.nan])
    assert values_of(constants.from_array(wide, DTYPES["f16"])).dtype == np.float16
    assert values_of(constants.from_array(np.array([1.0, -3.0]), DTYPES["i8"])).tolist() == [1, -3]
    half = np.array([1, 2], ml_dtypes.bfloat16)
    assert values_of(constants.from_array(half, DTYPES["i32"])).tolist() == [1, 2]
    assert values_of(constants.from_array(np.zeros((0, 3)), DTYPES["i8"])).shape == (0, 3)


MASKED = np.ma.array([1.0, 2.0], mask=[False, True])


@pytest.mark.parametrize("value", [MASKED, [np.ma.masked, 1.0]], ids=["array", "element"])
def test_a_masked_array_is_no_constant(value: object):
    with pytest.raises(GraphError, match=r"pass array\.filled\(number\)"):
        rlx.Graph("g").constant(value)


@pytest.mark.parametrize(
    "value", [None, {}, "a", [None], [[1, "a"]], np.array([None]), object(), b"a"], ids=lambda x: type(x).__name__
)
def test_what_is_no_number_is_no_constant(value: object):
    with pytest.raises(GraphError, match=r"expected numbers for a constant, got|is not supported"):
        rlx.Graph("g").constant(value)


def test_a_splat_is_seen_bitwise():
    assert constants.splat_value(constants.from_nested([2.0, 2.0])) == 2.0
    assert constants.splat_value(constants.from_nested([0.0, -0.0])) is None
    assert np.isnan(constants.splat_value(constants.from_nested([np.nan, np.nan])))
    assert constants.splat_value(constants.from_array(np.zeros((0,)))) is None
    assert constants.splat_value(constants.number(1 + 2j, DTYPES["c64"])) == 1 + 2j
