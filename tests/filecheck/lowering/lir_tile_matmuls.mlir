// RUN: xdsl-opt %s -p lir-tile-matmuls,lir-mark-unrolled | filecheck %s

// The product in a loop becomes tiles of 20 columns: one of four rows, and one of three. The other is left to the library.
// CHECK-LABEL: lir.kernel @k0_matmul(%a: memref<7x40xf32>, %b: memref<40x20xf32>, %c: memref<7x20xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c40 = arith.constant 40 : index
// CHECK-NEXT: %sums = memref.alloca() {lir.outline} : memref<4x20xf32>
// CHECK-NEXT: %c4 = arith.constant 4 : index
// CHECK-NEXT: %c16 = arith.constant 16 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c20 = arith.constant 20 : index
// CHECK-NEXT: %sums_1 = memref.alloca() {lir.outline} : memref<3x20xf32>
// CHECK-NEXT: %c3 = arith.constant 3 : index
// CHECK-NEXT: %c0_1 = arith.constant 0 : index
// CHECK-NEXT: %c20_1 = arith.constant 20 : index
// CHECK-NEXT: scf.for %r = %c0 to %c4 step %c1 {
// CHECK-NEXT: %0 = arith.addi %lo, %r : index
// CHECK-NEXT: scf.for %j = %c0 to %c16 step %c1 {
// CHECK-NEXT: %1 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: memref.store %1, %sums[%r, %j] : memref<4x20xf32>
// CHECK-NEXT: } {lir.vectorize, lir.unroll = 16 : i64}
// CHECK-NEXT: scf.for %j_1 = %c16 to %c20 step %c1 {
// CHECK-NEXT: %2 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: memref.store %2, %sums[%r, %j_1] : memref<4x20xf32>
// CHECK-NEXT: } {lir.vectorize, lir.unroll = 4 : i64}
// CHECK-NEXT: } {lir.unroll = 4 : i64}
// CHECK-NEXT: scf.for %k = %c0 to %c40 step %c1 {
// CHECK-NEXT: scf.for %r_1 = %c0 to %c4 step %c1 {
// CHECK-NEXT: %3 = arith.addi %lo, %r_1 : index
// CHECK-NEXT: %a_1 = memref.load %a[%3, %k] : memref<7x40xf32>
// CHECK-NEXT: scf.for %j_2 = %c0 to %c16 step %c1 {
// CHECK-NEXT: %4 = arith.addi %c0_1, %j_2 : index
// CHECK-NEXT: %b_1 = memref.load %b[%k, %4] : memref<40x20xf32>
// CHECK-NEXT: %sums_2 = memref.load %sums[%r_1, %j_2] : memref<4x20xf32>
// CHECK-NEXT: %5 = math.fma %a_1, %b_1, %sums_2 fastmath<contract> : f32
// CHECK-NEXT: memref.store %5, %sums[%r_1, %j_2] : memref<4x20xf32>
// CHECK-NEXT: } {lir.vectorize, lir.unroll = 16 : i64}
// CHECK-NEXT: scf.for %j_3 = %c16 to %c20 step %c1 {
// CHECK-NEXT: %6 = arith.addi %c0_1, %j_3 : index
// CHECK-NEXT: %b_2 = memref.load %b[%k, %6] : memref<40x20xf32>
// CHECK-NEXT: %sums_3 = memref.load %sums[%r_1, %j_3] : memref<4x20xf32>
// CHECK-NEXT: %7 = math.fma %a_1, %b_2, %sums_3 fastmath<contract> : f32
// CHECK-NEXT: memref.store %7, %sums[%r_1, %j_3] : memref<4x20xf32>
// CHECK-NEXT: } {lir.vectorize, lir.unroll = 4 : i64}
// CHECK-NEXT: } {lir.unroll = 4 : i64}
// CHECK-NEXT: }
// CHECK-NEXT: scf.for %r_2 = %c0 to %c4 step %c1 {
// CHECK-NEXT: %8 = arith.addi %lo, %r_2 : index
// CHECK-NEXT: scf.for %j_4 = %c0 to %c16 step %c1 {
// CHECK-NEXT: %9 = arith.addi %c0_1, %j_4 : index
// CHECK-NEXT: %sums_4 = memref.load %sums[%r_2, %j_4] : memref<4x20xf32>
// CHECK-NEXT: memref.store %sums_4, %c[%8, %9] : memref<7x20xf32>
// CHECK-NEXT: } {lir.vectorize, lir.unroll = 16 : i64}
// CHECK-NEXT: scf.for %j_5 = %c16 to %c20 step %c1 {
// CHECK-NEXT: %10 = arith.addi %c0_1, %j_5 : index
// CHECK-NEXT: %sums_5 = memref.load %sums[%r_2, %j_5] : memref<4x20xf32>
// CHECK-NEXT: memref.store %sums_5, %c[%8, %10] : memref<7x20xf32>
// CHECK-NEXT: } {lir.vectorize, lir.unroll = 4 : i64}
// CHECK-NEXT: } {lir.unroll = 4 : i64}
// CHECK-NEXT: %11 = arith.constant 4 : index
// CHECK-NEXT: %12 = arith.addi %lo, %11 : index
// CHECK-NEXT: scf.for %r_3 = %c0 to %c3 step %c1 {
// CHECK-NEXT: %13 = arith.addi %12, %r_3 : index
// CHECK-NEXT: scf.for %j_6 = %c0 to %c16 step %c1 {
// CHECK-NEXT: %14 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: memref.store %14, %sums_1[%r_3, %j_6] : memref<3x20xf32>
// CHECK-NEXT: } {lir.vectorize, lir.unroll = 16 : i64}
// CHECK-NEXT: scf.for %j_7 = %c16 to %c20 step %c1 {
// CHECK-NEXT: %15 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: memref.store %15, %sums_1[%r_3, %j_7] : memref<3x20xf32>
// CHECK-NEXT: } {lir.vectorize, lir.unroll = 4 : i64}
// CHECK-NEXT: } {lir.unroll = 3 : i64}
// CHECK-NEXT: scf.for %k_1 = %c0 to %c40 step %c1 {
// CHECK-NEXT: scf.for %r_4 = %c0 to %c3 step %c1 {
// CHECK-NEXT: %16 = arith.addi %12, %r_4 : index
// CHECK-NEXT: %a_2 = memref.load %a[%16, %k_1] : memref<7x40xf32>
// CHECK-NEXT: scf.for %j_8 = %c0 to %c16 step %c1 {
// CHECK-NEXT: %17 = arith.addi %c0_1, %j_8 : index
// CHECK-NEXT: %b_3 = memref.load %b[%k_1, %17] : memref<40x20xf32>
// CHECK-NEXT: %sums_6 = memref.load %sums_1[%r_4, %j_8] : memref<3x20xf32>
// CHECK-NEXT: %18 = math.fma %a_2, %b_3, %sums_6 fastmath<contract> : f32
// CHECK-NEXT: memref.store %18, %sums_1[%r_4, %j_8] : memref<3x20xf32>
// CHECK-NEXT: } {lir.vectorize, lir.unroll = 16 : i64}
// CHECK-NEXT: scf.for %j_9 = %c16 to %c20 step %c1 {
// CHECK-NEXT: %19 = arith.addi %c0_1, %j_9 : index
// CHECK-NEXT: %b_4 = memref.load %b[%k_1, %19] : memref<40x20xf32>
// CHECK-NEXT: %sums_7 = memref.load %sums_1[%r_4, %j_9] : memref<3x20xf32>
// CHECK-NEXT: %20 = math.fma %a_2, %b_4, %sums_7 fastmath<contract> : f32
// CHECK-NEXT: memref.store %20, %sums_1[%r_4, %j_9] : memref<3x20xf32>
// CHECK-NEXT: } {lir.vectorize, lir.unroll = 4 : i64}
// CHECK-NEXT: } {lir.unroll = 3 : i64}
// CHECK-NEXT: }
// CHECK-NEXT: scf.for %r_5 = %c0 to %c3 step %c1 {
// CHECK-NEXT: %21 = arith.addi %12, %r_5 : index
// CHECK-NEXT: scf.for %j_10 = %c0 to %c16 step %c1 {
// CHECK-NEXT: %22 = arith.addi %c0_1, %j_10 : index
// CHECK-NEXT: %sums_8 = memref.load %sums_1[%r_5, %j_10] : memref<3x20xf32>
// CHECK-NEXT: memref.store %sums_8, %c[%21, %22] : memref<7x20xf32>
// CHECK-NEXT: } {lir.vectorize, lir.unroll = 16 : i64}
// CHECK-NEXT: scf.for %j_11 = %c16 to %c20 step %c1 {
// CHECK-NEXT: %23 = arith.addi %c0_1, %j_11 : index
// CHECK-NEXT: %sums_9 = memref.load %sums_1[%r_5, %j_11] : memref<3x20xf32>
// CHECK-NEXT: memref.store %sums_9, %c[%21, %23] : memref<7x20xf32>
// CHECK-NEXT: } {lir.vectorize, lir.unroll = 4 : i64}
// CHECK-NEXT: } {lir.unroll = 3 : i64}
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @k1_matmul(%a: memref<7x40xf32>, %b: memref<40x20xf32>, %c: memref<7x20xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c20 = arith.constant 20 : index
// CHECK-NEXT: lir.gemm %a[], %b[], %c[] rows %lo to %hi cols %c0 to %c20 : memref<7x40xf32>, memref<40x20xf32>, memref<7x20xf32>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-NEXT: }
builtin.module {
  lir.program @forward {
    %x = lir.input "x" : memref<7x40xf32>
    %w = lir.param "w" : memref<40x20xf32>
    %y = lir.output 0 : memref<7x20xf32>
    lir.loop %t = 0 to 3 {
      lir.launch @k0_matmul over 7 by 7 reads(%x, %w : memref<7x40xf32>, memref<40x20xf32>) writes(%y : memref<7x20xf32>)
    }
    lir.launch @k1_matmul over 7 by 7 reads(%x, %w : memref<7x40xf32>, memref<40x20xf32>) writes(%y : memref<7x20xf32>)
  }
  lir.kernel @k0_matmul(%a: memref<7x40xf32>, %b: memref<40x20xf32>, %c: memref<7x20xf32>, %lo: index, %hi: index) {
    %c0 = arith.constant 0 : index
    %c20 = arith.constant 20 : index
    lir.gemm %a[], %b[], %c[] rows %lo to %hi cols %c0 to %c20 : memref<7x40xf32>, memref<40x20xf32>, memref<7x20xf32>
    lir.return
  }
  lir.kernel @k1_matmul(%a: memref<7x40xf32>, %b: memref<40x20xf32>, %c: memref<7x20xf32>, %lo: index, %hi: index) {
    %c0 = arith.constant 0 : index
    %c20 = arith.constant 20 : index
    lir.gemm %a[], %b[], %c[] rows %lo to %hi cols %c0 to %c20 : memref<7x40xf32>, memref<40x20xf32>, memref<7x20xf32>
    lir.return
  }
}
