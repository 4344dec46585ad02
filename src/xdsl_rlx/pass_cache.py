"""Run passes on a graph, or take the result's signature from the disk cache and run them on first use.

Graph classes are in `builder.py`. Passes as functions are in `passes.py`, `derivatives.py` and `low_precision.py`."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_rlx.collector import paused_collector
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.lowering import cache as disk_cache
from xdsl_rlx.transforms.driver import run_in_order, verify_dominance
from xdsl_rlx.transforms.signature import NamedArgument, Signature

_OUTCOME = re.compile("(hir|mir|lir) ([0-9a-f]{64})")


@dataclass(frozen=True)
class Interface:
    """The arguments of a graph, and the types of its outputs."""

    arguments: Sequence[NamedArgument]
    outputs: tuple[Attribute, ...]

    @staticmethod
    def of(signature: Signature) -> Interface:
        """Return the interface of a function."""
        return Interface(signature.arguments, tuple(output.type for output in signature.outputs))

    @staticmethod
    def read(lines: Sequence[str]) -> Interface:
        """Return the interface of these lines: the inverse of `lines`."""
        found: list[str | list[Any]] = [json.loads(line) for line in lines]
        arguments, outputs = [x for x in found if not isinstance(x, str)], [x for x in found if isinstance(x, str)]
        block = Block(arg_types=[_type(type_) for type_, *_ in arguments])
        return Interface(
            [
                NamedArgument(name, kind, value, *rest)
                for (_, name, kind, *rest), value in zip(arguments, block.args, strict=True)
            ],
            tuple(map(_type, outputs)),
        )

    def lines(self) -> list[str]:
        """Return a line of JSON for each argument and each output; names may contain any characters."""
        arguments = [
            [str(a.value.type), a.name, a.kind, a.optional, a.tangent_of, a.cotangent_of] for a in self.arguments
        ]
        return [json.dumps(one) for one in (*arguments, *map(str, self.outputs))]


@cache
def _type(text: str) -> Attribute:
    return Parser(context(), text).parse_attribute()


@dataclass(frozen=True)
class Outcome:
    """What can be told of the result of passes without running them; that of a program has no interface."""

    stage: str
    fingerprint: str
    interface: Interface | None


@dataclass(frozen=True)
class Derivation:
    """Passes still to run on a module that nobody changes, and what is known of their result."""

    origin: ModuleOp
    passes: tuple[ModulePass, ...]
    outcome: Outcome
    signature_only: bool = False
    """Whether the passes change nothing but the signature."""

    def run(self) -> ModuleOp:
        """The result, verified."""
        return apply_passes(self.origin, self.passes, self.signature_only)


@paused_collector()
def apply_passes(origin: ModuleOp, passes: Sequence[ModulePass], signature_only: bool = False) -> ModuleOp:
    """
    A copy that has gone through the passes, verified; GraphError for a module that a pass cannot do.

    Passes that change the `signature_only` leave all other ops as verified as they were.
    """
    module = origin.clone()
    try:
        if not signature_only:
            verify_dominance(module)
        run_in_order(context(), module, passes)
        for op in module.ops if signature_only else (module,):
            op.verify(verify_nested_ops=not signature_only)
    except (PassFailedException, VerifyException, ValueError) as error:
        raise GraphError(str(error)) from error
    return module


def outcome_key(fingerprint: str, passes: Sequence[ModulePass]) -> str | None:
    """
    The cache key of what `passes` make of the module with that fingerprint.

    None for passes from elsewhere: the key covers the text of this package and the version of xDSL, no other code.
    """
    names = [f"{type(one).__module__}.{one!r}" for one in passes]
    if any(name.partition(".")[0] not in ("xdsl", "xdsl_rlx") for name in names):
        return None
    return hashlib.sha256("\n".join(("passes", disk_cache.package_key(), fingerprint, *names)).encode()).hexdigest()


def known_outcome(key: str) -> Outcome | None:
    """What was noted under the key, by this or another process; None if nothing was, or nothing that can be read."""
    return disk_cache.load_as(key, _outcome)


def _outcome(payload: bytes) -> Outcome:
    first, *lines = payload.decode().split("\n")
    if (found := _OUTCOME.fullmatch(first)) is None:
        raise ValueError("it names no stage and fingerprint")
    return Outcome(found[1], found[2], None if found[1] == "lir" else Interface.read(lines))


def note_outcome(key: str, outcome: Outcome) -> None:
    """Note under the key that the passes succeed, and what comes out."""
    lines = [] if outcome.interface is None else outcome.interface.lines()
    disk_cache.store(key, "\n".join((f"{outcome.stage} {outcome.fingerprint}", *lines)).encode())
