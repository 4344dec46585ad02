"""The pass `mir-jacrev`: whole Jacobians by reverse mode, all unit vectors at once.
Reverse mode is `engines/reverse.py`, the batch of unit vectors `mir_vmap.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of, shape_of
from xdsl_rlx.transforms.dead_ops import remove_dead
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.engines.reverse import add_seeds, has_derivative, lay_out_reverse
from xdsl_rlx.transforms.mir_emit_vjp import MirEmitVjpPass
from xdsl_rlx.transforms.mir_grad import SEED
from xdsl_rlx.transforms.mir_vmap import MirVmapPass
from xdsl_rlx.transforms.signature import NamedArgument, Signature, graph_of, named
from xdsl_rlx.transforms.unit_vectors import put_unit_vectors, rows


@dataclass(frozen=True)
class MirJacrevPass(ModulePass):
    """
    Replace the function by `@name_jacrev`: the Jacobian of each result by each argument in `wrt`, in reverse mode.

    ```
    func.func @f(%x : tensor<3xf32>) -> tensor<4x2xf32>
    // becomes, with wrt=x
    func.func @f_jacrev(%x : tensor<3xf32>) -> tensor<4x2x3xf32>
    ```

    Element `[i.., j..]` is the derivative of result element `[i..]` by argument element `[j..]`. Cotangents are
    computed for all result elements at once; other values are computed once. Cheaper than `mir-jacfwd` if there are
    fewer result elements than argument elements; the values are the same.
    """

    name = "mir-jacrev"

    wrt: tuple[str, ...]
    """Names of the arguments, in the order of the Jacobians of one result."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
        graph = graph_of(op, self.name)
        name, outputs, wrt = graph.name, graph.outputs, self._wanted(graph)
        types = [(shape_of(y), element_of(y), has_derivative(y)) for y in outputs]
        seeds = self._pull_back(graph, [one.value for one in wrt])
        MirEmitVjpPass().apply(ctx, op)
        shapes = [shape for shape, _, varies in types if varies]
        MirVmapPass(seeds, sum(map(prod, shapes))).apply(ctx, op)
        put_unit_vectors(graph, shapes)
        last = graph.block.last_op
        assert last is not None
        b = MirBuilder(Builder(InsertPoint.before(last)))
        parts = [rows(b, b.value(grad), shapes) for grad in graph.outputs]
        found: list[SSAValue] = []
        for shape, element, varies in types:
            for grad, part in zip(graph.outputs, parts, strict=True):
                after = (*shape, *shape_of(grad)[1:])
                found.append((b.reshape(next(part), after) if varies else b.full(after, 0, element)).ssa)
        graph.set_outputs(found)
        graph.rename(f"{name}_jacrev")
        remove_dead(op.body)

    def _wanted(self, graph: Signature) -> list[NamedArgument]:
        if not self.wrt:
            raise PassFailedException(f"{self.name}: name the arguments of @{graph.name} to differentiate by")
        wrt = named(graph, self.wrt, self.name)
        if twice := [name for name in self.wrt if self.wrt.count(name) > 1]:
            raise PassFailedException(f'{self.name}: "{twice[0]}" is named twice')
        for argument in wrt:
            if not has_derivative(argument.value):
                type_ = argument.value.type
                raise PassFailedException(f'{self.name}: "{argument.name}" of type {type_} is not floating-point')
        for what, value in [*((f'"{x.name}"', x.value) for x in wrt), *(("a result", y) for y in graph.outputs)]:
            if element_of(value) in COMPLEXES:
                raise PassFailedException(f"{self.name}: {what} is complex, of type {value.type}; use mir-jacfwd")
        return wrt

    def _pull_back(self, graph: Signature, wrt: Sequence[SSAValue]) -> tuple[str, ...]:
        """Return the cotangents of `wrt`, from a new last input for each output that has one; the names of these."""
        last = graph.block.last_op
        assert last is not None
        b = MirBuilder(Builder(InsertPoint.before(last)))
        ops = list(graph.block.ops)[:-1]
        numbers = [n for n, y in enumerate(graph.outputs) if has_derivative(y)]
        outputs = [graph.outputs[n] for n in numbers]
        seeds = [graph.add_cotangent(SEED, n) for n in numbers]
        found = lay_out_reverse(ops, add_seeds(b, [b.value(y) for y in outputs], seeds), wrt, b.builder)
        grads = [b.zeros_like(x).ssa if grad is None else grad for x, grad in zip(wrt, found, strict=True)]
        graph.set_outputs(grads)
        return tuple(argument.name for argument in graph.arguments[len(graph.arguments) - len(seeds) :])
