"""Which loops are written out, and that what LLVM makes of a kernel grows with its text and not with its extents."""

import re
from collections.abc import Callable
from typing import Any, cast

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import AnyFloat, IntegerAttr, MemRefType, bf16, f16, f32
from xdsl.ir import SSAValue

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import KernelOp, LaunchOp, ProgramOp
from xdsl_rlx.dialects.lir.kernel import UNROLL
from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm
from xdsl_rlx.lowering.backend.llvm.loop_hints import AS_VECTORS, METADATA, SIDE_BY_SIDE, WRITTEN_OUT
from xdsl_rlx.lowering.backend.machine import llvm
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel, Nest
from xdsl_rlx.lowering.loops.lir_mark_unrolled import LirMarkUnrolledPass
from xdsl_rlx.lowering.prepare.mir_prepare_for_ad import MirPrepareForAdPass
from xdsl_rlx.transforms.mir_jacfwd import MirJacfwdPass

LEVELS = ("x86-64-v3", "x86-64-v4") if llvm.processor() == "x86_64" else (None,)
"""LLVM's decisions differ most between these."""

BYTES = 100_000
"""What the object of a kernel may take."""

GROWTH = 7
"""Machine instructions for one of LLVM's in the text, with the functions of mathlib that it brings along."""

INSTRUCTION = re.compile(r"^\t[a-z]", re.MULTILINE)
LINE = re.compile(r"^  \S", re.MULTILINE)


ALONE = LirMarkUnrolledPass()


def doubling(
    extents: list[int], rolled: bool = False, element: AnyFloat = f32, marks: LirMarkUnrolledPass = ALONE
) -> KernelOp:
    """`x *= 2` for a buffer, in loops of these extents around the last index."""
    kernel = Kernel([MemRefType(element, (64, *extents))], ["x"])
    (x,) = kernel.block.args[:-2]

    def loops(nest: Nest, at: tuple[SSAValue, ...], inner: list[int]) -> None:
        if not inner:
            nest.store(nest.load(x, at) * 2.0, x, at)
            return
        bounds = kernel.index(0), kernel.index(inner[0])
        for inside, j in nest.over(bounds, "j", rolled=rolled and len(inner) == 1):
            loops(inside, (*at, j), inner[1:])

    for row, i in kernel.entry.over(kernel.bounds, "i"):
        loops(row, (i,), extents)
    finished = kernel.finish()
    marks.rewrite(finished, ())
    return finished


def unrolled(kernel: KernelOp) -> list[int]:
    """How many iterations of its loops are written out, from the outside in."""
    marks = (op.attributes.get(UNROLL) for op in kernel.walk())
    return [cast("IntegerAttr[Any]", mark).value.data for mark in marks if mark is not None]


def told(kernel: KernelOp) -> list[str]:
    """What LLVM is told about loops, from the inside out."""
    return [METADATA[int(number)] for number in re.findall(r", !llvm.loop !(\d+)", emit_llvm([kernel]))]


@pytest.mark.parametrize(
    ("extents", "expected"),
    [
        ([4], [4]),
        ([15], [15]),
        # as vectors
        ([16], [16]),
        ([130], []),
        # several rows at a time
        ([3, 5], [2, 5]),
        ([15, 15], [5, 15]),
        ([30, 16], [6, 16]),
        ([30, 130], []),
        ([31, 16], [8, 16]),
        ([0], [0]),
    ],
)
def test_loops_are_written_out_by_their_size(extents: list[int], expected: list[int]) -> None:
    assert unrolled(doubling(extents)) == expected


@pytest.mark.parametrize("element", [f16, bf16])
def test_rows_of_half_floats_are_written_out_up_to_a_vector(element: AnyFloat) -> None:
    """No instruction gathers or scatters them, and LLVM would make vectors of the loop around."""
    assert unrolled(doubling([8], element=element)) == [8]
    assert unrolled(doubling([9], element=element)) == []


def test_a_rolled_loop_is_written_out_as_vectors_only() -> None:
    assert told(doubling([3])) == [WRITTEN_OUT.metadata()]
    assert told(doubling([12])) == [AS_VECTORS.metadata()]
    assert told(doubling([12], rolled=True)) == [AS_VECTORS.metadata()]
    assert told(doubling([30, 16])) == [AS_VECTORS.metadata(), SIDE_BY_SIDE[6].metadata()]


def test_what_loops_are_written_out_to_is_bounded() -> None:
    # a load, a product and a store for each of the 9 elements
    assert unrolled(doubling([3, 3], marks=LirMarkUnrolledPass(max_unrolled_ops=26))) == [3]
    assert unrolled(doubling([3, 3], marks=LirMarkUnrolledPass(max_unrolled_ops=27))) == [3, 3]
    few = LirMarkUnrolledPass(max_unrolled_ops=27, max_kernel_unrolled_ops=27 + 8)
    assert unrolled(doubling([3, 3], marks=few)) == [3]


def attention(width: int) -> rlx.Graph:
    g = rlx.Graph("attention")
    heads = [g.param(name, (1, 2, 64, width)) for name in ("q", "k", "v")]
    g.set_outputs([g.attention(*heads, mask_kind="causal", layout="bhsd")])
    return g


def solve() -> rlx.Graph:
    g = rlx.Graph("solve")
    a, b = g.param("a", (8, 32, 32)), g.param("b", (8, 32, 64))
    g.set_outputs([g.batched_dense_solve(a, b)])
    return g


def jacobian() -> rlx.GraphModule:
    g = rlx.Graph("layer")
    x, w = g.param("x", (16,)), g.input("w", (16, 16))
    g.set_outputs([g.tanh(g.reshape(g.reshape(x, (1, 16)) @ w, (16,)))])
    return rlx.run_passes(g, [MirPrepareForAdPass(), MirJacfwdPass(("x",))])


def splats() -> rlx.GraphModule:
    g = rlx.Graph("splats")
    sizes = {"positions": 48, "scales": 48, "rotations": 64, "opacities": 16, "colors": 48, "sh_coeffs": 192}
    values = [g.param(name, (size,)) for name, size in sizes.items()]
    positions, scales, rotations, opacities, colors, waves = values
    meta = g.input("meta", (15,))
    g.set_outputs(
        [g.gaussian_splat_render(positions, scales, rotations, opacities, colors, waves, meta, width=17, height=16)]
    )
    return rlx.grad(g, list(sizes))


def copy_of_columns() -> rlx.Graph:
    g = rlx.Graph("copy")
    x = g.input("x", (4, 9, 16, 16, 16))
    g.set_outputs([g.transpose(x, (0, 2, 4, 1, 3))])
    return g


def integer_product(depth: int, columns: int) -> rlx.Graph:
    g = rlx.Graph("product")
    x, w = g.input("x", (5, depth), dtype="i8"), g.input("w", (depth, columns), dtype="i8")
    g.set_outputs([g.q_matmul(x, w, g.input("bias", (columns,), dtype="i32"), 0.01)])
    return g


def rows_of_halves(columns: int) -> rlx.Graph:
    g = rlx.Graph("rows")
    g.set_outputs([g.input("x", (3, 1), dtype="f16") * g.input("y", (columns,), dtype="f16")])
    return g


WORST: dict[str, Callable[[], rlx.Graph | rlx.GraphModule]] = {
    **{f"attention-{width}": lambda width=width: attention(width) for width in (8, 16, 17)},
    "solve": solve,
    "jacobian": jacobian,
    "splats": splats,
    "copy": copy_of_columns,
    # LLVM's SLP vectoriser took seconds over these
    "rows of halves": lambda: rows_of_halves(13),
    **{f"integers-{k}-{n}": lambda k=k, n=n: integer_product(k, n) for k, n in ((1, 15), (10, 5))},
}


@pytest.mark.parametrize("name", WORST)
def test_code_grows_with_the_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for level in LEVELS:
        if level is not None:
            monkeypatch.setattr(llvm, "host", lambda level=level: (level, ""))
        # what has an instruction there is lowered to it
        module = lower_to_lir(WORST[name]().module, 2)
        for kernel in (op for op in module.walk() if isinstance(op, KernelOp)):
            text = emit_llvm([kernel])
            code, listing = llvm.emit_object(text), llvm.emit_assembly(text)
            assert len(code) <= BYTES
            assert len(INSTRUCTION.findall(listing)) <= GROWTH * len(LINE.findall(text)), (kernel.sym_name.data, level)


@pytest.mark.parametrize("threads", [1, 2])
def test_launches_of_one_iteration_are_straight(threads: int) -> None:
    """The sum of what pieces have summed up, and what is done with one number: neither has a loop over its launch."""
    g = rlx.Graph("mean")
    g.set_outputs([g.exp(g.reduce_mean(g.input("x", (1 << 18,))))])
    program, *kernels = (op for op in lower_to_lir(g.module, threads).walk() if isinstance(op, ProgramOp | KernelOp))
    launches = [op for op in program.walk() if isinstance(op, LaunchOp)]
    straight = {str(op.kernel.root_reference.data) for op in launches if op.extent.value.data == 1}
    assert len(straight) == threads and len(launches) == len(kernels) == threads + 1
    for kernel in kernels:
        assert isinstance(kernel, KernelOp)
        loops = [op for op in kernel.walk() if isinstance(op, scf.ForOp)]
        of_launch = [op for op in loops if op.lb is kernel.body.block.args[-2]]
        assert bool(of_launch) is (kernel.sym_name.data not in straight)
        if not of_launch:
            assert not any(arg.uses.get_length() for arg in kernel.body.block.args[-2:])
