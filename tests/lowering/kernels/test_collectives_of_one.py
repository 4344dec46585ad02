"""Collective ops of one process: it is connected to no other."""

import numpy as np
import pytest

import xdsl_rlx as rlx

OPS = {
    "all_reduce": "mir.all_reduce sum %x over 1 : {0}",
    "all_gather": "mir.all_gather %x over 1 : {0} -> {0}",
    "reduce_scatter": "mir.reduce_scatter %x over 1 : {0} -> {0}",
    "broadcast": "mir.broadcast %x from 0 over 1 : {0}",
    "reduce_to": "mir.reduce_to %x to 0 over 1 : {0}",
}


@pytest.mark.parametrize("backend", ["llvm", "numba"])
@pytest.mark.parametrize("shape", ["4x3", "0x3", "1"])
def test_an_op_in_text_gives_its_operand(shape: str, backend: str):
    type_ = f"tensor<{shape}xf32>"
    lines = [f"%{n} = {text.format(type_)}" for n, text in enumerate(OPS.values())]
    text = (
        f'func.func @f(%x: {type_} {{mir.name = "x", mir.kind = "input"}}) -> ({", ".join([type_] * 5)}) {{\n'
        + "\n".join(lines)
        + f"\nfunc.return {', '.join(f'%{n}' for n in range(5))} : {', '.join([type_] * 5)}\n}}"
    )
    x = np.random.default_rng(0).standard_normal([int(n) for n in shape.split("x")]).astype(np.float32)
    for found in rlx.compile(rlx.parse(text), backend=backend)(x):
        np.testing.assert_array_equal(found, x, strict=True)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i4", "i8", "u1", "?"])
def test_functions_give_their_operand(dtype: str):
    x = np.arange(6).reshape(3, 2).astype(dtype)
    for found in (
        rlx.all_reduce(x, "max", 1),
        rlx.all_gather(x, 1),
        rlx.reduce_scatter(x, 1),
        rlx.broadcast(x, 0, 1),
        rlx.distributed.all_gather(x),
        rlx.distributed.reduce_scatter(x),
        rlx.distributed.broadcast(x),
        rlx.compile(lambda x: rlx.all_gather(x, 1))(x),
    ):
        np.testing.assert_array_equal(found, x, strict=True)


def test_what_is_wrong_of_several_processes_is_wrong_of_one():
    distributed = rlx.distributed
    for wrong, message in (
        (lambda: distributed.all_gather(np.float64(1.0)), "expected a first axis, got a tensor of rank 0"),
        (lambda: distributed.reduce_scatter(np.float64(1.0)), "expected a first axis, got a tensor of rank 0"),
        (lambda: distributed.all_reduce(np.ones(3), "zz"), "reduction 'zz' is not one of"),
        (lambda: distributed.broadcast(np.ones(3), 3), "expected a root from 0 to 0, got 3"),
        (lambda: rlx.all_reduce(np.ones(3), "sum", 0), "expected at least 1 process, got 0"),
    ):
        with pytest.raises(rlx.GraphError, match=message):
            wrong()
