// RUN: xdsl-opt %s -p mir-prepare-for-ad --split-input-file --verify-diagnostics | filecheck %s

// The passes that leave only ops with derivatives, in their order.

// Composite ops are unfused.
// CHECK-LABEL: func.func @fused(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x4xf32> {mir.name = "w", mir.kind = "param"}, %b: tensor<4xf32> {mir.name = "b", mir.kind = "param"}) -> tensor<2x4xf32> {
// CHECK-NEXT: %0 = mir.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %1 = mir.add %0, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %y = mir.gelu %1 : tensor<2x4xf32>
// CHECK-NEXT: func.return %y : tensor<2x4xf32>
// CHECK-NEXT: }
func.func @fused(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x4xf32> {mir.name = "w", mir.kind = "param"}, %b: tensor<4xf32> {mir.name = "b", mir.kind = "param"}) -> tensor<2x4xf32> {
  %y = mir.fused_matmul_bias_act %x, %w, %b activation gelu : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// -----

// Products are over one axis each.
// CHECK-LABEL: func.func @multi(%x: tensor<2x3x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xf32> {
// CHECK-NEXT: %0 = mir.reduce_prod %x axes [2] keep_dim : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
// CHECK-NEXT: %1 = mir.reduce_prod %0 axes [0] keep_dim : (tensor<2x3x1xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT: %y = mir.reshape %1 : tensor<1x3x1xf32> to tensor<3xf32>
// CHECK-NEXT: func.return %y : tensor<3xf32>
// CHECK-NEXT: }
func.func @multi(%x: tensor<2x3x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xf32> {
  %y = mir.reduce_prod %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// -----

// What is written twice is computed once, and so is its gradient.
// CHECK-LABEL: func.func @twice(
// CHECK-NEXT: %0 = mir.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %1 = mir.exp %0 : tensor<2x4xf32>
// CHECK-NEXT: %y = mir.mul %1, %0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: func.return %y : tensor<2x4xf32>
func.func @twice(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x4xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<2x4xf32> {
  %0 = mir.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = mir.exp %0 : tensor<2x4xf32>
  %2 = mir.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %y = mir.mul %1, %2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}
