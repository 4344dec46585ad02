"""Custom calls by target: LAPACK's functions, and annotations that change no values."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from xdsl_rlx.frontends.stablehlo.rows import ROWS, Call
from xdsl_rlx.frontends.stablehlo.tree import Op

BuildT = TypeVar("BuildT", bound=Callable[..., Any])

_LAPACK = re.compile(r"(?:lapack|blas)_([sdcz])(\w+?)(?:_ffi)?")

_IDENTITIES = (
    "Sharding",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "annotate_device_placement",
    "xla.sdy.FuncResultSharding",
)
"""Annotations of programs for several devices."""

_CALLBACKS = ("python_cpu_callback", "python_gpu_callback", "io_callback", "xla_ffi_python")


class Targets:
    """Builders of custom calls by target; those of LAPACK's functions without the letter of their element type."""

    def __init__(self) -> None:
        self._targets: dict[str, Callable[..., Any]] = {}

    def add(self, *names: str) -> Callable[[BuildT], BuildT]:
        """Decorator that adds a builder for each of these targets, which takes what that of a row takes."""

        def decorate(build: BuildT) -> BuildT:
            for name in names:
                assert name not in self._targets, f"two builders for {name}"
                self._targets[name] = build
            return build

        return decorate

    def names(self) -> list[str]:
        """All targets; those of LAPACK's functions without the letter of their element type."""
        return sorted(self._targets)

    def get(self, target: str) -> Callable[..., Any] | None:
        """The builder of a target, if there is one."""
        match = _LAPACK.fullmatch(target)
        return self._targets.get(match[2] if match else target)


TARGETS = Targets()
"""The custom calls that are known; the modules of the families add to these."""


def reason(op: Op) -> str | None:
    """Why a custom call is not translated; None if it is."""
    target = str(op.attributes.get("call_target_name", ""))
    match = _LAPACK.fullmatch(target)
    if match is not None and match[1] in "cz":
        return "factorisations of complex matrices are not supported"
    if TARGETS.get(target) is not None:
        return None
    if any(word in target for word in _CALLBACKS):
        return "a callback runs in the Python of JAX; take jax.debug.print and pure_callback out of the function"
    return "the custom call is not known"


@ROWS.add("custom_call", composite=True)
def _custom_call(c: Call, *operands: Any) -> Any:
    build = TARGETS.get(str(c.get("call_target_name")))
    assert build is not None
    return build(c, *operands)


@TARGETS.add(*_IDENTITIES)
def _identity(c: Call, *operands: Any) -> Any:
    return list(operands)
