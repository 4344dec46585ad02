"""Every printed form of a program reads back bit for bit: constants and number properties, in all stages and forms."""

import copy
import pickle
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numerics.families import SAMPLES
from oracle import numpy_dtype
from xdsl.dialects.builtin import FloatAttr, ModuleOp, f64
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.xdsl_opt_main import xDSLOptMain

import xdsl_rlx as rlx
from xdsl_rlx.builder import HirGraph
from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.dialects.mir.elementwise import ConstantOp
from xdsl_rlx.dialects.shapes import DTYPES
from xdsl_rlx.passes import parse

NUMBERS = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 5e-324, 123456789.0, 1e22, 16777217.0, 1.5, 0.1, -3.0)
SHAPES = ((), (1,), (3,), (2, 3), (0,), (0, 2), (101,), (1, 1, 2))
PAYLOAD = float(np.array(0x7FF8DEAD00000001, np.int64).view(np.float64))
FUSE = "mir-prepare-for-fusion,mir-fuse"


def printed(module: Operation, generic: bool) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


def bits(seed: int) -> tuple[bytes, str, tuple[int, ...]]:
    """The elements of a constant: any bits, special numbers, or all of one kind; its element type and its shape."""
    rng = np.random.default_rng(seed)
    name = list(DTYPES)[seed % len(DTYPES)]
    shape = SHAPES[int(rng.integers(len(SHAPES)))]
    dtype, count = numpy_dtype(name), int(np.prod(shape))
    data = rng.bytes(count * dtype.itemsize)
    if name == "i1":
        return bytes(255 * (byte & 1) for byte in data), name, shape
    kind = int(rng.integers(4))
    if kind == 0:
        data = data[: dtype.itemsize] * count
    elif kind < 3 and dtype.kind in "fcV":
        numbers = rng.choice(NUMBERS if kind == 1 else NUMBERS[:2], (2, count))
        with np.errstate(all="ignore"):
            values = numbers[0] + 1j * numbers[1] if dtype.kind == "c" else numbers[0]
            data = values.astype(dtype).tobytes()
    return data, name, shape


def module_of(seed: int) -> tuple[ModuleOp, bytes]:
    data, name, shape = bits(seed)
    return ModuleOp([ConstantOp(constants.from_bytes(data, DTYPES[name], shape))]), data


@pytest.mark.parametrize("seed", range(104))
def test_a_constant_reads_back_bit_for_bit(seed: int):
    module, data = module_of(seed)
    for generic in (False, True):
        again = parse(printed(module, generic))
        (constant,) = again.body.block.ops
        assert isinstance(constant, ConstantOp)
        assert constant.value.data.data == data
        assert again.is_structurally_equivalent(module)
        # what was read from the generic form is printed as what was built
        assert printed(again, not generic) == printed(module, not generic)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("f16", b"\x01\x7e"),
        ("f16", b"\x01\x7c"),
        ("bf16", b"\xad\xff"),
        ("f32", b"\x01\x00\x80\x7f"),
        ("f64", b"\x01" * 6 + b"\xf8\x7f"),
    ],
)
def test_a_nan_keeps_its_payload(name: str, data: bytes):
    for shape in ((), (3,)):
        value = constants.from_bytes(data * (shape or (1,))[0], DTYPES[name], shape)
        for generic in (False, True):
            (constant,) = parse(printed(ModuleOp([ConstantOp(value)]), generic)).body.block.ops
            assert isinstance(constant, ConstantOp) and constant.value == value


@pytest.mark.parametrize("flags", [["--print-op-generic"], []], ids=["generic", "custom"])
def test_xdsl_opt_reads_what_it_prints(flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    module = ModuleOp([op.clone() for seed in range(120) for op in module_of(seed)[0].body.block.ops])
    path = tmp_path / "constants.mlir"
    path.write_text(str(module))
    for _ in range(2):
        xDSLOptMain(args=[str(path), *flags]).run()
        path.write_text(capsys.readouterr().out)
    assert parse(path.read_text()).is_structurally_equivalent(module)


def _samples() -> dict[str, ModuleOp]:
    """A module with an op for each kind of ops that has numbers among its properties."""
    found: dict[str, ModuleOp] = {}
    for sample in SAMPLES:
        name = sample.op.name
        if name in found or not _has_numbers(sample.op):
            continue
        found[name] = sample.unverified(sample.dtypes[0])
    return found


def _has_numbers(op: type[Operation]) -> bool:
    assert issubclass(op, IRDLOperation)
    return any(one.constr == FloatAttr.constr(f64) for one in op.get_irdl_definition().properties.values())


NUMBERED = _samples()


def test_there_are_ops_with_numbers():
    assert len(NUMBERED) > 25


@pytest.mark.parametrize("name", NUMBERED)
def test_a_number_property_reads_back_bit_for_bit(name: str):
    module = NUMBERED[name]
    op = next(op for op in module.walk() if op.name == name)
    given = dict(op.properties)
    names = [key for key, value in given.items() if isinstance(value, FloatAttr)]
    for number in (-np.inf, PAYLOAD, 123456789.0, -0.0):
        op.properties |= {key: FloatAttr(number, f64) for key in names}
        for generic in (False, True):
            again = Parser(context(), printed(module, generic)).parse_module()
            assert again.is_structurally_equivalent(module), (number, generic)
    op.properties = given


SPECIAL = np.array([np.inf, -0.0, 0.0, np.nan, 123456789.0])


def nested(dtype: str) -> rlx.Graph:
    """Constants in the bodies of a loop and of its branches, and beside them."""
    g = rlx.Graph("nested")
    x = g.input("x", (5,), dtype)
    with np.errstate(all="ignore"):
        c = SPECIAL.astype(numpy_dtype(dtype))

    def body(carry: rlx.Value, _: object) -> tuple[rlx.Value, None]:
        return g.cond(g.reduce_sum(carry) > 0, lambda: carry + g.constant(c), lambda: carry * g.constant(c[3])), None

    last, _ = g.scan(body, g.layer_norm(x, g.constant(c), g.constant(c[::-1]), eps=123456789.0), length=3)
    g.set_outputs([last, g.constant(c), g.where(x > 0, x, g.constant(c[::-1]))])
    return g


STAGES = {
    "mir": "canonicalize",
    "fused": FUSE,
    "lir": f"{FUSE},convert-mir-to-lir",
    "planned": f"{FUSE},convert-mir-to-lir,lir-guard-range,lir-mark-unrolled,lir-plan-memory",
}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
def test_a_program_reads_back_at_every_stage(dtype: str, stage: str):
    module = rlx.run_passes(nested(dtype), STAGES[stage]).module
    for generic in (False, True):
        assert parse(printed(module, generic)).is_structurally_equivalent(module)


def test_a_block_with_constants_reads_back():
    def build(m: HirGraph) -> rlx.Value:
        return m.linear(m.input("x", (2, 5)), m.constant(np.stack([SPECIAL, -SPECIAL], 1).astype(np.float32)))

    module = rlx.GraphModule.define("block", build).module
    for generic in (False, True):
        assert parse(printed(module, generic)).is_structurally_equivalent(module)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64", "c64", "c128"])
def test_graphs_and_compiled_graphs_are_pickled_and_copied_with_their_constants(dtype: str):
    g = rlx.Graph("g")
    with np.errstate(all="ignore"):
        c = (SPECIAL + 1j * SPECIAL[::-1] if dtype[0] == "c" else SPECIAL).astype(numpy_dtype(dtype))
    g.set_outputs([g.constant(c), g.input("x", ())])
    graph = rlx.GraphModule(g.module, "mir")
    compiled = rlx.compile(graph)
    ways: tuple[Callable[[Any], Any], ...] = (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)))
    for copied in ways:
        assert copied(graph).module.is_structurally_equivalent(graph.module)
        assert copied(compiled)(1.0)[0].tobytes() == compiled(1.0)[0].tobytes() == c.tobytes()


@pytest.mark.parametrize("scale", [123456789.0, 1e22, 5e-324, 0.1, 16777217.0])
def test_the_scales_of_a_quantization_read_back(scale: float):
    g = rlx.Graph("g")
    g.set_outputs(g.quantize(g.input("x", (2, 3)), [scale, 0.5], [0, 1], axis=0))
    for generic in (False, True):
        assert parse(printed(g.module, generic)).is_structurally_equivalent(g.module)


def test_a_number_is_written_with_a_point_or_as_its_bits():
    g = rlx.Graph("g")
    g.set_outputs(g.rng_uniform(g.input("k", (2,), "i64"), (4,), low=0.0))
    text = str(g)
    assert "low 0.000000e+00" in text
    for wrong in ("1", "0x10000000000000000", "-0x3ff0000000000000"):
        with pytest.raises(rlx.GraphError, match=r"expected a number with a point|is not the bits of an f64"):
            parse(text.replace("0.000000e+00", wrong))
