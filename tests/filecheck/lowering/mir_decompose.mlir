// RUN: xdsl-opt %s -p mir-decompose --split-input-file --verify-diagnostics | filecheck %s

// What is left has loops, is a view, or has a nest of its own.

// A composite becomes what it is defined by, with the composites in that.
// CHECK-LABEL: func.func @gated(%x: tensor<2x4xf32>, %w: tensor<2x3xf32>, %b: tensor<3xf32>) -> (tensor<2x2xf32>, tensor<4x3xf32>) {
// CHECK-NEXT: %0 = mir.narrow %x axis -1 start 0 len 2 : (tensor<2x4xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %1 = mir.narrow %x axis -1 start 2 len 2 : (tensor<2x4xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %2 = mir.silu %1 : tensor<2x2xf32>
// CHECK-NEXT: %y = mir.mul %2, %0 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %3 = mir.transpose %x perm [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %z = mir.matmul %3, %w : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %y, %z : tensor<2x2xf32>, tensor<4x3xf32>
// CHECK-NEXT: }
func.func @gated(%x: tensor<2x4xf32>, %w: tensor<2x3xf32>, %b: tensor<3xf32>) -> (tensor<2x2xf32>, tensor<4x3xf32>) {
  %y = mir.fused_swiglu %x : tensor<2x4xf32> to tensor<2x2xf32>
  %z = mir.dot_general %x, %w contracting [0] x [0] batch [] x [] : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  func.return %y, %z : tensor<2x2xf32>, tensor<4x3xf32>
}

// -----

// A loop stays, whose body is decomposed; one that runs once is its body.
// CHECK-LABEL: func.func @loops(%h: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
// CHECK-NEXT: %0 = mir.scan 8 carries(%h : tensor<2xf32>) -> (tensor<2xf32>) {
// CHECK-NEXT: ^bb0(%a: tensor<2xf32>):
// CHECK-NEXT: %1 = mir.reduce_sum %a axes [0] : (tensor<2xf32>) -> tensor<f32>
// CHECK-NEXT: %2 = mir.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = mir.div %1, %2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %4 = mir.mul %a, %3 : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
// CHECK-NEXT: mir.yield %4 : tensor<2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %1 = mir.tanh %h : tensor<2xf32>
// CHECK-NEXT: func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
// CHECK-NEXT: }
func.func @loops(%h: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = mir.scan 8 carries(%h : tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%a: tensor<2xf32>):
    %1 = mir.reduce_mean %a axes [0] : (tensor<2xf32>) -> tensor<f32>
    %2 = mir.mul %a, %1 : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    mir.yield %2 : tensor<2xf32>
  }
  %3 = mir.scan 1 carries(%h : tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%a: tensor<2xf32>):
    %4 = mir.tanh %a : tensor<2xf32>
    mir.yield %4 : tensor<2xf32>
  }
  func.return %0, %3 : tensor<2xf32>, tensor<2xf32>
}

// -----

// Of many rows, a solve with the identity is an inverse.
// CHECK-LABEL: func.func @inverse
// CHECK-NEXT: %0, %1 = mir.lu %a : (tensor<65x65xf64>) -> (tensor<65x65xf64>, tensor<65xi32>)
// CHECK-NEXT: %2 = mir.lu_inverse %0, %1 : (tensor<65x65xf64>, tensor<65xi32>) -> tensor<65x65xf64>
// CHECK: mir.lu_solve
// CHECK-NEXT: func.return %2, %6
func.func @inverse(%a: tensor<65x65xf64>, %small: tensor<3x3xf64>) -> (tensor<65x65xf64>, tensor<3x3xf64>) {
  %0 = mir.iota axis 0 : tensor<65xi64>
  %1 = mir.reshape %0 : tensor<65xi64> to tensor<65x1xi64>
  %2 = mir.eq %1, %0 : (tensor<65x1xi64>, tensor<65xi64>) -> tensor<65x65xi1>
  %3 = mir.cast %2 : tensor<65x65xi1> to tensor<65x65xf64>
  %4 = mir.dense_solve %a, %3 : (tensor<65x65xf64>, tensor<65x65xf64>) -> tensor<65x65xf64>
  %5 = mir.constant dense<[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]> : tensor<3x3xf64>
  %6 = mir.dense_solve %small, %5 : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  func.return %4, %6 : tensor<65x65xf64>, tensor<3x3xf64>
}
