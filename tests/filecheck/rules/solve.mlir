// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file --verify-diagnostics | filecheck %s

// The vjp rules of the family solve: solves with the same matrix.

// CHECK-LABEL: func.func @dense_solve(%m: tensor<3x3xf32>, %r: tensor<3xf32>, %x: tensor<3xf32>, %g: tensor<3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %dr = mir.dense_solve %m, %g transpose : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %0 = mir.reshape %dr : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %1 = mir.reshape %x : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %2 = mir.transpose %1 perm [1, 0] : (tensor<3x1xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %3 = mir.matmul %0, %2 : (tensor<3x1xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %dm = mir.neg %3 : tensor<3x3xf32>
// CHECK-NEXT: func.return %dm, %dr : tensor<3x3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @dense_solve(%m: tensor<3x3xf32>, %r: tensor<3xf32>, %x: tensor<3xf32>, %g: tensor<3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>) {
  %dm, %dr = mir.vjp primals(%m, %r : tensor<3x3xf32>, tensor<3xf32>) outputs(%x : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0, 1] -> tensor<3x3xf32>, tensor<3xf32> {
  ^bb0(%a: tensor<3x3xf32>, %b: tensor<3xf32>):
    %0 = mir.dense_solve %a, %b : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dm, %dr : tensor<3x3xf32>, tensor<3xf32>
}

// -----

// With the transpose, the outer product is turned.
// CHECK-LABEL: func.func @batched_dense_solve(%m: tensor<2x3x3xf32>, %r: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %g: tensor<2x3x4xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x4xf32>) {
// CHECK-NEXT: %dr = mir.batched_dense_solve %m, %g : (tensor<2x3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %0 = mir.transpose %dr perm [0, 2, 1] : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: %1 = mir.matmul %x, %0 : (tensor<2x3x4xf32>, tensor<2x4x3xf32>) -> tensor<2x3x3xf32>
// CHECK-NEXT: %dm = mir.neg %1 : tensor<2x3x3xf32>
// CHECK-NEXT: func.return %dm, %dr : tensor<2x3x3xf32>, tensor<2x3x4xf32>
// CHECK-NEXT: }
func.func @batched_dense_solve(%m: tensor<2x3x3xf32>, %r: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %g: tensor<2x3x4xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x4xf32>) {
  %dm, %dr = mir.vjp primals(%m, %r : tensor<2x3x3xf32>, tensor<2x3x4xf32>) outputs(%x : tensor<2x3x4xf32>) cotangents(%g : tensor<2x3x4xf32>) of [0] wrt [0, 1] -> tensor<2x3x3xf32>, tensor<2x3x4xf32> {
  ^bb0(%a: tensor<2x3x3xf32>, %b: tensor<2x3x4xf32>):
    %0 = mir.batched_dense_solve %a, %b transpose : (tensor<2x3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    mir.yield %0 : tensor<2x3x4xf32>
  }
  func.return %dm, %dr : tensor<2x3x3xf32>, tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: func.func @lu_solve(%f: tensor<3x3xf32>, %p: tensor<3xi32>, %r: tensor<3xf32>, %x: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %dr = mir.lu_solve %f, %p, %g transpose : (tensor<3x3xf32>, tensor<3xi32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %dr : tensor<3xf32>
// CHECK-NEXT: }
func.func @lu_solve(%f: tensor<3x3xf32>, %p: tensor<3xi32>, %r: tensor<3xf32>, %x: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
  %dr = mir.vjp primals(%f, %p, %r : tensor<3x3xf32>, tensor<3xi32>, tensor<3xf32>) outputs(%x : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [2] -> tensor<3xf32> {
  ^bb0(%a: tensor<3x3xf32>, %q: tensor<3xi32>, %b: tensor<3xf32>):
    %0 = mir.lu_solve %a, %q, %b : (tensor<3x3xf32>, tensor<3xi32>, tensor<3xf32>) -> tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dr : tensor<3xf32>
}

// -----

// CHECK: mir.lu has no derivative: differentiate mir.dense_solve instead
func.func @lu(%m: tensor<3x3xf32>, %f: tensor<3x3xf32>, %p: tensor<3xi32>, %g: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %dm = mir.vjp primals(%m : tensor<3x3xf32>) outputs(%f, %p : tensor<3x3xf32>, tensor<3xi32>) cotangents(%g : tensor<3x3xf32>) of [0] wrt [0] -> tensor<3x3xf32> {
  ^bb0(%a: tensor<3x3xf32>):
    %0, %1 = mir.lu %a : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xi32>)
    mir.yield %0, %1 : tensor<3x3xf32>, tensor<3xi32>
  }
  func.return %dm : tensor<3x3xf32>
}

// -----

// CHECK: mir.lu_solve has no derivative in its factors: differentiate mir.dense_solve instead
func.func @factors(%f: tensor<3x3xf32>, %p: tensor<3xi32>, %r: tensor<3xf32>, %x: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3x3xf32> {
  %df = mir.vjp primals(%f, %p, %r : tensor<3x3xf32>, tensor<3xi32>, tensor<3xf32>) outputs(%x : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0] -> tensor<3x3xf32> {
  ^bb0(%a: tensor<3x3xf32>, %q: tensor<3xi32>, %b: tensor<3xf32>):
    %0 = mir.lu_solve %a, %q, %b : (tensor<3x3xf32>, tensor<3xi32>, tensor<3xf32>) -> tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %df : tensor<3x3xf32>
}
