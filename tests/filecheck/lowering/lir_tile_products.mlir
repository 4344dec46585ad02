// RUN: xdsl-opt %s -p lir-tile-products,lir-mark-unrolled | filecheck %s

// The product in a loop becomes tiles of all rows: two of 8 columns, and one of 4. The other is left to the library.
// CHECK-LABEL: lir.kernel @k0_matmul(%a: memref<7x40xf32>, %b: memref<40x20xf32>, %c: memref<7x20xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c40 = arith.constant 40 : index
// CHECK-NEXT: %c2 = arith.constant 2 : index
// CHECK-NEXT: %c8 = arith.constant 8 : index
// CHECK-NEXT: %sums = memref.alloca() {lir.apart} : memref<7x8xf32>
// CHECK-NEXT: %c7 = arith.constant 7 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %sums_1 = memref.alloca() {lir.apart} : memref<7x8xf32>
// CHECK-NEXT: %c0_1 = arith.constant 0 : index
// CHECK-NEXT: %c20 = arith.constant 20 : index
// CHECK-NEXT: scf.for %j = %c0 to %c2 step %c1 {
// CHECK-NEXT: %0 = arith.muli %j, %c8 : index
// CHECK-NEXT: %1 = arith.addi %c0_1, %0 : index
// CHECK-NEXT: scf.for %r = %c0 to %c7 step %c1 {
// CHECK-NEXT: %2 = arith.addi %lo, %r : index
// CHECK-NEXT: scf.for %j_1 = %c0 to %c8 step %c1 {
// CHECK-NEXT: %3 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: memref.store %3, %sums[%r, %j_1] : memref<7x8xf32>
// CHECK-NEXT: } {lir.lanes, lir.unroll = 8 : i64}
// CHECK-NEXT: } {lir.unroll = 7 : i64}
// CHECK-NEXT: scf.for %k = %c0 to %c40 step %c1 {
// CHECK-NEXT: scf.for %r_1 = %c0 to %c7 step %c1 {
// CHECK-NEXT: %4 = arith.addi %lo, %r_1 : index
// CHECK-NEXT: %a_1 = memref.load %a[%4, %k] : memref<7x40xf32>
// CHECK-NEXT: scf.for %j_2 = %c0 to %c8 step %c1 {
// CHECK-NEXT: %5 = arith.addi %1, %j_2 : index
// CHECK-NEXT: %b_1 = memref.load %b[%k, %5] : memref<40x20xf32>
// CHECK-NEXT: %sums_2 = memref.load %sums[%r_1, %j_2] : memref<7x8xf32>
// CHECK-NEXT: %6 = math.fma %a_1, %b_1, %sums_2 fastmath<contract> : f32
// CHECK-NEXT: memref.store %6, %sums[%r_1, %j_2] : memref<7x8xf32>
// CHECK-NEXT: } {lir.lanes, lir.unroll = 8 : i64}
// CHECK-NEXT: } {lir.unroll = 7 : i64}
// CHECK-NEXT: }
// CHECK-NEXT: scf.for %r_2 = %c0 to %c7 step %c1 {
// CHECK-NEXT: %7 = arith.addi %lo, %r_2 : index
// CHECK-NEXT: scf.for %j_3 = %c0 to %c8 step %c1 {
// CHECK-NEXT: %8 = arith.addi %1, %j_3 : index
// CHECK-NEXT: %sums_3 = memref.load %sums[%r_2, %j_3] : memref<7x8xf32>
// CHECK-NEXT: memref.store %sums_3, %c[%7, %8] : memref<7x20xf32>
// CHECK-NEXT: } {lir.lanes, lir.unroll = 8 : i64}
// CHECK-NEXT: } {lir.unroll = 7 : i64}
// CHECK-NEXT: }
// CHECK-NEXT: %9 = arith.constant 12 : index
// CHECK-NEXT: %10 = arith.addi %c0_1, %9 : index
// CHECK-NEXT: scf.for %r_3 = %c0 to %c7 step %c1 {
// CHECK-NEXT: %11 = arith.addi %lo, %r_3 : index
// CHECK-NEXT: scf.for %j_4 = %c0 to %c8 step %c1 {
// CHECK-NEXT: %12 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: memref.store %12, %sums_1[%r_3, %j_4] : memref<7x8xf32>
// CHECK-NEXT: } {lir.lanes, lir.unroll = 8 : i64}
// CHECK-NEXT: } {lir.unroll = 7 : i64}
// CHECK-NEXT: scf.for %k_1 = %c0 to %c40 step %c1 {
// CHECK-NEXT: scf.for %r_4 = %c0 to %c7 step %c1 {
// CHECK-NEXT: %13 = arith.addi %lo, %r_4 : index
// CHECK-NEXT: %a_2 = memref.load %a[%13, %k_1] : memref<7x40xf32>
// CHECK-NEXT: scf.for %j_5 = %c0 to %c8 step %c1 {
// CHECK-NEXT: %14 = arith.addi %10, %j_5 : index
// CHECK-NEXT: %b_2 = memref.load %b[%k_1, %14] : memref<40x20xf32>
// CHECK-NEXT: %sums_4 = memref.load %sums_1[%r_4, %j_5] : memref<7x8xf32>
// CHECK-NEXT: %15 = math.fma %a_2, %b_2, %sums_4 fastmath<contract> : f32
// CHECK-NEXT: memref.store %15, %sums_1[%r_4, %j_5] : memref<7x8xf32>
// CHECK-NEXT: } {lir.lanes, lir.unroll = 8 : i64}
// CHECK-NEXT: } {lir.unroll = 7 : i64}
// CHECK-NEXT: }
// CHECK-NEXT: scf.for %r_5 = %c0 to %c7 step %c1 {
// CHECK-NEXT: %16 = arith.addi %lo, %r_5 : index
// CHECK-NEXT: scf.for %j_6 = %c0 to %c8 step %c1 {
// CHECK-NEXT: %17 = arith.addi %10, %j_6 : index
// CHECK-NEXT: %sums_5 = memref.load %sums_1[%r_5, %j_6] : memref<7x8xf32>
// CHECK-NEXT: memref.store %sums_5, %c[%16, %17] : memref<7x20xf32>
// CHECK-NEXT: } {lir.lanes, lir.unroll = 8 : i64}
// CHECK-NEXT: } {lir.unroll = 7 : i64}
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
