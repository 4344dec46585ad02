"""`lir-merge-lengths`: kernels that differ in how many elements they have become one, of any length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, MemRefType, ModuleOp, SymbolRefAttr
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_rlx.dialects.lir import KernelOp, LaunchOp, ProgramOp
from xdsl_rlx.dialects.lir.bounds import reaches
from xdsl_rlx.dialects.lir.memory import memref_of
from xdsl_rlx.lowering.kernel_pass import kernels_of, launches_of
from xdsl_rlx.transforms.structure import structure_of_region


@dataclass(frozen=True)
class LirMergeLengthsPass(ModulePass):
    """
    Merge elementwise kernels that differ only in length, such as the updates of an optimiser.

    Such a kernel has one loop and accesses, in each buffer, the element of the iteration or a scalar. Kernels without a
    counterpart stay, and so do kernels launched in a loop, which outlining merges into that loop.

    ```mlir
    lir.kernel @k0(%x: memref<700xf32>, %0: memref<700xf32>, %lo: index, %hi: index) { .. }
    lir.kernel @k1(%x: memref<96xf32>, %0: memref<96xf32>, %lo: index, %hi: index) { .. }
    // becomes
    lir.kernel @k0(%x: memref<?xf32>, %0: memref<?xf32>, %lo: index, %hi: index) { .. }
    ```
    """

    name = "lir-merge-lengths"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite a module."""
        if len(kernels := kernels_of(op)) < 2:
            return
        launches = launches_of(op)
        alike: dict[tuple[object, ...], list[KernelOp]] = {}
        for kernel in kernels:
            if _is_a_line(kernel, launches.get(kernel.sym_name.data, ())):
                alike.setdefault(_outline(kernel), []).append(kernel)
        for same in alike.values():
            if len(same) > 1:
                _share(same, launches)


def _is_a_line(kernel: KernelOp, launches: Sequence[LaunchOp]) -> bool:
    """Whether each buffer is a number, or has an element for each iteration, which no other iteration touches."""
    extents = {launch.extent.value.data for launch in launches}
    if len(extents) != 1 or not all(isinstance(launch.parent_op(), ProgramOp) for launch in launches):
        return False
    (extent,) = extents
    lines = _lines(kernel, extent)
    if not lines or any(arg not in lines and memref_of(arg).get_shape() for arg in kernel.body.block.args[:-2]):
        return False
    return all(reach.is_iteration for op in kernel.walk() for reach in reaches(op) if reach.buffer in lines)


def _lines(kernel: KernelOp, extent: int) -> list[SSAValue]:
    """The buffers that are dense and have an element for each iteration."""
    args = kernel.body.block.args[:-2]
    return [arg for arg in args if memref_of(arg) == MemRefType(memref_of(arg).element_type, [extent])]


def _outline(kernel: KernelOp) -> tuple[object, ...]:
    """What kernels that may be one have in common, and is quickly found."""
    types = [memref_of(arg) for arg in kernel.body.block.args[:-2]]
    names = [op.name for op in kernel.walk() if not isinstance(op, arith.ConstantOp)]
    return (*((type_.element_type, bool(type_.get_shape())) for type_ in types), *names)


def _share(kernels: Sequence[KernelOp], launches: Mapping[str, Sequence[LaunchOp]]) -> None:
    """Replace those of the kernels that are equal but for the length."""
    equal: dict[tuple[object, ...], list[KernelOp]] = {}
    general: dict[tuple[object, ...], KernelOp] = {}
    for kernel in kernels:
        one = _of_any_length(kernel)
        structure = structure_of_region(one.body)
        general.setdefault(structure, one)
        equal.setdefault(structure, []).append(kernel)
    for structure, same in equal.items():
        if len(same) == 1:
            continue
        Rewriter.insert_op(general[structure], InsertPoint.before(same[0]))
        for kernel in same:
            for launch in launches[kernel.sym_name.data]:
                launch.kernel = SymbolRefAttr(general[structure].sym_name)
            Rewriter.erase_op(kernel)


def _of_any_length(kernel: KernelOp) -> KernelOp:
    """A copy whose lines have any length, without constants that nothing reads: they may be that length."""
    copy = kernel.clone()
    block = copy.body.block
    for arg in block.args[:-2]:
        if memref_of(arg).get_shape():
            Rewriter.replace_value_with_new_type(arg, MemRefType(memref_of(arg).element_type, [DYNAMIC_INDEX]))
    copy.function_type = FunctionType.from_lists(block.arg_types, [])
    for op in list(copy.walk()):
        if isinstance(op, arith.ConstantOp) and not op.result.uses:
            Rewriter.erase_op(op)
    return copy
