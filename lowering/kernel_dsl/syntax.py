"""Functions as syntax trees, and the walk over the subset of Python that is translated: which statements and
expressions there are, and what is said of others. What they become is up to who walks: nests (`translate.py`), the
driver's words."""

from __future__ import annotations

import ast
import linecache
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cache
from types import CodeType, FunctionType
from typing import Generic, NoReturn, TypeVar
from weakref import WeakKeyDictionary

from xdsl_rlx.lowering.run_errors import KernelError

T = TypeVar("T")


_TREES: WeakKeyDictionary[CodeType, ast.FunctionDef] = WeakKeyDictionary()
"""Trees of functions that were asked for: a nest calls the same ones again and again."""


def tree_of(function: FunctionType) -> ast.FunctionDef:
    """The tree of a function, with the line numbers of its file. Raises `KernelError` where there is no source."""
    if (known := _TREES.get(function.__code__)) is None:
        known = _TREES[function.__code__] = _parsed(function)
    return known


def _parsed(function: FunctionType) -> ast.FunctionDef:
    code = function.__code__
    if code.co_name == "<lambda>":
        raise KernelError(f"{code.co_filename}:{code.co_firstlineno}: a lambda is not supported; define it with def")
    lines = linecache.getlines(code.co_filename, function.__globals__)
    tree = _function(_statements("".join(lines)), code.co_firstlineno, code.co_name)
    if tree is None:
        raise KernelError(f"{code.co_qualname} has no source text to translate; define it with def, in a file")
    return tree


@cache
def _statements(source: str) -> tuple[ast.stmt, ...]:
    """The statements of a file; none of what is no Python."""
    try:
        return tuple(ast.parse(source).body)
    except SyntaxError:
        return ()


def _function(statements: Iterable[ast.AST], line: int, name: str) -> ast.FunctionDef | None:
    """The function of a name that begins on a line, at its first decorator if it has some."""
    for node in statements:
        if isinstance(node, ast.expr):
            continue
        first = getattr(node, "lineno", line)
        if isinstance(node, ast.FunctionDef):
            first = min([first, *(x.lineno for x in node.decorator_list)])
            if node.name == name and first == line:
                return node
        if first <= line <= getattr(node, "end_lineno", line):
            found = _function(ast.iter_child_nodes(node), line, name)
            if found is not None:
                return found
    return None


@cache
def assigned(statements: tuple[ast.stmt, ...]) -> tuple[str, ...]:
    """The names that statements set, in the order in which they do first; those of inner functions are their own."""
    found: dict[str, None] = {}
    for node in statements:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = None
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        waiting = [*reversed(targets)]
        while waiting:
            target = waiting.pop()
            if isinstance(target, ast.Name):
                found[target.id] = None
            elif isinstance(target, ast.Tuple | ast.List):
                waiting += target.elts[::-1]
            elif isinstance(target, ast.Starred):
                waiting.append(target.value)
        found |= dict.fromkeys(assigned(inner_statements(node)))
    return tuple(found)


def inner_statements(node: ast.AST) -> tuple[ast.stmt, ...]:
    """The statements of a statement: those of both branches, or of a loop."""
    return (*getattr(node, "body", ()), *getattr(node, "orelse", ()))


@cache
def jumps(node: ast.stmt, kinds: tuple[type[ast.stmt], ...]) -> bool:
    """Whether a statement leaves by one of `kinds`; a `break` or `continue` of a loop inside of it is that loop's."""
    if isinstance(node, kinds):
        return True
    if isinstance(node, ast.FunctionDef):
        return False
    if isinstance(node, ast.For | ast.While):
        kinds = tuple(kind for kind in kinds if kind is ast.Return)
    return bool(kinds) and any(jumps(inner, kinds) for inner in inner_statements(node))


class Subset(ABC, Generic[T]):
    """A walk over a function whose expressions become values of type `T`."""

    file: str
    """Where the function stands, for messages."""

    def refuse(self, node: ast.AST, why: str) -> NoReturn:
        """Raise a `KernelError` with the file, the line, its text, and what to write instead."""
        raise KernelError(f"{self.file}:{getattr(node, 'lineno', '?')}: `{_shown(node)}`: {why}")

    def statement(self, node: ast.stmt) -> None:
        """One statement that goes on to the next; jumps are the business of who walks."""
        match node:
            case ast.Assign(targets=[target], value=value):
                self.assign(target, self.expression(value))
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                self.assign(target, self.expression(value))
            case ast.AugAssign(target=target, op=operator, value=value):
                self.update(target, operator, value)
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                pass
            case ast.Expr(value=value):
                self.expression(value)
            case ast.If(test=test, body=body, orelse=orelse):
                self.branch(node, test, body, orelse)
            case ast.While(test=test, body=body, orelse=[]):
                self.repeat(node, test, body)
            case ast.For(target=target, iter=values, body=body, orelse=[]):
                self.loop(node, target, values, body)
            case _:
                self.refuse(node, "this statement is outside of the supported subset of Python")

    def expression(self, node: ast.expr) -> T:
        """The value of an expression."""
        match node:
            case ast.Name(id=name):
                return self.name(node, name)
            case ast.Constant(value=value):
                return self.constant(node, value)
            case ast.BinOp(left=left, op=operator, right=right):
                return self.binary(node, operator, self.expression(left), self.expression(right))
            case ast.Call(func=function, args=arguments, keywords=keywords):
                return self.call(node, function, arguments, keywords)
            case ast.Attribute() | ast.Subscript() | ast.Tuple():
                return self.other(node)
            case ast.UnaryOp(op=operator, operand=operand):
                return self.unary(node, operator, self.expression(operand))
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                return self.compare(node, operator, self.expression(left), self.expression(right))
            case ast.Compare(left=left, ops=[first, *others], comparators=[middle, *rest]):
                return self.either(
                    node, ast.And(), ast.Compare(left, [first], [middle]), ast.Compare(middle, others, rest)
                )
            case ast.BoolOp(op=operator, values=[first, *rest]):
                last = rest[0] if len(rest) == 1 else ast.copy_location(ast.BoolOp(operator, rest), node)
                return self.either(node, operator, first, last)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.choice(node, test, body, orelse)
            case _:
                return self.other(node)

    def other(self, node: ast.expr) -> T:
        """An expression of another kind."""
        self.refuse(node, "this expression is outside of the supported subset of Python")

    @abstractmethod
    def assign(self, target: ast.expr, value: T) -> None: ...

    @abstractmethod
    def update(self, target: ast.expr, operator: ast.operator, value: ast.expr) -> None: ...

    @abstractmethod
    def branch(self, node: ast.If, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None: ...

    @abstractmethod
    def repeat(self, node: ast.While, test: ast.expr, body: Sequence[ast.stmt]) -> None: ...

    @abstractmethod
    def loop(self, node: ast.For, target: ast.expr, values: ast.expr, body: Sequence[ast.stmt]) -> None: ...

    @abstractmethod
    def constant(self, node: ast.expr, value: object) -> T: ...

    @abstractmethod
    def name(self, node: ast.expr, name: str) -> T: ...

    @abstractmethod
    def unary(self, node: ast.expr, operator: ast.unaryop, x: T) -> T: ...

    @abstractmethod
    def binary(self, node: ast.expr, operator: ast.operator, a: T, b: T) -> T: ...

    @abstractmethod
    def compare(self, node: ast.expr, operator: ast.cmpop, a: T, b: T) -> T: ...

    @abstractmethod
    def either(self, node: ast.expr, operator: ast.boolop, first: ast.expr, second: ast.expr) -> T: ...

    @abstractmethod
    def choice(self, node: ast.expr, test: ast.expr, body: ast.expr, orelse: ast.expr) -> T: ...

    @abstractmethod
    def call(
        self, node: ast.Call, function: ast.expr, arguments: Sequence[ast.expr], keywords: Sequence[ast.keyword]
    ) -> T: ...


def _shown(node: ast.AST) -> str:
    """The first line of what was written."""
    return ast.unparse(node).split("\n")[0]
