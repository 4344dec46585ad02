// RUN: xdsl-opt %s -p mir-emit-vjp | filecheck %s

// The derivatives of normalisations.

// y (g - sum y g), from the result.
// CHECK-LABEL: func.func @softmax(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.mul %y, %g : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.reduce_sum %0 axes [1] keep_dim : (tensor<4x3xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: %2 = mir.mul %y, %1 : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.sub %0, %2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @softmax(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.softmax %a axis 1 : (tensor<4x3xf32>) -> tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// An op of its own for the input and for gamma; beta was only added.
// CHECK-LABEL: func.func @layer_norm(%x0: tensor<4x3xf32>, %x1: tensor<3xf32>, %x2: tensor<3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %d0 = mir.layer_norm_backward_input %x0, %x1, %g axis 1 eps 1.000000e-05 : (tensor<4x3xf32>, tensor<3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %d1 = mir.layer_norm_backward_gamma %x0, %g axis 1 eps 1.000000e-05 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %d2 = mir.reduce_sum %g axes [0] : (tensor<4x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %d0, %d1, %d2 : tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @layer_norm(%x0: tensor<4x3xf32>, %x1: tensor<3xf32>, %x2: tensor<3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %d0, %d1, %d2 = mir.vjp primals(%x0, %x1, %x2 : tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0, 1, 2] -> tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>):
    %0 = mir.layer_norm %a, %b, %c axis 1 eps 1.000000e-05 : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %d0, %d1, %d2 : tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>
}
