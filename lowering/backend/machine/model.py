"""The cost model of the processor that code is compiled for: registers, caches of this machine, a table of costs."""

from __future__ import annotations

import os
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path

from xdsl_rlx.lowering.backend.machine import cpu, llvm
from xdsl_rlx.lowering.pass_costs import with_costs
from xdsl_rlx.lowering.run_errors import ConfigurationError
from xdsl_rlx.lowering.target import COMMON, NAMES, Caches, CostModel

VARIABLE = "XDSL_RLX_COSTS"

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
"""Where Linux describes the caches of a core."""

_SUFFIXES = {"K": 1 << 10, "M": 1 << 20}


def cost_model() -> CostModel:
    """
    Return the model of the processor that `XDSL_RLX_CPU` names, by default of this machine.

    Caches are those of this machine if code is compiled for it alone, and common ones for a processor that is named.
    `XDSL_RLX_COSTS` names a table of other fields. Raises `ConfigurationError` as `llvm.target` does, and for a table
    that cannot be read.
    """
    model, path = model_of(llvm.target()), os.environ.get(VARIABLE)
    if not path:
        return model
    table = _table(Path(path))
    try:
        return replace(model, **table)
    except ValueError as error:
        raise ConfigurationError(f"{VARIABLE}: {path}: {error}") from error


def model_key() -> str:
    """Return the fields of the model that are not those of a common processor, as text for keys of caches."""
    model = cost_model()
    own = {name: getattr(model, name) for name in NAMES}
    return " ".join(f"{name}={value}" for name, value in own.items() if value != getattr(COMMON, name))


@cache
def model_of(target: tuple[str, str]) -> CostModel:
    """Return the model of a processor given by name and feature string."""
    model = with_costs(CostModel, cpu.target_of(target))
    return replace(model, **vars(host_caches(_CACHES))) if cpu.is_host(target) else model


def host_caches(folder: Path) -> Caches:
    """Return the caches that the files of a folder describe, and common sizes where there are none."""
    found = Caches()
    for index in sorted(folder.glob("index*")):
        try:
            level, kind = ((index / name).read_text().strip() for name in ("level", "type"))
            size = _bytes((index / "size").read_text().strip())
            if level == "1" and kind == "Data":
                line = int((index / "coherency_line_size").read_text())
                found = replace(found, l1_bytes=size, line_bytes=line)
            elif level == "2" and kind != "Instruction":
                found = replace(found, l2_bytes=size)
        except (OSError, ValueError):
            # not told, or 0, as some virtual machines say
            continue
    return found


def _table(path: Path) -> dict[str, float]:
    """Return the fields of a TOML file."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{VARIABLE}: expected a TOML file of costs, got {str(path)!r}: {error}") from error
    for name, value in found.items():
        if name not in NAMES:
            raise ConfigurationError(f"{VARIABLE}: {path} has {name!r}, which is not a field of the cost model")
        default: object = getattr(COMMON, name)
        kind = type(default)
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise ConfigurationError(f"{VARIABLE}: {path}: expected {kind.__name__} for {name!r}, got {value!r}")
    return found


def _bytes(size: str) -> int:
    """Return a size such as 32K as a number."""
    return int(size[:-1]) * _SUFFIXES[size[-1]] if size[-1:] in _SUFFIXES else int(size)
