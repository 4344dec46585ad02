// RUN: xdsl-opt %s --split-input-file -p lir-merge-lengths | filecheck %s
// RUN: xdsl-opt %s --split-input-file -p lir-merge-lengths,lir-plan-memory,lir-check-bounds | filecheck %s --check-prefix=CHECKED
// RUN: xdsl-opt %s --split-input-file -p lir-merge-lengths,lir-plan-memory -t numba | filecheck %s --check-prefix=PYTHON

// Two kernels that are one of any length, and another one that has a number of its own.
// CHECK-LABEL: lir.program @lines {
// CHECK: lir.launch @k0 over 7 by 7 reads(%x, %s : memref<7xf32>, memref<f32>) writes(%0 : memref<7xf32>)
// CHECK-NEXT: lir.launch @k0 over 96 by 48 reads(%y, %s : memref<96xf32>, memref<f32>) writes(%1 : memref<96xf32>)
// CHECK-NEXT: lir.launch @k2 over 5 by 5 reads(%z, %s : memref<5xf32>, memref<f32>) writes(%2 : memref<5xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @k0(%x: memref<?xf32>, %s: memref<f32>, %0: memref<?xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %a = memref.load %s[] : memref<f32>
// CHECK-NEXT: scf.for %i = %lo to %hi step %c1 {
// CHECK-NEXT: %b = memref.load %x[%i] : memref<?xf32>
// CHECK-NEXT: %c = arith.mulf %a, %b : f32
// CHECK-NEXT: memref.store %c, %0[%i] : memref<?xf32>
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @k2(%z: memref<5xf32>, %s: memref<f32>, %0: memref<5xf32>, %lo: index, %hi: index) {
// CHECK-NOT: lir.kernel
// CHECKED-LABEL: lir.program @lines
// CHECKED-NOT: lir.check
// CHECKED-LABEL: lir.program @shifted
// PYTHON: @kernel('f32[hi]', 'f32[]', 'f32[hi]')
// PYTHON-NEXT: def k0(x, s, a2, lo, hi):
// PYTHON: k0(x, s, output_0, 0, 7)
lir.program @lines {
  %x = lir.input "x" : memref<7xf32>
  %y = lir.input "y" : memref<96xf32>
  %z = lir.input "z" : memref<5xf32>
  %s = lir.input "s" : memref<f32>
  %0 = lir.output 0 : memref<7xf32>
  %1 = lir.output 1 : memref<96xf32>
  %2 = lir.output 2 : memref<5xf32>
  lir.launch @k0 over 7 by 7 reads(%x, %s : memref<7xf32>, memref<f32>) writes(%0 : memref<7xf32>)
  lir.launch @k1 over 96 by 48 reads(%y, %s : memref<96xf32>, memref<f32>) writes(%1 : memref<96xf32>)
  lir.launch @k2 over 5 by 5 reads(%z, %s : memref<5xf32>, memref<f32>) writes(%2 : memref<5xf32>)
}
lir.kernel @k0(%x: memref<7xf32>, %s: memref<f32>, %0: memref<7xf32>, %lo: index, %hi: index) {
  %c7 = arith.constant 7 : index
  %c1 = arith.constant 1 : index
  %a = memref.load %s[] : memref<f32>
  scf.for %i = %lo to %hi step %c1 {
    %b = memref.load %x[%i] : memref<7xf32>
    %c = arith.mulf %a, %b : f32
    memref.store %c, %0[%i] : memref<7xf32>
  }
  lir.return
}
lir.kernel @k1(%y: memref<96xf32>, %s: memref<f32>, %0: memref<96xf32>, %lo: index, %hi: index) {
  %c96 = arith.constant 96 : index
  %c1 = arith.constant 1 : index
  %a = memref.load %s[] : memref<f32>
  scf.for %i = %lo to %hi step %c1 {
    %b = memref.load %y[%i] : memref<96xf32>
    %c = arith.mulf %a, %b : f32
    memref.store %c, %0[%i] : memref<96xf32>
  }
  lir.return
}
lir.kernel @k2(%z: memref<5xf32>, %s: memref<f32>, %0: memref<5xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  %h = arith.constant 5.000000e-01 : f32
  scf.for %i = %lo to %hi step %c1 {
    %b = memref.load %z[%i] : memref<5xf32>
    %c = arith.mulf %h, %b : f32
    memref.store %c, %0[%i] : memref<5xf32>
  }
  lir.return
}

// -----

// What is read from a neighbour, or of a line that is not as long, stays.
// CHECK-LABEL: lir.program @shifted {
// CHECK: lir.kernel @k0(%x: memref<7xf32>, %0: memref<7xf32>, %lo: index, %hi: index) {
// CHECK: lir.kernel @k1(%x: memref<9xf32>, %0: memref<9xf32>, %lo: index, %hi: index) {
lir.program @shifted {
  %x = lir.input "x" : memref<7xf32>
  %y = lir.input "y" : memref<9xf32>
  %0 = lir.output 0 : memref<7xf32>
  %1 = lir.output 1 : memref<9xf32>
  lir.launch @k0 over 7 by 7 reads(%x : memref<7xf32>) writes(%0 : memref<7xf32>)
  lir.launch @k1 over 9 by 9 reads(%y : memref<9xf32>) writes(%1 : memref<9xf32>)
}
lir.kernel @k0(%x: memref<7xf32>, %0: memref<7xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.load %x[%c0] : memref<7xf32>
  scf.for %i = %lo to %hi step %c1 {
    memref.store %first, %0[%i] : memref<7xf32>
  }
  lir.return
}
lir.kernel @k1(%x: memref<9xf32>, %0: memref<9xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.load %x[%c0] : memref<9xf32>
  scf.for %i = %lo to %hi step %c1 {
    memref.store %first, %0[%i] : memref<9xf32>
  }
  lir.return
}
