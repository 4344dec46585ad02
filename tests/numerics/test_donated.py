"""Every op with a result written over each of its operands: the same bits as elsewhere, its kernels cut into pieces."""

import pytest
from levels import EVERY
from numerics.choice import by_op
from numerics.compiled import run_in_pieces
from numerics.families import SAMPLES
from numerics.sample import Sample

from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.fusion.analysis.loop_tables import LOOPS, PRODUCT, REDUCTION
from xdsl_rlx.transforms.signature import graph_of


def _pairs(sample: Sample) -> list[tuple[int, int]]:
    """Operands, and the first result of the same type, by number."""
    graph = graph_of(sample.unverified(sample.dtypes[0]), "test")
    types = [value.type for value in graph.outputs]
    return [(n, types.index(a.value.type)) for n, a in enumerate(graph.arguments) if a.value.type in types]


def _is_elementwise(sample: Sample) -> bool:
    """Whether an op is lowered as the others of its kind: one of many is enough."""
    alone = any(table.get(sample.op) is not None for table in (PRODUCT, REDUCTION))
    return LOOPS.get(sample.op) is not None and not alone and not sample.id.startswith("add")


def _cases() -> list[Sample]:
    """Of each op the first sample that has a pair; with EVERY_SAMPLE all."""
    samples = [sample for sample in SAMPLES if EVERY or not _is_elementwise(sample)]
    if EVERY:
        return [sample for sample in samples if _pairs(sample)]
    found = (next((sample for sample in own if _pairs(sample)), None) for own in by_op(samples).values())
    return [sample for sample in found if sample is not None]


CASES = _cases()


@pytest.mark.parametrize("sample", CASES, ids=lambda sample: sample.id)
def test_an_operand_is_read_before_a_result_replaces_it(sample: Sample) -> None:
    dtype = sample.dtypes[0]
    expected = run_in_pieces(sample.module(dtype), *sample.arrays(dtype), effort=Effort.QUICK)
    for operand, result in _pairs(sample)[: None if EVERY else 1]:
        module, arrays = sample.module(dtype), sample.arrays(dtype)
        graph_of(module, "test").replace({result: f"x{operand}"})
        others = iter(run_in_pieces(module, *arrays, effort=Effort.QUICK))
        for number, wanted in enumerate(expected):
            found = arrays[operand] if number == result else next(others)
            assert found.tobytes() == wanted.tobytes(), f"result {number} over x{operand}"
