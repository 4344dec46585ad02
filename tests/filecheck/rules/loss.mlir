// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family loss: what each emits for all its floating-point operands at once.

// `result[i] = logsumexp_c(logits[i, c]) - logits[i, labels[i]]`, with the maximum taken out of the logarithm.
// CHECK-LABEL: func.func @softmax_cross_entropy_with_logits(%x0: tensor<4x5xf32>, %x1: tensor<4xi64>, %y: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4x5xf32> {
// CHECK-NEXT: %dx0 = mir.softmax_cross_entropy_backward %x0, %x1, %g : (tensor<4x5xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x5xf32>
// CHECK-NEXT: func.return %dx0 : tensor<4x5xf32>
// CHECK-NEXT: }
func.func @softmax_cross_entropy_with_logits(%x0: tensor<4x5xf32>, %x1: tensor<4xi64>, %y: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4x5xf32> {
  %dx0 = mir.vjp primals(%x0, %x1 : tensor<4x5xf32>, tensor<4xi64>) outputs(%y : tensor<4xf32>) cotangents(%g : tensor<4xf32>) of [0] wrt [0] -> tensor<4x5xf32> {
  ^bb0(%a: tensor<4x5xf32>, %b: tensor<4xi64>):
    %0 = mir.softmax_cross_entropy_with_logits %a, %b : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<4xf32>
    mir.yield %0 : tensor<4xf32>
  }
  func.return %dx0 : tensor<4x5xf32>
}
