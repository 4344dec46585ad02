"""Half precision, loss scaling and quantisation as functions on graphs: each returns a new module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_rlx.builder import AnyGraph, Graph, GraphModule
from xdsl_rlx.compiling import compile
from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.mir.fake_quantize import FakeQuantizeLsqOp, FakeQuantizeOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.quantize import CALIBRATION, CalibrationAttr
from xdsl_rlx.dialects.shapes import FLOATS, element_of, integers, normalize_axis, shape_of
from xdsl_rlx.inlined import InlinedOp
from xdsl_rlx.passes import above_lir, derived
from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass
from xdsl_rlx.transforms.dead_ops import remove_dead
from xdsl_rlx.transforms.mir_grad import SEED
from xdsl_rlx.transforms.mir_insert_quantize_dequantize import MirInsertQuantizeDequantizePass
from xdsl_rlx.transforms.mir_mixed_precision import MirMixedPrecisionPass
from xdsl_rlx.transforms.mir_scale_loss import MirScaleLossPass
from xdsl_rlx.transforms.precision import CHOSEN_KINDS, PrecisionPolicy
from xdsl_rlx.transforms.signature import Signature
from xdsl_rlx.transforms.taps import taps_of

Array: TypeAlias = np.ndarray[Any, Any]


@checked
def mixed_precision(graph: AnyGraph, policy: str | Mapping[str, str] = PrecisionPolicy.MIXED_BF16) -> GraphModule:
    """
    Return the graph with f32 intermediates stored in f16 or bf16; its arguments and outputs keep their types.

    `policy` is the name of a policy (`PrecisionPolicy`), or a precision for each kind of op: `{"compute": "bf16"}`. The
    kinds are compute, reduction, elementwise and data_movement. Kinds that are not named stay f32; data movement keeps
    the type of its data. The pass `mir-mixed-precision` lists the ops that always stay f32.

    Apply it before `grad`: derivative rules compute in f32, and composite ops of a gradient graph are already
    decomposed. Params are arguments, so they and their gradients stay f32. Raises GraphError for an unknown policy,
    kind or precision.
    """
    source = above_lir(graph, "mixed_precision")
    kinds = [str(kind) for kind in CHOSEN_KINDS]
    if not isinstance(policy, str | Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphError(
            f"mixed_precision: policy: expected a name, or a dict from kinds of ops to precisions, got {shown(policy)}"
        )
    if not isinstance(policy, str) and (unknown := [kind for kind in policy if kind not in kinds]):
        raise GraphError(f"mixed_precision: expected the kinds of ops {', '.join(kinds)}, got {unknown[0]!r}")
    try:
        narrow = MirMixedPrecisionPass(policy) if isinstance(policy, str) else MirMixedPrecisionPass(**policy)
    except (ValueError, TypeError) as error:
        raise GraphError(f"mixed_precision: {error}") from None
    return derived(source, [ConvertHirToMirPass("direct"), narrow])


@checked
def scale_loss(
    graph: AnyGraph,
    scale: float | None = None,
    growth: float = 2.0,
    backoff: float = 0.5,
    growth_interval: int = 2000,
    seed: str = SEED,
) -> GraphModule:
    """
    Return a gradient graph of `grad_with_loss` with the loss scaled for the backward pass.

    The cotangent of the loss, the input `seed`, is multiplied by the scale. The gradients, the outputs that depend on
    this input, are divided by the scale, in f32 if they were computed in half precision. A new output `finite`, an i1,
    is true if all elements of all gradients are finite.

    A number as `scale` is a constant scale. Without it, the scale is dynamic. The graph then has two more inputs,
    `loss_scale` (f32, such as 2^16) and `good_steps` (i32, initially 0), and two more outputs, their values for the
    next step. The scale is multiplied by `growth` after `growth_interval` finite steps in a row, and by `backoff` after
    a step that is not finite. The caller must skip such a step.

    Raises GraphError for a graph without the input `seed`, for a `seed` that is not optional, and if no result depends
    on it.
    """
    source = above_lir(graph, "scale_loss")
    try:
        scaling = MirScaleLossPass(scale, growth, backoff, growth_interval, seed)
    except ValueError as error:
        raise GraphError(f"scale_loss: {error}") from None
    return derived(source, [scaling])


@checked
def quantized_weight_bits(graph: AnyGraph, value: Value | SSAValue | str) -> int | None:
    """
    Return the bit width of a value that `fake_quantize` or `fake_quantize_lsq` rounds; None for another value.

    `value` is a value of a graph that is being built, a value of `graph.module`, or the name of an argument or of a
    tap. It is the rounded result itself: its scale, or a view or a function of it, has no bit width. Raises GraphError
    for an unknown name and for a value of another graph.
    """
    if isinstance(value, str):
        source = above_lir(graph, "quantized_weight_bits")
        known = taps_of(source.signature)
        if value not in known:
            raise GraphError(f"quantized_weight_bits: no value named '{value}'; there are {', '.join(known) or 'none'}")
        value = known[value]
    elif isinstance(value, Value):
        if not isinstance(graph, Graph):
            raise GraphError(
                "quantized_weight_bits: a Value belongs to a Graph that is being built; of a finished graph, pass a "
                "name or a value of its module"
            )
        value = graph.operand(value)
    elif not isinstance(value, SSAValue):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphTypeError(f"quantized_weight_bits: value: expected a value or a name, got {shown(value)}")
    while isinstance(owner := value.owner, InlinedOp):
        value = owner.source.signature.outputs[owner.results.index(value)]
    if isinstance(owner, FakeQuantizeOp | FakeQuantizeLsqOp) and value is owner.result:
        return owner.bits.value.data
    return None


@dataclass(frozen=True)
class CalibrationEntry:
    """The quantisation of a value to i8: one scale and zero point, or one per index of `axis`."""

    scales: tuple[float, ...]
    zero_points: tuple[int, ...] = (0,)
    axis: int | None = None

    @staticmethod
    def per_tensor(scale: float, zero_point: int = 0) -> CalibrationEntry:
        """Return an entry with one scale for all elements."""
        return CalibrationEntry((scale,), (zero_point,))

    @staticmethod
    def per_channel(axis: int, scales: Sequence[float]) -> CalibrationEntry:
        """Return an entry with a scale for each index of an axis, and zero points of 0."""
        return CalibrationEntry(tuple(scales), (0,), axis)

    @staticmethod
    def of_range(least: Array, most: Array, axis: int | None = None, symmetric: bool = True) -> CalibrationEntry:
        """
        Return the entry that covers the range from `least` to `most`, extended to include 0.

        Both are vectors of one element, or of one per channel. With `symmetric`, the largest magnitude maps to 127 and
        0 to 0. Otherwise the 256 levels cover the range.
        """
        low, high = np.minimum(least, 0).astype(np.float64), np.maximum(most, 0).astype(np.float64)
        if symmetric:
            scales = np.maximum(-low, high) / 127
            points = np.zeros(1)
        else:
            scales = (high - low) / 255
            points = np.where(scales > 0, -128 - np.round(low / np.where(scales > 0, scales, 1)), 0)
        # what is always 0 has any scale
        scales = np.where(scales > 0, scales, 1.0)
        return CalibrationEntry(tuple(scales.tolist()), tuple(int(point) for point in points), axis)


@checked
def insert_q_dq(graph: AnyGraph, record: Mapping[str, CalibrationEntry]) -> GraphModule:
    """
    Return the graph with values quantised to i8 and dequantised again, for all uses of the values named in `record`.

    Names are those of arguments, and those given by `tap`. Raises GraphError for an unknown name, a value that is not
    floating-point, and scales that do not fit its shape.
    """
    source = above_lir(graph, "insert_q_dq")
    module = source.module.clone()
    values = _taps(module, list(record), "insert_q_dq")
    signature = GraphModule(module, "mir").signature
    attributes = [dict(given.data) for given in signature.func.arg_attrs or ()]
    for (name, entry), value in zip(record.items(), values, strict=True):
        if not isinstance(entry, CalibrationEntry):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphTypeError(f"insert_q_dq: '{name}': expected a CalibrationEntry, got {shown(entry)}")
        try:
            points = integers("zero_points", entry.zero_points)
            attribute = CalibrationAttr.of(entry.scales, points, entry.axis)
        except (VerifyException, GraphError) as error:
            raise GraphError(f"insert_q_dq: '{name}': {error}") from None
        if isinstance(value.owner, Operation):
            value.owner.attributes[CALIBRATION] = attribute
        else:
            attributes[signature.block.args.index(value)][CALIBRATION] = attribute
    signature.func.arg_attrs = ArrayAttr(map(DictionaryAttr, attributes))
    return derived(GraphModule(module, source.stage), [MirInsertQuantizeDequantizePass()])


@checked
def calibrate(
    graph: AnyGraph,
    taps: Sequence[str],
    batches: Iterable[Mapping[str, object]],
    axes: Mapping[str, int] | None = None,
    symmetric: bool = True,
) -> dict[str, CalibrationEntry]:
    """
    Measure the ranges of the values named by `taps` over all batches; return an entry by name, for `insert_q_dq`.

    A batch is a dict of arguments by name. `axes` maps a name to the axis that has one range per index. Raises
    GraphError for an unknown name, for zero batches, and for a range that is not finite.
    """
    along = dict(axes or {})
    if unknown := [name for name in along if name not in taps]:
        raise GraphError(f"calibrate: axes names '{unknown[0]}', which is not among the taps")
    if not isinstance(batches, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphTypeError(f"calibrate: batches: expected a sequence of arguments by name, got {shown(batches)}")
    observed = compile(_ranges(above_lir(graph, "calibrate"), taps, along))
    ranges: list[Array] = []
    for batch in batches:
        if not isinstance(batch, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphTypeError(f"calibrate: batches: expected arguments by name, got {shown(batch)}")
        found = [y.reshape(-1).astype(np.float64) for y in observed(**batch)]
        ranges = (
            found
            if not ranges
            else [
                (np.maximum if number % 2 else np.minimum)(old, new)
                for number, (old, new) in enumerate(zip(ranges, found, strict=True))
            ]
        )
    if not ranges:
        raise GraphError("calibrate: expected at least one batch")
    for name, least, most in zip(taps, ranges[::2], ranges[1::2], strict=True):
        if not (np.isfinite(least).all() and np.isfinite(most).all()):
            raise GraphError(f"calibrate: '{name}' is empty, or has elements that are not finite")
    return {
        name: CalibrationEntry.of_range(least, most, along.get(name), symmetric)
        for name, least, most in zip(taps, ranges[::2], ranges[1::2], strict=True)
    }


def _ranges(graph: GraphModule, taps: Sequence[str], axes: Mapping[str, int]) -> GraphModule:
    """The graph with the least and the largest element of each value named for results."""
    module = graph.module.clone()
    values = _taps(module, taps, "calibrate")
    signature = GraphModule(module, graph.stage).signature
    last = signature.block.last_op
    assert last is not None
    b = MirBuilder(Builder(InsertPoint.before(last)))
    outputs: list[SSAValue] = []
    for name, value in zip(taps, values, strict=True):
        rank = len(shape_of(value))
        try:
            kept = [] if name not in axes else [normalize_axis(axes[name], rank)]
        except VerifyException as error:
            raise GraphError(f"calibrate: '{name}': {error}") from None
        others = [axis for axis in range(rank) if axis not in kept]
        outputs += [b.reduce_min(value, others).ssa, b.reduce_max(value, others).ssa]
    signature.set_outputs(outputs)
    remove_dead(module.body)
    return GraphModule(module, graph.stage)


def _taps(module: ModuleOp, names: Sequence[str], what: str) -> list[SSAValue]:
    """The floating-point values of those names; GraphError lists what there is."""
    signature: Signature = GraphModule(module, "mir").signature
    try:
        known = taps_of(signature)
    except PassFailedException as error:
        raise GraphError(f"{what}: {error}") from None
    for name in names:
        if name not in known:
            raise GraphError(f"{what}: no value named '{name}'; there are {', '.join(known) or 'none'}")
        if element_of(known[name]) not in FLOATS:
            raise GraphError(f"{what}: '{name}' is {known[name].type}: only floating-point values are quantised")
    return [known[name] for name in names]
