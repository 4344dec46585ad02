"""Broken IR texts: each either still means something, or ends in a diagnostic of ours or of xDSL."""

import re
import sys
from functools import cache
from pathlib import Path

import numpy as np
from xdsl.utils.exceptions import PassFailedException, VerifyException

import xdsl_rlx as rlx

sys.path.insert(0, str(Path(__file__).parent))

from programs import program

DIAGNOSTICS = (rlx.RlxError, VerifyException, PassFailedException)
TOKEN = re.compile(r"\s+|[%@!#]?[\w.$-]+|.", re.DOTALL)
NUMBERS = ("-1", "0", "1", "7", "1000000007", "99999999999999999999", "1.5", "0x7f", "nan")
WORDS = (
    "f32",
    "i1",
    "index",
    "tensor<?xf32>",
    "tensor<*xf32>",
    "none",
    "mir.tanh",
    "mir.vjp",
    "}",
    "(",
    "%",
    '"',
    "->",
)
FUSE = "mir-prepare-for-fusion,mir-fuse"
LOWER = f"{FUSE},convert-mir-to-lir,lir-guard-range,lir-mark-unrolled,lir-plan-memory"


@cache
def _texts() -> tuple[tuple[str, str], ...]:
    """Right texts of every stage, with what to run on each."""
    block = rlx.GraphModule.define(
        "block", lambda m: m.linear(m.input("x", (2, 3)), m.param("w", (3, 4)), m.param("b", (4,)), activation="gelu")
    )
    found = [(str(block), f"convert-hir-to-mir,{LOWER}")]
    for seed in (1, 2, 5, 7):
        made = program(seed)
        wrt = ",".join(made.wrt)
        found.append(
            (str(made.graph), f"mir-prepare-for-ad,mir-grad{{wrt={wrt} zero-missing-wrt=true}},canonicalize,cse")
        )
    for passes in (
        "mir-prepare-for-ad,mir-grad{wrt=x}",
        "mir-jvp{wrt=x}",
        "mir-vmap{inputs=x,k size=2}",
        "mir-prepare-for-fusion,mir-fuse",
    ):
        found.append((str(_bodies()), f"canonicalize,{passes},canonicalize,cse"))
    gradient = rlx.grad_with_loss(rlx.lower_hir(block), wrt=["w"])
    found.append((str(gradient), LOWER))
    found.append((str(rlx.run_passes(gradient, FUSE)), "convert-mir-to-lir,lir-plan-memory"))
    lir = rlx.run_passes(gradient, f"{FUSE},convert-mir-to-lir")
    found.append((str(lir), "canonicalize,cse,lir-guard-range,lir-mark-unrolled,lir-plan-memory"))
    found.append((str(rlx.run_passes(lir, "lir-plan-memory")), "canonicalize"))
    return tuple(found)


def _bodies() -> rlx.Graph:
    """An op with a body of every kind."""
    g = rlx.Graph("bodies")
    x, k = g.param("x", (3,)), g.input("k", (), "i32")
    y = g.cond(k, lambda: g.sin(x), lambda: g.switch(k, [lambda: x, lambda: x * x, lambda: g.exp(x)]))
    z, ys = g.scan(lambda c, e: (g.remat(lambda: g.tanh(c) * e), c), y[0], y)
    g.set_outputs(g.while_loop(lambda c: c < 9.0, lambda c: c * 2.0 + g.reduce_sum(ys), z, max_iterations=3))
    return g


def _pick(rng: np.random.Generator, words: "list[str] | tuple[str, ...]") -> str:
    return words[int(rng.integers(len(words)))]


def broken(text: str, rng: np.random.Generator) -> str:
    """The text with one to three small things wrong with it."""
    for _ in range(int(rng.integers(1, 4))):
        tokens, lines = TOKEN.findall(text), text.splitlines()
        if not tokens:
            return text
        at, line = int(rng.integers(len(tokens))), int(rng.integers(len(lines)))
        solid = [i for i, token in enumerate(tokens) if not token.isspace()] or [at]
        at = solid[int(rng.integers(len(solid)))]
        match int(rng.integers(9)):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, tokens[at])
            case 2:
                tokens[at] = tokens[solid[int(rng.integers(len(solid)))]]
            case 3:
                numbers = [i for i, token in enumerate(tokens) if token.isdecimal()] or [at]
                tokens[numbers[int(rng.integers(len(numbers)))]] = _pick(rng, NUMBERS)
            case 4:
                tokens[at] = _pick(rng, WORDS)
            case 5:
                del lines[line]
            case 6:
                lines.insert(int(rng.integers(len(lines))), lines[line])
            case 7:
                other = int(rng.integers(len(lines)))
                lines[line], lines[other] = lines[other], lines[line]
            case _:
                names = sorted({token for token in tokens if token.startswith("%")})
                values = [i for i, token in enumerate(tokens) if token.startswith("%")] or [at]
                tokens[values[int(rng.integers(len(values)))]] = _pick(rng, names or ["%x"])
        text = "\n".join(lines) if lines != text.splitlines() else "".join(tokens)
    return text


def test_a_broken_text_ends_in_a_diagnostic_or_still_compiles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = _texts()
    text, passes = texts[seed % len(texts)]
    text = broken(text, rng)
    try:
        rlx.run_passes(rlx.parse(text), passes)
    except DIAGNOSTICS as error:
        assert str(error).strip(), f"seed {seed}: an empty message for\n{text}"


def test_the_right_texts_are_right() -> None:
    for text, passes in _texts():
        rlx.run_passes(rlx.parse(text), passes)
