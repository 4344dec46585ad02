// RUN: xdsl-opt %s -p mir-emit-vjp | filecheck %s

// The derivatives of losses.

// The labels have no gradient.
// CHECK-LABEL: func.func @cross_entropy(%x0: tensor<4x3xf32>, %x1: tensor<4xi64>, %y: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %d0 = mir.softmax_cross_entropy_backward %x0, %x1, %g ignore_index -100 : (tensor<4x3xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %d0 : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @cross_entropy(%x0: tensor<4x3xf32>, %x1: tensor<4xi64>, %y: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4x3xf32> {
  %d0 = mir.vjp primals(%x0, %x1 : tensor<4x3xf32>, tensor<4xi64>) outputs(%y : tensor<4xf32>) cotangents(%g : tensor<4xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<4xi64>):
    %0 = mir.softmax_cross_entropy_with_logits %a, %b ignore_index -100 : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4xf32>
    mir.yield %0 : tensor<4xf32>
  }
  func.return %d0 : tensor<4x3xf32>
}
