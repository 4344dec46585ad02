"""The bytes form of a program."""

from dataclasses import replace

import pytest

from xdsl_rlx.lowering.backend.driver.manifest import (
    ArgumentMove,
    Branch,
    Loop,
    Predicate,
    Program,
    ScheduledLaunch,
    TensorSpec,
    While,
    pack,
    unpack,
)
from xdsl_rlx.lowering.run_errors import RlxError

PROGRAM = Program(
    "step",
    (TensorSpec("x", (2, 3), "f32"), TensorSpec("d_output", (), "f64")),
    (TensorSpec("w", (0, 3), "bf16"),),
    (TensorSpec("loss", (), "f64"),),
    ("d_output",),
    640,
    64,
    bytes(range(256)),
    (
        ScheduledLaunch("k0", 7, 2, ((3, 0), (1, 64))),
        ScheduledLaunch("k1", 1, 1, (), independent=True),
        ScheduledLaunch("k0", 7, 7, ((3, 8),)),
    ),
    needs_blas=False,
)


def test_pack_and_unpack_are_inverse():
    assert unpack(pack(PROGRAM, b"\0code\xff")) == (PROGRAM, b"\0code\xff")


def test_loops_and_branches_are_packed_with_what_they_hold():
    launch, predicate = PROGRAM.schedule[0], Predicate(3, 7, (ArgumentMove(0, 1, 8, 1, 2),))
    loop = Loop(3, True, (launch, Branch(predicate, (launch,), ())))
    schedule = (Branch(Predicate(1, 5), (), (launch,)), While(predicate, (launch,), (loop, launch)))
    program = replace(PROGRAM, schedule=schedule)
    assert unpack(pack(program, b"")) == (program, b"")
    assert program.launches == (launch,) * 5


def test_kernels_are_listed_once_in_order():
    assert PROGRAM.kernels == ("k0", "k1")


def test_chunks_cover_the_extent():
    assert [launch.chunks for launch in PROGRAM.launches] == [4, 1, 1]
    assert ScheduledLaunch("k", 0, 8, ()).chunks == 0


@pytest.mark.parametrize("size", [0, 5, 40, 300])
def test_other_bytes_are_refused(size: int):
    with pytest.raises(RlxError, match="not a packed program"):
        unpack(pack(PROGRAM, b"")[:size])


def test_specs_print_as_types():
    assert str(PROGRAM.inputs[0]) == "f32[2, 3]"
    assert PROGRAM.inputs[0].nbytes == 24
