"""Rows of softmax, layer norm and rms norm. The backward ops of the first two are in `backward.py`."""

from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.mir.elementwise import AddOp, DivOp, ExpOp, LogOp, MaxOp, MulOp, SubOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.norm import (
    AffineNormOp,
    LayerNormOp,
    RmsNormBackwardBetaOp,
    RmsNormBackwardGammaOp,
    RmsNormBackwardInputOp,
    RmsNormOp,
    SoftmaxOp,
)
from xdsl_rlx.dialects.mir.reduce import ReduceMaxOp, ReduceMeanOp, ReduceSumOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.canonicalize.mir import splat
from xdsl_rlx.transforms.rules.raise_table import RAISE, Raised
from xdsl_rlx.transforms.rules.rows import decompose, leading
from xdsl_rlx.transforms.rules.rule_table import JVP, VJP, Cotangent
from xdsl_rlx.transforms.rules.terms import (
    AlongOneAxis,
    Term,
    aligned_to,
    bare,
    either_way,
    mean,
    number,
    parts,
    quotients,
    reduced,
    reduction,
    root_quotients,
    same,
    shortest,
    square,
    term,
    unstopped,
)

leading(SoftmaxOp, "axis")
leading(LayerNormOp, "axis", shared=("gamma", "beta"))
leading(RmsNormOp, "axis", shared=("gamma", "beta"))
leading(RmsNormBackwardInputOp, "axis", shared=("gamma", "beta"))


@decompose(SoftmaxOp)
def softmax_decompose(op: SoftmaxOp, b: MirBuilder) -> Sequence[Value]:
    x, axis = b.value(op.operand), op.axis_index
    e = b.exp(x - b.stop_gradient(b.reduce_max(x, axis, keep_dim=True)))
    return [e / b.reduce_sum(e, axis, keep_dim=True)]


@RAISE.rule(SoftmaxOp, DivOp, MulOp, among=(ExpOp,))
def softmax_raise(op: Operation) -> Raised | None:
    """
    `exp(x - m) / sum exp(x - m)`, with the maximum `m` of the same row.

    Without the maximum it is another function: infinite exponentials give NaN there, and small ones lose digits.
    """
    found = _softmax_by_hand(op.results[0])
    if found is None:
        return None
    x, axis = found
    # the maximum may be that of what `x` is a transpose of
    return Raised((x, bare(term(x)).value), lambda b: b.softmax(x, axis))


def softmax_operand(y: SSAValue) -> tuple[SSAValue, int] | None:
    """What a value is the softmax of, and along which axis, be it written as the op or by hand."""
    owner = y.owner
    return (owner.operand, owner.axis_index) if isinstance(owner, SoftmaxOp) else _softmax_by_hand(y)


def _softmax_by_hand(y: SSAValue) -> tuple[SSAValue, int] | None:
    for exponentials, total in quotients(term(y)):
        summed = reduction(total, ReduceSumOp)
        if summed is None or not same(exponentials, term(summed.operand)):
            continue
        x = shifted_by_maximum(exponentials, summed.axis)
        if x is not None and x.type == y.type:
            return x, summed.axis
    return None


@RAISE.rule(SoftmaxOp, ExpOp)
def softmax_of_logs_raise(op: ExpOp) -> Raised | None:
    """`exp(x - l)`, where `l` is `m + log sum exp(x - m)`; or `exp((x - m) - log sum exp(x - m))`."""
    found = parts(term(op.operand), SubOp)
    if not found:
        return None
    z, below = found
    sums = [(part, top) for part, top in either_way(below, AddOp)] or [(below, None)]
    for part, top in sums:
        total = parts(part, LogOp)
        summed = reduction(total[0], ReduceSumOp) if total else None
        x = None if summed is None else shifted_by_maximum(term(summed.operand), summed.axis)
        if summed is None or x is None or x.type != op.result.type:
            continue
        axis, (exponent,) = summed.axis, parts(term(summed.operand), ExpOp)
        if top is None:
            is_whole = same(z, exponent)
        else:
            maximum = reduction(unstopped(top), ReduceMaxOp)
            is_whole = maximum is not None and maximum == (x, axis) and same(z, term(x))
        if is_whole:
            return Raised((x,), lambda b, x=x, axis=axis: b.softmax(x, axis))
    return None


def shifted_by_maximum(exponentials: Term, axis: int) -> SSAValue | None:
    """The `x` of `exp(x - max x)`, the maximum along `axis` of `x`."""
    for shifted in parts(exponentials, ExpOp):
        found = parts(shifted, SubOp)
        if not found or found[0] != term(found[0].value):
            continue
        whole, top = found
        of_top = reduced(unstopped(top), ReduceMaxOp, whole.at[axis])
        if of_top is not None and (same(whole, of_top) or same(whole, unstopped(of_top))):
            return whole.value
    return None


def _softmax_derivative(op: SoftmaxOp, b: MirBuilder, g: Value) -> list[Value]:
    """`y (g - sum y g)`: the Jacobian is symmetric."""
    y = b.value(op.result)
    weighted = y * g
    return [weighted - y * b.reduce_sum(weighted, op.axis_index, keep_dim=True)]


VJP.rule(SoftmaxOp)(_softmax_derivative)
JVP.rule(SoftmaxOp)(_softmax_derivative)


def along(b: MirBuilder, vector: Value, x: Value, axis: int) -> Value:
    """A vector along `axis` as a tensor that broadcasts with `x`."""
    return b.reshape(vector, [n if d == axis else 1 for d, n in enumerate(x.shape)])


def other_axes(x: Value, axis: int) -> list[int]:
    """All axes of `x` but one."""
    return [d for d in range(x.rank) if d != axis]


def normalized(b: MirBuilder, x: Value, axis: int, eps: float) -> tuple[Value, Value]:
    """`(x - mean) inv` and `inv = 1 / sqrt(var + eps)` along `axis`; the variance from the differences (two passes)."""
    centred = x - b.reduce_mean(x, axis, keep_dim=True)
    inv = b.rsqrt(b.reduce_mean(centred * centred, axis, keep_dim=True) + eps)
    return centred * inv, inv


@decompose(LayerNormOp)
def layer_norm_decompose(op: LayerNormOp, b: MirBuilder) -> Sequence[Value]:
    x, axis = b.value(op.x), op.axis_index
    n, _ = normalized(b, x, axis, op.eps.value.data)
    return [n * along(b, b.value(op.gamma), x, axis) + along(b, b.value(op.beta), x, axis)]


@RAISE.rule(LayerNormOp, MulOp, DivOp, among=(ReduceMeanOp, ReduceSumOp))
def layer_norm_raise(op: MulOp | DivOp) -> Raised | None:
    """The differences from the mean over the root of their mean square; an offset is taken in later."""
    for found in _over_root(op):
        centred = _centred(found.of)
        if centred is None or centred not in (_variance(found.mean), _variance_by_moments(found.mean)):
            continue
        if (x := centred.operand).type == op.result.type and centred.axis == found.axis:
            return found.raised(LayerNormOp, x)
    return None


def _centred(x: Term) -> AlongOneAxis | None:
    """The value that another one is, less its mean along an axis; in its own loops."""
    found = parts(x, SubOp)
    middle = mean(found[1]) if found else None
    return middle if middle is not None and found[0] == term(middle.operand) else None


def _variance(x: Term) -> AlongOneAxis | None:
    """The value whose variance along an axis another one is: the mean of its squared differences from the mean."""
    found = mean(x)
    differences = None if found is None else square(term(found.operand))
    centred = None if differences is None else _centred(differences)
    return centred if found is not None and centred is not None and centred.axis == found.axis else None


def _variance_by_moments(x: Term) -> AlongOneAxis | None:
    """The same as the mean of squares less the square of the mean, which is kept from being negative or not."""
    for one, other in either_way(x, MaxOp):
        if number(one) == 0:
            return _variance_by_moments(other)
    if not (found := parts(x, SubOp)):
        return None
    of_squares, middle = mean(found[0]), square(found[1])
    of_values = None if middle is None else mean(middle)
    if of_squares is None or of_values is None or of_squares.axis != of_values.axis:
        return None
    base = square(term(of_squares.operand))
    return of_values if base is not None and same(base, term(of_values.operand)) else None


class _OverRoot(NamedTuple):
    """`of / sqrt(mean + eps)`, times a gain per feature or not. `of` is of full shape and in its own loops."""

    of: Term
    mean: Term
    axis: int
    eps: float
    gain: SSAValue | None

    def raised(self, kind: type[AffineNormOp], x: SSAValue) -> Raised:
        """The norm of a value, without an offset: `-0.0` is what added to anything changes nothing."""
        extent, element = (shape_of(x)[self.axis],), element_of(x)

        def build(b: MirBuilder) -> Value:
            gamma = b.full(extent, 1.0, element) if self.gain is None else b.reshape(self.gain, extent)
            return b.op(kind, x, gamma.ssa, b.full(extent, -0.0, element).ssa, self.axis, self.eps)

        return Raised((x,) if self.gain is None else (x, self.gain), build)


def _over_root(op: MulOp | DivOp) -> Iterator[_OverRoot]:
    """What a value may be over which root, of a mean along which axis."""
    shape, element = shape_of(op.result), element_of(op.result)
    for x, rooted, gains in _with_gains(term(op.result)):
        if x.value.type != op.result.type or bare(x) != term(bare(x).value):
            continue
        sums = [(a, n) for a, b in either_way(rooted, AddOp) if (n := number(b)) is not None and 0 <= n < inf]
        for inner, eps in sums or [(rooted, 0.0)]:
            found = mean(inner) or _variance_by_moments(inner)
            if found is None or shape_of(found.operand) != shape:
                continue
            gain = [_per_feature(vector, shape, found.axis) for vector in gains]
            if None not in gain:
                yield _OverRoot(x, inner, found.axis, shortest(eps, element), *(gain or [None]))


def _with_gains(y: Term) -> Iterator[tuple[Term, Term, list[Term]]]:
    """Each `a`, `b` and `[]`, or `[c]`, of which a value is `a c / sqrt(b)`, in any order."""
    for x, rooted in root_quotients(y):
        yield x, rooted, []
        for inner, gain in either_way(x, MulOp):
            yield inner, rooted, [gain]
    for x, other in either_way(y, MulOp):
        for gain, rooted in root_quotients(other):
            yield x, rooted, [gain]


def _per_feature(x: Term, shape: Sequence[int], axis: int) -> SSAValue | None:
    """A value that has one number for each place along an axis of a shape, and no other dimension."""
    x = bare(x)
    loops = tuple(loop for loop in x.at if loop >= 0)
    return x.value if loops == ((axis,) if shape[axis] != 1 else ()) else None


@RAISE.rule(LayerNormOp, MulOp, AddOp)
def layer_norm_affine_raise(op: MulOp | AddOp) -> Raised | None:
    return _with_affine(LayerNormOp, op)


def _with_affine(kind: type[AffineNormOp], op: MulOp | AddOp) -> Raised | None:
    """A norm that has no gain, or no offset, by its value times, or plus, one per feature."""
    for normed, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        norm = normed.owner
        if type(norm) is not kind or not isinstance(norm, AffineNormOp) or not norm.result.has_one_use():
            continue
        if splat(norm.beta) != 0 or (isinstance(op, MulOp) and splat(norm.gamma) != 1):
            continue
        vector = _per_feature(aligned_to(other, op.result), shape_of(norm.x), norm.axis_index)
        if vector is not None and normed.type == op.result.type:
            return Raised((norm.x, norm.gamma, norm.beta, other), lambda b, v=vector, n=norm: _affine(b, n, v, op))
    return None


def _affine(b: MirBuilder, norm: AffineNormOp, vector: SSAValue, op: MulOp | AddOp) -> Value:
    new = b.reshape(vector, (shape_of(norm.x)[norm.axis_index],)).ssa
    gamma, beta = (new, norm.beta) if isinstance(op, MulOp) else (norm.gamma, new)
    return b.op(type(norm), norm.x, gamma, beta, norm.axis.value.data, norm.eps.value.data)


@VJP.rule(LayerNormOp)
def layer_norm_vjp(op: LayerNormOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    axis, eps = op.axis_index, op.eps.value.data
    return (
        lambda: b.layer_norm_backward_input(op.x, op.gamma, g, axis, eps),
        lambda: b.layer_norm_backward_gamma(op.x, g, axis, eps),
        lambda: b.reduce_sum(g, other_axes(g, axis)),
    )


def scaled(b: MirBuilder, x: Value, axis: int, eps: float) -> tuple[Value, Value]:
    """`x r` and `r = 1 / sqrt(mean(x^2) + eps)` along `axis`."""
    r = b.rsqrt(b.reduce_mean(x * x, axis, keep_dim=True) + eps)
    return x * r, r


@decompose(RmsNormOp)
def rms_norm_decompose(op: RmsNormOp, b: MirBuilder) -> Sequence[Value]:
    x, axis = b.value(op.x), op.axis_index
    n, _ = scaled(b, x, axis, op.eps.value.data)
    return [n * along(b, b.value(op.gamma), x, axis) + along(b, b.value(op.beta), x, axis)]


@RAISE.rule(RmsNormOp, MulOp, DivOp, among=(ReduceMeanOp, ReduceSumOp))
def rms_norm_raise(op: MulOp | DivOp) -> Raised | None:
    """A value over the root of its mean square; an offset is taken in later."""
    for found in _over_root(op):
        squares = mean(found.mean)
        base = None if squares is None else square(term(squares.operand))
        if base is not None and same(base, found.of):
            return found.raised(RmsNormOp, found.of.value)
    return None


@RAISE.rule(RmsNormOp, MulOp, AddOp)
def rms_norm_affine_raise(op: MulOp | AddOp) -> Raised | None:
    return _with_affine(RmsNormOp, op)


@VJP.rule(RmsNormOp)
def rms_norm_vjp(op: RmsNormOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    axis, eps = op.axis_index, op.eps.value.data
    return (
        lambda: b.rms_norm_backward_input(op.x, op.gamma, op.beta, g, axis, eps),
        lambda: b.rms_norm_backward_gamma(op.x, op.gamma, op.beta, g, axis, eps),
        lambda: b.rms_norm_backward_beta(op.x, op.gamma, op.beta, g, axis, eps),
    )


@decompose(RmsNormBackwardInputOp)
def rms_norm_backward_input_decompose(op: RmsNormBackwardInputOp, b: MirBuilder) -> Sequence[Value]:
    x, axis = b.value(op.x), op.axis_index
    n, r = scaled(b, x, axis, op.eps.value.data)
    s = b.value(op.dy) * along(b, b.value(op.gamma), x, axis)
    return [r * (s - n * b.reduce_mean(s * n, axis, keep_dim=True))]


@decompose(RmsNormBackwardGammaOp)
def rms_norm_backward_gamma_decompose(op: RmsNormBackwardGammaOp, b: MirBuilder) -> Sequence[Value]:
    x, axis = b.value(op.x), op.axis_index
    n, _ = scaled(b, x, axis, op.eps.value.data)
    return [b.reduce_sum(b.value(op.dy) * n, other_axes(x, axis))]


@decompose(RmsNormBackwardBetaOp)
def rms_norm_backward_beta_decompose(op: RmsNormBackwardBetaOp, b: MirBuilder) -> Sequence[Value]:
    dy = b.value(op.dy)
    return [b.reduce_sum(dy, other_axes(dy, op.axis_index))]
