"""What the benchmark times is right: on every workload we compute what JAX does, to f32 rounding."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import worker
import workloads

TOLERANCE = 2e-5


@pytest.mark.parametrize("key", workloads.WORKLOADS)
def test_a_step_gives_what_that_of_jax_does(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDSL_RLX_NUM_THREADS", "JAX_PLATFORMS"):
        # a runner sets them for its process
        monkeypatch.setenv(name, os.environ.get(name, "1" if "THREADS" in name else "cpu"))
    work = workloads.WORKLOADS[key]
    found, expected = worker.Rlx(work, 2), worker.Jax(work, len(os.sched_getaffinity(0)))
    for one in (found, expected):
        one.prepare()
    results = zip(found.arrays(found.step()), expected.arrays(expected.step()), strict=True)
    for ours, theirs in results:
        assert ours.shape == theirs.shape and ours.dtype == np.float32
        assert np.linalg.norm(ours - theirs) <= TOLERANCE * np.linalg.norm(theirs)
