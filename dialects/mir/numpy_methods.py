"""What values of a graph have of NumPy's arrays: its two protocols, and the methods that are functions of NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn, cast

from xdsl_rlx.dialects.calls import checked
from xdsl_rlx.dialects.errors import GraphAttributeError, GraphTypeError
from xdsl_rlx.dialects.shapes import integers

NO_NUMBERS = "it has numbers when the compiled graph runs; use the methods of the graph, or operators"

_OF_PYTHON: dict[object, str] = {int: "i64", float: "f64", complex: "c128"}

_NEW_ONE = "it cannot be changed; np.where(mask, y, x), np.concatenate or np.sort builds another one"
_CHANGES = frozenset(("fill", "itemset", "partition", "put", "resize", "sort"))

if TYPE_CHECKING:
    from xdsl_rlx.dialects.mir.value import Operand, Value


def of_python(dtype: object) -> object:
    """What NumPy takes a type of Python's for, where it takes an element type; others as they are."""
    return _OF_PYTHON.get(dtype, dtype) if isinstance(dtype, type) else dtype


class NumpyMethods:
    """Protocols and methods of `numpy.ndarray`; the functions are in `numpy_functions.py`."""

    __slots__ = ()

    @property
    def _value(self) -> Value:
        return cast("Value", self)

    def __array_ufunc__(self, ufunc: Callable[..., object], method: str, *inputs: Operand, **options: Any) -> Value:
        """A function of NumPy's that is an op: `array + value`, `np.exp(value)`; GraphTypeError for others."""
        from xdsl_rlx.dialects.mir import numpy_functions

        name = getattr(ufunc, "__name__", str(ufunc))
        if method == "__call__" and not options:
            return numpy_functions.ufunc(name, *inputs)
        if method == "reduce":
            return numpy_functions.reduced(name, cast("Value", inputs[0]), **options)
        raise GraphTypeError(f"np.{name} does not take a value of a graph this way: {NO_NUMBERS}")

    def __array_function__(self, func: Callable[..., object], _: object, args: Sequence[Any], kwargs: Any) -> Any:
        """The other functions of NumPy's: `np.sum(value, axis=0)`; GraphTypeError for those that no op computes."""
        from xdsl_rlx.dialects.mir import numpy_functions

        family = getattr(func, "__module__", "numpy").removeprefix("numpy").removeprefix(".")
        prefix = f"{family}." if family in ("linalg", "fft", "random") else ""
        return numpy_functions.function(prefix + func.__name__, args, kwargs)

    def __setitem__(self, index: object, x: object) -> NoReturn:
        raise GraphTypeError(f"x[..] = y does not take a value of a graph: {_NEW_ONE}")

    def _missing(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        cure = _NEW_ONE if name in _CHANGES else NO_NUMBERS
        raise GraphAttributeError(f"a value of a graph has no {name!r}: {cure}")

    if not TYPE_CHECKING:
        # a type checker would take every name for an attribute
        __getattr__ = _missing

    @property
    def ndim(self) -> int:
        """The number of dimensions, as NumPy calls it."""
        return self._value.rank

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self._value.shape)

    @checked
    def transpose(self, *axes: int | Sequence[int]) -> Value:
        """The axes in the order given, one by one or as a sequence; reversed without any."""
        order = [axis for part in axes for axis in integers("transpose", part)]
        return self._numpy("transpose", order or None)

    def _numpy(self, name: str, *args: Any, **kwargs: Any) -> Any:
        from xdsl_rlx.dialects.mir.numpy_functions import FUNCTIONS

        return FUNCTIONS[name](self._value, *args, **kwargs)

    @checked
    def sum(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, dtype: object = None) -> Value:
        """The sum over some axes, or all; integers in i64."""
        return self._numpy("sum", axis, of_python(dtype), keepdims)

    @checked
    def prod(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, dtype: object = None) -> Value:
        """The product over some axes, or all; integers in i64."""
        return self._numpy("prod", axis, of_python(dtype), keepdims)

    @checked
    def mean(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, dtype: object = None) -> Value:
        """The mean over some axes, or all; of integers in f64."""
        return self._numpy("mean", axis, of_python(dtype), keepdims)

    @checked
    def var(self, axis: int | Sequence[int] | None = None, ddof: int = 0, keepdims: bool = False) -> Value:
        """The variance over some axes, or all."""
        return self._numpy("var", axis, ddof, keepdims)

    @checked
    def std(self, axis: int | Sequence[int] | None = None, ddof: int = 0, keepdims: bool = False) -> Value:
        """The standard deviation over some axes, or all."""
        return self._numpy("std", axis, ddof, keepdims)

    @checked
    def max(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Value:
        """The largest element over some axes, or all; NaN if one is NaN."""
        return self._numpy("max", axis, keepdims)

    @checked
    def min(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Value:
        """The smallest element over some axes, or all; NaN if one is NaN."""
        return self._numpy("min", axis, keepdims)

    @checked
    def any(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Value:
        """Whether an element is not 0, over some axes or all."""
        return self._numpy("any", axis, keepdims)

    @checked
    def all(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Value:
        """Whether all elements are not 0, over some axes or all."""
        return self._numpy("all", axis, keepdims)

    @checked
    def argmax(self, axis: int | None = None) -> Value:
        """Where the first of the largest elements is along an axis, or among all."""
        return self._value.b.argmax(self._value, axis)

    @checked
    def argmin(self, axis: int | None = None) -> Value:
        """Where the first of the smallest elements is along an axis, or among all."""
        return self._value.b.argmin(self._value, axis)

    @checked
    def cumsum(self, axis: int | None = None) -> Value:
        """Sums of all elements so far along an axis, or of all in one dimension."""
        return self._numpy("cumsum", axis)

    def clip(self, low: Operand | None = None, high: Operand | None = None) -> Value:
        """The elements, or the end of `[low, high]` that they are beyond; NaN stays NaN."""
        return self._numpy("clip", low, high)

    @checked
    def round(self, decimals: int = 0) -> Value:
        """To the nearest even number of so many decimals."""
        return self._numpy("round", decimals)

    def ravel(self) -> Value:
        """All elements in one dimension."""
        return self._numpy("ravel")

    flatten = ravel

    @checked
    def squeeze(self, axis: int | Sequence[int] | None = None) -> Value:
        """Without axes of extent 1: those given, or all."""
        return self._numpy("squeeze", axis)

    @checked
    def swapaxes(self, axis1: int, axis2: int) -> Value:
        """Two axes in each other's place."""
        return self._numpy("swapaxes", axis1, axis2)

    def take(self, indices: Any, axis: int | None = None) -> Value:
        """Slices along an axis by their numbers, or elements of all."""
        return self._numpy("take", indices, axis)

    def dot(self, other: Operand) -> Value:
        """The matrix product, of vectors the sum of products."""
        return self._numpy("dot", other)

    def copy(self) -> Value:
        """The value itself: nothing can change it."""
        return self._value

    @property
    def real(self) -> Value:
        """The real part."""
        return self._numpy("real")

    @property
    def imag(self) -> Value:
        """The imaginary part, zeros of real numbers."""
        return self._numpy("imag")

    def conj(self) -> Value:
        """The complex conjugate."""
        return self._value.b.conjugate(self._value) if self._value.dtype in ("c64", "c128") else self._value

    conjugate = conj

    @checked
    def argsort(self, axis: int = -1) -> Value:
        """The order of the elements along an axis, equal ones as they stand."""
        return self._value.b.argsort(self._value, axis)

    @checked
    def cumprod(self, axis: int | None = None) -> Value:
        """Products of all elements so far along an axis, or of all in one dimension."""
        return self._numpy("cumprod", axis)

    @checked
    def diagonal(self, offset: int = 0) -> Value:
        """The elements of a matrix on its diagonal, or beside it."""
        return self._numpy("diagonal", offset)

    @checked
    def trace(self, offset: int = 0) -> Value:
        """The sum of the diagonal of a matrix."""
        return self._numpy("trace", offset)

    @checked
    def repeat(self, repeats: int, axis: int | None = None) -> Value:
        """Each element so often along an axis, or of all."""
        return self._numpy("repeat", repeats, axis)
