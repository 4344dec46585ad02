"""Into how many pieces launches of kernels of single ops are cut."""

from typing import Any

import pytest

from xdsl_rlx.lowering.kernels.work import Work


class _Threads:
    """As many pieces as four a thread."""

    def __init__(self, threads: int):
        self.threads = threads

    def pieces(self, extent: int, work: int) -> int:
        return 1 if self.threads == 1 else min(extent, 4 * self.threads)


@pytest.mark.parametrize(
    ("threads", "extent", "pieces"),
    [(1, 14, 1), (2, 14, 14), (2, 16, 8), (2, 100, 8), (2, 28, 14), (4, 50, 25), (2, 3, 3)],
)
def test_threads_have_as_many_iterations_as_each_other_about(threads: int, extent: int, pieces: int) -> None:
    buffers: Any = _Threads(threads)
    assert Work(buffers).pieces(extent, 1) == pieces
