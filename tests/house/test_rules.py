"""Every op has its rows: derivatives, scalars, a sample, a check. A failure says which file lacks which row."""

from pathlib import Path

import pytest
from numerics.samples import SAMPLES
from oracle import ORACLE
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.test_value import create_ssa_value

from xdsl_rlx.dialects.mir import FAMILIES, Mir, control, elementwise
from xdsl_rlx.dialects.mir.core import Elementwise, MirOp
from xdsl_rlx.dialects.shapes import f32
from xdsl_rlx.transforms import rules
from xdsl_rlx.transforms.rules import DECOMPOSE, JVP, SCALAR, VJP
from xdsl_rlx.transforms.rules.table import RuleTable, VjpTable

ROOT = Path(__file__).resolve().parents[2]
OPS = [op for op in Mir.operations if issubclass(op, MirOp)]


def _family(op: type[Operation]) -> str:
    return op.__module__.rsplit(".", 1)[-1]


@pytest.mark.parametrize("table", [VJP, JVP], ids=lambda table: table.name)
def test_every_op_has_a_derivative_or_says_why_not(table: RuleTable[object]):
    missing = [op for op in table.missing(OPS) if DECOMPOSE.get(op) is None]
    assert not missing, "\n".join(
        f"add a {table.name} row for {op.name} to transforms/rules/{_family(op)}.py" for op in missing
    )


@pytest.mark.parametrize("table", [VJP, JVP], ids=lambda table: table.name)
def test_exemptions_give_a_reason(table: RuleTable[object]):
    for op in OPS:
        reason = table.reason(op)
        assert reason is None or len(reason) > 10, f"why has {op.name} no {table.name} rule?"


def test_both_modes_stop_at_the_same_ops():
    differ = [op.name for op in OPS if (VJP.reason(op) is None) != (JVP.reason(op) is None)]
    assert not differ, f"differentiable in one mode only: {differ}"


def test_every_elementwise_op_has_a_scalar_row():
    missing = [op for op in SCALAR.missing(OPS) if op.has_trait(Elementwise)]
    assert not missing, "\n".join(
        f"add a scalar row for {op.name} to transforms/rules/{_family(op)}.py" for op in missing
    )


def test_every_op_has_a_meaning_and_a_sample():
    sampled = {sample.op for sample in SAMPLES}
    for op in OPS:
        assert op in ORACLE, f"add the meaning of {op.name} to tests/oracle.py"
        assert op in sampled, f"add a sample of {op.name} to tests/numerics/samples.py"


def test_every_differentiable_op_is_differentiated_by_a_sample():
    differentiated = {sample.op for sample in SAMPLES if sample.differentiable}
    lacking = [op.name for op in OPS if VJP.reason(op) is None and op not in differentiated]
    assert not lacking, f"no sample in tests/numerics/samples.py differentiates {lacking}"


@pytest.mark.parametrize("family", [family.__name__.rsplit(".", 1)[-1] for family in FAMILIES])
def test_every_family_has_a_rule_file_and_checks_of_its_rules(family: str):
    assert hasattr(rules, family), f"import {family} in transforms/rules/__init__.py"
    checks = (ROOT / "tests" / "filecheck" / "rules" / f"{family}.mlir").read_text()
    for op in OPS:
        if _family(op) == family and (VJP.get(op) is not None):
            assert f"= {op.name} " in checks, f"tests/filecheck/rules/{family}.mlir has no mir.vjp of {op.name}"


def test_a_second_row_is_refused():
    table = VjpTable("test")
    table.exempt(elementwise.TanhOp, "first")
    with pytest.raises(ValueError, match=r"second test row for mir\.tanh"):
        table.add(elementwise.TanhOp, lambda op, b, g: (g,))


def test_a_missing_rule_names_table_op_and_file():
    op = elementwise.TanhOp(create_ssa_value(elementwise.TensorType(f32, [2])))
    with pytest.raises(PassFailedException) as missing:
        VjpTable("test").lookup(op)
    assert str(missing.value) == "no test rule for mir.tanh: add one to transforms/rules/elementwise.py"


def test_region_ops_that_are_no_tensor_ops_are_known():
    """Whatever is exempt from this file's tests by not being a MirOp stands here."""
    assert [op for op in Mir.operations if op not in OPS] == [control.YieldOp, control.VjpOp, control.FusionOp]
