"""What JAX has no public name for, or one that varies by version: artifacts of StableHLO, and types in `shard_map`."""

# Objects of jax, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

import numpy as np
from jax.extend import mlir as jax_mlir
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import mlir
from jaxlib import lapack


def portable(text: str) -> bytes:
    """Return text as a portable artifact, in pure StableHLO of a version that is four weeks old."""
    with mlir.make_ir_context() as context:
        module = mlir.ir.Module.parse(text, context)
        four_weeks = stablehlo.StablehloCompatibilityRequirement.WEEK_4
        version = stablehlo.get_version_from_compatibility_requirement(four_weeks)
        return jax_mlir.serialize_portable_artifact(module, version)


def find_lapack() -> None:
    """Have XLA find LAPACK's functions, as JAX does when it lowers a factorisation; modules that call them need it."""
    lapack.prepare_lapack_call("syevd_ffi", np.dtype(np.float32))


def is_saved(policy: Any) -> bool:
    """Whether what a policy of `jax.checkpoint` returns for an operation says that its results are kept."""
    return policy is True or type(policy).__name__ == "SaveableType"


def varying(aval: Any) -> frozenset[Any]:
    """Return the axes of a mesh that a value varies over in `shard_map`; empty elsewhere."""
    found = getattr(aval, "vma", None)
    return aval.mat.varying if found is None else found
