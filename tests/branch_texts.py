"""lir texts with branches and loops that end when they find out, and what they compute in NumPy."""

import numpy as np
from loop_texts import KERNELS, ROW, WIDTH, Steps, mix

NUMBER, TRUTH = "memref<i64>", "memref<i1>"

SCALARS = f"""
lir.kernel @positive(%n: {NUMBER}, %o: {TRUTH}, %lo: index, %hi: index) {{
  %zero = arith.constant 0 : i64
  %x = memref.load %n[] : {NUMBER}
  %p = arith.cmpi sgt, %x, %zero : i64
  memref.store %p, %o[] : {TRUTH}
  lir.return
}}
lir.kernel @odd(%n: {NUMBER}, %o: {TRUTH}, %lo: index, %hi: index) {{
  %one = arith.constant 1 : i64
  %x = memref.load %n[] : {NUMBER}
  %bit = arith.andi %x, %one : i64
  %p = arith.cmpi eq, %bit, %one : i64
  memref.store %p, %o[] : {TRUTH}
  lir.return
}}
lir.kernel @less_one(%n: {NUMBER}, %o: {NUMBER}, %lo: index, %hi: index) {{
  %one = arith.constant 1 : i64
  %x = memref.load %n[] : {NUMBER}
  %y = arith.subi %x, %one : i64
  memref.store %y, %o[] : {NUMBER}
  lir.return
}}
lir.kernel @keep(%n: {NUMBER}, %o: {NUMBER}, %lo: index, %hi: index) {{
  %x = memref.load %n[] : {NUMBER}
  memref.store %x, %o[] : {NUMBER}
  lir.return
}}
"""

S = Steps()


def number(kernel: str, source: str, target: str, type_: str = NUMBER) -> str:
    """A launch from one number to another, or to a truth value."""
    return f"lir.launch @{kernel} over 1 by 1 reads(%{source} : {NUMBER}) writes(%{target} : {type_})"


def program(*lines: str) -> str:
    return "\n".join(["lir.program @p {", *lines, "}", KERNELS, SCALARS])


def chosen() -> str:
    """`y = x + x`, and where p `mix(x)` instead."""
    return program(
        f'%p = lir.input "p" : {TRUTH}',
        f'%x = lir.input "x" : {ROW}',
        f"%y = lir.output 0 : {ROW}",
        "lir.if %p {",
        f"%t = lir.slot : {ROW}",
        S.launch("mix", "x", "t"),
        S.launch("copy", "t", "y"),
        "} else {",
        f"%t = lir.slot : {ROW}",
        S.launch("add", "x x", "t"),
        S.launch("copy", "t", "y"),
        "}",
    )


def chosen_by_turns(count: int) -> str:
    """A carry `c`, which is `mix(c)` after a time of which `p` is true, else `c + x`, and stays where `q` is false."""
    truths = f"memref<{count}xi1>"
    return program(
        f'%ps = lir.input "ps" : {truths}',
        f'%qs = lir.input "qs" : memref<2x{count}xi1>',
        f'%x = lir.input "x" : {ROW}',
        f"%c = lir.slot : memref<2x{WIDTH}xf32>",
        f"%y = lir.output 0 : {ROW}",
        f"%q = lir.view %qs at {count} : memref<2x{count}xi1> to {truths}",
        S.row("init", "c", 2, "0"),
        S.launch("copy", "x", "init"),
        f"lir.loop %i = 0 to {count} {{",
        S.row("in", "c", 2, "%i modulo 2"),
        S.row("out", "c", 2, "%i shift 1 modulo 2"),
        f"%pi = lir.step %ps at %i : {truths} to {TRUTH}",
        f"%qi = lir.step %q at %i : {truths} to {TRUTH}",
        "lir.if %qi {",
        "lir.if %pi {",
        S.launch("mix", "in", "out"),
        "} else {",
        S.launch("add", "in x", "out"),
        "}",
        "} else {",
        S.launch("copy", "in", "out"),
        "}",
        "}",
        S.row("end", "c", 2, str(count % 2 * WIDTH)),
        S.launch("copy", "end", "y"),
    )


def by_turns(ps: np.ndarray, qs: np.ndarray, x: np.ndarray) -> np.ndarray:
    """What `chosen_by_turns` computes."""
    c = x
    for p, q in zip(ps, qs[1], strict=True):
        c = (mix(c) if p else c + x) if q else c
    return c


def counted_down(chunk: int = 16) -> str:
    """`c = mix(c + w)` so many times as `n` says."""
    s = Steps(chunk)
    return program(
        f'%n = lir.input "n" : {NUMBER}',
        f'%x = lir.input "x" : {ROW}',
        f'%w = lir.param "w" : {ROW}',
        f"%left = lir.slot : {NUMBER}",
        f"%going = lir.slot : {TRUTH}",
        f"%y = lir.output 0 : {ROW}",
        number("keep", "n", "left"),
        s.launch("copy", "x", "y"),
        "lir.while %going after {",
        number("positive", "left", "going", TRUTH),
        "} do {",
        f"%fewer = lir.slot : {NUMBER}",
        f"%t = lir.slot : {ROW}",
        f"%u = lir.slot : {ROW}",
        number("less_one", "left", "fewer"),
        s.launch("add", "y w", "t"),
        s.launch("mix", "t", "u"),
        s.launch("copy", "u", "y"),
        number("keep", "fewer", "left"),
        "}",
    )


def counted_in_turn(outer: int, inner: int) -> str:
    """
    For each `n` a loop of that many times, in which `inner` rows are added to `y`, and `y` is mixed where what is left
    of `n` is odd.
    """
    rows = f"memref<{inner}x{WIDTH}xf32>"
    return program(
        f'%ns = lir.input "ns" : memref<{outer}xi64>',
        f'%xs = lir.input "xs" : memref<{outer}x{inner}x{WIDTH}xf32>',
        f"%left = lir.slot : {NUMBER}",
        f"%y = lir.output 0 : {ROW}",
        S.launch("zero", "", "y"),
        f"lir.loop %i = 0 to {outer} reverse {{",
        f"%n = lir.step %ns at %i : memref<{outer}xi64> to {NUMBER}",
        f"%x = lir.step %xs at %i : memref<{outer}x{inner}x{WIDTH}xf32> to {rows}",
        f"%going = lir.slot : {TRUTH}",
        number("keep", "n", "left"),
        "lir.while %going after {",
        number("positive", "left", "going", TRUTH),
        "} do {",
        f"%fewer = lir.slot : {NUMBER}",
        f"%mixes = lir.slot : {TRUTH}",
        f"lir.loop %j = 0 to {inner} {{",
        S.row("row", "x", inner, "%j"),
        f"%t = lir.slot : {ROW}",
        S.launch("add", "y row", "t"),
        S.launch("copy", "t", "y"),
        "}",
        number("odd", "left", "mixes", TRUTH),
        "lir.if %mixes {",
        f"%m = lir.slot : {ROW}",
        S.launch("mix", "y", "m"),
        S.launch("copy", "m", "y"),
        "}",
        number("less_one", "left", "fewer"),
        number("keep", "fewer", "left"),
        "}",
        "}",
    )


def in_turn(ns: np.ndarray, xs: np.ndarray) -> np.ndarray:
    """What `counted_in_turn` computes."""
    y = np.zeros(WIDTH, np.float32)
    for n, rows in zip(ns[::-1], xs[::-1], strict=True):
        for left in range(int(n), 0, -1):
            for row in rows:
                y = y + row
            y = mix(y) if left % 2 else y
    return y
