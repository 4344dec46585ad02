"""The corpus of public programs of JAX, those of its documentation: values, and derivatives in f64, as JAX has them."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import pytest
from peers import jax_compare
from peers.jax_programs import quickstart
from peers.jax_programs.program import BOTH, REVERSE, SECOND, VALUES, Program

ALL = [*quickstart.PROGRAMS.all]
ORDERS = {VALUES: 0, REVERSE: 0.5, BOTH: 1, SECOND: 2}


def run(program: Program) -> None:
    """Compare all that is to be compared of a program."""
    jax_compare.values(program.f, *program.args, tolerance=program.tolerance)
    if orders := ORDERS[program.compared]:
        jax_compare.derivatives(
            program.f, *program.args, argnums=program.argnums, orders=orders, tolerance=program.slack
        )


@pytest.mark.parametrize("program", ALL, ids=lambda one: one.name)
def test_program_is_as_in_jax(program: Program) -> None:
    run(program)
