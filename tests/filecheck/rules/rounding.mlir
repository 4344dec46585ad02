// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family rounding: what each emits for all its floating-point operands at once.

// `trunc(lhs / rhs)` counts as fixed.
// CHECK-LABEL: func.func @rem(%x: tensor<2x3xf32>, %w: tensor<3xf32>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %0 = mir.div %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %1 = mir.trunc %0 : tensor<2x3xf32>
// CHECK-NEXT: %2 = mir.mul %g, %1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %3 = mir.neg %2 : tensor<2x3xf32>
// CHECK-NEXT: %dw = mir.reduce_sum %3 axes [0] : (tensor<2x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %g, %dw : tensor<2x3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @rem(%x: tensor<2x3xf32>, %w: tensor<3xf32>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>) {
  %dx, %dw = mir.vjp primals(%x, %w : tensor<2x3xf32>, tensor<3xf32>) outputs(%y : tensor<2x3xf32>) cotangents(%g : tensor<2x3xf32>) of [0] wrt [0, 1] -> tensor<2x3xf32>, tensor<3xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<3xf32>):
    %0 = mir.rem %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    mir.yield %0 : tensor<2x3xf32>
  }
  func.return %dx, %dw : tensor<2x3xf32>, tensor<3xf32>
}

// -----

// `floor(lhs / rhs)` counts as fixed.
// CHECK-LABEL: func.func @mod(%x: tensor<2x3xf32>, %w: tensor<3xf32>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %0 = mir.floordiv %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %1 = mir.mul %g, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %2 = mir.neg %1 : tensor<2x3xf32>
// CHECK-NEXT: %dw = mir.reduce_sum %2 axes [0] : (tensor<2x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %g, %dw : tensor<2x3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @mod(%x: tensor<2x3xf32>, %w: tensor<3xf32>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>) {
  %dx, %dw = mir.vjp primals(%x, %w : tensor<2x3xf32>, tensor<3xf32>) outputs(%y : tensor<2x3xf32>) cotangents(%g : tensor<2x3xf32>) of [0] wrt [0, 1] -> tensor<2x3xf32>, tensor<3xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<3xf32>):
    %0 = mir.mod %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    mir.yield %0 : tensor<2x3xf32>
  }
  func.return %dx, %dw : tensor<2x3xf32>, tensor<3xf32>
}

// -----

// `|lhs|` with the sign of `rhs`.
// CHECK-LABEL: func.func @copysign(%x: tensor<2x3xf32>, %w: tensor<3xf32>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %0 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.copysign %0, %x : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %2 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = mir.copysign %2, %w : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %4 = mir.mul %1, %3 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %dx = mir.mul %g, %4 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %5 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %6 = mir.expand %5 : tensor<f32> to tensor<2x3xf32>
// CHECK-NEXT: %dw = mir.reduce_sum %6 axes [0] : (tensor<2x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %dx, %dw : tensor<2x3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @copysign(%x: tensor<2x3xf32>, %w: tensor<3xf32>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>) {
  %dx, %dw = mir.vjp primals(%x, %w : tensor<2x3xf32>, tensor<3xf32>) outputs(%y : tensor<2x3xf32>) cotangents(%g : tensor<2x3xf32>) of [0] wrt [0, 1] -> tensor<2x3xf32>, tensor<3xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<3xf32>):
    %0 = mir.copysign %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    mir.yield %0 : tensor<2x3xf32>
  }
  func.return %dx, %dw : tensor<2x3xf32>, tensor<3xf32>
}
