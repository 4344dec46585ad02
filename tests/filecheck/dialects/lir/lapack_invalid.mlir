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

// CHECK: expected a square matrix, got [4, 3]
lir.kernel @k(%a: memref<4x3xf32>, %p: memref<4xi32>, %lo: index, %hi: index) {
  lir.getrf %a[], %p[] : memref<4x3xf32>, memref<4xi32>
  lir.return
}

// -----

// CHECK: expected both lines and columns, or none
lir.kernel @k(%a: memref<4x9xf32>, %p: memref<4xi32>, %lo: index, %hi: index) {
  lir.getrf %a[], %p[] lines %lo : memref<4x9xf32>, memref<4xi32>
  lir.return
}

// -----

// CHECK: expected pivots of shape [4], got memref<3xi32>
lir.kernel @k(%a: memref<4x9xf32>, %p: memref<3xi32>, %lo: index, %hi: index) {
  lir.getrf %a[], %p[] lines %lo columns %hi : memref<4x9xf32>, memref<3xi32>
  lir.return
}

// -----

// CHECK: expected pivots of type i32, got memref<4xi64>
lir.kernel @k(%a: memref<4x4xf32>, %p: memref<4xi64>, %lo: index, %hi: index) {
  lir.getrf %a[], %p[] : memref<4x4xf32>, memref<4xi64>
  lir.return
}

// -----

// CHECK: expected b of shape [2, 4], got memref<2x3xf32>
lir.kernel @k(%a: memref<4x4xf32>, %p: memref<4xi32>, %b: memref<2x3xf32>, %lo: index, %hi: index) {
  lir.getrs %a[], %p[], %b[] : memref<4x4xf32>, memref<4xi32>, memref<2x3xf32>
  lir.return
}

// -----

// CHECK: expected pivots of shape [4], got memref<3xi32>
lir.kernel @k(%a: memref<4x4xf32>, %p: memref<3xi32>, %lo: index, %hi: index) {
  lir.getrf %a[], %p[] : memref<4x4xf32>, memref<3xi32>
  lir.return
}

// -----

// CHECK: expected lines that do not overlap, got memref<4x4xf32, strided<[2, 1]>>
lir.kernel @k(%a: memref<4x4xf32, strided<[2, 1]>>, %p: memref<4xi32>, %lo: index, %hi: index) {
  lir.getrf %a[], %p[] : memref<4x4xf32, strided<[2, 1]>>, memref<4xi32>
  lir.return
}

// -----

// CHECK: expected b of type f64, got memref<2x4xf32>
lir.kernel @k(%a: memref<4x4xf64>, %p: memref<4xi32>, %b: memref<2x4xf32>, %lo: index, %hi: index) {
  lir.getrs %a[], %p[], %b[] : memref<4x4xf64>, memref<4xi32>, memref<2x4xf32>
  lir.return
}

// -----

// CHECK: expected different buffers
lir.kernel @k(%a: memref<2x4x4xf64>, %p: memref<4xi32>, %lo: index, %hi: index) {
  lir.getrs %a[%lo], %p[], %a[%hi] : memref<2x4x4xf64>, memref<4xi32>, memref<2x4x4xf64>
  lir.return
}

// -----

// CHECK: expected at least as many columns as rows, got [3, 2]
lir.kernel @k(%a: memref<3x2xf32>, %s: memref<3xf32>, %w: memref<64xf32>, %lo: index, %hi: index) {
  lir.geqrf %a[], %s[], %w[] : memref<3x2xf32>, memref<3xf32>, memref<64xf32>
  lir.return
}

// -----

// CHECK: expected scales of shape [2], got memref<1xf32>
lir.kernel @k(%a: memref<2x3xf32>, %s: memref<1xf32>, %w: memref<64xf32>, %lo: index, %hi: index) {
  lir.orgqr %a[], %s[], %w[] : memref<2x3xf32>, memref<1xf32>, memref<64xf32>
  lir.return
}

// -----

// CHECK: expected at least 2 elements of work, got memref<1xf32>
lir.kernel @k(%a: memref<2x3xf32>, %s: memref<2xf32>, %w: memref<1xf32>, %lo: index, %hi: index) {
  lir.geqrf %a[], %s[], %w[] : memref<2x3xf32>, memref<2xf32>, memref<1xf32>
  lir.return
}

// -----

// CHECK: expected values of shape [4], got memref<3xf32>
lir.kernel @k(%a: memref<4x4xf32>, %v: memref<3xf32>, %w: memref<57xf32>, %s: memref<23xi32>, %i: memref<1xi32>, %lo: index, %hi: index) {
  lir.syevd %a[], %v[], %w[], %s[], %i[] : memref<4x4xf32>, memref<3xf32>, memref<57xf32>, memref<23xi32>, memref<1xi32>
  lir.return
}

// -----

// CHECK: expected at least 57 elements of work, got memref<56xf32>
lir.kernel @k(%a: memref<4x4xf32>, %v: memref<4xf32>, %w: memref<56xf32>, %s: memref<23xi32>, %i: memref<1xi32>, %lo: index, %hi: index) {
  lir.syevd %a[], %v[], %w[], %s[], %i[] : memref<4x4xf32>, memref<4xf32>, memref<56xf32>, memref<23xi32>, memref<1xi32>
  lir.return
}

// -----

// CHECK: expected at least 23 elements of steps, got memref<22xi32>
lir.kernel @k(%a: memref<4x4xf32>, %v: memref<4xf32>, %w: memref<57xf32>, %s: memref<22xi32>, %i: memref<1xi32>, %lo: index, %hi: index) {
  lir.syevd %a[], %v[], %w[], %s[], %i[] : memref<4x4xf32>, memref<4xf32>, memref<57xf32>, memref<22xi32>, memref<1xi32>
  lir.return
}

// -----

// CHECK: expected at least as many rows as columns, got [2, 3]
lir.kernel @k(%a: memref<2x3xf32>, %v: memref<3xf32>, %u: memref<5x3xf32>, %t: memref<3x3xf32>, %w: memref<70xf32>, %s: memref<24xi32>, %i: memref<1xi32>, %lo: index, %hi: index) {
  lir.gesdd %a[], %v[], %u[], %t[], %w[], %s[], %i[] : memref<2x3xf32>, memref<3xf32>, memref<5x3xf32>, memref<3x3xf32>, memref<70xf32>, memref<24xi32>, memref<1xi32>
  lir.return
}

// -----

// CHECK: expected u of shape [5, 3], got memref<3x3xf32>
lir.kernel @k(%a: memref<5x3xf32>, %v: memref<3xf32>, %u: memref<3x3xf32>, %t: memref<3x3xf32>, %w: memref<70xf32>, %s: memref<24xi32>, %i: memref<1xi32>, %lo: index, %hi: index) {
  lir.gesdd %a[], %v[], %u[], %t[], %w[], %s[], %i[] : memref<5x3xf32>, memref<3xf32>, memref<3x3xf32>, memref<3x3xf32>, memref<70xf32>, memref<24xi32>, memref<1xi32>
  lir.return
}

// -----

// CHECK: expected vt of shape [3, 3], got memref<2x3xf32>
lir.kernel @k(%a: memref<5x3xf32>, %v: memref<3xf32>, %u: memref<5x3xf32>, %t: memref<2x3xf32>, %w: memref<70xf32>, %s: memref<24xi32>, %i: memref<1xi32>, %lo: index, %hi: index) {
  lir.gesdd %a[], %v[], %u[], %t[], %w[], %s[], %i[] : memref<5x3xf32>, memref<3xf32>, memref<5x3xf32>, memref<2x3xf32>, memref<70xf32>, memref<24xi32>, memref<1xi32>
  lir.return
}

// -----

// CHECK: expected at least 62 elements of work, got memref<61xf32>
lir.kernel @k(%a: memref<5x3xf32>, %v: memref<3xf32>, %u: memref<5x3xf32>, %t: memref<3x3xf32>, %w: memref<61xf32>, %s: memref<24xi32>, %i: memref<1xi32>, %lo: index, %hi: index) {
  lir.gesdd %a[], %v[], %u[], %t[], %w[], %s[], %i[] : memref<5x3xf32>, memref<3xf32>, memref<5x3xf32>, memref<3x3xf32>, memref<61xf32>, memref<24xi32>, memref<1xi32>
  lir.return
}

// -----

// CHECK: expected at least 24 elements of steps, got memref<23xi32>
lir.kernel @k(%a: memref<5x3xf32>, %v: memref<3xf32>, %u: memref<5x3xf32>, %t: memref<3x3xf32>, %w: memref<70xf32>, %s: memref<23xi32>, %i: memref<1xi32>, %lo: index, %hi: index) {
  lir.gesdd %a[], %v[], %u[], %t[], %w[], %s[], %i[] : memref<5x3xf32>, memref<3xf32>, memref<5x3xf32>, memref<3x3xf32>, memref<70xf32>, memref<23xi32>, memref<1xi32>
  lir.return
}

// -----

// CHECK: expected an integer of at most 2147483647 for LAPACK, got 2147483648
lir.kernel @k(%a: memref<1x1xf32, strided<[2147483648, 1]>>, %p: memref<1xi32>, %lo: index, %hi: index) {
  lir.getrf %a[], %p[] : memref<1x1xf32, strided<[2147483648, 1]>>, memref<1xi32>
  lir.return
}

// -----

// CHECK: expected extents that are known, got memref<?x?xf32
lir.kernel @k(%a: memref<?x?xf32>, %p: memref<1xi32>, %lo: index, %hi: index) {
  lir.getrf %a[], %p[] : memref<?x?xf32>, memref<1xi32>
  lir.return
}

// -----

// CHECK: expected a square matrix, got [4, 3]
lir.kernel @k(%a: memref<4x3xf32>, %b: memref<4xf32>, %lo: index, %hi: index) {
  lir.trsv %a[], %b[] : memref<4x3xf32>, memref<4xf32>
  lir.return
}

// -----

// CHECK: expected b of shape [4], got memref<3xf32>
lir.kernel @k(%a: memref<4x4xf32>, %b: memref<3xf32>, %lo: index, %hi: index) {
  lir.trsv %a[], %b[] : memref<4x4xf32>, memref<3xf32>
  lir.return
}
