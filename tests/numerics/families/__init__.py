"""One file per op family: its `SAMPLES`, what its ops mean in NumPy (`ORACLE`) and in JAX (`JAX`).
A file is found by being here."""

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Any

from numerics.sample import Sample
from xdsl.ir import Operation

_MODULES = [import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]

SAMPLES: tuple[Sample, ...] = tuple(sample for module in _MODULES for sample in module.SAMPLES)
ORACLE: dict[type[Operation], Callable[..., Any]] = {
    op: row for module in _MODULES for op, row in module.ORACLE.items()
}
JAX: dict[type[Operation], Callable[..., Any]] = {op: row for module in _MODULES for op, row in module.JAX.items()}
