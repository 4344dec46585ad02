"""Exceptions of the public API. Wrong IR is a VerifyException of xDSL; a pass that gives up, a PassFailedException."""


class RlxError(Exception):
    """Every mistake a user of the Python API can make is one of these."""


class GraphError(RlxError, ValueError):
    """A graph cannot be built as asked: wrong shapes or element types, a duplicate or unknown name, a wrong stage."""
