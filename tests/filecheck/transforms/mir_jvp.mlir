// RUN: xdsl-opt %s -p 'mir-jvp{wrt=x}' --split-input-file --verify-diagnostics | filecheck %s

// The function of the results and their tangents; the tangent of each op stands right behind it.

// A product with what has no tangent; the tangent of the sum is the sum of the tangent.
// CHECK-LABEL: func.func @f_jvp(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x2xf32> {mir.name = "w", mir.kind = "param"}, %tangent_x: tensor<4x3xf32> {mir.name = "tangent_x", mir.kind = "input", mir.tangent_of = "x"}) -> (tensor<f32>, tensor<f32>) {
// CHECK-NEXT: %h = mir.matmul %x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %t_h = mir.matmul %tangent_x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %y = mir.tanh %h : tensor<4x2xf32>
// CHECK-NEXT: %0 = mir.mul %y, %y : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %1 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %2 = mir.sub %1, %0 : (tensor<f32>, tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %t_y = mir.mul %t_h, %2 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %loss = mir.reduce_sum %y axes [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
// CHECK-NEXT: %t_loss = mir.reduce_sum %t_y axes [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
// CHECK-NEXT: func.return %loss, %t_loss : tensor<f32>, tensor<f32>
// CHECK-NEXT: }
func.func @f(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x2xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<f32> {
  %h = mir.matmul %x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  %y = mir.tanh %h : tensor<4x2xf32>
  %loss = mir.reduce_sum %y axes [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// A result that x does not reach has the tangent zeros.
// CHECK-LABEL: func.func @constant_jvp(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}, %c: tensor<3xf32> {mir.name = "c", mir.kind = "input"}, %tangent_x: tensor<3xf32> {mir.name = "tangent_x", mir.kind = "input", mir.tangent_of = "x"}) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %y = mir.mul %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %0 = mir.mul %tangent_x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %1 = mir.mul %tangent_x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %t_y = mir.add %0, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %z = mir.exp %c : tensor<3xf32>
// CHECK-NEXT: %2 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = mir.expand %2 : tensor<f32> to tensor<3xf32>
// CHECK-NEXT: func.return %y, %z, %t_y, %3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @constant(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}, %c: tensor<3xf32> {mir.name = "c", mir.kind = "input"}) -> (tensor<3xf32>, tensor<3xf32>) {
  %y = mir.mul %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %z = mir.exp %c : tensor<3xf32>
  func.return %y, %z : tensor<3xf32>, tensor<3xf32>
}

// -----

// An unknown name is answered with the known ones.
// CHECK: mir-jvp: @other has no argument "x"; it has y
func.func @other(%y: tensor<3xf32> {mir.name = "y", mir.kind = "input"}) -> tensor<3xf32> {
  func.return %y : tensor<3xf32>
}
