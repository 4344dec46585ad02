// RUN: ROUNDTRIP
// RUN: GENERIC

// Any number of layers, with biases or without.

// CHECK-LABEL: func.func @swiglu(%x: tensor<2x3x5xf32>, %up_w: tensor<5x7xf32>, %gate_w: tensor<5x7xf32>, %down_w: tensor<7x4xf32>) -> tensor<2x3x4xf32> {
// CHECK-NEXT: %0 = hir.swiglu %x, %up_w, %gate_w, %down_w : (tensor<2x3x5xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x4xf32>
// CHECK-NEXT: }
func.func @swiglu(%x: tensor<2x3x5xf32>, %up_w: tensor<5x7xf32>, %gate_w: tensor<5x7xf32>, %down_w: tensor<7x4xf32>) -> tensor<2x3x4xf32> {
  %0 = hir.swiglu %x, %up_w, %gate_w, %down_w : (tensor<2x3x5xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @mlp_two(%x: tensor<2x3x5xf32>, %w0: tensor<5x7xf32>, %w1: tensor<7x2xf32>, %b0: tensor<7xf32>, %b1: tensor<2xf32>) -> tensor<2x3x2xf32> {
// CHECK-NEXT: %0 = hir.mlp %x : tensor<2x3x5xf32> weights(%w0, %w1 : tensor<5x7xf32>, tensor<7x2xf32>) biases(%b0, %b1 : tensor<7xf32>, tensor<2xf32>) activation gelu -> tensor<2x3x2xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x2xf32>
// CHECK-NEXT: }
func.func @mlp_two(%x: tensor<2x3x5xf32>, %w0: tensor<5x7xf32>, %w1: tensor<7x2xf32>, %b0: tensor<7xf32>, %b1: tensor<2xf32>) -> tensor<2x3x2xf32> {
  %0 = hir.mlp %x : tensor<2x3x5xf32> weights(%w0, %w1 : tensor<5x7xf32>, tensor<7x2xf32>) biases(%b0, %b1 : tensor<7xf32>, tensor<2xf32>) activation gelu -> tensor<2x3x2xf32>
  func.return %0 : tensor<2x3x2xf32>
}

// GENERIC: "hir.mlp"(%{{.*}}) <{activation = #mir<activation gelu>, operandSegmentSizes = array<i32: 1, 2, 2>}> : (tensor<2x3x5xf32>, tensor<5x7xf32>, tensor<7x2xf32>, tensor<7xf32>, tensor<2xf32>) -> tensor<2x3x2xf32>

// CHECK-LABEL: func.func @mlp_three(%x: tensor<3x5xf32>, %w0: tensor<5x3xf32>, %w1: tensor<3x4xf32>, %w2: tensor<4x1xf32>) -> tensor<3x1xf32> {
// CHECK-NEXT: %0 = hir.mlp %x : tensor<3x5xf32> weights(%w0, %w1, %w2 : tensor<5x3xf32>, tensor<3x4xf32>, tensor<4x1xf32>) activation tanh last_activation sigmoid -> tensor<3x1xf32>
// CHECK-NEXT: func.return %0 : tensor<3x1xf32>
// CHECK-NEXT: }
func.func @mlp_three(%x: tensor<3x5xf32>, %w0: tensor<5x3xf32>, %w1: tensor<3x4xf32>, %w2: tensor<4x1xf32>) -> tensor<3x1xf32> {
  %0 = hir.mlp %x : tensor<3x5xf32> weights(%w0, %w1, %w2 : tensor<5x3xf32>, tensor<3x4xf32>, tensor<4x1xf32>) activation tanh last_activation sigmoid -> tensor<3x1xf32>
  func.return %0 : tensor<3x1xf32>
}
