"""The autoencoder in a few epochs: its bound is the formula, and rises; what it draws are images."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import xdsl_rlx as rlx


@pytest.fixture(scope="module")
def vae(load_example: Any) -> Any:
    """The example as a module."""
    return load_example("vae_digits")


def test_the_bound_is_that_of_normal_latents_and_binomial_pixels(vae: Any) -> None:
    counts, state = vae.load_counts()[1][:30], vae.initial_state()
    params, key = state["params"], rlx.key(5)
    mean, log_variance = np.split(vae.dense(params["encoder"], counts.astype(np.float32) / 16), 2, axis=1)
    deviation = np.exp(0.5 * log_variance)
    z = mean + deviation * rlx.rng_normal(key, mean.shape)
    chances = 1 / (1 + np.exp(-vae.dense(params["decoder"], z).astype(np.float64)))
    likelihood = stats.binom.logpmf(counts, 16, chances).sum(axis=1)
    divergence = (stats.norm.logpdf(z, mean, deviation) - stats.norm.logpdf(z)).sum(axis=1)
    found = float(vae.judge(params, counts, key))
    # the divergence is exact in the bound and drawn here
    assert found == pytest.approx((likelihood - divergence).mean(), rel=0.02)
    exact = 0.5 * (mean**2 + deviation**2 - 1 - 2 * np.log(deviation)).sum(axis=1)
    assert found == pytest.approx((likelihood - exact).mean(), rel=1e-5)


def test_the_bound_rises_on_unseen_images(vae: Any) -> None:
    seen, unseen = vae.load_counts()
    state, key = vae.initial_state(), rlx.key(1)
    before = float(vae.judge(state["params"], unseen, key))
    state = rlx.fit(vae.train, state, rlx.Batches(seen, vae.BATCH), 4, quiet=True)
    assert before < -450 and vae.judge(state["params"], unseen, key) > -160
    images = vae.draw(state["params"], rlx.rng_split(key, 6))
    assert images.shape == (6, 64) and (images >= 0).all() and (images <= 1).all()
    assert len(np.unique(images[:, 20])) == 6


def test_images_lie_side_by_side(vae: Any) -> None:
    images = np.arange(6 * 64).reshape(6, 64)
    picture = vae.side_by_side(images, columns=3)
    assert picture.shape == (20, 30)
    np.testing.assert_array_equal(picture[11:19, 21:29], images[5].reshape(8, 8))
