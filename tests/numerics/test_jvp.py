"""JVP of samples, one operand at a time, and the compiled programs of one per op.

That all operands together are the adjoint of the VJP is in `test_vjp.py`.
"""

from zlib import crc32

import numpy as np
import oracle
import pytest
from levels import EVERY
from numerics.choice import DIFFERENTIABLE, EFFORT, is_own, thinned
from numerics.compiled import run
from numerics.derivatives import directions, inner, names, result_like, slope, tangent, tangent_of, vjp
from numerics.sample import Sample

from xdsl_rlx.transforms.rules import JVP

F64 = [s for s in DIFFERENTIABLE if "f64" in s.dtypes]
SEVERAL = [pytest.param(s, id=s.id) for s in thinned([s for s in F64 if len(s.differentiable) > 1], 1)]
SMOOTH = [pytest.param(s, id=s.id) for s in thinned([s for s in F64 if s.smooth], 1)]
_FIRST = {s.op: s for s in reversed(F64)}.values()
FIRST = {s.id for s in _FIRST}
BY_RULE = [pytest.param(s, id=s.id) for s in _FIRST if is_own(s, JVP)]


@pytest.mark.parametrize("sample", SEVERAL)
def test_the_tangent_of_one_operand_is_adjoint_to_its_cotangent(sample: Sample):
    """
    The others have no tangent; so a rule sees which are missing. Each in turn in the first sample of an op, and with
    EVERY_SAMPLE in all; one of them in the others.
    """
    rng = np.random.default_rng(9)
    module, inputs = sample.module("f64"), sample.arrays("f64")
    g = result_like(sample, "f64", rng)
    pulled = vjp(sample, "f64", inputs, g)
    each = list(zip(names(sample), pulled, directions(sample, "f64", rng), strict=True))
    turn = crc32(sample.id.encode()) % len(each)
    for name, cotangent, u in each if EVERY or sample.id in FIRST else each[turn : turn + 1]:
        outputs = oracle.evaluate(tangent(module, [name]), *inputs, u)
        pushed = outputs[len(outputs) // 2]
        assert pushed.shape == g.shape
        size = max(1.0, float(np.sum(np.abs(cotangent * u))))
        assert inner(g, pushed) == pytest.approx(inner(cotangent, u), abs=1e-12 * size)


@pytest.mark.parametrize("sample", SMOOTH)
def test_the_tangent_of_every_result_is_its_slope(sample: Sample):
    rng = np.random.default_rng(10)
    module, inputs, u = sample.module("f64"), sample.arrays("f64"), directions(sample, "f64", rng)
    outputs = oracle.evaluate(tangent_of(sample), *inputs, *u)
    half = len(outputs) // 2
    for number, (y, pushed) in enumerate(zip(outputs[:half], outputs[half:], strict=True)):
        if y.dtype != np.float64:
            continue
        weights = np.asarray(rng.standard_normal(y.shape))

        def along(t: float, number: int = number, weights: np.ndarray = weights) -> float:
            moved = list(inputs)
            for index, direction in zip(sample.differentiable, u, strict=True):
                moved[index] = inputs[index] + t * direction
            return float(np.sum(oracle.evaluate(module, *moved)[number] * weights))

        expected = slope(along, 1e-4)
        size = max(1.0, float(np.abs(pushed).max(initial=0.0)))
        assert float(np.sum(pushed * weights)) == pytest.approx(expected, rel=1e-6, abs=1e-6 * size)


@pytest.mark.parametrize("sample", BY_RULE)
def test_compiled_tangents_are_the_oracles(sample: Sample):
    program = tangent_of(sample)
    arguments = [*sample.arrays("f64"), *directions(sample, "f64", np.random.default_rng(11))]
    results = run(program, *arguments, effort=EFFORT)
    for result, reference in zip(results, oracle.evaluate(program, *arguments), strict=True):
        oracle.assert_close(result, reference, 8 * sample.tol)
