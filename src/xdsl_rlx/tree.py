"""Trees of arrays: dicts, lists, tuples, named tuples, dataclasses and None, through `optree`.

Leaves come in one order: keys of dicts sorted, fields as declared. None has no leaves. A field of a dataclass with
`metadata={"static": True}` is no part of the tree but of its kind, as numbers of layers are.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import optree

from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.mir.value import Value

__all__ = ["Spec", "Tree", "flatten", "map_leaves", "names", "paths", "unflatten"]

Tree: TypeAlias = Any
"""A nest of containers with leaves."""

Spec: TypeAlias = optree.PyTreeSpec
"""The containers of a tree without its leaves: equal for trees that differ in leaves only."""

_Read: TypeAlias = Callable[[Tree], list[Any] | None]

_NAMESPACE = "xdsl_rlx"


def flatten(tree: Tree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Spec]:
    """The leaves of a tree, and the containers around them; what `is_leaf` is true of is not looked into."""
    while True:
        leaves, spec = optree.tree_flatten(tree, is_leaf, namespace=_NAMESPACE)
        if not (unknown := [kind for kind in set(map(type, leaves)) if _is_dataclass(kind)]):
            return leaves, spec
        for kind in unknown:
            _register(kind)


class Flatten:
    """`flatten`, in a fifth of the time for trees of dicts, lists and tuples like the last one."""

    def __init__(self) -> None:
        self._last: tuple[_Read, set[type[Any]], Spec] | None = None

    def __reduce__(self) -> tuple[type[Flatten], tuple[()]]:
        return Flatten, ()

    def __call__(self, tree: Tree) -> tuple[list[Any], Spec]:
        """As `flatten`."""
        if (last := self._last) is not None:
            read, kinds, spec = last
            # what was a leaf is no container
            if (leaves := read(tree)) is not None and kinds.issuperset(map(type, leaves)):
                return leaves, spec
        leaves, spec = flatten(tree)
        read = _read(spec)
        self._last = None if read is None else (read, set(map(type, leaves)), spec)
        return leaves, spec


def unflatten(spec: Spec, leaves: Sequence[Any]) -> Tree:
    """The inverse of `flatten`."""
    return optree.tree_unflatten(spec, leaves)


def map_leaves(function: Callable[..., Any], tree: Tree, *others: Tree) -> Tree:
    """The tree of `function(leaf, ...)`, for the leaves that trees of one kind have in the same place."""
    leaves, spec = flatten(tree)
    rest = [leaves_like(spec, other, "map_leaves") for other in others]
    return unflatten(spec, [function(*one) for one in zip(leaves, *rest, strict=True)])


def leaves_like(spec: Spec, tree: Tree, what: str) -> list[Any]:
    """What a tree has where one with the containers `spec` has leaves; GraphError, which begins with `what`, if it has
    other containers."""
    try:
        return spec.flatten_up_to(tree)
    except ValueError:
        there, here = paths(spec), paths(flatten(tree)[1])
        missing, strange = ([one for one in a if one not in b] for a, b in ((there, here), (here, there)))
        sides = (("no", missing), ("also", strange))
        found = [f"{words} {', '.join(some[:3]) or 'a leaf'}" for words, some in sides if some]
        differs = " and ".join(found) or "other containers"
        raise GraphError(f"{what}: the trees are not of one kind: the other one has {differs}") from None


def paths(spec: Spec) -> list[str]:
    """
    Where each leaf is, as one would write it behind the name of the tree: `["w"][0]`, `.bias`.

    GraphTypeError for what is no spec, as `flatten` gives it beside the leaves.
    """
    return [accessor.codify("") for accessor in _checked(spec).accessors()]


def names(spec: Spec, first: str) -> list[str]:
    """
    A name for each leaf of a tree called `first`, an identifier: `params_layers_0_w`.

    GraphTypeError for what is no spec.
    """
    found: list[str] = []
    for path in _checked(spec).paths():
        name = "_".join([first, *(re.sub(r"\W", "_", str(part)) for part in path)])
        found.append(name)
    return found


def _checked(spec: Spec) -> Spec:
    if not isinstance(spec, optree.PyTreeSpec):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphTypeError(f"expected the spec of a tree, which is flatten(tree)[1], got {shown(spec)}")
    return spec


def _read(spec: Spec) -> _Read | None:
    """
    What gives the leaves of a tree if it has these containers, else None: straight-line code.

    None if other containers than dicts, lists and tuples are among them, or too many.
    """
    lines, leaves, keys = list[str](), list[str](), list[Any]()
    left = [(spec, "tree")]
    while left:
        one, place = left.pop()
        if one.is_leaf():
            leaves.append(place)
            continue
        if one.type not in _READ or len(lines) > _MOST_LINES:
            return None
        children, name = one.children(), f"t{len(lines)}"
        lines.append(f"  {name} = {place}")
        if one.type is type(None):
            lines.append(f"  if {name} is not None: return None")
            continue
        lines.append(f"  if type({name}) is not {one.type.__name__} or len({name}) != {len(children)}: return None")
        places = [str(n) for n in range(len(children))]
        if one.type is dict:
            places = [f"keys[{len(keys) + n}]" for n in range(len(children))]
            keys.extend(one.entries())
        # the first child comes off first
        left += reversed([(child, f"{name}[{at}]") for child, at in zip(children, places, strict=True)])
    text = ["def read(tree):", " try:", *lines, f"  return [{', '.join(leaves)}]", " except KeyError:", "  return None"]
    found: dict[str, Any] = {"keys": keys}
    exec("\n".join(text), found)
    return found["read"]


_READ = (dict, list, tuple, type(None))
_MOST_LINES = 10_000


@cache
def _is_dataclass(kind: type[Any]) -> bool:
    return dataclasses.is_dataclass(kind) and kind is not Value


def _register(kind: type[Any]) -> None:
    every = dataclasses.fields(kind)
    moving = [field.name for field in every if not field.metadata.get("static")]
    fixed = [field.name for field in every if field.metadata.get("static")]

    def taken_apart(one: Any) -> tuple[tuple[Any, ...], Any, tuple[str, ...]]:
        aux = tuple(getattr(one, name) for name in fixed)
        return tuple(getattr(one, name) for name in moving), aux, tuple(moving)

    def put_together(aux: Any, children: Any) -> Any:
        # not by the constructor: it may check or convert what stands for arrays here
        one = object.__new__(kind)
        for name, value in (*zip(moving, children, strict=True), *zip(fixed, aux, strict=True)):
            object.__setattr__(one, name, value)
        return one

    optree.register_pytree_node(
        kind, taken_apart, put_together, namespace=_NAMESPACE, path_entry_type=optree.GetAttrEntry
    )
