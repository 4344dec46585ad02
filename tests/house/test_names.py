"""docs/howto/names.md and from-rlx.md: each function of JAX has a counterpart that exists, or a reason for none."""

import inspect
import sys
from importlib import import_module
from pathlib import Path
from types import GenericAlias, ModuleType

import jax
import pytest

import xdsl_rlx as rlx

sys.path.append(str(Path(__file__).parents[2] / "docs"))
from names_page import counts, unknown_of_rlx, unresolved
from names_table import JAX_VERSION, NAMES, TORCH, Missing

EVERY = [(module, name, target) for module, names in NAMES.items() for name, target in names.items()]


def functions(module: ModuleType) -> set[str]:
    """The public functions of a module of JAX: no primitives, classes, or names for types."""
    return {
        name
        for name, one in vars(module).items()
        if not name.startswith("_")
        and not name.endswith("_p")
        and callable(one)
        and not inspect.isclass(one)
        and not isinstance(one, GenericAlias)
        and type(one).__module__ != "typing"
    }


@pytest.mark.parametrize("module", [module for module in NAMES if module.startswith("jax")])
def test_each_function_of_jax_is_in_the_table(module: str) -> None:
    found, table = functions(import_module(module)), set(NAMES[module])
    if jax.__version__ == JAX_VERSION:
        assert sorted(found - table) == [] == sorted(table - found)
    else:
        # another version has other functions, but few
        assert len(found ^ table) < 0.2 * len(table)


def test_each_counterpart_exists() -> None:
    wrong = [f"{module}.{name}: {one}" for module, name, target in EVERY for one in unresolved(target)]
    assert wrong == []
    assert sorted(TORCH.keys() - {target for _, _, target in EVERY}) == []
    assert all(target.strip() for _, _, target in EVERY)


NAMESAKES = ("jax.scipy.special.bernoulli", "jax.scipy.special.loggamma")
"""Other functions than those of `rlx.random` with these names."""


def public_names() -> dict[str, str]:
    """The public functions of `rlx` and its modules by the last part of their names."""
    found = {one: f"rlx.{one}" for one in rlx.__all__}
    for name in rlx.__all__:
        module = getattr(rlx, name)
        if inspect.ismodule(module):
            found |= {one: f"rlx.{name}.{one}" for one in getattr(module, "__all__", ())}
    return found


def test_no_name_that_exists_here_is_listed_as_missing() -> None:
    ours = public_names()
    assert len(ours) > 300
    assert [
        f"{module}.{name}: {ours[name]}"
        for module, name, target in EVERY
        if isinstance(target, Missing) and name in ours and f"{module}.{name}" not in NAMESAKES
    ] == []


def test_most_functions_have_a_counterpart() -> None:
    found = counts()
    print(*(f"{module}: {some} of {every}" for module, (every, some) in found.items()), sep="\n")
    assert sum(isinstance(target, Missing) for _, _, target in EVERY) == sum(a - b for a, b in found.values())
    for module, (every, some) in found.items():
        assert some > (0.7 if module == "jax.lax" else 0.75) * every, module


def test_each_counterpart_of_a_name_of_rlx_exists() -> None:
    assert unknown_of_rlx() == []
