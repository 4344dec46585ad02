// RUN: xdsl-opt %s --split-input-file -p lir-mark-unrolled | filecheck %s

// Short loops are written out from the inside out; one whose end is not known stays, and so does a long one.
// CHECK-LABEL: lir.kernel @short(%x: memref<64x3x3xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c3 = arith.constant 3 : index
// CHECK-NEXT: scf.for %i = %lo to %hi step %c1 {
// CHECK-NEXT: scf.for %j = %c0 to %c3 step %c1 {
// CHECK-NEXT: scf.for %k = %c0 to %c3 step %c1 {
// CHECK-NEXT: %a = memref.load %x[%i, %j, %k] : memref<64x3x3xf32>
// CHECK-NEXT: %b = arith.mulf %a, %a : f32
// CHECK-NEXT: memref.store %b, %x[%i, %j, %k] : memref<64x3x3xf32>
// CHECK-NEXT: } {lir.unroll = 3 : i64}
// CHECK-NEXT: } {lir.unroll = 3 : i64}
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @short(%x: memref<64x3x3xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %lo to %hi step %c1 {
    scf.for %j = %c0 to %c3 step %c1 {
      scf.for %k = %c0 to %c3 step %c1 {
        %a = memref.load %x[%i, %j, %k] : memref<64x3x3xf32>
        %b = arith.mulf %a, %a : f32
        memref.store %b, %x[%i, %j, %k] : memref<64x3x3xf32>
      }
    }
  }
  lir.return
}

// -----

// Of a loop around a row of few vectors, several rows are done at a time.
// CHECK-LABEL: lir.kernel @rows(%x: memref<64x30x16xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c16 = arith.constant 16 : index
// CHECK-NEXT: %c30 = arith.constant 30 : index
// CHECK-NEXT: scf.for %i = %lo to %hi step %c1 {
// CHECK-NEXT: scf.for %j = %c0 to %c30 step %c1 {
// CHECK-NEXT: scf.for %k = %c0 to %c16 step %c1 {
// CHECK-NEXT: %a = memref.load %x[%i, %j, %k] : memref<64x30x16xf32>
// CHECK-NEXT: %b = arith.mulf %a, %a : f32
// CHECK-NEXT: memref.store %b, %x[%i, %j, %k] : memref<64x30x16xf32>
// CHECK-NEXT: } {lir.unroll = 16 : i64}
// CHECK-NEXT: } {lir.unroll = 6 : i64}
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @rows(%x: memref<64x30x16xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c30 = arith.constant 30 : index
  scf.for %i = %lo to %hi step %c1 {
    scf.for %j = %c0 to %c30 step %c1 {
      scf.for %k = %c0 to %c16 step %c1 {
        %a = memref.load %x[%i, %j, %k] : memref<64x30x16xf32>
        %b = arith.mulf %a, %a : f32
        memref.store %b, %x[%i, %j, %k] : memref<64x30x16xf32>
      }
    }
  }
  lir.return
}

// -----

// One that is to stay a loop does so, though the rows in it are short.
// CHECK-LABEL: lir.kernel @rolled_rows(%x: memref<64x30x16xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c16 = arith.constant 16 : index
// CHECK-NEXT: %c30 = arith.constant 30 : index
// CHECK-NEXT: scf.for %i = %lo to %hi step %c1 {
// CHECK-NEXT: scf.for %j = %c0 to %c30 step %c1 {
// CHECK-NEXT: scf.for %k = %c0 to %c16 step %c1 {
// CHECK-NEXT: %a = memref.load %x[%i, %j, %k] : memref<64x30x16xf32>
// CHECK-NEXT: memref.store %a, %x[%i, %j, %k] : memref<64x30x16xf32>
// CHECK-NEXT: } {lir.unroll = 16 : i64}
// CHECK-NEXT: } {lir.no_unroll}
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @rolled_rows(%x: memref<64x30x16xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c30 = arith.constant 30 : index
  scf.for %i = %lo to %hi step %c1 {
    scf.for %j = %c0 to %c30 step %c1 {
      scf.for %k = %c0 to %c16 step %c1 {
        %a = memref.load %x[%i, %j, %k] : memref<64x30x16xf32>
        memref.store %a, %x[%i, %j, %k] : memref<64x30x16xf32>
      }
    } {lir.no_unroll}
  }
  lir.return
}
// -----

// A loop over a whole vector of neighbours is a row of one vector, alone in its block: several rows at a time.
// CHECK-LABEL: lir.kernel @whole_vectors
// CHECK: memref.store %z, %c[%i, %m, %j] : memref<64x10x8xf32>
// CHECK-NEXT: } {lir.unroll = 8 : i64}
// CHECK-NEXT: } {lir.unroll = 5 : i64}
lir.kernel @whole_vectors(%a: memref<64x10x8xf32>, %b: memref<64x8xf32>, %c: memref<64x10x8xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c10 = arith.constant 10 : index
  scf.for %i = %lo to %hi step %c1 {
    scf.for %m = %c0 to %c10 step %c1 {
      scf.for %j = %c0 to %c8 step %c1 {
        %x = memref.load %a[%i, %m, %j] : memref<64x10x8xf32>
        %y = memref.load %b[%i, %j] : memref<64x8xf32>
        %z = arith.addf %x, %y : f32
        memref.store %z, %c[%i, %m, %j] : memref<64x10x8xf32>
      }
    }
  }
  lir.return
}

// -----

// A row that is alone in its block becomes vectors and a rest; with divisions, short ones are written out.
// CHECK-LABEL: lir.kernel @rows_of_ten
// CHECK: } {lir.unroll = 10 : i64}
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
lir.kernel @rows_of_ten(%a: memref<64x10xf32>, %b: memref<10xf32>, %c: memref<64x10xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  scf.for %i = %lo to %hi step %c1 {
    scf.for %j = %c0 to %c10 step %c1 {
      %x = memref.load %a[%i, %j] : memref<64x10xf32>
      %y = memref.load %b[%j] : memref<10xf32>
      %z = arith.subf %x, %y : f32
      memref.store %z, %c[%i, %j] : memref<64x10xf32>
    }
  }
  lir.return
}
