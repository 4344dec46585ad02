"""Builder methods as functions: `rlx.gelu(x)` builds in the graph that `x` is of, or that is being traced.

There is one for each public method of `Graph` and of its blocks that builds an op. Without values, and outside of a
traced function, one computes: arrays are its operands then, and all else is passed on.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from enum import Enum
from functools import cache, lru_cache, update_wrapper
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from xdsl_rlx.builder import HirGraph
from xdsl_rlx.compiled_function import CompiledFunction
from xdsl_rlx.dialects.arrays import read_array
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.hir.hir_builder import HirBuilder
from xdsl_rlx.dialects.mir.value import BuilderCore, Value
from xdsl_rlx.graph_methods.graph_builder import GraphBuilder
from xdsl_rlx.op_help import help_of
from xdsl_rlx.signatures import bare_signature
from xdsl_rlx.static_keys import Static, is_array_like
from xdsl_rlx.tracing import EAGER, builder_of
from xdsl_rlx.tree import Spec, Tree, flatten, unflatten
from xdsl_rlx.tree import map as map_leaves

_INTERNAL = frozenset(
    name
    for name in vars(BuilderCore)
    if name not in ("constant", "full", "zeros_like", "ones_like") and not name.startswith("_")
)


@cache
def names() -> frozenset[str]:
    """The names of all these functions."""
    every = {name for kind in (GraphBuilder, HirBuilder) for name in dir(kind) if not name.startswith("_")}
    every -= _INTERNAL
    return frozenset(name for name in every if "backward" not in name and name not in _CONTROL)


_CONTROL = frozenset(("cond", "debug_print", "scan", "while_loop", "switch", "remat", "vmap"))


@cache
def function(name: str) -> Callable[..., Any]:
    """The function that a builder method is."""
    method = getattr(HirGraph, name)
    constants = Constants(method, 1)

    def call(*args: Tree, **kwargs: Tree) -> Any:
        builder = builder_of(args, kwargs)
        if builder is None:
            # what a registered op is called may be registered anew
            return computed(call, args, kwargs, name != "custom", constants)
        found = getattr(builder, name, None) or getattr(HirGraph, name).__get__(builder)
        result = found(*args, **kwargs)
        return _weak(result) if _all_weak(args, kwargs) else result

    update_wrapper(call, method, ())
    call.__name__ = call.__qualname__ = name
    call.__module__ = "xdsl_rlx"
    call.__doc__ = help_of(name, method)
    vars(call)["__signature__"] = bare_signature(method, 1)
    return call


def _all_weak(args: tuple[Tree, ...], kwargs: dict[str, Tree]) -> bool:
    values = [leaf for leaf in flatten((args, kwargs))[0] if isinstance(leaf, Value)]
    return bool(values) and all(value.weak for value in values)


def _weak(result: Any) -> Any:
    if isinstance(result, Value) and result.dtype in ("f64", "i64"):
        return Value(result.ssa, result.b, True)
    return result


class Constants:
    """Which arguments of a function are constants of the graph: an array among these is read when it is traced."""

    _OPERANDS = re.compile(r"\b(Operand|Any|Value|Tree)\b")
    _LARGEST = 1 << 16
    """Bytes of an array up to which a compiled program is kept for its elements."""

    def __init__(self, function: Callable[..., Any], hidden: int = 0):
        """`hidden` is how many parameters in front are not arguments of a call."""
        self._positional: list[bool] = []
        self._rest = False
        self._named: dict[str, bool] = {}
        self._others = False
        for one in list(inspect.signature(function).parameters.values())[hidden:]:
            fixed = one.annotation is not one.empty and not self._OPERANDS.search(str(one.annotation))
            if one.kind is one.VAR_POSITIONAL:
                self._rest = fixed
            elif one.kind is one.VAR_KEYWORD:
                self._others = fixed
            else:
                self._named[one.name] = fixed
                if one.kind is not one.KEYWORD_ONLY:
                    self._positional.append(fixed)

    def marked(self, args: tuple[Tree, ...], kwargs: dict[str, Tree]) -> tuple[tuple[Tree, ...], dict[str, Tree], bool]:
        """The arguments with arrays that are constants marked, and whether a program may be kept for these."""
        small = True

        def of_leaf(leaf: Any) -> Any:
            nonlocal small
            if not is_array_like(leaf):
                return leaf
            array = np.array(read_array(leaf))
            small = small and array.nbytes <= self._LARGEST
            key = (type(leaf), array.dtype, array.shape, array.tobytes() if small else id(array))
            return Static(leaf if isinstance(leaf, np.generic) else array, "", key)

        def of(argument: Tree, fixed: bool) -> Tree:
            return map_leaves(of_leaf, argument) if fixed and argument is not None else argument

        flags = [*self._positional, *[self._rest] * (len(args) - len(self._positional))]
        positional = tuple([of(one, fixed) for one, fixed in zip(args, flags, strict=False)])
        named = {name: of(one, self._named.get(name, self._others)) for name, one in kwargs.items()}
        return positional, named, small


def _unmarked(tree: Tree) -> Tree:
    leaves, spec = flatten(tree, lambda one: isinstance(one, Static))
    return unflatten(spec, [one.value if isinstance(one, Static) else one for one in leaves])


def computed(
    function: Callable[..., Any],
    args: tuple[Tree, ...],
    kwargs: dict[str, Tree],
    keep: bool = False,
    constants: Constants | None = None,
) -> Tree:
    """
    A function of arrays, and of what is none and is passed on as it is, compiled and run.

    With `keep` it is the same function at each call, and what it was compiled to is kept for the next one. Arrays among
    its `constants` are passed on as they are, too.
    """
    if constants is not None:
        args, kwargs, small = constants.marked(args, kwargs)
        keep = keep and small
    leaves, spec = flatten((args, kwargs))
    fixed = tuple(None if is_array_like(leaf) else leaf for leaf in leaves)
    if keep and all(isinstance(leaf, _CONSTANTS) for leaf in fixed):
        compiled = _kept(function, spec, fixed, tuple(map(repr, fixed)))
    else:
        compiled = _of_arrays(function, spec, fixed)
    operands = [leaf for leaf, one in zip(leaves, fixed, strict=True) if one is None]
    if not EAGER.get():
        return compiled(*operands)
    # ops have no Python function: each is compiled by itself
    token = EAGER.set(False)
    try:
        return compiled(*operands)
    finally:
        EAGER.reset(token)


_CONSTANTS = (type(None), bool, int, float, complex, str, bytes, type, np.dtype, Attribute, Enum)
"""What cannot change, as what a function refers to, or an array of another library, can."""


def _of_arrays(function: Callable[..., Any], spec: Spec, fixed: tuple[Any, ...]) -> CompiledFunction:
    """The function of the leaves that are None in `fixed`, which no leaf is."""

    def of_arrays(*operands: Value) -> Tree:
        left = iter(operands)
        args, kwargs = _unmarked(unflatten(spec, [next(left) if leaf is None else leaf for leaf in fixed]))
        return function(*args, **kwargs)

    of_arrays.__name__ = getattr(function, "__name__", "function")
    return CompiledFunction(of_arrays)


@lru_cache(maxsize=128)
def _kept(
    function: Callable[..., Any], spec: Spec, fixed: tuple[Any, ...], _texts: tuple[str, ...]
) -> CompiledFunction:
    """The texts tell apart what is equal: 1, 1.0 and True; 0.0 and -0.0."""
    return _of_arrays(function, spec, fixed)


def softmax_cross_entropy(logits: Any, labels: Any, ignore_index: int | None = None) -> Any:
    """
    Return the cross-entropy loss of each example: `-log(softmax(logits))` at its label.

    `logits` is `[..., C]`; the integer `labels` and the result are `[...]`. A label equal to `ignore_index` gives 0 and
    no gradient.
    """
    return function("softmax_cross_entropy_with_logits")(logits, labels, ignore_index)


def dropout(x: Any, rate: float, key: Any = None) -> Any:
    """
    Return `x` with elements set to 0 with probability `rate`, and the others divided by `1 - rate`.

    `key` is an i64 array `[2]`; use each key once. Without a key, `x` is returned unchanged, so that training and
    evaluation share one model. The Philox generator computes the random number of an element from the key and the
    element's index. (Srivastava et al., 2014)
    """
    if not 0.0 <= rate < 1.0:
        raise GraphError(f"rate: expected a probability of at least 0 and below 1, got {rate}")
    if key is None or rate == 0.0:
        return x
    kept = function("rng_uniform")(key, tuple(x.shape)) >= np.float32(rate)
    return np.where(kept, x / (1.0 - rate), 0.0)
