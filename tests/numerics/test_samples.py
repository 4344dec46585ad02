"""What the samples leave out, by name: operands that are never differentiated, results that never get a cotangent."""

from functools import cache
from typing import NamedTuple

from numerics.choice import DIFFERENTIABLE
from numerics.compiled import cases
from numerics.families import SAMPLES, family_of
from numerics.sample import Sample
from rows import for_each
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation

from xdsl_rlx.dialects.mir import Mir
from xdsl_rlx.transforms.engines.reverse import has_derivative, varying
from xdsl_rlx.transforms.rules import DECOMPOSE, INERT, VJP
from xdsl_rlx.transforms.rules.rows import operand_names, result_names
from xdsl_rlx.transforms.signature import graph_of

OPS = [
    op for op in Mir.operations if VJP.get(op) is not None or (VJP.reason(op) is None and DECOMPOSE.get(op) is not None)
]


class Found(NamedTuple):
    """Names of operands and results of an op in its samples."""

    has: set[str]
    differentiated: set[str]


def _name(op: type[Operation]) -> str:
    return op.name


@cache
def _found() -> dict[type[Operation], Found]:
    """The floating-point operands and results of each op, and those of them that a derivative test reaches."""
    found = {op: Found(set(), set()) for op in OPS}
    for sample in (*SAMPLES, *DIFFERENTIABLE):
        if sample.op in found:
            has, differentiated = _of_sample(sample)
            found[sample.op].has.update(has)
            found[sample.op].differentiated.update(differentiated)
    return found


def _of_sample(sample: Sample) -> Found:
    graph = graph_of(sample.module("f64" if "f64" in sample.dtypes else sample.dtypes[0]), "test")
    ops, arguments = list(graph.block.ops)[:-1], graph.block.args
    varied = varying(ops, [arguments[index] for index in sample.differentiable])
    leads: set[SSAValue] = {graph.outputs[0]}
    for op in reversed(ops):
        if not leads.isdisjoint(op.results):
            leads.update(op.operands)
    found = Found(set(), set())
    for op in ops:
        if type(op) is sample.op:
            assert isinstance(op, IRDLOperation)
            inert = INERT.of(op)
            for index, (name, x) in enumerate(zip(operand_names(op), op.operands, strict=True)):
                if has_derivative(x) and index not in inert:
                    found.has.add(name)
                    found.differentiated.update({name} if x in varied and not leads.isdisjoint(op.results) else ())
            for name, y in zip(result_names(op), op.results, strict=True):
                if found.has and has_derivative(y):
                    found.has.add(f"result {name}")
                    found.differentiated.update({f"result {name}"} if y in varied and y in leads else ())
    return found


@for_each(OPS, _name)
def test_every_operand_and_result_is_differentiated_in_a_sample(op: type[Operation]):
    """Each floating-point operand that is not inert, and each floating-point result."""
    has, differentiated = _found()[op]
    lost = sorted(has - differentiated)
    assert not lost, f"tests/numerics/families/{family_of(op)}.py differentiates no sample of {op.name} by {lost}"


def test_every_op_is_compiled_in_single_and_double_precision():
    """Where it has samples for both."""
    for samples in (SAMPLES, [sample for sample in SAMPLES if sample.differentiable]):
        compiled: dict[type[Operation], set[str]] = {}
        wanted: dict[type[Operation], set[str]] = {}
        for parameters in cases(samples):
            sample, dtype = parameters.values
            compiled.setdefault(sample.op, set()).add(dtype)
            wanted.setdefault(sample.op, set()).update({"f32", "f64"} & set(sample.dtypes))
        lost = [op.name for op, dtypes in wanted.items() if not dtypes <= compiled[op]]
        assert not lost, f"{lost} are compiled in one type only"
