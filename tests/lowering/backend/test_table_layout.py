"""Tables in memory: a field is its byte offset, by the order of the fields."""

from typing import Annotated

from xdsl_rlx.lowering.backend.driver.layout import (
    CACHE_LINE,
    LINE,
    CallBlock,
    FfiApi,
    FfiBuffer,
    FfiExtension,
    FfiFrame,
    FfiMetadata,
    NumpyArray,
    PhaseRow,
    Table,
    TurnRow,
)
from xdsl_rlx.lowering.backend.driver.manifest import FIRST_BUFFER


class Example(Table):
    A: int
    B: Annotated[int, 3]
    C: int
    D: Annotated[int, LINE]
    E: int


class Longer(Example):
    F: int


def test_fields_follow_each_other():
    assert (Example.A, Example.B, Example.C) == (0, 8, 32)
    assert (Example.D, Example.E) == (CACHE_LINE, CACHE_LINE + 8)
    assert (Example.A, Example.size) == (Longer.A, Longer.F)
    assert (Example.size, Longer.size) == (CACHE_LINE + 16, CACHE_LINE + 24)


def test_a_table_is_filled_by_its_fields():
    assert PhaseRow.filled({PhaseRow.GRANULE: 7, PhaseRow.LAUNCH: 5}) == [5, 0, 0, 7]


def test_tables_stand_where_others_read_them():
    # a turn is told from a phase by its tickets, and in front of the buffers are the bases without one
    assert TurnRow.TICKETS == PhaseRow.TICKETS and TurnRow.size == PhaseRow.size
    assert CallBlock.BUFFERS == CallBlock.BASES + 8 * FIRST_BUFFER
    assert NumpyArray.DATA == 16


def test_calls_of_xla_are_laid_out_as_its_header_says():
    """`xla/ffi/api/c_api.h`, on machines of 64 bits."""
    assert (FfiFrame.EXTENSION, FfiFrame.API, FfiFrame.ARGUMENT_COUNT, FfiFrame.ARGUMENTS) == (8, 16, 56, 72)
    assert (FfiFrame.RESULT_COUNT, FfiFrame.RESULTS) == (96, 112)
    assert (FfiBuffer.DATA, FfiExtension.METADATA, FfiMetadata.VERSION, FfiApi.CREATE_ERROR) == (24, 24, 24, 48)
