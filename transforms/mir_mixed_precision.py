"""The pass `mir-mixed-precision`: what is computed in f32 is stored in half precision, as a policy says.
Policies are in `precision.py`, what kind of work an op does in `op_kinds.py`, the engine is `engines/narrow.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.transforms.dead_ops import remove_dead
from xdsl_rlx.transforms.driver import RewritingPass, verify_dominance
from xdsl_rlx.transforms.engines.narrow import Narrowing
from xdsl_rlx.transforms.op_kinds import OpKind
from xdsl_rlx.transforms.precision import CHOSEN_KINDS, Precision, PrecisionPolicy
from xdsl_rlx.transforms.signature import graph_of

WordT = TypeVar("WordT", bound=StrEnum)


@dataclass(frozen=True)
class MirMixedPrecisionPass(RewritingPass):
    """
    Store the results of f32 ops in half precision, by a policy for each kind of op.

    ```
    %0 = mir.matmul %x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
    %y = mir.tanh %0 : tensor<4x2xf32>
    // becomes, with policy=mixed_bf16
    %1 = mir.cast %x : tensor<4x3xf32> to tensor<4x3xbf16>
    %2 = mir.cast %w : tensor<3x2xf32> to tensor<3x2xbf16>
    %3 = mir.matmul %1, %2 : (tensor<4x3xbf16>, tensor<3x2xbf16>) -> tensor<4x2xbf16>
    %4 = mir.tanh %3 : tensor<4x2xbf16>
    %y = mir.cast %4 : tensor<4x2xbf16> to tensor<4x2xf32>
    ```

    Policies are `always_f32`, `always_f16`, `mixed_conservative` and `mixed`, and the bf16 variants `always_bf16`,
    `mixed_conservative_bf16` and `mixed_bf16`. The other options override the precision of one kind of op: `f32`, `f16`
    or `bf16`.

    Only f32 values change; arguments and results of the function and of bodies keep their types. These stay f32:
    indices and labels and their operands; loop carries, and values combined with constants that the half type cannot
    represent, up to the next matmul; ops that take no half floats. A value is cast once to each type. `mir.fusion` and
    `mir.vjp` are left alone.
    """

    name = "mir-mixed-precision"

    policy: str = PrecisionPolicy.ALWAYS_F32
    """Name of the policy: a precision for each kind of op."""

    compute: str | None = None
    """Precision of matmuls, convolutions and attention."""

    reduction: str | None = None
    """Precision of reductions, norms and recurrences."""

    elementwise: str | None = None
    """Precision of elementwise ops."""

    data_movement: str | None = None
    """Precision of data movement; by default that of the operands."""

    def __post_init__(self) -> None:
        self._precisions()

    def _precisions(self) -> dict[OpKind, Precision]:
        chosen = _member(PrecisionPolicy, "policy", self.policy).precisions
        for kind in CHOSEN_KINDS:
            given: str | None = getattr(self, kind)
            if given is not None:
                chosen[kind] = _member(Precision, kind.replace("_", "-"), given)
        return chosen

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        verify_dominance(module)
        precisions = self._precisions()
        if set(precisions.values()) == {Precision.F32}:
            return False
        changed = Narrowing(precisions).convert(graph_of(module, self.name).block)
        return remove_dead(module.body) or changed


def _member(words: type[WordT], what: str, given: str) -> WordT:
    """The member of that name; ValueError lists what there is."""
    if given not in set(words):
        raise ValueError(f"{what}: expected one of {', '.join(words)}, got '{given}'")
    return words(given)
