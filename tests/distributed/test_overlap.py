"""Collectives that run beside other launches: with the same bits, and with an engine of functions of Python."""

import ctypes
import itertools
from pathlib import Path

import distributed_texts as texts
import numpy as np
import pytest
from levels import EVERY
from mpi_jobs import in_one_job, run_job

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.driver.collectives import COLLECTIVES, Engine, connect
from xdsl_rlx.lowering.backend.driver.process import driver

PROGRAM = """
lir.program @f attributes {arena_bytes = 128 : i64, alignment = 64 : i64} {
  %x = lir.input "x" : memref<100000xf32>
  %n = lir.input "n" : memref<1xi64>
  %total = lir.output 0 : memref<100000xf32>
  %y = lir.output 1 : memref<8xf32>
  %request = lir.slot at 0 : memref<1xi64>
  %console = lir.slot at 64 : memref<1xi8>
  lir.launch @start over 1 by 1 reads(%x : memref<100000xf32>)
    writes(%total, %request, %console : memref<100000xf32>, memref<1xi64>, memref<1xi8>)
  lir.launch @store over 1 by 1 reads(%n : memref<1xi64>) writes(%y : memref<8xf32>)
  lir.launch @wait over 1 by 1 reads(%request : memref<1xi64>) writes(%total : memref<100000xf32>)
}
lir.kernel @start(%x: memref<100000xf32>, %t: memref<100000xf32>, %r: memref<1xi64>, %c: memref<1xi8>,
    %lo: index, %hi: index) {
  lir.collective_start sum %x to %t as %r by %c root 0 over 2
    : memref<100000xf32>, memref<100000xf32>, memref<1xi8>
  lir.return
}
lir.kernel @wait(%r: memref<1xi64>, %t: memref<100000xf32>, %lo: index, %hi: index) {
  lir.collective_wait %r for %t : memref<100000xf32>
  lir.return
}
lir.kernel @store(%n: memref<1xi64>, %y: memref<8xf32>, %lo: index, %hi: index) {
  %n0 = memref.load %n[%lo] : memref<1xi64>
  %i = arith.index_cast %n0 : i64 to index
  %one = arith.constant 1.0 : f32
  memref.store %one, %y[%i] : memref<8xf32>
  lir.return
}
"""

FAILED_CHECK = f"""
PROGRAM = {PROGRAM!r}
# a check fails while a reduction is on its way: that is over before the error is seen, and the next one works
program = rlx.compile(rlx.parse(PROGRAM))
x = np.arange(100000, dtype=np.float32)
for n in (7, 8, 7, 8):
    try:
        total, _ = program(x * (rank + 1), np.int64([n]))
        assert n == 7 and np.array_equal(total, 3 * x)
    except rlx.OutOfBoundsError:
        assert n == 8
    assert all_reduce(np.float32([1 + rank]), "sum") == [3]
print("fine", rank)
"""

INTERRUPTED = """
# Ctrl-C while the others do not come: the wait ends, and no other collective begins
def late(x):
    return all_reduce(x * 2.0, "sum"), np.sin(x)

late = with_costs("", late)
x = np.arange(100000, dtype=np.float32)
late(x)
if rank == 0:
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        late(x)
        raise SystemExit("no interrupt")
    except KeyboardInterrupt:
        pass
    try:
        late(x)
        raise SystemExit("no error")
    except rlx.distributed.DistributedError as error:
        assert "was interrupted in a collective" in str(error), error
    print("fine", flush=True)
    os._exit(0)
time.sleep(3)
os._exit(0)
"""


@pytest.mark.parametrize(
    ("name", "processes"),
    list(itertools.product(("BUCKETS", "FIFTY_STEPS"), (4, 2))) if EVERY else [("BUCKETS", 4), ("FIFTY_STEPS", 2)],
)
def test_buckets_that_overlap_give_the_bits_of_those_that_do_not(
    name: str, processes: int, mpi_python: str, tmp_path: Path
) -> None:
    """In two processes also: a reduction is over when a check has failed."""
    programs = [getattr(texts, name), *([FAILED_CHECK] if processes == 2 else [])]
    done = run_job(in_one_job(programs), tmp_path, mpi_python, processes)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("fine") == processes * len(programs)


def test_an_interrupt_ends_a_wait(mpi_python: str, tmp_path: Path) -> None:
    done = run_job(INTERRUPTED, tmp_path, mpi_python)
    assert "fine" in done.stdout, done.stderr


class _Twice(Engine):
    """
    A process that is alone, and takes another one for its twin: sums are doubled.

    Its functions are those of Python, as Gloo's are, and double when they are waited for.
    """

    rank, size, table = 0, 2, 0

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []
        self.begun: list[tuple[int, ...]] = []
        self.most = 0
        counts = (self._collective, 8), (self._start, 9), (self._wait, 3)
        self._functions = [ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * n)(f) for f, n in counts]

    def function(self) -> int:
        return ctypes.cast(self._functions[0], ctypes.c_void_p).value or 0

    def starting(self) -> tuple[int, int, int]:
        start, wait = (ctypes.cast(x, ctypes.c_void_p).value or 0 for x in self._functions[1:])
        return start, wait, driver().goes_on

    def settle(self) -> None:
        """None is left where no run is interrupted."""

    def _start(self, engine: int, source: int, target: int, request: int, *others: int) -> int:
        self.begun.append((source, target, *others))
        ctypes.c_int64.from_address(request).value = len(self.begun)
        return 0

    def _wait(self, engine: int, request: int, status: int) -> int:
        place = ctypes.c_int64.from_address(request).value - 1
        begun, self.begun[place] = self.begun[place], ()
        self.most = max(self.most, sum(map(bool, self.begun)) + 1)
        return self._collective(engine, *begun) if begun else 1

    def agree(self, key: str, what: str) -> None:
        pass

    def failure(self) -> str | None:
        return None

    def _collective(
        self, engine: int, source: int, target: int, count: int, element: int, call: int, root: int, status: int
    ) -> int:
        self.calls.append((COLLECTIVES[call], count))
        read, written = ((ctypes.c_float * count).from_address(x) for x in (source, target))
        np.multiply(np.frombuffer(read, np.float32), 2, out=np.frombuffer(written, np.float32))
        return 0


def test_an_engine_of_functions_of_python_starts_and_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = tmp_path / "costs.toml"
    costs.write_text("bucket_bytes = 68")
    monkeypatch.setenv("XDSL_RLX_COSTS", str(costs))

    def step(w: np.ndarray, v: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        value, grads = rlx.value_and_grad(lambda w, v: (np.tanh(x @ w) @ v).sum(), (0, 1))(w, v)
        return rlx.distributed.all_reduce((value, grads))

    engine = _Twice()
    connect(engine)
    try:
        text = str(rlx.lower(rlx.trace(step, *(arrays := _arrays()))))
        assert text.count("lir.collective_start sum") == 2 and "lir.collective_wait" in text
        # a mean over two processes of which both have the same
        value, (w, v) = rlx.compile(step)(*arrays)
    finally:
        connect(None)
    alone, (w_alone, v_alone) = rlx.compile(step)(*arrays)
    assert engine.calls == [("sum", 17), ("sum", 128)] and not any(engine.begun) and engine.most == 2
    np.testing.assert_allclose(value, alone, rtol=1e-6)
    np.testing.assert_allclose(w, w_alone, rtol=1e-6)
    np.testing.assert_allclose(v, v_alone, rtol=1e-6)


def _arrays() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    w, v, x = (rng.standard_normal(shape, dtype=np.float32) for shape in ((8, 16), (16,), (4, 8)))
    return w, v, x
