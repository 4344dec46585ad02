"""The sweep of kernel sizes: what LLVM makes of every kernel of a case, over the sizes of each of its extents.

One extent is varied at a time; then all are small at once, at random: what loops in loops are written out to depends on
all of them. Kernels with the same text are compiled once. Prints the worst of each case and what is above the bars:
seconds of CPU in LLVM, bytes of the object.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from kernel_cases import CASES, HALVES, Arguments, Case

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import KernelOp
from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm
from xdsl_rlx.lowering.backend.machine.llvm import compile_llvm
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir
from xdsl_rlx.lowering.prepare.mir_prepare_for_ad import MirPrepareForAdPass
from xdsl_rlx.transforms.mir_jacfwd import MirJacfwdPass

SECONDS = 0.5
"""CPU time that no kernel may take in LLVM."""

BYTES = 100_000
"""What no kernel's object may exceed."""

LARGEST = 130
FEW = (1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 96, 128, 130)
"""Powers of two, their neighbours, and some between."""

SMALL = 17
"""The largest of small extents."""

THREADS = 2


@dataclass(frozen=True)
class Kernel:
    """A kernel of a case and what it is compiled to; `text` and `code` are bytes."""

    case: str
    dtype: str
    extents: dict[str, int]
    name: str
    seconds: float
    text: int
    code: int

    def __str__(self) -> str:
        sizes = " ".join(f"{name}={n}" for name, n in self.extents.items())
        at = f"{self.case} {self.dtype} {sizes}"
        return f"{self.seconds:6.2f} s {self.text:8} {self.code:8}  {at}: {self.name}"


def graph_of(case: Case, dtype: str, extents: dict[str, int], name: str) -> rlx.Graph | rlx.GraphModule:
    """The graph of a case, with its gradients if it has any; `jacfwd` is the Jacobian."""
    graph = rlx.Graph("kernels")
    arguments = Arguments(graph, dtype)
    graph.set_outputs([case.build(arguments, extents)])
    if name == "jacfwd":
        return rlx.run_passes(graph, [MirPrepareForAdPass(), MirJacfwdPass((arguments.wrt[0],))])
    return rlx.grad_with_loss(graph, wrt=arguments.wrt) if case.differentiable else graph


def settings(case: Case, sizes: tuple[int, ...], small: int) -> Iterator[dict[str, int]]:
    """The usual extents with one of them varied, and so many times small ones."""
    for name in case.usual:
        for size in sizes:
            if size <= case.most.get(name, LARGEST):
                yield case.usual | {name: size}
    chance = random.Random(0)
    for _ in range(small):
        yield {name: chance.randint(1, min(SMALL, case.most.get(name, SMALL))) for name in case.usual}


class Sweep:
    """Compiles kernels it has not seen."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def kernels(self, name: str, dtype: str, extents: dict[str, int]) -> Iterator[Kernel]:
        """What is new among the kernels of a case."""
        module = lower_to_lir(graph_of(CASES[name], dtype, extents, name).module, THREADS)
        for kernel in module.walk():
            if not isinstance(kernel, KernelOp):
                continue
            text = emit_llvm([kernel])
            anonymous = text.replace(kernel.sym_name.data, "k")
            if anonymous in self.seen:
                continue
            self.seen.add(anonymous)
            began = time.process_time()
            code = compile_llvm(text)
            seconds = time.process_time() - began
            yield Kernel(name, dtype, extents, kernel.sym_name.data, seconds, len(text), len(code))

    def case(self, name: str, sizes: tuple[int, ...], small: int, dtypes: tuple[str, ...]) -> list[Kernel]:
        """All kernels of a case."""
        case = CASES[name]
        return [
            kernel
            for dtype in case.dtypes
            if dtype in dtypes
            for extents in settings(case, sizes, small)
            for kernel in self.kernels(name, dtype, extents)
        ]


def is_over(kernel: Kernel) -> bool:
    """Whether a kernel is above a bar."""
    return kernel.seconds > SECONDS or kernel.code > BYTES


def main() -> int:
    """Sweep, print the worst, write them as lines of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(CASES), help="cases, such as attention,solve")
    parser.add_argument("--sizes", default=",".join(map(str, FEW)), help="sizes, such as 1,2,16, or all, or none")
    parser.add_argument("--small", type=int, default=20, help="how many times all extents are small")
    parser.add_argument("--dtypes", default=",".join(("f32", "f64", *HALVES)))
    parser.add_argument("--json", type=Path, help="write the slowest and the largest kernel of each case here")
    options = parser.parse_args()
    chosen = {"all": range(1, LARGEST + 1), "none": ()}.get(options.sizes)
    sizes = tuple(map(int, options.sizes.split(",")) if chosen is None else chosen)
    sweep, found, worst = Sweep(), list[Kernel](), list[Kernel]()
    for name in options.only.split(","):
        kernels = sweep.case(name, sizes, options.small, tuple(options.dtypes.split(",")))
        found += kernels
        if kernels:
            slowest, largest = max(kernels, key=lambda k: k.seconds), max(kernels, key=lambda k: k.code)
            print(slowest, f"(slowest of {len(kernels)})", flush=True)
            print(largest, "(largest)", flush=True)
            worst += [slowest, largest]
    over = [kernel for kernel in found if is_over(kernel)]
    print(
        f"{len(found)} kernels, {sum(k.seconds for k in found):.0f} s; {len(over)} above {SECONDS} s or {BYTES} bytes"
    )
    for kernel in sorted(over, key=lambda k: -k.seconds):
        print(kernel)
    if options.json is not None:
        options.json.write_text("".join(json.dumps(asdict(kernel)) + "\n" for kernel in worst))
    return 0


if __name__ == "__main__":
    sys.exit(main())
