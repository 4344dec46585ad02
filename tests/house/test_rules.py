"""Every op has its row in every table: each failure is a sentence that says which file lacks what.

Oracle and samples are checked where they are used, in tests/numerics/test_oracle.py; ops.mlir in test_layout.py.
"""

from pathlib import Path

from numerics.families import family_of
from rows import for_each
from xdsl.ir import Operation

from xdsl_rlx.dialects.hir import Hir
from xdsl_rlx.dialects.mir import Mir, control
from xdsl_rlx.dialects.mir.bodies import BodyOp
from xdsl_rlx.dialects.mir.core import Elementwise, HasKernel, View
from xdsl_rlx.lowering.fusion.analysis.loop_tables import LOOPS, PLACE, PRODUCT, REDUCTION, VIEW
from xdsl_rlx.lowering.kernels import NEST
from xdsl_rlx.lowering.prepare.normal_forms import NORMALIZE
from xdsl_rlx.transforms.op_kinds import kind_of
from xdsl_rlx.transforms.rules import DECOMPOSE, JVP, SCALAR, VJP, VMAP
from xdsl_rlx.transforms.rules.hir import BLOCKS
from xdsl_rlx.transforms.rules.rule_table import IN_F32, RuleTable

ROOT = Path(__file__).resolve().parents[2]

FRAME = {control.YieldOp, control.VjpOp}
"""Ops that hold others; what becomes of them is said in the passes, not in tables."""

OPS = [op for op in Mir.operations if op not in FRAME]
IN_LOOPS = "lowering/fusion/analysis/loop_rows.py"


def _rows(op: type[Operation]) -> str:
    """The file in which the rows of an op's family stand."""
    family = family_of(op)
    return f"plugins/{family}/rules.py" if ".plugins." in op.__module__ else f"transforms/rules/{family}.py"


def _name(op: type[Operation]) -> str:
    return op.name


@for_each(OPS, _name)
def test_every_op_has_a_derivative_or_a_reason_why_not(op: type[Operation]) -> None:
    tables: tuple[RuleTable[object], ...] = (VJP, JVP)
    for table in tables if DECOMPOSE.get(op) is None else ():
        assert not table.missing([op]), f"{_rows(op)} has neither a {table.name} row nor an exemption for {op.name}"


@for_each(OPS, _name)
def test_every_op_can_be_batched_or_says_why_not(op: type[Operation]) -> None:
    if DECOMPOSE.get(op) is None:
        assert not VMAP.missing([op]), f"{_rows(op)} has neither a vmap row nor an exemption for {op.name}"
    assert VMAP.reason(op) != "", f"{_rows(op)} exempts {op.name} from vmap without a reason"


@for_each(OPS, _name)
def test_no_op_is_both_differentiated_and_exempt(op: type[Operation]) -> None:
    for table in (VJP, JVP):
        both = table.get(op) is not None and table.reason(op) is not None
        assert not both, f"{_rows(op)} has a {table.name} row and an exemption for {op.name}"
        assert table.reason(op) != "", f"{_rows(op)} exempts {op.name} from {table.name} without a reason"


@for_each([op for op in OPS if op.name != "mir.constant"], _name)
def test_every_op_can_be_lowered(op: type[Operation]) -> None:
    ways = [table.name for table in (LOOPS, VIEW, PLACE, DECOMPOSE, NEST) if table.get(op) is not None]
    assert ways, f"{op.name} cannot be lowered: {IN_LOOPS} has no loops, view or place, {_rows(op)} no decompose row"


@for_each(OPS, _name)
def test_an_op_has_the_trait_of_a_nest_of_its_own_if_it_has_one(op: type[Operation]) -> None:
    file = _rows(op).replace("rules.py", "kernels.py").replace("transforms/rules", "lowering/kernels")
    assert op.has_trait(HasKernel) == (NEST.get(op) is not None), f"see {file} for {op.name}"


@for_each(OPS, _name)
def test_an_op_has_the_trait_of_a_view_if_it_has_a_view_row(op: type[Operation]) -> None:
    assert op.has_trait(View) == (VIEW.get(op) is not None), f"{IN_LOOPS} and the trait of {op.name} differ"


@for_each(list(Mir.operations), _name)
def test_every_op_has_a_kind_by_which_its_precision_is_chosen(op: type[Operation]) -> None:
    family = family_of(op)
    assert kind_of(op) is not None, f"transforms/op_kinds.py has no kind for the family {family}, that of {op.name}"


@for_each(sorted(IN_F32, key=_name), _name)
def test_what_is_said_to_be_computed_in_f32_is_lowered_so(op: type[Operation]) -> None:
    assert op.has_trait(HasKernel) and DECOMPOSE.get(op) is not None, f"{op.name} computes as its definition does"
    assert NORMALIZE.get(op) is not None, f"lowering/prepare/normal_forms.py does not widen {op.name}"


@for_each([op for op in OPS if op.has_trait(Elementwise)], _name)
def test_every_elementwise_op_has_a_scalar_row(op: type[Operation]) -> None:
    assert SCALAR.get(op) is not None, f"{_rows(op)} has no scalar row for {op.name}"


@for_each(OPS, _name)
def test_what_stands_in_a_loop_has_a_body(op: type[Operation]) -> None:
    if LOOPS.get(op) is not None:
        bodies = [table for table in (SCALAR, REDUCTION, PRODUCT) if table.get(op) is not None]
        assert bodies, f"{op.name} has loops in {IN_LOOPS} but no scalar, reduction or product row"
    for table in (REDUCTION, PRODUCT):
        assert table.get(op) is None or LOOPS.get(op) is not None, f"{IN_LOOPS} has no loops for {op.name}"
    if NORMALIZE.get(op) is not None:
        lowered = any(table.get(op) is not None for table in (LOOPS, NEST, PLACE)) or issubclass(op, BodyOp)
        assert lowered, f"{op.name} is normalized, but has neither loops nor places for its operands"


@for_each(list(Hir.operations), _name)
def test_every_block_says_what_it_means(op: type[Operation]) -> None:
    family = op.__module__.rsplit(".", 1)[-1]
    assert not BLOCKS.missing([op]), f"transforms/rules/hir/{family}.py does not lower {op.name}"


def test_a_missing_row_is_reported_by_name() -> None:
    assert [op.name for op in VJP.missing([control.VjpOp])] == ["mir.vjp"]


@for_each([op for op in OPS if VJP.get(op) is not None], _name)
def test_every_vjp_rule_is_shown(op: type[Operation]) -> None:
    path = f"tests/filecheck/rules/{family_of(op)}.mlir"
    assert f"= {op.name} " in (ROOT / path).read_text(), f"{path} has no mir.vjp of {op.name}"
