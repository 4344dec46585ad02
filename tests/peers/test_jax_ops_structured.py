"""Rows of JAX's primitives that index, sort, factor, loop, call and draw; and that each row has a case."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import subprocess
import sys

import jax
import pytest
from peers import jax_ops
from peers.jax_ops_structured import CASES
from peers.test_jax_ops import run

from xdsl_rlx.frontends.jaxpr import lowered, walk
from xdsl_rlx.frontends.jaxpr.table import ROWS
from xdsl_rlx.frontends.shared.rows import Status

OUT_OF_REACH = {
    "broadcast_to",
    "call",
    "closed_call",
    "iota_2x32_shape",
    "pin",
    "pvary",
    "reshard",
    "sharding_constraint",
    "stage",
    "tie",
    "unpin",
    "with_memory_space_constraint",
}
"""Primitives that only transformations of JAX make, or the functions of its generators, which their rows walk."""

OF_LIBRARIES = {
    "linear_solve",
    "maybe_set",
    "nonbatchable",
    "nondifferentiable_backward",
    "nontraceable",
    "pure_callback",
    "select_if_vmap",
    "unvmap_all",
    "unvmap_any",
    "unvmap_max",
    "vprim",
    "xdsl_rlx",
    "xdsl_rlx_linear",
}
"""Primitives of `rlx.to_jax` and of Equinox, which `test_from_jax.py` and `test_jax_equinox.py` have cases of."""


@pytest.mark.parametrize("name", sorted(CASES))
def test_primitive_is_as_in_jax(name: str) -> None:
    run(CASES[name])


def test_each_row_has_a_case() -> None:
    used: set[str] = set()
    for case in (*jax_ops.CASES.values(), *CASES.values()):
        with jax.enable_x64(case.x64):
            jaxpr = jax.make_jaxpr(case.f)(*case.args)
        used |= {name for name, _ in walk.fired(jaxpr.jaxpr)}
    rows = {row.name for row in ROWS.all() if row.status is not Status.REFUSED}
    assert rows - used == OUT_OF_REACH | OF_LIBRARIES


def test_each_primitive_with_a_lowering_has_a_row() -> None:
    # in a process of its own, where no other test or library has registered primitives
    command = (
        "import jax, jax.export; from jax._src.interpreters import mlir; print(*{one.name for one in mlir._lowerings})"
    )
    names = subprocess.run([sys.executable, "-c", command], check=True, capture_output=True, text=True).stdout.split()
    assert len(names) > 200
    assert {name for name in names if ROWS.get(name) is None} == lowered.OF_JAX - {"pallas_call"}
    assert all(row.reason for row in ROWS.all() if row.status is Status.REFUSED)
