"""The pass `mir-pin-taps`: tapped values stay in the program, to be differentiated with respect to."""

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.mir.fake_quantize import StraightThroughOp
from xdsl_rlx.dialects.mir.quantize import TAP
from xdsl_rlx.transforms.driver import RewritingPass, sweep
from xdsl_rlx.transforms.engines.reverse import has_derivative
from xdsl_rlx.transforms.signature import graph_of
from xdsl_rlx.transforms.taps import taps_of


@dataclass(frozen=True)
class PinTaps(RewritePattern):
    """Move the names of tapped values to identity ops behind them, which take their places for all users."""

    names: Mapping[SSAValue, str]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, StraightThroughOp) and op.results and (name := self.names.get(op.results[0])) is not None:
            del op.attributes[TAP]
            pin(op.results[0], name)
            rewriter.notify_op_modified(op)


def pin(value: SSAValue, name: str) -> None:
    """Put an identity op that has a name behind a value, and let the value's users use its result."""
    owner = value.owner
    assert isinstance(owner, Operation) and owner.parent is not None
    op = StraightThroughOp(value, value)
    op.attributes[TAP] = StringAttr(name)
    op.location = owner.location
    op.result.name_hint = value.name_hint
    owner.parent.insert_op_after(op, owner)
    value.replace_uses_with_if(op.result, lambda use: use.operation is not op)


@dataclass(frozen=True)
class MirPinTapsPass(RewritingPass):
    """
    Put an identity behind the tapped values of these names, so that later passes keep them.

    ```
    %h = mir.matmul %x, %w {mir.tap = "h"}
    %y = mir.add %h, %b
    // becomes
    %0 = mir.matmul %x, %w
    %h = mir.straight_through %0, %0 {mir.tap = "h"}
    %y = mir.add %h, %b
    ```

    The values also become results, with the attribute `mir.kept`, which `mir-grad` removes. `rlx-grad` runs this pass
    before composite ops are decomposed or recognised: either would leave no value of that name. Lowering removes the
    identities. Names of arguments are ignored.
    """

    name = "mir-pin-taps"

    names: tuple[str, ...]
    """Names of taps."""

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        graph = graph_of(module, self.name)
        arguments = {argument.name for argument in graph.arguments}
        wanted = [name for name in dict.fromkeys(self.names) if name not in arguments]
        taps = taps_of(graph) if wanted else {}
        pinned = [name for name in wanted if name in taps]
        for name in pinned:
            if not has_derivative(taps[name]):
                raise PassFailedException(f'{self.name}: "{name}" is {taps[name].type}, which is not floating-point')
        if pinned:
            sweep(module, PinTaps({taps[name]: name for name in pinned}))
            taps = taps_of(graph)
            graph.keep({name: taps[name] for name in pinned})
        return bool(pinned)
