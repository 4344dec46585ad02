"""
Exceptions of the lowering layer: all errors of invalid use of a compiled program.

Invalid IR raises xDSL's `VerifyException` or `PassFailedException` instead.
"""

from xdsl_rlx.dialects.errors import RlxError


class ArgumentError(RlxError, ValueError):
    """An argument of a compiled graph has a wrong shape, layout or value."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument of a compiled graph is missing, unknown, passed twice, or of a dtype that does not convert safely."""


class MissingParamError(ArgumentTypeError, KeyError):
    """A param is unknown or has no value yet. A subclass of KeyError, so that `Weights.get` returns its default."""

    __str__ = Exception.__str__


class OutOfBoundsError(RlxError, IndexError):
    """A `lir.check` failed during a run: results are undefined; arguments and params are unchanged unless donated."""


class ConfigurationError(RlxError, ValueError):
    """A setting (thread count, environment variable) has an invalid value."""


class DistributedError(RlxError, RuntimeError):
    """Processes of one program cannot go on together: one is missing, hangs, or runs another program."""


class CompileError(RlxError, RuntimeError):
    """LLVM rejected the generated code: a defect of the compiler, not of the model."""


class CacheWarning(UserWarning):
    """The on-disk cache could not be used as intended; results are not affected."""


class KernelError(RlxError, TypeError):
    """
    A kernel function is outside of the supported subset of Python, or mixes types; the message has file, line and fix.
    """
