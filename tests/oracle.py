"""An interpreter of mir functions in NumPy, and what the meanings of ops share. The definition, not fast code.

What an op means is in the file of its family, `numerics/families/<family>.py`. Floating-point arithmetic is done in f64
and rounded once per op to the result's type, as accurate kernels do.
"""

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.dialects.constants import NUMPY_NAMES
from xdsl_rlx.dialects.mir import control
from xdsl_rlx.dialects.mir.branch import IfOp, RematOp, SwitchOp, WhileOp
from xdsl_rlx.dialects.mir.custom_fn import CustomFnOp
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.dialects.shapes import DTYPE_NAMES, element_of, shape_of

Array = np.ndarray[Any, Any]


def numpy_dtype(type_: Attribute | str) -> np.dtype[Any]:
    """The NumPy dtype of an element type or its name."""
    name = type_ if isinstance(type_, str) else DTYPE_NAMES[type_]
    return np.dtype(ml_dtypes.bfloat16) if name == "bf16" else np.dtype(NUMPY_NAMES[name])


def widen(x: Array) -> Array:
    """Floats as f64, complex numbers as c128, others as they are."""
    if x.dtype.kind == "c":
        return x.astype(np.complex128)
    return x if x.dtype.kind in "biu" else x.astype(np.float64)


def convert(x: Array, to: np.dtype[Any]) -> Array:
    """`mir.cast`: to an integer towards zero, saturating, NaN as 0; to bool `!= 0`; else by rounding to nearest."""
    if to == np.bool_:
        return x != 0
    if to.kind in "iu" and x.dtype.kind not in "biu":
        wide = np.trunc(np.nan_to_num(widen(x), nan=0.0, posinf=np.inf, neginf=-np.inf))
        info = np.iinfo(to)
        low, high = wide <= float(info.min), wide >= float(info.max)
        return np.where(low, info.min, np.where(high, info.max, np.where(low | high, 0, wide).astype(to))).astype(to)
    return (widen(x) if x.dtype.kind not in "biu" else x).astype(to)


def evaluate_block(block: Block, inputs: Sequence[Array]) -> list[Array]:
    """The operands of the terminator of a block of mir ops."""
    from numerics.families import ORACLE  # whose files import this one

    env: dict[SSAValue, Array] = dict(zip(block.args, inputs, strict=True))
    for op in block.ops:
        operands = [env[v] for v in op.operands]
        if isinstance(op, func.ReturnOp | control.YieldOp):
            return operands
        if (by_bodies := BY_BODIES.get(type(op))) is not None:
            env.update(zip(op.results, by_bodies(op, operands), strict=True))
            continue
        with np.errstate(all="ignore"):
            found: Any = ORACLE[type(op)](op, *operands)
            for value, array in zip(op.results, found if isinstance(found, tuple) else (found,), strict=True):
                result = np.asarray(array).astype(numpy_dtype(element_of(value)))
                assert result.shape == shape_of(value), f"{op.name}: {result.shape} for {value.type}"
                env[value] = result
    raise AssertionError("a block without terminator")


def evaluate_scan(op: ScanOp, operands: Sequence[Array]) -> list[Array]:
    """The carries after the last time, and the results of all times, stacked."""
    n, m = len(op.init), len(op.init) + len(op.xs)
    carries, xs, captured = list(operands[:n]), operands[n:m], operands[m:]
    stacks = [np.zeros(shape_of(y), numpy_dtype(element_of(y))) for y in op.ys]
    times = range(op.times)
    for t in times if op.reverse is None else reversed(times):
        found = evaluate_block(op.body.block, [*carries, *(x[t] for x in xs), *captured])
        carries = found[:n]
        for stack, y in zip(stacks, found[n:], strict=True):
            stack[t] = y
    return [*carries, *stacks]


def evaluate_if(op: IfOp, operands: list[Array]) -> list[Array]:
    """What the branch that is taken yields; the other one is not run."""
    return evaluate_block(op.branches[0 if operands[0] else 1], operands[1:])


def evaluate_switch(op: SwitchOp, operands: list[Array]) -> list[Array]:
    """What the branch of the number yields, or the first or last."""
    number = min(max(int(operands[0]), 0), len(op.branches) - 1)
    return evaluate_block(op.branches[number], operands[1:])


def evaluate_while(op: WhileOp, operands: list[Array]) -> list[Array]:
    """The carries after the last time, and how often the body was run."""
    n, trips = len(op.init), 0
    carries, captured = operands[:n], operands[n:]
    while (op.most is None or trips < op.most) and evaluate_block(op.condition.block, [*carries, *captured])[0]:
        carries, trips = evaluate_block(op.body.block, [*carries, *captured]), trips + 1
    return [*carries, np.asarray(trips, np.int32)]


def evaluate_body(op: control.FusionOp | RematOp, operands: list[Array]) -> list[Array]:
    """What the body yields."""
    return evaluate_block(op.body.block, operands)


def evaluate_custom_fn(op: CustomFnOp, operands: list[Array]) -> list[Array]:
    """What the function yields; its rules say nothing of that."""
    return evaluate_block(op.forward.block, operands)


BY_BODIES: dict[type[Operation], Callable[[Any, list[Array]], list[Array]]] = {
    control.FusionOp: evaluate_body,
    ScanOp: evaluate_scan,
    IfOp: evaluate_if,
    SwitchOp: evaluate_switch,
    WhileOp: evaluate_while,
    RematOp: evaluate_body,
    CustomFnOp: evaluate_custom_fn,
}
"""What ops compute by the blocks in them."""


def evaluate(code: ModuleOp | func.FuncOp, *inputs: Any) -> list[Array]:
    """The results of a function of mir ops (of a module: its first function) on arrays, converted to its types."""
    function = next(op for op in code.walk() if isinstance(op, func.FuncOp))
    args = function.body.block.args
    assert len(inputs) == len(args), f"expected {len(args)} inputs, got {len(inputs)}"
    arrays = [np.asarray(x).astype(numpy_dtype(element_of(a))) for x, a in zip(inputs, args, strict=True)]
    for array, arg in zip(arrays, args, strict=True):
        assert array.shape == shape_of(arg), f"an input of shape {array.shape} for {arg.type}"
    return evaluate_block(function.body.block, arrays)


def run(graph: Any, **arrays: Any) -> list[Array]:
    """The results of a graph on arrays by name; an argument that is not given, such as `d_output`, is ones."""
    program = as_graph_module(graph)
    program.module.verify()
    arguments = program.signature.arguments
    return evaluate(program.module, *(arrays.get(a.name, np.ones(shape_of(a.value))) for a in arguments))


def assert_close(result: Array, expected: Array, tol: float, exact: bool = False) -> None:
    """
    Equal types, shapes, infinities and NaN; finite floats within `tol` epsilons of the largest one (at least 1).

    Integers and booleans, and with `exact` everything, are equal; signs of zeros and of NaN do not matter.
    """
    assert result.dtype == expected.dtype, f"{result.dtype} for {expected.dtype}"
    assert result.shape == expected.shape, f"{result.shape} for {expected.shape}"
    got, want = widen(result), widen(expected)
    if exact or expected.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
        return
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    error = np.abs(got[finite] - want[finite]).max(initial=0.0)
    largest = np.abs(want[finite]).max(initial=1.0)
    limit = tol * float(ml_dtypes.finfo(expected.dtype).eps) * largest
    assert error <= limit, f"error {error:.3g}, allowed {limit:.3g}"
