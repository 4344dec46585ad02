"""Which samples derivative tests take: of each mode of an op some, and of ops with several results each of these."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from levels import EVERY
from numerics.families import SAMPLES
from numerics.sample import Build, Sample
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, VarResultDef
from xdsl.utils.hints import isa

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.transforms.engines.reverse import has_derivative
from xdsl_rlx.transforms.rules import DECOMPOSE, VJP
from xdsl_rlx.transforms.rules.rule_table import RuleTable
from xdsl_rlx.transforms.signature import Signature, graph_of


def _graph(sample: Sample) -> Signature:
    return graph_of(sample.unverified("f64" if "f64" in sample.dtypes else sample.dtypes[0]), "test")


def _mode(attribute: Attribute) -> object:
    """What of a property chooses among formulas: which member of an enum it is, but only that there is a number."""
    if isinstance(attribute, IntegerAttr) and attribute.type == i1:
        return bool(attribute.value.data)
    numbers = isinstance(attribute, DenseIntOrFPElementsAttr | DenseArrayBase | FloatAttr | IntegerAttr)
    return numbers or str(attribute)


@cache
def mode_of(sample: Sample) -> str:
    """The properties of the op that are not extents, which operands and results it has, what is differentiated."""
    found: list[object] = [sample.differentiable]
    for op in _graph(sample).block.ops:
        if type(op) is sample.op:
            segments = [op.properties.get(name) for name in ("operandSegmentSizes", "resultSegmentSizes")]
            found.append([_present(x) for x in segments if isa(x, DenseArrayBase[IntegerType])])
            found.append(len(op.results))
            found.append([element_of(x) in COMPLEXES for x in op.operands if isinstance(x.type, TensorType)])
            found += [(name, _mode(attribute)) for name, attribute in sorted(op.properties.items())]
    return repr(found)


def _present(sizes: DenseArrayBase[IntegerType]) -> list[bool]:
    return [size != 0 for size in sizes.get_values()]


def thinned(samples: Sequence[Sample], most: int) -> list[Sample]:
    """
    Some samples of each op: one for each of its modes, and where these are few, evenly spaced others, up to `most`.

    With EVERY_SAMPLE set in the environment, all.
    """
    if EVERY:
        return list(samples)
    modes_of: dict[type, dict[str, list[Sample]]] = {}
    for sample in samples:
        modes_of.setdefault(sample.op, {}).setdefault(mode_of(sample), []).append(sample)
    chosen: list[Sample] = []
    for modes in modes_of.values():
        each = -(-most // len(modes))
        chosen += [s for own in modes.values() for s in own[:: -(-len(own) // each)]]
    return chosen


def first_of_modes(samples: Sequence[Sample], most: int) -> list[Sample]:
    """Of each op the first sample of each of its modes, of at most so many modes; with EVERY_SAMPLE, all."""
    if EVERY:
        return list(samples)
    taken: Counter[type] = Counter()
    chosen: list[Sample] = []
    for sample in thinned(samples, 1):
        taken[sample.op] += 1
        if taken[sample.op] <= most:
            chosen.append(sample)
    return chosen


def circumstances(samples: Sequence[Sample]) -> list[Sample]:
    """
    Of each op a sample of every mode, circumstance and type, but not of each circumstance in every mode.

    What circumstances there are, the ids say word by word: where `pool-max-odd` and `pool-min` are taken, not also
    `pool-min-odd`. As few samples as a greedy choice finds. With EVERY_SAMPLE set in the environment, all.
    """
    if EVERY:
        return list(samples)
    chosen: set[str] = set()
    for own in by_op(samples).values():
        found = [{mode_of(sample), *sample.id.split("-"), *sample.dtypes} for sample in own]
        wanted = set[str]().union(*found)
        while wanted:
            best = max(range(len(own)), key=lambda i: (len(found[i] & wanted), -i))
            chosen.add(own[best].id)
            wanted -= found[best]
    return [sample for sample in samples if sample.id in chosen]


def is_own(sample: Sample, table: RuleTable[Any]) -> bool:
    """
    Whether what a table is of, a derivative or a batch, is not that of the op's definition, whose ops have samples too.

    With EVERY_SAMPLE, always.
    """
    return EVERY or table.get(sample.op) is not None or DECOMPOSE.get(sample.op) is None


def by_op(samples: Sequence[Sample]) -> dict[type[Operation], list[Sample]]:
    """Samples by the op that they are of."""
    found: dict[type[Operation], list[Sample]] = {}
    for sample in samples:
        found.setdefault(sample.op, []).append(sample)
    return found


@cache
def _first(op: type[Operation]) -> Sample:
    return next(sample for sample in SAMPLES if sample.op is op)


def effort_of_values(sample: Sample) -> Effort:
    """How a sample is compiled: with EVERY_SAMPLE as users get it, else so is the first of an op, in all its types."""
    return Effort.FULL if EVERY or sample is _first(sample.op) else Effort.QUICK


def effort_of_derivatives(sample: Sample, dtype: str) -> Effort:
    """How its gradient program is compiled: the first of an op in its widest type, with EVERY_SAMPLE all, optimised."""
    first = next(s for s in SAMPLES if s.op is sample.op and s.differentiable)
    one = sample.id == first.id and (dtype == "f64" or "f64" not in sample.dtypes)
    return Effort.FULL if EVERY or one else Effort.QUICK


def first_of_each(samples: Sequence[Sample]) -> list[Sample]:
    """The first sample of each op; with EVERY_SAMPLE, all."""
    return list(samples) if EVERY else [own[0] for own in by_op(samples).values()]


def _floats(sample: Sample) -> list[int]:
    """The numbers of the results that have a derivative."""
    return [number for number, y in enumerate(_graph(sample).outputs) if has_derivative(y)]


def _together(build: Build) -> Build:
    """All floating-point results as one vector: a cotangent arrives at each of them."""

    def vector(m: MirBuilder, *xs: Value) -> Value:
        built = build(m, *xs)
        assert isinstance(built, tuple)
        floats = [y for y in built if has_derivative(y.ssa)]
        return m.concat([m.cast(m.reshape(y, (-1,)), floats[0].dtype) for y in floats], 0)

    return vector


def _of_other_results(samples: Sequence[Sample]) -> Iterator[Sample]:
    """
    Of ops with several floating-point results: of each mode a sample of all together; where a rule gets some of the
    cotangents only, of one mode of each alone.
    """
    several = [s for s in samples if not s.first and _has_several(s.op) and len(_floats(s)) > 1]
    alone: set[object] = set()
    for sample in thinned(several, 1):
        numbers = _floats(sample)
        yield replace(sample, id=f"{sample.id}-together", build=_together(sample.build))
        if VJP.get(sample.op) is not None and (sample.op, len(numbers)) not in alone:
            alone.add((sample.op, len(numbers)))
            for number in numbers[1:]:
                yield replace(sample, id=f"{sample.id}-result-{number}", first=number)


def _has_several(op: type[Operation]) -> bool:
    assert issubclass(op, IRDLOperation)
    results = op.get_irdl_definition().results
    return len(results) > 1 or any(isinstance(definition, VarResultDef) for _, definition in results)


_FIRST = [sample for sample in SAMPLES if sample.differentiable]
DIFFERENTIABLE = [*_FIRST, *_of_other_results(_FIRST)]
"""What derivative tests differentiate: the first result, and of some samples the others."""

EFFORT = Effort.FULL if EVERY else Effort.QUICK
"""How tangents and batches are compiled: their loops are those of values and gradients."""
