"""Exceptions of the lowering layer: everything a user can do wrong with a compiled program.
Wrong IR is not here: that is xDSL's `VerifyException` and `PassFailedException`."""

from xdsl_rlx.dialects.errors import RlxError


class ArgumentError(RlxError, ValueError):
    """An argument of a compiled graph has a wrong shape, layout or value."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument of a compiled graph is missing, unknown, given twice, or of a dtype that does not convert safely."""


class MissingParamError(ArgumentTypeError, KeyError):
    """A param is unknown, or has no value yet: `Weights.get`, as of any mapping, gives its default."""

    __str__ = Exception.__str__


class OutOfBoundsError(RlxError, IndexError):
    """A `lir.check` failed while a program ran: its results are undefined, arguments and params as they were."""


class ConfigurationError(RlxError, ValueError):
    """A setting (thread count, environment variable) has a value that means nothing."""


class CompileError(RlxError, RuntimeError):
    """The generated LLVM text was rejected: a defect of the compiler, not of the model."""


class CacheWarning(UserWarning):
    """The on-disk cache could not be used as intended; results are not affected."""


class NestError(RlxError, TypeError):
    """A nest is outside of the supported subset of Python, or mixes types: file, line and cure."""
