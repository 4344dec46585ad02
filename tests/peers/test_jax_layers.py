"""The corpus of public programs of JAX: those of libraries of layers."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import pytest
from peers.jax_programs import layers
from peers.jax_programs.program import Program
from peers.test_jax_programs import run

ALL = [*layers.FLAX.all, *layers.EQUINOX.all, *layers.HAIKU.all]


@pytest.mark.parametrize("program", ALL, ids=lambda one: one.name)
def test_program_is_as_in_jax(program: Program) -> None:
    run(program)
