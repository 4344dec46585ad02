"""Composite ops on their way to lowering: their definitions, in the form that loops are made of."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir.branch import IfOp, RematOp, WhileOp
from xdsl_rlx.dialects.mir.core import OwnNest
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.lowering.fuse.loop_tables import LOOPS, NORMALIZE, PLACE, VIEW
from xdsl_rlx.transforms.engines.define import decompose, rewrite_by
from xdsl_rlx.transforms.mir_lower_complex import lower_complex
from xdsl_rlx.transforms.simplify import canonicalize, share_common, share_reductions


def keeps_bodies(op: Operation) -> bool:
    """Whether an op is run as what it is, a loop or a branch. A scan whose body runs once is replaced by that."""
    return isinstance(op, IfOp | WhileOp | RematOp) or (isinstance(op, ScanOp) and op.times > 1)


def decompose_composites(ctx: Context, module: ModuleOp) -> None:
    """Leave only ops that lowering knows; what definitions repeat (statistics of a norm, say) is computed once."""

    def composite(op: Operation) -> bool:
        kind = type(op)
        if op.has_trait(OwnNest) or keeps_bodies(op):
            return False
        return LOOPS.get(kind) is None and VIEW.get(kind) is None and PLACE.get(kind) is None

    decompose(module, composite)
    lower_complex(module)
    decompose(module, composite)
    for op in list(module.walk()):
        if (rule := NORMALIZE.get(type(op))) is not None:
            rewrite_by(op, rule)
    # before results that nothing reads go: of equal scans, one may stack what another one is read for
    share_common(module)
    share_reductions(module)
    canonicalize(ctx, module)
    share_common(module)
