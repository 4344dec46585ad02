// RUN: xdsl-opt %s --split-input-file -p lir-tile-matmuls,lir-outline-loops,lir-mark-unrolled | filecheck %s

// A loop over small launches becomes one kernel that has the loop inside of it.

// What is gone along and stacked is found by arithmetic; a carry is stored over the one before, and copied at the end
// to where the loop has it.
// CHECK-LABEL: lir.program @forward {
// CHECK-NEXT: %xs = lir.input "xs" : memref<7x4xf32>
// CHECK-NEXT: %ys = lir.output 0 : memref<7x4xf32>
// CHECK-NEXT: %c = lir.slot : memref<2x4xf32>
// CHECK-NEXT: %first = lir.view %c at 0 : memref<2x4xf32> to memref<4xf32>
// CHECK-NEXT: %x0 = lir.view %xs at 0 : memref<7x4xf32> to memref<4xf32>
// CHECK-NEXT: lir.launch @k0_add over 4 by 4 reads(%x0, %x0 : memref<4xf32>, memref<4xf32>) writes(%first : memref<4xf32>)
// CHECK-NEXT: %s = lir.slot : memref<4xf32>
// CHECK-NEXT: %xs_1 = lir.view %xs at 0 : memref<7x4xf32> to memref<28xf32>
// CHECK-NEXT: %c_1 = lir.view %c at 0 : memref<2x4xf32> to memref<4xf32>
// CHECK-NEXT: %c_2 = lir.view %c at 4 : memref<2x4xf32> to memref<4xf32>
// CHECK-NEXT: %ys_1 = lir.view %ys at 0 : memref<7x4xf32> to memref<28xf32>
// CHECK-NEXT: lir.launch @k1_loop_add over 7 by 7 reads(%xs_1 : memref<28xf32>) writes(%c_1, %c_2, %s, %ys_1 : memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<28xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @k0_add(%a: memref<4xf32>, %b: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: scf.for %i = %lo to %hi step %c1 {
// CHECK-NEXT: %x = memref.load %a[%i] : memref<4xf32>
// CHECK-NEXT: %y = memref.load %b[%i] : memref<4xf32>
// CHECK-NEXT: %z = arith.addf %x, %y : f32
// CHECK-NEXT: memref.store %z, %o[%i] : memref<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @k1_loop_add(%xs: memref<28xf32>, %c: memref<4xf32>, %c_1: memref<4xf32>, %s: memref<4xf32>, %ys: memref<28xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c4 = arith.constant 4 : index
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c5 = arith.constant 5 : index
// CHECK-NEXT: scf.for %n = %lo to %hi step %c1 {
// CHECK-NEXT: %0 = arith.muli %n, %c4 : index
// CHECK-NEXT: scf.for %i = %c0 to %c4 step %c1 {
// CHECK-NEXT: %x = memref.load %c[%i] : memref<4xf32>
// CHECK-NEXT: %1 = arith.addi %0, %i : index
// CHECK-NEXT: %y = memref.load %xs[%1] : memref<28xf32>
// CHECK-NEXT: %z = arith.addf %x, %y : f32
// CHECK-NEXT: memref.store %z, %s[%i] : memref<4xf32>
// CHECK-NEXT: } {lir.unroll = 4 : i64}
// CHECK-NEXT: scf.for %i_1 = %c0 to %c4 step %c1 {
// CHECK-NEXT: %x_1 = memref.load %s[%i_1] : memref<4xf32>
// CHECK-NEXT: %y_1 = memref.load %c[%i_1] : memref<4xf32>
// CHECK-NEXT: %z_1 = arith.addf %x_1, %y_1 : f32
// CHECK-NEXT: memref.store %z_1, %c[%i_1] : memref<4xf32>
// CHECK-NEXT: } {lir.unroll = 4 : i64}
// CHECK-NEXT: scf.for %i_2 = %c0 to %c4 step %c1 {
// CHECK-NEXT: %x_2 = memref.load %s[%i_2] : memref<4xf32>
// CHECK-NEXT: %y_2 = memref.load %s[%i_2] : memref<4xf32>
// CHECK-NEXT: %z_2 = arith.addf %x_2, %y_2 : f32
// CHECK-NEXT: %2 = arith.addi %0, %i_2 : index
// CHECK-NEXT: memref.store %z_2, %ys[%2] : memref<28xf32>
// CHECK-NEXT: } {lir.unroll = 4 : i64}
// CHECK-NEXT: %3 = arith.cmpi slt, %c5, %n : index
// CHECK-NEXT: scf.if %3 {
// CHECK-NEXT: scf.for %j = %c0 to %c4 step %c1 {
// CHECK-NEXT: %4 = memref.load %c[%j] : memref<4xf32>
// CHECK-NEXT: memref.store %4, %c_1[%j] : memref<4xf32>
// CHECK-NEXT: } {lir.unroll = 4 : i64}
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-NEXT: }
builtin.module {
  lir.program @forward {
    %xs = lir.input "xs" : memref<7x4xf32>
    %ys = lir.output 0 : memref<7x4xf32>
    %c = lir.slot : memref<2x4xf32>
    %first = lir.view %c at 0 : memref<2x4xf32> to memref<4xf32>
    %x0 = lir.view %xs at 0 : memref<7x4xf32> to memref<4xf32>
    lir.launch @k0_add over 4 by 4 reads(%x0, %x0 : memref<4xf32>, memref<4xf32>) writes(%first : memref<4xf32>)
    lir.loop %t = 0 to 7 {
      %old = lir.step %c at %t modulo 2 : memref<2x4xf32> to memref<4xf32>
      %new = lir.step %c at %t shift 1 modulo 2 : memref<2x4xf32> to memref<4xf32>
      %x = lir.step %xs at %t : memref<7x4xf32> to memref<4xf32>
      %y = lir.step %ys at %t : memref<7x4xf32> to memref<4xf32>
      %s = lir.slot : memref<4xf32>
      lir.launch @k0_add over 4 by 4 reads(%old, %x : memref<4xf32>, memref<4xf32>) writes(%s : memref<4xf32>)
      lir.launch @k0_add over 4 by 4 reads(%s, %old : memref<4xf32>, memref<4xf32>) writes(%new : memref<4xf32>)
      lir.launch @k0_add over 4 by 4 reads(%s, %s : memref<4xf32>, memref<4xf32>) writes(%y : memref<4xf32>)
    }
  }
  lir.kernel @k0_add(%a: memref<4xf32>, %b: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
    %c1 = arith.constant 1 : index
    scf.for %i = %lo to %hi step %c1 {
      %x = memref.load %a[%i] : memref<4xf32>
      %y = memref.load %b[%i] : memref<4xf32>
      %z = arith.addf %x, %y : f32
      memref.store %z, %o[%i] : memref<4xf32>
    }
    lir.return
  }
}

// -----

// In reverse the number of the iteration is mirrored. A long loop is cut into pieces, one behind the other. A small product is loops.
// CHECK-LABEL: lir.program @backward {
// CHECK-NEXT: %xs = lir.input "xs" : memref<10000000x2xf32>
// CHECK-NEXT: %w = lir.param "w" : memref<2x2xf32>
// CHECK-NEXT: %ys = lir.output 0 : memref<10000000x2xf32>
// CHECK-NEXT: %xs_1 = lir.view %xs at 0 : memref<10000000x2xf32> to memref<20000000xf32>
// CHECK-NEXT: %w_1 = lir.view %w at 0 : memref<2x2xf32> to memref<4xf32>
// CHECK-NEXT: %ys_1 = lir.view %ys at 0 : memref<10000000x2xf32> to memref<20000000xf32>
// CHECK-NEXT: lir.launch @k1_loop_matmul over 10000000 by 453438 in_order reads(%xs_1, %w_1 : memref<20000000xf32>, memref<4xf32>) writes(%ys_1 : memref<20000000xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @k1_loop_matmul(%xs: memref<20000000xf32>, %w: memref<4xf32>, %ys: memref<20000000xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c9999999 = arith.constant 9999999 : index
// CHECK-NEXT: %c2 = arith.constant 2 : index
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: scf.for %n = %lo to %hi step %c1 {
// CHECK-NEXT: %0 = arith.subi %c9999999, %n : index
// CHECK-NEXT: %1 = arith.muli %0, %c2 : index
// CHECK-NEXT: scf.for %j = %c0 to %c2 step %c1 {
// CHECK-NEXT: %2 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %3 = scf.for %k = %c0 to %c2 step %c1 iter_args(%4 = %2) -> (f32) {
// CHECK-NEXT: %5 = arith.addi %1, %k : index
// CHECK-NEXT: %a = memref.load %xs[%5] : memref<20000000xf32>
// CHECK-NEXT: %6 = arith.muli %k, %c2 : index
// CHECK-NEXT: %7 = arith.addi %6, %j : index
// CHECK-NEXT: %b = memref.load %w[%7] : memref<4xf32>
// CHECK-NEXT: %8 = arith.mulf %a, %b : f32
// CHECK-NEXT: %9 = arith.addf %4, %8 fastmath<reassoc,nsz> : f32
// CHECK-NEXT: scf.yield %9 : f32
// CHECK-NEXT: } {lir.unroll = 2 : i64}
// CHECK-NEXT: %10 = arith.addi %1, %j : index
// CHECK-NEXT: memref.store %3, %ys[%10] : memref<20000000xf32>
// CHECK-NEXT: } {lir.unroll = 2 : i64}
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-NEXT: }
builtin.module {
  lir.program @backward {
    %xs = lir.input "xs" : memref<10000000x2xf32>
    %w = lir.param "w" : memref<2x2xf32>
    %ys = lir.output 0 : memref<10000000x2xf32>
    lir.loop %t = 0 to 10000000 reverse {
      %x = lir.step %xs at %t : memref<10000000x2xf32> to memref<2xf32>
      %y = lir.step %ys at %t : memref<10000000x2xf32> to memref<2xf32>
      %row = lir.view %x at 0 : memref<2xf32> to memref<1x2xf32>
      %out = lir.view %y at 0 : memref<2xf32> to memref<1x2xf32>
      lir.launch @k0_matmul over 1 by 1 reads(%row, %w : memref<1x2xf32>, memref<2x2xf32>) writes(%out : memref<1x2xf32>)
    }
  }
  lir.kernel @k0_matmul(%a: memref<1x2xf32>, %b: memref<2x2xf32>, %o: memref<1x2xf32>, %lo: index, %hi: index) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %c0 to %c2 : memref<1x2xf32>, memref<2x2xf32>, memref<1x2xf32>
    lir.return
  }
}

// -----

// Launches of several pieces become parts, which run all iterations and do not wait for each other.
// CHECK-LABEL: lir.program @parts {
// CHECK-NEXT: %xs = lir.input "xs" : memref<7x4xf32>
// CHECK-NEXT: %ys = lir.output 0 : memref<7x4xf32>
// CHECK-NEXT: %xs_1 = lir.view %xs at 0 : memref<7x4xf32> to memref<28xf32>
// CHECK-NEXT: %ys_1 = lir.view %ys at 0 : memref<7x4xf32> to memref<28xf32>
// CHECK-NEXT: lir.launch @k1_loop_add over 2 by 1 reads(%xs_1 : memref<28xf32>) writes(%ys_1 : memref<28xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @k1_loop_add(%xs: memref<28xf32>, %ys: memref<28xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c7 = arith.constant 7 : index
// CHECK-NEXT: %c4 = arith.constant 4 : index
// CHECK-NEXT: %c2 = arith.constant 2 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: scf.for %part = %lo to %hi step %c1 {
// CHECK-NEXT: %0 = arith.constant 2 : index
// CHECK-NEXT: %1 = arith.muli %part, %0 : index
// CHECK-NEXT: scf.for %n = %c0 to %c7 step %c1 {
// CHECK-NEXT: %2 = arith.muli %n, %c4 : index
// CHECK-NEXT: %3 = arith.addi %2, %1 : index
// CHECK-NEXT: %4 = arith.addi %2, %1 : index
// CHECK-NEXT: %5 = arith.addi %2, %1 : index
// CHECK-NEXT: scf.for %i = %c0 to %c2 step %c1 {
// CHECK-NEXT: %6 = arith.addi %3, %i : index
// CHECK-NEXT: %x = memref.load %xs[%6] : memref<28xf32>
// CHECK-NEXT: %7 = arith.addi %4, %i : index
// CHECK-NEXT: %y = memref.load %xs[%7] : memref<28xf32>
// CHECK-NEXT: %z = arith.addf %x, %y : f32
// CHECK-NEXT: %8 = arith.addi %5, %i : index
// CHECK-NEXT: memref.store %z, %ys[%8] : memref<28xf32>
// CHECK-NEXT: } {lir.unroll = 2 : i64}
// CHECK-NEXT: } {lir.unroll = 7 : i64}
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-NEXT: }
builtin.module {
  lir.program @parts {
    %xs = lir.input "xs" : memref<7x4xf32>
    %ys = lir.output 0 : memref<7x4xf32>
    lir.loop %t = 0 to 7 {
      %x = lir.step %xs at %t : memref<7x4xf32> to memref<4xf32>
      %y = lir.step %ys at %t : memref<7x4xf32> to memref<4xf32>
      lir.launch @k0_add over 4 by 2 reads(%x, %x : memref<4xf32>, memref<4xf32>) writes(%y : memref<4xf32>)
    }
  }
  lir.kernel @k0_add(%a: memref<4xf32>, %b: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
    %c1 = arith.constant 1 : index
    scf.for %i = %lo to %hi step %c1 {
      %x = memref.load %a[%i] : memref<4xf32>
      %y = memref.load %b[%i] : memref<4xf32>
      %z = arith.addf %x, %y : f32
      memref.store %z, %o[%i] : memref<4xf32>
    }
    lir.return
  }
}

// -----

// Where a piece reads what others have written, they are waited for: the loop stays.
// CHECK-LABEL: lir.program @large {
// CHECK-NEXT: %xs = lir.input "xs" : memref<7x4xf32>
// CHECK-NEXT: %s = lir.output 0 : memref<4xf32>
// CHECK-NEXT: %y = lir.slot : memref<4xf32>
// CHECK-NEXT: lir.loop %t = 0 to 7 {
// CHECK-NEXT: %x = lir.step %xs at %t : memref<7x4xf32> to memref<4xf32>
// CHECK-NEXT: lir.launch @k0_add over 4 by 2 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>)
// CHECK-NEXT: lir.launch @k0_add over 4 by 2 reads(%y : memref<4xf32>) writes(%s : memref<4xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @k0_add(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c3 = arith.constant 3 : index
// CHECK-NEXT: scf.for %i = %lo to %hi step %c1 {
// CHECK-NEXT: %x = memref.load %a[%i] : memref<4xf32>
// CHECK-NEXT: %j = arith.subi %c3, %i : index
// CHECK-NEXT: %y = memref.load %a[%j] : memref<4xf32>
// CHECK-NEXT: %z = arith.addf %x, %y : f32
// CHECK-NEXT: memref.store %z, %o[%i] : memref<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-NEXT: }
builtin.module {
  lir.program @large {
    %xs = lir.input "xs" : memref<7x4xf32>
    %s = lir.output 0 : memref<4xf32>
    %y = lir.slot : memref<4xf32>
    lir.loop %t = 0 to 7 {
      %x = lir.step %xs at %t : memref<7x4xf32> to memref<4xf32>
      lir.launch @k0_add over 4 by 2 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>)
      lir.launch @k0_add over 4 by 2 reads(%y : memref<4xf32>) writes(%s : memref<4xf32>)
    }
  }
  lir.kernel @k0_add(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    scf.for %i = %lo to %hi step %c1 {
      %x = memref.load %a[%i] : memref<4xf32>
      %j = arith.subi %c3, %i : index
      %y = memref.load %a[%j] : memref<4xf32>
      %z = arith.addf %x, %y : f32
      memref.store %z, %o[%i] : memref<4xf32>
    }
    lir.return
  }
}

// -----

// Each part has buffers of its own for what stays where it is: a carry, which comes and goes, and what an iteration
// itself needs.
// CHECK-LABEL: lir.program @own {
// CHECK: lir.launch @k1_loop_add over 2 by 1 reads(%xs_1 : memref<28xf32>) writes(%c_1, %c_2 : memref<4xf32>, memref<4xf32>)
// CHECK: lir.kernel @k1_loop_add(%xs: memref<28xf32>, %c: memref<4xf32>, %c_1: memref<4xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c_2 = memref.alloca() : memref<2xf32>
// CHECK-NEXT: %c_3 = memref.alloca() : memref<2xf32>
// CHECK-NEXT: %s = memref.alloca() : memref<2xf32>
// CHECK: scf.for %part = %lo to %hi step %c1 {
// CHECK: %2 = arith.addi %1, %j : index
// CHECK-NEXT: %3 = memref.load %c[%2] : memref<4xf32>
// CHECK-NEXT: memref.store %3, %c_2[%j] : memref<2xf32>
// CHECK: %5 = memref.load %c_1[%4] : memref<4xf32>
// CHECK-NEXT: memref.store %5, %c_3[%j_1] : memref<2xf32>
// CHECK: scf.for %n = %c0 to %c7 step %c1 {
// CHECK: %x = memref.load %c_2[%i] : memref<2xf32>
// CHECK: memref.store %z, %s[%i] : memref<2xf32>
// CHECK: %x_1 = memref.load %s[%i_1] : memref<2xf32>
// CHECK: memref.store %z_1, %c_2[%i_1] : memref<2xf32>
// CHECK: memref.store %{{.*}}, %c_3[%{{.*}}] : memref<2xf32>
// CHECK: [[A:%.*]] = memref.load %c_2[%{{.*}}] : memref<2xf32>
// CHECK-NEXT: memref.store [[A]], %c[%{{.*}}] : memref<4xf32>
// CHECK: [[B:%.*]] = memref.load %c_3[%{{.*}}] : memref<2xf32>
// CHECK-NEXT: memref.store [[B]], %c_1[%{{.*}}] : memref<4xf32>
builtin.module {
  lir.program @own {
    %xs = lir.input "xs" : memref<7x4xf32>
    %c = lir.output 0 : memref<2x4xf32>
    %c0 = lir.view %c at 0 : memref<2x4xf32> to memref<4xf32>
    %c1 = lir.view %c at 4 : memref<2x4xf32> to memref<4xf32>
    %x0 = lir.view %xs at 0 : memref<7x4xf32> to memref<4xf32>
    lir.launch @k0_add over 4 by 4 reads(%x0, %x0 : memref<4xf32>, memref<4xf32>) writes(%c0 : memref<4xf32>)
    lir.launch @k0_add over 4 by 4 reads(%x0, %x0 : memref<4xf32>, memref<4xf32>) writes(%c1 : memref<4xf32>)
    lir.loop %t = 0 to 7 {
      %a = lir.step %c at %t modulo 2 : memref<2x4xf32> to memref<4xf32>
      %o = lir.step %c at %t shift 1 modulo 2 : memref<2x4xf32> to memref<4xf32>
      %x = lir.step %xs at %t : memref<7x4xf32> to memref<4xf32>
      %s = lir.slot : memref<4xf32>
      lir.launch @k0_add over 4 by 2 reads(%a, %x : memref<4xf32>, memref<4xf32>) writes(%s : memref<4xf32>)
      lir.launch @k0_add over 4 by 2 reads(%s, %x : memref<4xf32>, memref<4xf32>) writes(%o : memref<4xf32>)
    }
  }
  lir.kernel @k0_add(%a: memref<4xf32>, %b: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
    %c1 = arith.constant 1 : index
    scf.for %i = %lo to %hi step %c1 {
      %x = memref.load %a[%i] : memref<4xf32>
      %y = memref.load %b[%i] : memref<4xf32>
      %z = arith.addf %x, %y : f32
      memref.store %z, %o[%i] : memref<4xf32>
    }
    lir.return
  }
}

// -----

// A while loop becomes one kernel. It asks in each iteration whether the run goes on. Buffers that nothing else uses
// are on its stack; the carry is there while the loop runs.
// CHECK-LABEL: lir.program @down {
// CHECK-NEXT: %n = lir.input "n" : memref<i64>
// CHECK-NEXT: %left = lir.output 0 : memref<i64>
// CHECK-NEXT: lir.launch @k2_copy over 1 by 1 reads(%n : memref<i64>) writes(%left : memref<i64>)
// CHECK-NEXT: %left_1 = lir.view %left at 0 : memref<i64> to memref<1xi64>
// CHECK-NEXT: lir.launch @k3_while_positive_less_copy over 1 by 1 writes(%left_1 : memref<1xi64>)
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @k2_copy(%n: memref<i64>, %o: memref<i64>, %lo: index, %hi: index) {
// CHECK-NEXT: %x = memref.load %n[] : memref<i64>
// CHECK-NEXT: memref.store %x, %o[] : memref<i64>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @k3_while_positive_less_copy(%left: memref<1xi64>, %lo: index, %hi: index) {
// CHECK-NEXT: %going = memref.alloca() : memref<1xi1>
// CHECK-NEXT: %fewer = memref.alloca() : memref<1xi64>
// CHECK-NEXT: %left_1 = memref.alloca() : memref<1xi64>
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %left_2 = memref.load %left[%c0] : memref<1xi64>
// CHECK-NEXT: memref.store %left_2, %left_1[%c0] : memref<1xi64>
// CHECK-NEXT: %0 = scf.while (%1 = %c0) : (index) -> index {
// CHECK-NEXT: %zero = arith.constant 0 : i64
// CHECK-NEXT: %x = memref.load %left_1[%c0] : memref<1xi64>
// CHECK-NEXT: %p = arith.cmpi sgt, %x, %zero : i64
// CHECK-NEXT: memref.store %p, %going[%c0] : memref<1xi1>
// CHECK-NEXT: %2 = lir.poll %1 of 5162220
// CHECK-NEXT: %going_1 = memref.load %going[%c0] : memref<1xi1>
// CHECK-NEXT: %3 = arith.andi %going_1, %2 : i1
// CHECK-NEXT: scf.condition(%3) %1 : index
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%4: index):
// CHECK-NEXT: %one = arith.constant 1 : i64
// CHECK-NEXT: %x_1 = memref.load %left_1[%c0] : memref<1xi64>
// CHECK-NEXT: %y = arith.subi %x_1, %one : i64
// CHECK-NEXT: memref.store %y, %fewer[%c0] : memref<1xi64>
// CHECK-NEXT: %x_2 = memref.load %fewer[%c0] : memref<1xi64>
// CHECK-NEXT: memref.store %x_2, %left_1[%c0] : memref<1xi64>
// CHECK-NEXT: %5 = arith.addi %4, %c1 : index
// CHECK-NEXT: scf.yield %5 : index
// CHECK-NEXT: }
// CHECK-NEXT: %left_3 = memref.load %left_1[%c0] : memref<1xi64>
// CHECK-NEXT: memref.store %left_3, %left[%c0] : memref<1xi64>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
builtin.module {
  lir.program @down {
    %n = lir.input "n" : memref<i64>
    %left = lir.output 0 : memref<i64>
    %going = lir.slot : memref<i1>
    lir.launch @k2_copy over 1 by 1 reads(%n : memref<i64>) writes(%left : memref<i64>)
    lir.while %going after {
      lir.launch @k0_positive over 1 by 1 reads(%left : memref<i64>) writes(%going : memref<i1>)
    } do {
      %fewer = lir.slot : memref<i64>
      lir.launch @k1_less over 1 by 1 reads(%left : memref<i64>) writes(%fewer : memref<i64>)
      lir.launch @k2_copy over 1 by 1 reads(%fewer : memref<i64>) writes(%left : memref<i64>)
    }
  }
  lir.kernel @k0_positive(%n: memref<i64>, %o: memref<i1>, %lo: index, %hi: index) {
    %zero = arith.constant 0 : i64
    %x = memref.load %n[] : memref<i64>
    %p = arith.cmpi sgt, %x, %zero : i64
    memref.store %p, %o[] : memref<i1>
    lir.return
  }
  lir.kernel @k1_less(%n: memref<i64>, %o: memref<i64>, %lo: index, %hi: index) {
    %one = arith.constant 1 : i64
    %x = memref.load %n[] : memref<i64>
    %y = arith.subi %x, %one : i64
    memref.store %y, %o[] : memref<i64>
    lir.return
  }
  lir.kernel @k2_copy(%n: memref<i64>, %o: memref<i64>, %lo: index, %hi: index) {
    %x = memref.load %n[] : memref<i64>
    memref.store %x, %o[] : memref<i64>
    lir.return
  }
}

// -----

// A branch in a loop becomes a part of the kernel that the loop becomes.
// CHECK-LABEL: lir.program @chosen {
// CHECK-NEXT: %ps = lir.input "ps" : memref<5xi1>
// CHECK-NEXT: %n = lir.input "n" : memref<i64>
// CHECK-NEXT: %left = lir.output 0 : memref<i64>
// CHECK-NEXT: lir.launch @k2_copy over 1 by 1 reads(%n : memref<i64>) writes(%left : memref<i64>)
// CHECK-NEXT: %fewer = lir.slot : memref<i64>
// CHECK-NEXT: %left_1 = lir.view %left at 0 : memref<i64> to memref<1xi64>
// CHECK-NEXT: %fewer_1 = lir.view %fewer at 0 : memref<i64> to memref<1xi64>
// CHECK-NEXT: lir.launch @k4_loop_if_less_copy over 5 by 5 reads(%ps : memref<5xi1>) writes(%left_1, %fewer_1 : memref<1xi64>, memref<1xi64>)
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @k2_copy(%n: memref<i64>, %o: memref<i64>, %lo: index, %hi: index) {
// CHECK-NEXT: %x = memref.load %n[] : memref<i64>
// CHECK-NEXT: memref.store %x, %o[] : memref<i64>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @k4_loop_if_less_copy(%ps: memref<5xi1>, %left: memref<1xi64>, %fewer: memref<1xi64>, %lo: index, %hi: index) {
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: scf.for %n = %lo to %hi step %c1 {
// CHECK-NEXT: %0 = arith.muli %n, %c1 : index
// CHECK-NEXT: %p = memref.load %ps[%0] : memref<5xi1>
// CHECK-NEXT: scf.if %p {
// CHECK-NEXT: %one = arith.constant 1 : i64
// CHECK-NEXT: %x = memref.load %left[%c0] : memref<1xi64>
// CHECK-NEXT: %y = arith.subi %x, %one : i64
// CHECK-NEXT: memref.store %y, %fewer[%c0] : memref<1xi64>
// CHECK-NEXT: } else {
// CHECK-NEXT: %x_1 = memref.load %left[%c0] : memref<1xi64>
// CHECK-NEXT: memref.store %x_1, %fewer[%c0] : memref<1xi64>
// CHECK-NEXT: }
// CHECK-NEXT: %x_2 = memref.load %fewer[%c0] : memref<1xi64>
// CHECK-NEXT: memref.store %x_2, %left[%c0] : memref<1xi64>
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
builtin.module {
  lir.program @chosen {
    %ps = lir.input "ps" : memref<5xi1>
    %n = lir.input "n" : memref<i64>
    %left = lir.output 0 : memref<i64>
    lir.launch @k2_copy over 1 by 1 reads(%n : memref<i64>) writes(%left : memref<i64>)
    lir.loop %i = 0 to 5 {
      %p = lir.step %ps at %i : memref<5xi1> to memref<i1>
      %fewer = lir.slot : memref<i64>
      lir.if %p {
        lir.launch @k1_less over 1 by 1 reads(%left : memref<i64>) writes(%fewer : memref<i64>)
      } else {
        lir.launch @k2_copy over 1 by 1 reads(%left : memref<i64>) writes(%fewer : memref<i64>)
      }
      lir.launch @k2_copy over 1 by 1 reads(%fewer : memref<i64>) writes(%left : memref<i64>)
    }
  }
  lir.kernel @k0_positive(%n: memref<i64>, %o: memref<i1>, %lo: index, %hi: index) {
    %zero = arith.constant 0 : i64
    %x = memref.load %n[] : memref<i64>
    %p = arith.cmpi sgt, %x, %zero : i64
    memref.store %p, %o[] : memref<i1>
    lir.return
  }
  lir.kernel @k1_less(%n: memref<i64>, %o: memref<i64>, %lo: index, %hi: index) {
    %one = arith.constant 1 : i64
    %x = memref.load %n[] : memref<i64>
    %y = arith.subi %x, %one : i64
    memref.store %y, %o[] : memref<i64>
    lir.return
  }
  lir.kernel @k2_copy(%n: memref<i64>, %o: memref<i64>, %lo: index, %hi: index) {
    %x = memref.load %n[] : memref<i64>
    memref.store %x, %o[] : memref<i64>
    lir.return
  }
}
