"""The work of launches: what is counted by hand is what is counted, and what data decides is said to be unknown."""

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import KernelOp, LaunchOp
from xdsl_rlx.lowering.reports.kernel_work import KernelWork, Unknown, work_of, works_of

SUM, TABLE = "memref<64xf32>", "memref<1000x8xf64>"


def kernel(body: str, buffers: str = f"%x: {SUM}, %y: {SUM}") -> KernelOp:
    text = f"""
    lir.kernel @k({buffers}, %lo: index, %hi: index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      {body}
      lir.return
    }}
    """
    (op,) = rlx.parse(text).ops
    assert isinstance(op, KernelOp)
    return op


def total(graph: rlx.Graph | rlx.GraphModule) -> KernelWork:
    module = rlx.lower(graph).module
    work = works_of([op for op in module.walk() if isinstance(op, KernelOp)])
    launches = [op for op in module.walk() if isinstance(op, LaunchOp)]
    return KernelWork.total(
        work(op.kernel.string_value(), op.extent.value.data, op.chunk.value.data) for op in launches
    )


def test_a_loop_of_elements_with_a_shorter_last_piece():
    body = f"""scf.for %i = %lo to %hi step %c1 {{
      %a = memref.load %x[%i] : {SUM}
      %b = math.fma %a, %a, %a : f32
      %c = math.exp %b : f32
      memref.store %c, %y[%i] : {SUM}
    }}"""
    assert work_of(kernel(body), 64, 24) == KernelWork(flops=64 * 3, read=64 * 4, written=64 * 4)


def test_what_is_read_again_is_moved_once():
    body = f"""scf.for %i = %lo to %hi step %c1 {{
      scf.for %j = %c0 to %c8 step %c1 {{
        %a = memref.load %x[%j] : {SUM}
        memref.store %a, %y[%i] : {SUM}
      }}
    }}"""
    assert work_of(kernel(body), 64, 32) == KernelWork(read=64 * 4, written=64 * 4)


@pytest.mark.parametrize("chunk", [1, 5, 20])
def test_loops_that_end_where_an_outer_one_stands(chunk: int):
    body = f"""scf.for %i = %lo to %hi step %c1 {{
      scf.for %j = %c0 to %i step %c1 {{
        %a = memref.load %x[%j] : {SUM}
        %b = arith.addf %a, %a : f32
        memref.store %b, %y[%j] : {SUM}
      }}
    }}"""
    assert work_of(kernel(body), 20, chunk) == KernelWork(190, read=64 * 4, written=64 * 4)


def test_a_loop_as_long_as_data_says_is_unknown_and_all_else_counts():
    buffers = f"%x: {SUM}, %n: memref<i64>, %t: {TABLE}"
    body = f"""%n1 = memref.load %n[] : memref<i64>
    %n0 = arith.index_cast %n1 : i64 to index
    scf.for %i = %lo to %hi step %c1 {{
      %a = memref.load %t[%i, %c1] : {TABLE}
      %b = arith.mulf %a, %a : f64
      memref.store %b, %t[%i, %c0] : {TABLE}
      scf.for %j = %c0 to %n0 step %c1 {{
        %d = arith.mulf %b, %a : f64
      }}
    }}"""
    found = work_of(kernel(body, buffers), 30, 10)
    assert found == KernelWork(30, 30, 30 * 8 + 8, 30 * 8, frozenset([Unknown.LENGTH]))


def test_branches_of_numbers_are_decided_and_those_of_data_are_unknown():
    def branch(condition: str) -> KernelWork:
        body = f"""scf.for %i = %lo to %hi step %c1 {{
          %a = memref.load %x[%i] : {SUM}
          {condition}
          scf.if %c {{
            %b = arith.mulf %a, %a : f32
            memref.store %b, %y[%i] : {SUM}
          }}
        }}"""
        return work_of(kernel(body), 32, 16)

    assert branch("%c = arith.cmpi slt, %c0, %c1 : index") == KernelWork(32, read=128, written=128)
    assert branch("%c = arith.cmpi slt, %c1, %c0 : index") == KernelWork(read=128)
    assert branch("%c = arith.cmpf olt, %a, %a : f32") == KernelWork(read=128, unknown=frozenset([Unknown.BRANCH]))


def test_products_count_two_operations_per_pair():
    g = rlx.Graph("product")
    x, w = g.input("x", (40, 70), "f64"), g.input("w", (70, 30), "f64")
    g.set_outputs([g.tanh(x @ w)])
    flops = 2 * 40 * 70 * 30 + 40 * 30
    found = total(g)
    assert (found.flops, found.wide, found.unknown) == (flops, flops, frozenset())
    assert found.written >= 8 * 40 * 30 and found.read >= 8 * (40 * 70 + 70 * 30)


def test_dot_products_of_bf16_are_told_from_other_operations():
    body = """
      scf.for %i = %lo to %hi step %c1 {
        %a = memref.load %x[%i] : memref<64xf32>
        %p = arith.bitcast %a : f32 to i32
        %d = lir.dot_bf16 %a, %p, %p
        %e = math.fma %d, %a, %a : f32
        memref.store %e, %y[%i] : memref<64xf32>
      }"""
    assert work_of(kernel(body), 64, 24) == KernelWork(64 * 6, read=64 * 4, written=64 * 4, dots=64 * 4)


def test_work_adds_up():
    one, other = KernelWork(1, 2, 3, 4, dots=1), KernelWork(10, 20, 30, 40, frozenset([Unknown.LIBRARY]), 5)
    assert KernelWork.total([one.times(3), other]) == KernelWork(13, 26, 39, 52, frozenset([Unknown.LIBRARY]), 8)
    assert other.moved == 70


def test_attention_counts_what_its_mask_lets_through():
    g = rlx.Graph("causal")
    q, k, v = (g.input(name, (2, 128, 64)) for name in "qkv")
    g.set_outputs([g.attention(q, k, v, num_heads=4, head_dim=16, mask_kind="causal")])
    found = total(g)
    # two blocks of 64 rows, of which the first sees half of the keys
    products = 2 * (2 * 2 * 4 * 128 * 128 * 16) * 3 // 4
    assert not found.unknown and products < found.flops < 1.1 * products


@pytest.mark.parametrize(("low", "trips"), [(6, 2), (7, 3), (8, 0)])
def test_loops_to_a_remainder_of_a_number(low: int, trips: int):
    body = f"""%n = arith.constant {low} : index
    %four = arith.constant 4 : index
    %r = arith.remsi %n, %four : index
    scf.for %j = %c0 to %r step %c1 {{
      %a = memref.load %x[%j] : {SUM}
      %b = arith.addf %a, %a : f32
      memref.store %b, %y[%j] : {SUM}
    }}"""
    assert work_of(kernel(body), 1, 1).flops == trips


@pytest.mark.sampled
@pytest.mark.parametrize("depth", [1, 255, 257, 10_000, 100_000])
@pytest.mark.parametrize("rows", [1, 7, 50])
def test_products_are_counted_exactly_at_all_depths(rows: int, depth: int):
    found = total(rlx.compile(np.matmul).trace(np.zeros((rows, depth), "f4"), np.zeros((depth, 50), "f4")))
    products = 2 * rows * depth * 50
    # sums of blocks of the depth are added, too
    assert not found.unknown and products <= found.flops + 2 * rows * 50 <= 1.06 * products + 4 * rows * 50
    least = 4 * depth * (rows + 50)
    # a single row by a matrix is a sum, of whose blocks the sums are read again
    assert found.read in (least, least + 4 * rows * 50) or (rows == 1 and least < found.read <= 1.001 * least)
