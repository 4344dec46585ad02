"""Writes a compiled program as a shared library, a C header and a description, with the C compiler of the system."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from xdsl_rlx.lowering.backend.driver import scheduler
from xdsl_rlx.lowering.backend.driver.manifest import Program, TensorSpec
from xdsl_rlx.lowering.backend.driver.words import llvm_text
from xdsl_rlx.lowering.backend.export.c_source import Exported, header, identifier, source
from xdsl_rlx.lowering.backend.llvm.llvm_module import by_effort, library_calls, library_llvm
from xdsl_rlx.lowering.backend.machine import blas_library, cpu, llvm
from xdsl_rlx.lowering.backend.machine.blas_library import FUNCTIONS
from xdsl_rlx.lowering.backend.machine.model import model_of
from xdsl_rlx.lowering.backend.runtime.build_program import build_program
from xdsl_rlx.lowering.backend.runtime.compile_module import Backend, lower_to_lir
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph
from xdsl_rlx.lowering.kernel_library.calls import function_of
from xdsl_rlx.lowering.kernel_library.tile_registers import RegisterBlockFunction
from xdsl_rlx.lowering.kernel_pass import kernels_of
from xdsl_rlx.lowering.pipelines import checks_bounds
from xdsl_rlx.lowering.run_errors import CompileError, ConfigurationError, RlxError

FORMAT = 1
"""The version of the description and of the C interface."""

_BLAS_ENTRY = re.compile(r"getelementptr inbounds ptr, ptr %blas, i64 (\d+)")

_CHECKED_FEATURES = (
    *("sse4.2", "popcnt", "avx", "f16c", "fma", "bmi", "avx2", "bmi2"),
    *("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512bf16", "avx512vnni"),
)
"""What a library asks a processor for, of the features that LLVM names."""

_TILE_FEATURES = ("amx-tile", "amx-bf16", "amx-int8")
"""The same of a library with matmuls in tile registers."""

_FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-fno-math-errno", "-Wl,-z,noexecstack", "-Wl,--no-undefined")


def write_library(
    compiled: CompiledGraph,
    path: Path,
    target: str | None,
    embedded: Mapping[str, np.ndarray[Any, Any]],
    weights: Path | None,
    compiler: str | None,
    bundle_blas: bool,
) -> Path:
    """
    Write `path` with the endings .so, .h and .json; gives the first.

    `target` is as for `cpu.named`. The values `embedded` become part of the library; others are in the file `weights`.
    Raises RlxError for a program that prints or that has no IR, ConfigurationError for a target that is unknown and
    without a C compiler, CompileError for code that the compiler rejects.
    """
    code_target = llvm.native_target() if target is None else llvm.named_target(target)
    module, threads = _lowered(compiled, target, code_target), compiled.threads
    program = build_program(module)
    if program.prints:
        raise RlxError(f"graph {program.name!r} prints, which a library cannot; export it without rlx.debug.print")
    texts = list(Backend(compiled.origin.backend).texts(module, iter(kernels_of(module))))
    called = dict.fromkeys(name for text in texts for name in library_calls(text))
    library = {effort: library_llvm(names, model_of(code_target.cpu)) for effort, names in by_effort(called).items()}
    driver = llvm_text((scheduler,), ("rlx_run", "rlx_work"), code_target.processor)
    objects = [llvm.shared_object(text, code_target, llvm.Effort(compiled.origin.effort)) for text in texts]
    objects += [llvm.shared_object(text, code_target, effort) for effort, text in library.items()]
    objects.append(llvm.shared_object(driver, code_target, llvm.Effort.DIRECT))
    functions = sorted({int(found) for text in texts for found in _BLAS_ENTRY.findall(text)})
    # another processor runs no library of this one
    is_own = code_target.processor == llvm.processor()
    bundled = blas_library.provider().path if functions and bundle_blas and is_own else None
    libs = path.with_name(f"{path.name}.libs")
    exported = Exported(
        identifier(path.name),
        program,
        threads,
        embedded,
        functions,
        _features(code_target.cpu, called),
        f"{libs.name}/{bundled.name}" if bundled else "",
        _version(objects, program, embedded),
    )
    places = [path.with_name(path.name + ending) for ending in (".so", ".h", ".json")]
    description = _description(exported, code_target, places[0])
    if weights is not None:
        description["weights"] = weights.name
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as name:
        folder = Path(name)
        _link(exported, objects, folder, places[0].name, compiler)
        description["bytes"] = (folder / places[0].name).stat().st_size
        (folder / places[1].name).write_text(header(exported), encoding="utf-8")
        (folder / places[2].name).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
        if bundled:
            _bundle(blas_library.with_needed(bundled), libs)
        for place in places:
            os.replace(folder / place.name, place)
    return places[0]


def _bundle(libraries: Sequence[Path], folder: Path) -> None:
    """Copy libraries into a folder, each in one step, unless they are there."""
    folder.mkdir(exist_ok=True)
    for library in libraries:
        place = folder / library.name
        if place.exists() and place.stat().st_size == library.stat().st_size:
            continue
        with tempfile.TemporaryDirectory(dir=folder) as new:
            os.replace(shutil.copy(library, new), place)


def _version(objects: Sequence[bytes], program: Program, embedded: Mapping[str, np.ndarray[Any, Any]]) -> str:
    """A digest of all that a library holds."""
    digest = hashlib.sha256(repr((program, sorted(embedded))).encode())
    for part in (*objects, *(embedded[name].tobytes() for name in sorted(embedded))):
        digest.update(part)
    return digest.hexdigest()[:32]


def _features(target: tuple[str, str], called: Iterable[str]) -> list[str]:
    """The features that a library for a processor asks for, by the functions that it calls."""
    found = [one for one in _CHECKED_FEATURES if one in cpu.features_of(*target)]
    has_tiles = any(isinstance(function_of(name), RegisterBlockFunction) for name in called)
    return [*found, *_TILE_FEATURES] if has_tiles else found


def _lowered(compiled: CompiledGraph, target: str | None, code_target: llvm.CodeTarget) -> ModuleOp:
    """The lir module to export: that of the program itself, or the same graph lowered for another processor."""
    origin = compiled.origin
    if target is None:
        return origin.lowered()
    return lower_to_lir(origin.module(), compiled.threads, origin.checked or checks_bounds(), model_of(code_target.cpu))


def _link(exported: Exported, objects: Sequence[bytes], folder: Path, library: str, compiler: str | None) -> None:
    """Write the file `library`, which programs will know by that name, to the folder."""
    data = folder / "data"
    runtime = ["runtime.c", *(["safetensors.c"] if exported.program.params else ["no_params.c"])]
    package = files("xdsl_rlx.lowering.backend.export")
    texts = [package.joinpath(name).read_text(encoding="utf-8") for name in runtime]
    text, content = source(exported, data, texts)
    data.write_bytes(content)
    (folder / f"{exported.name}.h").write_text(header(exported), encoding="utf-8")
    (folder / "program.c").write_text(text, encoding="utf-8")
    (folder / "visible").write_text(f"{{ global: {exported.name}_*; local: *; }};\n", encoding="utf-8")
    names = list[str]()
    for number, content in enumerate(objects):
        names.append(f"{number}.o")
        (folder / names[-1]).write_bytes(content)
    command = [
        *_compiler(compiler),
        *_FLAGS,
        "-Wl,--version-script=visible",
        f"-Wl,-soname,{library}",
        *("-o", library, "program.c", *names, "-lm", "-lpthread", *(["-ldl"] if exported.functions else [])),
    ]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ConfigurationError(
            f"no C compiler: {command[0]!r} cannot be run ({error.strerror}); install gcc or clang, or name one by cc="
        ) from None
    if done.returncode:
        raise CompileError(f"{shlex.join(command[:1])} failed with status {done.returncode}: {done.stderr[-2000:]}")


def _compiler(compiler: str | None) -> list[str]:
    """The words of the command that compiles C."""
    words = shlex.split(compiler or os.environ.get("CC", "") or "cc")
    if not words:
        raise ConfigurationError(f"cc must name a C compiler, got {compiler!r}")
    return words


def _description(exported: Exported, code_target: llvm.CodeTarget, library: Path) -> dict[str, Any]:
    """The description of a library: what `loaded.py` and users read."""
    program = exported.program

    def spec(one: TensorSpec) -> dict[str, Any]:
        found = {"name": one.name, "dtype": one.dtype, "shape": list(one.shape), "bytes": one.nbytes}
        if one.name in program.updated:
            found["updated"] = True
        if one.name in program.optional:
            found["optional"] = True
        return found

    return {
        "format": FORMAT,
        "name": exported.name,
        "graph": program.name,
        "version": exported.version,
        "library": library.name,
        "triple": code_target.triple,
        "cpu": code_target.cpu[0],
        "features": list(exported.features),
        "threads": exported.threads,
        "arena_bytes": program.arena_bytes,
        "blas": [FUNCTIONS[index] for index in exported.functions],
        "inputs": [spec(one) for one in exported.inputs],
        "params": [{**spec(one), "embedded": one.name in exported.values} for one in program.params],
        "results": [spec(one) for one in program.outputs],
    }
