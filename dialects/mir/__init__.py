"""The `mir` dialect: tensor ops with value semantics; what is fused, unfused and differentiated.

One file per family; `ops_of` collects the ops of a family, so that a new op is registered by being defined.
"""

from types import ModuleType

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.ir import Attribute, Dialect, Operation

from xdsl_rlx.dialects.constants import is_dense
from xdsl_rlx.dialects.mir import (
    backward,
    cast,
    complex,
    control,
    elementwise,
    fused,
    index,
    linalg,
    loss,
    norm,
    reduce,
    shape,
    spectral,
)
from xdsl_rlx.dialects.mir.core import ActivationAttr


def ops_of(module: ModuleType) -> list[type[Operation]]:
    """The op classes defined in a family's file, in the order of their definition."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Operation)
        and value.__module__ == module.__name__
        and "name" in vars(value)
    ]


class _Materialize(ConstantMaterializationInterface):
    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation | None:
        if is_dense(value) and value.type == type:
            return elementwise.ConstantOp(value)
        return None


FAMILIES: tuple[ModuleType, ...] = (
    elementwise,
    cast,
    complex,
    linalg,
    shape,
    index,
    reduce,
    norm,
    loss,
    spectral,
    fused,
    backward,
    control,
)

Mir = Dialect(
    "mir",
    [op for family in FAMILIES for op in ops_of(family)],
    [ActivationAttr, spectral.FftNormAttr],
    [_Materialize()],
)
