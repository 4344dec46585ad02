"""Jacobians of graphs, as graphs that can be called. `jacobian_columns.py` has those of compiled programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from xdsl.passes import ModulePass

from xdsl_rlx.builder import GraphModule
from xdsl_rlx.compiling import compile
from xdsl_rlx.derivatives import names_of
from xdsl_rlx.lowering.pipelines import SIMPLIFY, prepared_for_ad
from xdsl_rlx.passes import derived
from xdsl_rlx.transforms.mir_jacfwd import MirJacfwdPass
from xdsl_rlx.transforms.mir_jacrev import MirJacrevPass

if TYPE_CHECKING:
    from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph, Results


class Jacobians(GraphModule):
    """
    A graph of Jacobians that can be called, or passed to other transformations.

    The first call compiles it; `compiled` is the compiled graph that calls run.
    """

    @cached_property
    def compiled(self) -> CompiledGraph:
        """The compiled graph."""
        return compile(self)

    def __call__(self, /, *args: object, **kwargs: object) -> Results:
        return self.compiled(*args, **kwargs)


def jacfwd(graph: GraphModule, wrt: Sequence[str] | str) -> Jacobians:
    """
    Return the Jacobians of all outputs with respect to the named arguments, as a callable graph.

    Each Jacobian has the shape of the output followed by the shape of the argument: element `[i.., j..]` is the
    derivative of output element `[i..]` with respect to argument element `[j..]`. Jacobians are ordered by output, then
    by `wrt`. One program computes all columns at once. It stores, for each element of `wrt`, a tangent of every value
    that depends on `wrt`. A compiled `rlx.jvp` of one argument runs once per column instead.
    """
    return _jacobians(graph, [*prepared_for_ad(reverse=False), MirJacfwdPass(names_of(wrt))])


def jacrev(graph: GraphModule, wrt: Sequence[str] | str) -> Jacobians:
    """
    Return the same Jacobians as `jacfwd`, computed in reverse mode, all rows at once.

    The program stores, for each element of the outputs, a cotangent of every value. It does less work than `jacfwd` if
    the outputs have fewer elements than the arguments.
    """
    return _jacobians(graph, [*prepared_for_ad(), MirJacrevPass(names_of(wrt))])


def hessian(graph: GraphModule, wrt: Sequence[str] | str) -> Jacobians:
    """
    Return the second derivatives of all outputs with respect to the named arguments: `jacfwd` of `jacrev`.

    Each has the shape of the output, then of the first argument, then of the second. The results are ordered by output,
    then by first argument, then by second argument.
    """
    # what rows repeat is shared before it is differentiated again
    names = names_of(wrt)
    return _jacobians(graph, [*prepared_for_ad(), MirJacrevPass(names), *SIMPLIFY, MirJacfwdPass(names)])


def _jacobians(graph: GraphModule, passes: Sequence[ModulePass]) -> Jacobians:
    found = derived(graph, passes)
    return Jacobians(found.pending or found.module, found.stage)
