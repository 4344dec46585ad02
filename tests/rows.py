"""A claim about each row of a table as one test: thousands of tests that take microseconds cost pytest minutes."""

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def for_each(rows: Iterable[T], name: Callable[[T], str] = str) -> Callable[[Callable[[T], None]], Callable[[], None]]:
    """
    Make a check of one row a test of all: it fails with the names and the messages of all rows that are wrong.

    For checks without fixtures. A check that compiles or takes long is a case of its own: use `parametrize`.
    """
    rows = list(rows)
    assert rows, "a test of no row asserts nothing"

    def decorate(check: Callable[[T], None]) -> Callable[[], None]:
        def test() -> None:
            wrong = list[str]()
            for row in rows:
                try:
                    check(row)
                except AssertionError as error:
                    wrong.append(f"{name(row)}: {error}")
            assert not wrong, f"{len(wrong)} of {len(rows)} rows are wrong:\n" + "\n".join(wrong)

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        test.__qualname__ = check.__qualname__
        return test

    return decorate
