"""Values that have a name: arguments, and what the builder's `tap` has named, by an attribute of the op."""

from __future__ import annotations

from collections.abc import Sequence

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


def values_named(graph: Signature, names: Sequence[str], by: str) -> list[SSAValue]:
    """
    The arguments and tapped values of these names, in order.

    PassFailedException lists what there is if a name is unknown.
    """
    arguments = {argument.name: argument.value for argument in graph.arguments}
    if all(name in arguments for name in names):
        return [arguments[name] for name in names]
    known = taps_of(graph)
    for name in names:
        if name not in known:
            kinds = "argument" if len(known) == len(arguments) else "argument or tap"
            raise PassFailedException(f'{by}: @{graph.name} has no {kinds} "{name}"; it has {", ".join(known)}')
    return [known[name] for name in names]
