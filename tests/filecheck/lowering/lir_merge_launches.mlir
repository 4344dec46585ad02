// RUN: xdsl-opt %s -p 'lir-merge-launches{l2_bytes=4096 min_merged_bytes=64}' --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'lir-merge-launches{l2_bytes=65536 min_merged_bytes=64}' --split-input-file | filecheck %s --check-prefix=APART

// The second kernel reads what the first has written of the same column, and the matrix, which is more than L2 holds.
// A chunk has as many columns as half of L2 holds.
// CHECK-LABEL: lir.program @sums
// CHECK: lir.launch @k0_max_sum over 1000 by 128 reads(%x : memref<2x1000xf32>) writes(%best, %sums : memref<1000xf32>, memref<1000xf32>)
// CHECK: lir.kernel @k0_max_sum(%x: memref<2x1000xf32>, %best: memref<1000xf32>, %sums: memref<1000xf32>, %lo: index, %hi: index) {
// CHECK: scf.for %i = %lo to %hi step %c1 {
// CHECK: memref.store %{{.*}}, %best[%i] : memref<1000xf32>
// CHECK: scf.for %i_1 = %lo to %hi step %c1{{.*}} {
// CHECK: memref.load %best[%i_1] : memref<1000xf32>
// APART-LABEL: lir.program @sums
// APART: lir.launch @k0_max over 1000 by 1000
// APART: lir.launch @k1_sum over 1000 by 1000
builtin.module {
  lir.program @sums {
    %x = lir.input "x" : memref<2x1000xf32>
    %best = lir.slot : memref<1000xf32>
    lir.launch @k0_max over 1000 by 1000 reads(%x : memref<2x1000xf32>) writes(%best : memref<1000xf32>)
    %sums = lir.output 0 : memref<1000xf32>
    lir.launch @k1_sum over 1000 by 1000 reads(%x, %best : memref<2x1000xf32>, memref<1000xf32>) writes(%sums : memref<1000xf32>)
  }
  lir.kernel @k0_max(%x: memref<2x1000xf32>, %best: memref<1000xf32>, %lo: index, %hi: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %lo to %hi step %c1 {
      %a = memref.load %x[%c0, %i] : memref<2x1000xf32>
      %b = memref.load %x[%c1, %i] : memref<2x1000xf32>
      %m = arith.maximumf %a, %b : f32
      memref.store %m, %best[%i] : memref<1000xf32>
    }
    lir.return
  }
  lir.kernel @k1_sum(%x: memref<2x1000xf32>, %best: memref<1000xf32>, %sums: memref<1000xf32>, %lo: index, %hi: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %lo to %hi step %c1 {
      %a = memref.load %x[%c0, %i] : memref<2x1000xf32>
      %b = memref.load %best[%i] : memref<1000xf32>
      %s = arith.addf %a, %b : f32
      memref.store %s, %sums[%i] : memref<1000xf32>
    }
    lir.return
  }
}

// -----

// What the second kernel reads another iteration of the first writes.
// CHECK-LABEL: lir.program @neighbours
// CHECK: lir.launch @k0 over 1000 by 1000
// CHECK: lir.launch @k1 over 1000 by 1000
// APART-LABEL: lir.program @neighbours
builtin.module {
  lir.program @neighbours {
    %x = lir.input "x" : memref<1000xf32>
    %y = lir.slot : memref<1000xf32>
    lir.launch @k0 over 1000 by 1000 reads(%x : memref<1000xf32>) writes(%y : memref<1000xf32>)
    %z = lir.output 0 : memref<1000xf32>
    lir.launch @k1 over 1000 by 1000 reads(%x, %y : memref<1000xf32>, memref<1000xf32>) writes(%z : memref<1000xf32>)
  }
  lir.kernel @k0(%x: memref<1000xf32>, %y: memref<1000xf32>, %lo: index, %hi: index) {
    %c1 = arith.constant 1 : index
    scf.for %i = %lo to %hi step %c1 {
      %a = memref.load %x[%i] : memref<1000xf32>
      memref.store %a, %y[%i] : memref<1000xf32>
    }
    lir.return
  }
  lir.kernel @k1(%x: memref<1000xf32>, %y: memref<1000xf32>, %z: memref<1000xf32>, %lo: index, %hi: index) {
    %c1 = arith.constant 1 : index
    %c999 = arith.constant 999 : index
    scf.for %i = %lo to %hi step %c1 {
      %k = arith.subi %c999, %i : index
      %a = memref.load %x[%i] : memref<1000xf32>
      %b = memref.load %y[%k] : memref<1000xf32>
      %s = arith.addf %a, %b : f32
      memref.store %s, %z[%i] : memref<1000xf32>
    }
    lir.return
  }
}

// -----

// A kernel may have 1 MiB on the stack: these have half of it each, and a little more.
// CHECK-LABEL: lir.program @scratch
// CHECK: lir.launch @k0 over 1000 by 1000
// CHECK: lir.launch @k1 over 1000 by 1000
// APART-LABEL: lir.program @scratch
builtin.module {
  lir.program @scratch {
    %x = lir.input "x" : memref<2x1000xf32>
    %y = lir.output 0 : memref<1000xf32>
    lir.launch @k0 over 1000 by 1000 reads(%x : memref<2x1000xf32>) writes(%y : memref<1000xf32>)
    %z = lir.output 1 : memref<1000xf32>
    lir.launch @k1 over 1000 by 1000 reads(%x : memref<2x1000xf32>) writes(%z : memref<1000xf32>)
  }
  lir.kernel @k0(%x: memref<2x1000xf32>, %y: memref<1000xf32>, %lo: index, %hi: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %scratch = memref.alloca() : memref<131073xf32>
    scf.for %i = %lo to %hi step %c1 {
      %a = memref.load %x[%c0, %i] : memref<2x1000xf32>
      memref.store %a, %scratch[%c0] : memref<131073xf32>
      memref.store %a, %y[%i] : memref<1000xf32>
    }
    lir.return
  }
  lir.kernel @k1(%x: memref<2x1000xf32>, %z: memref<1000xf32>, %lo: index, %hi: index) {
    %c1 = arith.constant 1 : index
    %scratch = memref.alloca() : memref<131072xf32>
    scf.for %i = %lo to %hi step %c1 {
      %a = memref.load %x[%c1, %i] : memref<2x1000xf32>
      memref.store %a, %scratch[%c1] : memref<131072xf32>
      memref.store %a, %z[%i] : memref<1000xf32>
    }
    lir.return
  }
}
