"""What values of a graph have of NumPy's arrays: its two protocols, and the methods that are functions of NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from xdsl_rlx.dialects.calls import checked
from xdsl_rlx.dialects.shapes import integers

if TYPE_CHECKING:
    from xdsl_rlx.dialects.mir.value import Operand, Value

Axis: TypeAlias = "int | Sequence[int] | None"

_FAMILIES = ("linalg", "fft", "random", "lib.stride_tricks")


class NumpyMethods:
    """
    Protocols and methods of `numpy.ndarray`; the functions are in `numpy_functions.py`.

    Arguments are NumPy's, in their order; `out` and `order` have their place.
    """

    __slots__ = ()

    @property
    def _value(self) -> Value:
        return cast("Value", self)

    def __array_ufunc__(self, ufunc: Callable[..., object], method: str, *inputs: Operand, **options: Any) -> Any:
        """A function of NumPy's that is an op: `array + value`, `np.exp(value)`; GraphTypeError for others."""
        from xdsl_rlx.dialects.mir import numpy_functions

        return numpy_functions.of_ufunc(getattr(ufunc, "__name__", str(ufunc)), method, inputs, options)

    def __array_function__(self, func: Callable[..., object], _: object, args: Sequence[Any], kwargs: Any) -> Any:
        """The other functions of NumPy's: `np.sum(value, axis=0)`; GraphTypeError for those that no op computes."""
        from xdsl_rlx.dialects.mir import numpy_functions

        family = getattr(func, "__module__", "numpy").removeprefix("numpy").removeprefix(".")
        prefix = f"{family}." if family in _FAMILIES else ""
        return numpy_functions.function(prefix + func.__name__, args, dict(kwargs))

    def _numpy(self, name: str, *args: Any, **kwargs: Any) -> Any:
        from xdsl_rlx.dialects.mir import numpy_functions

        return numpy_functions.function(name, (self, *args), kwargs)

    @property
    def ndim(self) -> int:
        """The number of dimensions, as NumPy calls it."""
        return self._value.rank

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self._value.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self._value.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def real(self) -> Value:
        """The real parts."""
        return self._numpy("real")

    @property
    def imag(self) -> Value:
        """The imaginary parts; zeros of real numbers."""
        return self._numpy("imag")

    @property
    def mT(self) -> Value:
        """The last two axes in each other's place."""
        return self._numpy("matrix_transpose")

    def conj(self) -> Value:
        """The conjugates of complex numbers."""
        return self._value.b.conjugate(self._value)

    conjugate = conj

    def copy(self, order: str = "C") -> Value:
        """The same: values do not change."""
        return self._value

    @checked
    def transpose(self, *axes: int | Sequence[int] | None) -> Value:
        """The axes in the order given, one by one or as a sequence; reversed without any."""
        order = [axis for part in axes if part is not None for axis in integers("transpose", part)]
        return self._numpy("transpose", order or None)

    @checked
    def sum(
        self,
        axis: Axis = None,
        dtype: object = None,
        out: None = None,
        keepdims: bool = False,
        initial: Operand | None = None,
        where: Any = True,
    ) -> Value:
        """The sum over some axes, or all; integers in i64."""
        return self._numpy("sum", axis, dtype, out, keepdims, initial, where)

    @checked
    def prod(
        self,
        axis: Axis = None,
        dtype: object = None,
        out: None = None,
        keepdims: bool = False,
        initial: Operand | None = None,
        where: Any = True,
    ) -> Value:
        """The product over some axes, or all; integers in i64."""
        return self._numpy("prod", axis, dtype, out, keepdims, initial, where)

    @checked
    def mean(
        self, axis: Axis = None, dtype: object = None, out: None = None, keepdims: bool = False, *, where: Any = True
    ) -> Value:
        """The mean over some axes, or all; of integers in f64."""
        return self._numpy("mean", axis, dtype, out, keepdims, where=where)

    @checked
    def var(
        self,
        axis: Axis = None,
        dtype: object = None,
        out: None = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Operand | None = None,
        correction: float | None = None,
    ) -> Value:
        """The variance over some axes, or all."""
        return self._numpy("var", axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)

    @checked
    def std(
        self,
        axis: Axis = None,
        dtype: object = None,
        out: None = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Operand | None = None,
        correction: float | None = None,
    ) -> Value:
        """The standard deviation over some axes, or all."""
        return self._numpy("std", axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)

    @checked
    def max(
        self,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: Operand | None = None,
        where: Any = True,
    ) -> Value:
        """The largest element over some axes, or all; NaN if one is NaN."""
        return self._numpy("max", axis, out, keepdims, initial, where)

    @checked
    def min(
        self,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: Operand | None = None,
        where: Any = True,
    ) -> Value:
        """The smallest element over some axes, or all; NaN if one is NaN."""
        return self._numpy("min", axis, out, keepdims, initial, where)

    @checked
    def any(self, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = True) -> Value:
        """Whether an element is not 0, over some axes or all."""
        return self._numpy("any", axis, out, keepdims, where=where)

    @checked
    def all(self, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = True) -> Value:
        """Whether all elements are not 0, over some axes or all."""
        return self._numpy("all", axis, out, keepdims, where=where)

    @checked
    def argmax(self, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Value:
        """Where the first of the largest elements is along an axis, or among all."""
        return self._numpy("argmax", axis, out, keepdims=keepdims)

    @checked
    def argmin(self, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Value:
        """Where the first of the smallest elements is along an axis, or among all."""
        return self._numpy("argmin", axis, out, keepdims=keepdims)

    @checked
    def argsort(self, axis: int | None = -1, kind: str | None = None, order: None = None) -> Value:
        """The positions in the order of the elements along an axis; equal elements stay in their order."""
        return self._numpy("argsort", axis)

    @checked
    def cumsum(self, axis: int | None = None, dtype: object = None, out: None = None) -> Value:
        """Sums of all elements so far along an axis, or of all in one dimension."""
        return self._numpy("cumsum", axis, dtype, out)

    @checked
    def cumprod(self, axis: int | None = None, dtype: object = None, out: None = None) -> Value:
        """Products of all elements so far along an axis, or of all in one dimension."""
        return self._numpy("cumprod", axis, dtype, out)

    @checked
    def clip(self, min: Operand | None = None, max: Operand | None = None, out: None = None) -> Value:
        """The elements, or the end of `[min, max]` that they are beyond; NaN stays NaN."""
        return self._numpy("clip", min, max, out)

    @checked
    def round(self, decimals: int = 0, out: None = None) -> Value:
        """To the nearest even number of so many decimals."""
        return self._numpy("round", decimals, out)

    def __round__(self, ndigits: int | None = None) -> Value:
        return self.round().astype("i64") if ndigits is None else self.round(ndigits)

    @checked
    def ravel(self, order: str = "C") -> Value:
        """All elements in one dimension; by columns with the order "F"."""
        return self._numpy("ravel", order)

    flatten = ravel

    @checked
    def squeeze(self, axis: Axis = None) -> Value:
        """Without axes of extent 1: those given, or all."""
        return self._numpy("squeeze", axis)

    @checked
    def swapaxes(self, axis1: int, axis2: int) -> Value:
        """Two axes in each other's place."""
        return self._numpy("swapaxes", axis1, axis2)

    @checked
    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
        """The elements of a diagonal of two axes, along a new last axis."""
        return self._numpy("diagonal", offset, axis1, axis2)

    @checked
    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: object = None) -> Value:
        """The sum of a diagonal."""
        return self._numpy("trace", offset, axis1, axis2, dtype)

    def take(self, indices: Any, axis: int | None = None, out: None = None, mode: str = "raise") -> Value:
        """Slices along an axis by their numbers, or elements of all."""
        return self._numpy("take", indices, axis, out, mode)

    def compress(self, condition: Any, axis: int | None = None) -> Value:
        """Slices along an axis, or elements of all, where a mask that is no value holds."""
        from xdsl_rlx.dialects.mir import numpy_functions

        return numpy_functions.function("compress", (condition, self, axis), {})

    def dot(self, other: Operand) -> Value:
        """The matrix product, of vectors the sum of products."""
        return self._numpy("dot", other)

    @checked
    def repeat(self, repeats: int | Sequence[int], axis: int | None = None) -> Value:
        """Each element so often along an axis, or of all."""
        return self._numpy("repeat", repeats, axis)

    @checked
    def searchsorted(self, v: Operand, side: str = "left") -> Value:
        """Where elements would be put into this ascending vector."""
        return self._numpy("searchsorted", v, side)
