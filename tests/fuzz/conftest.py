"""`seed` runs over as many numbers as `--fuzz-cases` says, `third_seed` over every third, `rare_seed` every fifth, and
`body_seed` over five thirds as many: 100 in `make test`, 5,000 in `make fuzz`."""

import pytest

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


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules are verified behind each pass, and what is compiled has checks where an access may be out of bounds."""
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
