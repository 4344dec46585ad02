"""Functions of trees as what `scipy.optimize` calls: flat float64 vectors in, values and derivatives out."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from xdsl_rlx.compiled_function import CompiledFunction
from xdsl_rlx.dialects.arrays import read_array
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.tree import Tree, flatten, paths, ravel, unflatten
from xdsl_rlx.tree_functions import hessian, hvp, jacfwd, value_and_grad

FlatArray = np.ndarray[Any, Any]


class ScipyFunction:
    """A function of a tree as compiled functions of a float64 vector; `rlx.scipy_fun` returns it."""

    def __init__(self, f: Callable[..., Any], x0: Tree = None):
        if not callable(f):  # pyright: ignore[reportUnnecessaryComparison]
            raise GraphTypeError(f"scipy_fun: f: expected a function, got {shown(f)}")
        self.f = f
        self._unravel: Callable[[Any], Tree] | None = None
        self._x0: FlatArray | None = None
        if x0 is not None:
            leaves, spec = flatten(x0)
            arrays = [_floats(leaf, f"scipy_fun: x0{place}") for leaf, place in zip(leaves, paths(spec), strict=True)]
            vector, self._unravel = ravel(unflatten(spec, arrays))
            self._x0 = np.asarray(vector, np.float64)

    @property
    def x0(self) -> FlatArray:
        """The first guess as a vector."""
        if self._x0 is None:
            raise GraphError("scipy_fun: x0 was not given; pass a tree of arrays, or a vector to SciPy")
        return self._x0

    def unravel(self, x: Any) -> Tree:
        """Return the tree of a vector, such as `result.x`; leaves have the element types of those of `x0`."""
        return x if self._unravel is None else self._unravel(x)

    def __call__(self, x: Any, *args: Any) -> tuple[float, FlatArray]:
        """Return the value of the function and its gradient, for `jac=True`."""
        value, slope = self._value_and_grad(_vector(x), *args)
        return float(value), np.asarray(slope, np.float64)

    def fun(self, x: Any, *args: Any) -> Any:
        """Return the value: a number, or a vector of the elements of all results, as `least_squares` needs it."""
        found = self._value(_vector(x), *args)
        return float(found[0]) if self._is_number else np.asarray(found, np.float64)

    def jac(self, x: Any, *args: Any) -> FlatArray:
        """Return the gradient of a number, or the Jacobian of the vector that `fun` returns."""
        found = np.asarray(self._jacobian(_vector(x), *args), np.float64)
        return found[0] if self._is_number else found

    def hess(self, x: Any, *args: Any) -> FlatArray:
        """Return the Hessian, a dense matrix."""
        return np.asarray(self._hessian(_vector(x), *args), np.float64)

    def hessp(self, x: Any, p: Any, *args: Any) -> FlatArray:
        """Return the Hessian times the vector `p`, without the Hessian."""
        return np.asarray(self._product(_vector(x), _vector(p), *args), np.float64)

    def _of_vector(self, x: Any, *args: Any) -> Any:
        return self.f(self.unravel(x), *args)

    def _all(self, x: Any, *args: Any) -> Any:
        leaves, _ = flatten(found := self._of_vector(x, *args))
        self._is_number = len(leaves) == 1 and np.shape(leaves[0]) == ()
        return ravel(found)[0]

    _is_number = False

    @cached_property
    def _value(self) -> CompiledFunction:
        return CompiledFunction(self._all)

    @cached_property
    def _value_and_grad(self) -> CompiledFunction:
        derived = value_and_grad(self._of_vector)
        return CompiledFunction(lambda x, *args: derived(x, *args))

    @cached_property
    def _jacobian(self) -> CompiledFunction:
        derived = jacfwd(self._all)
        return CompiledFunction(lambda x, *args: derived(x, *args))

    @cached_property
    def _hessian(self) -> CompiledFunction:
        derived = hessian(self._of_vector)
        return CompiledFunction(lambda x, *args: derived(x, *args))

    @cached_property
    def _product(self) -> CompiledFunction:
        derived = hvp(self._of_vector)
        return CompiledFunction(lambda x, p, *args: derived((x, *args), p))


def scipy_fun(f: Callable[..., Any], x0: Tree = None) -> ScipyFunction:
    """
    Return the function `f(x, *args)` of a tree for `scipy.optimize`, with compiled derivatives.

    `x0` is a floating-point tree, which says how vectors are made into trees; without it `f` takes vectors. The object
    returned is called with a float64 vector and returns `(value, gradient)`. It has the methods `fun`, `jac`, `hess`
    and `hessp`, the vector `x0`, and `unravel(x)`, which returns the tree of a vector. `fun` and `jac` also serve
    `scipy.optimize.least_squares` and `root`, for an `f` that returns arrays. Further arguments of SciPy's `args` are
    passed to `f`. The numbers are computed in the element types of `x0`. Raises GraphError for leaves that are not
    floats, and for complex ones.

    ```python
    fun = rlx.scipy_fun(loss, params)
    found = scipy.optimize.minimize(fun, fun.x0, jac=True, hessp=fun.hessp, method="trust-ncg")
    params = fun.unravel(found.x)
    ```
    """
    return ScipyFunction(f, x0)


def _vector(x: Any) -> FlatArray:
    return np.asarray(x, np.float64)


def _floats(leaf: Any, what: str) -> FlatArray:
    array = np.asarray(leaf) if isinstance(leaf, int | float) else read_array(leaf)
    if array is None:
        raise GraphError(f"{what}: expected a floating-point array, got {shown(leaf)}")
    if np.dtype(array.dtype).kind in "biu":
        return array.astype(np.float64)
    if np.dtype(array.dtype).kind == "c":
        raise GraphError(f"{what}: expected real numbers, got complex ones; pass real and imaginary part as a tree")
    return array
