"""The kernels of a module that are one collective op each, and others made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.lir import (
    CollectiveOp,
    CollectivePollOp,
    CollectiveStartOp,
    CollectiveWaitOp,
    KernelOp,
    LaunchOp,
    ProgramOp,
    ReturnOp,
)
from xdsl_rlx.dialects.lir.collectives import REQUEST
from xdsl_rlx.dialects.lir.memory import AnyMemRef, memref_of
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.lowering.kernel_pass import symbols_of, take_name


@dataclass(frozen=True)
class CollectiveLaunch:
    """A launch of a collective, and the buffers of the program that it connects."""

    launch: LaunchOp
    op: CollectiveOp
    source: SSAValue
    target: SSAValue
    network: SSAValue

    @property
    def kernel_name(self) -> str:
        """The name of its kernel."""
        return self.launch.kernel.string_value()

    @property
    def separate(self) -> tuple[SSAValue, ...]:
        """The source, if it is not the target."""
        return () if self.source is self.target else (self.source,)


class CollectiveKernels:
    """The kernels of a module that are one `lir.collective`. It is empty, and so false, where there is none."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self._taken = symbols_of(module)
        self._ops: dict[str, CollectiveOp] = {}
        self._made: dict[str, KernelOp] = {}
        for kernel in module.ops:
            if isinstance(kernel, KernelOp):
                # not a list of all ops: most kernels are large, and none of this kind
                op = kernel.body.block.first_op
                if isinstance(op, CollectiveOp) and op.next_op is kernel.body.block.last_op:
                    self._ops[kernel.sym_name.data] = op

    def __len__(self) -> int:
        return len(self._ops)

    def launch_of(self, launch: LaunchOp) -> CollectiveLaunch | None:
        """What a launch connects; None if its kernel is another one."""
        op = self._ops.get(launch.kernel.string_value())
        if op is None:
            return None
        block = op.parent_block()
        assert block is not None
        passed: dict[SSAValue, SSAValue] = dict(zip(block.args, launch.operands, strict=False))
        return CollectiveLaunch(launch, op, passed[op.source], passed[op.target], passed[op.network])

    def in_place(self, found: CollectiveLaunch) -> KernelOp:
        """The kernel `(target, network)` of a collective whose source is its target."""
        op = found.op

        def body(args: Sequence[SSAValue]) -> Operation:
            target, network = args
            return CollectiveOp(op.call.data, target, target, network, op.processes.value.data, op.root.value.data)

        types = [memref_of(found.target), memref_of(found.network)]
        kernel = self._kernel(f"{found.kernel_name}_in_place", types, ["data", "console"], body)
        made = kernel.body.block.first_op
        assert isinstance(made, CollectiveOp)
        self._ops[kernel.sym_name.data] = made
        return kernel

    def start(self, found: CollectiveLaunch) -> KernelOp:
        """The kernel `(source?, target, request, network)` that starts a collective."""
        passed = [*found.separate, found.target]

        def body(args: Sequence[SSAValue]) -> Operation:
            source, target = args[0], args[len(passed) - 1]
            return CollectiveStartOp(found.op, source, target, args[-2], args[-1])

        types = [*map(memref_of, passed), REQUEST, memref_of(found.network)]
        names = ["source", "data"][-len(passed) :]
        return self._kernel(f"{found.kernel_name}_start", types, [*names, "request", "console"], body)

    def wait(self, found: CollectiveLaunch) -> KernelOp:
        """The kernel `(request, source?, target)` that waits for it."""
        passed = [*found.separate, found.target]

        def body(args: Sequence[SSAValue]) -> Operation:
            return CollectiveWaitOp(args[0], args[-1], args[1] if found.separate else None)

        names = ["source", "data"][-len(passed) :]
        types = [REQUEST, *map(memref_of, passed)]
        return self._kernel(f"{found.kernel_name}_wait", types, ["request", *names], body)

    def poll(self) -> KernelOp:
        """The kernel `(request)` that lets collectives go on."""
        return self._kernel("poll_collectives", [REQUEST], ["request"], lambda args: CollectivePollOp(args[0]))

    def erase_unused(self) -> None:
        """Remove collectives that nothing launches any more."""
        programs = [op for op in self.module.ops if isinstance(op, ProgramOp)]
        used = {
            op.kernel.string_value() for program in programs for op in ops_within(program) if isinstance(op, LaunchOp)
        }
        for name in [name for name in self._ops if name not in used]:
            kernel = self._ops.pop(name).parent_op()
            assert kernel is not None
            kernel.detach()
            kernel.erase()

    def _kernel(
        self,
        name: str,
        types: Sequence[AnyMemRef],
        names: Sequence[str],
        body: Callable[[Sequence[SSAValue]], Operation],
    ) -> KernelOp:
        """The kernel of a name, which is made once, under a name that the module does not have."""
        if name not in self._made:
            kernel = KernelOp(take_name(name, self._taken), types)
            block = kernel.body.block
            for arg, hint in zip(block.args, [*names, "lo", "hi"], strict=True):
                arg.name_hint = hint
            block.add_ops([body(block.args[:-2]), ReturnOp()])
            self.module.body.block.add_op(kernel)
            self._made[name] = kernel
        return self._made[name]
