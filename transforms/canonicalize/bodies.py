"""Canonicalization of ops with bodies."""

from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern

_PATTERNS: dict[type[Operation], tuple[RewritePattern, ...]] = {}


def patterns_of(op: type[Operation]) -> tuple[RewritePattern, ...]:
    """The patterns of an op class, in the order they are tried."""
    return _PATTERNS.get(op, ())
