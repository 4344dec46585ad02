"""Programs that spell composite ops out, and almost: raising changes no number of them, nor of their gradients.

Both sides are run by the oracle. What raising finds is found again after it was taken apart.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import oracle
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.lowering.prepare.mir_prepare_for_ad import PREPARE_FOR_REVERSE, MirPrepareForAdPass
from xdsl_rlx.transforms.driver import run_to_fixpoint
from xdsl_rlx.transforms.engines.compose import compose
from xdsl_rlx.transforms.mir_grad import MirGradPass
from xdsl_rlx.transforms.mir_raise_composites import MirRaiseCompositesPass
from xdsl_rlx.transforms.rules.rule_table import VJP

sys.path.insert(0, str(Path(__file__).parent))

from composites import Speller, spelled

TOLERANCE = 1e-9
RAISE = "mir-raise-composites"


def _results(made: Speller, module: ModuleOp) -> list[Any]:
    return oracle.evaluate(module, *made.arrays.values())


def _assert_same(found: list[Any], expected: list[Any], what: str) -> None:
    for index, (x, y) in enumerate(zip(found, expected, strict=True)):
        scale = max(1.0, np.abs(y[np.isfinite(y)]).max(initial=0.0))
        assert np.allclose(x, y, rtol=0, atol=TOLERANCE * scale, equal_nan=True), f"{what}, output {index}"


def test_raising_changes_no_number_and_is_undone_by_unfusing(third_seed: int) -> None:
    made = spelled(third_seed)
    expected = _results(made, made.graph_module)
    raised = rlx.run_passes(made.g, RAISE)
    _assert_same(_results(made, raised.module), expected, f"seed {third_seed} raised\n{made.g}")
    again = rlx.run_passes(raised, RAISE)
    assert str(again) == str(raised), f"seed {third_seed}: not all was raised at once"
    unfused = rlx.run_passes(raised, "mir-unfuse-for-ad")
    _assert_same(_results(made, unfused.module), expected, f"seed {third_seed} unfused\n{made.g}")
    clean = "mir-canonicalize,mir-cse"
    back = rlx.run_passes(rlx.run_passes(unfused, RAISE), clean)
    assert str(back) == str(rlx.run_passes(raised, clean)), f"seed {third_seed}: not found again"


def test_gradients_of_raised_programs_are_those_of_what_was_written(rare_seed: int) -> None:
    made = spelled(rare_seed)
    wrt = tuple(made.arrays)
    plain = made.graph_module.clone()
    run_to_fixpoint(context(), plain, [p for p in PREPARE_FOR_REVERSE if not isinstance(p, MirRaiseCompositesPass)])
    composed = made.graph_module.clone()
    # also what would be faster as it is
    compose(composed, lambda op: VJP.get(op) is not None)
    MirPrepareForAdPass().apply(context(), composed)
    gradient = MirGradPass(wrt=wrt, zero_missing_wrt=True)
    for module in (plain, composed):
        gradient.apply(context(), module)
    made.arrays["d_output"] = np.ones(())
    _assert_same(_results(made, composed), _results(made, plain), f"seed {rare_seed}\n{made.g}")
