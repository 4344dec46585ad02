// RUN: xdsl-opt %s -p 'mir-select-outputs{outputs=2,0}' --split-input-file --verify-diagnostics | filecheck %s

// Results in another order; what only others need goes.

// CHECK-LABEL: func.func @f(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<f32>, tensor<3xf32>) {
// CHECK-NEXT: %y = mir.exp %x : tensor<3xf32>
// CHECK-NEXT: %w = mir.reduce_sum %y axes [0] : (tensor<3xf32>) -> tensor<f32>
// CHECK-NEXT: func.return %w, %y : tensor<f32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @f(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<3xf32>, tensor<3xf32>, tensor<f32>) {
  %y = mir.exp %x : tensor<3xf32>
  %z = mir.neg %x : tensor<3xf32>
  %w = mir.reduce_sum %y axes [0] : (tensor<3xf32>) -> tensor<f32>
  func.return %y, %z, %w : tensor<3xf32>, tensor<3xf32>, tensor<f32>
}

// -----

// CHECK: mir-select-outputs: @one has 1 results, got result number 2
func.func @one(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xf32> {
  func.return %x : tensor<3xf32>
}
