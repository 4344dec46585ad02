// RUN: ROUNDTRIP
// RUN: GENERIC

// Two dense layers of one input, and one of quantised weights.

// CHECK-LABEL: func.func @shared_linear_pair(%x: tensor<2x5x3xf32>, %w1: tensor<3x4xf32>, %w2: tensor<3x7xf32>) -> (tensor<2x5x4xf32>, tensor<2x5x7xf32>) {
// CHECK-NEXT: %0, %1 = hir.shared_linear_pair %x, %w1, %w2 : tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<3x7xf32> -> tensor<2x5x4xf32>, tensor<2x5x7xf32>
// CHECK-NEXT: func.return %0, %1 : tensor<2x5x4xf32>, tensor<2x5x7xf32>
// CHECK-NEXT: }
func.func @shared_linear_pair(%x: tensor<2x5x3xf32>, %w1: tensor<3x4xf32>, %w2: tensor<3x7xf32>) -> (tensor<2x5x4xf32>, tensor<2x5x7xf32>) {
  %0, %1 = hir.shared_linear_pair %x, %w1, %w2 : tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<3x7xf32> -> tensor<2x5x4xf32>, tensor<2x5x7xf32>
  func.return %0, %1 : tensor<2x5x4xf32>, tensor<2x5x7xf32>
}

// GENERIC: "hir.shared_linear_pair"(%{{.*}}) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<3x7xf32>) -> (tensor<2x5x4xf32>, tensor<2x5x7xf32>)

// CHECK-LABEL: func.func @shared_linear_pair_biases(%x: tensor<5x3xf32>, %w1: tensor<3x4xf32>, %w2: tensor<3x1xf32>, %b1: tensor<4xf32>, %b2: tensor<1xf32>) -> (tensor<5x4xf32>, tensor<5x1xf32>) {
// CHECK-NEXT: %0, %1 = hir.shared_linear_pair %x, %w1, %w2 : tensor<5x3xf32>, tensor<3x4xf32>, tensor<3x1xf32> b1 %b1 : tensor<4xf32> b2 %b2 : tensor<1xf32> -> tensor<5x4xf32>, tensor<5x1xf32>
// CHECK-NEXT: func.return %0, %1 : tensor<5x4xf32>, tensor<5x1xf32>
// CHECK-NEXT: }
func.func @shared_linear_pair_biases(%x: tensor<5x3xf32>, %w1: tensor<3x4xf32>, %w2: tensor<3x1xf32>, %b1: tensor<4xf32>, %b2: tensor<1xf32>) -> (tensor<5x4xf32>, tensor<5x1xf32>) {
  %0, %1 = hir.shared_linear_pair %x, %w1, %w2 : tensor<5x3xf32>, tensor<3x4xf32>, tensor<3x1xf32> b1 %b1 : tensor<4xf32> b2 %b2 : tensor<1xf32> -> tensor<5x4xf32>, tensor<5x1xf32>
  func.return %0, %1 : tensor<5x4xf32>, tensor<5x1xf32>
}

// CHECK-LABEL: func.func @dequant_matmul(%x: tensor<2x3x7xf32>, %w: tensor<7x5xi8>, %scale: tensor<3x5xf32>) -> tensor<2x3x5xf32> {
// CHECK-NEXT: %0 = hir.dequant_matmul %x, %w scales(%scale) scheme <int8_block 3> : (tensor<2x3x7xf32>, tensor<7x5xi8>, tensor<3x5xf32>) -> tensor<2x3x5xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x5xf32>
// CHECK-NEXT: }
func.func @dequant_matmul(%x: tensor<2x3x7xf32>, %w: tensor<7x5xi8>, %scale: tensor<3x5xf32>) -> tensor<2x3x5xf32> {
  %0 = hir.dequant_matmul %x, %w scales(%scale) scheme <int8_block 3> : (tensor<2x3x7xf32>, tensor<7x5xi8>, tensor<3x5xf32>) -> tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}
