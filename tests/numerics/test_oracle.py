"""The samples themselves: every op has one, and NumPy gives each of them a value of the right type."""

import oracle
import pytest
from numerics.choice import by_op
from numerics.families import FAMILIES, SAMPLES, family_of
from numerics.sample import named
from rows import for_each
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir import Mir, collectives, control, custom, debug
from xdsl_rlx.dialects.mir.bodies import BodyOp

SAMPLES_OF = by_op(SAMPLES)
# What `mir.debug_print` has are effects and no values; tests/face/test_debug_print.py has them. Collective ops need
# other processes; tests/distributed has them.
STRUCTURE = {
    control.YieldOp,
    control.VjpOp,
    control.FusionOp,
    custom.CustomOp,
    debug.DebugPrintOp,
    *collectives.COLLECTIVES,
}


def tensor_ops() -> list[type[Operation]]:
    return [op for op in Mir.operations if op not in STRUCTURE and not issubclass(op, BodyOp)]


@for_each(tensor_ops(), lambda op: op.name)
def test_every_op_has_an_oracle_and_a_sample(op: type[Operation]):
    path = f"tests/numerics/families/{family_of(op)}.py"
    family = FAMILIES.get(family_of(op))
    assert family and op in family.ORACLE, f"add the meaning of {op.name} to {path}"
    assert any(sample.op is op for sample in family.SAMPLES), f"add a sample of {op.name} to {path}"


def test_sample_ids_are_distinct():
    ids = [sample.id for sample in SAMPLES]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in SAMPLES_OF])
def test_the_oracle_gives_values_of_the_declared_types(op: type[Operation]):
    for sample in SAMPLES_OF[op]:
        for dtype in sample.dtypes:
            with named(sample, dtype):
                module = sample.module(dtype)
                assert any(isinstance(own, op) for own in module.walk())
                results = oracle.evaluate(module, *sample.arrays(dtype))
                function = next(iter(module.ops))
                assert len(results) == len(function.body.block.last_op.operands)
