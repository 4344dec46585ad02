"""Products of blocks whose sizes are known when they run: by tiles what they are by the library, and nothing else."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from cost_models import costs
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import BlockGemmOp
from xdsl_rlx.dialects.lir.kernel import OUTLINE
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module
from xdsl_rlx.lowering.loops.lir_check_bounds import LirCheckBoundsPass
from xdsl_rlx.lowering.loops.lir_mark_unrolled import LirMarkUnrolledPass
from xdsl_rlx.lowering.tiles.lir_tile_matmuls import LirTileMatmulsPass

EXTENT = 84
"""Rows and columns of all three buffers, of which blocks begin a few from the start."""

SIZES = (1, 5, 8, 15, 16, 17, 31, 32, 33, 40, 63, 64, 72)
KNOWN = 40
FIRST = 1, 2, 3
DYNAMIC = [which for which in product((False, True), repeat=3) if any(which)]


def program(dynamic: tuple[bool, ...], flips: tuple[bool, bool], accumulate: bool) -> str:
    """A launch for each size: of the rows, columns and terms that are `dynamic`, the others are `KNOWN`."""
    square = f"memref<{EXTENT}x{EXTENT}xf32>"
    rows, cols, depth = ("%hi" if one else "%known" for one in dynamic)
    a, b = (" transposed" if flip else "" for flip in flips)
    outputs = "\n".join(
        f"%o{n} = lir.output {n} : {square}\n"
        f"lir.launch @k over {size} by {size} reads(%a, %b : {square}, {square}) writes(%o{n} : {square})"
        for n, size in enumerate(SIZES)
    )
    return f"""builtin.module {{
lir.program @p {{
  %a = lir.input "a" : {square}
  %b = lir.input "b" : {square}
  {outputs}
}}
lir.kernel @k(%a: {square}, %b: {square}, %c: {square}, %lo: index, %hi: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %known = arith.constant {KNOWN} : index
  %all = arith.constant {EXTENT} : index
  %seven = arith.constant 7.0 : f32
  scf.for %i = %c0 to %all step %c1 {{
    scf.for %j = %c0 to %all step %c1 {{
      memref.store %seven, %c[%i, %j] : {square}
    }}
  }}
  lir.block_gemm %a[%c1, %c2]{a}, %b[%c3, %c1]{b}, %c[%c2, %c3] rows {rows} cols {cols} depth {depth}
    {"accumulate" if accumulate else ""} : {square}, {square}, {square}
  lir.return
}}
}}"""


def tiled(text: str, least: int = 1) -> ModuleOp:
    """The program with tiles, also of unknown columns from so many multiplications on."""
    module = rlx.parse(text)
    tiles = LirTileMatmulsPass(lanes=16, registers=32, min_unknown_columns_multiplications=least)
    tiles.apply(Context(), module)
    LirMarkUnrolledPass().apply(Context(), module)
    return module


def expected(a: np.ndarray, b: np.ndarray, size: int, dynamic: tuple[bool, ...], flips: tuple[bool, bool], add: bool):
    rows, cols, depth = (size if one else KNOWN for one in dynamic)
    left = a[1 : 1 + depth, 2 : 2 + rows].T if flips[0] else a[1 : 1 + rows, 2 : 2 + depth]
    right = b[3 : 3 + cols, 1 : 1 + depth].T if flips[1] else b[3 : 3 + depth, 1 : 1 + cols]
    found = np.full((EXTENT, EXTENT), 7.0)
    found[2 : 2 + rows, 3 : 3 + cols] = left @ right + 7.0 * add
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("flips", [(False, True), (True, False), (False, False), (True, True)])
@pytest.mark.parametrize("dynamic", DYNAMIC)
def test_blocks_of_any_size(dynamic: tuple[bool, ...], flips: tuple[bool, bool]):
    add = not dynamic[1]
    module = tiled(program(dynamic, flips, add))
    assert not any(isinstance(op, BlockGemmOp) for op in module.walk())
    LirCheckBoundsPass().apply(Context(), module)
    module.verify()
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, EXTENT, EXTENT)).astype(np.float32)
    results = compile_module(module, 1, Effort.QUICK)(a, b)
    for found, size in zip(results, SIZES, strict=True):
        wanted = expected(a.astype(np.float64), b.astype(np.float64), size, dynamic, flips, add)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4, err_msg=str(size))


def test_optimised_too():
    dynamic, flips = (True, True, False), (False, True)
    module = tiled(program(dynamic, flips, False))
    assert any(OUTLINE in op.attributes for op in module.walk())
    a, b = np.random.default_rng(1).standard_normal((2, EXTENT, EXTENT)).astype(np.float32)
    for found, size in zip(compile_module(module, 1, Effort.FULL)(a, b), SIZES, strict=True):
        np.testing.assert_allclose(found, expected(a, b, size, dynamic, flips, False), rtol=0, atol=1e-4)


def test_unknown_columns_are_the_librarys_where_there_is_little_to_do():
    text = program((False, True, False), (False, False), False)
    work = sum(SIZES) * KNOWN * EXTENT * KNOWN
    assert not any(isinstance(op, BlockGemmOp) for op in tiled(text, work).walk())
    assert any(isinstance(op, BlockGemmOp) for op in tiled(text, work + 1).walk())


def test_columns_that_are_added_to_are_the_librarys():
    module = tiled(program((False, True, False), (False, False), True))
    assert any(isinstance(op, BlockGemmOp) for op in module.walk())


@pytest.mark.parametrize("masked", [{"mask_kind": "causal"}, {"mask_kind": "sliding_window", "window": 40}])
@pytest.mark.parametrize(("length", "width"), [(70, 24), (130, 40)])
def test_attention_and_its_gradient_by_blocks_that_see_different_numbers_of_keys(
    length: int, width: int, masked: dict[str, Any]
):
    g = rlx.Graph("attention")
    heads = {"q": 4, "k": 2, "v": 2}
    operands = [g.param(name, (1, length, count * width)) for name, count in heads.items()]
    y = g.attention(*operands, head_dim=width, num_heads=4, num_kv_heads=2, **masked)
    g.set_outputs(g.reduce_sum(y * g.input("seed", (1, length, 4 * width))))
    rng = np.random.default_rng(length)
    arrays = {name: rng.standard_normal((1, length, count * width), np.float32) for name, count in heads.items()}
    arrays["seed"] = rng.standard_normal((1, length, 4 * width), np.float32)
    with costs(min_unknown_columns_multiplications=1):
        found = rlx.compile(rlx.grad_with_loss(g))(**arrays)
    for result, wanted in zip(found, by_hand(arrays, width, length, masked.get("window")), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=2e-4)


def by_hand(arrays: dict[str, np.ndarray], width: int, length: int, window: int | None) -> list[np.ndarray]:
    """The loss and the gradients by q, k and v, in float64."""
    q, k, v, seed = (
        x.astype(np.float64).reshape(length, -1, width).swapaxes(0, 1)
        for x in (arrays[name] for name in ("q", "k", "v", "seed"))
    )
    k, v = k.repeat(2, 0), v.repeat(2, 0)
    apart = np.arange(length)[:, None] - np.arange(length)
    seen = (apart >= 0) & (apart <= (length if window is None else window))
    scores = np.where(seen, q @ k.swapaxes(1, 2) / width**0.5, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    dp = seed @ v.swapaxes(1, 2)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) / width**0.5
    dq, dk, dv = ds @ k, ds.swapaxes(1, 2) @ q, p.swapaxes(1, 2) @ seed
    dk, dv = (x.reshape(2, 2, length, width).sum(1) for x in (dk, dv))
    flat = [x.swapaxes(0, 1).reshape(1, length, -1) for x in (dq, dk, dv)]
    return [np.asarray((p @ v * seed).sum()), *flat]
