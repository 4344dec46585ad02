"""`-t numba`: a planned program as one standalone Python module. The text itself is made in `emit_python.py`."""

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from xdsl_rlx.lowering.numba.emit_python import emit_python


@dataclass(frozen=True)
class NumbaTarget(Target):
    """
    A `lir` program as a readable Python module of Numba loop nests, which needs NumPy, Numba and SciPy only.

    The function of the program's name takes the inputs and params as keywords and returns the outputs.
    """

    name = "numba"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(emit_python(module))
