// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file --verify-diagnostics | filecheck %s


// By the rule for reverse mode: the operands, the results of the forward pass and the cotangents go in.

// CHECK-LABEL: func.func @vjp(%x: tensor<3xf32>, %w: tensor<3xf32>, %n: tensor<3xi32>, %out: tensor<3xf32>, %m: tensor<3xi32>, %g: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %0 = mir.sin %g : tensor<3xf32>
// CHECK-NEXT: %1 = mir.mul %0, %out : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %dx = mir.mul %1, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %dx : tensor<3xf32>
// CHECK-NEXT: }
func.func @vjp(%x: tensor<3xf32>, %w: tensor<3xf32>, %n: tensor<3xi32>, %out: tensor<3xf32>, %m: tensor<3xi32>, %g: tensor<3xf32>) -> tensor<3xf32> {
  %dx = mir.vjp primals(%x, %n, %w : tensor<3xf32>, tensor<3xi32>, tensor<3xf32>) outputs(%out, %m : tensor<3xf32>, tensor<3xi32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0] -> tensor<3xf32> {
  ^bb0(%x_1: tensor<3xf32>, %n_1: tensor<3xi32>, %w_1: tensor<3xf32>):
    %0, %1 = mir.custom_fn inputs(%x_1, %n_1 : tensor<3xf32>, tensor<3xi32>) captured(%w_1 : tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi32>) {
    ^bb1(%a: tensor<3xf32>, %k: tensor<3xi32>, %b: tensor<3xf32>):
      mir.yield %a, %k : tensor<3xf32>, tensor<3xi32>
    } vjp {
    ^bb2(%a: tensor<3xf32>, %k: tensor<3xi32>, %b: tensor<3xf32>, %y: tensor<3xf32>, %l: tensor<3xi32>, %d: tensor<3xf32>):
      %2 = mir.sin %d : tensor<3xf32>
      %3 = mir.mul %2, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %4 = mir.mul %3, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      mir.yield %4 : tensor<3xf32>
    } jvp {
    ^bb3(%a: tensor<3xf32>, %k: tensor<3xi32>, %b: tensor<3xf32>, %t: tensor<3xf32>):
      mir.yield %t : tensor<3xf32>
    }
    mir.yield %0, %1 : tensor<3xf32>, tensor<3xi32>
  }
  func.return %dx : tensor<3xf32>
}

// By the transpose of the rule for forward mode, W-06: what is linear in the tangents, backwards.

// CHECK-LABEL: func.func @transpose(%x: tensor<3xf32>, %out: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %0 = mir.cos %x : tensor<3xf32>
// CHECK-NEXT: %1 = mir.neg %g : tensor<3xf32>
// CHECK-NEXT: %dx = mir.mul %1, %0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %dx : tensor<3xf32>
// CHECK-NEXT: }
func.func @transpose(%x: tensor<3xf32>, %out: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
  %dx = mir.vjp primals(%x : tensor<3xf32>) outputs(%out : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0] -> tensor<3xf32> {
  ^bb0(%x_1: tensor<3xf32>):
    %0 = mir.custom_fn inputs(%x_1 : tensor<3xf32>) -> (tensor<3xf32>) {
    ^bb1(%a: tensor<3xf32>):
      %1 = mir.sin %a : tensor<3xf32>
      mir.yield %1 : tensor<3xf32>
    } jvp {
    ^bb2(%a: tensor<3xf32>, %t: tensor<3xf32>):
      %2 = mir.cos %a : tensor<3xf32>
      %3 = mir.mul %t, %2 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %4 = mir.neg %3 : tensor<3xf32>
      mir.yield %4 : tensor<3xf32>
    }
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dx : tensor<3xf32>
}

// Through the function, where there is no rule.

// CHECK-LABEL: func.func @forward(%x: tensor<3xf32>, %out: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %0 = mir.cos %x : tensor<3xf32>
// CHECK-NEXT: %d_x = mir.mul %g, %0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %d_x : tensor<3xf32>
// CHECK-NEXT: }
func.func @forward(%x: tensor<3xf32>, %out: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
  %dx = mir.vjp primals(%x : tensor<3xf32>) outputs(%out : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0] -> tensor<3xf32> {
  ^bb0(%x_1: tensor<3xf32>):
    %0 = mir.custom_fn inputs(%x_1 : tensor<3xf32>) -> (tensor<3xf32>) {
    ^bb1(%a: tensor<3xf32>):
      %1 = mir.sin %a : tensor<3xf32>
      mir.yield %1 : tensor<3xf32>
    }
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dx : tensor<3xf32>
}

// -----

// CHECK: mir.custom_fn: its derivative rules do not cover a captured value (%w, tensor<f32>): pass it as an operand, or apply stop_gradient to it first
func.func @captured(%w: tensor<f32>, %y: tensor<f32>, %g: tensor<f32>) -> tensor<f32> {
  %dw = mir.vjp primals(%w : tensor<f32>) outputs(%y : tensor<f32>) cotangents(%g : tensor<f32>) of [0] wrt [0] -> tensor<f32> {
  ^bb0(%w_1: tensor<f32>):
    %0 = mir.custom_fn captured(%w_1 : tensor<f32>) -> (tensor<f32>) {
    ^bb1(%b: tensor<f32>):
      mir.yield %b : tensor<f32>
    } jvp {
    ^bb2(%b: tensor<f32>):
      mir.yield %b : tensor<f32>
    }
    mir.yield %0 : tensor<f32>
  }
  func.return %dw : tensor<f32>
}
