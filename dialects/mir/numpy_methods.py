"""What values of a graph have of NumPy's arrays: its two protocols, and the methods that are functions of NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Protocol, cast

from xdsl_rlx.dialects.calls import checked
from xdsl_rlx.dialects.mir.numpy_reductions import (
    Axis,
    extremes,
    means,
    positions,
    reduction_method,
    running,
    sums,
    truths,
    variances,
)
from xdsl_rlx.dialects.shapes import integers

if TYPE_CHECKING:
    from xdsl_rlx.dialects.mir.value import Operand, Value

_FAMILIES = ("linalg", "fft", "random", "lib.stride_tricks")


class NumpyFunctions(Protocol):
    """NumPy's functions on values of a graph; those of `frontends/numpy/functions.py`."""

    def function(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return what the function of this name does; GraphTypeError for one that no op computes."""
        ...

    def of_ufunc(self, name: str, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
        """Return what a universal function of this name does, or a method of one."""
        ...


class NumpyMethods:
    """
    Protocols and methods of `numpy.ndarray`; the functions are those of the builder, `BuilderCore.__numpy__`.

    Arguments are NumPy's, in their order; `out` and `order` have their place.
    """

    __slots__ = ()

    @property
    def _value(self) -> Value:
        return cast("Value", self)

    def __array_ufunc__(self, ufunc: Callable[..., object], method: str, *inputs: Operand, **options: Any) -> Any:
        """A function of NumPy's that is an op: `array + value`, `np.exp(value)`; GraphTypeError for others."""
        name = getattr(ufunc, "__name__", str(ufunc))
        return self._value.b.__numpy__().of_ufunc(name, method, inputs, options)

    def __array_function__(self, func: Callable[..., object], _: object, args: Sequence[Any], kwargs: Any) -> Any:
        """The other functions of NumPy's: `np.sum(value, axis=0)`; GraphTypeError for those that no op computes."""
        family = getattr(func, "__module__", "numpy").removeprefix("numpy").removeprefix(".")
        prefix = f"{family}." if family in _FAMILIES else ""
        return self._value.b.__numpy__().function(prefix + func.__name__, args, dict(kwargs))

    def _numpy(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return self._value.b.__numpy__().function(name, (self, *args), kwargs)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
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
        """The real part."""
        return self._numpy("real")

    @property
    def imag(self) -> Value:
        """The imaginary part; zeros for real numbers."""
        return self._numpy("imag")

    @property
    def mT(self) -> Value:
        """The value with its last two axes swapped."""
        return self._numpy("matrix_transpose")

    def conj(self) -> Value:
        """Return the complex conjugate."""
        return self._value.b.conjugate(self._value)

    conjugate = conj
    """Return the complex conjugate."""

    def copy(self, order: str = "C") -> Value:
        """Return the value itself: values are immutable."""
        return self._value

    @checked
    def transpose(self, *axes: int | Sequence[int] | None) -> Value:
        """Permute the axes, passed one by one or as a sequence; reverse them by default."""
        order = [axis for part in axes if part is not None for axis in integers("transpose", part)]
        return self._numpy("transpose", order or None)

    sum = reduction_method("sum", sums, "Return the sum over some or all axes; integers are summed in i64.")
    prod = reduction_method("prod", sums, "Return the product over some or all axes; integers are multiplied in i64.")
    mean = reduction_method("mean", means, "Return the mean over some or all axes; the mean of integers is f64.")
    var = reduction_method("var", variances, "Return the variance over some or all axes.")
    std = reduction_method("std", variances, "Return the standard deviation over some or all axes.")
    max = reduction_method("max", extremes, "Return the maximum over some or all axes; NaN if an element is NaN.")
    min = reduction_method("min", extremes, "Return the minimum over some or all axes; NaN if an element is NaN.")
    any = reduction_method("any", truths, "Return whether any element is not 0, over some or all axes.")
    all = reduction_method("all", truths, "Return whether all elements are not 0, over some or all axes.")
    argmax = reduction_method(
        "argmax", positions, "Return the index of the first maximum along an axis, or of all elements."
    )
    argmin = reduction_method(
        "argmin", positions, "Return the index of the first minimum along an axis, or of all elements."
    )

    @checked
    def argsort(self, axis: int | None = -1, kind: str | None = None, order: None = None) -> Value:
        """Return the indices that sort an axis in ascending order; the sort is stable."""
        return self._numpy("argsort", axis)

    cumsum = reduction_method("cumsum", running, "Return cumulative sums along an axis, or of the flattened elements.")
    cumprod = reduction_method(
        "cumprod", running, "Return cumulative products along an axis, or of the flattened elements."
    )

    @checked
    def clip(self, min: Operand | None = None, max: Operand | None = None, out: None = None) -> Value:
        """Return the elements limited to `[min, max]`; NaN stays NaN."""
        return self._numpy("clip", min, max, out)

    @checked
    def round(self, decimals: int = 0, out: None = None) -> Value:
        """Round to `decimals` decimals, half to even."""
        return self._numpy("round", decimals, out)

    def __round__(self, ndigits: int | None = None) -> Value:
        return self.round().astype("i64") if ndigits is None else self.round(ndigits)

    @checked
    def ravel(self, order: str = "C") -> Value:
        """Return all elements in one dimension; order "F" is column-major."""
        return self._numpy("ravel", order)

    flatten = ravel
    """Return all elements in one dimension; order "F" is column-major."""

    @checked
    def squeeze(self, axis: Axis = None) -> Value:
        """Remove the given axes of extent 1; by default all of them."""
        return self._numpy("squeeze", axis)

    @checked
    def swapaxes(self, axis1: int, axis2: int) -> Value:
        """Swap two axes."""
        return self._numpy("swapaxes", axis1, axis2)

    @checked
    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
        """Return a diagonal of two axes, along a new last axis."""
        return self._numpy("diagonal", offset, axis1, axis2)

    @checked
    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: object = None) -> Value:
        """Return the sum of a diagonal."""
        return self._numpy("trace", offset, axis1, axis2, dtype)

    def take(self, indices: Any, axis: int | None = None, out: None = None, mode: str = "raise") -> Value:
        """Return slices along an axis by index, or elements of the flattened value."""
        return self._numpy("take", indices, axis, out, mode)

    def compress(self, condition: Any, axis: int | None = None) -> Value:
        """Return the slices along an axis, or the elements, where a static mask is true."""
        return self._value.b.__numpy__().function("compress", (condition, self, axis), {})

    def dot(self, other: Operand) -> Value:
        """Return the matrix product; the dot product for vectors."""
        return self._numpy("dot", other)

    @checked
    def repeat(self, repeats: int | Sequence[int], axis: int | None = None) -> Value:
        """Repeat each element along an axis, or each element of the flattened value."""
        return self._numpy("repeat", repeats, axis)

    @checked
    def searchsorted(self, v: Operand, side: str = "left") -> Value:
        """Return the insertion indices of elements in this ascending vector."""
        return self._numpy("searchsorted", v, side)
