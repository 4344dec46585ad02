"""
Programs with and without regions marked in them: the same numbers and gradients, and the same ops when inlined.

Values are compared by the oracle; one program with the results of several seeds is compiled.
"""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import oracle
from levels import EVERY
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.region import BatchElementwiseRegionOp, ElementwiseRegionOp, TransformRegionOp

sys.path.insert(0, str(Path(__file__).parent))

from regions import Marked

REGIONS = (BatchElementwiseRegionOp, ElementwiseRegionOp, TransformRegionOp)
MARK = (
    "mir-mark-elementwise-regions",
    "mir-mark-transform-regions",
    "mir-fuse-region-prologue",
    "mir-fuse-batch-preprocess",
)
INLINE = "mir-decompose-fusion-regions,mir-unfuse-elementwise-regions"
CLEAN = "dce,mir-cse,dce"


def _assert_close(found: list[Any], expected: list[Any], what: str) -> None:
    for index, (x, y) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14, err_msg=f"{what}, output {index}")


def _kinds(module: ModuleOp) -> Counter[str]:
    return Counter(op.name for op in module.walk())


def test_marking_changes_no_number_and_inlining_is_the_inverse(third_seed: int) -> None:
    made = Marked(third_seed)
    expected = oracle.run(made.g, **made.arrays)
    order = list(MARK)
    if third_seed % 2:
        made.random.shuffle(order)
    # an op that nothing reads is a user, too, until the first pass removes it
    marked = rlx.run_passes(made.g, ",".join(("dce", *order)))
    _assert_close(oracle.run(marked, **made.arrays), expected, f"seed {third_seed} marked\n{made.g}")
    assert third_seed % 2 or str(rlx.run_passes(marked, ",".join(order))) == str(marked), (
        f"seed {third_seed}: not all at once"
    )
    for inline in (INLINE, "mir-lower-regions"):
        inlined = rlx.run_passes(marked, inline)
        assert not any(isinstance(op, REGIONS) for op in inlined.module.walk())
        _assert_close(oracle.run(inlined, **made.arrays), expected, f"seed {third_seed} {inline}\n{made.g}")
    before, after = (rlx.run_passes(one, CLEAN).module for one in (made.g, rlx.run_passes(marked, INLINE)))
    assert _kinds(before) == _kinds(after), f"seed {third_seed}: other ops\n{made.g}"


def test_gradients_of_marked_programs_are_those_of_what_was_written(rare_seed: int) -> None:
    made = Marked(rare_seed)
    marked = rlx.run_passes(made.g, ",".join(MARK))
    prepared = rlx.prepare_for_ad(marked)
    assert not any(isinstance(op, REGIONS) for op in prepared.module.walk())
    wrt = [name for name, array in made.arrays.items() if array.size]
    found, expected = (
        oracle.run(rlx.grad(graph, wrt, zero_missing_wrt=True), **made.arrays) for graph in (marked, made.g)
    )
    _assert_close(found, expected, f"seed {rare_seed}\n{made.g}")


def test_marked_programs_run_compiled() -> None:
    """Of several seeds in one program; some of each kind of region are in it."""
    programs = [Marked(seed) for seed in range(24 if EVERY else 8)]
    g = rlx.Graph("all")
    outputs: list[Any] = []
    arrays: dict[str, Any] = {}
    for number, made in enumerate(programs):
        renamed = {name: f"{name}_{number}" for name in made.arrays}
        inputs = {name: g.input(renamed[name], array.shape, "f64") for name, array in made.arrays.items()}
        outputs += g.inline(made.g, **inputs)
        arrays |= {renamed[name]: array for name, array in made.arrays.items()}
    g.set_outputs(outputs)
    marked = rlx.run_passes(g, ",".join(MARK))
    kinds = _kinds(marked.module)
    assert all(kinds[kind.name] for kind in REGIONS), kinds
    _assert_close(list(rlx.compile(marked)(**arrays)), oracle.run(g, **arrays), "compiled")
