"""Trees of arrays: dicts, lists, tuples, named tuples, dataclasses, objects and None, through `optree`.

Leaves come in one order: keys of dicts sorted, fields as declared. None has no leaves. A field of a dataclass with
`metadata={"static": True}` belongs to the structure of the tree, not to its leaves. So do attributes of an object of
another Python class that hold no arrays.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import dataclasses
import re
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import optree

from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.jax_nodes import children_in_jax, is_node_of_jax, parts_in_jax
from xdsl_rlx.static_keys import HEAP_TYPE, Key, Static, attributes_of, is_array_like, is_plain_object, static_key

__all__ = ["Spec", "Tree", "flatten", "map", "names", "paths", "ravel", "unflatten"]

Tree: TypeAlias = Any
"""Nested containers with leaves: a pytree."""

Spec: TypeAlias = optree.PyTreeSpec
"""The structure of a tree without its leaves; trees that differ only in leaves have equal specs."""

_Read: TypeAlias = Callable[[Tree], list[Any] | None]

NAMESPACE = "xdsl_rlx"


def flatten(tree: Tree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Spec]:
    """Return the leaves of a tree, and its spec. A subtree for which `is_leaf` is true is a leaf."""
    if is_leaf is not None and not callable(is_leaf):
        raise GraphTypeError(f"flatten: is_leaf: expected a function or None, got {shown(is_leaf)}")
    while True:
        try:
            leaves, spec = optree.tree_flatten(tree, is_leaf, namespace=NAMESPACE)
        except RecursionError:
            raise GraphTypeError("expected a tree without cycles, nested at most 1000 deep") from None
        one_of = {type(leaf): leaf for leaf in leaves if is_leaf is None or not is_leaf(leaf)}
        unknown = {kind: leaf for kind, leaf in one_of.items() if kind not in _registered and _is_container(leaf)}
        if not unknown:
            return leaves, spec
        for kind, leaf in unknown.items():
            if is_node_of_jax(leaf):
                _register_node_of_jax(kind)
            else:
                _register(kind)


@dataclasses.dataclass(frozen=True, eq=False)
class Structure:
    """The containers of a tree as the key of a program: dicts with the order and the types of their keys."""

    spec: Spec
    orders: tuple[Hashable, ...]

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Structure) and self.orders == other.orders and self.spec == other.spec
        )

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.spec, self.orders))

    @staticmethod
    def of(tree: Tree, spec: Spec) -> Structure:
        """That of a tree with these containers. A function can see the order of a dict; a `Spec` does not have it."""
        return Structure(spec, tuple(_orders(spec, tree)))


def _orders(spec: Spec, tree: Tree) -> Iterator[Hashable]:
    if spec.is_leaf() or not (children := spec.children()):
        return
    kind = spec.type
    if kind in (dict, defaultdict, OrderedDict):
        yield tuple((type(key), key) for key in tree)
        parts = [tree[key] for key in spec.entries()]
    elif kind in _registered:
        parts = _registered[kind](tree)[0]
    else:
        parts = tree
    for child, part in zip(children, parts, strict=True):
        yield from _orders(child, part)


class Flatten:
    """`flatten` with the `Structure`, in a fifth of the time for trees like the last one."""

    def __init__(self) -> None:
        self._last: tuple[_Read, set[type[Any]], Structure] | None = None

    def __reduce__(self) -> tuple[type[Flatten], tuple[()]]:
        return Flatten, ()

    def __call__(self, tree: Tree) -> tuple[list[Any], Structure]:
        """As `flatten`."""
        if (last := self._last) is not None:
            read, kinds, structure = last
            # what was a leaf is no container
            if (leaves := read(tree)) is not None and kinds.issuperset([type(leaf) for leaf in leaves]):
                return leaves, structure
        leaves, spec = flatten(tree)
        structure = Structure.of(tree, spec)
        read = _read(spec, tree)
        self._last = None if read is None else (read, {type(leaf) for leaf in leaves}, structure)
        return leaves, structure


def unflatten(spec: Spec, leaves: Sequence[Any]) -> Tree:
    """
    Return the tree with this spec and these leaves: the inverse of `flatten`.

    Raises GraphError for another number of leaves.
    """
    try:
        return optree.tree_unflatten(spec, leaves)
    except (AttributeError, TypeError, ValueError) as error:
        count = _checked(spec).num_leaves
        if not isinstance(leaves, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphTypeError(f"unflatten: leaves: expected a sequence of {count}, got {shown(leaves)}") from None
        if str(error).startswith(("Too few leaves", "Too many leaves")):
            found = len(leaves) if hasattr(leaves, "__len__") else "fewer" if "few" in str(error) else "more"
            raise GraphError(f"unflatten: leaves: expected {count} for the tree {spec}, got {found}") from None
        raise


@checked
def map(function: Callable[..., Any], tree: Tree, *others: Tree) -> Tree:
    """Return the tree of `function(leaf, ...)` over corresponding leaves of trees of one structure."""
    leaves, spec = flatten(tree)
    rest = [leaves_like(spec, other, "map", "the first tree") for other in others]
    return unflatten(spec, [function(*one) for one in zip(leaves, *rest, strict=True)])


def ravel(tree: Tree) -> tuple[Any, Callable[[Any], Tree]]:
    """
    Return the elements of all leaves as one vector, and the function that makes such a tree of a vector.

    The vector has the common element type of the leaves, as by `np.concatenate`; the function restores the type of
    each leaf. Leaves are arrays, numbers or traced values. Raises GraphError for a vector of another length.
    """
    leaves, spec = flatten(tree)
    arrays = [leaf if hasattr(leaf, "dtype") else np.asarray(leaf) for leaf in leaves]
    shapes = [tuple(one.shape) for one in arrays]
    sizes = [int(np.prod(shape)) for shape in shapes]
    count = sum(sizes)

    def unravel(vector: Any) -> Tree:
        if tuple(np.shape(vector)) != (count,):
            raise GraphError(f"unravel: expected a vector of shape [{count}], got shape {list(np.shape(vector))}")
        parts: list[Any] = []
        start = 0
        for size, shape, one in zip(sizes, shapes, arrays, strict=True):
            part = vector[start : start + size].reshape(shape)
            parts.append(part if str(part.dtype) == str(one.dtype) else part.astype(one.dtype))
            start += size
        return unflatten(spec, parts)

    return (np.concatenate([one.reshape(-1) for one in arrays]) if arrays else np.zeros(0)), unravel


def leaves_like(spec: Spec, tree: Tree, what: str, like: str) -> list[Any]:
    """Return the subtrees of `tree` at the leaves of `spec`; GraphError if `tree` has other containers.

    The message names the tree (`what`) and the one that it is compared with (`like`).
    """
    try:
        return spec.flatten_up_to(tree)
    except ValueError:
        there, here = paths(spec), paths(flatten(tree)[1])
        missing, strange = ([one for one in a if one not in b] for a, b in ((there, here), (here, there)))
        sides = (("lacks", missing), ("has the extra", strange))
        found = [f"{words} {', '.join(some[:3]) or 'leaf'}" for words, some in sides if some]
        differs = " and ".join(found) or "has other containers"
        raise GraphError(f"{what}: expected the tree structure of {like}, got one that {differs}") from None


def paths(spec: Spec) -> list[str]:
    """
    Return the path of each leaf as a Python expression after the name of the tree: `["w"][0]`, `.bias`.

    Raises GraphTypeError unless `spec` is a spec, as `flatten` returns it.
    """
    return [accessor.codify("") for accessor in _checked(spec).accessors()]


def names(spec: Spec, first: str) -> list[str]:
    """
    Return an identifier for each leaf of a tree, beginning with `first`: `params_layers_0_w`.

    Raises GraphTypeError unless `spec` is a spec.
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


def _read(spec: Spec, tree: Tree) -> _Read | None:
    """
    A function that gives the leaves of a tree with the structure of this one, else None: straight-line code.

    None if there are containers that it does not know, or too many.
    """
    lines, leaves = list[str](), list[str]()
    constants: dict[str, Any] = {"Static": Static}
    left = [(spec, tree, "tree")]
    while left:
        one, part, place = left.pop()
        if one.is_leaf():
            leaves.append(place)
            continue
        if len(lines) > _MOST_LINES:
            return None
        found = _read_one(one, part, place, len(lines), constants)
        if found is None:
            return None
        more, children = found
        lines += more
        # the first child comes off first
        left += reversed(children)
    text = ["def read(tree):", *lines, f" return [{', '.join(leaves)}]"]
    exec("\n".join(text), constants)
    return constants["read"]


def _read_one(
    spec: Spec, tree: Tree, place: str, number: int, constants: dict[str, Any]
) -> tuple[list[str], list[tuple[Spec, Tree, str]]] | None:
    """The lines that check one container at `place` and name its children; the children, in order of their leaves."""
    kind, name, children = spec.type, f"t{number}", spec.children()
    head = f" {name} = {place}"
    if kind is type(None):
        return [head, f" if {name} is not None: return None"], []
    if kind is Static:
        constants[f"k{number}"] = tree.key
        return [head, f" if type({name}) is not Static or {name}.key != k{number}: return None"], []
    constants[f"K{number}"] = kind
    check = f" if type({name}) is not K{number}"
    if kind is dict:
        keys = list(tree)
        constants[f"k{number}"], constants[f"y{number}"] = keys, [type(key) for key in keys]
        types = "" if all(type(key) is str for key in keys) else f" or [*map(type, {name})] != y{number}"
        names = {key: f"{name}_{n}" for n, key in enumerate(keys)}
        unpack = [f" [{', '.join(names.values())}] = {name}.values()"] if keys else []
        parts = [(child, tree[key], names[key]) for child, key in zip(children, spec.entries(), strict=True)]
        return [head, f"{check} or [*{name}] != k{number}{types}: return None", *unpack], parts
    if kind is not None and _registered.get(kind) is children_in_jax:
        parts, constants[f"k{number}"] = parts_in_jax(tree)
        constants[f"p{number}"] = parts_in_jax
        lines = [f"{check}: return None", f" {name}, a{number} = p{number}({name})"]
        lines.append(f" if a{number} != k{number} or len({name}) != {len(children)}: return None")
    elif kind in _registered:
        constants[f"p{number}"], constants[f"k{number}"] = _registered[kind], _registered[kind](tree)[1]
        lines = [f"{check}: return None", f" {name}, a{number}, _ = p{number}({name})"]
        lines.append(f" if a{number} != k{number} or len({name}) != {len(children)}: return None")
        parts = [*_registered[kind](tree)[0]]
    elif kind in (tuple, list) or (kind is not None and issubclass(kind, tuple) and hasattr(kind, "_fields")):
        lines, parts = [f"{check} or len({name}) != {len(children)}: return None"], [*tree]
    else:
        return None
    places = [f"{name}[{n}]" for n in range(len(children))]
    return [head, *lines], list(zip(children, parts, places, strict=True))


_MOST_LINES = 10_000

_Parts: TypeAlias = tuple[tuple[Any, ...], Any, tuple[str, ...]]

_registered: dict[type[Any], Callable[[Any], _Parts]] = {}
"""How objects of the classes that optree was told of are decomposed; as in optree, a class stays there."""


class _Rest:
    """What an object has beside its children: attributes that are static, by name. Compares by their keys."""

    __slots__ = ("fixed", "key", "kind", "moving")

    def __init__(self, kind: type[Any], moving: tuple[str, ...], fixed: dict[str, Any]):
        self.kind, self.moving, self.fixed = kind, moving, fixed
        name = kind.__name__
        self.key: Key = (
            moving,
            tuple((key, static_key(x, f"attribute '{key}' of {name}")) for key, x in fixed.items()),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rest) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.fixed.items())


def _is_container(leaf: object) -> bool:
    kind = type(leaf)
    # ndarray comes first: nearly all leaves are
    if kind is np.ndarray or isinstance(leaf, Value):
        return False
    if (dataclasses.is_dataclass(kind) and not is_array_like(leaf)) or is_plain_object(leaf):
        return True
    # an array in a container of JAX, such as a parameter of Flax, can be read as an array itself
    return bool(kind.__flags__ & HEAP_TYPE) and is_array_like(leaf) and is_node_of_jax(leaf)


def _holds_arrays(value: Any) -> bool:
    if isinstance(value, Value) or is_array_like(value):
        return True
    if not isinstance(value, tuple | list | dict) and not is_plain_object(value):
        return False
    return any(isinstance(leaf, Value) or is_array_like(leaf) for leaf in flatten(value)[0])


def _register(kind: type[Any]) -> None:
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    as_declared = {field.name: not field.metadata.get("static") for field in fields}

    def taken_apart(one: Any) -> _Parts:
        return _decomposed(one, as_declared)

    _registered[kind] = taken_apart
    optree.register_pytree_node(kind, taken_apart, _composed, namespace=NAMESPACE, path_entry_type=optree.GetAttrEntry)


def _register_node_of_jax(kind: type[Any]) -> None:
    """Have instances of a class be the nodes that they are for JAX, such as modules of Flax and Equinox."""
    _registered[kind] = children_in_jax
    register: Any = optree.register_pytree_node
    register(kind, children_in_jax, lambda spec, children: spec.unflatten(children), namespace=NAMESPACE)


def _decomposed(one: Any, as_declared: dict[str, bool]) -> _Parts:
    """The attributes of an object that move, and the others; `as_declared` says it of some."""
    every = attributes_of(one)
    ordered = {**{name: getattr(one, name) for name in as_declared}, **every}
    moves = {name: as_declared[name] if name in as_declared else _holds_arrays(x) for name, x in ordered.items()}
    moving = tuple(name for name in ordered if moves[name])
    rest = _Rest(type(one), moving, {name: x for name, x in ordered.items() if not moves[name]})
    return tuple([ordered[name] for name in moving]), rest, moving


def _composed(rest: Any, children: Any) -> Any:
    # not by the constructor: it may check or convert what stands for arrays here
    kind = rest.kind
    one = object.__new__(kind)
    own = getattr(one, "__dict__", None)
    for name, value in (*zip(rest.moving, children, strict=True), *rest.fixed.items()):
        if own is not None and not hasattr(getattr(kind, name, None), "__set__"):
            own[name] = value
        else:
            object.__setattr__(one, name, value)
    return one


class Instance:
    """
    The object of a method that is a dataclass, as a node of a tree: only its arrays are leaves.

    As an argument, a dataclass has numbers as leaves; a method may count with them. The inverse gives the object.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


def instance_of(value: Any) -> Any:
    """The object of a method as a tree."""
    return Instance(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value


_registered[Instance] = lambda one: _decomposed(one.value, {})
optree.register_pytree_node(
    Instance,  # pyright: ignore[reportArgumentType]
    _registered[Instance],
    _composed,
    namespace=NAMESPACE,
    path_entry_type=optree.GetAttrEntry,
)


def register_node(kind: type[Any], taken_apart: Callable[[Any], _Parts], made: Callable[[Any, Any], Any]) -> None:
    """Have instances of a class be nodes: `taken_apart` gives children, what is static, and the children's names."""
    _registered[kind] = taken_apart
    optree.register_pytree_node(kind, taken_apart, made, namespace=NAMESPACE, path_entry_type=optree.GetAttrEntry)


def register_leafless(kind: type[Any], same: Callable[[Any], Any]) -> None:
    """Have instances of a class be nodes without leaves, which compare by what `same` makes of them."""
    register: Any = optree.register_pytree_node
    entries = optree.SequenceEntry
    register(kind, lambda one: ((), same(one), ()), lambda one, _: one, namespace=NAMESPACE, path_entry_type=entries)


register_leafless(Static, lambda one: one)
