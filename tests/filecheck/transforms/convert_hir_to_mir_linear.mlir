// RUN: xdsl-opt %s -p convert-hir-to-mir | filecheck %s --check-prefixes=CHECK,DIRECT
// RUN: xdsl-opt %s -p 'convert-hir-to-mir{fusion-policy=fusable}' | filecheck %s --check-prefixes=CHECK,FUSABLE

// The input is multiplied by each weight.

// CHECK-LABEL: func.func @shared_linear_pair(%x: tensor<2x5x3xf32>, %w1: tensor<3x4xf32>, %w2: tensor<3x7xf32>) -> (tensor<2x5x4xf32>, tensor<2x5x7xf32>) {
// CHECK-NEXT: %0 = mir.matmul %x, %w1 : (tensor<2x5x3xf32>, tensor<3x4xf32>) -> tensor<2x5x4xf32>
// CHECK-NEXT: %1 = mir.matmul %x, %w2 : (tensor<2x5x3xf32>, tensor<3x7xf32>) -> tensor<2x5x7xf32>
// CHECK-NEXT: func.return %0, %1 : tensor<2x5x4xf32>, tensor<2x5x7xf32>
// CHECK-NEXT: }
func.func @shared_linear_pair(%x: tensor<2x5x3xf32>, %w1: tensor<3x4xf32>, %w2: tensor<3x7xf32>) -> (tensor<2x5x4xf32>, tensor<2x5x7xf32>) {
  %0, %1 = hir.shared_linear_pair %x, %w1, %w2 : tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<3x7xf32> -> tensor<2x5x4xf32>, tensor<2x5x7xf32>
  func.return %0, %1 : tensor<2x5x4xf32>, tensor<2x5x7xf32>
}

// CHECK-LABEL: func.func @dequant_matmul(%x: tensor<2x3x7xf32>, %w: tensor<7x5xi8>, %scale: tensor<3x5xf32>) -> tensor<2x3x5xf32> {
// CHECK-NEXT: %0 = mir.dequant_matmul %x, %w scales(%scale) scheme <int8_block 3> : (tensor<2x3x7xf32>, tensor<7x5xi8>, tensor<3x5xf32>) -> tensor<2x3x5xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x5xf32>
// CHECK-NEXT: }
func.func @dequant_matmul(%x: tensor<2x3x7xf32>, %w: tensor<7x5xi8>, %scale: tensor<3x5xf32>) -> tensor<2x3x5xf32> {
  %0 = hir.dequant_matmul %x, %w scales(%scale) scheme <int8_block 3> : (tensor<2x3x7xf32>, tensor<7x5xi8>, tensor<3x5xf32>) -> tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}
