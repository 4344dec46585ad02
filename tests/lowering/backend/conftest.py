"""Small hand-written kernels in LLVM text, and programs made of them, for tests of what runs such text."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest

from xdsl_rlx.lowering.backend.driver.manifest import FIRST_BUFFER, Program, ScheduledLaunch, TensorSpec
from xdsl_rlx.lowering.backend.machine.llvm import compile_llvm, load_object
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph


def kernel(name: str, arguments: int, setup: str, body: str) -> str:
    """A kernel that runs `body` for every `%i` in [lo, hi), with its memrefs as `%a0`, `%a1`, ..."""
    buffers = "".join(f"ptr %a{n}, " for n in range(arguments))
    return f"""
define void @{name}(ptr %bases, {buffers}i64 %lo, i64 %hi) {{
entry:
{setup}
  br label %head
head:
  %i = phi i64 [ %lo, %entry ], [ %next, %tail ]
  %more = icmp slt i64 %i, %hi
  br i1 %more, label %tail, label %exit
tail:
{body}
  %next = add i64 %i, 1
  br label %head
exit:
  ret void
}}
"""


ADD = kernel(
    "add",
    3,
    "",
    """
  %x.at = getelementptr float, ptr %a0, i64 %i
  %y.at = getelementptr float, ptr %a1, i64 %i
  %z.at = getelementptr float, ptr %a2, i64 %i
  %x = load float, ptr %x.at
  %y = load float, ptr %y.at
  %z = fadd float %x, %y
  store float %z, ptr %z.at""",
)

# reads the element before the one it writes, so that writing in place would show
SHIFT = kernel(
    "shift",
    2,
    "",
    """
  %wrap = icmp eq i64 %i, 0
  %before = sub i64 %i, 1
  %from = select i1 %wrap, i64 0, i64 %before
  %x.at = getelementptr float, ptr %a0, i64 %from
  %z.at = getelementptr float, ptr %a1, i64 %i
  %x = load float, ptr %x.at
  store float %x, ptr %z.at""",
)

# one partial sum per chunk of 16, kept at the chunk's number
PARTIAL = kernel(
    "partial",
    2,
    """
  %chunk = sdiv i64 %lo, 16
  %sum.at = getelementptr float, ptr %a1, i64 %chunk
  store float 0.0, ptr %sum.at""",
    """
  %x.at = getelementptr float, ptr %a0, i64 %i
  %x = load float, ptr %x.at
  %old = load float, ptr %sum.at
  %new = fadd float %old, %x
  store float %new, ptr %sum.at""",
)

TOTAL = PARTIAL.replace("@partial", "@total").replace("sdiv i64 %lo, 16", "and i64 %lo, 0")

# rows [lo, hi) of c(., 8) = a(., 8) @ b(8, 8): sgemm on the transposes
GEMM = """
define void @gemm(ptr %bases, ptr %a, ptr %b, ptr %c, i64 %lo, i64 %hi) {
  %n = alloca i32
  %rows = alloca i32
  %one = alloca float
  %zero = alloca float
  %trans = alloca i8
  store i32 8, ptr %n
  %count = sub i64 %hi, %lo
  %count32 = trunc i64 %count to i32
  store i32 %count32, ptr %rows
  store float 1.0, ptr %one
  store float 0.0, ptr %zero
  store i8 78, ptr %trans
  %table = load ptr, ptr %bases
  %sgemm = load ptr, ptr %table
  %first = mul i64 %lo, 8
  %a.row = getelementptr float, ptr %a, i64 %first
  %c.row = getelementptr float, ptr %c, i64 %first
  call void %sgemm(ptr %trans, ptr %trans, ptr %n, ptr %rows, ptr %n, ptr %one, ptr %b, ptr %n, ptr %a.row, ptr %n,
                   ptr %zero, ptr %c.row, ptr %n)
  ret void
}
"""
TEXT = "".join((ADD, SHIFT, PARTIAL, TOTAL, GEMM))


def spec(name: str, *shape: int, dtype: str = "f32") -> TensorSpec:
    return TensorSpec(name, shape, dtype)


def program(
    inputs: Sequence[TensorSpec],
    outputs: Sequence[TensorSpec],
    launches: Sequence[ScheduledLaunch],
    params: Sequence[TensorSpec] = (),
    arena_bytes: int = 0,
    optional: Sequence[str] = (),
    needs_blas: bool = False,
) -> Program:
    return Program(
        "step",
        tuple(inputs),
        tuple(params),
        tuple(outputs),
        tuple(optional),
        arena_bytes,
        64,
        b"",
        tuple(launches),
        needs_blas,
    )


def add_program(size: int, chunk: int | None = None) -> Program:
    """y = x + w, with an input x and a param w."""
    launch = ScheduledLaunch("add", size, chunk or max(size, 1), tuple((FIRST_BUFFER + n, 0) for n in range(3)))
    return program([spec("x", size)], [spec("y", size)], [launch], params=[spec("w", size)])


def sum_program(size: int, repeats: int = 1) -> Program:
    """total = sum(x) by partial sums of 16, several times over."""
    chunks = -(-size // 16)
    steps = (
        ScheduledLaunch("partial", size, 16, ((FIRST_BUFFER, 0), (1, 0))),
        ScheduledLaunch("total", chunks, chunks, ((1, 0), (FIRST_BUFFER + 1, 0))),
    )
    return program([spec("x", size)], [spec("total")], steps * repeats, arena_bytes=4 * chunks)


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's own cache."""
    monkeypatch.setenv("XDSL_RLX_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "rlx-cache"))


@pytest.fixture(scope="session")
def code() -> bytes:
    """Object code of all the kernels here."""
    return compile_llvm(TEXT)


@pytest.fixture
def build(code: bytes) -> Callable[..., CompiledGraph]:
    """Program, threads -> CompiledGraph."""
    return lambda program, threads=1: CompiledGraph(program, load_object(code, program.kernels), threads)


@pytest.fixture
def make() -> SimpleNamespace:
    """The makers of specs, programs and kernel text of this file."""
    return SimpleNamespace(
        spec=spec, program=program, add=add_program, sum=sum_program, kernel=kernel, text=TEXT, add_text=ADD
    )
