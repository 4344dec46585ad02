"""Half precision, loss scaling and quantisation as functions on graphs: each returns a new module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.builder import Builder
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_rlx.builder import AnyGraph, GraphModule
from xdsl_rlx.compiling import compile
from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.quantize import CALIBRATION, CalibrationAttr
from xdsl_rlx.dialects.shapes import FLOATS, element_of, integers, normalize_axis, shape_of
from xdsl_rlx.passes import above_lir, run_passes
from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass
from xdsl_rlx.transforms.mir_grad import SEED
from xdsl_rlx.transforms.mir_insert_quantize_dequantize import MirInsertQuantizeDequantizePass
from xdsl_rlx.transforms.mir_mixed_precision import MirMixedPrecisionPass
from xdsl_rlx.transforms.mir_scale_loss import MirScaleLossPass
from xdsl_rlx.transforms.precision import CHOSEN_KINDS, PrecisionPolicy
from xdsl_rlx.transforms.signature import Signature
from xdsl_rlx.transforms.taps import taps_of

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


@checked
def mixed_precision(graph: AnyGraph, policy: str | Mapping[str, str] = PrecisionPolicy.MIXED_BF16) -> GraphModule:
    """
    The graph with what it computes in f32 stored in f16 or bf16; its arguments and outputs keep their types.

    `policy` is the name of a policy (`PrecisionPolicy`), or a precision for each kind of op: `{"compute": "bf16"}`;
    kinds are compute, reduction, elementwise and data_movement, and those left out stay f32 (data that is moved: as it
    is). What stays f32 in any case, the pass `mir-mixed-precision` says. Apply it before `grad`: the rules of
    derivatives compute in f32, a gradient program has been taken apart. Params are arguments, so they and their
    gradients stay f32. GraphError for another policy, kind or precision.
    """
    source = above_lir(graph, "mixed_precision")
    kinds = [str(kind) for kind in CHOSEN_KINDS]
    if not isinstance(policy, str | Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphError(f"mixed_precision: policy: expected a name, or a precision by kind of op, got {shown(policy)}")
    if not isinstance(policy, str) and (unknown := [kind for kind in policy if kind not in kinds]):
        raise GraphError(f"mixed_precision: kinds of ops are {', '.join(kinds)}, got {unknown[0]!r}")
    try:
        narrow = MirMixedPrecisionPass(policy) if isinstance(policy, str) else MirMixedPrecisionPass(**policy)
    except (ValueError, TypeError) as error:
        raise GraphError(f"mixed_precision: {error}") from None
    return run_passes(source, [ConvertHirToMirPass("direct"), narrow])


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
    A gradient graph, as `grad_with_loss` gives it, with the loss scaled for the backward pass.

    The cotangent of the loss, the input `seed`, is multiplied by the scale, and what depends on it, the gradients, is
    divided by it, in f32 where it was of half floats. The next output is `finite`, an i1: whether all elements of all
    gradients are. With a number as `scale` that is all. Without, the graph has two more inputs, `loss_scale` (f32, such
    as 2^16) and `good_steps` (i32, 0 at first), and two more outputs, what these are in the next step: the scale is
    multiplied by `growth` after `growth_interval` finite steps in a row, and by `backoff` after one that is not finite,
    which is a step not to take. GraphError for a graph without that input, for an argument that may not be left out,
    and where nothing depends on it.
    """
    source = above_lir(graph, "scale_loss")
    try:
        scaling = MirScaleLossPass(scale, growth, backoff, growth_interval, seed)
    except ValueError as error:
        raise GraphError(f"scale_loss: {error}") from None
    return run_passes(source, [scaling])


@dataclass(frozen=True)
class CalibrationEntry:
    """How a value is quantised to i8: one scale and zero point, or one per index of `axis`."""

    scales: tuple[float, ...]
    zero_points: tuple[int, ...] = (0,)
    axis: int | None = None

    @staticmethod
    def per_tensor(scale: float, zero_point: int = 0) -> CalibrationEntry:
        """One scale for all elements."""
        return CalibrationEntry((scale,), (zero_point,))

    @staticmethod
    def per_channel(axis: int, scales: Sequence[float]) -> CalibrationEntry:
        """A scale for each index of an axis, and zero points of 0."""
        return CalibrationEntry(tuple(scales), (0,), axis)

    @staticmethod
    def of_range(least: Array, most: Array, axis: int | None = None, symmetric: bool = True) -> CalibrationEntry:
        """
        What keeps the numbers from `least` to `most`, vectors of one entry or one per channel, 0 among them.

        `symmetric`: the largest magnitude is level 127, 0 is level 0. Else the 256 levels lie over the range.
        """
        import numpy as np

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
    The graph with values quantised to i8 and dequantised again, as the record says by name, for all that use them.

    The names are those of arguments and those given by `tap` while the graph was built. GraphError for another name, a
    value that is not floating-point, and scales that do not fit its shape.
    """
    module = above_lir(graph, "insert_q_dq").module.clone()
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
    return run_passes(module, [MirInsertQuantizeDequantizePass()])


@checked
def calibrate(
    graph: AnyGraph,
    taps: Sequence[str],
    batches: Iterable[Mapping[str, object]],
    axes: Mapping[str, int] | None = None,
    symmetric: bool = True,
) -> dict[str, CalibrationEntry]:
    """
    A record for `insert_q_dq` of the values named by `taps`, from their ranges when the graph runs on each batch.

    A batch is the arguments by name. `axes` says along which axis a value has a range for each index. GraphError for an
    unknown name, for no batch, and for a range that is not finite.
    """
    import numpy as np

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
    return run_passes(module, [DeadCodeElimination()])


def _taps(module: ModuleOp, names: Sequence[str], what: str) -> list[SSAValue]:
    """The floating-point values of those names; GraphError lists what there is."""
    signature: Signature = GraphModule(module, "mir").signature
    try:
        known = taps_of(signature)
    except PassFailedException as error:
        raise GraphError(f"{what}: {error}") from None
    for name in names:
        if name not in known:
            raise GraphError(f"{what}: there is no value named '{name}'; there are {', '.join(known) or 'none'}")
        if element_of(known[name]) not in FLOATS:
            raise GraphError(f"{what}: '{name}' is {known[name].type}: only floating-point values are quantised")
    return [known[name] for name in names]
