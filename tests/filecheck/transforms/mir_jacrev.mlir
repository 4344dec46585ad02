// RUN: xdsl-opt %s -p 'mir-jacrev{wrt=x}' --split-input-file --verify-diagnostics | filecheck %s

// The cotangents of all unit vectors at once, with their axis in front, where those of the result are.
// CHECK-LABEL: func.func @f_jacrev(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x4xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<2x4x2x3xf32> {
// CHECK-NEXT: %0 = mir.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi64>
// CHECK-NEXT: %1 = mir.reshape %0 : tensor<8xi64> to tensor<8x1xi64>
// CHECK-NEXT: %2 = mir.eq %1, %0 : (tensor<8x1xi64>, tensor<8xi64>) -> tensor<8x8xi1>
// CHECK-NEXT: %3 = mir.cast %2 : tensor<8x8xi1> to tensor<8x8xf32>
// CHECK-NEXT: %d_output = mir.reshape %3 : tensor<8x8xf32> to tensor<8x2x4xf32>
// CHECK-NEXT: %h = mir.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %y = mir.tanh %h : tensor<2x4xf32>
// CHECK-NEXT: %4 = mir.mul %y, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %5 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %6 = mir.sub %5, %4 : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %d_h = mir.mul %d_output, %6 : (tensor<8x2x4xf32>, tensor<2x4xf32>) -> tensor<8x2x4xf32>
// CHECK-NEXT: %7 = mir.transpose %w perm [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %d_x = mir.matmul %d_h, %7 : (tensor<8x2x4xf32>, tensor<4x3xf32>) -> tensor<8x2x3xf32>
// CHECK-NEXT: %8 = mir.reshape %d_x : tensor<8x2x3xf32> to tensor<2x4x2x3xf32>
// CHECK-NEXT: func.return %8 : tensor<2x4x2x3xf32>
// CHECK-NEXT: }
func.func @f(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x4xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<2x4xf32> {
  %h = mir.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %y = mir.tanh %h : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// -----

// One batch for all results; integers have a Jacobian of zeros, and that of x by itself is the identity.
// CHECK-LABEL: func.func @several_jacrev(%x: tensor<2xf32> {mir.name = "x", mir.kind = "input"}, %n: tensor<3xi32> {mir.name = "n", mir.kind = "input"}) -> (tensor<3x2xi32>, tensor<2x2xf32>, tensor<2xf32>) {
// CHECK-NEXT: %0 = mir.constant dense<[0, 1, 2]> : tensor<3xi64>
// CHECK-NEXT: %1 = mir.constant dense<[0, 1]> : tensor<2xi64>
// CHECK-NEXT: %2 = mir.reshape %0 : tensor<3xi64> to tensor<3x1xi64>
// CHECK-NEXT: %3 = mir.eq %2, %1 : (tensor<3x1xi64>, tensor<2xi64>) -> tensor<3x2xi1>
// CHECK-NEXT: %d_output = mir.cast %3 : tensor<3x2xi1> to tensor<3x2xf32>
// CHECK-NEXT: %4 = mir.constant dense<2> : tensor<1xi64>
// CHECK-NEXT: %5 = mir.reshape %0 : tensor<3xi64> to tensor<3x1xi64>
// CHECK-NEXT: %6 = mir.eq %5, %4 : (tensor<3x1xi64>, tensor<1xi64>) -> tensor<3x1xi1>
// CHECK-NEXT: %7 = mir.cast %6 : tensor<3x1xi1> to tensor<3x1xf32>
// CHECK-NEXT: %d_output_1 = mir.reshape %7 : tensor<3x1xf32> to tensor<3xf32>
// CHECK-NEXT: %8 = mir.reshape %d_output_1 : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %d_x = mir.expand %8 : tensor<3x1xf32> to tensor<3x2xf32>
// CHECK-NEXT: %d_x_1 = mir.add %d_output, %d_x : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %9 = mir.constant dense<0> : tensor<i32>
// CHECK-NEXT: %10 = mir.expand %9 : tensor<i32> to tensor<3x2xi32>
// CHECK-NEXT: %11 = mir.narrow %d_x_1 axis 0 start 0 len 2 : (tensor<3x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %12 = mir.narrow %d_x_1 axis 0 start 2 len 1 : (tensor<3x2xf32>) -> tensor<1x2xf32>
// CHECK-NEXT: %13 = mir.reshape %12 : tensor<1x2xf32> to tensor<2xf32>
// CHECK-NEXT: func.return %10, %11, %13 : tensor<3x2xi32>, tensor<2x2xf32>, tensor<2xf32>
// CHECK-NEXT: }
func.func @several(%x: tensor<2xf32> {mir.name = "x", mir.kind = "input"}, %n: tensor<3xi32> {mir.name = "n", mir.kind = "input"}) -> (tensor<3xi32>, tensor<2xf32>, tensor<f32>) {
  %s = mir.reduce_sum %x axes [0] : (tensor<2xf32>) -> tensor<f32>
  func.return %n, %x, %s : tensor<3xi32>, tensor<2xf32>, tensor<f32>
}

// -----

// Only a floating-point argument has Jacobians.
// CHECK: mir-jacrev: "x" of type tensor<2xi32> is not floating-point
func.func @integer(%x: tensor<2xi32> {mir.name = "x", mir.kind = "input"}) -> tensor<2xi32> {
  func.return %x : tensor<2xi32>
}
