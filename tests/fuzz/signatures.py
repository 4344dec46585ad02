"""Random Python functions, of every kind of callable and of parameter, and random calls of them, legal and not.

A function adds cubes and products of all that it is given, with weights that tell places, names and orders apart.
"""

import functools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

NAMES = [
    *(
        "x",
        "w",
        "w_in",
        "x_t",
        "x_t_2",
        "b",
        "graph",
        "d_output",
        "tangent_x",
        "captured_0",
        "größe",
        "function",
        "out",
    ),
    *(
        "cls",
        "threads",
        "name",
        "values",
        "builder",
        "run",
        "args_0",
        "arg0",
        "DEFAULT",
        "bound",
        "params",
        "self_",
        "ß",
    ),
]
KINDS = ("function", "method", "class method", "static method", "callable", "partial", "wrapped")
FIRST = {"method": "self", "callable": "self", "class method": "cls"}
"""The parameter in front of the others, which takes the object or the class."""

STATIC = (2, True, "abc", None, (1, "x"), 3)
AXIS = 3
"""The length of what is batched."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a generated function."""

    name: str
    kind: str
    """`only` by position, `any`, `*`, `named` or `**`."""
    content: str
    """`array`, `tree`, `number` or `static`."""
    default: bool

    @property
    def text(self) -> str:
        """As the parameter stands in a signature."""
        return (
            {"*": "*", "**": "**"}.get(self.kind, "")
            + self.name
            + (f"=DEFAULTS[{self.name!r}]" if self.default else "")
        )


@dataclass
class Case:
    """A callable, and arguments for it."""

    call: Callable[..., Any]
    parameters: list[Parameter]
    """Those that a call fills."""
    body: list[Callable[..., Any]]
    """What the callable computes with its bound arguments can be set here."""
    names: list[str]
    """Of all parameters, in the order in which the body has them."""
    kind: str
    """Which kind of callable it is."""
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)

    def bound_to(self, bound: Any, name: int | str) -> Any:
        """What the body has of an argument; a number is the position of one of `*args`."""
        if any(one.name == name for one in self.parameters):
            return bound[self.names.index(str(name))][1]
        kinds = {one.kind: one.name for one in self.parameters}
        if isinstance(name, str):
            return bound[self.names.index(kinds["**"])][1][name]
        return bound[self.names.index(kinds["*"])][1][name - sum(p.kind in ("only", "any") for p in self.parameters)]

    def places(self) -> Iterator[tuple[int | str, int | str, Any]]:
        """
        Each argument that `argnums` may name: how, where it is in the call, and its value.

        The name of a positional-only parameter means that one, not a keyword of `**kwargs` that is spelled the same.
        """
        positional = [one for one in self.parameters if one.kind in ("only", "any")]
        for n, value in enumerate(self.args):
            yield (positional[n].name if n < len(positional) else n), n, value
        for name, value in self.kwargs.items():
            if not self.is_hidden(name):
                yield name, name, value

    def spellings(self, rng: random.Random, most: int) -> Iterator[tuple[list[Any], dict[str, Any]]]:
        """Other ways to write the same call: by position or by name, in any order but for keywords of `**kwargs`."""
        either = [n for n, one in enumerate(self.parameters) if one.kind == "any"]
        positional = sum(one.kind in ("only", "any") for one in self.parameters)
        if not either or len(self.args) > positional or self.kind == "wrapped":
            either = []
        for _ in range(most):
            args, kwargs = list(self.args), dict(self.kwargs)
            while either and len(args) > either[0] and rng.random() < 0.6:
                value = args.pop()
                kwargs[self.parameters[len(args)].name] = value
            while either and len(args) in either and self.parameters[len(args)].name in kwargs and rng.random() < 0.4:
                args.append(kwargs.pop(self.parameters[len(args)].name))
            names = list(kwargs)
            rng.shuffle(names)
            extra = (name for name in kwargs if self.is_extra(name))
            names = [next(extra) if self.is_extra(name) else name for name in names]
            yield args, {name: kwargs[name] for name in names}

    def is_extra(self, name: str) -> bool:
        """Whether a keyword is one of `**kwargs`."""
        return not any(one.name == name and one.kind in ("any", "named") for one in self.parameters)

    def is_hidden(self, name: int | str) -> bool:
        """Whether a keyword of `**kwargs` is spelled like a positional-only parameter, so that no name means it."""
        return any(one.name == name and one.kind == "only" for one in self.parameters)


def draw(rng: random.Random, content: str) -> Any:
    """A value for a parameter."""
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    if content == "static":
        return rng.choice(STATIC)
    if content == "number":
        return rng.choice([0.5, -1.25, 2.0])
    if content == "tree":
        keys = rng.sample(["w", "b", "a_1", "a"], 2)
        return {keys[0]: numbers.normal(size=2), keys[1]: [numbers.normal(size=2), (numbers.normal(size=2),)]}
    return numbers.normal(size=2)


def leaves(value: Any, weight: float = 1.0) -> Iterator[tuple[float, Any]]:
    """The leaves of a value in the order in which a program meets them, with a weight for the place of each."""
    if isinstance(value, dict):
        for n, (key, one) in enumerate(value.items()):
            yield from leaves(one, weight + 0.1 * n + 0.01 * len(str(key)))
    elif isinstance(value, tuple | list):
        for n, one in enumerate(value):
            yield from leaves(one, weight + 0.3 * n)
    else:
        yield weight, value


def combined(bound: Any) -> Any:
    """One number that depends on everything that is bound, and on where it is."""
    total, before = 0.0, 1.0
    for weight, leaf in leaves(bound):
        if isinstance(leaf, str):
            total = total * (1 + 0.1 * len(leaf))
        elif leaf is None:
            total = total + 0.25
        elif isinstance(leaf, bool):
            # `if` on it must work: a truth value decides what is traced
            total = total * 2.0 if leaf else total
        else:
            cube = leaf * leaf * leaf + before * leaf
            total = total + weight * (cube.sum() if hasattr(cube, "sum") else cube)
            before = leaf.sum() * 0.5 if hasattr(leaf, "sum") else leaf * 0.5
    return total


def signature(rng: random.Random, positional_only: bool) -> list[Parameter]:
    """Parameters, with at least one that holds arrays; `positional_only` leaves out all that have to be named."""
    names = iter(rng.sample(NAMES, len(NAMES)))
    counts = {"only": rng.randrange(3), "any": rng.randrange(3), "named": 0 if positional_only else rng.randrange(3)}
    found: list[Parameter] = []
    optional = False
    for kind in ("only", "any"):
        for _ in range(counts[kind]):
            optional = optional or rng.random() < 0.2
            found.append(Parameter(next(names), kind, _content(rng), optional))
    if rng.random() < 0.4:
        found.append(Parameter(next(names), "*", rng.choice(["array", "tree"]), False))
    for _ in range(counts["named"]):
        found.append(Parameter(next(names), "named", _content(rng), rng.random() < 0.4))
    if not positional_only and rng.random() < 0.4:
        found.append(Parameter(next(names), "**", rng.choice(["array", "tree"]), False))
    if not any(one.content in ("array", "tree") and one.kind in ("only", "any") and not one.default for one in found):
        found.insert(0, Parameter(next(names), "only", "array", False))
    return found


def _content(rng: random.Random) -> str:
    return rng.choice(["array", "array", "tree", "number", "static"])


def case(seed: int, positional_only: bool = False) -> Case:
    """A callable with arguments for a legal call."""
    rng = random.Random(seed)
    parameters = signature(rng, positional_only)
    kind = rng.choice(KINDS)
    defaults = {one.name: draw(rng, one.content) for one in parameters if one.default}
    body: list[Callable[..., Any]] = [combined]
    first = FIRST.get(kind, "")
    own = "self.w" if kind in ("method", "callable") else "len(cls.__name__)" if kind == "class method" else "0.5"
    bound = ", ".join(f"({n}.5, {one.name})" for n, one in enumerate(parameters))
    text = f"def f({first and f'{first}, '}{_written(parameters)}):\n return BODY[0]([{bound}, {own}])"
    if first and any(one.name == first for one in parameters):
        return case(seed + 1_000_000, positional_only)
    made: dict[str, Any] = {"DEFAULTS": defaults, "BODY": body}
    exec(text, made)
    names = [one.name for one in parameters]
    return _called(rng, Case(_callable(rng, kind, made["f"], parameters), parameters, body, names, kind))


def _written(parameters: list[Parameter]) -> str:
    found: list[str] = []
    for n, one in enumerate(parameters):
        before = parameters[n - 1].kind if n else ""
        if before == "only" and one.kind != "only":
            found.append("/")
        if one.kind == "named" and before not in ("*", "named"):
            found.append("*")
        found.append(one.text)
    if parameters[-1].kind == "only":
        found.append("/")
    return ", ".join(found)


def _callable(rng: random.Random, kind: str, function: Callable[..., Any], parameters: list[Parameter]) -> Any:
    """The function as a callable of a kind; a parameter that a partial fills is taken out of the list."""
    if kind == "method":
        model = type("Model", (), {"f": function})()
        model.w = np.array([0.5, 1.5])
        return model.f
    if kind == "callable":
        model = type("Model", (), {"__call__": function})()
        model.w = np.array([0.5, 1.5])
        return model
    if kind == "class method":
        return type("Model", (), {"f": classmethod(function)})().f
    if kind == "static method":
        return type("Model", (), {"f": staticmethod(function)}).f
    if kind == "partial" and parameters[0].kind in ("only", "any") and len(parameters) > 1:
        one = parameters.pop(0)
        if not any(p.content in ("array", "tree") and p.kind in ("only", "any") and not p.default for p in parameters):
            parameters.insert(0, one)
            return function
        return functools.partial(function, draw(rng, one.content))
    if kind == "wrapped":

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper
    return function


def _called(rng: random.Random, made: Case) -> Case:
    positional = True
    for one in made.parameters:
        if one.kind == "*":
            if positional:
                made.args += [draw(rng, one.content) for _ in range(rng.randrange(3))]
        elif one.kind == "**":
            taken = {p.name for p in made.parameters if p.kind != "only"} | {FIRST.get(made.kind, "")}
            names = [name for name in NAMES if name not in taken]
            made.kwargs |= {name: draw(rng, one.content) for name in rng.sample(names, rng.randrange(3))}
        elif one.kind == "only":
            if one.default and rng.random() < 0.4:
                positional = False
            if positional:
                made.args.append(draw(rng, one.content))
        else:
            positional = positional and one.kind == "any" and rng.random() < 0.7
            if positional:
                made.args.append(draw(rng, one.content))
            elif not (one.default and rng.random() < 0.4):
                made.kwargs[one.name] = draw(rng, one.content)
    items = list(made.kwargs.items())
    rng.shuffle(items)
    made.kwargs = dict(items)
    return made
