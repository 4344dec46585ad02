// RUN: xdsl-opt %s -p convert-hir-to-mir | filecheck %s --check-prefixes=CHECK,DIRECT
// RUN: xdsl-opt %s -p 'convert-hir-to-mir{fusion-policy=fusable}' | filecheck %s --check-prefixes=CHECK,FUSABLE

// The table is looked up in, and multiplied by as it lies.

// CHECK-LABEL: func.func @embedding(%ids: tensor<2x3xi32>, %table: tensor<5x3xf32>) -> tensor<2x3x3xf32> {
// CHECK-NEXT: %0 = mir.gather %table, %ids axis 0 batch_dims 0 : (tensor<5x3xf32>, tensor<2x3xi32>) -> tensor<2x3x3xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x3xf32>
// CHECK-NEXT: }
func.func @embedding(%ids: tensor<2x3xi32>, %table: tensor<5x3xf32>) -> tensor<2x3x3xf32> {
  %0 = hir.embedding %ids, %table : (tensor<2x3xi32>, tensor<5x3xf32>) -> tensor<2x3x3xf32>
  func.return %0 : tensor<2x3x3xf32>
}

// CHECK-LABEL: func.func @tied_head_bias(%x: tensor<3x5xf32>, %table: tensor<2x5xf32>, %b: tensor<2xf32>) -> tensor<3x2xf32> {
// CHECK-NEXT: %0 = mir.transpose %table perm [1, 0] : (tensor<2x5xf32>) -> tensor<5x2xf32>
// DIRECT-NEXT: %1 = mir.fused_matmul_bias_act %x, %0, %b : (tensor<3x5xf32>, tensor<5x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
// DIRECT-NEXT: func.return %1 : tensor<3x2xf32>
// DIRECT-NEXT: }
// FUSABLE-NEXT: %1 = mir.matmul %x, %0 : (tensor<3x5xf32>, tensor<5x2xf32>) -> tensor<3x2xf32>
// FUSABLE-NEXT: %2 = mir.add %1, %b : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
// FUSABLE-NEXT: func.return %2 : tensor<3x2xf32>
// FUSABLE-NEXT: }
func.func @tied_head_bias(%x: tensor<3x5xf32>, %table: tensor<2x5xf32>, %b: tensor<2xf32>) -> tensor<3x2xf32> {
  %0 = hir.tied_head %x, %table, %b : (tensor<3x5xf32>, tensor<2x5xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}
