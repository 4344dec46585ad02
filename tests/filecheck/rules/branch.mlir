// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file --verify-diagnostics | filecheck %s

// The cotangents of the branch that is taken, which is computed again; the other branch leaves out w.
// CHECK-LABEL: func.func @if(%p: tensor<i1>, %x: tensor<3xf32>, %w: tensor<3xf32>, %out: tensor<3xf32>, %g: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %dx, %dw = mir.if %p : tensor<i1> captured(%x, %g, %w : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT: ^bb0(%x_1: tensor<3xf32>, %g_1: tensor<3xf32>, %w_1: tensor<3xf32>):
// CHECK-NEXT: %0 = mir.exp %x_1 : tensor<3xf32>
// CHECK-NEXT: %d_x = mir.mul %g_1, %0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %1 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %2 = mir.expand %1 : tensor<f32> to tensor<3xf32>
// CHECK-NEXT: mir.yield %d_x, %2 : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: ^bb0(%x_2: tensor<3xf32>, %g_2: tensor<3xf32>, %w_2: tensor<3xf32>):
// CHECK-NEXT: %d_x_1 = mir.mul %g_2, %w_2 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %d_w = mir.mul %g_2, %x_2 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: mir.yield %d_x_1, %d_w : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %dx, %dw : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @if(%p: tensor<i1>, %x: tensor<3xf32>, %w: tensor<3xf32>, %out: tensor<3xf32>, %g: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %dx, %dw = mir.vjp primals(%p, %x, %w : tensor<i1>, tensor<3xf32>, tensor<3xf32>) outputs(%out : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [1, 2] -> tensor<3xf32>, tensor<3xf32> {
  ^bb0(%p_1: tensor<i1>, %x_1: tensor<3xf32>, %w_1: tensor<3xf32>):
    %0 = mir.if %p_1 : tensor<i1> captured(%x_1, %w_1 : tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>) {
    ^bb1(%a: tensor<3xf32>, %b: tensor<3xf32>):
      %1 = mir.exp %a : tensor<3xf32>
      mir.yield %1 : tensor<3xf32>
    } else {
    ^bb2(%a: tensor<3xf32>, %b: tensor<3xf32>):
      %1 = mir.mul %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      mir.yield %1 : tensor<3xf32>
    }
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dx, %dw : tensor<3xf32>, tensor<3xf32>
}

// The body is computed again, where its gradient is.
// CHECK-LABEL: func.func @remat(%x: tensor<3xf32>, %out: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %dx = mir.remat captured(%x, %g : tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>) {
// CHECK-NEXT: ^bb0(%x_1: tensor<3xf32>, %g_1: tensor<3xf32>):
// CHECK-NEXT: %0 = mir.exp %x_1 : tensor<3xf32>
// CHECK-NEXT: %1 = mir.tanh %0 : tensor<3xf32>
// CHECK-NEXT: %2 = mir.mul %1, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %3 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %4 = mir.sub %3, %2 : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %5 = mir.mul %g_1, %4 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %d_x = mir.mul %5, %0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: mir.yield %d_x : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %dx : tensor<3xf32>
// CHECK-NEXT: }
func.func @remat(%x: tensor<3xf32>, %out: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
  %dx = mir.vjp primals(%x : tensor<3xf32>) outputs(%out : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0] -> tensor<3xf32> {
  ^bb0(%x_1: tensor<3xf32>):
    %0 = mir.remat captured(%x_1 : tensor<3xf32>) -> (tensor<3xf32>) {
    ^bb1(%a: tensor<3xf32>):
      %1 = mir.exp %a : tensor<3xf32>
      %2 = mir.tanh %1 : tensor<3xf32>
      mir.yield %2 : tensor<3xf32>
    }
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dx : tensor<3xf32>
}

// -----

// CHECK: mir.while: a while loop without a bound has no gradient in reverse mode: set max_iterations, or use forward mode (rlx.jvp, mir-jvp)
func.func @while(%x: tensor<f32>, %y: tensor<f32>, %n: tensor<i32>, %g: tensor<f32>) -> tensor<f32> {
  %dx = mir.vjp primals(%x : tensor<f32>) outputs(%y, %n : tensor<f32>, tensor<i32>) cotangents(%g : tensor<f32>) of [0] wrt [0] -> tensor<f32> {
  ^bb0(%x_1: tensor<f32>):
    %0, %1 = mir.while carries(%x_1 : tensor<f32>) -> (tensor<f32>) {
    ^bb1(%a: tensor<f32>):
      %2 = mir.lt %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
      mir.yield %2 : tensor<i1>
    } do {
    ^bb2(%a: tensor<f32>):
      %2 = mir.sin %a : tensor<f32>
      mir.yield %2 : tensor<f32>
    }
    mir.yield %0, %1 : tensor<f32>, tensor<i32>
  }
  func.return %dx : tensor<f32>
}

// -----

// CHECK: mir.while: it is differentiated by its decomposition: run mir-unroll-while first, and then mir-convert-scans-for-ad (mir-prepare-for-ad does)
func.func @while(%x: tensor<f32>, %y: tensor<f32>, %n: tensor<i32>, %g: tensor<f32>) -> tensor<f32> {
  %dx = mir.vjp primals(%x : tensor<f32>) outputs(%y, %n : tensor<f32>, tensor<i32>) cotangents(%g : tensor<f32>) of [0] wrt [0] -> tensor<f32> {
  ^bb0(%x_1: tensor<f32>):
    %0, %1 = mir.while carries(%x_1 : tensor<f32>) max_iterations 8 -> (tensor<f32>) {
    ^bb1(%a: tensor<f32>):
      %2 = mir.lt %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
      mir.yield %2 : tensor<i1>
    } do {
    ^bb2(%a: tensor<f32>):
      %2 = mir.sin %a : tensor<f32>
      mir.yield %2 : tensor<f32>
    }
    mir.yield %0, %1 : tensor<f32>, tensor<i32>
  }
  func.return %dx : tensor<f32>
}
