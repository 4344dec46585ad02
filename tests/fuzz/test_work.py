"""The work of compiling a program grows as the program does, whatever its shape.

Work is counted, in calls of functions of Python and of its library, not timed.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.lowering.fusion.mir_fuse import MirFusePass
from xdsl_rlx.lowering.pipelines import remaining_passes
from xdsl_rlx.lowering.prepare.mir_prepare_for_ad import MirPrepareForAdPass
from xdsl_rlx.lowering.prepare.mir_prepare_for_fusion import MirPrepareForFusionPass
from xdsl_rlx.pass_cache import context
from xdsl_rlx.transforms.mir_grad import MirGradPass

sys.path.insert(0, str(Path(__file__).parent))

import growing

STEPS = 100 if "EVERY_SAMPLE" in os.environ else 3
"""Steps of the smaller program; the larger one has four times as many."""

SLOPE = 2.0
"""What a step of the larger program may cost, in steps of the smaller one: kernels grow up to a limit of their own."""

LAUNCHES = 4
"""What a step may have once kernels are as large as they get."""

CALLS = {"lir-outline-loops": 64, "lir-merge-lengths": 2048, "lir-merge-launches": 256, "lir-elide-copies": 512}
"""What looking for loops in vain, at kernels or launches that may be one, and at copies may take for a step then:
kernels of few functions are many that are alike, and a single launch has no neighbour."""


def calls(step: Callable[[], None]) -> int:
    """How many functions `step` calls."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        step()
    finally:
        sys.setprofile(before)
    return count


def work(case: str, steps: int, gradient: bool) -> dict[str, int]:
    """Of each pass its calls, and the ops of its result by name."""
    module = as_graph_module(growing.graph(case, steps)).module.clone()
    ctx = context()
    done: dict[str, int] = {}
    passes = [MirPrepareForAdPass(), MirGradPass(("x",))] if gradient else []
    sizes: dict[str, int] = {}
    for one in (*passes, *remaining_passes(module, 2)):
        done[one.name] = calls(lambda one=one: one.apply(ctx, module))
        sizes[f"ops after {one.name}"] = sum(1 for _ in module.walk())
    done |= {"all passes": sum(done.values()), **sizes}
    # planning looks at slots that are there at the same time, two by two: it counts in the sum, of which it is little
    del done["lir-plan-memory"]
    done["launches"] = sum(op.name == "lir.launch" for op in module.walk())
    return done


@pytest.mark.parametrize("case", growing.CASES)
def test_work_is_linear_in_the_ops_of_a_program(case: str) -> None:
    for gradient in (False, True) if "EVERY_SAMPLE" in os.environ else (True,):
        work(case, 2, gradient)  # what is made once and kept is not counted
        small, large = work(case, STEPS, gradient), work(case, 4 * STEPS, gradient)
        limits = {name: 4 * SLOPE * count for name, count in small.items()}
        # below that limit there may be a single launch
        for name, most in {**CALLS, "launches": LAUNCHES}.items():
            limits[name] = max(limits[name], most * 4 * STEPS)
        steep = {name: (small[name], large[name]) for name in small if large[name] > limits[name]}
        assert not steep, f"{case}: work for {STEPS} and for {4 * STEPS} steps: {steep}"


def test_one_element_ops_are_computed_once_and_not_for_each_user() -> None:
    for shape in (growing.chain, growing.diamonds, growing.tree, growing.fan):
        for dims in ((), (1, 1)):
            g = rlx.Graph("scalars")
            g.set_outputs(shape(g, g.input("x", dims), 12))
            module = as_graph_module(g).module.clone()
            before = sum(1 for _ in module.walk())
            MirPrepareForFusionPass().apply(context(), module)
            MirFusePass().apply(context(), module)
            assert sum(1 for _ in module.walk()) <= before + 2, shape.__name__  # a fusion and its yield
