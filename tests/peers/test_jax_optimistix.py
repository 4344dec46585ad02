"""The corpus of public programs of JAX: those of Optimistix."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import pytest
from peers.jax_programs import solvers
from peers.jax_programs.program import Program
from peers.test_jax_programs import run

SOURCES = (solvers.OPTIMISTIX,)


@pytest.mark.parametrize("program", [one for source in SOURCES for one in source.all], ids=lambda one: one.name)
def test_program_is_as_in_jax(program: Program) -> None:
    run(program)
