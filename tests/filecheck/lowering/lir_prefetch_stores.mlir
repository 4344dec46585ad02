// RUN: xdsl-opt %s --split-input-file -p 'lir-prefetch-stores{min_streamed_store_bytes=4096 store_block_bytes=128 store_distance_bytes=256}' | filecheck %s

// A long line is cut into blocks of two cache lines, and what is left over.
// CHECK-LABEL: lir.kernel @line
// CHECK: [[COUNT:%.*]] = arith.subi %hi, %lo : index
// CHECK: [[BLOCKS:%.*]] = arith.divsi [[COUNT]], %{{.*}} : index
// CHECK: [[MIDDLE:%.*]] = arith.addi %lo, %{{.*}} : index
// CHECK: scf.for %block = %lo to [[MIDDLE]] step %{{.*}} {
// CHECK: [[AHEAD:%.*]] = arith.minsi %{{.*}}, %{{.*}} : index
// CHECK-NEXT: lir.prefetch %y{{\[}}[[AHEAD]]] write : memref<2000xf32>
// CHECK: lir.prefetch %y[%{{.*}}] write : memref<2000xf32>
// CHECK: [[END:%.*]] = arith.addi %block, %{{.*}} : index
// CHECK-NEXT: scf.for %i = %block to [[END]] step %c1 {
// CHECK-NEXT: memref.load
// CHECK-NEXT: memref.store
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: scf.for %i{{.*}} = [[MIDDLE]] to %hi step %c1 {
// CHECK-NOT: lir.prefetch
lir.kernel @line(%x: memref<2000xf32>, %y: memref<2000xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %v = memref.load %x[%i] : memref<2000xf32>
    memref.store %v, %y[%i] : memref<2000xf32>
  }
  lir.return
}

// -----

// In front of a loop over a short line, a line is prefetched that is 256 bytes behind it, if there is one.
// CHECK-LABEL: lir.kernel @rows
// CHECK: scf.for %i = %lo to %hi step %c1 {
// CHECK: [[LATER:%.*]] = arith.minsi %{{.*}}, %{{.*}} : index
// CHECK: lir.prefetch %y{{\[}}[[LATER]], %{{.*}}] write : memref<100x20xf32>
// CHECK: lir.prefetch %y{{\[}}[[LATER]], %{{.*}}] write : memref<100x20xf32>
// CHECK-NEXT: scf.for %j = %c0 to %c20 step %c1 {
lir.kernel @rows(%x: memref<100x20xf32>, %y: memref<100x20xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  scf.for %i = %lo to %hi step %c1 {
    scf.for %j = %c0 to %c20 step %c1 {
      %v = memref.load %x[%i, %j] : memref<100x20xf32>
      memref.store %v, %y[%i, %j] : memref<100x20xf32>
    }
  }
  lir.return
}

// -----

// Strips of all rows, one after the other: both ends of one of a later row.
// CHECK-LABEL: lir.kernel @strips
// CHECK: scf.for %i = %c0 to %c100 step %c1 {
// CHECK: [[LATER:%.*]] = arith.minsi %{{.*}}, %{{.*}} : index
// CHECK: lir.prefetch %y{{\[}}[[LATER]], %block] write : memref<100x64xf32>
// CHECK: lir.prefetch %y{{\[}}[[LATER]], %{{.*}}] write : memref<100x64xf32>
// CHECK-NEXT: scf.for %j = %block to %end step %c1 {
lir.kernel @strips(%x: memref<100x64xf32>, %y: memref<100x64xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c100 = arith.constant 100 : index
  scf.for %block = %lo to %hi step %c16 {
    %end = arith.addi %block, %c16 : index
    scf.for %i = %c0 to %c100 step %c1 {
      scf.for %j = %block to %end step %c1 {
        %v = memref.load %x[%i, %j] : memref<100x64xf32>
        memref.store %v, %y[%i, %j] : memref<100x64xf32>
      }
    }
  }
  lir.return
}

// -----

// Not: a small buffer, what is read in the same loop, a function, columns without a block, and a column.
// CHECK-LABEL: lir.kernel @others
// CHECK-NOT: lir.prefetch
lir.kernel @others(%small: memref<100xf32>, %y: memref<2000xf32>, %z: memref<100x64xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c100 = arith.constant 100 : index
  %one = arith.constant 1.0 : f32
  scf.for %i = %lo to %hi step %c1 {
    memref.store %one, %small[%i] : memref<100xf32>
  }
  scf.for %i = %lo to %hi step %c1 {
    %v = memref.load %y[%i] : memref<2000xf32>
    memref.store %v, %y[%i] : memref<2000xf32>
  }
  scf.for %i = %lo to %hi step %c1 {
    %v = memref.load %small[%i] : memref<100xf32>
    %e = math.exp %v : f32
    memref.store %e, %y[%i] : memref<2000xf32>
  }
  scf.for %i = %lo to %hi step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      memref.store %one, %z[%i, %j] : memref<100x64xf32>
    }
  }
  scf.for %i = %c0 to %c100 step %c1 {
    memref.store %one, %z[%i, %lo] : memref<100x64xf32>
  }
  lir.return
}
