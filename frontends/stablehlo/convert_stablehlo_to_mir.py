"""The pass `convert-stablehlo-to-mir`: functions of StableHLO, which `xdsl-opt` reads as unregistered operations."""

# Arrays of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.errors import RlxError
from xdsl_rlx.frontends.stablehlo import table, walk
from xdsl_rlx.frontends.stablehlo.imported_program import argument_names, built
from xdsl_rlx.frontends.stablehlo.read_text import tree_of
from xdsl_rlx.frontends.stablehlo.tree import Module

assert table.ROWS

_SPECIAL = {"f16": (10, 5), "bf16": (7, 8), "f32": (23, 8), "f64": (52, 11)}
"""Bits of mantissa and exponent."""

CURE = (
    "xdsl-opt reads hexadecimal numbers of dense<..> as integers, also in constants of floats, where they are bits; "
    "read the file with rlx.from_stablehlo, or with `python -m xdsl_rlx.frontends model.mlir`"
)


@dataclass(frozen=True)
class ConvertStablehloToMirPass(ModulePass):
    """
    Replace functions of StableHLO that no other calls by functions of `mir`; calls are walked into.

    ```
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }
    // becomes
    func.func @main(%x: tensor<4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4xf32> {
      %0 = mir.tanh %x : tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }
    ```

    The text is MLIR's generic form, read with `--allow-unregistered-dialect`. A floating-point constant that is the
    bits of an infinity or a NaN as a number is refused: `xdsl-opt` has read it wrongly. Operations without a
    translation are listed in one error.
    """

    name = "convert-stablehlo-to-mir"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        del ctx
        try:
            module = tree_of(op)
            _check_constants(module)
            made = [_converted(module, name) for name in _entries(module)]
        except RlxError as error:
            raise PassFailedException(str(error)) from error
        for function in list(op.body.block.ops):
            function.detach()
            function.erase(safe_erase=False)
        for one in made:
            for function in list(one.body.block.ops):
                function.detach()
                op.body.block.add_op(function)


def _entries(module: Module) -> list[str]:
    called = {name for one in module.functions.values() for op in one.block.walk() for name in walk.called_by(op)}
    return [name for name in module.functions if name not in called] or list(module.functions)[:1]


def _converted(module: Module, name: str) -> ModuleOp:
    walk.check(module, name)
    return built(module, name, argument_names(module.functions[name], None)).module.clone()


def _check_constants(module: Module) -> None:
    """PassFailedException for a float that is the bits of an infinity or a NaN, read as a number."""
    for function in module.functions.values():
        for op in function.block.walk():
            for value in op.attributes.values():
                if isinstance(value, np.ndarray) and (found := _misread(value)) is not None:
                    raise PassFailedException(
                        f"{op.name} in @{function.name}, at {op.location}: the constant {found!r} is the bits of an "
                        f"infinity or a NaN: {CURE}"
                    )


def _misread(array: np.ndarray[Any, Any]) -> float | None:
    """The first number of an array of floats that is the bits of an infinity or a NaN."""
    kind = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}.get(array.dtype.name)
    if kind is None or not array.size:
        return None
    mantissa, exponent = _SPECIAL[kind]
    infinity = ((1 << exponent) - 1) << mantissa
    quiet, sign = 1 << (mantissa - 1), 1 << (mantissa + exponent)
    known = [float(bits) for base in (infinity, infinity | quiet) for bits in (base, base | sign)]
    line = array.reshape(-1)[:1] if not any(array.strides) else array.reshape(-1)
    found = line[np.isin(line.astype(np.float64), np.array(known).astype(array.dtype).astype(np.float64))]
    return float(found[0]) if found.size else None
