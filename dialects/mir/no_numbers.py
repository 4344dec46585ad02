"""What Python and NumPy ask of arrays and a value of a graph cannot answer: errors that say what to write."""

from __future__ import annotations

import sys
from typing import Any, NoReturn, cast

from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import Attribute, BlockArgument

from xdsl_rlx.dialects.errors import GraphAttributeError, GraphError, GraphTypeError

NO_NUMBERS = "it has no concrete value yet; use NumPy functions or operators"

_IN_PLACE = "traced values are immutable"
_CURES = {
    "item": f"{NO_NUMBERS}; return it",
    "tolist": f"{NO_NUMBERS}; return it",
    "tobytes": f"{NO_NUMBERS}; return it",
    "nonzero": "the shape of the result depends on concrete values; np.where(mask, x, 0) keeps the shape",
    "fill": f"{_IN_PLACE}; np.full_like(x, number) is a new one",
    "sort": f"{_IN_PLACE}; np.sort(x) is a new one",
    "partition": f"{_IN_PLACE}; np.partition(x, k) is a new one",
    "put": f"{_IN_PLACE}; np.where(mask, new, x) is a new one",
    "resize": f"{_IN_PLACE}; np.resize(x, shape) is a new one",
    "view": "it has no memory to reinterpret; x.astype(dtype) converts numbers",
    "flat": "iterate over x.ravel()",
    "backward": "rlx.grad(function) gives gradients as a function, rlx.grad_with_loss(graph) as a graph",
    "grad": "rlx.grad(function) gives gradients as a function, rlx.grad_with_loss(graph) as a graph",
    "requires_grad": "wrt= or argnums= of rlx.grad selects the arguments to differentiate by",
    "detach": "rlx.stop_gradient(x) stops the gradient of x",
    "numpy": f"{NO_NUMBERS}; return it",
}
"""What to do instead of asking for some attributes of arrays."""


class WithoutNumbers:
    """Special methods of values that a graph under construction has no answer to."""

    __slots__ = ()

    def __array__(self, *_: object, **__: object) -> NoReturn:
        size = (
            f" A shape that depends on x, as in np.arange(x), needs a Python integer: {self._static_cure()}."
            if self._may_be_size()
            else ""
        )
        raise GraphTypeError(
            f"expected an array, got a traced value: {NO_NUMBERS}.{size} Write x instead of np.asarray(x), "
            "np.stack([x, y]) instead of np.array([x, y]), and np.block([[x, 1.0], [1.0, y]]) instead of an array or a "
            "stack of nested lists. With an array A, write rlx.gather(A, x) instead of A[x], A @ x instead of "
            "A.dot(x), and rlx.full(shape, x) instead of np.full(shape, x)"
        )

    def _may_be_size(self) -> bool:
        type_: Any = getattr(self, "type", None)
        if not isinstance(type_, TensorType):
            return False
        of_any = cast("TensorType[Attribute]", type_)
        return not of_any.get_shape() and isinstance(of_any.element_type, IntegerType)

    def _static_cure(self) -> str:
        """Which argument to make static: this one, if it is an argument without an axis."""
        ssa: Any = getattr(self, "ssa", None)
        name = ssa.name_hint if isinstance(ssa, BlockArgument) else None
        return f'name its argument in static= of rlx.compile, as in static="{name or "n"}"'

    def __float__(self) -> NoReturn:
        raise GraphTypeError(
            f"expected a number, got a traced value: {NO_NUMBERS}. Write np.exp(x) instead of math.exp(x), "
            "x instead of float(x), and np.stack(rows) instead of assignments a[i] = x"
        )

    __complex__ = __float__

    def __index__(self) -> NoReturn:
        message = (
            "expected a Python integer, got a traced value: a shape, an axis, a count, and the number of iterations of "
            f"a Python loop are needed while the function is traced; {self._static_cure()}"
        )
        # of a TypeError in np.zeros(x), NumPy would keep nothing
        caller = sys._getframe(1).f_globals.get("__name__", "").partition(".")[0]  # pyright: ignore[reportPrivateUsage]
        raise (GraphTypeError if caller == "xdsl_rlx" else GraphError)(message)

    __int__ = __index__

    def __bool__(self) -> bool:
        raise GraphError(
            "a traced value has no truth value yet: Python's `if` and `while` cannot branch on it; "
            "use where(cond, a, b), rlx.cond or rlx.while_loop, or name its argument in static= of rlx.compile"
        )

    def __format__(self, spec: str) -> str:
        if spec:
            raise GraphTypeError(f"a traced value cannot be formatted as {spec!r}: {NO_NUMBERS}, or return it")
        return repr(self)

    def __getattr__(self, name: str) -> Any:
        cure = f": {_CURES[name]}" if name in _CURES else ""
        raise GraphAttributeError(f"a traced value has no attribute '{name}'{cure}")

    def __setitem__(self, index: object, value: object) -> NoReturn:
        raise GraphTypeError(
            f"{_IN_PLACE}: instead of x[i] = y, write x = x.at[i].set(y), and x = x.at[i].add(y) instead of "
            "x[i] += y; collect the rows of a loop in a list and call np.stack on it"
        )

    def __delitem__(self, index: object) -> NoReturn:
        raise GraphTypeError(f"{_IN_PLACE}: concatenate the remaining slices")

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, _: object) -> Any:
        return self

    def __reduce__(self) -> NoReturn:
        raise GraphTypeError(f"a traced value cannot be pickled: {NO_NUMBERS}; return it, and pickle the result")
