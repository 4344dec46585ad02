// RUN: xdsl-opt %s -p 'mir-grad{wrt=w}' --split-input-file --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p 'mir-grad{wrt=w emit=false}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix=LAYOUT
// RUN: xdsl-opt %s -p 'mir-grad{wrt=w zero-missing-wrt=true}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix=ZEROS

// The gradient of the first result: its structure (LAYOUT) and what the rules make of it (CHECK).

// One mir.vjp per op on the path from w to the loss, in reverse order; x gets none.
// CHECK-LABEL: func.func @f_grad(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x2xf32> {mir.name = "w", mir.kind = "param"}, %d_output: tensor<f32> {mir.name = "d_output", mir.kind = "input", mir.cotangent_of = 0 : i64, mir.optional}) -> (tensor<f32>, tensor<3x2xf32> {mir.gradient_of = "w"}) {
// CHECK-NEXT: %h = mir.matmul %x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %y = mir.tanh %h : tensor<4x2xf32>
// CHECK-NEXT: %loss = mir.reduce_sum %y axes [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
// CHECK-NEXT: %d_y = mir.expand %d_output : tensor<f32> to tensor<4x2xf32>
// CHECK-NEXT: %0 = mir.mul %y, %y : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %1 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %2 = mir.sub %1, %0 : (tensor<f32>, tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %d_h = mir.mul %d_y, %2 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %3 = mir.transpose %x perm [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %d_w = mir.matmul %3, %d_h : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: func.return %loss, %d_w : tensor<f32>, tensor<3x2xf32>
// CHECK-NEXT: }
// LAYOUT-LABEL: func.func @f_grad(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x2xf32> {mir.name = "w", mir.kind = "param"}, %d_output: tensor<f32> {mir.name = "d_output", mir.kind = "input", mir.cotangent_of = 0 : i64, mir.optional}) -> (tensor<f32>, tensor<3x2xf32> {mir.gradient_of = "w"}) {
// LAYOUT-NEXT: %h = mir.matmul %x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
// LAYOUT-NEXT: %y = mir.tanh %h : tensor<4x2xf32>
// LAYOUT-NEXT: %loss = mir.reduce_sum %y axes [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
// LAYOUT-NEXT: %d_y = mir.vjp primals(%y : tensor<4x2xf32>) outputs(%loss : tensor<f32>) cotangents(%d_output : tensor<f32>) of [0] wrt [0] -> tensor<4x2xf32> {
// LAYOUT-NEXT: ^bb0(%0: tensor<4x2xf32>):
// LAYOUT-NEXT: %loss_1 = mir.reduce_sum %0 axes [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
// LAYOUT-NEXT: mir.yield %loss_1 : tensor<f32>
// LAYOUT-NEXT: }
// LAYOUT-NEXT: %d_h = mir.vjp primals(%h : tensor<4x2xf32>) outputs(%y : tensor<4x2xf32>) cotangents(%d_y : tensor<4x2xf32>) of [0] wrt [0] -> tensor<4x2xf32> {
// LAYOUT-NEXT: ^bb0(%0: tensor<4x2xf32>):
// LAYOUT-NEXT: %y_1 = mir.tanh %0 : tensor<4x2xf32>
// LAYOUT-NEXT: mir.yield %y_1 : tensor<4x2xf32>
// LAYOUT-NEXT: }
// LAYOUT-NEXT: %d_w = mir.vjp primals(%x, %w : tensor<4x3xf32>, tensor<3x2xf32>) outputs(%h : tensor<4x2xf32>) cotangents(%d_h : tensor<4x2xf32>) of [0] wrt [1] -> tensor<3x2xf32> {
// LAYOUT-NEXT: ^bb0(%0: tensor<4x3xf32>, %1: tensor<3x2xf32>):
// LAYOUT-NEXT: %h_1 = mir.matmul %0, %1 : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
// LAYOUT-NEXT: mir.yield %h_1 : tensor<4x2xf32>
// LAYOUT-NEXT: }
// LAYOUT-NEXT: func.return %loss, %d_w : tensor<f32>, tensor<3x2xf32>
// LAYOUT-NEXT: }
func.func @f(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x2xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<f32> {
  %h = mir.matmul %x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  %y = mir.tanh %h : tensor<4x2xf32>
  %loss = mir.reduce_sum %y axes [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// A value used twice gets the sum of its cotangents.
// CHECK-LABEL: func.func @twice_grad(%w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}, %d_output: tensor<3xf32> {mir.name = "d_output", mir.kind = "input", mir.cotangent_of = 0 : i64, mir.optional}) -> (tensor<3xf32>, tensor<3xf32> {mir.gradient_of = "w"}) {
// CHECK-NEXT: %a = mir.exp %w : tensor<3xf32>
// CHECK-NEXT: %b = mir.mul %a, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %d_a = mir.mul %d_output, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %d_w = mir.mul %d_output, %a : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %d_w_1 = mir.mul %d_a, %a : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %d_w_2 = mir.add %d_w, %d_w_1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %b, %d_w_2 : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
// LAYOUT-LABEL: func.func @twice_grad(%w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}, %d_output: tensor<3xf32> {mir.name = "d_output", mir.kind = "input", mir.cotangent_of = 0 : i64, mir.optional}) -> (tensor<3xf32>, tensor<3xf32> {mir.gradient_of = "w"}) {
// LAYOUT-NEXT: %a = mir.exp %w : tensor<3xf32>
// LAYOUT-NEXT: %b = mir.mul %a, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// LAYOUT-NEXT: %d_a, %d_w = mir.vjp primals(%a, %w : tensor<3xf32>, tensor<3xf32>) outputs(%b : tensor<3xf32>) cotangents(%d_output : tensor<3xf32>) of [0] wrt [0, 1] -> tensor<3xf32>, tensor<3xf32> {
// LAYOUT-NEXT: ^bb0(%0: tensor<3xf32>, %1: tensor<3xf32>):
// LAYOUT-NEXT: %b_1 = mir.mul %0, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// LAYOUT-NEXT: mir.yield %b_1 : tensor<3xf32>
// LAYOUT-NEXT: }
// LAYOUT-NEXT: %d_w_1 = mir.vjp primals(%w : tensor<3xf32>) outputs(%a : tensor<3xf32>) cotangents(%d_a : tensor<3xf32>) of [0] wrt [0] -> tensor<3xf32> {
// LAYOUT-NEXT: ^bb0(%0: tensor<3xf32>):
// LAYOUT-NEXT: %a_1 = mir.exp %0 : tensor<3xf32>
// LAYOUT-NEXT: mir.yield %a_1 : tensor<3xf32>
// LAYOUT-NEXT: }
// LAYOUT-NEXT: %d_w_2 = mir.add %d_w, %d_w_1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// LAYOUT-NEXT: func.return %b, %d_w_2 : tensor<3xf32>, tensor<3xf32>
// LAYOUT-NEXT: }
func.func @twice(%w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<3xf32> {
  %a = mir.exp %w : tensor<3xf32>
  %b = mir.mul %a, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %b : tensor<3xf32>
}

// -----

// Results behind the first are passed on; nothing is differentiated for them.
// CHECK-LABEL: func.func @aux_grad(%w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}, %d_output: tensor<3xf32> {mir.name = "d_output", mir.kind = "input", mir.cotangent_of = 0 : i64, mir.optional}) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32> {mir.gradient_of = "w"}) {
// CHECK-NEXT: %a = mir.neg %w : tensor<3xf32>
// CHECK-NEXT: %b = mir.sin %w : tensor<3xf32>
// CHECK-NEXT: %d_w = mir.neg %d_output : tensor<3xf32>
// CHECK-NEXT: func.return %a, %b, %d_w : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @aux(%w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}) -> (tensor<3xf32>, tensor<3xf32>) {
  %a = mir.neg %w : tensor<3xf32>
  %b = mir.sin %w : tensor<3xf32>
  func.return %a, %b : tensor<3xf32>, tensor<3xf32>
}

// -----

// The message says what stops the gradient; with zero-missing-wrt it is zeros.
// CHECK: mir-grad: no gradient flows from the loss to "w": mir.stop_gradient stops it, because it stops gradients (with zero_missing_wrt it is zeros)
// ZEROS-LABEL: func.func @stopped_grad(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}, %d_output: tensor<3xf32> {mir.name = "d_output", mir.kind = "input", mir.cotangent_of = 0 : i64, mir.optional}) -> (tensor<3xf32>, tensor<3xf32> {mir.gradient_of = "w"}) {
// ZEROS-NEXT: %c = mir.stop_gradient %w : tensor<3xf32>
// ZEROS-NEXT: %y = mir.mul %x, %c : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// ZEROS-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// ZEROS-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<3xf32>
// ZEROS-NEXT: func.return %y, %1 : tensor<3xf32>, tensor<3xf32>
// ZEROS-NEXT: }
func.func @stopped(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<3xf32> {
  %c = mir.stop_gradient %w : tensor<3xf32>
  %y = mir.mul %x, %c : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// -----

// Nor does one flow through a body that compares the operand and stops the rest.
// CHECK: mir-grad: no gradient flows from the loss to "w": mir.remat stops it, because no result of it depends on that differentiably (with zero_missing_wrt it is zeros)
// ZEROS-LABEL: func.func @compared_grad(
// ZEROS: %y = mir.remat captured(%v, %w : tensor<3xf32>, tensor<3xf32>)
// ZEROS: func.return %y, %{{.*}} : tensor<3xf32>, tensor<3xf32>
func.func @compared(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<3xf32> {
  %v = mir.exp %x : tensor<3xf32>
  %y = mir.remat captured(%v, %w : tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    %c = mir.gt %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %d = mir.where %c, %a, %b : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %e = mir.stop_gradient %d : tensor<3xf32>
    %f = mir.mul %a, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    mir.yield %f : tensor<3xf32>
  }
  func.return %y : tensor<3xf32>
}

// -----

// An integer loss has no gradient.
// CHECK: mir-grad: the loss of type tensor<3xi32> is not floating-point
func.func @integer(%w: tensor<3xi32> {mir.name = "w", mir.kind = "param"}) -> tensor<3xi32> {
  func.return %w : tensor<3xi32>
}

// -----

// Values are defined before they are used.
// CHECK: mir.exp: operand 0 %z (a result of mir.neg) is used before it is defined
func.func @order(%w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<3xf32> {
  %y = mir.exp %z : tensor<3xf32>
  %z = mir.neg %w : tensor<3xf32>
  func.return %y : tensor<3xf32>
}
