"""From a planned program to its launch table: what waits for what, and where views lie."""

import pytest

from xdsl_rlx.api import parse
from xdsl_rlx.lowering.numba.build import build_program
from xdsl_rlx.lowering.numba.program import BASE_ARENA, FIRST_BUFFER, Program

TEXT = """
lir.program @p attributes {arena_bytes = 1024 : i64, alignment = 64 : i64} {
  %x = lir.input "x" : memref<64xf32>
  %a = lir.slot at 0 : memref<64xf32>
  %b = lir.slot at 256 : memref<64xf32>
  %c = lir.slot at 512 : memref<64xf32>
  %d = lir.slot at 0 : memref<64xf32>
  %y = lir.output 0 : memref<64xf32>
  LAUNCHES
  lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%y : memref<64xf32>)
}
lir.kernel @k(%i: memref<64xf32>, %o: memref<64xf32>, %lo: index, %hi: index) {
  lir.return
}
"""


def program(*pairs: str) -> Program:
    """The program of launches that read the first and write the second buffer of each pair, then `x` and `y`."""
    launch = "lir.launch @k over 1 by 1 reads(%{} : memref<64xf32>) writes(%{} : memref<64xf32>)"
    return build_program(parse(TEXT.replace("LAUNCHES", "\n  ".join(launch.format(*pair) for pair in pairs))))


@pytest.mark.parametrize(
    ("pairs", "waits"),
    [
        (("xa", "xb", "xc"), [True, False, False]),
        (("xa", "ab"), [True, True]),
        (("xa", "xa"), [True, True]),
        (("ab", "xa"), [True, True]),
        (("ab", "xd"), [True, True]),
        (("xa", "db"), [True, True]),
        (("xa", "xb", "ac", "xb"), [True, False, True, False]),
        (("xa", "xb", "bc", "xd"), [True, False, True, False]),
        (("ab", "xc", "xa"), [True, False, True]),
    ],
    ids=["others", "reads-written", "writes-written", "writes-read", "same-place", "reads-same-place", "a", "b", "c"],
)
def test_a_launch_waits_for_those_that_touch_what_it_writes_or_write_what_it_reads(
    pairs: tuple[str, ...], waits: list[bool]
):
    assert [not launch.independent for launch in program(*pairs).launches[:-1]] == waits


VIEW = """
lir.program @p attributes {arena_bytes = 512 : i64, alignment = 64 : i64} {
  %x = lir.input "x" : memref<32xf32>
  %b = lir.slot at 256 : memref<64xf32>
  %v = lir.view %b at 16 : memref<64xf32> to memref<32xf32>
  lir.launch @k over 1 by 1 reads(%x : memref<32xf32>) writes(%v : memref<32xf32>)
}
lir.kernel @k(%i: memref<32xf32>, %o: memref<32xf32>, %lo: index, %hi: index) {
  lir.return
}
"""


def test_a_view_lies_its_offset_in_bytes_behind_the_start_of_its_buffer():
    (launch,) = build_program(parse(VIEW)).launches
    assert launch.args == ((FIRST_BUFFER, 0), (BASE_ARENA, 256 + 4 * 16))
