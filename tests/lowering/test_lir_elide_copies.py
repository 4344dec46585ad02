"""Values that are computed to be copied are computed where the copy is wanted: in loops, and where nothing forbids."""

from random import Random
from typing import Any

import numpy as np
import pytest
from cost_models import costs
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.dialects.lir import LaunchOp
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module, lower_to_lir
from xdsl_rlx.lowering.bufferize.lir_elide_copies import LirElideCopiesPass

SIZE = 12
LINE = f"memref<{SIZE}xf32>"

KERNELS = {
    "copy": ("%x[%i]", None),
    "double": ("%x[%i]", None),
    "mirrored": ("%x[%j]", f"%j = arith.subi %c{SIZE - 1}, %i : index"),
}


def kernel(name: str) -> str:
    """An iteration stores an element of its own: what it has read, twice that, or twice another one."""
    read, place = KERNELS[name]
    value = "%v" if name == "copy" else "%s"
    lines = [
        f"lir.kernel @{name}(%x: {LINE}, %y: {LINE}, %lo: index, %hi: index) {{",
        *(f"%c{n} = arith.constant {n} : index" for n in (1, SIZE - 1)),
        "scf.for %i = %lo to %hi step %c1 {",
        *([place] if place else []),
        f"%v = memref.load {read} : {LINE}",
        *(["%s = arith.addf %v, %v : f32"] if value == "%s" else []),
        f"memref.store {value}, %y[%i] : {LINE}",
        "}\nlir.return\n}",
    ]
    return "\n".join(lines)


def launch(name: str, read: str, written: str, chunk: int) -> str:
    return f"lir.launch @{name} over {SIZE} by {chunk} reads({read} : {LINE}) writes({written} : {LINE})"


def text(seed: int) -> str:
    """Launches that compute in slots or outputs, and copies from slots, of which each is read where `seed` says."""
    random, outputs = Random(seed), ["%a", "%b", "%c"]
    lines = [f'%x = lir.input "x" : {LINE}', *(f"{x} = lir.output {n} : {LINE}" for n, x in enumerate(outputs))]
    lines += [launch("double", "%x", x, SIZE) for x in outputs]
    slots: list[str] = []
    body: list[str] = []
    for step in range(9):
        name, read = random.choice(list(KERNELS)), random.choice([*outputs, *outputs, *slots[-2:]])
        written = random.choice([f"%s{step}", f"%s{step}", random.choice([x for x in outputs if x != read])])
        if written.startswith("%s"):
            slots.append(written)
            body.append(f"{written} = lir.slot : {LINE}")
        body.append(launch(name, read, written, random.choice([SIZE, 5, 1])))
        if slots and random.random() < 0.6:
            body.append(launch("copy", slots[-1], random.choice(outputs), random.choice([SIZE, 5])))
    if seed % 2:
        body = ["lir.loop %n = 0 to 3 {", *body, "}"]
    head, tail = ["builtin.module {", "lir.program @p {"], ["}", *map(kernel, KERNELS), "}"]
    return "\n".join([*head, *lines, *body, *tail])


def elided(program: str) -> ModuleOp:
    module = rlx.parse(program)
    LirElideCopiesPass().apply(Context(), module)
    module.verify()
    return module


def launches(module: ModuleOp) -> int:
    return sum(isinstance(op, LaunchOp) for op in module.walk())


@pytest.mark.sampled(most=16)
@pytest.mark.parametrize("seed", range(200))
def test_programs_compute_the_same(seed: int) -> None:
    program, x = text(seed), np.arange(1, SIZE + 1, dtype=np.float32)
    found = compile_module(elided(program), 2, Effort.QUICK)(x=x)
    for one, expected in zip(found, compile_module(rlx.parse(program), 1, Effort.QUICK)(x=x), strict=True):
        np.testing.assert_array_equal(one, expected)


def test_some_programs_have_fewer_launches() -> None:
    fewer = [launches(rlx.parse(text(seed))) - launches(elided(text(seed))) for seed in range(60)]
    assert min(fewer) == 0 and sum(count > 0 for count in fewer) > 20


def _scaled(read: str) -> str:
    lines = [
        f'%x = lir.input "x" : {LINE}',
        f"%y = lir.output 0 : {LINE}",
        launch("copy", "%x", "%y", SIZE),
        f"%s = lir.slot : {LINE}",
        launch(read, "%y", "%s", 4),
        launch("copy", "%s", "%y", SIZE),
    ]
    return "\n".join(["builtin.module {", "lir.program @p {", *lines, "}", *map(kernel, KERNELS), "}"])


def test_a_launch_that_reads_other_elements_stores_elsewhere() -> None:
    assert [launches(elided(_scaled(read))) for read in ("double", "mirrored")] == [2, 3]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_carries_of_a_while_loop_are_stored_over_those_before(threads: int) -> None:
    """A condition that is not known before, carries that read each other, and one that is handed on."""
    x = np.linspace(0.1, 2.0, 3 * 64).reshape(3, 64)

    def program(x: Any) -> Any:
        def step(carry: Any) -> Any:
            n, a, b, _ = carry
            return n + 1, a * 0.5 + b, b - a * 0.25, a

        return rlx.while_loop(lambda carry: (carry[0] < 40) & (carry[1].sum() < 1e3), step, (np.int32(0), x, x, x))

    with costs(parallel_ops=1, max_outlined_ops=1):
        lowered = lower_to_lir(as_graph_module(rlx.compile(program).trace(x)).module, threads)
        found = compile_module(lowered, threads, Effort.QUICK)(x)
    n, a, b, c = 0, x, x, x
    while n < 40 and a.sum() < 1e3:
        n, a, b, c = n + 1, a * 0.5 + b, b - a * 0.25, a
    for one, expected in zip(found, (n, a, b, c), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-12)
    names = [op.kernel.string_value() for op in lowered.walk() if isinstance(op, LaunchOp)]
    assert any(name.endswith("_in_place") for name in names)
