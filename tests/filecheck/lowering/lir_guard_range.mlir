// RUN: xdsl-opt %s --split-input-file -p lir-guard-range | filecheck %s

// A loop over sines runs with the variant for small arguments, and again with the other where one was large; what a
// launch has computed before is overwritten.
// CHECK-LABEL: lir.kernel @elements(%x: memref<8xf32>, %y: memref<8xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %0 = arith.constant 0 : i32
// CHECK-NEXT: %large = scf.for %i = %lo to %hi step %c1 iter_args(%large_1 = %0) -> (i32) {
// CHECK-NEXT: %a = memref.load %x[%i] : memref<8xf32>
// CHECK-NEXT: %s = lir.sin_small %a : f32
// CHECK-NEXT: memref.store %s, %y[%i] : memref<8xf32>
// CHECK-NEXT: %1 = math.absf %a : f32
// CHECK-NEXT: %2 = arith.constant 6.553600e+04 : f32
// CHECK-NEXT: %3 = arith.cmpf ogt, %1, %2 : f32
// CHECK-NEXT: %4 = arith.extui %3 : i1 to i32
// CHECK-NEXT: %5 = arith.ori %large_1, %4 : i32
// CHECK-NEXT: scf.yield %5 : i32
// CHECK-NEXT: } {lir.guarded = 1 : i64}
// CHECK-NEXT: %again = arith.cmpi ne, %large, %0 : i32
// CHECK-NEXT: scf.if %again {
// CHECK-NEXT: scf.for %i_1 = %lo to %hi step %c1 {
// CHECK-NEXT: %a_1 = memref.load %x[%i_1] : memref<8xf32>
// CHECK-NEXT: %s_1 = math.sin %a_1 : f32
// CHECK-NEXT: memref.store %s_1, %y[%i_1] : memref<8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @elements(%x: memref<8xf32>, %y: memref<8xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %a = memref.load %x[%i] : memref<8xf32>
    %s = math.sin %a : f32
    memref.store %s, %y[%i] : memref<8xf32>
  }
  lir.return
}

// -----

// Arguments of each width have a flag; a sum is that of one run or the other.
// CHECK-LABEL: lir.kernel @both_widths(%x: memref<8xf32>, %y: memref<8xf64>, %o: memref<1xf64>, %lo: index, %hi: index) {
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %zero = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: %0 = arith.constant 0 : i32
// CHECK-NEXT: %1 = arith.constant 0 : i64
// CHECK-NEXT: %sum, %large, %large_1 = scf.for %i = %lo to %hi step %c1 iter_args(%acc = %zero, %large_2 = %0, %large_3 = %1) -> (f64, i32, i64) {
// CHECK-NEXT: %a = memref.load %x[%i] : memref<8xf32>
// CHECK-NEXT: %b = memref.load %y[%i] : memref<8xf64>
// CHECK-NEXT: %c = lir.cos_small %a : f32
// CHECK-NEXT: %t = lir.tan_small %b : f64
// CHECK-NEXT: %wide = arith.extf %c : f32 to f64
// CHECK-NEXT: %p = arith.mulf %wide, %t : f64
// CHECK-NEXT: %next = arith.addf %acc, %p : f64
// CHECK-NEXT: %2 = math.absf %a : f32
// CHECK-NEXT: %3 = arith.constant 6.553600e+04 : f32
// CHECK-NEXT: %4 = arith.cmpf ogt, %2, %3 : f32
// CHECK-NEXT: %5 = arith.extui %4 : i1 to i32
// CHECK-NEXT: %6 = arith.ori %large_2, %5 : i32
// CHECK-NEXT: %7 = math.absf %b : f64
// CHECK-NEXT: %8 = arith.constant 0x41D0000000000000 : f64
// CHECK-NEXT: %9 = arith.cmpf ogt, %7, %8 : f64
// CHECK-NEXT: %10 = arith.extui %9 : i1 to i64
// CHECK-NEXT: %11 = arith.ori %large_3, %10 : i64
// CHECK-NEXT: scf.yield %next, %6, %11 : f64, i32, i64
// CHECK-NEXT: }
// CHECK-NEXT: %12 = arith.cmpi ne, %large, %0 : i32
// CHECK-NEXT: %13 = arith.cmpi ne, %large_1, %1 : i64
// CHECK-NEXT: %again = arith.ori %12, %13 : i1
// CHECK-NEXT: %sum_1 = scf.if %again -> (f64) {
// CHECK-NEXT: %sum_2 = scf.for %i_1 = %lo to %hi step %c1 iter_args(%acc_1 = %zero) -> (f64) {
// CHECK-NEXT: %a_1 = memref.load %x[%i_1] : memref<8xf32>
// CHECK-NEXT: %b_1 = memref.load %y[%i_1] : memref<8xf64>
// CHECK-NEXT: %c_1 = math.cos %a_1 : f32
// CHECK-NEXT: %t_1 = math.tan %b_1 : f64
// CHECK-NEXT: %wide_1 = arith.extf %c_1 : f32 to f64
// CHECK-NEXT: %p_1 = arith.mulf %wide_1, %t_1 : f64
// CHECK-NEXT: %next_1 = arith.addf %acc_1, %p_1 : f64
// CHECK-NEXT: scf.yield %next_1 : f64
// CHECK-NEXT: }
// CHECK-NEXT: scf.yield %sum_2 : f64
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %sum : f64
// CHECK-NEXT: }
// CHECK-NEXT: memref.store %sum_1, %o[%lo] : memref<1xf64>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @both_widths(%x: memref<8xf32>, %y: memref<8xf64>, %o: memref<1xf64>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %sum = scf.for %i = %lo to %hi step %c1 iter_args(%acc = %zero) -> (f64) {
    %a = memref.load %x[%i] : memref<8xf32>
    %b = memref.load %y[%i] : memref<8xf64>
    %c = math.cos %a : f32
    %t = math.tan %b : f64
    %wide = arith.extf %c : f32 to f64
    %p = arith.mulf %wide, %t : f64
    %next = arith.addf %acc, %p : f64
    scf.yield %next : f64
  }
  memref.store %sum, %o[%lo] : memref<1xf64>
  lir.return
}

// -----

// What reads that it writes runs once, and so does a loop with another in it.
// CHECK-LABEL: lir.kernel @in_place(%x: memref<8xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: scf.for %i = %lo to %hi step %c1 {
// CHECK-NEXT: %a = memref.load %x[%i] : memref<8xf32>
// CHECK-NEXT: %s = math.sin %a : f32
// CHECK-NEXT: memref.store %s, %x[%i] : memref<8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @in_place(%x: memref<8xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %a = memref.load %x[%i] : memref<8xf32>
    %s = math.sin %a : f32
    memref.store %s, %x[%i] : memref<8xf32>
  }
  lir.return
}

// -----

// A call outside of loops branches: where the argument is small, nothing waits for the other variant.
// CHECK-LABEL: lir.kernel @one
// CHECK-NEXT: %a = memref.load %x[] : memref<f32>
// CHECK-NEXT: %0 = math.absf %a : f32
// CHECK-NEXT: %1 = arith.constant 6.553600e+04 : f32
// CHECK-NEXT: %small = arith.cmpf ole, %0, %1 : f32
// CHECK-NEXT: %s = scf.if %small -> (f32) {
// CHECK-NEXT: %s_1 = lir.sin_small %a : f32
// CHECK-NEXT: scf.yield %s_1 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %s_2 = math.sin %a : f32
// CHECK-NEXT: scf.yield %s_2 : f32
// CHECK-NEXT: }
// CHECK-NEXT: memref.store %s, %y[] : memref<f32>
lir.kernel @one(%x: memref<f32>, %y: memref<f32>, %lo: index, %hi: index) {
  %a = memref.load %x[] : memref<f32>
  %s = math.sin %a : f32
  memref.store %s, %y[] : memref<f32>
  lir.return
}
