"""What the runtime needs to know about a compiled program, and its bytes form (JSON header, then raw bytes; no pickle).
The machine code itself is not here: it travels beside the program."""

import json
import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from xdsl_rlx.lowering.run_errors import RlxError

ITEM_SIZES = {
    "f64": 8,
    "f32": 4,
    "f16": 2,
    "bf16": 2,
    "i64": 8,
    "i32": 4,
    "u32": 4,
    "i16": 2,
    "i8": 1,
    "u8": 1,
    "i1": 1,
    "c64": 8,
    "c128": 16,
}
"""Bytes per element of every dtype; an i1 is a byte holding 0 or 1."""

BASE_BLAS, BASE_ARENA, BASE_CONSTANTS, FIRST_BUFFER = range(4)
"""The base numbers of a launch argument: `Program.arguments` and then its outputs follow from `FIRST_BUFFER` on."""

_LENGTHS = struct.Struct("<QQ")


@dataclass(frozen=True)
class TensorSpec:
    """Name, static shape and dtype of an input, param or output."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return math.prod(self.shape) * ITEM_SIZES[self.dtype]


@dataclass(frozen=True)
class ArgumentMove:
    """In iteration `i` of a loop an argument lies `stride * ((i + shift) mod modulo)` bytes behind its offset."""

    argument: int
    depth: int
    """Which of the loops around the launch, counted from the outermost."""
    stride: int
    shift: int
    modulo: int
    """0: nothing wraps around."""


@dataclass(frozen=True)
class ScheduledLaunch:
    """One run of a kernel over `[0, extent)` in steps of `chunk`."""

    kernel: str
    extent: int
    chunk: int
    args: tuple[tuple[int, int], ...]
    """(base, byte offset) per memref argument."""
    independent: bool = False
    """It may run at the same time as the launches before it, back to and with the last one that is not independent."""
    moves: tuple[ArgumentMove, ...] = ()
    in_order: bool = False
    """Its pieces follow each other."""
    blas_threads: int = 1
    """How many threads BLAS and LAPACK have at most in it, which then is one piece."""

    @property
    def chunks(self) -> int:
        return -(-self.extent // self.chunk)

    @property
    def is_serial(self) -> bool:
        """Whether one thread runs all of it."""
        return self.in_order or self.chunks == 1


@dataclass(frozen=True)
class Loop:
    """A part of the schedule that runs `count` times, forwards or from the last iteration to the first."""

    count: int
    reverse: bool
    body: tuple["Item", ...]


@dataclass(frozen=True)
class Predicate:
    """A byte that says whether: `offset` behind a base, and moved as an argument, of which it is number 0."""

    base: int
    offset: int
    moves: tuple[ArgumentMove, ...] = ()


@dataclass(frozen=True)
class Branch:
    """One of two parts of the schedule: the first where the predicate is not 0."""

    predicate: Predicate
    then: tuple["Item", ...]
    otherwise: tuple["Item", ...]


@dataclass(frozen=True)
class While:
    """A part of the schedule that runs, with another one behind it, as long as the predicate is not 0 between them."""

    predicate: Predicate
    test: tuple["Item", ...]
    body: tuple["Item", ...]


Item: TypeAlias = ScheduledLaunch | Loop | Branch | While
"""What a schedule is made of."""


@dataclass(frozen=True)
class Program:
    """A schedule of launches, loops and branches over an arena, constants and user buffers."""

    name: str
    inputs: tuple[TensorSpec, ...]
    params: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    optional: tuple[str, ...]
    """Inputs that are ones when omitted, such as `d_output`."""
    arena_bytes: int
    alignment: int
    constants: bytes
    schedule: tuple[Item, ...]
    needs_blas: bool = True
    """Whether a kernel reads the table of BLAS and LAPACK functions."""
    updated: tuple[str, ...] = ()
    """Inputs and params that hold a result in the end, and inputs that are scratch memory."""
    repeatable: bool = True
    """
    Whether a run may begin anew from within a while loop: none of these is written to before the last one ends, and
    nothing is printed.
    """
    prints: bool = False
    """Whether a kernel calls the function that prints."""
    polls: bool = False
    """Whether a kernel has a loop of unknown length."""
    processes: int = 1
    """How many processes its collective ops connect; 1: it has none."""

    @property
    def arguments(self) -> tuple[TensorSpec, ...]:
        """Inputs, params, then inputs that may be omitted: the order of their base numbers and of a call."""
        required = tuple(spec for spec in self.inputs if spec.name not in self.optional)
        return (*required, *self.params, *(spec for spec in self.inputs if spec.name in self.optional))

    @property
    def launches(self) -> tuple[ScheduledLaunch, ...]:
        """The launches in order, those of a loop once, those of a branch one after the other."""
        return tuple(_launches(self.schedule))

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels launched, each once, in order of first use."""
        return tuple(dict.fromkeys(launch.kernel for launch in self.launches))


def parts_of(item: Item) -> tuple[tuple[Item, ...], ...]:
    """The parts of the schedule that an item holds."""
    match item:
        case Loop():
            return (item.body,)
        case Branch():
            return (item.then, item.otherwise)
        case While():
            return (item.test, item.body)
        case _:
            return ()


def _launches(schedule: Sequence[Item]) -> Iterator[ScheduledLaunch]:
    for item in schedule:
        if isinstance(item, ScheduledLaunch):
            yield item
        for part in parts_of(item):
            yield from _launches(part)


def pack(program: Program, code: bytes) -> bytes:
    """One blob of a program and its object code."""
    fields = asdict(program)
    del fields["constants"]
    header = json.dumps(fields, separators=(",", ":")).encode()
    return b"".join((_LENGTHS.pack(len(header), len(program.constants)), header, program.constants, code))


def unpack(data: bytes) -> tuple[Program, bytes]:
    """The inverse of `pack`; raises `RlxError` when `data` is no such blob."""
    try:
        header_size, constants_size = _LENGTHS.unpack_from(data)
        start = _LENGTHS.size
        fields = json.loads(data[start : start + header_size])
        start += header_size
        constants = data[start : start + constants_size]
        if len(constants) != constants_size:
            raise ValueError("constants are cut off")
        return _program(fields, constants), data[start + constants_size :]
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RlxError(f"not a packed program: {error}") from error


def _program(fields: dict[str, Any], constants: bytes) -> Program:
    for group in ("inputs", "params", "outputs"):
        fields[group] = tuple(TensorSpec(s["name"], tuple(s["shape"]), s["dtype"]) for s in fields[group])
    fields["optional"], fields["updated"] = tuple(fields["optional"]), tuple(fields["updated"])
    fields["schedule"] = _items(fields["schedule"])
    return Program(constants=constants, **fields)


def _items(fields: Sequence[dict[str, Any]]) -> tuple[Item, ...]:
    return tuple(map(_item, fields))


def _item(fields: dict[str, Any]) -> Item:
    if "count" in fields:
        return Loop(fields["count"], fields["reverse"], _items(fields["body"]))
    if "then" in fields:
        return Branch(_predicate(fields["predicate"]), _items(fields["then"]), _items(fields["otherwise"]))
    if "test" in fields:
        return While(_predicate(fields["predicate"]), _items(fields["test"]), _items(fields["body"]))
    return ScheduledLaunch(
        fields["kernel"],
        fields["extent"],
        fields["chunk"],
        tuple((base, offset) for base, offset in fields["args"]),
        fields["independent"],
        _moves(fields["moves"]),
        fields["in_order"],
        fields["blas_threads"],
    )


def _predicate(fields: dict[str, Any]) -> Predicate:
    return Predicate(fields["base"], fields["offset"], _moves(fields["moves"]))


def _moves(fields: Sequence[dict[str, Any]]) -> tuple[ArgumentMove, ...]:
    return tuple(ArgumentMove(**move) for move in fields)
