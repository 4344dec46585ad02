// RUN: xdsl-opt %s -p lir-check-bounds -t rlx-llvm | filecheck %s
// RUN: xdsl-opt %s -p lir-check-bounds -t numba | filecheck %s --check-prefix=PYTHON

// Four neighbours in memory are one load, four lines of vectors are interleaved; the instruction has unsigned bytes first.
// CHECK-LABEL: define void @dot(
// CHECK: [[A:%.*]] = load i32, ptr %{{.*}}, align 1
// CHECK: shufflevector <16 x i8> %{{.*}}, <16 x i8> %{{.*}}, <32 x i32> <i32 0, i32 16, i32 1, i32 17,
// CHECK: shufflevector <32 x i8> %{{.*}}, <32 x i8> %{{.*}}, <64 x i32> <i32 0, i32 32, i32 1, i32 33,
// CHECK: call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %{{.*}}, <64 x i8> %{{.*}}, <64 x i8> %{{.*}})
// PYTHON-LABEL: def dot(
// PYTHON: t1 = np.int32((np.int32(a_2) & 255) << 0 | (np.int32(a_3) & 255) << 8 | (np.int32(a_4) & 255) << 16 | (np.int32(a_5) & 255) << 24)
// PYTHON: np.int32(np.int32(0) + (((t1 >> 0) & 255 ^ 128) - 128) * ((t2 >> 0) & 255) +
lir.program @p attributes {arena_bytes = 0 : i64, alignment = 64 : i64} {
  %a = lir.input "a" : memref<4x4xi8>
  %b = lir.input "b" : memref<4x16xi8>
  %c = lir.output 0 : memref<4x16xi32>
  lir.launch @dot over 4 by 4 reads(%a, %b : memref<4x4xi8>, memref<4x16xi8>) writes(%c : memref<4x16xi32>)
}
lir.kernel @dot(%a: memref<4x4xi8>, %b: memref<4x16xi8>, %c: memref<4x16xi32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0 : i32
  scf.for %i = %lo to %hi step %c1 {
    %a_1 = memref.load %a[%i, %c0] : memref<4x4xi8>
    %a_2 = memref.load %a[%i, %c1] : memref<4x4xi8>
    %a_3 = memref.load %a[%i, %c2] : memref<4x4xi8>
    %a_4 = memref.load %a[%i, %c3] : memref<4x4xi8>
    %0 = lir.pack_i8 %a_1, %a_2, %a_3, %a_4
    scf.for %j = %c0 to %c16 step %c1 {
      %b_1 = memref.load %b[%c0, %j] : memref<4x16xi8>
      %b_2 = memref.load %b[%c1, %j] : memref<4x16xi8>
      %b_3 = memref.load %b[%c2, %j] : memref<4x16xi8>
      %b_4 = memref.load %b[%c3, %j] : memref<4x16xi8>
      %1 = lir.pack_i8 %b_1, %b_2, %b_3, %b_4
      %2 = lir.dot_i8 %zero, %0, %1
      memref.store %2, %c[%i, %j] : memref<4x16xi32>
    } {lir.vectorize}
  }
  lir.return
}
