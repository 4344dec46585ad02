"""Random programs: what is compiled is what the oracle says, and gradients are the transposes of tangents.

With v a random direction, <gradient, v> must be the tangent of the loss along v; the tangent program is run by the
oracle, so no compiled code stands on both sides.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import oracle

import xdsl_rlx as rlx

sys.path.insert(0, str(Path(__file__).parent))

from programs import compiled, program

TOLERANCES = {"f64": 1e-10, "f32": 5e-4}


def _close(found: Any, expected: Any, tolerance: float) -> bool:
    """Whether arrays agree to `tolerance` of the largest magnitude, at least one."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    if found.shape != expected.shape:
        return False
    return bool(np.all(np.abs(found - expected) <= tolerance * max(1.0, np.abs(expected).max(initial=0.0))))


def test_results_are_the_oracles_and_gradients_pass_the_dot_product_identity(seed: int) -> None:
    made = program(seed)
    tolerance = TOLERANCES[made.dtype]
    gradient = rlx.grad_with_loss(made.graph, wrt=made.wrt, zero_missing_wrt=True)
    results = compiled(gradient, seed)(**made.arrays)

    expected = oracle.evaluate(made.graph.module, *(made.arrays[name] for name in _arguments(made.graph)))
    for index, (found, wanted) in enumerate(zip(results, expected, strict=False)):
        assert _close(found, wanted, tolerance), f"seed {seed}, output {index}:\n{made.graph}"

    rng = np.random.default_rng(seed)
    directions = {name: rng.standard_normal(made.arrays[name].shape) for name in made.wrt}
    along = sum(float(np.sum(g * directions[n])) for n, g in zip(made.wrt, results[len(expected) :], strict=True))
    scale = sum(
        float(np.sum(np.abs(g * directions[n]))) for n, g in zip(made.wrt, results[len(expected) :], strict=True)
    )
    tangents = rlx.run_passes(rlx.prepare_for_ad(made.graph), f"mir-jvp{{wrt={','.join(made.wrt)}}}")
    arrays = made.arrays | {
        f"tangent_{name}": direction.astype(made.arrays[name].dtype) for name, direction in directions.items()
    }
    outputs = oracle.evaluate(tangents.module, *(arrays[name] for name in _arguments(tangents)))
    tangent = float(outputs[len(expected)])
    assert abs(along - tangent) <= tolerance * max(1.0, scale), f"seed {seed}: {along} is not {tangent}\n{made.graph}"


def _arguments(graph: Any) -> list[str]:
    """Names of a graph's arguments in order."""
    from xdsl_rlx.builder import as_graph_module

    return [argument.name for argument in as_graph_module(graph).signature.arguments]
