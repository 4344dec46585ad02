"""Random programs in batches: of some of their arguments, compiled, against a loop of the oracle over the examples.

Batches bring up shapes that programs as written do not have: operands of several ranks that share some of their loops.
"""

import sys
from pathlib import Path

import numpy as np
import oracle

import xdsl_rlx as rlx

sys.path.insert(0, str(Path(__file__).parent))

from programs import Array, compiled, program

from xdsl_rlx.builder import as_graph_module

TOLERANCES = {"f64": 1e-10, "f32": 5e-4}


def close(found: Array, expected: Array, tolerance: float) -> bool:
    """Whether arrays agree to `tolerance` of the largest magnitude, at least one."""
    wide = expected.astype(np.float64)
    return found.shape == wide.shape and bool(
        np.all(np.abs(found.astype(np.float64) - wide) <= tolerance * max(1.0, np.abs(wide).max(initial=0.0)))
    )


def test_a_batch_of_a_program_and_of_its_gradient_is_a_loop(rare_seed: int) -> None:
    made = program(rare_seed)
    rng = np.random.default_rng(rare_seed)
    size = int(rng.choice((1, 2, 3, 5)))
    names = [name for name in made.arrays if rng.random() < 0.5] or [made.wrt[0]]
    axes = {name: int(rng.integers(-made.arrays[name].ndim - 1, made.arrays[name].ndim + 1)) for name in names}
    # In f32, rounding decides ties, and with them gradients of maxima: those are compared in f64 alone.
    differentiate = made.dtype == "f64" and rng.random() < 0.5
    graph = rlx.grad_with_loss(made.graph, made.wrt[0], zero_missing_wrt=True) if differentiate else made.graph
    order = [a.name for a in as_graph_module(graph).signature.arguments]
    arrays = made.arrays | {"d_output": np.ones(())}
    examples = [{n: other(x, rng) if n in names else x for n, x in made.arrays.items()} for _ in range(size)]
    expected = [oracle.evaluate(as_graph_module(graph).module, *({**arrays, **e}[n] for n in order)) for e in examples]
    batch = {n: np.stack([e[n] for e in examples], axes[n]) if n in names else x for n, x in made.arrays.items()}
    results = compiled(rlx.vmap(graph, names, size, axes), rare_seed)(**batch)
    for index, (found, wanted) in enumerate(zip(results, zip(*expected, strict=True), strict=True)):
        assert close(found, np.stack(wanted), TOLERANCES[made.dtype]), f"seed {rare_seed}, output {index}:\n{graph}"


def other(x: Array, rng: np.random.Generator) -> Array:
    """The same numbers in another order: of the same domain and type."""
    return rng.permutation(x.reshape(-1)).reshape(x.shape)
