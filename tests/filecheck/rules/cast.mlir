// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family cast: what each emits for all its floating-point operands at once.

// `result[i] = operand[i]` converted to the element type of the result.
// CHECK-LABEL: func.func @cast(%x: tensor<3x4xf64>, %y: tensor<3x4xf32>, %g: tensor<3x4xf32>) -> tensor<3x4xf64> {
// CHECK-NEXT: %dx = mir.cast %g : tensor<3x4xf32> to tensor<3x4xf64>
// CHECK-NEXT: func.return %dx : tensor<3x4xf64>
// CHECK-NEXT: }
func.func @cast(%x: tensor<3x4xf64>, %y: tensor<3x4xf32>, %g: tensor<3x4xf32>) -> tensor<3x4xf64> {
  %dx = mir.vjp primals(%x : tensor<3x4xf64>) outputs(%y : tensor<3x4xf32>) cotangents(%g : tensor<3x4xf32>) of [0] wrt [0] -> tensor<3x4xf64> {
  ^bb0(%a: tensor<3x4xf64>):
    %0 = mir.cast %a : tensor<3x4xf64> to tensor<3x4xf32>
    mir.yield %0 : tensor<3x4xf32>
  }
  func.return %dx : tensor<3x4xf64>
}
