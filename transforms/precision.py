"""Precisions and the policies that choose one for each kind of op. What they are applied by is `engines/narrow.py`."""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat, bf16, f16, f32
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.transforms.op_kinds import OpKind


class Precision(StrEnum):
    """What f32 values are stored in."""

    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"

    @property
    def element(self) -> AnyFloat:
        """The element type."""
        return {Precision.F32: f32, Precision.F16: f16, Precision.BF16: bf16}[self]


class PrecisionPolicy(StrEnum):
    """A precision for each kind of op. Data movement keeps the type of its data unless the policy gives it one."""

    ALWAYS_F32 = "always_f32"
    """no change"""
    ALWAYS_F16 = "always_f16"
    """f16 for all kinds, including data movement"""
    ALWAYS_BF16 = "always_bf16"
    """bf16 for all kinds, including data movement"""
    MIXED_CONSERVATIVE = "mixed_conservative"
    """f16 for compute ops (such as matmul) and elementwise ops, f32 for reductions"""
    MIXED_CONSERVATIVE_BF16 = "mixed_conservative_bf16"
    """as `mixed_conservative`, with bf16"""
    MIXED = "mixed"
    """f16 for compute ops, elementwise ops and reductions"""
    MIXED_BF16 = "mixed_bf16"
    """as `mixed`, with bf16"""

    @property
    def precisions(self) -> dict[OpKind, Precision]:
        """The precision of each kind that the policy sets."""
        return dict(_POLICIES[self])


_COMPUTING = (OpKind.COMPUTE, OpKind.REDUCTION, OpKind.ELEMENTWISE)
CHOSEN_KINDS = (*_COMPUTING, OpKind.DATA_MOVEMENT)
"""The kinds that have a precision to choose."""


def _conservative(narrow: Precision) -> dict[OpKind, Precision]:
    return {**dict.fromkeys(_COMPUTING, narrow), OpKind.REDUCTION: Precision.F32}


_POLICIES: dict[PrecisionPolicy, dict[OpKind, Precision]] = {
    PrecisionPolicy.ALWAYS_F32: dict.fromkeys(_COMPUTING, Precision.F32),
    PrecisionPolicy.ALWAYS_F16: dict.fromkeys(CHOSEN_KINDS, Precision.F16),
    PrecisionPolicy.ALWAYS_BF16: dict.fromkeys(CHOSEN_KINDS, Precision.BF16),
    PrecisionPolicy.MIXED_CONSERVATIVE: _conservative(Precision.F16),
    PrecisionPolicy.MIXED_CONSERVATIVE_BF16: _conservative(Precision.BF16),
    PrecisionPolicy.MIXED: dict.fromkeys(_COMPUTING, Precision.F16),
    PrecisionPolicy.MIXED_BF16: dict.fromkeys(_COMPUTING, Precision.BF16),
}
