"""The corpus of public programs of JAX: those of tutorials, by what they compute."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import pytest
from peers.jax_programs import science
from peers.jax_programs.program import Program
from peers.test_jax_programs import run


@pytest.mark.parametrize("program", science.PROGRAMS.all, ids=lambda one: one.name)
def test_program_is_as_in_jax(program: Program) -> None:
    run(program)
