"""The seeds of the fuzzers, and what is checked while they run.

`seed` runs over as many numbers as `--fuzz-cases` says, `third_seed` over every third, `rare_seed` every fifth, and
`body_seed` over five thirds as many and at least 24, four of each mode: 5,000 in `make fuzz`. Some modules have more
seeds than `--fuzz-cases` says (`LEAST`).
"""

import gc
import sys
from itertools import count

import pytest
from levels import EVERY

KEPT = {"test_programs": (237, 2688)}
"""Seeds further on that a fault was found by, and by no other."""

BINDING = "test_binding"
LEAST = {BINDING: 36 if EVERY else 12, "test_factors": 24, "test_interrupted_fit": 24}
"""
Seeds of a module, where `--fuzz-cases` says fewer: of binding, more than 160 pairs of a signature and a call; of
factors, a size of each kind of kernel.
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    cases = metafunc.config.getoption("--fuzz-cases")
    for name, step in (("seed", 1), ("third_seed", 3), ("rare_seed", 5)):
        if name in metafunc.fixturenames:
            module = metafunc.module.__name__.rsplit(".", 1)[-1]
            seeds = range(0, max(cases, LEAST.get(module, 0)), step)
            kept = KEPT.get(module, ()) if step == 1 else ()
            metafunc.parametrize(name, [*seeds, *(seed for seed in kept if seed not in seeds)])
    if "body_seed" in metafunc.fixturenames:
        metafunc.parametrize("body_seed", range(max(100 if EVERY else 24, cases * 5 // 3)))


@pytest.fixture(autouse=True)
def _checked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Verify modules after each pass, and compile bounds checks where an access may be out of bounds.

    The programs of the binding tests are alike and small: without EVERY_SAMPLE the checks, a third of their time, are
    left to the other fuzzers.
    """
    if EVERY or not request.module.__name__.endswith(BINDING):
        monkeypatch.setenv("XDSL_RLX_CHECK", "1")


TESTS = count(1)
KEPT_TESTS = 50
"""Tests whose garbage and JAX programs are kept: some 8 MB each, which fill the memory in a long run."""


def pytest_runtest_teardown() -> None:
    if next(TESTS) % KEPT_TESTS == 0:
        if (jax := sys.modules.get("jax")) is not None:
            jax.clear_caches()
        gc.collect()
