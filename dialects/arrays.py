"""What any library calls an array, as one plain NumPy array. NumPy is not imported before an array comes."""

from array import array as python_array
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from xdsl_rlx.dialects.errors import GraphError, GraphTypeError

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import TypeIs

_NUMBERS = frozenset((bool, int, float, complex))
_READ_BY_NUMPY = ("__array__", "__array_interface__", "__array_struct__")
_BUFFERS = (memoryview, python_array)

READERS: dict[type[Any], Callable[[Any], "np.ndarray[Any, Any]"]] = {}
"""Functions that read arrays of classes of other libraries, at once: calls read each argument."""


def is_number(x: object) -> "TypeIs[bool | int | float | complex]":
    """
    Whether `x` is a number of Python's, which has no element type of its own.

    The scalars of NumPy have one, also float64 and complex128, which are subclasses of `float` and `complex`.
    """
    return type(x) in _NUMBERS or (isinstance(x, bool | int | float | complex) and not hasattr(x, "dtype"))


def check_not_masked(array: object) -> None:
    """GraphError for a masked array of NumPy's: as bytes it would lose its mask."""
    if hasattr(array, "filled"):
        raise GraphError("masked arrays are not supported: pass array.filled(number)")


def plain_array(x: object) -> "np.ndarray[Any, Any] | None":
    """
    The elements of an array of any library as a C-contiguous, aligned NumPy array of native byte order.

    It shares memory with `x` where it can, and is `x` if that is such an array. None and errors as of `read_array`.
    """
    array = read_array(x)
    if array is None:
        return None
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    # `ascontiguousarray` would make a vector of a scalar
    return array if array.flags.c_contiguous and array.flags.aligned else array.copy("C")


def read_array(x: object) -> "np.ndarray[Any, Any] | None":
    """
    An array of any library as a NumPy array of no subclass, laid out as it is; None for a number, a list or a class.

    Arrays are read through `__array__`, `__array_interface__`, the buffer protocol or DLPack, so their dtype and shape
    are those of what was read, not those that `x` claims. GraphError for a masked array, GraphTypeError for one that
    cannot be read.
    """
    kind = type(x)
    read = READERS.get(kind)
    if read is None:
        if not is_array(x):
            return None
        check_not_masked(x)
    import numpy as np

    if type(x) is np.ndarray:
        return cast("np.ndarray[Any, Any]", x)
    try:
        if read is not None:
            return read(x)
        dtype = str(getattr(x, "dtype", ""))
        if dtype == "torch.bfloat16":
            return _bfloat16(x)
        if dtype.startswith("key<"):
            return _words_of_keys(x)
        # memory maps, matrices and other subclasses become arrays here
        by_numpy = isinstance(x, _BUFFERS) or any(hasattr(x, name) for name in _READ_BY_NUMPY)
        return np.asarray(x) if by_numpy else np.from_dlpack(cast("Any", x))
    except (TypeError, ValueError, RuntimeError, BufferError, AttributeError) as error:
        name = f"{kind.__module__}.{kind.__qualname__}"
        raise GraphTypeError(f"an array of class {name} cannot be read ({error}); pass a NumPy array") from error


def _bfloat16(x: Any) -> "np.ndarray[Any, Any]":
    """The memory of a tensor of PyTorch, which does not give it to NumPy in this element type."""
    import sys

    import ml_dtypes
    import numpy as np

    integers: np.ndarray[Any, Any] = x.view(sys.modules["torch"].int16).numpy()
    return integers.view(ml_dtypes.bfloat16)


def _words_of_keys(x: Any) -> "np.ndarray[Any, Any]":
    """The u32 array that random keys of JAX are; functions of `jax.random` take it in their place."""
    import sys

    import numpy as np

    return np.asarray(sys.modules["jax"].random.key_data(x))


def holds_numbers(dtype: "np.dtype[Any]") -> bool:
    """Whether the elements of a NumPy dtype are numbers; those of ml_dtypes are of kind "V", as records are."""
    import numpy as np

    return dtype.kind in "biufc" or (dtype.kind == "V" and not issubclass(dtype.type, np.void))


def is_array(x: object) -> bool:
    """Whether `x` has a protocol by which the elements of arrays are read."""
    if isinstance(x, type):
        return False
    return isinstance(x, _BUFFERS) or hasattr(x, "__dlpack__") or any(hasattr(x, name) for name in _READ_BY_NUMPY)
