"""Whether a value is an identity matrix."""

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.mir.cast import CastOp
from xdsl_rlx.dialects.mir.creation import IotaOp
from xdsl_rlx.dialects.mir.elementwise import AddOp, ConstantOp, EqOp
from xdsl_rlx.dialects.mir.shape import ExpandOp, ReshapeOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.canonicalize.mir import splat


def is_identity(value: SSAValue) -> bool:
    """
    Whether each matrix of [..., n, n] is the identity.

    It is if it is such a constant, or compares row numbers with column numbers.
    """
    *_, rows, columns = (0, 0, *shape_of(value))
    while isinstance(value.owner, CastOp | ExpandOp):
        value = value.owner.operand
    shape = tuple(shape_of(value))
    if shape != (rows, columns) or rows != columns:
        return False
    owner = value.owner
    if isinstance(owner, ConstantOp):
        return all(x == (k % (rows + 1) == 0) for k, x in enumerate(owner.value.get_values()))
    return isinstance(owner, EqOp) and sorted((_counted(owner.lhs), _counted(owner.rhs))) == [1, 2]


def _counted(value: SSAValue) -> int:
    """The axis, counted from the end, along which a value is its position from 0 on; 0 if it is something else."""
    shape = shape_of(value)
    while isinstance(value.owner, AddOp | ReshapeOp):
        owner = value.owner
        if isinstance(owner, AddOp) and splat(owner.rhs) != 0:
            return 0
        value = owner.lhs if isinstance(owner, AddOp) else owner.operand
    if not isinstance(value.owner, IotaOp) or len(shape_of(value)) != 1:
        return 0
    return 1 if len(shape) == 1 or shape[-2] == 1 else 2 if shape[-1] == 1 else 0
