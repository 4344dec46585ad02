// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family linalg: what each emits for all its floating-point operands at once.

// `result[..., i, j] = sum_k lhs[..., i, k] rhs[..., k, j]`; the leading dimensions broadcast.
// CHECK-LABEL: func.func @matmul(%x0: tensor<3x5xf32>, %x1: tensor<5x4xf32>, %y: tensor<3x4xf32>, %g: tensor<3x4xf32>) -> (tensor<3x5xf32>, tensor<5x4xf32>) {
// CHECK-NEXT: %0 = mir.transpose %x1 perm [1, 0] : (tensor<5x4xf32>) -> tensor<4x5xf32>
// CHECK-NEXT: %dx0 = mir.matmul %g, %0 : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.transpose %x0 perm [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
// CHECK-NEXT: %dx1 = mir.matmul %1, %g : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
// CHECK-NEXT: func.return %dx0, %dx1 : tensor<3x5xf32>, tensor<5x4xf32>
// CHECK-NEXT: }
func.func @matmul(%x0: tensor<3x5xf32>, %x1: tensor<5x4xf32>, %y: tensor<3x4xf32>, %g: tensor<3x4xf32>) -> (tensor<3x5xf32>, tensor<5x4xf32>) {
  %dx0, %dx1 = mir.vjp primals(%x0, %x1 : tensor<3x5xf32>, tensor<5x4xf32>) outputs(%y : tensor<3x4xf32>) cotangents(%g : tensor<3x4xf32>) of [0] wrt [0, 1] -> tensor<3x5xf32>, tensor<5x4xf32> {
  ^bb0(%a: tensor<3x5xf32>, %b: tensor<5x4xf32>):
    %0 = mir.matmul %a, %b : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
    mir.yield %0 : tensor<3x4xf32>
  }
  func.return %dx0, %dx1 : tensor<3x5xf32>, tensor<5x4xf32>
}

// -----

// One order of the factors, or a transpose, gives each operand its dimensions in place.
// CHECK-LABEL: func.func @dot_general(%x0: tensor<2x3x5xf32>, %x1: tensor<5x2x4xf32>, %y: tensor<2x3x4xf32>, %g: tensor<2x3x4xf32>) -> (tensor<2x3x5xf32>, tensor<5x2x4xf32>) {
// CHECK-NEXT: %dx0 = mir.dot_general %g, %x1 contracting [2] x [2] batch [0] x [1] : (tensor<2x3x4xf32>, tensor<5x2x4xf32>) -> tensor<2x3x5xf32>
// CHECK-NEXT: %0 = mir.dot_general %g, %x0 contracting [1] x [1] batch [0] x [0] : (tensor<2x3x4xf32>, tensor<2x3x5xf32>) -> tensor<2x4x5xf32>
// CHECK-NEXT: %dx1 = mir.transpose %0 perm [2, 0, 1] : (tensor<2x4x5xf32>) -> tensor<5x2x4xf32>
// CHECK-NEXT: func.return %dx0, %dx1 : tensor<2x3x5xf32>, tensor<5x2x4xf32>
// CHECK-NEXT: }
func.func @dot_general(%x0: tensor<2x3x5xf32>, %x1: tensor<5x2x4xf32>, %y: tensor<2x3x4xf32>, %g: tensor<2x3x4xf32>) -> (tensor<2x3x5xf32>, tensor<5x2x4xf32>) {
  %dx0, %dx1 = mir.vjp primals(%x0, %x1 : tensor<2x3x5xf32>, tensor<5x2x4xf32>) outputs(%y : tensor<2x3x4xf32>) cotangents(%g : tensor<2x3x4xf32>) of [0] wrt [0, 1] -> tensor<2x3x5xf32>, tensor<5x2x4xf32> {
  ^bb0(%a: tensor<2x3x5xf32>, %b: tensor<5x2x4xf32>):
    %0 = mir.dot_general %a, %b contracting [2] x [0] batch [0] x [1] : (tensor<2x3x5xf32>, tensor<5x2x4xf32>) -> tensor<2x3x4xf32>
    mir.yield %0 : tensor<2x3x4xf32>
  }
  func.return %dx0, %dx1 : tensor<2x3x5xf32>, tensor<5x2x4xf32>
}
