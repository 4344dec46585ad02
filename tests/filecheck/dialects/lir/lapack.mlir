// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: lir.kernel @factorise(%a: memref<3x4x4xf32>, %p: memref<3x4xi32>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.getrf %a[%lo], %p[%lo] : memref<3x4x4xf32>, memref<3x4xi32>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @factorise(%a: memref<3x4x4xf32>, %p: memref<3x4xi32>, %lo: index, %hi: index) {
  lir.getrf %a[%lo], %p[%lo] : memref<3x4x4xf32>, memref<3x4xi32>
  lir.return
}

// CHECK-LABEL: lir.kernel @factorise_part(%a: memref<8x90xf64>, %p: memref<8xi32>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.getrf %a[], %p[] lines %lo columns %hi : memref<8x90xf64>, memref<8xi32>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @factorise_part(%a: memref<8x90xf64>, %p: memref<8xi32>, %lo: index, %hi: index) {
  lir.getrf %a[], %p[] lines %lo columns %hi : memref<8x90xf64>, memref<8xi32>
  lir.return
}

// CHECK-LABEL: lir.kernel @solve(%a: memref<4x4xf64>, %p: memref<4xi32>, %b: memref<3x2x4xf64>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.getrs %a[], %p[], %b[%lo] : memref<4x4xf64>, memref<4xi32>, memref<3x2x4xf64>
// CHECK-NEXT: lir.getrs %a[], %p[], %b[%lo] transpose : memref<4x4xf64>, memref<4xi32>, memref<3x2x4xf64>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @solve(%a: memref<4x4xf64>, %p: memref<4xi32>, %b: memref<3x2x4xf64>, %lo: index, %hi: index) {
  lir.getrs %a[], %p[], %b[%lo] : memref<4x4xf64>, memref<4xi32>, memref<3x2x4xf64>
  lir.getrs %a[], %p[], %b[%lo] transpose : memref<4x4xf64>, memref<4xi32>, memref<3x2x4xf64>
  lir.return
}

// CHECK-LABEL: lir.kernel @triangles(%a: memref<4x4xf64>, %b: memref<3x4xf64>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.trsv %a[], %b[%lo] : memref<4x4xf64>, memref<3x4xf64>
// CHECK-NEXT: lir.trsv %a[], %b[%lo] lower transpose unit_diagonal : memref<4x4xf64>, memref<3x4xf64>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @triangles(%a: memref<4x4xf64>, %b: memref<3x4xf64>, %lo: index, %hi: index) {
  lir.trsv %a[], %b[%lo] : memref<4x4xf64>, memref<3x4xf64>
  lir.trsv %a[], %b[%lo] lower transpose unit_diagonal : memref<4x4xf64>, memref<3x4xf64>
  lir.return
}

// CHECK-LABEL: lir.kernel @qr(%a: memref<3x5xf64>, %s: memref<3xf64>, %w: memref<2x96xf64>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.geqrf %a[], %s[], %w[%lo] : memref<3x5xf64>, memref<3xf64>, memref<2x96xf64>
// CHECK-NEXT: lir.orgqr %a[], %s[], %w[%lo] : memref<3x5xf64>, memref<3xf64>, memref<2x96xf64>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @qr(%a: memref<3x5xf64>, %s: memref<3xf64>, %w: memref<2x96xf64>, %lo: index, %hi: index) {
  lir.geqrf %a[], %s[], %w[%lo] : memref<3x5xf64>, memref<3xf64>, memref<2x96xf64>
  lir.orgqr %a[], %s[], %w[%lo] : memref<3x5xf64>, memref<3xf64>, memref<2x96xf64>
  lir.return
}

// CHECK-LABEL: lir.kernel @eigh(%a: memref<4x4xf32>, %v: memref<4xf32>, %w: memref<57xf32>, %s: memref<23xi32>, %i: memref<1xi32>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.syevd %a[], %v[], %w[], %s[], %i[] : memref<4x4xf32>, memref<4xf32>, memref<57xf32>, memref<23xi32>, memref<1xi32>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @eigh(%a: memref<4x4xf32>, %v: memref<4xf32>, %w: memref<57xf32>, %s: memref<23xi32>, %i: memref<1xi32>, %lo: index, %hi: index) {
  lir.syevd %a[], %v[], %w[], %s[], %i[] : memref<4x4xf32>, memref<4xf32>, memref<57xf32>, memref<23xi32>, memref<1xi32>
  lir.return
}

// CHECK-LABEL: lir.kernel @eigenvalues(
// CHECK-NEXT: lir.syevd %a[], %v[], %w[], %s[], %i[] values_only : memref<4x4xf32>, memref<4xf32>, memref<57xf32>, memref<23xi32>, memref<1xi32>
lir.kernel @eigenvalues(%a: memref<4x4xf32>, %v: memref<4xf32>, %w: memref<57xf32>, %s: memref<23xi32>, %i: memref<1xi32>, %lo: index, %hi: index) {
  lir.syevd %a[], %v[], %w[], %s[], %i[] values_only : memref<4x4xf32>, memref<4xf32>, memref<57xf32>, memref<23xi32>, memref<1xi32>
  lir.return
}

// CHECK-LABEL: lir.kernel @singular_values(
// CHECK-NEXT: lir.gesdd %a[], %v[], %u[], %t[], %w[], %s[], %i[] values_only : memref<5x3xf32>, memref<3xf32>, memref<5x3xf32>, memref<3x3xf32>, memref<62xf32>, memref<24xi32>, memref<1xi32>
lir.kernel @singular_values(%a: memref<5x3xf32>, %v: memref<3xf32>, %u: memref<5x3xf32>, %t: memref<3x3xf32>, %w: memref<62xf32>, %s: memref<24xi32>, %i: memref<1xi32>, %lo: index, %hi: index) {
  lir.gesdd %a[], %v[], %u[], %t[], %w[], %s[], %i[] values_only : memref<5x3xf32>, memref<3xf32>, memref<5x3xf32>, memref<3x3xf32>, memref<62xf32>, memref<24xi32>, memref<1xi32>
  lir.return
}

// CHECK-LABEL: lir.kernel @svd(%a: memref<5x3xf32>, %v: memref<3xf32>, %u: memref<5x3xf32>, %t: memref<3x3xf32>, %w: memref<62xf32>, %s: memref<24xi32>, %i: memref<1xi32>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.gesdd %a[], %v[], %u[], %t[], %w[], %s[], %i[] : memref<5x3xf32>, memref<3xf32>, memref<5x3xf32>, memref<3x3xf32>, memref<62xf32>, memref<24xi32>, memref<1xi32>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @svd(%a: memref<5x3xf32>, %v: memref<3xf32>, %u: memref<5x3xf32>, %t: memref<3x3xf32>, %w: memref<62xf32>, %s: memref<24xi32>, %i: memref<1xi32>, %lo: index, %hi: index) {
  lir.gesdd %a[], %v[], %u[], %t[], %w[], %s[], %i[] : memref<5x3xf32>, memref<3xf32>, memref<5x3xf32>, memref<3x3xf32>, memref<62xf32>, memref<24xi32>, memref<1xi32>
  lir.return
}

// GENERIC: "lir.getrf"(%{{.*}}) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>}>
