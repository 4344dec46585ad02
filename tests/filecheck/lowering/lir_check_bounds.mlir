// RUN: xdsl-opt %s -p lir-check-bounds --split-input-file --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p lir-check-bounds,lir-check-bounds --split-input-file --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p lir-check-bounds --split-input-file --verify-diagnostics -t numba | filecheck %s --check-prefix=PYTHON

// What is loaded may be anything; what loops and launches say is known.
// CHECK-LABEL: lir.kernel @take
// CHECK: %k = memref.load %indices[%j] : memref<5xi32>
// CHECK-NEXT: %i = arith.index_cast %k : i32 to index
// CHECK-NEXT: [[MOST:%.*]] = arith.constant 6 : index
// CHECK-NEXT: lir.check %i at_most [[MOST]], "kernel @take: memref.load takes elements 0 to 6 along dimension 0 of %table"
// CHECK-NEXT: %x = memref.load %table[%i] : memref<7xf32>
// CHECK-NEXT: memref.store %x, %o[%j] : memref<5xf32>
// It is known by then: no second check.
// CHECK-NEXT: %z = memref.load %table[%i] : memref<7xf32>
// CHECK-NOT: lir.check
// CHECK: lir.return
// PYTHON: def take(table, indices, o, lo, hi):
// PYTHON: if (i < 0) | (i > 6):
// PYTHON-NEXT: refuse('kernel @take: memref.load takes elements 0 to 6 along dimension 0 of %table', i)
// PYTHON-NEXT: return
lir.program @p attributes {arena_bytes = 0 : i64, alignment = 64 : i64} {
  %table = lir.input "table" : memref<7xf32>
  %indices = lir.input "indices" : memref<5xi32>
  %y = lir.output 0 : memref<5xf32>
  lir.launch @take over 5 by 2 reads(%table, %indices : memref<7xf32>, memref<5xi32>) writes(%y : memref<5xf32>)
}
lir.kernel @take(%table: memref<7xf32>, %indices: memref<5xi32>, %o: memref<5xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %j = %lo to %hi step %c1 {
    %k = memref.load %indices[%j] : memref<5xi32>
    %i = arith.index_cast %k : i32 to index
    %x = memref.load %table[%i] : memref<7xf32>
    memref.store %x, %o[%j] : memref<5xf32>
    %z = memref.load %table[%i] : memref<7xf32>
    memref.store %z, %o[%j] : memref<5xf32>
  }
  lir.return
}

// -----

// A launch that runs past what its kernel's buffer holds.
// CHECK-LABEL: lir.kernel @copy
// CHECK: lir.check %j at_most {{%.*}}, "kernel @copy: memref.load takes elements 0 to 4 along dimension 0 of %i"
// CHECK-NEXT: memref.load
// CHECK-NEXT: memref.store
lir.program @p attributes {arena_bytes = 0 : i64, alignment = 64 : i64} {
  %x = lir.input "x" : memref<5xf32>
  %y = lir.output 0 : memref<5xf32>
  lir.launch @copy over 6 by 6 reads(%x : memref<5xf32>) writes(%y : memref<5xf32>)
}
lir.kernel @copy(%i: memref<5xf32>, %o: memref<5xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %j = %lo to %hi step %c1 {
    %v = memref.load %i[%j] : memref<5xf32>
    memref.store %v, %o[%j] : memref<5xf32>
  }
  lir.return
}

// -----

// Provable: blocks, quotient and remainder, clamps, padding behind a condition, an index relative to the piece.
// CHECK-LABEL: lir.kernel @known
// CHECK-NOT: lir.check
lir.program @p attributes {arena_bytes = 0 : i64, alignment = 64 : i64} {
  %x = lir.input "x" : memref<6x11xf32>
  %n = lir.input "n" : memref<66xi64>
  %y = lir.output 0 : memref<66xf32>
  lir.launch @known over 66 by 8 reads(%x, %n : memref<6x11xf32>, memref<66xi64>) writes(%y : memref<66xf32>)
}
lir.kernel @known(%x: memref<6x11xf32>, %n: memref<66xi64>, %o: memref<66xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %c11 = arith.constant 11 : index
  %zero = arith.constant 0 : i64
  %ten = arith.constant 10 : i64
  %row = memref.alloca() : memref<8xf32>
  scf.for %j = %lo to %hi step %c1 {
    %q = arith.divsi %j, %c11 : index
    %r = arith.remsi %j, %c11 : index
    %v = memref.load %x[%q, %r] : memref<6x11xf32>
    %here = arith.subi %j, %lo : index
    memref.store %v, %row[%here] : memref<8xf32>
    %k = memref.load %n[%j] : memref<66xi64>
    %least = arith.maxsi %k, %zero : i64
    %most = arith.minsi %least, %ten : i64
    %column = arith.index_cast %most : i64 to index
    %w = memref.load %x[%q, %column] : memref<6x11xf32>
    memref.store %w, %o[%j] : memref<66xf32>
  }
  scf.for %block = %c0 to %c11 step %c4 {
    %next = arith.addi %block, %c4 : index
    %end = arith.minsi %next, %c11 : index
    scf.for %j = %block to %end step %c1 {
      %left = arith.subi %j, %c3 : index
      %inside = arith.cmpi sge, %left, %c0 : index
      scf.if %inside {
        %v = memref.load %x[%c0, %left] : memref<6x11xf32>
        memref.store %v, %o[%j] : memref<66xf32>
      }
    }
  }
  lir.return
}

// -----

// Library calls: the ranges of a product, the blocks of another, the pivots of a solve.
// CHECK-LABEL: lir.kernel @library
// CHECK: lir.check %n at_most {{%.*}}, "kernel @library: lir.gemm ends at 0 to 4 along dimension 0 of %a"
// CHECK-NEXT: [[MOST:%.*]] = arith.constant
// CHECK-NEXT: lir.check %hi at_most [[MOST]], "kernel @library: lir.gemm ends at 0 to 4 along dimension 1 of %b"
// CHECK-NEXT: lir.gemm %a[], %b[], %o[] rows %lo to %n cols %lo to %hi
// CHECK: [[REST:%.*]] = arith.subi {{%.*}}, %n : index
// CHECK-NEXT: lir.check %n at_most [[REST]], "kernel @library: lir.block_gemm starts along dimension 0 of %a where its elements fit in"
// CHECK: lir.block_gemm
// CHECK: scf.for
// CHECK: memref.load %p
// CHECK: lir.check {{%.*}} at_most {{%.*}}, "kernel @library: a pivot of lir.getrs in %p, less one, is 0 to 3"
// CHECK: lir.getrs %a[], %p[], %b[] : memref<4x4xf32>, memref<4xi32>, memref<4x4xf32>
lir.program @p attributes {arena_bytes = 128 : i64, alignment = 64 : i64} {
  %a = lir.input "a" : memref<4x4xf32>
  %p = lir.input "p" : memref<4xi32>
  %n = lir.input "n" : memref<1xi64>
  %b = lir.slot at 0 : memref<4x4xf32>
  %y = lir.output 0 : memref<4x4xf32>
  lir.launch @library over 5 by 5 reads(%a, %p, %n : memref<4x4xf32>, memref<4xi32>, memref<1xi64>) writes(%b, %y : memref<4x4xf32>, memref<4x4xf32>)
}
lir.kernel @library(%a: memref<4x4xf32>, %p: memref<4xi32>, %m: memref<1xi64>, %b: memref<4x4xf32>, %o: memref<4x4xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %k = memref.load %m[%c0] : memref<1xi64>
  %n = arith.index_cast %k : i64 to index
  lir.gemm %a[], %b[], %o[] rows %lo to %n cols %lo to %hi : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  lir.block_gemm %a[%n, %c0], %b[%c0, %c2], %o[%c2, %c2] rows %n cols %c2 depth %c2 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  lir.getrs %a[], %p[], %b[] : memref<4x4xf32>, memref<4xi32>, memref<4x4xf32>
  lir.return
}
