// RUN: xdsl-opt %s -p lir-check-bounds -t rlx-llvm | filecheck %s
// RUN: xdsl-opt %s -p lir-check-bounds --split-input-file --verify-diagnostics -t numba | filecheck %s --check-prefix=PYTHON

// A hint on memory is an intrinsic. Python has no words for it.
// CHECK-LABEL: define void @ahead(
// CHECK: [[P:%.*]] = getelementptr inbounds nuw [16 x float], ptr %a0, i64 %{{.*}}, i64 %{{.*}}
// CHECK-NEXT: call void @llvm.prefetch.p0(ptr [[P]], i32 0, i32 2, i32 1)
// PYTHON-LABEL: def ahead(
// PYTHON-NEXT: for i in range(lo, hi):
// PYTHON-NEXT: v = x[i, i]
// PYTHON-NEXT: y[i] = v
lir.program @p attributes {arena_bytes = 0 : i64, alignment = 64 : i64} {
  %x = lir.input "x" : memref<8x16xf32>
  %y = lir.output 0 : memref<8xf32>
  lir.launch @ahead over 8 by 8 reads(%x : memref<8x16xf32>) writes(%y : memref<8xf32>)
}
lir.kernel @ahead(%x: memref<8x16xf32>, %y: memref<8xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    lir.prefetch %x[%i, %i] : memref<8x16xf32>
    %v = memref.load %x[%i, %i] : memref<8x16xf32>
    memref.store %v, %y[%i] : memref<8xf32>
  }
  lir.return
}
