"""Turning what a caller passes into arrays that machine code can read or write, or saying what is wrong with it.
No pointers and no runs here."""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from xdsl_rlx.dialects.arrays import read_array
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.lowering.backend.driver.dtypes import DTYPES, dtype_of
from xdsl_rlx.lowering.backend.driver.manifest import TensorSpec
from xdsl_rlx.lowering.run_errors import ArgumentError, ArgumentTypeError

_PLAIN = (bool, int, float, complex, list, tuple, np.generic)
"""Numbers and lists of them: of these another dtype is converted where no value changes."""

_INTEGERS = ("i64", "i32", "u32", "i16", "i8", "u8")


def describe(array: NDArray[Any]) -> str:
    """An array's type in the notation of `TensorSpec`, with the byte order if that is not the machine's."""
    native = array.dtype if array.dtype.isnative else array.dtype.newbyteorder("=")
    short = next((name for name, dtype in DTYPES.items() if native == dtype), native.name)
    short = "bf16" if short == "bfloat16" else short
    order = "" if array.dtype.isnative else f"{'big' if array.dtype.byteorder == '>' else 'little'}-endian "
    return f"{order}{short}[{', '.join(map(str, array.shape))}]"


def to_array(spec: TensorSpec, value: object, what: str) -> NDArray[Any]:
    """
    A C-contiguous array of the spec's shape and dtype: `value` itself when it is one already.

    Other layouts are copied. Another dtype is converted when no value can change: Python numbers and sequences of
    them, safe casts (f32 to f64), and, where integers are declared, any numbers that are integers in range.
    Raises `ArgumentTypeError` or `ArgumentError`, with `what` naming the argument.
    """
    dtype = dtype_of(spec.dtype)
    if type(value) is np.ndarray and value.dtype is dtype and value.shape == spec.shape and value.flags.carray:
        return value
    _check_not_masked(spec, value, what)
    kind = type(value).__name__
    plain = isinstance(value, _PLAIN)
    try:
        array: NDArray[Any] | None = None if plain else read_array(value)
        if array is None:
            array = np.asarray(value)
    except (GraphError, ValueError, TypeError, RuntimeError) as error:
        raise ArgumentTypeError(f"{what}: expected {spec}, got {kind} ({error})") from error
    if plain and not array.size and array.shape == spec.shape:
        array = array.astype(dtype)
    if array.dtype.kind in "OSUMmT":
        raise ArgumentTypeError(f"{what}: expected {spec}, got {type(value).__name__} of {array.dtype.name}")
    if array.shape != spec.shape:
        raise ArgumentError(f"{what}: expected {spec}, got {describe(array)}")
    if array.dtype != dtype:
        if not _converts(array, spec.dtype, dtype, plain):
            hint = f"; pass x.astype({str(dtype)!r}) if intended" if not plain else ""
            raise ArgumentTypeError(f"{what}: expected {spec}, got {describe(array)}{hint}")
        array = _finite(array, array.astype(dtype), f"{what}: expected {spec}")
    # ascontiguousarray would turn a scalar into a vector
    return array if array.flags.c_contiguous and array.flags.aligned else array.copy("C")


def _check_not_masked(spec: TensorSpec, value: object, what: str) -> None:
    """ArgumentTypeError for a masked array, alone or in a list: machine code reads its data without the mask."""
    if isinstance(value, list | tuple):
        for part in cast("list[object]", value):
            _check_not_masked(spec, part, what)
    elif isinstance(value, np.ma.MaskedArray):
        raise ArgumentTypeError(f"{what}: expected {spec}, got a masked array; pass array.filled(number)")


def _finite(before: NDArray[Any], after: NDArray[Any], what: str) -> NDArray[Any]:
    """`after`; ArgumentTypeError if a finite number of `before` has become infinite in it."""
    if after.dtype.kind in "fcV" and not np.isfinite(after).all():
        wrong = np.isfinite(before) & ~np.isfinite(after)
        if wrong.any():
            raise ArgumentTypeError(f"{what}, got {before[wrong].reshape(-1)[0]}, which overflows to infinity")
    return after


def _converts(array: NDArray[Any], name: str, dtype: np.dtype[Any], plain: bool) -> bool:
    if np.can_cast(array.dtype, dtype, "safe"):
        return True
    if name in _INTEGERS:
        return _are_integers_in_range(array, np.iinfo(dtype))
    if name == "i1":
        return plain and array.dtype.kind in "iu" and bool(np.all((array == 0) | (array == 1)))
    # a Python number has no width of its own, but it has a kind
    return plain and np.can_cast(array.dtype, dtype, "same_kind")


def _are_integers_in_range(array: NDArray[Any], info: np.iinfo[Any]) -> bool:
    if array.dtype.kind == "c":
        return False
    if not array.size:
        return True
    if array.dtype.kind not in "iub":
        array = array.astype(np.float64)
        # 2.0**63 is what the largest int64 rounds to, so the upper bound must be exclusive
        within = np.isfinite(array).all() and array.min() >= float(info.min) and array.max() < float(info.max) + 1
        return bool(within and (array == np.trunc(array)).all())
    return int(array.min()) >= info.min and int(array.max()) <= info.max


def check_updated(spec: TensorSpec, value: object, what: str) -> NDArray[Any]:
    """An argument that a result is written over; raises as `check_out`."""
    if type(value) is np.ndarray:
        return check_out(spec, cast(object, value), what)
    if not isinstance(value, np.ndarray):
        cure = "np.array(x) makes a copy"
        raise ArgumentTypeError(f"{what} is donated: expected an array {spec}, got {type(value).__name__}; {cure}")
    return check_out(spec, cast(object, value), what)


def check_out(spec: TensorSpec, value: object, what: str) -> NDArray[Any]:
    """A result buffer given by the caller; raises `ArgumentTypeError` or `ArgumentError` unless it fits as it is."""
    dtype = dtype_of(spec.dtype)
    if type(value) is np.ndarray and value.dtype is dtype and value.shape == spec.shape and value.flags.carray:
        return value
    if not isinstance(value, np.ndarray):
        raise ArgumentTypeError(f"{what}: expected an array {spec} or None, got {type(value).__name__}")
    array = cast(NDArray[Any], value)
    _check_not_masked(spec, array, what)
    if array.dtype != dtype:
        cure = "" if array.dtype.isnative else "; x.astype(x.dtype.newbyteorder('=')) is of native byte order"
        raise ArgumentTypeError(f"{what}: expected {spec}, got {describe(array)}{cure}")
    if array.shape != spec.shape:
        raise ArgumentError(f"{what}: expected {spec}, got {describe(array)}")
    if not array.flags.writeable:
        raise ArgumentError(f"{what}: expected a writable array, got a read-only one")
    if not array.flags.c_contiguous:
        found = f"strides of {array.strides} bytes"
        raise ArgumentError(
            f"{what}: expected a C-contiguous array {spec}, got {found}; np.ascontiguousarray(x) is one"
        )
    if not array.flags.aligned:
        found = f"one at an address that is no multiple of {array.dtype.alignment} bytes"
        raise ArgumentError(f"{what}: expected an aligned array {spec}, got {found}; x.copy() is aligned")
    return array
