"""All that is read of jax beyond its public names: places of equations, names, rules, the memory of arrays."""

# Objects of jax, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from xdsl_rlx.dialects.arrays import READERS


def location(eqn: Any, *around: Any) -> str:
    """
    Return the place in the user's source that an equation is from: file, line and function.

    An equation of a function of JAX's own library is from where that is called, by one of the equations `around` it.
    """
    try:
        summarize: Any = import_module("jax._src.source_info_util").summarize
    except ImportError:
        return "an unknown location"
    for one in (eqn, *reversed(around)):
        if text := str(summarize(one.source_info)):
            return text.replace(" (", ", in ").removesuffix(")")
    return "an unknown location"


def scope(eqn: Any) -> str:
    """Return the names that `jax.named_scope` gives to an equation, such as `block/attention`; empty if none."""
    stack = getattr(getattr(eqn, "source_info", None), "name_stack", None)
    return "" if stack is None else str(stack)


def name_of_custom(eqn: Any) -> str:
    """Return the name of a function with a derivative rule of its own, such as `relu`, and the kind of the rule."""
    kind = str(eqn.primitive.name).removesuffix("_call")
    debug = getattr(getattr(eqn.params.get("call_jaxpr"), "jaxpr", None), "debug_info", None)
    name = str(getattr(debug, "func_name", "") or "")
    return f"{name} ({kind})" if name else kind


def has_jvp(primitive: Any) -> bool:
    """Return whether a primitive has a derivative rule."""
    return primitive in import_module("jax._src.interpreters.ad").primitive_jvps


def generator(name_or_aval: Any) -> Any:
    """Return the functions of a generator of random numbers, by its name or by an abstract value of its keys."""
    implementation = getattr(getattr(name_or_aval, "dtype", None), "_impl", None)
    return implementation or import_module("jax._src.random.prng").prngs[str(name_or_aval)]


def gamma_samples(key: Any, alpha: Any, log_space: bool) -> Any:
    """JAX's sampler of gamma variates, of which `random_gamma` is the primitive."""
    sampler: Any = import_module("jax._src.random.core")._gamma_impl
    return sampler(key, alpha, log_space=log_space, use_vmap=True)


@lru_cache(maxsize=1)
def read_arrays_at_once() -> None:
    """Have arrays and random keys of JAX be read without the questions that are put to arrays of any library."""
    import jax

    READERS[type(jax.numpy.zeros(()))] = np.asarray
    key = jax.random.key(0)
    if hasattr(key, "_base_array"):
        READERS[type(key)] = lambda x: np.asarray(x._base_array)
