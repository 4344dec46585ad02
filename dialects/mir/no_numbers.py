"""What Python and NumPy ask of arrays and a value of a graph cannot answer: errors that say what to write."""

from __future__ import annotations

from typing import Any, NoReturn

from xdsl_rlx.dialects.errors import GraphAttributeError, GraphError, GraphTypeError

NO_NUMBERS = "it has numbers when the compiled graph runs; use the methods of the graph, or operators"

_IN_PLACE = "a value of a graph does not change"
_CURES = {
    "item": f"{NO_NUMBERS}; return it",
    "tolist": f"{NO_NUMBERS}; return it",
    "tobytes": f"{NO_NUMBERS}; return it",
    "nonzero": "how many there are is known when the graph runs; np.where(mask, x, 0) keeps the shape",
    "fill": f"{_IN_PLACE}; np.full_like(x, number) is a new one",
    "sort": f"{_IN_PLACE}; np.sort(x) is a new one",
    "partition": f"{_IN_PLACE}; np.partition(x, k) is a new one",
    "put": f"{_IN_PLACE}; np.where(mask, new, x) is a new one",
    "resize": f"{_IN_PLACE}; np.resize(x, shape) is a new one",
    "view": "it has no memory to look at in another way; x.astype(dtype) converts numbers",
    "flat": "iterate over x.ravel()",
    "backward": "rlx.grad(function) gives gradients as a function, rlx.grad_with_loss(graph) as a graph",
    "grad": "rlx.grad(function) gives gradients as a function, rlx.grad_with_loss(graph) as a graph",
    "requires_grad": "gradients are by the arguments that wrt= or argnums= of rlx.grad names",
    "detach": "rlx.stop_gradient(x) is x without a gradient",
    "numpy": f"{NO_NUMBERS}; return it",
    "at": "x.at[i].set(y) is np.where(np.arange(len(x)) == i, y, x)",
}
"""What to do instead of asking for some attributes of arrays."""


class WithoutNumbers:
    """Special methods of values that a graph under construction has no answer to."""

    __slots__ = ()

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise GraphTypeError(
            f"a value of a graph is no array: {NO_NUMBERS}. np.asarray(x) can be left out, np.array([x, y]) is "
            "np.stack([x, y]); of an array, A[x] is rlx.constant(A)[x] and A.dot(x) is A @ x"
        )

    def __float__(self) -> NoReturn:
        raise GraphTypeError(
            f"a value of a graph is no number: {NO_NUMBERS}. math.exp(x) is np.exp(x), and a[i] = x builds on np.stack"
        )

    __complex__ = __float__

    def __index__(self) -> NoReturn:
        raise GraphTypeError(
            f"a value of a graph is no integer of Python's: {NO_NUMBERS}; a shape, an axis or a count is an argument "
            "named in static= of rlx.compile"
        )

    __int__ = __index__

    def __bool__(self) -> bool:
        raise GraphError(
            "a tensor has no truth value while the graph is built: an `if` or `while` on it does not know which way to "
            "go; use where(cond, a, b), rlx.cond or rlx.while_loop, or name where it is from in static= of rlx.compile"
        )

    def __format__(self, spec: str) -> str:
        if spec:
            raise GraphTypeError(f"a value of a graph has no text in the format {spec!r}: {NO_NUMBERS}, or return it")
        return repr(self)

    def __getattr__(self, name: str) -> Any:
        cure = f": {_CURES[name]}" if name in _CURES else ""
        raise GraphAttributeError(f"a value of a graph has no '{name}'{cure}")

    def __setitem__(self, index: object, value: object) -> NoReturn:
        raise GraphTypeError(
            f"{_IN_PLACE}: x[i] = y is x = np.where(np.arange(len(x)) == i, y, x), or a "
            "np.concatenate of what stays and what is new; rows of a loop are np.stack(list)"
        )

    def __delitem__(self, index: object) -> NoReturn:
        raise GraphTypeError(f"{_IN_PLACE}: write what is left as slices")

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, _: object) -> Any:
        return self

    def __reduce__(self) -> NoReturn:
        raise GraphTypeError(f"a value of a graph is not pickled: {NO_NUMBERS}; return it, and pickle the result")
