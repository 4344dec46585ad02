"""Losses beside optax and formulas in JAX."""

from functools import partial
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import oracle
import pytest
from peer_rows import Family, Row

import xdsl_rlx as rlx
from xdsl_rlx import nn

RNG = np.random.default_rng(0)
X, Y = RNG.normal(0, 2, (3, 5)), RNG.normal(0, 2, (3, 5))
LABELS, SOME = np.array([1, 4, 0]), np.array([1, -100, 0])
CLASSES = ((1, 4), (), (0, 2, 3))
LABEL_SETS = np.array([[1, 4, -1, 2, 0], [-1, 0, 1, 2, 3], [0, 2, 3, -2, 9]])
WEIGHT = RNG.uniform(0.2, 2, 5)
P, Q = RNG.dirichlet(np.ones(5), 3), RNG.dirichlet(np.ones(5), 3)
BITS, SIGNS = (Y > 0) * 1.0, np.array([1.0, -1.0, 1.0])
IMAGES, PIXELS = RNG.normal(size=(2, 3, 2, 2)), RNG.integers(0, 3, (2, 2, 2))
LARGE = np.array([[1e4, -1e4, 0.0], [1e4, 1e4, -1e4], [-1e4, 0.0, 1e4]])
HARD = np.array([1, 0, 2])
TIMES, SYMBOLS = 4, 3
LOGS = RNG.normal(size=(TIMES, 4, SYMBOLS))
TARGETS = np.array([[1, 1], [2, 1], [0, -9], [1, 2]])
LENGTHS, SIZES = np.array([4, 3, 4, 2]), np.array([2, 1, 0, 2])


def _cross_entropy(x: Any, y: Any, w: Any = None, smoothing: float = 0.0, ignored: int = -100) -> Any:
    w = jnp.ones(x.shape[1]) if w is None else w
    logs, kept = jax.nn.log_softmax(x), y != ignored
    safe = jnp.where(kept, y, 0)
    hit = (1 - smoothing) * jnp.take_along_axis(logs * w, safe[:, None], 1)[:, 0]
    all = smoothing / x.shape[1] * jnp.sum(logs * w, 1)
    return -jnp.sum(jnp.where(kept, hit + all, 0)) / jnp.sum(jnp.where(kept, w[safe], 0))


def _soft(x: Any, t: Any, w: Any, smoothing: float) -> Any:
    return -jnp.mean(jnp.sum(((1 - smoothing) * t + smoothing / x.shape[1]) * jax.nn.log_softmax(x) * w, 1))


def _triplet(a: Any, b: Any, c: Any, p: float, swap: bool) -> Any:
    def distance(x: Any, y: Any) -> Any:
        return jnp.sum(jnp.abs(x - y + 1e-6) ** p, -1) ** (1 / p)

    far = jnp.minimum(distance(a, c), distance(b, c)) if swap else distance(a, c)
    return jnp.mean(jnp.maximum(0, distance(a, b) - far + 1))


def _focal(x: Any, t: Any, alpha: float, gamma: float) -> Any:
    return optax.sigmoid_focal_loss(x, t, alpha=alpha if alpha >= 0 else None, gamma=gamma)


def _multilabel_margin(x: Any) -> Any:
    terms = (
        jnp.maximum(0, 1 - row[y] + row[i])
        for row, labels in zip(x, CLASSES, strict=True)
        for y in labels
        for i in range(5)
        if i not in labels
    )
    return sum(terms) / 5 / len(CLASSES)


def _multi_margin(x: Any, y: Any, w: Any, p: int) -> Any:
    terms = jnp.maximum(0, 0.5 - jnp.take_along_axis(x, y[:, None], 1) + x) ** p * w[y][:, None]
    return jnp.mean(jnp.sum(jnp.where(y[:, None] == jnp.arange(5), 0, terms), 1) / 5)


def _alignments(logs: Any, reduction: str) -> Any:
    """The loss by its definition: the probabilities of all sequences of symbols whose target this is, summed."""
    losses = []
    for n, (time, size) in enumerate(zip(LENGTHS, SIZES, strict=True)):
        total = jnp.zeros(())
        for path in product(range(SYMBOLS), repeat=int(time)):
            merged = [s for i, s in enumerate(path) if s and (not i or path[i - 1] != s)]
            if merged == list(TARGETS[n, :size]):
                total = total + jnp.exp(sum(logs[t, n, s] for t, s in enumerate(path)))
        losses.append(-jnp.log(total))
    found = jnp.stack(losses)
    return jnp.mean(found / np.maximum(SIZES, 1)) if reduction == "mean" else found


def _ctc(logs: Any, reduction: str = "mean", **options: Any) -> Any:
    return nn.ctc_loss(nn.log_softmax(logs), TARGETS, LENGTHS, SIZES, reduction=reduction, **options)


def _stirling(t: Any) -> Any:
    return jnp.where(t > 1, t * jnp.log(t) - t + 0.5 * jnp.log(2 * jnp.pi * t), 0)


def _gaussian(x: Any, t: Any, v: Any) -> Any:
    return jnp.mean(0.5 * (jnp.log(v) + (x - t) ** 2 / v) + 0.5 * np.log(2 * np.pi))


def _cosine(a: Any, b: Any, y: Any) -> Any:
    cos = jnp.sum(a * b, -1) / jnp.sqrt(jnp.sum(a * a, -1) * jnp.sum(b * b, -1))
    return jnp.mean(jnp.where(y == 1, 1 - cos, jnp.maximum(0, cos - 0.1)))


_bce = optax.sigmoid_binary_cross_entropy
both = (0, 1)

FAMILY = Family(
    [
        Row("mse_loss", nn.mse_loss, lambda x, y: jnp.mean((x - y) ** 2), [X, Y], both),
        Row("mse_loss-integers", nn.mse_loss, lambda x, y: jnp.mean((x - y) ** 2), [X, LABELS[:, None]]),
        Row("l1_loss", partial(nn.l1_loss, reduction="sum"), lambda x, y: jnp.sum(jnp.abs(x - y)), [X, Y], both),
        Row(
            "smooth_l1_loss",
            partial(nn.smooth_l1_loss, beta=0.7, reduction="none"),
            lambda x, y: optax.huber_loss(x, y, delta=0.7) / 0.7,
            [X, Y],
            both,
            half=4e-2,
        ),
        Row(
            "huber_loss",
            partial(nn.huber_loss, delta=2.0, reduction="none"),
            partial(optax.huber_loss, delta=2.0),
            [X, Y],
            both,
            half=4e-2,
        ),
        Row(
            "binary_cross_entropy",
            nn.binary_cross_entropy,
            lambda p, t: -jnp.mean(t * jnp.log(p) + (1 - t) * jnp.log(1 - p)),
            [P, Q],
            both,
        ),
        Row(
            "binary_cross_entropy-weight",
            partial(nn.binary_cross_entropy, reduction="none"),
            lambda p, t, w: -w * (t * jnp.log(p) + (1 - t) * jnp.log(1 - p)),
            [P, BITS, WEIGHT],
            (0, 2),
            half=4e-2,
        ),
        Row("bce_with_logits", partial(nn.binary_cross_entropy_with_logits, reduction="none"), _bce, [X, Q], both),
        Row(
            "bce_with_logits-weights",
            nn.binary_cross_entropy_with_logits,
            lambda x, t, w, p: jnp.mean(w * -(p * t * jax.nn.log_sigmoid(x) + (1 - t) * jax.nn.log_sigmoid(-x))),
            [X, BITS, Y, WEIGHT],
            (0, 2, 3),
        ),
        Row(
            "bce_with_logits-large",
            partial(nn.binary_cross_entropy_with_logits, reduction="none"),
            _bce,
            [LARGE, (LARGE > 0) * 1.0],
        ),
        Row("sigmoid_focal_loss", nn.sigmoid_focal_loss, partial(_focal, alpha=0.25, gamma=2.0), [X, BITS]),
        Row(
            "sigmoid_focal_loss-gamma",
            partial(nn.sigmoid_focal_loss, alpha=-1, gamma=1.5),
            partial(_focal, alpha=-1, gamma=1.5),
            [X, BITS],
            half=3e-2,
        ),
        Row("kl_div", partial(nn.kl_div, reduction="none"), lambda x, t: t * (jnp.log(t) - x), [X, P], both),
        Row(
            "kl_div-log",
            partial(nn.kl_div, reduction="batchmean", log_target=True),
            lambda x, t: jnp.sum(jnp.exp(t) * (t - x)) / 3,
            [X, np.log(P)],
            both,
            half=3e-2,
        ),
        Row("kl_div-zero", nn.kl_div, lambda x, t: jnp.mean(-x * (t == 1)), [np.log(P), np.eye(3, 5)]),
        Row("hinge_loss", nn.hinge_loss, optax.hinge_loss, [X, SIGNS[:, None]]),
        Row(
            "hinge_embedding_loss",
            nn.hinge_embedding_loss,
            lambda x, y: jnp.mean(jnp.where(y == 1, x, jnp.maximum(0, 1 - x))),
            [X, SIGNS[:, None]],
        ),
        Row(
            "soft_margin_loss",
            nn.soft_margin_loss,
            lambda x, y: jnp.mean(jnp.log1p(jnp.exp(-x * y))),
            [X, SIGNS[:, None]],
            both,
        ),
        Row(
            "cosine_embedding_loss",
            partial(nn.cosine_embedding_loss, margin=0.1),
            _cosine,
            [X, Y, SIGNS],
            both,
            half=3e-2,
        ),
        Row(
            "margin_ranking_loss",
            partial(nn.margin_ranking_loss, margin=0.5),
            lambda x, y, s: jnp.mean(jnp.maximum(0, 0.5 - s * (x - y))),
            [X, Y, SIGNS[:, None]],
            both,
        ),
        *(
            Row(
                f"triplet_margin_loss-{p}-{swap}",
                lambda a, b, c, p=p, swap=swap: nn.triplet_margin_loss(a, b, c, p=p, swap=swap),
                partial(_triplet, p=p, swap=swap),
                [X, Y, X[::-1] * 1.5],
                (0, 1, 2),
                half=5e-2,
            )
            for p, swap in ((2.0, False), (3.0, True))
        ),
        Row("gaussian_nll_loss", partial(nn.gaussian_nll_loss, full=True), _gaussian, [X, Y, 1 + P], (0, 1, 2)),
        Row(
            "poisson_nll_loss",
            partial(nn.poisson_nll_loss, full=True),
            lambda x, t: jnp.mean(jnp.exp(x) - t * x + _stirling(t)),
            [X, abs(Y)],
            half=3e-2,
        ),
        Row(
            "poisson_nll_loss-rate",
            partial(nn.poisson_nll_loss, log_input=False, reduction="none"),
            lambda x, t: x - t * jnp.log(x + 1e-8),
            [P, abs(Y)],
            both,
            half=4e-2,
        ),
        Row(
            "multilabel_soft_margin_loss",
            nn.multilabel_soft_margin_loss,
            lambda x, t, w: jnp.mean(w * _bce(x, t)),
            [X, BITS, WEIGHT],
        ),
        *(
            Row(
                f"multi_margin_loss-{p}",
                lambda x, y, w, p=p: nn.multi_margin_loss(x, y, p, 0.5, w),
                partial(_multi_margin, p=p),
                [X, LABELS, WEIGHT],
                (0, 2),
                half=4e-2,
            )
            for p in (1, 2)
        ),
        Row(
            "multilabel_margin_loss",
            lambda x: nn.multilabel_margin_loss(x, LABEL_SETS),
            _multilabel_margin,
            [X],
            half=4e-2,
        ),
        Row(
            "triplet_margin_with_distance_loss",
            lambda a, b, c: nn.triplet_margin_with_distance_loss(
                a, b, c, lambda x, y: nn.pairwise_distance(x, y, 3.0), swap=True
            ),
            partial(_triplet, p=3.0, swap=True),
            [X, Y, X[::-1] * 1.5],
            (0, 1, 2),
            half=5e-2,
        ),
        Row("cross_entropy", nn.cross_entropy, _cross_entropy, [X, SOME]),
        Row(
            "cross_entropy-none",
            partial(nn.cross_entropy, reduction="none"),
            optax.softmax_cross_entropy_with_integer_labels,
            [X, LABELS],
        ),
        Row(
            "cross_entropy-all",
            lambda x, y, w: nn.cross_entropy(x, y, w, 4, 0.2),
            lambda x, y, w: _cross_entropy(x, y, w, 0.2, 4),
            [X, LABELS, WEIGHT],
            (0, 2),
        ),
        Row(
            "cross_entropy-soft",
            lambda x, t, w: nn.cross_entropy(x, t, w, label_smoothing=0.3),
            partial(_soft, smoothing=0.3),
            [X, P, WEIGHT],
            (0, 1, 2),
        ),
        Row(
            "cross_entropy-images",
            partial(nn.cross_entropy, reduction="none"),
            lambda x, y: optax.softmax_cross_entropy_with_integer_labels(jnp.moveaxis(x, 1, -1), y),
            [IMAGES, PIXELS],
        ),
        Row(
            "cross_entropy-axis",
            partial(nn.cross_entropy, reduction="sum", axis=0),
            lambda x, y: jnp.sum(optax.softmax_cross_entropy_with_integer_labels(x.T, y)),
            [X.T, LABELS],
        ),
        Row(
            "cross_entropy-one", lambda x: nn.cross_entropy(x, np.array(2)), lambda x: -jax.nn.log_softmax(x)[2], [X[0]]
        ),
        Row(
            "cross_entropy-large",
            partial(nn.cross_entropy, reduction="none"),
            optax.softmax_cross_entropy_with_integer_labels,
            [LARGE, HARD],
        ),
        Row(
            "cross_entropy-empty",
            partial(nn.cross_entropy, reduction="sum"),
            lambda x, y: jnp.sum(x),
            [X[:0], LABELS[:0]],
        ),
        Row(
            "nll_loss",
            nn.nll_loss,
            lambda x, y, w: -jnp.sum(jnp.array([w[1] * x[0, 1], w[0] * x[2, 0]])) / (w[0] + w[1]),
            [X, SOME, WEIGHT],
            (0, 2),
        ),
        Row(
            "nll_loss-images",
            partial(nn.nll_loss, reduction="none"),
            lambda x, y: -jnp.take_along_axis(x, y[:, None], 1)[:, 0],
            [IMAGES, PIXELS],
        ),
        Row(
            "ctc_loss",
            partial(_ctc, zero_infinity=True),
            lambda x: _alignments(jax.nn.log_softmax(x), "mean"),
            [LOGS],
            half=3e-2,
        ),
        Row(
            "cosine_similarity",
            nn.cosine_similarity,
            lambda a, b: jnp.sum(a * b, 1) / jnp.linalg.norm(a, axis=1) / jnp.linalg.norm(b, axis=1),
            [X, Y],
            both,
            half=3e-2,
        ),
        *(
            Row(
                f"pairwise_distance-{p}",
                partial(nn.pairwise_distance, p=p, eps=0.0, keepdims=True),
                lambda a, b, p=p: jnp.linalg.norm(a - b, p, -1, True),
                [X, Y],
                both,
                half=3e-2,
            )
            for p in (1.0, 2.0, 3.0, np.inf)
        ),
        Row(
            "cdist",
            nn.cdist,
            lambda a, b: jnp.sqrt(jnp.sum((a[:, None] - b[None]) ** 2, -1)),
            [X, Y[:2]],
            both,
            half=3e-2,
        ),
        Row(
            "pdist",
            nn.pdist,
            lambda x: jnp.stack([jnp.linalg.norm(x[i] - x[j]) for i in range(3) for j in range(i + 1, 3)]),
            [X],
            half=3e-2,
        ),
        Row("normalize", nn.normalize, lambda x: x / jnp.linalg.norm(x, axis=1, keepdims=True), [X], half=3e-2),
        Row(
            "normalize-p",
            partial(nn.normalize, p=3.0, axis=0),
            lambda x: x / jnp.sum(jnp.abs(x) ** 3, 0, keepdims=True) ** (1 / 3),
            [X],
            half=3e-2,
        ),
    ]
)


@pytest.mark.parametrize("name", FAMILY.names)
def test_a_loss_is_its_formula(name: str) -> None:
    FAMILY.check(name)


def test_edges() -> None:
    """Samples that are all ignored, classes out of range, probabilities of 0 and 1, lengths without alignments."""

    def program(x: Any, y: Any, p: Any, logs: Any) -> Any:
        ignored, outside = y * 0 - 100, y * 0 + 5
        ctc = partial(nn.ctc_loss, targets=TARGETS, input_lengths=np.array([2, 0, 0, 4]), target_lengths=SIZES)
        return {
            "ignored": rlx.value_and_grad(nn.cross_entropy)(x, ignored),
            "ignored-nll": rlx.value_and_grad(nn.nll_loss)(x, ignored),
            "outside": (nn.cross_entropy(x, outside), nn.nll_loss(x, outside)),
            "clamped": (nn.binary_cross_entropy(p, 1 - p), rlx.grad(nn.binary_cross_entropy)(p, 1 - p)),
            "ctc": ctc(logs, reduction="none"),
            "one": nn.ctc_loss(logs[:, 3], TARGETS[3], 4, SIZES[3], reduction="none"),
            "ctc-zero": rlx.value_and_grad(lambda x: ctc(x, zero_infinity=True))(logs),
            "zeros": rlx.grad(
                lambda z: (nn.normalize(z) + nn.cdist(z, z)[:, :1] + nn.pairwise_distance(z, z, 3, 0)[0]).sum()
            )(x * 0),
        }

    p = np.array([0.0, 1.0])
    found = rlx.compile(program)(X, LABELS, p, np.log(RNG.dirichlet(np.ones(SYMBOLS), (TIMES, 4))))
    for name in ("ignored", "ignored-nll"):
        assert np.isnan(found[name][0]) and not found[name][1].any(), name
    assert np.isnan(found["outside"]).all()
    assert found["clamped"][0] == 100 and (found["clamped"][1] == [-5e11, 5e11]).all()
    np.testing.assert_array_equal(np.isinf(found["ctc"]), [True, True, False, False])
    assert found["one"] == found["ctc"][3]
    assert found["ctc"][2] == 0 and np.isfinite(found["ctc-zero"][0]) and np.isfinite(found["ctc-zero"][1]).all()
    assert np.isfinite(found["zeros"]).all()


def test_nan_stays_nan() -> None:
    x = np.array([[np.nan, 0.5]])

    def program(x: Any) -> Any:
        pairs = (
            *(nn.mse_loss, nn.l1_loss, nn.smooth_l1_loss, nn.huber_loss, nn.binary_cross_entropy, nn.hinge_loss),
            *(nn.binary_cross_entropy_with_logits, nn.sigmoid_focal_loss, nn.kl_div),
            *(nn.soft_margin_loss, nn.poisson_nll_loss, nn.cosine_similarity, nn.pairwise_distance, nn.cdist),
        )
        ones = np.ones_like(x)
        found = [loss(*both).sum() for loss in pairs for both in ((x, ones), (ones, x))]
        # a target that is neither 1 nor -1 is none
        found.append(nn.hinge_embedding_loss(x, ones))
        triples = (nn.margin_ranking_loss, nn.triplet_margin_loss, nn.gaussian_nll_loss)
        found += [loss(x, ones, ones) for loss in triples]
        return *found, nn.cross_entropy(x, np.array([1])), nn.nll_loss(x, np.array([0])), nn.normalize(x).sum()

    found = oracle.evaluate(rlx.lower_hir(rlx.trace(program, x)).module, x)
    assert len(found) > 25
    assert [i for i, y in enumerate(found) if not np.isnan(y).all()] == []


def test_ctc_loss_is_that_of_optax() -> None:
    logs = np.log(RNG.dirichlet(np.ones(6), (3, 12))).astype(np.float32)
    targets, times, sizes = RNG.integers(1, 6, (3, 4)), np.array([12, 9, 7]), np.array([4, 2, 3])
    gone = [(np.arange(n)[None] >= one[:, None]) * 1.0 for n, one in ((12, times), (4, sizes))]
    theirs = optax.ctc_loss(logs, gone[0], targets, gone[1])
    ours = nn.ctc_loss(logs.swapaxes(0, 1), targets, times, sizes, reduction="none")
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    for number, change in enumerate([(6, 0, 0), (-9, 0, 0), (0, 1, 0), (0, 0, 1)]):
        label, time, size = change
        wrong = [targets.copy(), times.copy(), sizes.copy()]
        wrong[0][0, 0] += label
        wrong[1][0] += time
        wrong[2][0] += size
        loss = nn.ctc_loss(logs.swapaxes(0, 1), *wrong, reduction="none")
        assert np.isnan(loss[0]), number
        np.testing.assert_array_equal(loss[1:], ours[1:])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: nn.mse_loss(X, Y, "average"),
            "mse_loss: reduction: expected one of 'mean', 'sum', 'none', got 'average'",
        ),
        (lambda: nn.cross_entropy(X, LABELS[:2]), r"target: expected shape \[3\], one class per sample, got \[2\]"),
        (lambda: nn.cross_entropy(X, P[:, :3]), r"target: expected shape \[3, 5\]"),
        (lambda: nn.cross_entropy(X, LABELS, WEIGHT[:4]), r"weight: expected shape \[5\]"),
        (lambda: nn.cross_entropy(X, LABELS, label_smoothing=1.5), "label_smoothing: expected a number from 0 to 1"),
        (lambda: nn.cross_entropy(X, LABELS, axis=2), "axis: expected an integer from -2 to 1"),
        (lambda: nn.ctc_loss(LOGS, TARGETS[:2], LENGTHS, SIZES), "targets: expected"),
        (lambda: nn.ctc_loss(LOGS, TARGETS, LENGTHS, SIZES, blank=3), "blank: expected an integer from 0 to 2"),
        (lambda: nn.ctc_loss(LOGS, TARGETS * 1.0, LENGTHS, SIZES), "targets: expected integers, got f"),
        (lambda: nn.ctc_loss(LOGS, TARGETS, LENGTHS * 1.0, SIZES), "input_lengths: expected integers, got f"),
        (
            lambda: rlx.compile(lambda x: nn.ctc_loss(x, TARGETS, LENGTHS, SIZES + 99))(LOGS),
            "target_lengths: expected lengths from 0 to",
        ),
        (
            lambda: rlx.compile(lambda x: nn.ctc_loss(x, TARGETS + 99, LENGTHS, SIZES))(LOGS),
            "targets: expected symbols from 0 to 2, got",
        ),
        (lambda: nn.multi_margin_loss(X, LABELS, p=3), "p: expected 1 or 2, got 3"),
        (lambda: nn.cdist(X, IMAGES), "x2: expected"),
    ],
)
def test_wrong_arguments_are_named(call: Any, message: str) -> None:
    with pytest.raises(rlx.GraphError, match=message):
        call()
