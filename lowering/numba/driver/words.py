"""From plain Python functions on 64-bit words to LLVM text: what the driver is written in.
A few statements of Python and no types but the signed 64-bit word; it is no general compiler."""

import ast
import inspect
import itertools
from collections.abc import Mapping, Sequence
from types import FunctionType, ModuleType

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.LShift: "shl",
    ast.RShift: "ashr",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "slt",
    ast.LtE: "sle",
    ast.Gt: "sgt",
    ast.GtE: "sge",
}
_PAUSES = {
    "x86_64": "call void @llvm.x86.sse2.pause()",
    "aarch64": "call void @llvm.aarch64.hint(i32 1)",
    "arm64": "call void @llvm.aarch64.hint(i32 1)",
}
_DECLARATIONS = {
    "x86_64": """declare void @llvm.x86.sse2.pause()
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)""",
    "aarch64": "declare void @llvm.aarch64.hint(i32)",
    "arm64": "declare void @llvm.aarch64.hint(i32)",
}
_DEFAULT_FLOAT_STATE = 0x1F80


def llvm_text(modules: Sequence[ModuleType], exported: Sequence[str], processor: str) -> str:
    """
    One LLVM module with the functions of Python modules, `exported` ones visible.

    They may use each other's functions, and the numbers that their module names or a class that it names.

    `processor` is the first part of the target triple; it says how to pause in a spin loop. The functions of
    `primitives.py` become instructions. Raises `TypeError` for Python that is outside the subset.
    """
    own = {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__
    }
    parts = [_DECLARATIONS.get(processor, "")]
    for module in modules:
        constants = _constants(module)
        for tree in ast.parse(inspect.getsource(module)).body:
            if isinstance(tree, ast.FunctionDef):
                parts.append(_Function(tree, constants, own, processor).text(tree.name in exported))
    return "\n".join(parts)


def _constants(module: ModuleType) -> dict[str, int]:
    """The numbers that a module names, and those that its classes name, with the class in front."""
    named = list(vars(module).items())
    for name, value in vars(module).items():
        if isinstance(value, type):
            named += [(f"{name}.{field}", number) for field, number in inspect.getmembers(value)]
    return {name: value for name, value in named if type(value) is int}


class _Function:
    """
    The text of one function.

    Every variable lives in memory (LLVM's optimizer turns it into registers); every value is an i64, a truth value
    0 or 1.
    """

    def __init__(
        self, tree: ast.FunctionDef, constants: Mapping[str, int], functions: Mapping[str, FunctionType], processor: str
    ) -> None:
        self._tree = tree
        self._constants = constants
        self._functions = functions
        self._processor = processor
        self._lines = list[str]()
        self._variables = dict[str, None]()
        self._numbers = itertools.count()
        self._loops = list[tuple[str, str]]()

    def text(self, exported: bool) -> str:
        names = [argument.arg for argument in self._tree.args.args]
        for name in names:
            self._set(name, f"%{name}")
        self._block(self._tree.body)
        self._emit("ret i64 0")
        linkage = "" if exported else "internal "
        head = f"define {linkage}i64 @{self._tree.name}({', '.join(f'i64 %{name}' for name in names)}) nounwind {{"
        slots = [f"  %{name}.slot = alloca i64" for name in self._variables]
        return "\n".join([head, *slots, *self._lines, "}", ""])

    def _emit(self, line: str) -> None:
        self._lines.append("  " + line)

    def _value(self, instruction: str) -> str:
        name = f"%v{next(self._numbers)}"
        self._emit(f"{name} = {instruction}")
        return name

    def _label(self) -> str:
        return f"b{next(self._numbers)}"

    def _begin(self, label: str) -> None:
        self._lines.append(f"{label}:")

    def _set(self, name: str, value: str) -> None:
        self._variables[name] = None
        self._emit(f"store i64 {value}, ptr %{name}.slot")

    def _unsupported(self, node: ast.AST) -> TypeError:
        return TypeError(f"{self._tree.name} uses {ast.unparse(node)!r}, which the driver's subset of Python lacks")

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._set(name, self._expression(value))
            case ast.AugAssign(target=ast.Name(id=name), op=operator, value=value):
                target = ast.Name(name, ast.Load())
                self._set(name, self._expression(ast.BinOp(target, operator, value)))
            case ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Expr(value=value):
                self._expression(value)
            case ast.Return(value=value):
                self._emit(f"ret i64 {self._expression(value) if value else 0}")
                self._begin(self._label())
            case ast.If(test=test, body=body, orelse=orelse):
                self._if(test, body, orelse)
            case ast.While(test=test, body=body, orelse=[]):
                self._while(test, body, None)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=bounds), orelse=[]):
                self._for(name, bounds, node.body)
            case ast.Break():
                self._jump(self._loops[-1][1])
                self._begin(self._label())
            case ast.Continue():
                self._jump(self._loops[-1][0])
                self._begin(self._label())
            case _:
                raise self._unsupported(node)

    def _jump(self, label: str) -> None:
        self._emit(f"br label %{label}")

    def _branch(self, test: ast.expr, yes: str, no: str) -> None:
        truth = self._value(f"icmp ne i64 {self._expression(test)}, 0")
        self._emit(f"br i1 {truth}, label %{yes}, label %{no}")

    def _if(self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        yes, no, end = self._label(), self._label(), self._label()
        self._branch(test, yes, no)
        for label, statements in ((yes, body), (no, orelse)):
            self._begin(label)
            self._block(statements)
            self._jump(end)
        self._begin(end)

    def _while(self, test: ast.expr, body: Sequence[ast.stmt], step: str | None) -> None:
        head, inside, after, end = self._label(), self._label(), self._label(), self._label()
        self._jump(head)
        self._begin(head)
        self._branch(test, inside, end)
        self._begin(inside)
        self._loops.append((after, end))
        self._block(body)
        self._loops.pop()
        self._jump(after)
        self._begin(after)
        if step:
            self._set(step, self._value(f"add i64 {self._expression(ast.Name(step, ast.Load()))}, 1"))
        self._jump(head)
        self._begin(end)

    def _for(self, name: str, bounds: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        self._set(name, self._expression(bounds[0]) if len(bounds) == 2 else "0")
        stop = f"{name}.stop{next(self._numbers)}"
        self._set(stop, self._expression(bounds[-1]))
        test = ast.Compare(ast.Name(name, ast.Load()), [ast.Lt()], [ast.Name(stop, ast.Load())])
        self._while(test, body, name)

    def _expression(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=int() as value):
                return str(int(value))
            case ast.Name(id=name) if name in self._variables:
                return self._value(f"load i64, ptr %{name}.slot")
            case ast.Name(id=name) if name in self._constants:
                return str(self._constants[name])
            case ast.Attribute(value=ast.Name(id=name), attr=field) if f"{name}.{field}" in self._constants:
                return str(self._constants[f"{name}.{field}"])
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._value(f"sub i64 0, {self._expression(operand)}")
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._truth(f"icmp eq i64 {self._expression(operand)}, 0")
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                first, second = self._expression(left), self._expression(right)
                return self._value(f"{_OPERATORS[type(operator)]} i64 {first}, {second}")
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _COMPARISONS:
                first, second = self._expression(left), self._expression(right)
                return self._truth(f"icmp {_COMPARISONS[type(operator)]} i64 {first}, {second}")
            case ast.BoolOp(op=operator, values=[first, *rest]):
                last = rest[0] if len(rest) == 1 else ast.BoolOp(operator, rest)
                if isinstance(operator, ast.And):
                    return self._choice(first, last, ast.Constant(0))
                return self._choice(first, ast.Constant(1), last)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._choice(test, body, orelse)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(node, name, arguments)
            case _:
                raise self._unsupported(node)

    def _truth(self, instruction: str) -> str:
        return self._value(f"zext i1 {self._value(instruction)} to i64")

    def _choice(self, test: ast.expr, body: ast.expr, orelse: ast.expr) -> str:
        name = f"choice{next(self._numbers)}"
        yes, no, end = self._label(), self._label(), self._label()
        self._branch(test, yes, no)
        for label, value in ((yes, body), (no, orelse)):
            self._begin(label)
            self._set(name, self._expression(value))
            self._jump(end)
        self._begin(end)
        return self._expression(ast.Name(name, ast.Load()))

    def _call(self, node: ast.expr, name: str, arguments: Sequence[ast.expr]) -> str:
        values = [self._expression(argument) for argument in arguments]
        if name in self._functions:
            return self._value(f"call i64 @{name}({', '.join(f'i64 {value}' for value in values)})")
        match name, values:
            case "min" | "max", [first, second]:
                order = "slt" if name == "min" else "sgt"
                smaller = self._value(f"icmp {order} i64 {first}, {second}")
                return self._value(f"select i1 {smaller}, i64 {first}, i64 {second}")
            case "pause", []:
                if self._processor in _PAUSES:
                    self._emit(_PAUSES[self._processor])
                return "0"
            case "invoke" | "invoke_int", [function, *words]:
                pointer = self._value(f"inttoptr i64 {function} to ptr")
                kind = "i64" if name == "invoke" else "i32"
                result = self._value(f"call {kind} {pointer}({', '.join(f'i64 {word}' for word in words)})")
                return result if name == "invoke" else self._value(f"sext i32 {result} to i64")
            case _, [address, *operands]:
                return self._memory(node, name, address, operands)
            case _:
                raise self._unsupported(node)

    def _memory(self, node: ast.expr, name: str, address: str, operands: Sequence[str]) -> str:
        pointer = self._value(f"inttoptr i64 {address} to ptr")
        match name, operands:
            case "peek", []:
                return self._value(f"load i64, ptr {pointer}")
            case "peek8", []:
                return self._value(f"zext i8 {self._value(f'load i8, ptr {pointer}')} to i64")
            case "peek32", []:
                return self._value(f"sext i32 {self._value(f'load i32, ptr {pointer}')} to i64")
            case "poke", [value]:
                self._emit(f"store i64 {value}, ptr {pointer}")
            case "save_float_state", []:
                self._emit(f"store i64 {_DEFAULT_FLOAT_STATE}, ptr {pointer}")
                if self._processor == "x86_64":
                    self._emit(f"call void @llvm.x86.sse.stmxcsr(ptr {pointer})")
            case "load_float_state", []:
                if self._processor == "x86_64":
                    self._emit(f"call void @llvm.x86.sse.ldmxcsr(ptr {pointer})")
            case "atomic_peek", []:
                return self._value(f"load atomic i64, ptr {pointer} seq_cst, align 8")
            case "atomic_poke", [value]:
                self._emit(f"store atomic i64 {value}, ptr {pointer} seq_cst, align 8")
            case "atomic_add", [value]:
                return self._value(f"atomicrmw add ptr {pointer}, i64 {value} seq_cst")
            case "swap_if", [expected, value]:
                pair = self._value(f"cmpxchg ptr {pointer}, i64 {expected}, i64 {value} seq_cst seq_cst")
                return self._truth(f"extractvalue {{ i64, i1 }} {pair}, 1")
            case _:
                raise self._unsupported(node)
        return "0"
