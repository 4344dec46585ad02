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

// GENERIC: "lir.getrf"(%{{.*}}) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}>
