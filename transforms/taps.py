"""Values that have a name: arguments, and what the builder's `tap` has named, by an attribute of the op."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.mir.quantize import TAP
from xdsl_rlx.dialects.names import text_of
from xdsl_rlx.transforms.signature import Signature


def taps_of(graph: Signature) -> dict[str, SSAValue]:
    """The arguments by name, and the named values of the function; PassFailedException if two share a name."""
    found: dict[str, SSAValue] = {argument.name: argument.value for argument in graph.arguments}
    for op in graph.block.ops:
        if (name := text_of(op.attributes.get(TAP))) is not None:
            if name in found:
                raise PassFailedException(f'two values of @{graph.name} are named "{name}"')
            found[name] = op.results[0]
    return found
