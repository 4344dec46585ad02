"""From plain Python functions on 64-bit words to LLVM text: what the driver is written in.
A few statements of Python and no types but the signed 64-bit word; it is no general compiler."""

import ast
import inspect
import itertools
from collections.abc import Mapping, Sequence
from types import FunctionType, ModuleType

from xdsl_rlx.lowering.kernel_dsl.syntax import Subset

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
    `primitives.py` become instructions. Raises `KernelError` for Python that is outside the subset.
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


class _Function(Subset[str]):
    """
    The text of one function.

    Every variable lives in memory (LLVM's optimizer turns it into registers); every value is an i64, a truth value
    0 or 1.
    """

    def __init__(
        self, tree: ast.FunctionDef, constants: Mapping[str, int], functions: Mapping[str, FunctionType], processor: str
    ) -> None:
        self.file = tree.name
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

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Return(value=value):
                self._emit(f"ret i64 {self.expression(value) if value else 0}")
                self._begin(self._label())
            case ast.Break():
                self._jump(self._loops[-1][1])
                self._begin(self._label())
            case ast.Continue():
                self._jump(self._loops[-1][0])
                self._begin(self._label())
            case _:
                super().statement(node)

    def assign(self, target: ast.expr, value: str) -> None:
        if not isinstance(target, ast.Name):
            self.refuse(target, "only a name is set")
        self._set(target.id, value)

    def update(self, target: ast.expr, operator: ast.operator, value: ast.expr) -> None:
        if not isinstance(target, ast.Name):
            self.refuse(target, "only a name is set")
        found = ast.Name(target.id, ast.Load())
        self._set(target.id, self.expression(ast.BinOp(found, operator, value)))

    def _jump(self, label: str) -> None:
        self._emit(f"br label %{label}")

    def _goto(self, test: ast.expr, yes: str, no: str) -> None:
        truth = self._value(f"icmp ne i64 {self.expression(test)}, 0")
        self._emit(f"br i1 {truth}, label %{yes}, label %{no}")

    def branch(self, node: ast.If, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        yes, no, end = self._label(), self._label(), self._label()
        self._goto(test, yes, no)
        for label, statements in ((yes, body), (no, orelse)):
            self._begin(label)
            self._block(statements)
            self._jump(end)
        self._begin(end)

    def repeat(self, node: ast.While, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        self._while(test, body, None)

    def _while(self, test: ast.expr, body: Sequence[ast.stmt], step: str | None) -> None:
        head, inside, after, end = self._label(), self._label(), self._label(), self._label()
        self._jump(head)
        self._begin(head)
        self._goto(test, inside, end)
        self._begin(inside)
        self._loops.append((after, end))
        self._block(body)
        self._loops.pop()
        self._jump(after)
        self._begin(after)
        if step:
            self._set(step, self._value(f"add i64 {self.expression(ast.Name(step, ast.Load()))}, 1"))
        self._jump(head)
        self._begin(end)

    def loop(self, node: ast.For, target: ast.expr, values: ast.expr, body: Sequence[ast.stmt]) -> None:
        match target, values:
            case ast.Name(id=name), ast.Call(func=ast.Name(id="range"), args=[*bounds]) if 1 <= len(bounds) <= 2:
                self._set(name, self.expression(bounds[0]) if len(bounds) == 2 else "0")
                stop = f"{name}.stop{next(self._numbers)}"
                self._set(stop, self.expression(bounds[-1]))
                test = ast.Compare(ast.Name(name, ast.Load()), [ast.Lt()], [ast.Name(stop, ast.Load())])
                self._while(test, body, name)
            case _:
                self.refuse(node, "a loop is over range(stop) or range(start, stop)")

    def constant(self, node: ast.expr, value: object) -> str:
        if not isinstance(value, int):
            self.refuse(node, "a word is an integer")
        return str(int(value))

    def name(self, node: ast.expr, name: str) -> str:
        if name in self._variables:
            return self._value(f"load i64, ptr %{name}.slot")
        if name in self._constants:
            return str(self._constants[name])
        self.refuse(node, f"{name} is neither set before nor a number of the module")

    def other(self, node: ast.expr) -> str:
        if isinstance(node, ast.Attribute) and ast.unparse(node) in self._constants:
            return str(self._constants[ast.unparse(node)])
        return super().other(node)

    def unary(self, node: ast.expr, operator: ast.unaryop, x: str) -> str:
        match operator:
            case ast.USub():
                return self._value(f"sub i64 0, {x}")
            case ast.Not():
                return self._truth(f"icmp eq i64 {x}, 0")
            case _:
                self.refuse(node, "of one word there are - and not")

    def binary(self, node: ast.expr, operator: ast.operator, a: str, b: str) -> str:
        if (name := _OPERATORS.get(type(operator))) is None:
            self.refuse(node, "words have no such operator")
        return self._value(f"{name} i64 {a}, {b}")

    def compare(self, node: ast.expr, operator: ast.cmpop, a: str, b: str) -> str:
        if (name := _COMPARISONS.get(type(operator))) is None:
            self.refuse(node, "words have no such comparison")
        return self._truth(f"icmp {name} i64 {a}, {b}")

    def either(self, node: ast.expr, operator: ast.boolop, first: ast.expr, second: ast.expr) -> str:
        if isinstance(operator, ast.And):
            return self.choice(node, first, second, ast.Constant(0))
        return self.choice(node, first, ast.Constant(1), second)

    def _truth(self, instruction: str) -> str:
        return self._value(f"zext i1 {self._value(instruction)} to i64")

    def choice(self, node: ast.expr, test: ast.expr, body: ast.expr, orelse: ast.expr) -> str:
        name = f"choice{next(self._numbers)}"
        yes, no, end = self._label(), self._label(), self._label()
        self._goto(test, yes, no)
        for label, value in ((yes, body), (no, orelse)):
            self._begin(label)
            self._set(name, self.expression(value))
            self._jump(end)
        self._begin(end)
        return self.expression(ast.Name(name, ast.Load()))

    def call(
        self, node: ast.Call, function: ast.expr, arguments: Sequence[ast.expr], keywords: Sequence[ast.keyword]
    ) -> str:
        if not isinstance(function, ast.Name) or keywords:
            self.refuse(node, "a function is called by its name, with words")
        name = function.id
        values = [self.expression(argument) for argument in arguments]
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
            case "invoke" | "invoke_int", [callee, *words]:
                pointer = self._value(f"inttoptr i64 {callee} to ptr")
                kind = "i64" if name == "invoke" else "i32"
                result = self._value(f"call {kind} {pointer}({', '.join(f'i64 {word}' for word in words)})")
                return result if name == "invoke" else self._value(f"sext i32 {result} to i64")
            case _, [address, *operands]:
                return self._memory(node, name, address, operands)
            case _:
                self.refuse(node, "the driver has no such function")

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
                self.refuse(node, "the driver has no such function")
        return "0"
