"""How programs are compiled where a test does not say: as users get them, or quickly.

LLVM's passes take a third of the time of the tests of whole programs, and change no value beyond rounding. `make test`
has them in one test of eight of these folders, in all others, and where a test asks for them: with
`@pytest.mark.optimised`, or by an effort of its own. With EVERY_SAMPLE set in the environment, all have them.
"""

from pathlib import Path
from zlib import crc32

import pytest
from levels import EVERY

from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime import compile_module

FOLDERS = ("benchmarks", "face", "fuzz", "lowering", "numerics", "transforms", "weaknesses")
ONE_IN = 8
"""Tests of which one is compiled as users get it: more would find faults of LLVM's passes, which `make fuzz` looks for.
With 8, they take an eighth of the third of the time."""


def effort_of(item: pytest.Item) -> Effort:
    """How a test's programs are compiled unless it says so."""
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    chosen = crc32(item.nodeid.encode()) % ONE_IN == 0
    full = EVERY or folder not in FOLDERS or chosen or item.get_closest_marker("optimised") is not None
    return Effort.FULL if full else Effort.QUICK


FULL = Effort.FULL
_FUNCTIONS = [vars(compile_module)[name] for name in ("compile_module", "compile_source")]
_GIVEN: list[tuple[object, ...]] = [function.__defaults__ for function in _FUNCTIONS]


def hurry(effort: Effort) -> None:
    """Compile with an effort where none is given, from now on."""
    for function, given in zip(_FUNCTIONS, _GIVEN, strict=True):
        function.__defaults__ = tuple(effort if one is Effort.FULL else one for one in given)
