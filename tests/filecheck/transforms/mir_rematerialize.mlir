// RUN: xdsl-opt %s -p 'mir-rematerialize{price=100.0}' --split-input-file --verify-diagnostics | filecheck %s

// What waits for the gradient is computed again from what is there anyway, in front of its first reader.

// CHECK-LABEL: func.func @f_grad
// CHECK: %h = mir.matmul %x, %w
// CHECK-NEXT: %y = mir.abs %h
// CHECK-NEXT: %l = mir.reduce_sum %y
// CHECK-NEXT: [[AGAIN:%.*]] = mir.remat captured(%x, %w : tensor<4x64xf32>, tensor<64x8xf32>) -> (tensor<4x8xf32>) {
// CHECK-NEXT: ^bb0(%x_1: tensor<4x64xf32>, %w_1: tensor<64x8xf32>):
// CHECK-NEXT: %h_1 = mir.matmul %x_1, %w_1
// CHECK-NEXT: %y_1 = mir.abs %h_1
// CHECK-NEXT: mir.yield %y_1
// CHECK: %s = mir.mul [[AGAIN]], %d_output
func.func @f_grad(%x: tensor<4x64xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<64x8xf32> {mir.name = "w", mir.kind = "param"}, %d_output: tensor<f32> {mir.name = "d_output", mir.kind = "input", mir.optional}) -> (tensor<f32>, tensor<64x8xf32>) {
  %h = mir.matmul %x, %w : (tensor<4x64xf32>, tensor<64x8xf32>) -> tensor<4x8xf32>
  %y = mir.abs %h : tensor<4x8xf32>
  %l = mir.reduce_sum %y axes [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  %s = mir.mul %y, %d_output : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %t = mir.transpose %x perm [1, 0] : (tensor<4x64xf32>) -> tensor<64x4xf32>
  %d = mir.matmul %t, %s : (tensor<64x4xf32>, tensor<4x8xf32>) -> tensor<64x8xf32>
  func.return %l, %d : tensor<f32>, tensor<64x8xf32>
}
