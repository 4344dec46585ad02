"""From a planned program to its launch table: what waits for what, and where views lie."""

import pytest

from xdsl_rlx.lowering.backend.driver.manifest import (
    BASE_ARENA,
    FIRST_BUFFER,
    ArgumentMove,
    Branch,
    Loop,
    Predicate,
    Program,
    ScheduledLaunch,
    While,
)
from xdsl_rlx.lowering.backend.runtime.build_program import build_program
from xdsl_rlx.passes import parse

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


LOOP = """
lir.program @p attributes {arena_bytes = 2048 : i64, alignment = 64 : i64} {
  %x = lir.input "x" : memref<9x64xf32>
  %c = lir.slot at 0 : memref<3x64xf32>
  %t = lir.slot at 768 : memref<64xf32>
  %u = lir.slot at 1024 : memref<64xf32>
  %y = lir.output 0 : memref<9x64xf32>
  %c0 = lir.view %c at 0 : memref<3x64xf32> to memref<64xf32>
  %c1 = lir.view %c at 64 : memref<3x64xf32> to memref<2x64xf32>
  %x0 = lir.view %x at 0 : memref<9x64xf32> to memref<64xf32>
  lir.launch @k over 1 by 1 reads(%x0 : memref<64xf32>) writes(%c0 : memref<64xf32>)
  lir.launch @k over 1 by 1 reads(%x0 : memref<64xf32>) writes(%t : memref<64xf32>)
  lir.loop %i = 0 to 9 {
    %a = lir.step %x at %i : memref<9x64xf32> to memref<64xf32>
    %p = lir.step %c at %i modulo 3 : memref<3x64xf32> to memref<64xf32>
    %q = lir.step %c at %i shift 1 modulo 3 : memref<3x64xf32> to memref<64xf32>
    %r = lir.step %c at %i shift 1 modulo 2 : memref<3x64xf32> to memref<64xf32>
    %w = lir.step %c at %i modulo 2 : memref<3x64xf32> to memref<64xf32>
    %v = lir.step %c1 at %i shift 1 modulo 2 : memref<2x64xf32> to memref<64xf32>
    %o = lir.step %y at %i : memref<9x64xf32> to memref<64xf32>
    lir.loop %j = 0 to 3 {
      %b = lir.step %c at %j : memref<3x64xf32> to memref<64xf32>
      LAUNCHES
    }
  }
  lir.launch @k over 1 by 1 reads(%x0 : memref<64xf32>) writes(%u : memref<64xf32>)
}
lir.kernel @k(%i: memref<64xf32>, %o: memref<64xf32>, %lo: index, %hi: index) {
  lir.return
}
"""


def inner_launches(*pairs: str) -> tuple[Program, list[ScheduledLaunch]]:
    launch = "lir.launch @k over 1 by 1 reads(%{} : memref<64xf32>) writes(%{} : memref<64xf32>)"
    program = build_program(parse(LOOP.replace("LAUNCHES", "\n  ".join(launch.format(*pair) for pair in pairs))))
    outer = program.schedule[2]
    assert isinstance(outer, Loop)
    (inner,) = outer.body
    assert isinstance(inner, Loop)
    return program, [item for item in inner.body if isinstance(item, ScheduledLaunch)]


@pytest.mark.parametrize(
    ("pairs", "waits"),
    [
        (("pt", "pu"), [True, False]),
        (("aq", "pu"), [True, False]),
        (("aq", "qu"), [True, True]),
        (("ap", "aq"), [True, False]),
        (("ap", "ar"), [True, True]),
        (("aq", "bu"), [True, True]),
        (("av", "aw"), [True, True]),
        (("aw", "av"), [True, True]),
        (("ap", "ao"), [True, False]),
        (("ao", "ao"), [True, True]),
    ],
    ids=[
        *("same-read", "other-element", "same-element", "two-elements", "other-period", "other-loop"),
        *("every-other", "every-other-first", "output", "again"),
    ],
)
def test_a_launch_of_an_iteration_waits_for_those_that_may_touch_the_same_element(
    pairs: tuple[str, ...], waits: list[bool]
):
    program, launches = inner_launches(*pairs)
    assert [not launch.independent for launch in launches] == waits
    # those around a loop: the first behind it waits
    assert [not launch.independent for launch in program.launches if launch not in launches] == [True, False, True]


def test_an_element_moves_its_stride_in_bytes_with_the_loop_it_follows():
    _, (launch,) = inner_launches("aq")
    assert launch.args == ((FIRST_BUFFER, 0), (BASE_ARENA, 0))
    assert launch.moves == (ArgumentMove(0, 0, 256, 0, 0), ArgumentMove(1, 0, 256, 1, 3))
    _, (launch,) = inner_launches("bt")
    assert launch.moves == (ArgumentMove(0, 1, 256, 0, 0),)


BRANCHES = """
lir.program @p attributes {arena_bytes = 2048 : i64, alignment = 64 : i64} {
  %ps = lir.input "ps" : memref<9xi1>
  %x = lir.input "x" : memref<64xf32>
  %y = lir.output 0 : memref<64xf32>
  %z = lir.output 1 : memref<64xf32>
  %last = lir.view %ps at 8 : memref<9xi1> to memref<i1>
  lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%y : memref<64xf32>)
  lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%z : memref<64xf32>)
  lir.loop %i = 0 to 8 {
    %p = lir.step %ps at %i shift 1 : memref<9xi1> to memref<i1>
    lir.if %p {
      lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%y : memref<64xf32>)
      lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%z : memref<64xf32>)
    } else {
      lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%z : memref<64xf32>)
    }
    lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%y : memref<64xf32>)
  }
  lir.while %last after {
    lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%y : memref<64xf32>)
  } do {
    lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%z : memref<64xf32>)
  }
}
lir.kernel @k(%i: memref<64xf32>, %o: memref<64xf32>, %lo: index, %hi: index) {
  lir.return
}
"""


def test_a_predicate_moves_as_an_argument_does():
    *_, loop, repeat = build_program(parse(BRANCHES)).schedule
    assert isinstance(loop, Loop) and isinstance(repeat, While)
    (branch, _) = loop.body
    assert isinstance(branch, Branch)
    assert branch.predicate == Predicate(FIRST_BUFFER, 1, (ArgumentMove(0, 0, 1, 0, 0),))
    assert repeat.predicate == Predicate(FIRST_BUFFER, 8)


def test_launches_wait_where_a_branch_or_test_begins_and_behind_it():
    waits = [not launch.independent for launch in build_program(parse(BRANCHES)).launches]
    assert waits == [True, False, True, False, True, True, True, True]


def test_many_pieces_are_brought_beside_a_single_one():
    """Those that may run at the same time as it, and as those between; what is one piece stays where it is."""

    def launches(*rows: tuple[str, int]) -> list[tuple[str, bool]]:
        launch = "lir.launch @k over {0} by 1 reads(%{1} : memref<64xf32>) writes(%{2} : memref<64xf32>)"
        text = TEXT.replace("LAUNCHES", "\n  ".join(launch.format(pieces, *pair) for pair, pieces in rows))
        found = build_program(parse(text)).launches[:-1]
        return [("abc"[launch.args[1][1] // 256], launch.independent) for launch in found]

    assert launches(("xa", 1), ("ab", 1), ("xc", 4)) == [("a", False), ("c", True), ("b", False)]
    assert launches(("xa", 4), ("ab", 4), ("xc", 4)) == [("a", False), ("b", False), ("c", True)]
    assert launches(("xa", 1), ("ab", 1), ("xc", 1)) == [("a", False), ("b", False), ("c", True)]
    assert launches(("xa", 1), ("ab", 1), ("bc", 4)) == [("a", False), ("b", False), ("c", False)]
