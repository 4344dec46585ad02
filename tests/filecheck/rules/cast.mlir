// RUN: xdsl-opt %s -p mir-emit-vjp | filecheck %s

// The derivative of a conversion.

// Back to the operand's type.
// CHECK-LABEL: func.func @widen(%x: tensor<4xf32>, %y: tensor<4xf64>, %g: tensor<4xf64>) -> tensor<4xf32> {
// CHECK-NEXT: %dx = mir.cast %g : tensor<4xf64> to tensor<4xf32>
// CHECK-NEXT: func.return %dx : tensor<4xf32>
// CHECK-NEXT: }
func.func @widen(%x: tensor<4xf32>, %y: tensor<4xf64>, %g: tensor<4xf64>) -> tensor<4xf32> {
  %dx = mir.vjp primals(%x : tensor<4xf32>) outputs(%y : tensor<4xf64>) cotangents(%g : tensor<4xf64>) of [0] wrt [0] -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = mir.cast %a : tensor<4xf32> to tensor<4xf64>
    mir.yield %0 : tensor<4xf64>
  }
  func.return %dx : tensor<4xf32>
}
