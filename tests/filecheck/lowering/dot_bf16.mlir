// RUN: xdsl-opt %s -p lir-check-bounds -t rlx-llvm | filecheck %s
// RUN: xdsl-opt %s -p lir-check-bounds -t numba | filecheck %s --check-prefix=PYTHON

// Two neighbours in memory are one load. A loop of lanes has the instruction on vectors; others have its first lane.
// CHECK-LABEL: define void @dot(
// CHECK: [[A:%.*]] = load i32, ptr %{{.*}}, align 2
// CHECK: shufflevector <16 x i16> %{{.*}}, <16 x i16> %{{.*}}, <32 x i32> <i32 0, i32 16, i32 1, i32 17,
// CHECK: call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %{{.*}}, <32 x bfloat> %{{.*}}, <32 x bfloat> %{{.*}})
// CHECK: trunc <16 x i32> %{{.*}} to <16 x i16>
// CHECK: call <4 x float> @llvm.x86.avx512bf16.dpbf16ps.128(<4 x float> %{{.*}}, <8 x bfloat> %{{.*}}, <8 x bfloat> %{{.*}})
// CHECK: call <4 x float> @llvm.x86.avx512bf16.dpbf16ps.128(<4 x float> %{{.*}}, <8 x bfloat> %{{.*}}, <8 x bfloat> %{{.*}})
// PYTHON-LABEL: def dot(
// PYTHON: t1 = np.int32(np.int32(a_2) | np.int32(np.int32(a_3) << 16))
// PYTHON: t3 = multiply_add(extend_bf16(t1), extend_bf16(t2), multiply_add(extend_bf16(np.int32(t1 >> 16)), extend_bf16(np.int32(t2 >> 16)), np.float32(0.0)))
lir.program @p attributes {arena_bytes = 0 : i64, alignment = 64 : i64} {
  %a = lir.input "a" : memref<4x2xbf16>
  %b = lir.input "b" : memref<2x17xbf16>
  %c = lir.output 0 : memref<4x17xbf16>
  %d = lir.output 1 : memref<4xf32>
  lir.launch @dot over 4 by 4 reads(%a, %b : memref<4x2xbf16>, memref<2x17xbf16>) writes(%c, %d : memref<4x17xbf16>, memref<4xf32>)
}
lir.kernel @dot(%a: memref<4x2xbf16>, %b: memref<2x17xbf16>, %c: memref<4x17xbf16>, %d: memref<4xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c17 = arith.constant 17 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %lo to %hi step %c1 {
    %a_1 = memref.load %a[%i, %c0] : memref<4x2xbf16>
    %a_2 = memref.load %a[%i, %c1] : memref<4x2xbf16>
    %0 = lir.pack_bf16 %a_1, %a_2
    scf.for %j = %c0 to %c17 step %c1 {
      %b_1 = memref.load %b[%c0, %j] : memref<2x17xbf16>
      %b_2 = memref.load %b[%c1, %j] : memref<2x17xbf16>
      %1 = lir.pack_bf16 %b_1, %b_2
      %2 = lir.dot_bf16 %zero, %0, %1
      %3 = arith.truncf %2 : f32 to bf16
      memref.store %3, %c[%i, %j] : memref<4x17xbf16>
    } {lir.vectorize}
    %4 = lir.dot_bf16 %zero, %0, %0
    memref.store %4, %d[%i] : memref<4xf32>
  }
  lir.return
}
