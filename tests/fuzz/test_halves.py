"""Random programs with their gradients: cut in two, or with values computed again, they compute what they did.

The oracle runs all of them, so that no compilation is paid for.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import pytest

import xdsl_rlx as rlx

sys.path.insert(0, str(Path(__file__).parent))

from programs import program

PRICES = (3.0, 1e6)


def _run(graph: Any, arrays: dict[str, Any]) -> list[Any]:
    given = [
        np.ones(a.value.type.get_shape()) if a.name == "d_output" else arrays[a.name] for a in graph.signature.arguments
    ]
    return [np.asarray(x) for x in oracle.evaluate(graph.module, *given)]


@pytest.mark.sampled
@pytest.mark.parametrize("price", PRICES)
def test_halves_and_what_is_computed_again_are_the_whole(rare_seed: int, price: float) -> None:
    made = program(rare_seed)
    whole = rlx.grad_with_loss(made.graph, wrt=made.wrt, zero_missing_wrt=True)
    expected = _run(whole, made.arrays)
    again = rlx.run_passes(whole, f"mir-rematerialize{{price={price}}}")
    parts = [rlx.run_passes(whole, f"mir-partition{{part={part} price={price}}}") for part in ("forward", "backward")]
    count = len(expected) - len(made.wrt)
    results = _run(parts[0], made.arrays)
    residuals = {f"residual_{number}": value for number, value in enumerate(results[count:])}
    gradients = _run(parts[1], made.arrays | residuals)
    for found in (_run(again, made.arrays), [*results[:count], *gradients]):
        assert len(found) == len(expected)
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            np.testing.assert_array_equal(one, other, f"seed {rare_seed}, output {number}:\n{made.graph}")
