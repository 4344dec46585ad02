"""One row per scalar op of arith and math: its Python text and its LLVM IR text. The functions that have no
instruction (exp, tanh, ...) are defined in mathlib.py; loops and memory are in the emitters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    f64,
)
from xdsl.ir import Operation

from xdsl_rlx.dialects.lir.scalar import DotBf16Op, DotI8Op, FmodOp, FreezeOp, PackBf16Op, PackI8Op, RoundBf16Op
from xdsl_rlx.lowering.backend.llvm import packed_texts
from xdsl_rlx.lowering.backend.llvm.packed_texts import LlvmLine
from xdsl_rlx.lowering.backend.llvm.scalar_types import bits_of, int_bits, llvm_type, python_type
from xdsl_rlx.lowering.scalar_functions import FUNCTIONS

PythonForm: TypeAlias = str | Callable[[Operation, Sequence[str]], str]
LlvmForm: TypeAlias = str | Callable[[Operation, Sequence[str], LlvmLine], str]


@dataclass(frozen=True)
class Row:
    """
    The texts of one op. A format string sees operands as `{0}`, `{1}`, ..., the first operand's type as `{t}` and the
    result's type as `{r}`; in LLVM also `{f}` (fast-math flags), `{s}` (the suffix of an intrinsic on `{t}`) and `{m}`
    (what an fma is called).

    A function gets the op, the operand texts and, in LLVM, a way to emit lines before the last one.
    """

    python: PythonForm
    llvm: LlvmForm


def llvm_flags(op: Operation) -> str:
    """Fast-math flags as LLVM writes them, each with a leading space."""
    attr = op.properties.get("fastmath")
    if not isinstance(attr, FastMathFlagsAttr) or not attr.data:
        return ""
    if len(attr.data) == 7:
        return " fast"
    return "".join(f" {flag}" for flag in sorted(attr.data))


# Integers. NumPy and Numba promote narrow integers, so the Python text converts back; index is never narrow.


def _wrapped(text: str) -> Callable[[Operation, Sequence[str]], str]:
    def python(op: Operation, args: Sequence[str]) -> str:
        expression = text.format(*args)
        type = op.results[0].type
        if isinstance(type, IndexType) or int_bits(type) in (1, 64):
            return expression
        return f"{python_type(type)}({expression})"

    return python


def _is_safe_divisor(text: str) -> bool:
    return text.lstrip("-").isdigit() and int(text) not in (0, -1)


def _literal(text: str) -> str:
    return text.removeprefix("np.int64(").removeprefix("np.int32(").removesuffix(")")


def _division(operator: str, helper: str) -> Callable[[Operation, Sequence[str]], str]:
    """`operator` where it is the same for positive operands by a constant, else the helper that cannot trap."""

    def python(op: Operation, args: Sequence[str]) -> str:
        exact = helper == "floor_div" and _is_safe_divisor(_literal(args[1]))
        call = f"{args[0]} {operator} {args[1]}" if exact else f"{helper}({args[0]}, {args[1]})"
        type = op.results[0].type
        return call if isinstance(type, IndexType) or int_bits(type) == 64 else f"{python_type(type)}({call})"

    return python


def _quotient(op: Operation, args: Sequence[str], line: LlvmLine) -> str:
    """Truncating division that gives 0 for a zero divisor and wraps for -1, where the instruction would trap."""
    t = llvm_type(op.operands[0].type)
    a, b = args
    if _is_safe_divisor(b):
        return f"sdiv {t} {a}, {b}"
    zero, minus = line(f"icmp eq {t} {b}, 0"), line(f"icmp eq {t} {b}, -1")
    traps = line(f"or i1 {zero}, {minus}")
    safe = line(f"select i1 {traps}, {t} 1, {t} {b}")
    quotient, negated = line(f"sdiv {t} {a}, {safe}"), line(f"sub {t} 0, {a}")
    exact = line(f"select i1 {minus}, {t} {negated}, {t} {quotient}")
    return f"select i1 {zero}, {t} 0, {t} {exact}"


def _remainder(op: Operation, args: Sequence[str], line: LlvmLine) -> str:
    t = llvm_type(op.operands[0].type)
    if _is_safe_divisor(args[1]):
        return f"srem {t} {args[0]}, {args[1]}"
    quotient = line(_quotient(op, args, line))
    return f"sub {t} {args[0]}, {line(f'mul {t} {quotient}, {args[1]}')}"


def _rounded_quotient(direction: int) -> Callable[[Operation, Sequence[str], LlvmLine], str]:
    """Division rounding down (-1) or up (1): the truncated quotient, one further when it went the other way."""

    def llvm(op: Operation, args: Sequence[str], line: LlvmLine) -> str:
        t = llvm_type(op.operands[0].type)
        quotient = line(_quotient(op, args, line))
        rest = line(f"sub {t} {args[0]}, {line(f'mul {t} {quotient}, {args[1]}')}")
        signs = line(f"xor {t} {rest}, {args[1]}")
        apart = line(f"icmp {'slt' if direction < 0 else 'sge'} {t} {signs}, 0")
        inexact = line(f"icmp ne {t} {rest}, 0")
        divides = line(f"icmp ne {t} {args[1]}, 0")
        off = line(f"and i1 {line(f'and i1 {apart}, {inexact}')}, {divides}")
        step = line(f"select i1 {off}, {t} {direction}, {t} 0")
        return f"add {t} {quotient}, {step}"

    return llvm


def _binary_int(python: str, llvm: str) -> Row:
    return Row(_wrapped(f"{{0}} {python} {{1}}"), f"{llvm} {{t}} {{0}}, {{1}}")


def _minmax(python: str, llvm: str) -> Row:
    return Row(_wrapped(python), f"call {{t}} @llvm.{llvm}.{{t}}({{t}} {{0}}, {{t}} {{1}})")


def _unsigned_extreme(function: str) -> Callable[[Operation, Sequence[str]], str]:
    def python(op: Operation, args: Sequence[str]) -> str:
        type = op.operands[0].type
        if int_bits(type) == 1:
            return f"{function}({args[0]}, {args[1]})"
        unsigned = f"np.uint{int_bits(type)}"
        return f"{python_type(type)}({function}({unsigned}({args[0]}), {unsigned}({args[1]})))"

    return python


def _of_width(helper: str) -> Callable[[Operation, Sequence[str]], str]:
    """A helper that there is for each width of integers."""
    return lambda op, args: f"{helper}_{llvm_type(op.operands[0].type)}({', '.join(args)})"


def _binary_float(python: str, llvm: str, relaxed: str) -> Row:
    """`relaxed` is the Python helper that stands for an operation with fast-math flags."""

    def text(op: Operation, args: Sequence[str]) -> str:
        return f"{relaxed}({args[0]}, {args[1]})" if relaxed and llvm_flags(op) else f"{args[0]} {python} {args[1]}"

    return Row(text, f"{llvm}{{f}} {{t}} {{0}}, {{1}}")


def _call(python: str, llvm: str, arity: int = 1) -> Row:
    names = ", ".join(f"{{{i}}}" for i in range(arity))
    operands = ", ".join(f"{{t}} {{{i}}}" for i in range(arity))
    return Row(f"{python}({names})", f"call{{f}} {{t}} @llvm.{llvm}.{{s}}({operands})")


def _rounds_once(op: Operation) -> bool:
    """Whether an fma may not become a product and a sum, where the processor has no instruction for it."""
    return "contract" not in llvm_flags(op)


def _fma_python(op: Operation, operands: Sequence[str]) -> str:
    return f"{'fma' if _rounds_once(op) else 'multiply_add'}({', '.join(operands)})"


def llvm_text(
    op: Operation, args: Sequence[str], type_: str, suffix: str, line: LlvmLine, result: str | None = None
) -> str:
    """
    The LLVM text of an op that has a row, on operands of a type; on vectors too, where it is a format string.

    `result` is the type of the result, if it is not that of the op.
    """
    form = ROWS[type(op)].llvm
    if not isinstance(form, str):
        return form(op, args, line)
    fma = ("fma" if _rounds_once(op) else "fmuladd") if isinstance(op, math.FmaOp) else ""
    return form.format(*args, t=type_, r=result or llvm_type(op.results[0].type), s=suffix, f=llvm_flags(op), m=fma)


_ORDER = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_CMPF_PYTHON = {
    "false": "False",
    "oeq": "{0} == {1}",
    "ogt": "{0} > {1}",
    "oge": "{0} >= {1}",
    "olt": "{0} < {1}",
    "ole": "{0} <= {1}",
    "one": "({0} < {1}) | ({0} > {1})",
    "ord": "({0} == {0}) & ({1} == {1})",
    "ueq": "not (({0} < {1}) | ({0} > {1}))",
    "ugt": "not ({0} <= {1})",
    "uge": "not ({0} < {1})",
    "ult": "not ({0} >= {1})",
    "ule": "not ({0} > {1})",
    "une": "{0} != {1}",
    "uno": "({0} != {0}) | ({1} != {1})",
    "true": "True",
}
_CMPF_TEXT = list(_CMPF_PYTHON.values())


def _predicate(op: Operation) -> int:
    value = op.properties["predicate"]
    assert isinstance(value, IntegerAttr)
    return value.value.data


def _cmpf_python(op: Operation, args: Sequence[str]) -> str:
    return _CMPF_TEXT[_predicate(op)].format(*args)


def _cmpf_llvm(op: Operation, args: Sequence[str], line: LlvmLine) -> str:
    predicate = arith.CMPF_COMPARISON_OPERATIONS[_predicate(op)]
    return f"fcmp{llvm_flags(op)} {predicate} {llvm_type(op.operands[0].type)} {args[0]}, {args[1]}"


def _cmpi_python(op: Operation, args: Sequence[str]) -> str:
    predicate = arith.CMPI_COMPARISON_OPERATIONS[_predicate(op)]
    if predicate.startswith("u"):
        unsigned = f"np.uint{int_bits(op.operands[0].type)}"
        return f"{unsigned}({args[0]}) {_ORDER[predicate[1:]]} {unsigned}({args[1]})"
    return f"{args[0]} {_ORDER[predicate[-2:]]} {args[1]}"


def _cmpi_llvm(op: Operation, args: Sequence[str], line: LlvmLine) -> str:
    predicate = arith.CMPI_COMPARISON_OPERATIONS[_predicate(op)]
    return f"icmp {predicate} {llvm_type(op.operands[0].type)} {args[0]}, {args[1]}"


# Conversion. bf16 and (in Python) f16 go through the bit operations of mathlib, on i32.


def _extf_python(op: Operation, args: Sequence[str]) -> str:
    source, target = op.operands[0].type, op.results[0].type
    if not isinstance(source, Float16Type | BFloat16Type):
        return f"{python_type(target)}({args[0]})"
    wide = f"extend_{source.name}(np.int32({args[0]}))"
    return wide if target != f64 else f"np.float64({wide})"


def _extf_llvm(op: Operation, args: Sequence[str], line: LlvmLine) -> str:
    source, target = op.operands[0].type, op.results[0].type
    if not isinstance(source, BFloat16Type):
        return f"fpext {llvm_type(source)} {args[0]} to {llvm_type(target)}"
    bits = line(f"shl i32 {line(f'zext i16 {args[0]} to i32')}, 16")
    wide = f"bitcast i32 {bits} to float"
    return wide if target != f64 else f"fpext float {line(wide)} to double"


def _truncf_python(op: Operation, args: Sequence[str]) -> str:
    target = op.results[0].type
    if not isinstance(target, Float16Type | BFloat16Type):
        return f"{python_type(target)}({args[0]})"
    source = f"round_odd({args[0]})" if op.operands[0].type == f64 else args[0]
    return f"np.uint16(truncate_{target.name}({source}))"


def _truncf_llvm(op: Operation, args: Sequence[str], line: LlvmLine) -> str:
    """f64 goes to f16 and bf16 by way of an f32 rounded to odd, so that the whole is rounded once."""
    source, target = op.operands[0].type, op.results[0].type
    if not isinstance(target, Float16Type | BFloat16Type):
        return f"fptrunc {llvm_type(source)} {args[0]} to {llvm_type(target)}"
    x = line(f"call float @rlx_round_odd(double {args[0]})") if source == f64 else args[0]
    if isinstance(target, Float16Type):
        return f"fptrunc float {x} to half"
    return f"trunc i32 {line(f'call i32 @rlx_truncate_bf16(float {x})')} to i16"


def _trunci_python(op: Operation, args: Sequence[str]) -> str:
    type = op.results[0].type
    return f"({args[0]} & 1) != 0" if int_bits(type) == 1 else f"{python_type(type)}({args[0]})"


def _extsi_python(op: Operation, args: Sequence[str]) -> str:
    widened = f"{python_type(op.results[0].type)}({args[0]})"
    return f"-{widened}" if int_bits(op.operands[0].type) == 1 else widened


def _extui_python(op: Operation, args: Sequence[str]) -> str:
    bits, target = int_bits(op.operands[0].type), python_type(op.results[0].type)
    widened = f"{target}({args[0]})"
    return widened if bits == 1 else f"{target}({widened} & {target}({(1 << bits) - 1}))"


def _sitofp_python(op: Operation, args: Sequence[str]) -> str:
    widened = f"{python_type(op.results[0].type)}({args[0]})"
    return f"-{widened}" if int_bits(op.operands[0].type) == 1 else widened


def _uitofp_python(op: Operation, args: Sequence[str]) -> str:
    bits, target = int_bits(op.operands[0].type), python_type(op.results[0].type)
    if bits == 1:
        return f"{target}({args[0]})"
    return f"{target}(np.uint{bits}({args[0]}))"


def _to_int(sign: str) -> Row:
    def python(op: Operation, args: Sequence[str]) -> str:
        return f"to_{sign}{int_bits(op.results[0].type)}({args[0]})"

    def llvm(op: Operation, args: Sequence[str], line: LlvmLine) -> str:
        """LLVM does not vectorise its saturating conversion: up to 32 bits, what is out of range is put aside first."""
        source, target = llvm_type(op.operands[0].type), llvm_type(op.results[0].type)
        bits, (x,) = int_bits(op.results[0].type), args
        if bits > (32 if sign == "s" else 16):
            return (
                f"call {target} @llvm.fpto{sign}i.sat.{target}.{'f64' if source == 'double' else 'f32'}({source} {x})"
            )
        least, beyond = (-(1 << (bits - 1)), 1 << (bits - 1)) if sign == "s" else (0, 1 << bits)
        above = line(f"fcmp oge {source} {x}, {float(beyond)!r}")
        below = line(f"fcmp olt {source} {x}, {float(least)!r}")
        outside = line(f"fcmp uno {source} {x}, {x}")
        for flag in (above, below):
            outside = line(f"or i1 {outside}, {flag}")
        inside = line(f"fptosi {source} {line(f'select i1 {outside}, {source} 0.0, {source} {x}')} to i32")
        narrow = inside if bits == 32 else line(f"trunc i32 {inside} to {target}")
        capped = line(f"select i1 {above}, {target} {beyond - 1}, {target} {narrow}")
        return f"select i1 {below}, {target} {least}, {target} {capped}"

    return Row(python, llvm)


def _bitcast_python(op: Operation, args: Sequence[str]) -> str:
    target = op.results[0].type
    if python_type(op.operands[0].type) == python_type(target):
        return args[0]
    if isinstance(target, Float16Type | BFloat16Type):
        return f"as_u16({args[0]})"
    return f"as_{'f' if isinstance(target, Float32Type | Float64Type) else 'i'}{bits_of(target)}({args[0]})"


def _index_cast_llvm(op: Operation, args: Sequence[str], line: LlvmLine) -> str:
    source, target = (int_bits(x.type) for x in (op.operands[0], op.results[0]))
    kind = "bitcast" if source == target else "sext" if source < target else "trunc"
    return f"{kind} i{source} {args[0]} to i{target}"


def _index_cast_python(op: Operation, args: Sequence[str]) -> str:
    return f"{python_type(op.results[0].type)}({args[0]})"


def _convert(llvm: str) -> str:
    return f"{llvm} {{t}} {{0}} to {{r}}"


def _function(name: str, arity: int = 1) -> Row:
    names = ", ".join(f"{{{i}}}" for i in range(arity))
    operands = ", ".join(f"{{t}} {{{i}}}" for i in range(arity))
    return Row(f"{name}_{{s}}({names})", f"call {{t}} @rlx_{name}_{{s}}({operands})")


def _fmod_python(op: Operation, args: Sequence[str]) -> str:
    """Quotients of f64 have up to 2,098 bits: the definition is for f32, of f64 it is a call of C's."""
    return f"{'fmod' if op.operands[0].type == f64 else 'fmod_f32'}({args[0]}, {args[1]})"


def _fmod_llvm(op: Operation, args: Sequence[str], line: LlvmLine) -> str:
    x, y = args
    return f"frem double {x}, {y}" if op.operands[0].type == f64 else f"call float @rlx_fmod_f32(float {x}, float {y})"


def _dot_python(op: Operation, args: Sequence[str]) -> str:
    """The products of the high halves first, as the instruction has them; extending drops the other half."""
    acc, a, b = args
    high = ", ".join(f"extend_bf16(np.int32({x} >> 16))" for x in (a, b))
    return f"multiply_add(extend_bf16({a}), extend_bf16({b}), multiply_add({high}, {acc}))"


def _round_bf16_python(op: Operation, args: Sequence[str]) -> str:
    """A subnormal number times zero keeps its sign."""
    return f"np.uint16(truncate_bf16({args[0]} if not abs({args[0]}) < 2.0**-126 else np.float32(0.0) * {args[0]}))"


def _pack_i8_python(op: Operation, args: Sequence[str]) -> str:
    bytes_ = " | ".join(f"(np.int32({x}) & 255) << {8 * n}" for n, x in enumerate(args))
    return f"np.int32({bytes_})"


def _dot_i8_python(op: Operation, args: Sequence[str]) -> str:
    acc, a, b = args
    terms = (f"((({a} >> {n}) & 255 ^ 128) - 128) * (({b} >> {n}) & 255)" for n in range(0, 32, 8))
    return f"np.int32({acc} + {' + '.join(terms)})"


ROWS: dict[type[Operation], Row] = {
    arith.AddiOp: _binary_int("+", "add"),
    arith.SubiOp: _binary_int("-", "sub"),
    arith.MuliOp: _binary_int("*", "mul"),
    arith.DivSIOp: Row(_division("/", "div"), _quotient),
    arith.RemSIOp: Row(_division("%", "rem"), _remainder),
    arith.FloorDivSIOp: Row(_division("//", "floor_div"), _rounded_quotient(-1)),
    arith.CeilDivSIOp: Row(_division("/", "ceil_div"), _rounded_quotient(1)),
    arith.AndIOp: _binary_int("&", "and"),
    arith.OrIOp: _binary_int("|", "or"),
    arith.XOrIOp: _binary_int("^", "xor"),
    arith.ShLIOp: _binary_int("<<", "shl"),
    arith.ShRSIOp: _binary_int(">>", "ashr"),
    arith.ShRUIOp: Row(_of_width("shift_right"), "lshr {t} {0}, {1}"),
    arith.MaxSIOp: _minmax("greater({0}, {1})", "smax"),
    arith.MinSIOp: _minmax("lesser({0}, {1})", "smin"),
    arith.MaxUIOp: Row(_unsigned_extreme("greater_unsigned"), "call {t} @llvm.umax.{t}({t} {0}, {t} {1})"),
    arith.MinUIOp: Row(_unsigned_extreme("lesser_unsigned"), "call {t} @llvm.umin.{t}({t} {0}, {t} {1})"),
    math.AbsIOp: Row(_wrapped("abs({0})"), "call {t} @llvm.abs.{t}({t} {0}, i1 false)"),
    math.CtPopOp: Row(_of_width("population_count"), "call {t} @llvm.ctpop.{t}({t} {0})"),
    math.CountLeadingZerosOp: Row(_of_width("leading_zeros"), "call {t} @llvm.ctlz.{t}({t} {0}, i1 false)"),
    arith.AddfOp: _binary_float("+", "fadd", "relaxed_add"),
    arith.SubfOp: _binary_float("-", "fsub", ""),
    arith.MulfOp: _binary_float("*", "fmul", "relaxed_mul"),
    arith.DivfOp: _binary_float("/", "fdiv", ""),
    arith.NegfOp: Row("-{0}", "fneg{f} {t} {0}"),
    arith.MaximumfOp: _call("maximum", "maximum", 2),
    arith.MinimumfOp: _call("minimum", "minimum", 2),
    math.FmaOp: Row(_fma_python, "call {t} @llvm.{m}.{s}({t} {0}, {t} {1}, {t} {2})"),
    math.AbsFOp: _call("fabs", "fabs"),
    math.SqrtOp: _call("sqrt", "sqrt"),
    math.RoundEvenOp: _call("round_even", "roundeven"),
    math.FloorOp: _call("floor", "floor"),
    math.CeilOp: _call("ceil", "ceil"),
    math.TruncOp: _call("trunc", "trunc"),
    math.CopySignOp: _call("copysign", "copysign", 2),
    arith.CmpfOp: Row(_cmpf_python, _cmpf_llvm),
    arith.CmpiOp: Row(_cmpi_python, _cmpi_llvm),
    arith.SelectOp: Row("select({0}, {1}, {2})", "select i1 {0}, {r} {1}, {r} {2}"),
    arith.ExtFOp: Row(_extf_python, _extf_llvm),
    arith.TruncFOp: Row(_truncf_python, _truncf_llvm),
    arith.TruncIOp: Row(_trunci_python, _convert("trunc")),
    arith.ExtSIOp: Row(_extsi_python, _convert("sext")),
    arith.ExtUIOp: Row(_extui_python, _convert("zext")),
    arith.SIToFPOp: Row(_sitofp_python, _convert("sitofp")),
    arith.UIToFPOp: Row(_uitofp_python, _convert("uitofp")),
    arith.FPToSIOp: _to_int("s"),
    arith.FPToUIOp: _to_int("u"),
    arith.BitcastOp: Row(_bitcast_python, _convert("bitcast")),
    FreezeOp: Row("{0}", "freeze {t} {0}"),
    arith.IndexCastOp: Row(_index_cast_python, _index_cast_llvm),
    **{op: _function(name, 2 if name == "pow" else 1) for op, name in FUNCTIONS.items()},
    FmodOp: Row(_fmod_python, _fmod_llvm),
    PackBf16Op: Row("np.int32(np.int32({0}) | np.int32(np.int32({1}) << 16))", packed_texts.pack),
    DotBf16Op: Row(_dot_python, packed_texts.dot),
    RoundBf16Op: Row(_round_bf16_python, packed_texts.round_bf16),
    PackI8Op: Row(_pack_i8_python, packed_texts.pack_i8),
    DotI8Op: Row(_dot_i8_python, packed_texts.dot),
}
