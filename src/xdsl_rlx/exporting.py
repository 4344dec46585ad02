"""`rlx.export` and `rlx.load_export`: compiled programs as shared libraries with a C interface."""

from __future__ import annotations

import os
from pathlib import Path

from xdsl_rlx.checkpoint_files import checked_path, save
from xdsl_rlx.compiled_function import CompiledFunction, only_graph
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.lowering.backend.driver.process import thread_count
from xdsl_rlx.lowering.backend.export.loaded import ExportedProgram
from xdsl_rlx.lowering.backend.export.write_library import write_library
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph

__all__ = ["ExportedProgram", "export", "load_export"]


def export(
    compiled: CompiledGraph | CompiledFunction,
    path: str | os.PathLike[str],
    *,
    target: str | None = None,
    embed_weights: bool = True,
    cc: str | None = None,
    bundle_blas: bool = True,
) -> Path:
    """
    Write a compiled program as a library for C: `path.so`, the header `path.h` and the description `path.json`.

    The library holds the machine code, what runs it, and the values of params; it needs neither Python nor LLVM. With
    `embed_weights=False` the values are written to `path.safetensors`, which `load_params` reads. The name of `path` is
    the beginning of all C names. A compiled function must have been called with arguments of one signature; else pass
    `f.compiled(*args)`.

    `target` is the processor: by default the one that the program was compiled for, else "native", a level such as
    "x86-64-v3", or "aarch64" with a compiler `cc` for it. `cc` is the command of a C compiler, by default `$CC` or
    `cc`. A program that calls BLAS or LAPACK has the OpenBLAS of this process copied to the folder `path.libs`. With
    `bundle_blas=False`, or without that folder, an instance looks for OpenBLAS, MKL and LAPACK by their usual names;
    `$RLX_BLAS_LIBRARY` names another. The number of threads is at most that of the compiled program.

    Returns the path of the library. Raises GraphError for a program that prints or has several signatures,
    ConfigurationError for an unknown target and without a C compiler, and OSError if the folder cannot be written.
    """
    if isinstance(compiled, CompiledFunction):
        compiled = only_graph(compiled)
    if not isinstance(compiled, CompiledGraph):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphTypeError(
            f"export takes a compiled graph or function, got {type(compiled).__name__}; use rlx.compile"
        )
    if not isinstance(path, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphTypeError(f"export: path must be a path, got {type(path).__name__}")
    place = Path(path)
    if not place.name or place.suffix in (".so", ".h", ".json"):
        raise GraphError(f"export: path must be a name without ending, such as 'out/step', got {str(path)!r}")
    embedded = {name: compiled.weights[name] for name in compiled.params if name in compiled.weights}
    weights = None
    if not embed_weights and embedded:
        weights = place.with_name(place.name + ".safetensors")
        save(weights, embedded)
    return write_library(compiled, place, target, embedded if embed_weights else {}, weights, cc, bundle_blas)


def load_export(path: str | os.PathLike[str], threads: int | None = None) -> ExportedProgram:
    """
    Load a program that `export` wrote: `path` is as there, or the path of one of its files.

    `threads` is the maximum number of threads of a call, as for `compile`, and at most that of the export. Raises
    RlxError for files that are damaged, of another version, or for another processor.
    """
    place = Path(checked_path("load_export", path))
    base = place.with_suffix("") if place.suffix in (".so", ".h", ".json") else place
    return ExportedProgram(base.with_name(base.name + ".json"), thread_count(threads))
