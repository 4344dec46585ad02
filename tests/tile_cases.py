"""Programs of single matrix products, for tests of the loops that these become."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from levels import EVERY
from sampling import sample
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import CallFunctionOp, GemmOp
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import Backend, compile_module
from xdsl_rlx.lowering.loops.lir_check_bounds import LirCheckBoundsPass
from xdsl_rlx.lowering.loops.lir_mark_unrolled import LirMarkUnrolledPass
from xdsl_rlx.lowering.pass_costs import with_costs
from xdsl_rlx.lowering.target import TileCosts
from xdsl_rlx.lowering.tiles.lir_tile_matmuls import LirTileMatmulsPass

Array = np.ndarray

SIZES = tuple(range(1, 131)) if EVERY else (1, 2, 3, 4, 5, 7, 8, 13, 14, 15, 16, 17, 31, 33, 48, 63, 64, 65, 127, 130)


@dataclass(frozen=True)
class Case:
    """One product in a loop of two iterations, in pieces of `chunk` rows."""

    rows: int
    depth: int
    columns: int
    chunk: int
    transposed: bool
    accumulate: bool
    across: bool = False
    """Whether the left factor lies column by column."""

    @property
    def factors(self) -> tuple[str, str]:
        """The types of the factors, without their elements."""
        b = f"{self.depth}x{self.columns}x{{0}}"
        if self.transposed:
            b += f", strided<[1, {max(self.depth, 1)}]>"
        a = f"{self.rows}x{self.depth}x{{0}}"
        if self.across:
            a += f", strided<[1, {max(self.rows, 1)}]>"
        return f"memref<{a}>", f"memref<{b}>"

    def expected(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The product in float64; the second iteration adds it once more."""
        product = a.astype(np.float64) @ (b.T if self.transposed else b).astype(np.float64)
        return 2 * product if self.accumulate else product


def text_of(cases: list[Case], element: str, result: str | None = None) -> str:
    """
    A program of all cases, of which each has a kernel; sums into start from zeros, others find something else.

    Results are of the type of the factors, or another one.
    """
    heads, bodies, kernels = list[str](), list[str](), list[str]()
    for n, case in enumerate(cases):
        a, b = (factor.format(element) for factor in case.factors)
        c, of = f"memref<{case.rows}x{case.columns}x{result or element}>", result or element
        before = "99" if of == "i32" else "0.0" if case.accumulate else "1.0e30"
        lines = f"memref<{case.depth}x{case.rows}x{element}>" if case.across else a
        heads.append(f'%v{n} = lir.input "a{n}" : {lines}')
        heads.append(f"%a{n} = lir.view %v{n} at 0 : {lines} to {a}" if case.across else "")
        dense = f"memref<{case.columns}x{case.depth}x{element}>" if case.transposed else b
        heads.append(f'%w{n} = lir.input "b{n}" : {dense}')
        heads.append(f"%b{n} = lir.view %w{n} at 0 : {dense} to {b}" if case.transposed else "")
        heads.append(f"%c{n} = lir.output {n} : {c}")
        heads.append(f"lir.launch @z{n} over {case.rows} by {max(case.rows, 1)} writes(%c{n} : {c})")
        factor = f"%b{n}" if case.transposed else f"%w{n}"
        bodies.append(
            f"lir.launch @k{n} over {case.rows} by {case.chunk} "
            f"reads({f'%a{n}' if case.across else f'%v{n}'}, {factor} : {a}, {b}) writes(%c{n} : {c})"
        )
        kernels.append(f"""lir.kernel @k{n}(%a: {a}, %b: {b}, %c: {c}, %lo: index, %hi: index) {{
  %c0 = arith.constant 0 : index
  %cn = arith.constant {case.columns} : index
  lir.gemm %a[], %b[], %c[] rows %lo to %hi cols %c0 to %cn {"accumulate " * case.accumulate}: {a}, {b}, {c}
  lir.return
}}
lir.kernel @z{n}(%c: {c}, %lo: index, %hi: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cn = arith.constant {case.columns} : index
  %before = arith.constant {before} : {of}
  scf.for %i = %lo to %hi step %c1 {{
    scf.for %j = %c0 to %cn step %c1 {{
      memref.store %before, %c[%i, %j] : {c}
    }}
  }}
  lir.return
}}""")
    lines = "\n".join([*heads, "lir.loop %t = 0 to 2 {", *bodies, "}"])
    return f"builtin.module {{\nlir.program @p {{\n{lines}\n}}\n" + "\n".join(kernels) + "\n}"


FEW = [Case(15, 33, 20, 15, False, False), Case(17, 6, 35, 17, True, False, True)]
"""For what takes long to compile."""


def some_cases(seed: int, count: int, depths: Sequence[int]) -> list[Case]:
    """Products that are drawn: of any sizes, layouts and pieces."""
    rng = random.Random(seed)
    found: list[Case] = []
    for _ in range(count):
        rows, columns, depth = rng.choice(SIZES), rng.choice(SIZES), rng.choice(depths)
        chunk = rng.choice((rows, max(rows // 2, 1), 5))
        found.append(Case(rows, depth, columns, chunk, rng.random() < 0.5, False, rng.random() < 0.5))
    return found


def blocks_of_registers(count: int, depths: Sequence[int]) -> list[Case]:
    """Products of as many rows and columns as tile registers take, about multiples of 16, in chunks of two lengths."""
    rng = random.Random(0)
    sizes, rows = (16, 17, 31, 32, 33, 47, 64, 65, 130, 257), (8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 130)
    found: list[Case] = []
    for depth in depths:
        for _ in range(count):
            height = rng.choice(rows)
            chunk = rng.choice((height, max(8, height - 8)))
            found.append(Case(height, depth, rng.choice(sizes), chunk, rng.random() < 0.5, False, rng.random() < 0.5))
    return found


def in_all_layouts(*sizes: tuple[int, int, int, int]) -> list[Case]:
    """Products of rows, depth, columns and rows of a piece, with both factors as they are and transposed, by turns."""
    cases = sample([(size, t, across) for size in sizes for t in (False, True) for across in (False, True)])
    return [Case(*size, transposed, False, across) for size, transposed, across in cases]


def tiled(cases: list[Case], element: str, result: str, costs: TileCosts, dot: type[Operation]) -> ModuleOp:
    """The program with loops for products, which have `dot` or tile registers where the processor has these."""
    module = rlx.parse(text_of(cases, element, result))
    tiles = with_costs(LirTileMatmulsPass, costs)
    tiles.apply(Context(), module)
    LirMarkUnrolledPass().apply(Context(), module)
    assert not any(isinstance(op, GemmOp) for op in module.walk())
    has_dots = any(isinstance(op, dot) for op in module.walk())
    calls = any(op.function.data.startswith("gemm_registers") for op in module.walk() if isinstance(op, CallFunctionOp))
    assert has_dots | calls == (costs.bf16 or costs.int8)
    assert costs.amx or not calls
    LirCheckBoundsPass().apply(Context(), module)
    module.verify()
    return module


def products(
    module: ModuleOp, cases: list[Case], drawn: Callable[[tuple[int, int]], Array], effort: Effort, backend: Backend
) -> Iterator[tuple[Case, Array, Array, Array]]:
    """Of each case both factors, of elements that are drawn, and the product that the program finds."""
    factors: list[tuple[Array, Array]] = []
    values: dict[str, Array] = {}
    for n, case in enumerate(cases):
        a = values[f"a{n}"] = drawn((case.depth, case.rows) if case.across else (case.rows, case.depth))
        b = values[f"b{n}"] = drawn((case.columns, case.depth) if case.transposed else (case.depth, case.columns))
        factors.append((a.T if case.across else a, b.T if case.transposed else b))
    results = compile_module(module, 2, effort, backend)(**values)
    for case, pair, found in zip(cases, factors, results, strict=True):
        yield case, *pair, found
