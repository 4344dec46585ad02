"""
Compile the library for this machine, as part of the installation: `python -m xdsl_rlx.build_library`.

The library has the parts that programs share: steps of Fourier transforms, tiles of matrix products, sorting networks,
transposed copies, and the driver that runs kernels. Without this command a program that needs one compiles it, once per
machine, and the first call takes up to 0.3 s longer. The machine code is for this processor, these versions of the
package, Numba and NumPy; with others it is not used, and the command can be run again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from xdsl_rlx.lowering.backend.driver.process import driver_code, driver_key
from xdsl_rlx.lowering.backend.llvm.llvm_calls import common_versions
from xdsl_rlx.lowering.backend.llvm.llvm_module import by_effort, library_llvm
from xdsl_rlx.lowering.backend.machine import llvm
from xdsl_rlx.lowering.backend.machine.model import cost_model
from xdsl_rlx.lowering.backend.runtime.shared_code import function_key
from xdsl_rlx.lowering.cache import INSTALLED, install, is_installed
from xdsl_rlx.lowering.kernel_library.common import common_functions

_CHUNK = 20
"""Functions that a process takes at a time."""


def build(names: Sequence[str], into: Path) -> None:
    """
    Write the machine code of functions of the library, and the driver's, into a folder, which replaces what was there.

    It is compiled in as many processes as this one has cores. OSError where the folder cannot be written.
    """
    into.parent.mkdir(parents=True, exist_ok=True)
    # beside it, so that the finished folder takes its place in one step
    folder = Path(tempfile.mkdtemp(prefix=f".{into.name}-", dir=into.parent))
    try:
        folder.chmod(0o755)
        install(driver_key(), driver_code(), folder)
        cores = len(os.sched_getaffinity(0))
        with ProcessPoolExecutor(cores, get_context("spawn")) as pool:
            for _ in pool.map(partial(_compile, folder=folder), names, chunksize=_CHUNK):
                pass
        shutil.rmtree(into, ignore_errors=True)
        folder.rename(into)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _compile(name: str, folder: Path) -> None:
    (effort,) = by_effort([name])
    code = llvm.compile_llvm(library_llvm([name], cost_model()), effort=effort)
    install(function_key(name), code, folder)


def main() -> None:
    """Build the library, unless the installation has it."""
    names = [*common_functions(cost_model()), *common_versions()]
    if all(map(is_installed, [driver_key(), *map(function_key, names)])):
        print(f"{INSTALLED} has the library of this processor")
        return
    build(names, INSTALLED)
    total = sum(file.stat().st_size for file in INSTALLED.iterdir())
    print(f"{INSTALLED}: {len(names)} functions, {total / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
