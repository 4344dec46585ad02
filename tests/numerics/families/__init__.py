"""One file per op family, named as the file of its ops: its `SAMPLES`, what its ops mean in NumPy (`ORACLE`) and in
JAX (`JAX`). A file is found by being here."""

import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from numerics.sample import Sample
from xdsl.ir import Operation

FAMILIES: dict[str, ModuleType] = {
    info.name: import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)
}


def family_of(op: type[Operation]) -> str:
    """The name of an op's family: its file, or the plugin that it is of."""
    *_, package, file = op.__module__.split(".")
    return package if ".plugins." in op.__module__ else file


def _samples(own: bool) -> Iterator[Sample]:
    for name, module in FAMILIES.items():
        yield from (sample for sample in module.SAMPLES if (family_of(sample.op) == name) is own)


SAMPLES: tuple[Sample, ...] = (*_samples(own=True), *_samples(own=False))
"""Those in the files of their ops come first: the first sample of an op is one of them."""

ORACLE: dict[type[Operation], Callable[..., Any]] = {
    op: row for module in FAMILIES.values() for op, row in module.ORACLE.items()
}
JAX: dict[type[Operation], Callable[..., Any]] = {
    op: row for module in FAMILIES.values() for op, row in module.JAX.items()
}
