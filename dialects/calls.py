"""What a caller passes to a public function, brought to what its annotations say, or an error that names the argument.

The annotations that a type checker reads are the one place where the type of an argument is said. Nothing here knows
an op; what an argument may be beside its type (an axis in range, a known word) its function says.
"""

from __future__ import annotations

import builtins
import difflib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cache, wraps
from itertools import islice
from operator import index
from types import FunctionType, NoneType, SimpleNamespace, UnionType
from typing import Any, ParamSpec, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from xdsl.ir import Attribute

from xdsl_rlx.dialects.arrays import is_array
from xdsl_rlx.dialects.errors import GraphTypeError

P = ParamSpec("P")
R = TypeVar("R")

Convert: TypeAlias = Callable[[Any], Any]

_LONGEST = 1 << 16
"""What an iterator without a length may yield: one without an end is told from others there."""

_NUMBERS = {bool, int, float, complex}

_RECEIVERS = ("self", "m")
"""Names of the first parameter of a method, and of a function that is a method of a builder: no argument of a call."""


class _Misfit(Exception):
    """An argument is not of the type that was asked for; a note on it may follow."""


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """
    Decorator of a function or method: arguments are converted to what their annotations say.

    NumPy's numbers become Python's, sequences tuples. What does not fit, is unknown or missing is a `GraphTypeError`.
    """
    signature: CallSignature | None = None
    converted = cast("Callable[..., R]", function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        nonlocal signature
        if signature is None:
            # not before: that would cost time when the package is imported
            signature = CallSignature(cast(FunctionType, function))
        positional, named = signature.bind(args, kwargs)
        return converted(*positional, **named)

    return call


def called_as(call: str, function: Callable[..., R]) -> Callable[..., R]:
    """
    Return a function that was passed as an argument, for calls that `call` shows, such as "scan: body(carry, x)".

    GraphTypeError, which begins with that, if it does not take these arguments.
    """

    def given(*args: Any, **kwargs: Any) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if not is_of_call(error):
                raise
            raise GraphTypeError(f"{call}: {error}") from None

    return given


def is_of_call(error: TypeError) -> bool:
    """Whether it is of the call itself where it is caught: no frame of the function is in the traceback."""
    return error.__traceback__ is not None and error.__traceback__.tb_next is None


@cache
def signature_of(function: Callable[..., Any]) -> CallSignature:
    """Return the signature of a public function, which converts the arguments of a call as `checked` does."""
    return CallSignature(cast(FunctionType, function))


class CallSignature:
    """The parameters of a function, and how what is passed for each is converted."""

    def __init__(self, function: FunctionType):
        self.name = function.__name__
        parameters = list(inspect.signature(function).parameters.values())
        found = [(p, _conversion(p.annotation, function.__module__)) for p in parameters]
        variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        self._positional = [
            (p.name, to) for p, to in found if p.kind not in (inspect.Parameter.KEYWORD_ONLY, *variable)
        ]
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        self._named = {p.name: to for p, to in found if p.kind in named}
        self._hidden = int(bool(parameters) and parameters[0].name in _RECEIVERS)
        self._shown = [p.name for p in parameters if p.kind not in variable and p.name not in _RECEIVERS]
        self._required = [p.name for p in parameters if p.default is p.empty and p.kind not in variable]
        self._rest: Conversion | None = next((to for p, to in found if p.kind == variable[0]), None)
        self._others: Conversion | None = next((to for p, to in found if p.kind == variable[1]), None)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments converted; GraphError for one that does not fit, is unknown, missing or given twice."""
        if not kwargs and len(args) == len(self._positional) == len(self._shown) + self._hidden:
            return [self._convert(name, to, x) for (name, to), x in zip(self._positional, args, strict=True)], {}
        if len(args) > len(self._positional) and self._rest is None:
            raise GraphTypeError(
                f"{self.name} takes {len(self._positional) - self._hidden} arguments by position, "
                f"got {len(args) - self._hidden}; they are {', '.join(self._shown)}"
            )
        positional = [self._convert(name, to, x) for (name, to), x in zip(self._positional, args, strict=False)]
        if self._rest is not None:
            rest = self._rest
            positional += [self._convert("an operand", rest, x) for x in args[len(self._positional) :]]
        taken = {name for name, _ in self._positional[: len(args)]}
        named: dict[str, Any] = {}
        for name, x in kwargs.items():
            to = self._named.get(name, self._others)
            if to is None:
                raise GraphTypeError(self._unknown(name))
            if name in taken and name in self._named:
                raise GraphTypeError(f"{self.name}: {name} is given by position and by name")
            named[name] = self._convert(name, to, x)
        taken |= named.keys() & self._named.keys()
        if missing := [name for name in self._required if name not in taken]:
            raise GraphTypeError(f"{self.name}: {missing[0]} is missing; its arguments are {', '.join(self._shown)}")
        return positional, named

    def _convert(self, name: str, conversion: Conversion, x: object) -> Any:
        try:
            return conversion.convert(x)
        except _Misfit as error:
            found = f"expected {conversion.expected}, got {shown(x)}{error}"
            if "integer" in conversion.expected:
                found += traced_note(x)
            raise GraphTypeError(f"{self.name}: {name}: {found}") from None

    def _unknown(self, name: str) -> str:
        names = self._shown
        if self.name in _JIT_USERS and name in _OF_JIT:
            ours = _OF_JIT[name]
            return f"{self.name} has no argument {name!r}: " + (f"did you mean {ours}=?" if ours in names else ours)
        plural = [one for one in names if {one, name} in ({"axis", "axes"}, {"dim", "axis"}, {"dim", "axes"})]
        close = plural or difflib.get_close_matches(name, names, 1)
        hint = f"did you mean {close[0]}=?" if close else f"its arguments are {', '.join(names) or 'none'}"
        return f"{self.name} has no argument {name!r}: {hint}"


class Conversion:
    """How an argument is converted, and in words what it may be."""

    def __init__(self, convert: Convert, expected: str):
        self.convert = convert
        self.expected = expected


_JIT_USERS = ("compile", "jit")
_NO_PLACEMENT = "the CPU is the only device; omit it"
_OF_JIT = {
    **dict.fromkeys(("static_argnums", "static_argnames"), "static"),
    **dict.fromkeys(("donate_argnums", "donate_argnames"), "donate"),
    **dict.fromkeys(("device", "in_shardings", "out_shardings", "axis_env"), _NO_PLACEMENT),
    "keep_unused": "unused arguments cost nothing; omit it",
    "inline": "calls of compiled functions while tracing are always inlined; omit it",
    "abstracted_axes": "a function is compiled once for each signature; omit it",
    "compiler_options": "options are arguments of rlx.compile and environment variables; omit it",
    # of torch.compile
    "fullgraph": "a function is always one graph; omit it",
    "dynamic": "a function is compiled once for each signature; omit it",
    "mode": "there is one level of optimisation; omit it",
}
"""Arguments of `jax.jit` and `torch.compile`: the one of ours, or why there is none."""


def traced_note(x: object) -> str:
    """What to do about a traced value where a number is needed while tracing; empty for anything else."""
    several = cast("Sequence[object]", x) if isinstance(x, list | tuple) else (x,)
    if all(type(one).__name__ != "Value" for one in several):
        return ""
    return '; it is needed while the function is traced: name its argument in static= of rlx.compile, as in static="n"'


def shown(x: object) -> str:
    """An argument as an error message shows it: its text, or its type where that is long."""
    plain = isinstance(x, str | bytes | int | float | complex | list | tuple | NoneType)
    kind = type(x).__name__
    if not plain or (isinstance(x, int) and x.bit_length() > 200):
        return f"an object of type {kind}"
    text = repr(cast(object, x))
    return text if len(text) <= 60 and "\n" not in text else f"an object of type {kind}"


def hint_of(annotation: object, module: str) -> object:
    """The type that an annotation of a module names; None where that is imported for type checkers only."""
    names = vars(sys.modules[module])
    if not isinstance(annotation, str):
        return annotation
    if isinstance(names.get(annotation), str):
        # an alias that is recursive, or of types for type checkers only
        return None
    try:
        return get_type_hints(SimpleNamespace(__annotations__={"it": annotation}), names, _Names(names))["it"]
    except (NameError, TypeError):
        return None


class _Names(dict[str, object]):
    """Those of a module. One that is imported for type checkers only stands for any type, as in `Sequence[Operand]`."""

    def __missing__(self, name: str) -> object:
        return getattr(builtins, name, Any)


@cache
def _conversion(annotation: object, module: str) -> Conversion:
    """That of an annotation as a module of that name writes it: a few words, in signature after signature."""
    hint = hint_of(annotation, module)
    # without one, the function itself says what it takes
    return _ANYTHING if hint is None else _of_type(hint)


def _of_type(annotation: Any) -> Conversion:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return _of_union(inner)
    if origin is Sequence:
        return _of_sequence(inner[0])
    if origin is Callable:
        return _FUNCTION
    return _of_class(annotation) if isinstance(annotation, type) else _ANYTHING


def _of_union(members: Sequence[Any]) -> Conversion:
    """One whose members stand for operands is checked and not converted: what a number becomes the operand says."""
    if set(members) >= _NUMBERS:
        if any(get_origin(member) is Sequence for member in members):
            return _ANYTHING
        classes = tuple(member for member in members if member is not NoneType)
        optional = " or None" if NoneType in members else ""
        names = [words for c in classes if c not in _NUMBERS and (words := _words(c))]
        given = (*classes, *([NoneType] if optional else []))
        # "an array" of the annotation is one of any library
        arrays = is_array if "an array" in names else None
        return _instance(given, _either([*names, "a number"]) + optional, arrays)
    found = [_of_type(member) for member in members]
    if _ANYTHING in found:
        return _ANYTHING

    def convert(x: Any) -> Any:
        notes: list[str] = []
        for one in found:
            try:
                return one.convert(x)
            except _Misfit as error:
                notes.append(str(error))
        raise _Misfit("".join(notes))

    return Conversion(convert, " or ".join(dict.fromkeys(one.expected for one in found)))


def _of_sequence(member: Any) -> Conversion:
    inner = _of_type(member)

    def convert(x: Any) -> Any:
        if isinstance(x, str | bytes | Mapping | Set) or (member is not int and not isinstance(x, Iterable)):
            raise _Misfit
        if not isinstance(x, Iterable):
            return (inner.convert(x),)
        found = _elements(cast("Iterable[Any]", x))
        if inner is _FUNCTION and (others := [number for number, one in enumerate(found) if not callable(one)]):
            raise _Misfit(f", whose element {others[0]} is {shown(found[others[0]])}")
        return tuple(inner.convert(one) for one in found)

    words = {int: "integers", float: "numbers", str: "names"}
    others = "functions" if inner is _FUNCTION else "values"
    return Conversion(convert, words.get(member, f"a sequence of {others}"))


def _elements(x: Iterable[Any]) -> list[Any]:
    try:
        found = list(x if hasattr(x, "__len__") else islice(x, _LONGEST + 1))
    except TypeError:
        # an array without dimensions
        raise _Misfit from None
    if len(found) > _LONGEST and not hasattr(x, "__len__"):
        raise _Misfit
    return found


@cache
def _of_class(kind: type) -> Conversion:
    """Words and attributes are checked; of what else there is, graphs say more about themselves."""
    if kind in _CLASSES:
        return _CLASSES[kind]
    # not `issubclass`, which asks all subclasses of an abstract class, of attributes hundreds
    return _instance((kind,), _words(kind)) if {str, Attribute} & {*kind.__mro__} else _ANYTHING


def _instance(classes: tuple[type, ...], expected: str, others: Callable[[Any], bool] | None = None) -> Conversion:
    """What is of these classes or is one of the others, as it is."""

    def convert(x: Any) -> Any:
        if isinstance(x, classes) or (others is not None and others(x)):
            return x
        raise _Misfit

    return Conversion(convert, expected)


def _words(kind: type) -> str:
    """A class in an error message; "" for one that users do not hold."""
    name = kind.__name__
    return {"Value": "a value", "Array": "an array", "SSAValue": ""}.get(name, f"a {name}")


def _either(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _integer(x: Any) -> int:
    """NumPy's integers too, and an array of one without dimensions; no truth values, and no more than 64 bits."""
    if isinstance(x, bool):
        raise _Misfit
    try:
        found = index(x)
    except TypeError:
        raise _Misfit from None
    if not -(1 << 63) <= found < 1 << 63:
        raise _Misfit(", more than 64 bits")
    return found


def _real(x: Any) -> float:
    if (
        isinstance(x, bool | str | bytes | complex)
        or hasattr(x, "filled")
        or not (hasattr(x, "__float__") or hasattr(x, "__index__"))
    ):
        raise _Misfit
    try:
        return float(x)
    except (TypeError, ValueError, OverflowError):
        raise _Misfit from None


def _flag(x: Any) -> bool:
    """Also NumPy's, and 0 and 1."""
    if isinstance(x, bool):
        return x
    if getattr(getattr(x, "dtype", None), "name", None) == "bool" and getattr(x, "shape", None) == ():
        return bool(x)
    try:
        return {0: False, 1: True}[index(x)]
    except (TypeError, KeyError):
        raise _Misfit from None


def _function(x: Any) -> Callable[..., Any]:
    if not callable(x):
        raise _Misfit
    return x


_ANYTHING = Conversion(lambda x: x, "anything")
_FUNCTION = Conversion(_function, "a function")
_CLASSES: dict[type, Conversion] = {
    int: Conversion(_integer, "an integer"),
    float: Conversion(_real, "a number"),
    bool: Conversion(_flag, "True or False"),
    str: _instance((str,), "a string"),
    NoneType: _instance((NoneType,), "None"),
}
