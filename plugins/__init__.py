"""
`Plugin`, and the search for packages of ops. The folders beside this file are such packages.

An entry point of the group `xdsl_rlx.custom_ops` names a `Plugin` (`acme:PLUGIN`), or a module whose import registers
ops by `rlx.custom_op` (`acme.ops`). Plugins of this package and of others register alike, and no other module names
one. This module imports nothing of the compiler, since plugins import it for `Plugin`.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Literal, TypeAlias

GROUP = "xdsl_rlx.custom_ops"
"""The group of entry points."""

Part: TypeAlias = Literal["ops", "rules", "loops", "kernels", "passes", "before_ad", "custom"]
"""A field of `Plugin`."""


@dataclass(frozen=True)
class Plugin:
    """
    The modules of a package of ops, by name; each is imported when the part of the compiler that it extends is.

    They import modules of the compiler, such as `xdsl_rlx.dialects.mir.core`, not public names of `xdsl_rlx`, which
    import all plugins. The module of the `Plugin` itself imports neither: it is imported at each start of `xdsl-opt`.
    """

    ops: tuple[str, ...] = ()
    """Define ops and attributes named `mir.*`, and builder methods, in subclasses of `BuilderCore`."""

    rules: tuple[str, ...] = ()
    """Add rows to the tables of `xdsl_rlx.transforms.rules`: derivatives, batching, definitions, kinds."""

    loops: tuple[str, ...] = ()
    """
    Add rows to the tables of `xdsl_rlx.lowering.fusion.analysis.loop_tables`, and to `NORMALIZE` of
    `xdsl_rlx.lowering.prepare.normal_forms`.
    """

    kernels: tuple[str, ...] = ()
    """Add rows to the table `NEST` of `xdsl_rlx.lowering.kernels.work`."""

    passes: tuple[str, ...] = ()
    """Have a pass each: `acme.mir_fuse_blur` has the class `MirFuseBlurPass` of the pass `mir-fuse-blur`."""

    before_ad: tuple[str, ...] = ()
    """Those of `passes` that `mir-prepare-for-ad` runs before it decomposes ops. Each has a `RewritingPass`."""

    schemes: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """
    Packings of weights in blocks that hold their own scales: elements and bytes of a block, by the name of the scheme.

    A module of `kernels` adds the decoder of a block to `BLOCKS` of `xdsl_rlx.lowering.kernels.quant_decode`.
    """

    custom: tuple[str, ...] = ()
    """Register ops by `rlx.custom_op`; imported when a program uses a custom op that is not registered yet."""


@dataclass(frozen=True)
class _Registered:
    """A plugin, and the entry point that names it."""

    entry: importlib.metadata.EntryPoint
    plugin: Plugin
    release: str
    """Name and version of the distribution that it is from."""


@cache
def _registered() -> tuple[_Registered, ...]:
    """All plugins, by the names of their entry points. Two of one distribution: the one found first on the path."""
    found: list[_Registered] = []
    seen: set[str] = set()
    for distribution in importlib.metadata.distributions():
        # reading the text of all takes 4 ms, where `entry_points` parses it for 15 ms
        text = distribution.read_text("entry_points.txt")
        if text and GROUP in text and (name := distribution.metadata["Name"]) not in seen:
            seen.add(name)
            release = f"{name} {distribution.version}"
            entries = distribution.entry_points.select(group=GROUP)
            found += [_Registered(entry, _plugin_of(entry), release) for entry in entries]
    return tuple(sorted(found, key=lambda one: (one.entry.name, one.entry.value)))


def _plugin_of(entry: importlib.metadata.EntryPoint) -> Plugin:
    if not entry.attr:
        return Plugin(custom=(entry.module,))
    try:
        plugin = entry.load()
    except (ImportError, AttributeError) as error:
        error.add_note(f"while loading the entry point {entry.name} = {entry.value} of {GROUP}")
        raise
    if not isinstance(plugin, Plugin):
        raise TypeError(
            f"entry point {entry.name} = {entry.value} of {GROUP}: expected a module or a Plugin, got {plugin!r}"
        )
    return plugin


def names(part: Part) -> list[str]:
    """The names of the modules that plugins have for a part, in the order of the entry points."""
    return [name for one in _registered() for name in getattr(one.plugin, part)]


def modules(part: Part) -> list[ModuleType]:
    """The modules that plugins have for a part, imported."""
    return [import_module(name) for name in names(part)]


def schemes() -> dict[str, tuple[int, int]]:
    """Elements and bytes of a block, for each scheme of a plugin."""
    return {name: block for one in _registered() for name, block in one.plugin.schemes.items()}


def sources() -> list[tuple[str, list[str]]]:
    """
    The name and release of each `Plugin` of another package, and the files and folders of its modules.

    Ops that are registered by `rlx.custom_op` have cache keys of their own.
    """
    found: list[tuple[str, list[str]]] = []
    for one in _registered():
        if one.entry.attr and not one.entry.module.startswith(f"{__name__}."):
            parts = (one.plugin.ops, one.plugin.rules, one.plugin.loops, one.plugin.kernels, one.plugin.passes)
            every = (one.entry.module, *(name for part in parts for name in part))
            found.append((f"{one.entry.value} of {one.release}", _outermost(map(_source, every))))
    return found


def _source(module: str) -> str:
    """The folder of a module in a package, which also has what it imports from beside it; else its file."""
    spec = find_spec(module)
    path = "" if spec is None else spec.origin or next(iter(spec.submodule_search_locations or ()), "")
    return os.path.dirname(path) if path.endswith(".py") and (spec is not None and spec.parent) else path


def _outermost(paths: Iterable[str]) -> list[str]:
    every = sorted({path for path in paths if path})
    return [path for path in every if not any(path.startswith(f"{other}{os.sep}") for other in every)]
