"""Exceptions of the public API. Wrong IR is a VerifyException of xDSL; a pass that gives up, a PassFailedException."""


class RlxError(Exception):
    """Every mistake a user of the Python API can make is one of these."""


class GraphError(RlxError, ValueError):
    """A graph cannot be built as asked: wrong shapes or element types, a duplicate or unknown name, a wrong stage."""


class GraphTypeError(GraphError, TypeError):
    """An argument of a function on graphs is of a wrong type, missing, unknown or given twice."""


class GraphIndexError(GraphError, IndexError):
    """An index of a value is out of range, or there are too many."""


class GraphAttributeError(GraphError, AttributeError):
    """A value has no attribute of that name."""


class CheckpointError(RlxError, ValueError):
    """A file cannot be read, does not hold the tree that was asked for, or cannot hold the tree that is given."""
