"""Half precision, loss scaling and quantisation as functions on graphs: each returns a new module."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl_rlx.api import above_lir, run_passes
from xdsl_rlx.builder import AnyGraph, GraphModule
from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass
from xdsl_rlx.transforms.mir_grad import SEED
from xdsl_rlx.transforms.mir_mixed_precision import MirMixedPrecisionPass
from xdsl_rlx.transforms.mir_scale_loss import MirScaleLossPass
from xdsl_rlx.transforms.precision import CHOSEN_KINDS, PrecisionPolicy


@checked
def mixed_precision(graph: AnyGraph, policy: str | Mapping[str, str] = PrecisionPolicy.MIXED_BF16) -> GraphModule:
    """
    The graph with what it computes in f32 stored in f16 or bf16; its arguments and outputs keep their types.

    `policy` is the name of a policy (`PrecisionPolicy`), or a precision for each kind of op: `{"compute": "bf16"}`;
    kinds are compute, reduction, elementwise and data_movement, and those left out stay f32 (data that is moved: as it
    is). What stays f32 in any case, the pass `mir-mixed-precision` says. Apply it before `grad`: the rules of
    derivatives compute in f32, a gradient program has been taken apart. Params are arguments, so they and their
    gradients stay f32. GraphError for another policy, kind or precision.
    """
    source = above_lir(graph, "mixed_precision")
    kinds = [str(kind) for kind in CHOSEN_KINDS]
    if not isinstance(policy, str | Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphError(f"mixed_precision: policy: expected a name, or a precision by kind of op, got {shown(policy)}")
    if not isinstance(policy, str) and (unknown := [kind for kind in policy if kind not in kinds]):
        raise GraphError(f"mixed_precision: kinds of ops are {', '.join(kinds)}, got {unknown[0]!r}")
    try:
        narrow = MirMixedPrecisionPass(policy) if isinstance(policy, str) else MirMixedPrecisionPass(**policy)
    except (ValueError, TypeError) as error:
        raise GraphError(f"mixed_precision: {error}") from None
    return run_passes(source, [ConvertHirToMirPass("direct"), narrow])


@checked
def scale_loss(
    graph: AnyGraph,
    scale: float | None = None,
    growth: float = 2.0,
    backoff: float = 0.5,
    growth_interval: int = 2000,
    seed: str = SEED,
) -> GraphModule:
    """
    A gradient graph, as `grad_with_loss` gives it, with the loss scaled for the backward pass.

    The cotangent of the loss, the input `seed`, is multiplied by the scale, and what depends on it, the gradients, is
    divided by it, in f32 where it was of half floats. The next output is `finite`, an i1: whether all elements of all
    gradients are. With a number as `scale` that is all. Without, the graph has two more inputs, `loss_scale` (f32, such
    as 2^16) and `good_steps` (i32, 0 at first), and two more outputs, what these are in the next step: the scale is
    multiplied by `growth` after `growth_interval` finite steps in a row, and by `backoff` after one that is not finite,
    which is a step not to take. GraphError for a graph without that input, or in which nothing depends on it.
    """
    source = above_lir(graph, "scale_loss")
    try:
        scaling = MirScaleLossPass(scale, growth, backoff, growth_interval, seed)
    except ValueError as error:
        raise GraphError(f"scale_loss: {error}") from None
    return run_passes(source, [scaling])
