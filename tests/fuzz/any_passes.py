"""Modules of mir, hir and lir, small changes of them, and every pass with options that fit.

What is claimed about that is in test_any_passes.py. As a script: `any_passes.py FIRST STOP` prints what is wrong with
the changes of these seeds.
"""

# It changes attributes and types of every kind, whose parameters are not known.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
import signal
import sys
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from random import Random

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, Region
from xdsl.passes import ModulePass, PassPipeline
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, PassFailedException, VerifyException

import xdsl_rlx as rlx
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.dialects.errors import RlxError
from xdsl_rlx.lowering import UNIVERSE as LOWERING
from xdsl_rlx.transforms import UNIVERSE as TRANSFORMS
from xdsl_rlx.transforms.driver import run_in_order

DIAGNOSTICS = (RlxError, VerifyException, PassFailedException, ParseError)

SECONDS = 60
"""Processor time after which a run counts as one without end."""

PIPELINES = (
    "mir-prepare-for-ad,mir-grad{WRT},canonicalize,cse,mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir,lir-plan-memory",
    "convert-hir-to-mir,mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir,lir-elide-copies,lir-merge-lengths,"
    "lir-prefetch-stores,lir-guard-range,lir-tile-matmuls,lir-outline-loops,lir-mark-unrolled,lir-plan-memory",
    "mir-prepare-for-ad,mir-jvp{WRT},canonicalize,mir-vmap{INPUTS size=3},mir-fuse",
    "mir-fuse,convert-mir-to-lir,lir-plan-memory,lir-check-bounds",
)

REQUIRED = {
    "wrt": "WRT",
    "inputs": "INPUTS",
    "names": "names=h",
    "size": "size=2",
    "outputs": "outputs=0",
    "arguments": "arguments=NAME",
    "price": "price=1.0",
    "budget": "budget=4096",
    "part": "part=forward",
}
"""Options that a pass asks for, as the text of a pipeline has them."""

SLOW = ("mir-fold-constants",)
"""It compiles: one in ten modules is enough."""


@cache
def specs() -> tuple[str, ...]:
    """Every pass of ours with the options that it needs, and pipelines, as texts with places for names."""
    found: list[str] = []
    for universe in (TRANSFORMS, LOWERING):
        for name, get in universe.all_passes.items():
            kind = get()
            needed = [
                REQUIRED[field.name]
                for field in (fields(kind) if is_dataclass(kind) else ())
                if field.default is MISSING and field.default_factory is MISSING
            ]
            found.append(f"{name}{{{' '.join(needed)}}}" if needed else name)
    return (*found, "mir-grad{WRT}", *PIPELINES)


def passes_for(spec: str, module: ModuleOp) -> Sequence[ModulePass]:
    """The passes of a text, for the arguments that a module has."""
    names = [n for n in _argument_names(module) if re.fullmatch(r"\w+", n)] or ["x"]
    floating = [n for n, type_ in _arguments(module) if _is_floating(type_) and re.fullmatch(r"\w+", n)] or names
    text = spec.replace("WRT", f"wrt={','.join(floating[:2])}").replace("INPUTS", f"inputs={names[0]}")
    known = {**TRANSFORMS.all_passes, **LOWERING.all_passes, **_upstream()}
    return PassPipeline.parse_spec(known, text.replace("NAME", names[0])).passes


@cache
def _upstream() -> dict[str, Callable[[], type[ModulePass]]]:
    from xdsl.transforms import get_all_passes

    return get_all_passes()


def _argument_names(module: ModuleOp) -> list[str]:
    return [name for name, _ in _arguments(module)]


def _arguments(module: ModuleOp) -> list[tuple[str, Attribute]]:
    for op in module.ops:
        if isinstance(op, FuncOp) and op.arg_attrs is not None and op.body.blocks:
            entries = zip(op.arg_attrs, op.body.blocks[0].args, strict=False)
            return [(n.data, arg.type) for e, arg in entries if isinstance(n := e.data.get("mir.name"), StringAttr)]
    return []


def _is_floating(type_: Attribute) -> bool:
    return isinstance(type_, TensorType) and type_.element_type in (f16, bf16, f32, f64)


@cache
def sample_modules() -> tuple[tuple[str, ModuleOp], ...]:
    """A module of each op sample, in its first element type."""
    from numerics.families import SAMPLES

    return tuple((f"sample {sample.id}", sample.module(sample.dtypes[0])) for sample in SAMPLES)


@cache
def text_modules() -> tuple[tuple[str, str], ...]:
    """The texts of FileCheck files, each split where they are split."""
    found: list[tuple[str, str]] = []
    folder = Path(__file__).parents[1] / "filecheck"
    for path in sorted(folder.rglob("*.mlir")):
        for number, part in enumerate(re.split(r"^// -----.*$", path.read_text(), flags=re.MULTILINE)):
            found.append((f"{path.relative_to(folder)}:{number}", part))
    return tuple(found)


def parsed(text: str) -> ModuleOp | None:
    """The verified module of a text, or None if it is none: FileCheck files have some that are wrong."""
    try:
        return rlx.parse(text)
    except rlx.GraphError:
        return None


class WithoutEndError(BaseException):
    """A run took longer than any that is right."""


@contextmanager
def limited() -> Generator[None]:
    """WithoutEndError in a run that takes `SECONDS` of processor time."""

    def stop(number: int, frame: object) -> None:
        raise WithoutEndError(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def run(module: ModuleOp, spec: str) -> str | None:
    """
    What is wrong with running passes on a copy of a module: None if all verify, or a diagnostic says no.

    With `XDSL_RLX_CHECK=1`, as tests set it, a pass that leaves a module that does not verify is at fault.
    """
    copy = module.clone()
    try:
        with limited():
            run_in_order(context(), copy, passes_for(spec, copy))
    except DIAGNOSTICS as error:
        return None if str(error).strip() else "an empty message"
    except (Exception, WithoutEndError) as error:
        return _seen(error)
    return None


def _seen(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {str(error)[:200]} at {'/'.join(frame.filename.split('/')[-3:])}:{frame.lineno}"


EXTREMES = (-1, 0, 1, 2, 3, 7, 64, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63))
ELEMENTS = (f16, bf16, f32, f64, i1, i32, i64, IntegerType(8))


def changed(module: ModuleOp, random: Random) -> ModuleOp:
    """A copy of a module with one to three small things changed in its ops; it need not verify."""
    copy = module.clone()
    for _ in range(random.randint(1, 3)):
        ops = [op for op in copy.walk() if op is not copy]
        if not ops:
            return copy
        _change(random.choice(ops), random, ops)
    return copy


def _change(op: Operation, random: Random, ops: Sequence[Operation]) -> None:
    values = [result for other in ops for result in other.results]
    values += [arg for other in ops for region in other.regions for block in region.blocks for arg in block.args]
    match random.randint(0, 6):
        case 0 if op.operands:
            op.operands[random.randrange(len(op.operands))] = random.choice(values)
        case 1 if len(op.operands) > 1:
            one, two = random.sample(range(len(op.operands)), 2)
            op.operands[one], op.operands[two] = op.operands[two], op.operands[one]
        case 2 if op.results:
            result = random.choice(op.results)
            object.__setattr__(result, "_type", _other_type(result.type, random))
        case 3 | 4 if op.properties or op.attributes:
            entries = op.properties or op.attributes
            name = random.choice(list(entries))
            entries[name] = _other(entries[name], random)
        case 5 if op.results and op.parent is not None:
            same = [v for v in values if v.type == op.results[0].type and v.owner is not op]
            if len(op.results) == 1 and same:
                op.results[0].replace_all_uses_with(random.choice(same))
                op.detach()
                op.erase(safe_erase=False)
        case _ if op.parent is not None and not op.regions:
            op.parent.insert_op_after(op.clone(), op)
        case _:
            pass


def _other_type(type_: Attribute, random: Random) -> Attribute:
    if not isinstance(type_, TensorType):
        return random.choice(ELEMENTS)
    shape = list(type_.get_shape())
    match random.randint(0, 3):
        case 0:
            return TensorType(random.choice(ELEMENTS), shape)
        case 1 if shape:
            del shape[random.randrange(len(shape))]
        case 2 if shape:
            shape[random.randrange(len(shape))] = random.choice([e for e in EXTREMES if e >= 0])
        case _:
            shape.insert(random.randint(0, len(shape)), random.choice((1, 2, 0)))
    return TensorType(type_.element_type, shape)


def _other(attribute: Attribute, random: Random) -> Attribute:
    """An attribute of the same kind with another number in it."""
    if isinstance(attribute, DenseArrayBase):
        numbers = list(attribute.get_values())
        if numbers and random.random() < 0.7:
            numbers[random.randrange(len(numbers))] = random.choice(EXTREMES)
        elif numbers and random.random() < 0.5:
            numbers.pop()
        else:
            numbers.append(random.choice(EXTREMES))
        try:
            return DenseArrayBase.from_list(attribute.elt_type, numbers)
        except (VerifyException, ValueError):
            return attribute
    if isinstance(attribute, IntegerAttr):
        try:
            return IntegerAttr(random.choice(EXTREMES), attribute.type)
        except (VerifyException, ValueError):
            return attribute
    if isinstance(attribute, FloatAttr):
        return FloatAttr(random.choice((0.0, -1.0, 1e300, float("nan"), float("inf"))), attribute.type)
    if isinstance(attribute, ArrayAttr) and len(attribute):
        entries = list(attribute)
        entries.pop(random.randrange(len(entries)))
        return ArrayAttr(entries)
    if isinstance(attribute, StringAttr):
        return StringAttr(random.choice(("", "é", "x0", attribute.data + "_")))
    if isinstance(attribute, TensorType):
        return _other_type(attribute, random)
    return attribute if isinstance(attribute, Region) else BoolAttr.from_bool(random.random() < 0.5)


def changed_text(text: str, random: Random) -> str:
    """A text with a number, a type or a word exchanged for another one of it."""
    tokens = re.findall(r'"[^"]*"|\s+|[%@!#]?[\w.$-]+|.', text, flags=re.DOTALL)
    solid = [n for n, token in enumerate(tokens) if not token.isspace()]
    for _ in range(random.randint(1, 3)):
        at = random.choice(solid)
        numbers = [n for n in solid if tokens[n].isdecimal()]
        match random.randint(0, 3):
            case 0 if numbers:
                tokens[random.choice(numbers)] = str(random.choice(EXTREMES))
            case 1:
                alike = [n for n in solid if tokens[n][:1] == tokens[at][:1]]
                tokens[at] = tokens[random.choice(alike)]
            case 2:
                tokens[at] = random.choice(("é", "tensor<0xf32>", "f16", "[]", ""))
            case _:
                tokens[at] = tokens[random.choice(solid)]
    return "".join(tokens)


def _generic(module: ModuleOp) -> str:
    """A module as text that needs none of its ops to be right."""
    text = StringIO()
    Printer(text, print_generic_format=True).print_op(module)
    return text.getvalue()


def mutant(seed: int) -> tuple[str, ModuleOp | None]:
    """The changed module of a seed, and what it was; None if it does not verify."""
    random = Random(seed)
    samples, texts = sample_modules(), text_modules()
    if random.random() < 0.6:
        name, module = random.choice(samples)
        if random.random() < 0.3:
            return name, parsed(changed_text(str(module), random))
        return name, parsed(_generic(changed(module, random)))
    name, text = random.choice(texts)
    return name, parsed(changed_text(text, random))


def faults_of(seed: int) -> list[str]:
    """What is wrong with a mutant, whatever runs on it."""
    try:
        name, module = mutant(seed)
    except Exception as error:
        return [f"seed {seed}, rlx.parse: {_seen(error)}"]
    if module is None:
        return []
    random = Random(seed)
    chosen = [spec for spec in specs() if spec not in SLOW or random.random() < 0.1]
    found = ((spec, run(module, spec)) for spec in chosen)
    return [f"seed {seed} ({name}), {spec}: {what}" for spec, what in found if what is not None]


def main(first: int, stop: int) -> None:
    """Print the faults of these seeds."""
    for seed in range(first, stop):
        for line in faults_of(seed):
            print(line, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
