// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family shape: what each emits for all its floating-point operands at once.

// `result` has the elements of `operand` in row-major order under another shape of as many elements.
// CHECK-LABEL: func.func @reshape(%x: tensor<2x3x2xf32>, %y: tensor<3x4xf32>, %g: tensor<3x4xf32>) -> tensor<2x3x2xf32> {
// CHECK-NEXT: %dx = mir.reshape %g : tensor<3x4xf32> to tensor<2x3x2xf32>
// CHECK-NEXT: func.return %dx : tensor<2x3x2xf32>
// CHECK-NEXT: }
func.func @reshape(%x: tensor<2x3x2xf32>, %y: tensor<3x4xf32>, %g: tensor<3x4xf32>) -> tensor<2x3x2xf32> {
  %dx = mir.vjp primals(%x : tensor<2x3x2xf32>) outputs(%y : tensor<3x4xf32>) cotangents(%g : tensor<3x4xf32>) of [0] wrt [0] -> tensor<2x3x2xf32> {
  ^bb0(%a: tensor<2x3x2xf32>):
    %0 = mir.reshape %a : tensor<2x3x2xf32> to tensor<3x4xf32>
    mir.yield %0 : tensor<3x4xf32>
  }
  func.return %dx : tensor<2x3x2xf32>
}

// -----

// `result.shape[d] = operand.shape[perm[d]]`: dimension `d` of the result is dimension `perm[d]` of the operand.
// CHECK-LABEL: func.func @transpose(%x: tensor<3x5xf32>, %y: tensor<5x3xf32>, %g: tensor<5x3xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %dx = mir.transpose %g perm [1, 0] : (tensor<5x3xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @transpose(%x: tensor<3x5xf32>, %y: tensor<5x3xf32>, %g: tensor<5x3xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<5x3xf32>) cotangents(%g : tensor<5x3xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.transpose %a perm [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
    mir.yield %0 : tensor<5x3xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result` is `operand[start : start+len]` along `axis`.
// CHECK-LABEL: func.func @narrow(%x: tensor<3x5xf32>, %y: tensor<3x3xf32>, %g: tensor<3x3xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<3x1xf32>
// CHECK-NEXT: %2 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = mir.expand %2 : tensor<f32> to tensor<3x1xf32>
// CHECK-NEXT: %dx = mir.concat %1, %g, %3 axis 1 : (tensor<3x1xf32>, tensor<3x3xf32>, tensor<3x1xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @narrow(%x: tensor<3x5xf32>, %y: tensor<3x3xf32>, %g: tensor<3x3xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x3xf32>) cotangents(%g : tensor<3x3xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.narrow %a axis 1 start 1 len 3 : (tensor<3x5xf32>) -> tensor<3x3xf32>
    mir.yield %0 : tensor<3x3xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result` is the operands one after the other along `axis`; the other dimensions agree.
// CHECK-LABEL: func.func @concat(%x0: tensor<3x2xf32>, %x1: tensor<3x1xf32>, %x2: tensor<3x4xf32>, %y: tensor<3x7xf32>, %g: tensor<3x7xf32>) -> (tensor<3x2xf32>, tensor<3x1xf32>, tensor<3x4xf32>) {
// CHECK-NEXT: %dx0 = mir.narrow %g axis 1 start 0 len 2 : (tensor<3x7xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %dx1 = mir.narrow %g axis 1 start 2 len 1 : (tensor<3x7xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %dx2 = mir.narrow %g axis 1 start 3 len 4 : (tensor<3x7xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return %dx0, %dx1, %dx2 : tensor<3x2xf32>, tensor<3x1xf32>, tensor<3x4xf32>
// CHECK-NEXT: }
func.func @concat(%x0: tensor<3x2xf32>, %x1: tensor<3x1xf32>, %x2: tensor<3x4xf32>, %y: tensor<3x7xf32>, %g: tensor<3x7xf32>) -> (tensor<3x2xf32>, tensor<3x1xf32>, tensor<3x4xf32>) {
  %dx0, %dx1, %dx2 = mir.vjp primals(%x0, %x1, %x2 : tensor<3x2xf32>, tensor<3x1xf32>, tensor<3x4xf32>) outputs(%y : tensor<3x7xf32>) cotangents(%g : tensor<3x7xf32>) of [0] wrt [0, 1, 2] -> tensor<3x2xf32>, tensor<3x1xf32>, tensor<3x4xf32> {
  ^bb0(%a: tensor<3x2xf32>, %b: tensor<3x1xf32>, %c: tensor<3x4xf32>):
    %0 = mir.concat %a, %b, %c axis 1 : (tensor<3x2xf32>, tensor<3x1xf32>, tensor<3x4xf32>) -> tensor<3x7xf32>
    mir.yield %0 : tensor<3x7xf32>
  }
  func.return %dx0, %dx1, %dx2 : tensor<3x2xf32>, tensor<3x1xf32>, tensor<3x4xf32>
}

// -----

// `result` is `operand` broadcast, as in NumPy's `broadcast_to`, to the shape of the result.
// CHECK-LABEL: func.func @expand(%x: tensor<5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<5xf32> {
// CHECK-NEXT: %dx = mir.reduce_sum %g axes [0] : (tensor<3x5xf32>) -> tensor<5xf32>
// CHECK-NEXT: func.return %dx : tensor<5xf32>
// CHECK-NEXT: }
func.func @expand(%x: tensor<5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<5xf32> {
  %dx = mir.vjp primals(%x : tensor<5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<5xf32> {
  ^bb0(%a: tensor<5xf32>):
    %0 = mir.expand %a : tensor<5xf32> to tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<5xf32>
}

// -----

// `result[.., i, ..] = operand[.., n - 1 - i, ..]`: its own inverse.
// CHECK-LABEL: func.func @flip(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %dx = mir.flip %g axis 1 : tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @flip(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.flip %a axis 1 : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}
