"""Composite ops on their way to lowering: their definitions, in the form that loops are made of."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xdsl_rlx.dialects.mir.branch import IfOp, RematOp, WhileOp
from xdsl_rlx.dialects.mir.builder import MirBuilder
from xdsl_rlx.dialects.mir.core import OwnNest
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.transforms.driver import rewrite
from xdsl_rlx.transforms.engines.define import Decompose
from xdsl_rlx.transforms.mir_lower_complex import MirLowerComplexPass
from xdsl_rlx.transforms.rules.lowering import LOOPS, NORMALIZE, PLACE, VIEW
from xdsl_rlx.transforms.simplify import canonicalize, share_common, share_reductions


def keeps_bodies(op: Operation) -> bool:
    """Whether an op is run as what it is, a loop or a branch. A scan whose body runs once is replaced by that."""
    return isinstance(op, IfOp | WhileOp | RematOp) or (isinstance(op, ScanOp) and op.times > 1)


class Normalize(RewritePattern):
    """The cases of an op that have no loops become other ops, by the op's row of NORMALIZE."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        rule = NORMALIZE.get(type(op))
        values = None if rule is None else rule(op, MirBuilder(rewriter))
        if values is not None:
            rewriter.replace(op, [], [value.ssa for value in values])


def decompose_composites(ctx: Context, module: ModuleOp) -> None:
    """Leave only ops that lowering knows; what definitions repeat (statistics of a norm, say) is computed once."""

    def composite(op: Operation) -> bool:
        kind = type(op)
        if op.has_trait(OwnNest) or keeps_bodies(op):
            return False
        return LOOPS.get(kind) is None and VIEW.get(kind) is None and PLACE.get(kind) is None

    rewrite(module, Decompose(composite))
    MirLowerComplexPass().run(ctx, module)
    rewrite(module, Decompose(composite))
    rewrite(module, Normalize())
    # before results that nothing reads go: of equal scans, one may stack what another one is read for
    share_common(module)
    share_reductions(module)
    canonicalize(ctx, module)
    share_common(module)
