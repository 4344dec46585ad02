"""Large arrays that a traced function captures: params of the program it is compiled to, not text in its IR."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.arrays import is_number, plain_array

if TYPE_CHECKING:
    import numpy as np

    from xdsl_rlx.dialects.mir.value import Value

    Array: TypeAlias = np.ndarray[Any, Any]

LARGEST_CONSTANT = 1 << 16
"""
Bytes of the largest captured array that is a constant of the IR. A constant takes four times its size in text, and is
hashed, copied by passes and folded; a weight matrix gains nothing by that. 64 KiB keeps tables and vectors constant.
"""

LARGEST_MASK = 1 << 24
"""
Bytes of the largest captured array of booleans that is a constant: passes look into those of attention for causal
and banded masks, of up to 4096 x 4096.
"""


class HeldArrays:
    """The large arrays that a trace has captured, each once, and the params that stand for them."""

    def __init__(self, declare: Callable[[str, Attribute], Value]):
        """`declare` makes a param of a type, with a name made from the one that it is given."""
        self._declare = declare
        self._found: dict[object, tuple[Value, Array, Array]] = {}

    def value(self, array: Array, dtype: object) -> Value:
        """The param that stands for an array in an element type, by default its own."""
        type_ = constants.element_type(array.dtype if dtype is None else dtype)
        # not its identity: what another library has is another NumPy array of the same memory each time
        key = array.ctypes.data, array.shape, array.dtype.str, type_
        if key not in self._found:
            elements = constants.elements_of_array(array, type_)
            value = self._declare("array", TensorType(type_, array.shape))
            # kept itself too: no other array gets its address while this is a key
            self._found[key] = value, elements, array
        return self._found[key][0]

    def keep(self, there: Callable[[Value], bool]) -> None:
        """Forget those whose params are not there any longer."""
        self._found = {key: one for key, one in self._found.items() if there(one[0])}

    @property
    def arrays(self) -> list[tuple[Value, Array]]:
        """The params and their values."""
        return [(value, elements) for value, elements, _ in self._found.values()]


def large_array(value: object) -> Array | None:
    """The array that `value` is, if it is too large for a constant of the IR; None for one number throughout."""
    if is_number(value) or isinstance(value, Attribute) or (array := plain_array(value)) is None:
        return None
    most = LARGEST_MASK if array.dtype == bool else LARGEST_CONSTANT
    if array.nbytes <= most or _is_one_number(array):
        return None
    return array


def _is_one_number(array: Array) -> bool:
    """Whether all elements have the same bits: such a constant is stored once."""
    parts = array.reshape(-1).view("u1").reshape(array.size, array.itemsize)
    return bool((parts == parts[0]).all())
