"""xdsl-rlx: a tensor compiler for training on CPUs. All is imported when a name is first used."""

import sys
import threading
from functools import cache
from importlib import import_module

from xdsl_rlx.collector import paused_collector

# at once: a fork waits for threads that import the rest of the package
from xdsl_rlx.forks import at_fork

__version__ = "0.2.0"

with open(f"{__file__}i", encoding="utf-8") as _stub:
    _HOMES = {words[3]: words[1] for words in map(str.split, _stub) if words[4:5] == ["as"]}
"""The module of each public name, as the stub has it: `from module import name as name`."""

__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]

_ON_DEMAND = ("xdsl_rlx.exporting", "xdsl_rlx.frontends.")
"""Front ends and exports are imported when they are asked for: most programs need none."""

_ELSEWHERE = {
    "block_until_ready": "the results of a call, which are computed when it returns",
    "checkpoint": "rlx.remat to compute again in a gradient, rlx.save and rlx.load for files",
    "device_put": "NumPy arrays: there is one device",
    "disable_jit": "rlx.eager",
    "jacobian": "rlx.jacrev or rlx.jacfwd",
    "jit": "rlx.compile",
    "lax": "rlx itself, which has scan, cond, while_loop and others of jax.lax",
    "make_jaxpr": "rlx.trace, or rlx.inspect for the stages of the compiler",
    "numpy": "NumPy's functions, whose calls on traced values are traced",
    "pmap": "rlx.vmap in rlx.compile, which runs on several threads",
    "tree_map": "rlx.tree.map",
    "tree_util": "rlx.tree",
}
"""What takes the place of names that users of JAX look for."""

_LATE = (
    "xdsl_rlx.frontends.numpy.functions",
    "xdsl_rlx.frontends.shared.needed",
    "xdsl_rlx.lowering.backend.runtime.launch_times",
)
"""
What functions import when they are called, beside the homes, and beside the emitters. Those are left to who compiles,
since a program of the cache needs none: their package imports nothing, so no two threads wait for each other there.
"""

_importing = threading.RLock()
at_fork.hold(_importing)


@cache
def _import_all() -> None:
    """
    Import what any use may need, with the lock `_importing`.

    Python's import has a lock for each module. A thread that imports `p.m` has that of `p.m` and waits for that of `p`,
    and one that imports `p` has that and waits for `p.m` if `p` needs it: two threads that begin with this package at
    the same time would each wait for the other, which Python raises as a deadlock.
    """
    homes = dict.fromkeys(home for home in _HOMES.values() if home != __name__ and not home.startswith(_ON_DEMAND))
    with paused_collector():
        for name in (*homes, *_LATE):
            import_module(name)


def __getattr__(name: str) -> object:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _importing:
        _import_all()
        home = _HOMES.get(name)
        if home == __name__:
            return import_module(f"{home}.{name}")
        if home is not None:
            value = getattr(import_module(home), name)
            if not home.startswith(_ON_DEMAND):
                globals()[name] = value
            return value
    ops = import_module("xdsl_rlx.op_functions")
    if name in ops.names():
        return ops.function(name)
    hint = f"; use {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    with _importing:
        _import_all()
    ops = import_module("xdsl_rlx.op_functions").names()
    own = {name for name in globals() if name.startswith("__") and name not in ("__getattr__", "__dir__")}
    return sorted({*own, *__all__, *ops})
