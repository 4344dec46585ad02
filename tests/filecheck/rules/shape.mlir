// RUN: xdsl-opt %s -p mir-emit-vjp | filecheck %s

// The derivatives of ops that move elements: their transposes.

// Back to the shape of the operand.
// CHECK-LABEL: func.func @reshape(%x: tensor<4x3xf32>, %y: tensor<2x6xf32>, %g: tensor<2x6xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %dx = mir.reshape %g : tensor<2x6xf32> to tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @reshape(%x: tensor<4x3xf32>, %y: tensor<2x6xf32>, %g: tensor<2x6xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<2x6xf32>) cotangents(%g : tensor<2x6xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.reshape %a : tensor<4x3xf32> to tensor<2x6xf32>
    mir.yield %0 : tensor<2x6xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// The inverse permutation.
// CHECK-LABEL: func.func @transpose(%x: tensor<2x3x4xf32>, %y: tensor<4x2x3xf32>, %g: tensor<4x2x3xf32>) -> tensor<2x3x4xf32> {
// CHECK-NEXT: %dx = mir.transpose %g perm [1, 2, 0] : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: func.return %dx : tensor<2x3x4xf32>
// CHECK-NEXT: }
func.func @transpose(%x: tensor<2x3x4xf32>, %y: tensor<4x2x3xf32>, %g: tensor<4x2x3xf32>) -> tensor<2x3x4xf32> {
  %dx = mir.vjp primals(%x : tensor<2x3x4xf32>) outputs(%y : tensor<4x2x3xf32>) cotangents(%g : tensor<4x2x3xf32>) of [0] wrt [0] -> tensor<2x3x4xf32> {
  ^bb0(%a: tensor<2x3x4xf32>):
    %0 = mir.transpose %a perm [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
    mir.yield %0 : tensor<4x2x3xf32>
  }
  func.return %dx : tensor<2x3x4xf32>
}

// The cotangent between zeros.
// CHECK-LABEL: func.func @narrow(%x: tensor<4x5xf32>, %y: tensor<4x2xf32>, %g: tensor<4x2xf32>) -> tensor<4x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<4x1xf32>
// CHECK-NEXT: %2 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = mir.expand %2 : tensor<f32> to tensor<4x2xf32>
// CHECK-NEXT: %dx = mir.concat %1, %g, %3 axis 1 : (tensor<4x1xf32>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x5xf32>
// CHECK-NEXT: func.return %dx : tensor<4x5xf32>
// CHECK-NEXT: }
func.func @narrow(%x: tensor<4x5xf32>, %y: tensor<4x2xf32>, %g: tensor<4x2xf32>) -> tensor<4x5xf32> {
  %dx = mir.vjp primals(%x : tensor<4x5xf32>) outputs(%y : tensor<4x2xf32>) cotangents(%g : tensor<4x2xf32>) of [0] wrt [0] -> tensor<4x5xf32> {
  ^bb0(%a: tensor<4x5xf32>):
    %0 = mir.narrow %a axis 1 start 1 len 2 : (tensor<4x5xf32>) -> tensor<4x2xf32>
    mir.yield %0 : tensor<4x2xf32>
  }
  func.return %dx : tensor<4x5xf32>
}

// Empty parts are left out.
// CHECK-LABEL: func.func @narrow_front(%x: tensor<4x5xf64>, %y: tensor<3x5xf64>, %g: tensor<3x5xf64>) -> tensor<4x5xf64> {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f64>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f64> to tensor<1x5xf64>
// CHECK-NEXT: %dx = mir.concat %g, %1 axis 0 : (tensor<3x5xf64>, tensor<1x5xf64>) -> tensor<4x5xf64>
// CHECK-NEXT: func.return %dx : tensor<4x5xf64>
// CHECK-NEXT: }
func.func @narrow_front(%x: tensor<4x5xf64>, %y: tensor<3x5xf64>, %g: tensor<3x5xf64>) -> tensor<4x5xf64> {
  %dx = mir.vjp primals(%x : tensor<4x5xf64>) outputs(%y : tensor<3x5xf64>) cotangents(%g : tensor<3x5xf64>) of [0] wrt [0] -> tensor<4x5xf64> {
  ^bb0(%a: tensor<4x5xf64>):
    %0 = mir.narrow %a axis 0 start 0 len 3 : (tensor<4x5xf64>) -> tensor<3x5xf64>
    mir.yield %0 : tensor<3x5xf64>
  }
  func.return %dx : tensor<4x5xf64>
}

// Each part's piece.
// CHECK-LABEL: func.func @concat(%x0: tensor<4x2xf32>, %x1: tensor<4x3xf32>, %y: tensor<4x5xf32>, %g: tensor<4x5xf32>) -> (tensor<4x2xf32>, tensor<4x3xf32>) {
// CHECK-NEXT: %d0 = mir.narrow %g axis 1 start 0 len 2 : (tensor<4x5xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %d1 = mir.narrow %g axis 1 start 2 len 3 : (tensor<4x5xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %d0, %d1 : tensor<4x2xf32>, tensor<4x3xf32>
// CHECK-NEXT: }
func.func @concat(%x0: tensor<4x2xf32>, %x1: tensor<4x3xf32>, %y: tensor<4x5xf32>, %g: tensor<4x5xf32>) -> (tensor<4x2xf32>, tensor<4x3xf32>) {
  %d0, %d1 = mir.vjp primals(%x0, %x1 : tensor<4x2xf32>, tensor<4x3xf32>) outputs(%y : tensor<4x5xf32>) cotangents(%g : tensor<4x5xf32>) of [0] wrt [0, 1] -> tensor<4x2xf32>, tensor<4x3xf32> {
  ^bb0(%a: tensor<4x2xf32>, %b: tensor<4x3xf32>):
    %0 = mir.concat %a, %b axis 1 : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
    mir.yield %0 : tensor<4x5xf32>
  }
  func.return %d0, %d1 : tensor<4x2xf32>, tensor<4x3xf32>
}

// The sum over what was repeated.
// CHECK-LABEL: func.func @expand(%x: tensor<3x1xf32>, %y: tensor<2x3x4xf32>, %g: tensor<2x3x4xf32>) -> tensor<3x1xf32> {
// CHECK-NEXT: %0 = mir.reduce_sum %g axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
// CHECK-NEXT: %dx = mir.reshape %0 : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: func.return %dx : tensor<3x1xf32>
// CHECK-NEXT: }
func.func @expand(%x: tensor<3x1xf32>, %y: tensor<2x3x4xf32>, %g: tensor<2x3x4xf32>) -> tensor<3x1xf32> {
  %dx = mir.vjp primals(%x : tensor<3x1xf32>) outputs(%y : tensor<2x3x4xf32>) cotangents(%g : tensor<2x3x4xf32>) of [0] wrt [0] -> tensor<3x1xf32> {
  ^bb0(%a: tensor<3x1xf32>):
    %0 = mir.expand %a : tensor<3x1xf32> to tensor<2x3x4xf32>
    mir.yield %0 : tensor<2x3x4xf32>
  }
  func.return %dx : tensor<3x1xf32>
}
