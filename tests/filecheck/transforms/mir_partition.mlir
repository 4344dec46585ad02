// RUN: xdsl-opt %s -p 'mir-partition{part=forward}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix=FORWARD
// RUN: xdsl-opt %s -p 'mir-partition{part=backward}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix=BACKWARD

// The product is kept; what costs less to compute than to keep is not, and neither is what only the loss needs.

// FORWARD-LABEL: func.func @f_forward(%x: tensor<4x64xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<64x8xf32> {mir.name = "w", mir.kind = "param"}) -> (tensor<f32>, tensor<4x64xf32>, tensor<4x8xf32>) {
// FORWARD-NEXT: %h = mir.matmul %x, %w
// FORWARD-NEXT: %y = mir.abs %h : tensor<4x8xf32>
// FORWARD-NEXT: %l = mir.reduce_sum %y
// FORWARD-NEXT: func.return %l, %x, %h : tensor<f32>, tensor<4x64xf32>, tensor<4x8xf32>

// BACKWARD-LABEL: func.func @f_backward(%d_output: tensor<f32> {mir.name = "d_output", mir.kind = "input", mir.optional}, %residual: tensor<4x64xf32> {mir.name = "residual_0", mir.kind = "input"}, %residual_1: tensor<4x8xf32> {mir.name = "residual_1", mir.kind = "input"}) -> (tensor<64x8xf32> {mir.gradient_of = "w"}) {
// BACKWARD-NEXT: %y = mir.abs %residual_1 : tensor<4x8xf32>
// BACKWARD-NEXT: %z = mir.mul %y, %residual_1
// BACKWARD-NEXT: %s = mir.mul %z, %d_output
// BACKWARD-NEXT: %t = mir.transpose %residual perm [1, 0]
// BACKWARD-NEXT: %d = mir.matmul %t, %s
// BACKWARD-NEXT: func.return %d : tensor<64x8xf32>
func.func @f_grad(%x: tensor<4x64xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<64x8xf32> {mir.name = "w", mir.kind = "param"}, %d_output: tensor<f32> {mir.name = "d_output", mir.kind = "input", mir.optional}) -> (tensor<f32>, tensor<64x8xf32> {mir.gradient_of = "w"}) {
  %h = mir.matmul %x, %w : (tensor<4x64xf32>, tensor<64x8xf32>) -> tensor<4x8xf32>
  %y = mir.abs %h : tensor<4x8xf32>
  %l = mir.reduce_sum %y axes [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  %z = mir.mul %y, %h : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = mir.mul %z, %d_output : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %t = mir.transpose %x perm [1, 0] : (tensor<4x64xf32>) -> tensor<64x4xf32>
  %d = mir.matmul %t, %s : (tensor<64x4xf32>, tensor<4x8xf32>) -> tensor<64x8xf32>
  func.return %l, %d : tensor<f32>, tensor<64x8xf32>
}

// -----

// FORWARD: mir-partition: no result of @none is a gradient; run mir-grad before it
// BACKWARD: mir-partition: no result of @none is a gradient; run mir-grad before it
func.func @none(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xf32> {
  func.return %x : tensor<3xf32>
}
