"""The cost model of the processor that code is compiled for: its registers, and the caches of this machine."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from pathlib import Path

from xdsl_rlx.lowering.numba.machine import cpu, llvm
from xdsl_rlx.lowering.target import COMMON, Caches, CostModel, with_costs

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
"""Where Linux describes the caches of a core."""

_SUFFIXES = {"K": 1 << 10, "M": 1 << 20}


def cost_model() -> CostModel:
    """
    Return the model of the processor that `XDSL_RLX_CPU` names, by default of this machine.

    Caches are those of this machine if code is compiled for it alone, and common ones for a processor that is named.
    Raises `ConfigurationError` as `llvm.target` does.
    """
    return model_of(llvm.target())


def model_key() -> str:
    """Return the fields of the model that are not those of a common processor, as text for keys of caches."""
    model = cost_model()
    own = {field.name: getattr(model, field.name) for field in fields(model)}
    return " ".join(f"{name}={value}" for name, value in own.items() if value != getattr(COMMON, name))


@cache
def model_of(target: tuple[str, str]) -> CostModel:
    """Return the model of a processor given by name and feature string."""
    model = with_costs(CostModel, cpu.target_of(target))
    is_native = bool(target[1])
    return replace(model, **vars(host_caches(_CACHES))) if is_native else model


def host_caches(folder: Path) -> Caches:
    """Return the caches that the files of a folder describe, and common sizes where there are none."""
    found = Caches()
    for index in sorted(folder.glob("index*")):
        try:
            level, kind, size, line, ways = (
                (index / name).read_text().strip()
                for name in ("level", "type", "size", "coherency_line_size", "ways_of_associativity")
            )
            size = _bytes(size)
        except (OSError, ValueError):
            continue
        if level == "1" and kind == "Data" and size and int(line) and int(ways):
            found = replace(found, l1_bytes=size, line_bytes=int(line), l1_ways=int(ways))
        elif level == "2" and kind != "Instruction" and size:
            found = replace(found, l2_bytes=size)
    return found


def _bytes(size: str) -> int:
    """Return a size such as 32K as a number."""
    return int(size[:-1]) * _SUFFIXES[size[-1]] if size[-1:] in _SUFFIXES else int(size)
