"""Programs of JAX by their StableHLO: both readers give one tree, and values are those of jax.jit."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingParameterType=false
# pyright: reportMissingTypeStubs=false, reportOptionalMemberAccess=false

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from peers.stablehlo_programs import PROGRAMS, X

import xdsl_rlx as rlx
from xdsl_rlx.frontends.stablehlo import read_jaxlib, read_text
from xdsl_rlx.frontends.stablehlo.table import ROWS


@pytest.fixture(autouse=True)
def _wide() -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_jax(name: str) -> None:
    function, *args = PROGRAMS[name]
    lowered = jax.jit(function, keep_unused=True).lower(*args)
    text = lowered.as_text()
    generic = lowered.compiler_ir("stablehlo").operation.get_asm(print_generic_op_form=True)
    assert read_jaxlib.read(text).same(read_text.read(generic)) is None
    found = rlx.from_stablehlo(text)(*args)
    for one, other in zip(
        found if isinstance(found, tuple) else (found,), jax.tree.leaves(lowered.compile()(*args)), strict=True
    ):
        other = np.asarray(other)
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        exact = other.dtype.kind != "f" or other.dtype.itemsize == 8
        # XLA keeps products of bf16 in f32 where they are converted
        tolerance = 1e-9 if exact else 1e-2 if name == "bf16" else 1e-5
        if other.dtype == jnp.bfloat16:
            one, other = one.astype(np.float32), other.astype(np.float32)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance if exact else 1e-6)


def test_every_operation_of_the_dialects_has_a_row() -> None:
    from jaxlib.mlir.dialects import _chlo_ops_gen, _stablehlo_ops_gen

    classes = [one for module in (_chlo_ops_gen, _stablehlo_ops_gen) for one in vars(module).values()]
    names = {one.OPERATION_NAME for one in classes if hasattr(one, "OPERATION_NAME")}
    assert names - {row.name for row in ROWS.all()} == {"stablehlo.return"}


def test_text_bytes_artifacts_and_files_are_one_program(tmp_path: Path) -> None:
    def scaled(x):
        return jnp.tanh(x) * 2

    lowered = jax.jit(scaled).lower(X)
    module = lowered.compiler_ir("stablehlo")
    exported = jax.export.export(jax.jit(scaled))(X).mlir_module_serialized
    (tmp_path / "model.mlirbc").write_bytes(exported)
    file = tmp_path / "with_bytes"
    with file.open("wb") as stream:
        module.operation.write_bytecode(stream)
    for source in (
        lowered.as_text(),
        lowered.as_text(debug_info=True),
        exported,
        tmp_path / "model.mlirbc",
        str(tmp_path / "model.mlirbc"),
        file,
        file.read_bytes(),
    ):
        np.testing.assert_allclose(rlx.from_stablehlo(source)(X), np.tanh(X) * 2, rtol=1e-12)
    assert rlx.from_stablehlo(lowered.as_text(debug_info=True)).names == ["x"]
    for cut in (10, len(exported) // 2, len(exported) - 3):
        with pytest.raises(rlx.FrontendError, match="truncated"):
            rlx.from_stablehlo(exported[:cut] if cut != 10 else exported[:30])
    with pytest.raises(rlx.FrontendError, match="from_stablehlo"):
        rlx.from_stablehlo(file.read_bytes()[:40])


def test_locations_are_those_of_the_users_source() -> None:
    def printing(x):
        jax.debug.print("{}", x.sum())
        return x

    text = jax.jit(printing).lower(X).as_text(debug_info=True)
    with pytest.raises(rlx.FrontendError, match=r"callback.*\n?.*test_stablehlo_values\.py:\d+"):
        rlx.from_stablehlo(text)


def test_large_constants_are_not_copied_into_bodies() -> None:
    table = np.arange(5000.0).reshape(1000, 5)

    def summed(x):
        return jax.lax.fori_loop(0, 1000, lambda i, c: c + jnp.asarray(table)[i] * x, x)

    program = rlx.from_stablehlo(jax.jit(summed).lower(X[0]).as_text())
    assert str(program.graph).count('mir.constant dense<"') <= 1
    np.testing.assert_allclose(program(X[0]), jax.jit(summed)(X[0]), rtol=1e-9)
