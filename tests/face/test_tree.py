"""Trees flattened like the last one: the same leaves and containers as always, whatever comes next."""

from __future__ import annotations

import copy
import pickle
import random
import subprocess
import sys
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.tree import Flatten, Structure, flatten

ARRAY = np.zeros(2, np.float32)


class Pair(NamedTuple):
    first: Any
    second: Any


def drawn(rng: random.Random, depth: int) -> Any:
    """A tree of all kinds of containers, whose keys come in any order."""
    kind = rng.randrange(8 if depth else 3)
    children = [drawn(rng, depth - 1) for _ in range(rng.randrange(4))] if kind > 2 else []
    keys = rng.sample(["a", "b", "c", "it's", 'a "b"\n'], len(children))
    match kind:
        case 0 | 1:
            return rng.choice([ARRAY, np.float32(1), 2, "relu", 1.5])
        case 2:
            return None
        case 3 | 4:
            return dict(zip(keys, children, strict=True))
        case 5:
            return children
        case 6:
            return tuple(children)
        case _:
            return rng.choice([Pair(children, 1), OrderedDict(zip(keys, children, strict=True))])


def same(tree: Any, kept: Flatten) -> None:
    """`kept` finds in a tree what `flatten` does."""
    leaves, spec = flatten(tree)
    found, found_spec = kept(tree)
    assert found_spec == Structure.of(tree, spec) and found_spec.spec == spec and len(found) == len(leaves)
    assert all(a is b for a, b in zip(found, leaves, strict=True))


@pytest.mark.parametrize("seed", range(200))
def test_any_tree_after_any_other(seed: int):
    rng = random.Random(seed)
    kept = Flatten()
    trees = [drawn(rng, 3) for _ in range(3)]
    for tree in rng.choices(trees, k=8):
        same(tree, kept)


BASE = {"w": [ARRAY, (ARRAY, None)], "b": {"x": ARRAY}}


@pytest.mark.parametrize(
    "other",
    [
        {"w": [ARRAY, (ARRAY, None)], "b": {"x": [ARRAY]}},
        {"w": [ARRAY, (ARRAY, None)], "b": {"x": None}},
        {"w": [ARRAY, (ARRAY, ARRAY)], "b": {"x": ARRAY}},
        {"w": [ARRAY, (ARRAY, None)], "b": {"y": ARRAY}},
        {"w": [ARRAY, (ARRAY, None)], "b": {"x": ARRAY, "y": ARRAY}},
        {"w": [ARRAY, (ARRAY, None)], "b": {}},
        {"w": [ARRAY, [ARRAY, None]], "b": {"x": ARRAY}},
        {"w": [ARRAY, Pair(ARRAY, None)], "b": {"x": ARRAY}},
        OrderedDict(b={"x": ARRAY}, w=[ARRAY, (ARRAY, None)]),
        {"b": {"x": ARRAY}, "w": [ARRAY, (ARRAY, None)]},
        ARRAY,
        None,
        [],
    ],
)
def test_a_tree_that_is_nearly_the_last_one(other: Any):
    kept = Flatten()
    same(BASE, kept)
    same(other, kept)
    same(BASE, kept)


def test_deep_and_wide_trees():
    deep: Any = ARRAY
    for _ in range(400):
        deep = [deep]
    wide = {f"layer{n}": {"w": ARRAY, "b": ARRAY} for n in range(6000)}
    for tree in (deep, wide, [[] for _ in range(11_000)]):
        kept = Flatten()
        for _ in range(2):
            same(tree, kept)


@rlx.compile
def doubled(tree: Any) -> Any:
    return rlx.tree.map(lambda x: x * 2, tree)


def test_compiled_functions_tell_trees_apart_and_can_be_copied():
    one, other = {"a": ARRAY + 1, "b": ARRAY + 2}, {"a": (ARRAY + 1,), "b": ARRAY + 2}
    for tree in (one, one, other, one, other):
        for function in (doubled, copy.deepcopy(doubled)):
            found = function(tree)
            np.testing.assert_array_equal(flatten(found)[0], [leaf * 2 for leaf in flatten(tree)[0]])
            assert flatten(found)[1] == flatten(tree)[1]
    kept = pickle.loads(pickle.dumps(Flatten()))
    same(BASE, kept)


def test_the_module_of_compiled_functions_may_be_imported_first():
    subprocess.run([sys.executable, "-c", "import xdsl_rlx.compiled_function"], check=True)


def test_names_of_jax_are_told_what_takes_their_place() -> None:
    for name, place in (("jit", "rlx.compile"), ("checkpoint", "rlx.remat"), ("lax", "rlx itself")):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; use {place}"):
            getattr(rlx, name)
    with pytest.raises(AttributeError, match=r"no attribute 'compil'$"):
        getattr(rlx, "compil")  # noqa: B009
