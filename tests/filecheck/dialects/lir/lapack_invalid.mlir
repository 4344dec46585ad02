// RUN: DIAGNOSTICS

// CHECK: expected 1 leading indices for memref<3x4x4xf32>
lir.kernel @k(%a: memref<3x4x4xf32>, %p: memref<4xi32>, %lo: index, %hi: index) {
  lir.getrf %a[], %p[] : memref<3x4x4xf32>, memref<4xi32>
  lir.return
}

// -----

// CHECK: expected lines of unit stride, got memref<4x4xf32, strided<[1, 4]>>
lir.kernel @k(%a: memref<4x4xf32, strided<[1, 4]>>, %p: memref<4xi32>, %lo: index, %hi: index) {
  lir.getrf %a[], %p[] : memref<4x4xf32, strided<[1, 4]>>, memref<4xi32>
  lir.return
}

// -----

// CHECK: expected f32 or f64, got i32
lir.kernel @k(%a: memref<4x4xi32>, %p: memref<4xi32>, %lo: index, %hi: index) {
  lir.getrf %a[], %p[] : memref<4x4xi32>, memref<4xi32>
  lir.return
}

// -----

// CHECK: expected a square matrix, got 4x3
lir.kernel @k(%a: memref<4x3xf32>, %p: memref<4xi32>, %lo: index, %hi: index) {
  lir.getrf %a[], %p[] : memref<4x3xf32>, memref<4xi32>
  lir.return
}

// -----

// CHECK: expected 4 pivots of type i32, got memref<4xi64>
lir.kernel @k(%a: memref<4x4xf32>, %p: memref<4xi64>, %lo: index, %hi: index) {
  lir.getrf %a[], %p[] : memref<4x4xf32>, memref<4xi64>
  lir.return
}

// -----

// CHECK: expected right hand sides of 4 elements of type f32, got memref<2x3xf32>
lir.kernel @k(%a: memref<4x4xf32>, %p: memref<4xi32>, %b: memref<2x3xf32>, %lo: index, %hi: index) {
  lir.getrs %a[], %p[], %b[] : memref<4x4xf32>, memref<4xi32>, memref<2x3xf32>
  lir.return
}
