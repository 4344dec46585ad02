// RUN: xdsl-opt %s -p mir-unfuse-for-ad --split-input-file --verify-diagnostics | filecheck %s

// Composite ops become the primitive ops of their definition, so that their derivative shares the parts.

// Product, bias and activation.
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

// Ops with a rule of their own stay.
// CHECK-LABEL: func.func @kept(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<2x3xf32> {
// CHECK-NEXT: %y = mir.softmax %x axis -1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %y : tensor<2x3xf32>
// CHECK-NEXT: }
func.func @kept(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<2x3xf32> {
  %y = mir.softmax %x axis -1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
