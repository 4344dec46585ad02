// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file --verify-diagnostics | filecheck %s

// Each mir.vjp becomes what the rule of the op inside it emits, on the values that the forward pass has.

// exp has its own result as derivative: nothing is computed again.
// CHECK-LABEL: func.func @exp(%x: tensor<3xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %dx = mir.mul %g, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %dx : tensor<3xf32>
// CHECK-NEXT: }
func.func @exp(%x: tensor<3xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
  %dx = mir.vjp primals(%x : tensor<3xf32>) outputs(%y : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0] -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    %0 = mir.exp %a : tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dx : tensor<3xf32>
}

// -----

// Only what is asked for is emitted, and broadcasts are summed away.
// CHECK-LABEL: func.func @broadcast(%x: tensor<4x3xf32>, %b: tensor<3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %db = mir.reduce_sum %g axes [0] : (tensor<4x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %db : tensor<3xf32>
// CHECK-NEXT: }
func.func @broadcast(%x: tensor<4x3xf32>, %b: tensor<3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<3xf32> {
  %db = mir.vjp primals(%x, %b : tensor<4x3xf32>, tensor<3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [1] -> tensor<3xf32> {
  ^bb0(%p: tensor<4x3xf32>, %q: tensor<3xf32>):
    %0 = mir.add %p, %q : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %db : tensor<3xf32>
}

// -----

// softmax reuses the probabilities.
// CHECK-LABEL: func.func @softmax(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.mul %y, %g : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.reduce_sum %0 axes [1] keep_dim : (tensor<4x3xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: %2 = mir.mul %y, %1 : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.sub %0, %2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @softmax(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.softmax %a axis -1 : (tensor<4x3xf32>) -> tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// -----

// An op without a rule of its own is differentiated through its definition.
// CHECK-LABEL: func.func @composite(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>, %b: tensor<4xf32>, %y: tensor<2x4xf32>, %g: tensor<2x4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %0 = mir.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %1 = mir.add %0, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %2 = mir.relu %1 : tensor<2x4xf32>
// CHECK-NEXT: %3 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %4 = mir.gt %2, %3 : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xi1>
// CHECK-NEXT: %5 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %6 = mir.where %4, %g, %5 : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
// CHECK-NEXT: %d_r = mir.reduce_sum %6 axes [0] : (tensor<2x4xf32>) -> tensor<4xf32>
// CHECK-NEXT: func.return %d_r : tensor<4xf32>
// CHECK-NEXT: }
func.func @composite(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>, %b: tensor<4xf32>, %y: tensor<2x4xf32>, %g: tensor<2x4xf32>) -> tensor<4xf32> {
  %db = mir.vjp primals(%x, %w, %b : tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) outputs(%y : tensor<2x4xf32>) cotangents(%g : tensor<2x4xf32>) of [0] wrt [2] -> tensor<4xf32> {
  ^bb0(%p: tensor<2x3xf32>, %q: tensor<3x4xf32>, %r: tensor<4xf32>):
    %0 = mir.fused_matmul_bias_act %p, %q, %r activation relu : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    mir.yield %0 : tensor<2x4xf32>
  }
  func.return %db : tensor<4xf32>
}

// -----

// What passes on no gradient has no rule, and the message says so.
// CHECK: mir.stop_gradient has no vjp rule: it stops gradients
func.func @stop(%x: tensor<3xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
  %dx = mir.vjp primals(%x : tensor<3xf32>) outputs(%y : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0] -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    %0 = mir.stop_gradient %a : tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dx : tensor<3xf32>
}

// -----

// Both cotangents of a product of a value with itself have that value as a factor: they are one product.
// CHECK-LABEL: func.func @gram(%x: tensor<7x3xf32>, %g: tensor<3x3xf32>) -> tensor<7x3xf32> {
// CHECK-NEXT: %0 = mir.transpose %g perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %1 = mir.add %0, %g : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %sum = mir.matmul %x, %1 : (tensor<7x3xf32>, tensor<3x3xf32>) -> tensor<7x3xf32>
// CHECK-NEXT: func.return %sum : tensor<7x3xf32>
func.func @gram(%x: tensor<7x3xf32>, %g: tensor<3x3xf32>) -> tensor<7x3xf32> {
  %t = mir.transpose %x perm [1, 0] : (tensor<7x3xf32>) -> tensor<3x7xf32>
  %y = mir.matmul %t, %x : (tensor<3x7xf32>, tensor<7x3xf32>) -> tensor<3x3xf32>
  %dt, %dx = mir.vjp primals(%t, %x : tensor<3x7xf32>, tensor<7x3xf32>) outputs(%y : tensor<3x3xf32>) cotangents(%g : tensor<3x3xf32>) of [0] wrt [0, 1] -> tensor<3x7xf32>, tensor<7x3xf32> {
  ^bb0(%p: tensor<3x7xf32>, %q: tensor<7x3xf32>):
    %0 = mir.matmul %p, %q : (tensor<3x7xf32>, tensor<7x3xf32>) -> tensor<3x3xf32>
    mir.yield %0 : tensor<3x3xf32>
  }
  %back = mir.transpose %dt perm [1, 0] : (tensor<3x7xf32>) -> tensor<7x3xf32>
  %sum = mir.add %back, %dx : (tensor<7x3xf32>, tensor<7x3xf32>) -> tensor<7x3xf32>
  func.return %sum : tensor<7x3xf32>
}
