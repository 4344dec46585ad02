"""The seeds of the fuzzers, and what is checked while they run.

`seed` runs over as many numbers as `--fuzz-cases` says, `third_seed` over every third, `rare_seed` every fifth, and
`body_seed` over five thirds as many: 100 in `make test`, 5,000 in `make fuzz`.
"""

import pytest
from levels import EVERY

KEPT = {"test_programs": (237, 2688)}
"""Seeds further on that a fault was found by, and by no other."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name, step in (("seed", 1), ("third_seed", 3), ("rare_seed", 5)):
        if name in metafunc.fixturenames:
            seeds = range(0, metafunc.config.getoption("--fuzz-cases"), step)
            kept = KEPT.get(metafunc.module.__name__.rsplit(".", 1)[-1], ()) if step == 1 else ()
            metafunc.parametrize(name, [*seeds, *(seed for seed in kept if seed not in seeds)])
    if "body_seed" in metafunc.fixturenames:
        metafunc.parametrize("body_seed", range(metafunc.config.getoption("--fuzz-cases") * 5 // 3))


BINDING = "test_binding"


@pytest.fixture(autouse=True)
def _checked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Verify modules after each pass, and compile bounds checks where an access may be out of bounds.

    The programs of the binding tests are alike and small: without EVERY_SAMPLE the checks, a third of their time, are
    left to the other fuzzers.
    """
    if EVERY or not request.module.__name__.endswith(BINDING):
        monkeypatch.setenv("XDSL_RLX_CHECK", "1")
