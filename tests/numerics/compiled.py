"""Compiled programs of small modules: as `rlx.compile` makes them, and cut into as many pieces as there are rows.
What they are compared with is in `oracle.py`."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from cost_models import costs
from levels import EVERY
from numerics.sample import Sample
from xdsl.dialects.builtin import ModuleOp

from xdsl_rlx.lowering.numba.emit.llvm_module import emit_llvm
from xdsl_rlx.lowering.numba.machine.llvm import Effort, compile_llvm, load_object
from xdsl_rlx.lowering.numba.runtime.build_program import build_program
from xdsl_rlx.lowering.numba.runtime.compile_module import lower_to_lir
from xdsl_rlx.lowering.numba.runtime.compiled_graph import CompiledGraph

Array = np.ndarray[Any, Any]

_PAIRS = (("f32", "f64"), ("f16", "bf16"))


def cases(samples: Iterable[Sample]) -> list[Any]:
    """
    Samples with the element types to compile them in, as parameters of a test.

    Of f32 and f64, and of f16 and bf16, where a sample is for both, it is one by turns, and both if it is the only one
    of its op: every op meets both. With EVERY_SAMPLE set in the environment, as `make fuzz` does, it is always both.
    """
    samples = list(samples)
    found: list[Any] = []
    of_both = Counter((sample.op, pair) for sample in samples for pair in _PAIRS if set(sample.dtypes) >= set(pair))
    turns: Counter[object] = Counter()
    for sample in samples:
        left_out: set[str] = set()
        for pair in _PAIRS:
            key = sample.op, pair
            if set(sample.dtypes) >= set(pair) and of_both[key] > 1 and not EVERY:
                left_out.add(pair[turns[key] % 2])
                turns[key] += 1
        found += [pytest.param(sample, d, id=f"{sample.id}-{d}") for d in sample.dtypes if d not in left_out]
    return found


def run(module: ModuleOp, *arrays: Array, effort: Effort = Effort.FULL) -> tuple[Array, ...]:
    """Results at one thread."""
    return _run(module, 1, arrays, effort)


def run_in_pieces(module: ModuleOp, *arrays: Array, effort: Effort = Effort.FULL) -> tuple[Array, ...]:
    """Results at two threads, each kernel cut up however small it is."""
    with costs(parallel_ops=1):
        return _run(module, 2, arrays, effort)


def runs(sample: Sample, dtype: str) -> tuple[Callable[..., tuple[Array, ...]], ...]:
    """How a sample is to be run in one of its element types: both ways, shared out if there are several."""
    ways = (run_in_pieces, run)
    return ways if len(sample.dtypes) == 1 else (ways[sample.dtypes.index(dtype) % 2],)


def _run(module: ModuleOp, threads: int, arrays: Sequence[Array], effort: Effort) -> tuple[Array, ...]:
    # past the cache, which does not know of the changed limit and would only be written to; wrong IR is found here
    lowered = lower_to_lir(module, threads)
    lowered.verify()
    program, code = build_program(lowered), compile_llvm(emit_llvm(lowered), effort=effort)
    return CompiledGraph(program, load_object(code, program.kernels), threads)(*arrays)
