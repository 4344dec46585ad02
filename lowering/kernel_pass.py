"""Passes that work on one kernel at a time, and how a kernel that is done goes on before the next one is begun."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from xdsl_rlx.dialects.lir import KernelOp, LaunchOp, LoopOp, ProgramOp, StepOp, ViewOp, WhileOp
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.transforms.driver import run_in_order


class KernelPass(ModulePass):
    """A pass over kernels: what it makes of one depends on that one and its launches, and on nothing else."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all kernels."""
        launches = launches_of(op)
        for kernel in kernels_of(op):
            self.rewrite(kernel, launches.get(kernel.sym_name.data, ()))

    @abstractmethod
    def rewrite(self, kernel: KernelOp, launches: Sequence[LaunchOp]) -> None:
        """Rewrite one kernel, which these launches run."""

    def ops_of(self, op: Operation) -> int:
        """Return about how many ops this pass makes of one."""
        return 1


def kernels_of(module: ModuleOp) -> list[KernelOp]:
    """The kernels of a module, in order."""
    return [op for op in module.ops if isinstance(op, KernelOp)]


def symbols_of(module: ModuleOp) -> set[str]:
    """The names of the programs and kernels of a module, of which no two may be equal."""
    return {op.sym_name.data for op in module.ops if isinstance(op, KernelOp | ProgramOp)}


def take_name(name: str, taken: set[str]) -> str:
    """Return the name, or the name with the first number that is free, which is taken from now on."""
    numbered = (f"{name}_{number}" for number in count(1))
    found = next(x for x in chain((name,), numbered) if x not in taken)
    taken.add(found)
    return found


def launches_of(module: ModuleOp) -> dict[str, list[LaunchOp]]:
    """The launches of a module's programs, by the names of their kernels."""
    found: dict[str, list[LaunchOp]] = {}
    for program in module.ops:
        for op in ops_within(program) if isinstance(program, ProgramOp) else ():
            if isinstance(op, LaunchOp):
                found.setdefault(op.kernel.string_value(), []).append(op)
    return found


def erase_unused(module: ModuleOp, names: Iterable[str]) -> None:
    """Erase the kernels of these names that nothing launches any more."""
    launched, wanted = launches_of(module), set(names)
    for kernel in kernels_of(module):
        if kernel.sym_name.data in wanted and kernel.sym_name.data not in launched:
            kernel.detach()
            kernel.erase()


def root_of(value: SSAValue) -> SSAValue:
    """The buffer that a buffer is an alias of, or itself."""
    while isinstance(value.owner, ViewOp | StepOp):
        value = value.owner.source
    return value


def users_of(value: SSAValue, block: Block) -> list[Operation]:
    """The ops of a block that use a buffer under any of its names, themselves or in their regions."""
    found: list[Operation] = []
    for use in value.uses:
        if isinstance(use.operation, ViewOp | StepOp):
            found += users_of(use.operation.result, block)
        elif (op := block.find_ancestor_op_in_block(use.operation)) is not None:
            found.append(op)
    return found


def lower_by_kernel(ctx: Context, module: ModuleOp, passes: Sequence[ModulePass]) -> Iterator[KernelOp]:
    """
    Run passes on a module, and give its kernels one by one, as soon as they are done, the largest first.

    Passes that are no `KernelPass` must not look into kernels behind the first that is one, unless a program has loops:
    then every pass is done with all kernels before the next begins, as in a pipeline. The module is lowered once all
    kernels have been taken, and has been changed as a pipeline would have changed it.
    """
    first = next((number for number, one in enumerate(passes) if isinstance(one, KernelPass)), len(passes))
    run_in_order(ctx, module, passes[:first])
    rest = passes[first:]
    programs = [op for op in module.ops if isinstance(op, ProgramOp)]
    if any(isinstance(op, LoopOp | WhileOp) for program in programs for op in ops_within(program)):
        run_in_order(ctx, module, rest)
        rest = ()
    all_own = [one for one in passes if isinstance(one, KernelPass)]
    own = [one for one in rest if isinstance(one, KernelPass)]
    launches = launches_of(module)
    for kernel in sorted(kernels_of(module), key=lambda kernel: _size(kernel, all_own), reverse=True):
        for one in own:
            one.rewrite(kernel, launches.get(kernel.sym_name.data, ()))
        yield kernel
    run_in_order(ctx, module, [one for one in rest if not isinstance(one, KernelPass)])


def _size(kernel: KernelOp, passes: Sequence[KernelPass]) -> int:
    """How much is to be done with a kernel, about."""
    return sum(max((one.ops_of(op) for one in passes), default=1) for op in ops_within(kernel))
