"""`seed` runs over as many numbers as `--fuzz-cases` says, `third_seed` over every third, `rare_seed` every fifth."""

import pytest

KEPT = {"test_programs": (237, 2688)}
"""Seeds further on that a fault was found by, and by no other."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name, step in (("seed", 1), ("third_seed", 3), ("rare_seed", 5)):
        if name in metafunc.fixturenames:
            seeds = range(0, metafunc.config.getoption("--fuzz-cases"), step)
            kept = KEPT.get(metafunc.module.__name__.rsplit(".", 1)[-1], ()) if step == 1 else ()
            metafunc.parametrize(name, [*seeds, *(seed for seed in kept if seed not in seeds)])


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled here has checks where an access is not provably inside of its buffer."""
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
