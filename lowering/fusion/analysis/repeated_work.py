"""What one kernel would compute again in each of its rows, because a small value is broadcast over them.

An op on values of few loops, such as a function of a row vector that is broadcast over a matrix, may share the nest of
the matrix. Along the inner loop it is then computed once for each element of the matrix, and not of the vector. If it
lacks the inner loop, it is computed once per row, but not in vectors. A kernel of its own costs a launch and a load of
each element.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.fusion.analysis.iteration_space import Space
from xdsl_rlx.lowering.fusion.analysis.loop_tables import LOOPS, PRODUCT, REDUCTION
from xdsl_rlx.lowering.fusion.analysis.nesting import demand_of
from xdsl_rlx.lowering.target import FusionCosts
from xdsl_rlx.transforms.driver import is_constant
from xdsl_rlx.transforms.rules.rule_table import SCALAR
from xdsl_rlx.transforms.scalar_cost import DEAR as FUNCTION
from xdsl_rlx.transforms.scalar_cost import scalar_cost


def _is_complete_after_all_rows(op: Operation, costs: FusionCosts) -> bool:
    """Whether an op is a reduction whose result no kernel reads that computes it, such as a sum over rows."""
    if REDUCTION.get(type(op)) is None:
        return False
    space = Space.of(op)
    return space is not None and demand_of(space, op, True, costs) is None


class RepeatedWork:
    """The cost of the values of a block by element, including that of the elementwise ops that they are made of."""

    def __init__(self, ops: Iterable[Operation], costs: FusionCosts):
        self.costs = costs
        self._costs: dict[Operation, int | None] = {}
        self._behind: dict[Operation, int] = {}
        """The same where the reductions and products before are in other kernels."""
        for op in ops:
            self._costs[op] = cost = self._cost(op)
            self._behind[op] = self._cost_behind(op) if cost is None else cost

    def _cost_behind(self, op: Operation) -> int:
        """The additions per element since the last reduction or product."""
        if REDUCTION.get(type(op)) is not None or PRODUCT.get(type(op)) is not None:
            return 0
        before = sum(self._behind.get(x.owner, 0) for x in op.operands if isinstance(x.owner, Operation))
        return before + (scalar_cost(op) if SCALAR.get(type(op)) is not None else 0)

    def _cost(self, op: Operation) -> int | None:
        """
        The additions per element of an op, with what computes its operands of no more elements.

        None if a product is among these, or a reduction that its users may share a kernel with: apart from its users,
        it might have to be read from memory.
        """
        kind = type(op)
        if is_constant(op) or _is_complete_after_all_rows(op, self.costs):
            return 0
        if SCALAR.get(kind) is None:
            # what comes from another kernel costs nothing here
            in_a_nest = REDUCTION.get(kind) is not None or PRODUCT.get(kind) is not None
            moves = LOOPS.get(kind) is not None and len(op.results) == 1 and not in_a_nest
            return None if in_a_nest else self._of_operands(op) if moves else 0
        before = self._of_operands(op)
        return None if before is None else before + scalar_cost(op)

    def _of_operands(self, op: Operation) -> int | None:
        size = prod(shape_of(op.results[0]))
        total = 0
        for owner in dict.fromkeys(x.owner for x in op.operands if isinstance(x.owner, Operation)):
            cost = self._costs.get(owner, 0)
            if cost is None:
                return None
            if len(owner.results) == 1 and prod(shape_of(owner.results[0])) <= size:
                total += cost
        return total

    def is_dear(self, value: SSAValue, space: Space, reduces_columns: bool = False) -> bool:
        """
        Whether a nest over `space` had better read a value than compute it.

        A nest that reduces columns reads the sums of rows in any case.
        """
        owner = value.owner
        if not isinstance(owner, Operation):
            return False
        cost = self._behind.get(owner) if reduces_columns else self._costs.get(owner)
        if not cost:
            return False
        axes = space.maps.get(value)
        count, size, costs = prod(space.extents), prod(shape_of(value)), self.costs
        if axes is None or count < 2 * size:
            return False
        if len(space.extents) - 1 in axes:
            load = costs.load_additions
            return (cost - load) * count - (cost + load) * size > costs.launch_additions
        # functions of rows take their time beside the rows: a loop over elements is in vectors, or is unrolled
        is_seen = cost >= FUNCTION and cost * size * costs.scalar_slowdown > count
        return is_seen and cost * size > costs.launch_scalar_additions
