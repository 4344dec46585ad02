"""Weaknesses of the reference in random numbers (spec/ops.md, section 5), as numbers that are right here."""

from collections.abc import Sequence

import numpy as np
import pytest

import xdsl_rlx as rlx

KEY = np.array([42, 0])


def words(seed: int, stream: int, offset: int, count: int = 4) -> list[int]:
    """Words of a key's stream, as unsigned numbers."""
    g = rlx.Graph("words")
    g.set_outputs([g.rng_bits(g.input("key", (2,), dtype="i64"), (count,), offset)])
    (made,) = rlx.compile(g)(key=np.array([seed, stream], np.int64))
    return [int(word) for word in made.view(np.uint32)]


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_published_words(counter: Sequence[int], key: Sequence[int], expected: Sequence[int]):
    """W-39: the known answers of Random123 for philox4x32-10, which hold for the published multipliers only."""
    signed = [n - 2**64 if n >= 2**63 else n for n in (c << 32 | k for c, k in zip(counter[2:], key, strict=True))]
    offset = counter[1] << 32 | counter[0]
    assert words(*signed, offset - 2**64 if offset >= 2**63 else offset) == list(expected)


def test_a_key_decides_what_is_drawn():
    """W-38: another seed or stream gives other words, also seed 0; the same key the same ones."""
    streams = [tuple(words(*key, 0)) for key in ((0, 0), (1, 0), (0, 1), (2**32, 0), (0, 2**32))]
    assert len(set(streams)) == 5
    assert tuple(words(0, 0, 0)) == streams[0]
    assert words(3, 4, 0, 12)[8:] == words(3, 4, 2)


def test_results_do_not_depend_on_threads():
    """Element i is made of word i, whatever the pieces."""
    g = rlx.Graph("numbers")
    key = g.input("key", (2,), dtype="i64")
    g.set_outputs([g.rng_normal(key, (50_001,)), g.sample(g.rng_uniform(key, (64, 999)), key, top_p=0.9)])
    for one, two in zip(rlx.compile(g, threads=1)(key=KEY), rlx.compile(g, threads=2)(key=KEY), strict=True):
        np.testing.assert_array_equal(one, two)


def test_each_element_of_a_batch_has_its_own_numbers():
    """W-74: keys are split per element, and a batch of keys gives what each key gives by itself."""
    g = rlx.Graph("step")
    logits, key = g.input("logits", (200, 5)), g.input("key", (2,), dtype="i64")
    g.set_outputs([g.sample(logits, key), g.rng_uniform(key, (200,))])
    split = rlx.Graph("split")
    split.set_outputs([split.rng_split(split.input("key", (2,), dtype="i64"), 3)])
    (keys,) = rlx.compile(split)(key=KEY)
    x = np.zeros((200, 5), np.float32)
    ids, numbers = rlx.compile(rlx.vmap(g, ["key"], 3))(logits=x, key=keys)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert np.mean(ids[a] == ids[b]) < 0.4
        assert abs(np.corrcoef(numbers[a], numbers[b])[0, 1]) < 0.25
    single = rlx.compile(g)
    for key_, batch_ids, batch_numbers in zip(keys, ids, numbers, strict=True):
        own_ids, own_numbers = single(logits=x, key=key_)
        np.testing.assert_array_equal(batch_ids, own_ids)
        np.testing.assert_array_equal(batch_numbers, own_numbers)


def test_new_keys_are_of_the_type_of_the_old_one():
    """A step may give one on; in i32, whose bits are read as unsigned, they are the same keys."""
    wide, narrow = (
        rlx.compile(lambda key: (rlx.rng_split(key, 50), rlx.rng_uniform(rlx.rng_split(key, 50), (3,))))(key)
        for key in (KEY, KEY.astype(np.int32))
    )
    assert wide[0].dtype == np.int64 and narrow[0].dtype == np.int32
    np.testing.assert_array_equal(wide[0], narrow[0].view(np.uint32))
    np.testing.assert_array_equal(wide[1], narrow[1])


def test_rows_of_a_sample_are_drawn_independently():
    """W-74: rows share a key, but not a word."""
    g = rlx.Graph("rows")
    g.set_outputs([g.sample(g.input("logits", (4000, 4)), g.input("key", (2,), dtype="i64"))])
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    (ids,) = rlx.compile(g)(logits=np.tile(np.log(weights), (4000, 1)).astype(np.float32), key=KEY)
    counts = np.bincount(ids, minlength=4) / 4000
    np.testing.assert_allclose(counts, weights, atol=4 * np.sqrt(0.25 / 4000))
    pairs = np.bincount(4 * ids[:-1] + ids[1:], minlength=16).reshape(4, 4) / 3999
    np.testing.assert_allclose(pairs, np.outer(weights, weights), atol=4 * np.sqrt(0.15 / 4000))


@pytest.mark.parametrize(("dtype", "digits"), [("f32", 24), ("f64", 53)])
def test_moments_and_bounds(dtype: str, digits: int):
    """Uniform numbers are in [low, high), normal ones have the moments asked for."""
    n = 200_000
    g = rlx.Graph("moments")
    key = g.input("key", (2,), dtype="i64")
    g.set_outputs([g.rng_uniform(key, (n,), -1.0, 3.0, dtype), g.rng_normal(key, (n,), 2.0, 0.5, dtype)])
    uniform, normal = (x.astype(np.float64) for x in rlx.compile(g)(key=KEY))
    assert -1 <= uniform.min() < -1 + 1e-3 and 3 - 1e-3 < uniform.max() < 3
    assert uniform.mean() == pytest.approx(1, abs=0.012) and uniform.var() == pytest.approx(16 / 12, rel=0.01)
    assert normal.mean() == pytest.approx(2, abs=0.005) and normal.std() == pytest.approx(0.5, rel=0.01)
    z = (normal - 2) / 0.5
    assert abs(np.mean(z**3)) < 0.03 and np.mean(z**4) == pytest.approx(3, rel=0.02)
    assert np.abs(z).max() <= np.sqrt(2 * digits * np.log(2)) + 1e-6


def test_a_number_that_rounds_up_to_the_upper_bound_stays_below_it():
    """In bf16 one u in 512 of [1 - 2^-9, 1) rounds to 1."""
    g = rlx.Graph("half")
    g.set_outputs([g.rng_uniform(g.input("key", (2,), dtype="i64"), (20_000,), dtype="bf16")])
    (numbers,) = rlx.compile(g)(key=KEY)
    assert float(numbers.max()) == 1 - 2**-8


def dropped(again: bool) -> rlx.Graph:
    """A layer half of whose results are dropped, and which: in an op, or in a region that is computed again."""
    g = rlx.Graph("dropped")
    x, w, key = g.input("x", (4, 5), "f64"), g.param("w", (5, 6), "f64"), g.input("key", (2,), "i64")

    def layer(x: rlx.Value) -> tuple[rlx.Value, rlx.Value]:
        kept = g.rng_uniform(key, (4, 6), dtype="f64") < 0.5
        return g.where(kept, g.tanh(x @ w) * 2.0, 0.0), g.cast(kept, "f64")

    y, kept = g.remat(layer, x) if again else layer(x)
    g.set_outputs([g.reduce_sum(y * y), kept])
    return g


@pytest.mark.parametrize("again", [False, True], ids=["kept", "computed again"])
def test_a_gradient_sees_the_numbers_that_the_value_saw(again: bool):
    """W36 of the sheet of passes: also where the backward pass is a program of its own, and along a second tangent."""
    rng = np.random.default_rng(2)
    x, w, v = rng.standard_normal((4, 5)), rng.standard_normal((5, 6)), rng.standard_normal((5, 6))
    training = rlx.compile_training(dropped(again), threads=1)
    training.weights["w"] = w
    *forward, (backward,) = *training.forward(x=x, key=KEY), training.backward()
    _, kept = forward
    assert 0 < kept.sum() < kept.size
    y = np.tanh(x @ w)
    slope = 1 - y * y
    np.testing.assert_allclose(forward[0], np.sum((2 * kept * y) ** 2), rtol=1e-13)
    gradient = x.T @ (8 * kept * y * slope)
    step = training.step(x=x, key=KEY)[2]
    product = rlx.compile(rlx.hvp(dropped(again), "w"))(x=x, w=w, key=KEY, tangent_w=v)[-1]
    for found in (backward, step):
        np.testing.assert_allclose(found, gradient, rtol=1e-12)
    np.testing.assert_allclose(product, x.T @ (8 * kept * slope * (1 - 3 * y * y) * (x @ v)), rtol=1e-11, atol=1e-12)


def test_two_draws_with_one_key_are_one_and_with_two_keys_two():
    """W20 of the sheet of passes: ops that are the same may be shared, as the key says all; others may not."""
    g = rlx.Graph("draws")
    key, other = g.input("key", (2,), "i64"), g.input("other", (2,), "i64")
    g.set_outputs([g.rng_uniform(k, (64,), dtype="f64") for k in (key, key, other)])
    shared = rlx.run_passes(g, "cse")
    for made in (g, shared):
        one, same, another = rlx.compile(made)(key=KEY, other=KEY + 1)
        np.testing.assert_array_equal(one, same)
        assert not np.any(one == another)
