"""lir texts with loops, and what they compute in NumPy."""

from dataclasses import dataclass

import numpy as np

WIDTH = 64

KERNELS = f"""
lir.kernel @zero(%o: memref<{WIDTH}xf32>, %lo: index, %hi: index) {{
  %one = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %j = %lo to %hi step %one {{
    memref.store %zero, %o[%j] : memref<{WIDTH}xf32>
  }}
  lir.return
}}
lir.kernel @copy(%a: memref<{WIDTH}xf32>, %o: memref<{WIDTH}xf32>, %lo: index, %hi: index) {{
  %one = arith.constant 1 : index
  scf.for %j = %lo to %hi step %one {{
    %x = memref.load %a[%j] : memref<{WIDTH}xf32>
    memref.store %x, %o[%j] : memref<{WIDTH}xf32>
  }}
  lir.return
}}
lir.kernel @add(%a: memref<{WIDTH}xf32>, %b: memref<{WIDTH}xf32>, %o: memref<{WIDTH}xf32>, %lo: index, %hi: index) {{
  %one = arith.constant 1 : index
  scf.for %j = %lo to %hi step %one {{
    %x = memref.load %a[%j] : memref<{WIDTH}xf32>
    %y = memref.load %b[%j] : memref<{WIDTH}xf32>
    %z = arith.addf %x, %y : f32
    memref.store %z, %o[%j] : memref<{WIDTH}xf32>
  }}
  lir.return
}}
// o[j] = a[j] / 2 + a[n - 1 - j] / 4: a piece needs another piece of the launch before
lir.kernel @mix(%a: memref<{WIDTH}xf32>, %o: memref<{WIDTH}xf32>, %lo: index, %hi: index) {{
  %one = arith.constant 1 : index
  %last = arith.constant {WIDTH - 1} : index
  %half = arith.constant 0.5 : f32
  %quarter = arith.constant 0.25 : f32
  scf.for %j = %lo to %hi step %one {{
    %x = memref.load %a[%j] : memref<{WIDTH}xf32>
    %at = arith.subi %last, %j : index
    %y = memref.load %a[%at] : memref<{WIDTH}xf32>
    %h = arith.mulf %x, %half : f32
    %q = arith.mulf %y, %quarter : f32
    %z = arith.addf %h, %q : f32
    memref.store %z, %o[%j] : memref<{WIDTH}xf32>
  }}
  lir.return
}}
"""
ROW = f"memref<{WIDTH}xf32>"


@dataclass(frozen=True)
class Steps:
    """Launches with so many elements a piece."""

    chunk: int = 16

    def launch(self, kernel: str, reads: str, writes: str) -> str:
        """A launch over whole rows, which are named with a space between them."""
        given = [f"%{name}" for name in reads.split()]
        passed = f"reads({', '.join(given)} : {', '.join([ROW] * len(given))}) " if given else ""
        return f"lir.launch @{kernel} over {WIDTH} by {self.chunk} {passed}writes(%{writes} : {ROW})"

    def row(self, name: str, source: str, rows: int, how: str) -> str:
        """A view (`at 64`) or an element (`%i shift 1`) of a buffer of rows."""
        kind = "lir.step" if "%" in how else "lir.view"
        return f"%{name} = {kind} %{source} at {how} : memref<{rows}x{WIDTH}xf32> to {ROW}"


def program(*lines: str) -> str:
    return "\n".join(["lir.program @p {", *lines, "}", KERNELS])


def double_buffered(count: int, chunk: int = 16, reverse: bool = False) -> str:
    """The carry is in two places by turns: `c = mix(c + x)`, from the first row to the last, or backwards."""
    s = Steps(chunk)
    inside, outside = ("shift 1 modulo 2", "modulo 2") if reverse else ("modulo 2", "shift 1 modulo 2")
    first, last = (count % 2, 0) if reverse else (0, count % 2)
    return program(
        f'%xs = lir.input "xs" : memref<{count}x{WIDTH}xf32>',
        f"%c = lir.slot : memref<2x{WIDTH}xf32>",
        f"%y = lir.output 0 : {ROW}",
        s.row("init", "c", 2, str(first * WIDTH)),
        s.launch("zero", "", "init"),
        f"lir.loop %i = 0 to {count} {'reverse ' if reverse else ''}{{",
        s.row("x", "xs", count, "%i"),
        s.row("in", "c", 2, f"%i {inside}"),
        s.row("out", "c", 2, f"%i {outside}"),
        f"%t = lir.slot : {ROW}",
        s.launch("add", "in x", "t"),
        s.launch("mix", "t", "out"),
        "}",
        s.row("end", "c", 2, str(last * WIDTH)),
        s.launch("copy", "end", "y"),
    )


def stacked(count: int, chunk: int = 16, reverse: bool = False) -> str:
    """All carries, and what they make of a param on the way: `c[i + 1] = mix(c[i] + w)`, or backwards."""
    s = Steps(chunk)
    inside, outside = ("%i shift 1", "%i") if reverse else ("%i", "%i shift 1")
    return program(
        f'%w = lir.param "w" : {ROW}',
        f'%c0 = lir.input "c0" : {ROW}',
        f"%cs = lir.output 0 : memref<{count + 1}x{WIDTH}xf32>",
        s.row("first", "cs", count + 1, str(count * WIDTH if reverse else 0)),
        s.launch("copy", "c0", "first"),
        f"lir.loop %i = 0 to {count} {'reverse ' if reverse else ''}{{",
        s.row("in", "cs", count + 1, inside),
        s.row("out", "cs", count + 1, outside),
        f"%t = lir.slot : {ROW}",
        s.launch("add", "in w", "t"),
        s.launch("mix", "t", "out"),
        "}",
    )


def nested(outer: int, inner: int, chunk: int = 16) -> str:
    """`y[i] = sum_j mix(x[i, j])`, one row after the other, the inner ones backwards."""
    s = Steps(chunk)
    rows = f"memref<{inner}x{WIDTH}xf32>"
    return program(
        f'%xs = lir.input "xs" : memref<{outer}x{inner}x{WIDTH}xf32>',
        f"%ys = lir.output 0 : memref<{outer}x{WIDTH}xf32>",
        f"%c = lir.slot : memref<3x{WIDTH}xf32>",
        f"lir.loop %i = 0 to {outer} {{",
        f"%x = lir.step %xs at %i : memref<{outer}x{inner}x{WIDTH}xf32> to {rows}",
        s.row("init", "c", 3, f"{inner % 3 * WIDTH}"),
        s.launch("zero", "", "init"),
        f"lir.loop %j = 0 to {inner} reverse {{",
        s.row("xij", "x", inner, "%j"),
        s.row("in", "c", 3, "%j shift 1 modulo 3"),
        s.row("out", "c", 3, "%j modulo 3"),
        f"%t = lir.slot : {ROW}",
        s.launch("mix", "xij", "t"),
        s.launch("add", "in t", "out"),
        "}",
        s.row("y", "ys", outer, "%i"),
        s.row("end", "c", 3, "0"),
        s.launch("copy", "end", "y"),
        "}",
    )


def repeated(count: int, chunk: int = 16) -> str:
    """`y = mix(mix(.. (x + w) .. + w) + w)`, which takes as much memory however often it is done."""
    s = Steps(chunk)
    return program(
        f'%x = lir.input "x" : {ROW}',
        f'%w = lir.param "w" : {ROW}',
        f"%c = lir.slot : memref<2x{WIDTH}xf32>",
        f"%y = lir.output 0 : {ROW}",
        s.row("first", "c", 2, "0"),
        s.launch("copy", "x", "first"),
        f"lir.loop %i = 0 to {count} {{",
        s.row("in", "c", 2, "%i modulo 2"),
        s.row("out", "c", 2, "%i shift 1 modulo 2"),
        f"%t = lir.slot : {ROW}",
        s.launch("add", "in w", "t"),
        s.launch("mix", "t", "out"),
        "}",
        s.row("end", "c", 2, str(count % 2 * WIDTH)),
        s.launch("copy", "end", "y"),
    )


def mix(a: np.ndarray) -> np.ndarray:
    return a * np.float32(0.5) + a[..., ::-1] * np.float32(0.25)


def carries(first: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """`c[i + 1] = mix(c[i] + rows[i])`."""
    found = [first]
    for row in rows:
        found.append(mix(found[-1] + row))
    return np.array(found)


def sums(xs: np.ndarray) -> np.ndarray:
    """What `nested` computes, in its order."""
    total = np.zeros_like(xs[:, 0]) if xs.shape[1] else np.zeros((len(xs), WIDTH), np.float32)
    for j in reversed(range(xs.shape[1])):
        total = total + mix(xs[:, j])
    return total
