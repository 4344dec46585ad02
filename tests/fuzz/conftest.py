"""`seed` runs over as many numbers as `--fuzz-cases` says, `rare_seed` over every fifth of them."""

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name, step in (("seed", 1), ("rare_seed", 5)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, range(0, metafunc.config.getoption("--fuzz-cases"), step))


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled here has checks where an access is not provably inside of its buffer."""
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
