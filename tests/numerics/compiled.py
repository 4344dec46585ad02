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

from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm
from xdsl_rlx.lowering.backend.machine.llvm import Effort, compile_llvm, load_object
from xdsl_rlx.lowering.backend.runtime.build_program import build_program
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph

Array = np.ndarray[Any, Any]

_WIDE = ("f32", "f64")


def cases(samples: Iterable[Sample]) -> list[Any]:
    """
    Samples with the element types to compile them in, as parameters of a test.

    Of f32 and f64, where a sample is for both, it is one by turns, and both if it is the only one of its op. Of other
    types it is one at most, and each where no later sample of the op has it: every op meets every type. With
    EVERY_SAMPLE set in the environment, as `make fuzz` does, it is always all.
    """
    samples = list(samples)
    left = Counter((sample.op, dtype) for sample in samples for dtype in sample.dtypes)
    of_both = Counter(sample.op for sample in samples if set(sample.dtypes) >= set(_WIDE))
    turns: Counter[object] = Counter()
    met: set[object] = set()
    found: list[Any] = []
    for sample in samples:
        chosen: list[str] = [dtype for dtype in sample.dtypes if dtype in _WIDE]
        if len(chosen) == 2 and of_both[sample.op] > 1:
            chosen = [_WIDE[1 - turns[sample.op] % 2]]
            turns[sample.op] += 1
        left.subtract((sample.op, dtype) for dtype in sample.dtypes)
        others = [dtype for dtype in sample.dtypes if dtype not in _WIDE and (sample.op, dtype) not in met]
        last = [dtype for dtype in others if not left[sample.op, dtype]]
        chosen += last or others[:1]
        chosen = chosen or [sample.dtypes[0]]
        met.update((sample.op, dtype) for dtype in chosen)
        found += [
            pytest.param(sample, dtype, id=f"{sample.id}-{dtype}")
            for dtype in sample.dtypes
            if EVERY or dtype in chosen
        ]
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
    # past the cache, which does not know of the changed limit and would only be written to; wrong IR is found here, in
    # the first sample of an op that is compiled as users get it, and with EVERY_SAMPLE in all
    lowered = lower_to_lir(module, threads)
    if effort is Effort.FULL:
        lowered.verify()
    program, code = build_program(lowered), compile_llvm(emit_llvm(lowered), effort=effort)
    return CompiledGraph(program, load_object(code, program.kernels), threads)(*arrays)
