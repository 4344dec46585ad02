// RUN: xdsl-opt %s -p 'mir-jacfwd{wrt=x}' --split-input-file --verify-diagnostics | filecheck %s

// The tangents along all unit vectors at once, with their axis moved behind those of the result.

// What x does not reach, and the results themselves, are computed without the new axis.
// CHECK-LABEL: func.func @f_jacfwd(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x4xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<2x4x2x3xf32> {
// CHECK-NEXT: %0 = mir.constant dense<[0, 1, 2, 3, 4, 5]> : tensor<6xi64>
// CHECK-NEXT: %1 = mir.reshape %0 : tensor<6xi64> to tensor<6x1xi64>
// CHECK-NEXT: %2 = mir.eq %1, %0 : (tensor<6x1xi64>, tensor<6xi64>) -> tensor<6x6xi1>
// CHECK-NEXT: %3 = mir.cast %2 : tensor<6x6xi1> to tensor<6x6xf32>
// CHECK-NEXT: %tangent_x = mir.reshape %3 : tensor<6x6xf32> to tensor<6x2x3xf32>
// CHECK-NEXT: %h = mir.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %t_h = mir.matmul %tangent_x, %w : (tensor<6x2x3xf32>, tensor<3x4xf32>) -> tensor<6x2x4xf32>
// CHECK-NEXT: %y = mir.tanh %h : tensor<2x4xf32>
// CHECK-NEXT: %4 = mir.mul %y, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %5 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %6 = mir.sub %5, %4 : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %t_y = mir.mul %t_h, %6 : (tensor<6x2x4xf32>, tensor<2x4xf32>) -> tensor<6x2x4xf32>
// CHECK-NEXT: %7 = mir.transpose %t_y perm [1, 2, 0] : (tensor<6x2x4xf32>) -> tensor<2x4x6xf32>
// CHECK-NEXT: %8 = mir.reshape %7 : tensor<2x4x6xf32> to tensor<2x4x2x3xf32>
// CHECK-NEXT: func.return %8 : tensor<2x4x2x3xf32>
// CHECK-NEXT: }
func.func @f(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x4xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<2x4xf32> {
  %h = mir.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %y = mir.tanh %h : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// -----

// A result that x does not reach has a Jacobian of zeros; that of x by itself is the identity.
// CHECK-LABEL: func.func @trivial_jacfwd(%x: tensor<2xf32> {mir.name = "x", mir.kind = "input"}, %y: tensor<3xf32> {mir.name = "y", mir.kind = "input"}) -> (tensor<3x2xf32>, tensor<2x2xf32>) {
// CHECK-NEXT: %0 = mir.constant dense<[0, 1]> : tensor<2xi64>
// CHECK-NEXT: %1 = mir.reshape %0 : tensor<2xi64> to tensor<2x1xi64>
// CHECK-NEXT: %2 = mir.eq %1, %0 : (tensor<2x1xi64>, tensor<2xi64>) -> tensor<2x2xi1>
// CHECK-NEXT: %tangent_x = mir.cast %2 : tensor<2x2xi1> to tensor<2x2xf32>
// CHECK-NEXT: %3 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %4 = mir.expand %3 : tensor<f32> to tensor<3xf32>
// CHECK-NEXT: %5 = mir.expand %4 : tensor<3xf32> to tensor<2x3xf32>
// CHECK-NEXT: %6 = mir.transpose %5 perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %7 = mir.transpose %tangent_x perm [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: func.return %6, %7 : tensor<3x2xf32>, tensor<2x2xf32>
// CHECK-NEXT: }
func.func @trivial(%x: tensor<2xf32> {mir.name = "x", mir.kind = "input"}, %y: tensor<3xf32> {mir.name = "y", mir.kind = "input"}) -> (tensor<3xf32>, tensor<2xf32>) {
  func.return %y, %x : tensor<3xf32>, tensor<2xf32>
}

// -----

// Only a floating-point argument has Jacobians.
// CHECK: mir-jvp: "x" of type tensor<2xi32> is not floating-point
func.func @integer(%x: tensor<2xi32> {mir.name = "x", mir.kind = "input"}) -> tensor<2xi32> {
  func.return %x : tensor<2xi32>
}
