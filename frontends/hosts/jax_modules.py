"""What JAX has no public name for, or one that varies by version: artifacts of StableHLO, and types in `shard_map`."""

# Objects of jax, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

from jax.extend import mlir as jax_mlir
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import mlir


def portable(text: str) -> bytes:
    """Return text as a portable artifact, in pure StableHLO of a version that is four weeks old."""
    with mlir.make_ir_context() as context:
        module = mlir.ir.Module.parse(text, context)
        four_weeks = stablehlo.StablehloCompatibilityRequirement.WEEK_4
        version = stablehlo.get_version_from_compatibility_requirement(four_weeks)
        return jax_mlir.serialize_portable_artifact(module, version)


def varying(aval: Any) -> frozenset[Any]:
    """Return the axes of a mesh that a value varies over in `shard_map`; empty elsewhere."""
    found = getattr(aval, "vma", None)
    return aval.mat.varying if found is None else found
