"""Exceptions of the public API. Wrong IR is a VerifyException of xDSL; a pass that gives up, a PassFailedException."""


class RlxError(Exception):
    """Base class of all errors that the Python API raises for invalid use."""


class GraphError(RlxError, ValueError):
    """A graph is invalid: wrong shapes or element types, a duplicate or unknown name, or a wrong stage."""


class GraphTypeError(GraphError, TypeError):
    """An argument of a function on graphs has a wrong type, is missing, unknown or passed twice."""


class GraphIndexError(GraphError, IndexError):
    """An index of a value is out of range, or there are too many indices."""


class GraphAttributeError(GraphError, AttributeError):
    """A value has no attribute of that name."""


class CheckpointError(RlxError, ValueError):
    """A file cannot be read, does not hold the requested tree, or cannot store the given tree."""


class NanError(RlxError, FloatingPointError):
    """A result has NaN; the message names the op that made it, its location and its positions."""
