// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family norm: what each emits for all its floating-point operands at once.

// `result = exp(operand - m) / sum along axis of exp(operand - m)`, with `m` the maximum along `axis`.
// CHECK-LABEL: func.func @softmax(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.mul %y, %g : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.reduce_sum %0 axes [1] keep_dim : (tensor<3x5xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %2 = mir.mul %y, %1 : (tensor<3x5xf32>, tensor<3x1xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.sub %0, %2 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @softmax(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.softmax %a axis 1 : (tensor<3x5xf32>) -> tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = (x - mean) / sqrt(var + eps) * gamma + beta`, mean and biased variance along `axis`.
// CHECK-LABEL: func.func @layer_norm(%x0: tensor<3x5xf32>, %x1: tensor<5xf32>, %x2: tensor<5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<5xf32>, tensor<5xf32>) {
// CHECK-NEXT: %dx0 = mir.layer_norm_backward_input %x0, %x1, %g axis 1 eps 1.000000e-03 : (tensor<3x5xf32>, tensor<5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx1 = mir.layer_norm_backward_gamma %x0, %g axis 1 eps 1.000000e-03 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<5xf32>
// CHECK-NEXT: %dx2 = mir.reduce_sum %g axes [0] : (tensor<3x5xf32>) -> tensor<5xf32>
// CHECK-NEXT: func.return %dx0, %dx1, %dx2 : tensor<3x5xf32>, tensor<5xf32>, tensor<5xf32>
// CHECK-NEXT: }
func.func @layer_norm(%x0: tensor<3x5xf32>, %x1: tensor<5xf32>, %x2: tensor<5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<5xf32>, tensor<5xf32>) {
  %dx0, %dx1, %dx2 = mir.vjp primals(%x0, %x1, %x2 : tensor<3x5xf32>, tensor<5xf32>, tensor<5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0, 1, 2] -> tensor<3x5xf32>, tensor<5xf32>, tensor<5xf32> {
  ^bb0(%a: tensor<3x5xf32>, %b: tensor<5xf32>, %c: tensor<5xf32>):
    %0 = mir.layer_norm %a, %b, %c axis 1 eps 1.000000e-03 : (tensor<3x5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx0, %dx1, %dx2 : tensor<3x5xf32>, tensor<5xf32>, tensor<5xf32>
}

// -----

// `result = x / sqrt(mean(x^2) + eps) * gamma + beta`.
// CHECK-LABEL: func.func @rms_norm(%x0: tensor<3x4xf32>, %x1: tensor<4xf32>, %x2: tensor<4xf32>, %y0: tensor<3x4xf32>, %g0: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT: %dx0 = mir.rms_norm_backward_input %x0, %x1, %x2, %g0 axis 1 eps 1.000000e-03 : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %dx1 = mir.rms_norm_backward_gamma %x0, %x1, %x2, %g0 axis 1 eps 1.000000e-03 : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %dx2 = mir.rms_norm_backward_beta %x0, %x1, %x2, %g0 axis 1 eps 1.000000e-03 : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>) -> tensor<4xf32>
// CHECK-NEXT: func.return %dx0, %dx1, %dx2 : tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
func.func @rms_norm(%x0: tensor<3x4xf32>, %x1: tensor<4xf32>, %x2: tensor<4xf32>, %y0: tensor<3x4xf32>, %g0: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %dx0, %dx1, %dx2 = mir.vjp primals(%x0, %x1, %x2 : tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) outputs(%y0 : tensor<3x4xf32>) cotangents(%g0 : tensor<3x4xf32>) of [0] wrt [0, 1, 2] -> tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32> {
  ^bb0(%a: tensor<3x4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    %0 = mir.rms_norm %a, %b, %c axis 1 eps 1.000000e-03 : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    mir.yield %0 : tensor<3x4xf32>
  }
  func.return %dx0, %dx1, %dx2 : tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>
}
