// RUN: xdsl-opt %s -p 'mir-hvp{wrt=x}' --split-input-file --verify-diagnostics | filecheck %s

// The gradient, then the tangents of the results and of the gradient.

// The tangent of sum w exp x, and that of its gradient: the Hessian times tangent_x.
// CHECK-LABEL: func.func @f_hvp(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}, %d_output: tensor<f32> {mir.name = "d_output", mir.kind = "input", mir.cotangent_of = 0 : i64, mir.optional}, %tangent_x: tensor<3xf32> {mir.name = "tangent_x", mir.kind = "input", mir.tangent_of = "x"}) -> (tensor<f32>, tensor<3xf32> {mir.gradient_of = "x"}, tensor<f32>, tensor<3xf32>) {
// CHECK-NEXT: %y = mir.exp %x : tensor<3xf32>
// CHECK-NEXT: %t_y = mir.mul %tangent_x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %z = mir.mul %y, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %t_z = mir.mul %t_y, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %loss = mir.reduce_sum %z axes [0] : (tensor<3xf32>) -> tensor<f32>
// CHECK-NEXT: %t_loss = mir.reduce_sum %t_z axes [0] : (tensor<3xf32>) -> tensor<f32>
// CHECK-NEXT: %d_z = mir.expand %d_output : tensor<f32> to tensor<3xf32>
// CHECK-NEXT: %d_y = mir.mul %d_z, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %d_x = mir.mul %d_y, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %t_d_x = mir.mul %t_y, %d_y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %loss, %d_x, %t_loss, %t_d_x : tensor<f32>, tensor<3xf32>, tensor<f32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @f(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<f32> {
  %y = mir.exp %x : tensor<3xf32>
  %z = mir.mul %y, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %loss = mir.reduce_sum %z axes [0] : (tensor<3xf32>) -> tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// A gradient that does not depend on x has the tangent zeros.
// CHECK-LABEL: func.func @linear_hvp(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}, %d_output: tensor<3xf32> {mir.name = "d_output", mir.kind = "input", mir.cotangent_of = 0 : i64, mir.optional}, %tangent_x: tensor<3xf32> {mir.name = "tangent_x", mir.kind = "input", mir.tangent_of = "x"}) -> (tensor<3xf32>, tensor<3xf32> {mir.gradient_of = "x"}, tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %y = mir.neg %x : tensor<3xf32>
// CHECK-NEXT: %t_y = mir.neg %tangent_x : tensor<3xf32>
// CHECK-NEXT: %d_x = mir.neg %d_output : tensor<3xf32>
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<3xf32>
// CHECK-NEXT: func.return %y, %d_x, %t_y, %1 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @linear(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xf32> {
  %y = mir.neg %x : tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// -----

// An argument without gradient is named.
// CHECK: mir-grad: no gradient flows from the loss to "x": the loss does not depend on it (with zero_missing_wrt it is zeros)
func.func @other(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}, %y: tensor<f32> {mir.name = "y", mir.kind = "input"}) -> tensor<f32> {
  %loss = mir.exp %y : tensor<f32>
  func.return %loss : tensor<f32>
}
