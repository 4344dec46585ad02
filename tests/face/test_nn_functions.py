"""Embeddings, linear maps, padding and functions of random numbers beside JAX and their definitions."""

import inspect
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from peer_rows import Family, Row

import xdsl_rlx as rlx
from xdsl_rlx import nn, special

RNG = np.random.default_rng(0)
X, PLANE = RNG.normal(size=(3, 5)), RNG.normal(size=(2, 2, 3, 4))
TABLE = RNG.normal(size=(6, 3))
IDS, BAGS = np.array([[0, 5, 2], [2, 2, 4]]), np.array([0, 2, 2, 4])
FLAT = np.array([1, 2, 0, 2, 5, 2])
WEIGHTS = RNG.normal(size=(2, 3))
SEEN = X > -0.4
SEEN[0], SEEN[1] = True, False
KEY = np.array([3, 4])


def _fixed(weight: Any, row: int) -> Any:
    """The table with a row that has no gradient."""
    return jnp.where((np.arange(6) == row)[:, None], jax.lax.stop_gradient(weight), weight)


def _bags(w: Any, reduce: Any, padding: int) -> Any:
    ends = [*BAGS[1:], len(FLAT)]
    bags = [[i for i in FLAT[start:end] if i != padding] for start, end in zip(BAGS, ends, strict=True)]
    return jnp.stack([reduce(w[np.array(bag)], 0) if bag else jnp.zeros(3) for bag in bags])


FAMILY = Family(
    [
        Row("linear", nn.linear, lambda x, w, b: x @ w.T + b, [X, RNG.normal(size=(2, 5)), RNG.normal(size=2)],
            (0, 1, 2), half=4e-2),
        Row("bilinear", nn.bilinear, lambda x, y, w, b: jnp.einsum("ni,oij,nj->no", x, w, y) + b,
            [X, X[:, :2], RNG.normal(size=(4, 5, 2)), RNG.normal(size=4)], (0, 1, 2, 3), half=6e-2),
        Row("pad", lambda x: nn.pad(x, (1, 2, -1, 3), value=7.0),
            lambda x: jnp.pad(x[:, :, 1:], ((0, 0), (0, 0), (0, 3), (1, 2)), constant_values=7.0), [PLANE]),
        *(
            Row(f"pad-{mode}", lambda x, mode=mode: nn.pad(x, (2, 1, 0, 2), mode),
                lambda x, theirs=theirs: jnp.pad(x, ((0, 0), (0, 0), (0, 2), (2, 1)), theirs), [PLANE])
            for mode, theirs in (("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap"))
        ),
        Row("one_hot", lambda x: nn.one_hot(x, 5, x.dtype), lambda x: jax.nn.one_hot(x, 5, dtype=x.dtype), [IDS], ()),
        Row("one_hot-axis", lambda x: nn.one_hot(x, 3, np.int32, 0),
            lambda x: jax.nn.one_hot(x, 3, dtype=np.int32, axis=0), [IDS], ()),
        Row("embedding", nn.embedding, lambda i, w: w[i], [IDS, TABLE], (1,)),
        Row("embedding-padding", partial(nn.embedding, padding_idx=-4), lambda i, w: _fixed(w, 2)[i], [IDS, TABLE],
            (1,)),
        Row("embedding_bag", nn.embedding_bag, lambda i, w: w[i].mean(1), [IDS, TABLE], (1,)),
        Row("embedding_bag-weights", lambda i, w, s: nn.embedding_bag(i, w, None, "sum", s),
            lambda i, w, s: (w[i] * s[..., None]).sum(1), [IDS, TABLE, RNG.normal(size=(2, 3))], (1, 2)),
        Row("embedding_bag-max", partial(nn.embedding_bag, mode="max", padding_idx=2),
            lambda i, w: jnp.stack([w[np.array([0, 5])].max(0), w[4]]), [IDS, TABLE], (1,)),
        *(
            Row(f"embedding_bag-offsets-{mode}",
                lambda i, w, o, mode=mode: nn.embedding_bag(i, w, o, mode, padding_idx=2),
                lambda i, w, o, reduce=reduce: _bags(w, reduce, 2), [FLAT, TABLE, BAGS], (1,))
            for mode, reduce in (("mean", jnp.mean), ("sum", jnp.sum), ("max", jnp.max))
        ),
        Row("softmax-where", lambda x: nn.softmax(x, where=SEEN), lambda x: jax.nn.softmax(x, where=SEEN), [X]),
        Row("log_softmax-where", lambda x: np.where(SEEN, nn.log_softmax(x, 0, SEEN), 0),
            lambda x: jnp.where(SEEN, jnp.where(SEEN, x, 0) - jnp.log(jnp.sum(jnp.exp(x) * SEEN, 0)), 0), [X]),
        Row("hard_shrink", nn.hard_shrink, lambda x: jnp.where(jnp.abs(x) > 0.5, x, 0), [X]),
        Row("rrelu", nn.rrelu, lambda x: jax.nn.leaky_relu(x, 11 / 48), [X]),
        Row("dropout-off", lambda x: (nn.dropout(x), nn.alpha_dropout(x, 0.0, KEY), nn.dropout(x, 1.0, KEY)),
            lambda x: (x, x, 0 * x), [X]),
    ]
)  # fmt: skip


@pytest.mark.parametrize("name", FAMILY.names)
def test_a_function_is_its_counterpart(name: str) -> None:
    FAMILY.check(name)


def test_random_functions_have_their_distributions() -> None:
    """Moments to five standard errors; channels as wholes; the gradient of a hard sample is that of the soft one."""
    x, images, logits = np.random.default_rng(1).normal(size=40000), np.ones((40, 50, 3, 4)), np.log([0.1, 0.2, 0.7])

    def program(x: Any, images: Any, logits: Any, key: Any) -> Any:
        many = np.broadcast_to(logits, (20000, 3))
        return {
            "dropout": nn.dropout(x * 0 + 1, 0.3, key),
            "dropout2d": nn.dropout2d(images, 0.3, key),
            "dropout1d": nn.dropout1d(images[0], 0.3, key),
            "dropout3d": nn.dropout3d(images, 0.3, key),
            "alpha": nn.alpha_dropout(x, 0.3, key),
            "feature": nn.feature_alpha_dropout(images, 0.3, key),
            "rrelu": nn.rrelu(-abs(x), key=key) / -abs(x),
            "hard": nn.gumbel_softmax(many, key, hard=True),
            "soft": rlx.grad(lambda z: nn.gumbel_softmax(z, key, 0.5)[:, 0].sum())(many),
            "straight": rlx.grad(lambda z: nn.gumbel_softmax(z, key, 0.5, True)[:, 0].sum())(many),
        }

    found = rlx.compile(program)(x, images, logits, KEY)
    for name in ("dropout", "dropout1d", "dropout2d", "dropout3d"):
        assert set(np.unique(found[name].round(6))) == {0.0, round(1 / 0.7, 6)}, name
    assert abs((found["dropout"] == 0).mean() - 0.3) < 5 * (0.21 / x.size) ** 0.5
    assert abs((found["dropout2d"] == 0).mean() - 0.3) < 5 * (0.21 / 2000) ** 0.5
    assert all(np.ptp(found[name], (2, 3)).max() == 0 for name in ("dropout2d", "feature"))
    assert np.ptp(found["dropout1d"], 2).max() == 0 and np.ptp(found["dropout3d"], (1, 2, 3)).max() == 0
    assert abs(found["alpha"].mean()) < 0.03 and abs(found["alpha"].std() - 1) < 0.03
    assert 1 / 8 <= found["rrelu"].min() < 0.126 and 0.332 < found["rrelu"].max() <= 1 / 3 + 1e-9
    assert abs(found["rrelu"].mean() - 11 / 48) < 5 * (5 / 24) / (12 * x.size) ** 0.5
    assert (np.sort(found["hard"], 1) == [0, 0, 1]).all()
    np.testing.assert_allclose(found["hard"].mean(0), [0.1, 0.2, 0.7], atol=0.017)
    np.testing.assert_array_equal(found["soft"], found["straight"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.linear(X, WEIGHTS), "linear: weight: expected"),
        (lambda: nn.bilinear(X, X[:2], np.ones((1, 5, 5))), "bilinear: expected x1"),
        (lambda: nn.pad(X, (1, 2, 3)), "pad: expected a pair"),
        (lambda: nn.pad(X, (5, 0), "reflect"), "expected numbers from 0 to 4"),
        (lambda: nn.embedding(X, TABLE), "expected integers as input"),
        (lambda: nn.embedding(IDS, TABLE, 6), "padding_idx: expected an index of 6 rows, got 6"),
        (lambda: nn.embedding_bag(IDS, TABLE, BAGS), r"input: expected \[N, S\]"),
        (lambda: nn.embedding_bag(IDS, TABLE, None, "mean", WEIGHTS), "per_sample_weights: expected the mode 'sum'"),
        (lambda: nn.dropout(X, 1.5, KEY), "p: expected a probability"),
        (lambda: nn.dropout2d(X), "dropout2d: x: expected"),
        (lambda: nn.one_hot(IDS, -1), "num_classes: expected an integer of at least 0"),
    ],
)
def test_wrong_arguments_are_named(call: Any, message: str) -> None:
    with pytest.raises(rlx.GraphError, match=message):
        call()


CALLABLE = [
    (module, name) for module in (nn, special) for name in module.__all__ if inspect.isfunction(getattr(module, name))
]
OPERANDS = {"string": "a", "list": [1.0, 2.0], "float": 2.0, "shapes": None}


def given(parameter: inspect.Parameter, kind: str, n: int) -> Any:
    """An argument of a kind for an operand, else one of the annotated type."""
    annotation = str(parameter.annotation)
    if annotation == "Any":
        return np.ones(2 + n) if kind == "shapes" else OPERANDS[kind]
    plain = {"float": 0.5, "str": "linear", "int": 2, "int | None": 2}
    return plain.get(annotation, (2, 2) if "Sequence" in annotation or annotation == "Steps" else 2)


@pytest.mark.parametrize("kind", OPERANDS)
@pytest.mark.parametrize(("module", "name"), CALLABLE)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_operand_of_any_kind_is_computed_or_an_error_of_rlx(module: Any, name: str, kind: str) -> None:
    function = getattr(module, name)
    needed = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
    arguments = [given(one, kind, n) for n, one in enumerate(needed)]
    for call in (lambda: function(*arguments), lambda: rlx.eval_shape(lambda _: function(*arguments), np.ones(3))):
        try:
            call()
        except rlx.RlxError as error:
            assert len(str(error)) > 20


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: special.gamma("a"), "gamma: x: expected a value or an array, got 'a'"),
        (lambda: special.beta(np.ones(2), np.ones(3)), r"expected shapes that broadcast, got \[2\] and \[3\]"),
        (lambda: nn.dropout(2.0, 0.5), "dropout: x: expected a value or an array, got 2.0"),
        (lambda: nn.hard_sigmoid([1.0, 2.0]), r"hard_sigmoid: x: expected a value or an array, got \[1.0, 2.0\]"),
        (lambda: rlx.dynamic_index_in_dim(np.ones(3), 0, axis=3), "axis: expected an integer from -1 to 0, got 3"),
        (lambda: rlx.dynamic_slice_in_dim(np.ones(3), 0, 1, axis=3), "axis: expected an integer from -1 to 0, got 3"),
        (lambda: rlx.dynamic_update_slice_in_dim(np.ones(3), np.ones(1), 0, -2), "axis: expected an integer from -1"),
        (lambda: rlx.dynamic_update_index_in_dim(np.ones(3), np.ones(1), 0, 3), "axis: expected an integer from -1"),
        (lambda: rlx.dynamic_index_in_dim(np.float32(1), 0), "operand: expected at least one axis, got rank 0"),
        (lambda: rlx.ShapeDtypeStruct((2, -4), "f32"), r"shape: expected extents of at least 0, got \[2, -4\]"),
    ],
)
def test_an_operand_that_does_not_fit_is_named(call: Any, message: str) -> None:
    with pytest.raises(rlx.GraphError, match=message):
        call()
