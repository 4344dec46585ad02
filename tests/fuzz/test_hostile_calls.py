"""Whatever is passed to a method of a graph, what comes out is an exception of ours, and the graph as it was before."""

import inspect
import os
import warnings

import pytest
from fuzz.hostile import HOSTILE, as_numpys, calls, outcome, replacing
from numerics.blocks import samples as block_samples

import xdsl_rlx as rlx
from xdsl_rlx.builder import HirGraph

CALLS = list(calls())
STEP = 1 if "EVERY_SAMPLE" in os.environ else 13
"""Of all combinations every so many; a number that shares no factor with how many hostile arguments there are."""

CALLED = {
    *(("scan", 0), ("cond", 1), ("cond", 2), ("remat", 0), ("while_loop", 0), ("while_loop", 1)),
    *(("custom_fn", 0), ("custom_fn", "vjp"), ("custom_fn", "jvp")),
    *(("elementwise_region", 0), ("batch_elementwise_region", 0), ("transform_region", 0)),
}
"""Arguments that are functions, by method and place: what they raise is the caller's."""

OF_THE_IR = {"emit", "op", "operand", "operands", "cut", "value", "require_fit"}


def test_every_method_is_called():
    methods = {name for name, f in inspect.getmembers(rlx.Graph, inspect.isfunction) if not name.startswith("_")}
    assert methods - {call.method for call in CALLS} == OF_THE_IR
    assert len(HOSTILE) % STEP or STEP == 1


@pytest.mark.parametrize("part", range(8))
def test_a_hostile_argument_is_an_error_of_ours(part: int):
    wrong: list[str] = []
    combinations = [(call, place, name) for call in CALLS for place in call.places for name in HOSTILE]
    for call, place, name in combinations[part * STEP :: 8 * STEP]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            error = outcome(call, replacing(place, HOSTILE[name]))
        if callable(HOSTILE[name]) and (call.method, place) in CALLED and isinstance(error, TypeError):
            continue
        if error is not None and not (isinstance(error, rlx.RlxError) and str(error)):
            wrong.append(f"{call.method}({place}={name}): {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


def test_a_hostile_argument_of_a_block_is_an_error_of_ours():
    combinations = [
        (sample, place, name)
        for sample in block_samples()
        for place in (*sample.arrays, *(sample.options if sample.build is None else ()))
        for name in HOSTILE
    ]
    wrong: list[str] = []
    for sample, place, name in combinations[::STEP]:
        g = HirGraph("g")
        values = {key: g.param(key, array.shape, array.dtype) for key, array in sample.arrays.items()}
        block, given = g.builder.insertion_point.block, {**values, **sample.options, place: HOSTILE[name]}
        build = sample.build or (lambda m, op=sample.op, **given: getattr(m, op.name.removeprefix("hir."))(**given))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                build(g, **given)
            except rlx.RlxError:
                left = [op.name for op in block.ops if op.name.startswith("hir.")]
                wrong += [f"{sample.id}({place}={name}) leaves {left}"] if left else []
            except Exception as error:
                wrong.append(f"{sample.id}({place}={name}): {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


def test_numbers_of_numpy_are_numbers():
    wrong = {call.method: error for call in CALLS if (error := outcome(call, as_numpys)) is not None}
    assert not wrong
