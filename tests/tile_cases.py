"""Programs of single matrix products, for tests of the loops that these become."""

from dataclasses import dataclass

import numpy as np


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
