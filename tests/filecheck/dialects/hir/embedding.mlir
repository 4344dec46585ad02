// RUN: ROUNDTRIP
// RUN: GENERIC

// Ids of any shape.

// CHECK-LABEL: func.func @embedding(%ids: tensor<2x3xi32>, %table: tensor<5x3xf32>) -> tensor<2x3x3xf32> {
// CHECK-NEXT: %0 = hir.embedding %ids, %table : (tensor<2x3xi32>, tensor<5x3xf32>) -> tensor<2x3x3xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x3xf32>
// CHECK-NEXT: }
func.func @embedding(%ids: tensor<2x3xi32>, %table: tensor<5x3xf32>) -> tensor<2x3x3xf32> {
  %0 = hir.embedding %ids, %table : (tensor<2x3xi32>, tensor<5x3xf32>) -> tensor<2x3x3xf32>
  func.return %0 : tensor<2x3x3xf32>
}

// CHECK-LABEL: func.func @tied_head_bias(%x: tensor<3x5xf32>, %table: tensor<2x5xf32>, %b: tensor<2xf32>) -> tensor<3x2xf32> {
// CHECK-NEXT: %0 = hir.tied_head %x, %table, %b : (tensor<3x5xf32>, tensor<2x5xf32>, tensor<2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: func.return %0 : tensor<3x2xf32>
// CHECK-NEXT: }
func.func @tied_head_bias(%x: tensor<3x5xf32>, %table: tensor<2x5xf32>, %b: tensor<2xf32>) -> tensor<3x2xf32> {
  %0 = hir.tied_head %x, %table, %b : (tensor<3x5xf32>, tensor<2x5xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}

// GENERIC: "hir.embedding"(%{{.*}}) : (tensor<2x3xi32>, tensor<5x3xf32>) -> tensor<2x3x3xf32>
