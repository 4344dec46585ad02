"""Modules of StableHLO with faults: both readers raise FrontendError, or there is a program."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportOptionalMemberAccess=false

from __future__ import annotations

import random
import re
from functools import cache

import jax
import pytest
from peers.stablehlo_programs import PROGRAMS

import xdsl_rlx as rlx
from xdsl_rlx.frontends.stablehlo import read_jaxlib, read_text
from xdsl_rlx.frontends.stablehlo.imported_program import ImportedProgram, entry_of

NAMES = ("argmax", "sort", "scan", "while", "cond", "gather", "atset", "maxpool", "conv", "chol", "bits", "pad", "topk")
WORDS = ("stablehlo.add", "stablehlo.frobnicate", "f32", "i1", "?xf64", "stablehlo.tanh", "ui8", "tensor<2x!token>")
FAULTS = 90
"""Of each kind of text, for each reader."""


@cache
def texts(name: str) -> tuple[str, str]:
    """A program in StableHLO's own form, and in MLIR's generic one."""
    function, *args = PROGRAMS[name]
    with jax.enable_x64(True):
        lowered = jax.jit(function).lower(*args)
    module = lowered.compiler_ir("stablehlo")
    return lowered.as_text(), module.operation.get_asm(print_generic_op_form=True)


def mutated(text: str, rng: random.Random) -> str:
    """A text with one fault."""
    words = list(re.finditer(r"[\w.]+|[^\w\s]", text))
    one = rng.choice(words)
    match rng.randrange(7):
        case 0:
            return text[: rng.randrange(len(text))]
        case 1:
            return text[: one.start()] + text[one.end() :]
        case 2:
            return text[: one.start()] + rng.choice(words)[0] + text[one.end() :]
        case 3:
            one = rng.choice([word for word in words if word[0].isdigit()])
            return text[: one.start()] + str(rng.choice((0, 1, 2, 7, -1, 100000))) + text[one.end() :]
        case 4:
            one = rng.choice([word for word in words if re.fullmatch(r"\w*f64|\w*i32|\w+\.\w+", word[0])])
            return text[: one.start()] + rng.choice(WORDS) + text[one.end() :]
        case 5:
            return text[: one.start()] + rng.choice('{}()<>[],:%@"') + text[one.start() :]
        case _:
            lines = text.splitlines()
            at = rng.randrange(len(lines))
            lines[at : at + 1] = [] if rng.random() < 0.5 else [lines[at]] * 2
            return "\n".join(lines)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reader", [read_jaxlib, read_text], ids=["jaxlib", "xdsl"])
def test_faults_are_errors_of_this_package(name: str, reader) -> None:
    rng = random.Random(f"{name} {reader.__name__}")
    pretty, generic = texts(name)
    raised = 0
    for _ in range(FAULTS):
        text = mutated(pretty if reader is read_jaxlib else generic, rng)
        try:
            module = reader.read(text)
            str(ImportedProgram(module, entry_of(module), None).graph)
        except rlx.FrontendError as error:
            raised += 1
            assert str(error).startswith(("from_stablehlo", "@"))
    assert raised > FAULTS // 2
