// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family bits: what each emits for all its floating-point operands at once.

// The distance to the next number counts as fixed.
// CHECK-LABEL: func.func @nextafter
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<2x3xf32>
// CHECK-NEXT: %dw = mir.reduce_sum %1 axes [0] : (tensor<2x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %g, %dw : tensor<2x3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @nextafter(%x: tensor<2x3xf32>, %w: tensor<3xf32>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>) {
  %dx, %dw = mir.vjp primals(%x, %w : tensor<2x3xf32>, tensor<3xf32>) outputs(%y : tensor<2x3xf32>) cotangents(%g : tensor<2x3xf32>) of [0] wrt [0, 1] -> tensor<2x3xf32>, tensor<3xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<3xf32>):
    %0 = mir.nextafter %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    mir.yield %0 : tensor<2x3xf32>
  }
  func.return %dx, %dw : tensor<2x3xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @reduce_precision
// CHECK-NEXT: %dx = mir.reduce_precision %g exponent_bits 5 mantissa_bits 2 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %dx : tensor<3xf32>
// CHECK-NEXT: }
func.func @reduce_precision(%x: tensor<3xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
  %dx = mir.vjp primals(%x : tensor<3xf32>) outputs(%y : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0] -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    %0 = mir.reduce_precision %a exponent_bits 5 mantissa_bits 2 : (tensor<3xf32>) -> tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dx : tensor<3xf32>
}
