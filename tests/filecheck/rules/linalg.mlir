// RUN: xdsl-opt %s -p mir-emit-vjp | filecheck %s

// The derivatives of matrix products.

// g rhs^T and lhs^T g.
// CHECK-LABEL: func.func @matmul(%x0: tensor<4x3xf32>, %x1: tensor<3x2xf32>, %y: tensor<4x2xf32>, %g: tensor<4x2xf32>) -> (tensor<4x3xf32>, tensor<3x2xf32>) {
// CHECK-NEXT: %0 = mir.transpose %x1 perm [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %d0 = mir.matmul %g, %0 : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.transpose %x0 perm [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %d1 = mir.matmul %1, %g : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: func.return %d0, %d1 : tensor<4x3xf32>, tensor<3x2xf32>
// CHECK-NEXT: }
func.func @matmul(%x0: tensor<4x3xf32>, %x1: tensor<3x2xf32>, %y: tensor<4x2xf32>, %g: tensor<4x2xf32>) -> (tensor<4x3xf32>, tensor<3x2xf32>) {
  %d0, %d1 = mir.vjp primals(%x0, %x1 : tensor<4x3xf32>, tensor<3x2xf32>) outputs(%y : tensor<4x2xf32>) cotangents(%g : tensor<4x2xf32>) of [0] wrt [0, 1] -> tensor<4x3xf32>, tensor<3x2xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<3x2xf32>):
    %0 = mir.matmul %a, %b : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
    mir.yield %0 : tensor<4x2xf32>
  }
  func.return %d0, %d1 : tensor<4x3xf32>, tensor<3x2xf32>
}

// A matrix that all of a batch share: one product over all rows.
// CHECK-LABEL: func.func @shared_rhs(%x0: tensor<5x4x3xf32>, %x1: tensor<3x2xf32>, %y: tensor<5x4x2xf32>, %g: tensor<5x4x2xf32>) -> (tensor<5x4x3xf32>, tensor<3x2xf32>) {
// CHECK-NEXT: %0 = mir.transpose %x1 perm [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %d0 = mir.matmul %g, %0 : (tensor<5x4x2xf32>, tensor<2x3xf32>) -> tensor<5x4x3xf32>
// CHECK-NEXT: %1 = mir.reshape %x0 : tensor<5x4x3xf32> to tensor<20x3xf32>
// CHECK-NEXT: %2 = mir.reshape %g : tensor<5x4x2xf32> to tensor<20x2xf32>
// CHECK-NEXT: %3 = mir.transpose %1 perm [1, 0] : (tensor<20x3xf32>) -> tensor<3x20xf32>
// CHECK-NEXT: %d1 = mir.matmul %3, %2 : (tensor<3x20xf32>, tensor<20x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: func.return %d0, %d1 : tensor<5x4x3xf32>, tensor<3x2xf32>
// CHECK-NEXT: }
func.func @shared_rhs(%x0: tensor<5x4x3xf32>, %x1: tensor<3x2xf32>, %y: tensor<5x4x2xf32>, %g: tensor<5x4x2xf32>) -> (tensor<5x4x3xf32>, tensor<3x2xf32>) {
  %d0, %d1 = mir.vjp primals(%x0, %x1 : tensor<5x4x3xf32>, tensor<3x2xf32>) outputs(%y : tensor<5x4x2xf32>) cotangents(%g : tensor<5x4x2xf32>) of [0] wrt [0, 1] -> tensor<5x4x3xf32>, tensor<3x2xf32> {
  ^bb0(%a: tensor<5x4x3xf32>, %b: tensor<3x2xf32>):
    %0 = mir.matmul %a, %b : (tensor<5x4x3xf32>, tensor<3x2xf32>) -> tensor<5x4x2xf32>
    mir.yield %0 : tensor<5x4x2xf32>
  }
  func.return %d0, %d1 : tensor<5x4x3xf32>, tensor<3x2xf32>
}

// The other side: products, then their sum.
// CHECK-LABEL: func.func @shared_lhs(%x0: tensor<4x3xf32>, %x1: tensor<5x3x2xf32>, %y: tensor<5x4x2xf32>, %g: tensor<5x4x2xf32>) -> (tensor<4x3xf32>, tensor<5x3x2xf32>) {
// CHECK-NEXT: %0 = mir.transpose %x1 perm [0, 2, 1] : (tensor<5x3x2xf32>) -> tensor<5x2x3xf32>
// CHECK-NEXT: %1 = mir.matmul %g, %0 : (tensor<5x4x2xf32>, tensor<5x2x3xf32>) -> tensor<5x4x3xf32>
// CHECK-NEXT: %d0 = mir.reduce_sum %1 axes [0] : (tensor<5x4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %2 = mir.transpose %x0 perm [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %d1 = mir.matmul %2, %g : (tensor<3x4xf32>, tensor<5x4x2xf32>) -> tensor<5x3x2xf32>
// CHECK-NEXT: func.return %d0, %d1 : tensor<4x3xf32>, tensor<5x3x2xf32>
// CHECK-NEXT: }
func.func @shared_lhs(%x0: tensor<4x3xf32>, %x1: tensor<5x3x2xf32>, %y: tensor<5x4x2xf32>, %g: tensor<5x4x2xf32>) -> (tensor<4x3xf32>, tensor<5x3x2xf32>) {
  %d0, %d1 = mir.vjp primals(%x0, %x1 : tensor<4x3xf32>, tensor<5x3x2xf32>) outputs(%y : tensor<5x4x2xf32>) cotangents(%g : tensor<5x4x2xf32>) of [0] wrt [0, 1] -> tensor<4x3xf32>, tensor<5x3x2xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<5x3x2xf32>):
    %0 = mir.matmul %a, %b : (tensor<4x3xf32>, tensor<5x3x2xf32>) -> tensor<5x4x2xf32>
    mir.yield %0 : tensor<5x4x2xf32>
  }
  func.return %d0, %d1 : tensor<4x3xf32>, tensor<5x3x2xf32>
}

// Batches that broadcast both ways.
// CHECK-LABEL: func.func @batches(%x0: tensor<2x1x4x3xf32>, %x1: tensor<5x3x2xf32>, %y: tensor<2x5x4x2xf32>, %g: tensor<2x5x4x2xf32>) -> (tensor<2x1x4x3xf32>, tensor<5x3x2xf32>) {
// CHECK-NEXT: %0 = mir.transpose %x1 perm [0, 2, 1] : (tensor<5x3x2xf32>) -> tensor<5x2x3xf32>
// CHECK-NEXT: %1 = mir.matmul %g, %0 : (tensor<2x5x4x2xf32>, tensor<5x2x3xf32>) -> tensor<2x5x4x3xf32>
// CHECK-NEXT: %2 = mir.reduce_sum %1 axes [1] : (tensor<2x5x4x3xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: %d0 = mir.reshape %2 : tensor<2x4x3xf32> to tensor<2x1x4x3xf32>
// CHECK-NEXT: %3 = mir.transpose %x0 perm [0, 1, 3, 2] : (tensor<2x1x4x3xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: %4 = mir.matmul %3, %g : (tensor<2x1x3x4xf32>, tensor<2x5x4x2xf32>) -> tensor<2x5x3x2xf32>
// CHECK-NEXT: %d1 = mir.reduce_sum %4 axes [0] : (tensor<2x5x3x2xf32>) -> tensor<5x3x2xf32>
// CHECK-NEXT: func.return %d0, %d1 : tensor<2x1x4x3xf32>, tensor<5x3x2xf32>
// CHECK-NEXT: }
func.func @batches(%x0: tensor<2x1x4x3xf32>, %x1: tensor<5x3x2xf32>, %y: tensor<2x5x4x2xf32>, %g: tensor<2x5x4x2xf32>) -> (tensor<2x1x4x3xf32>, tensor<5x3x2xf32>) {
  %d0, %d1 = mir.vjp primals(%x0, %x1 : tensor<2x1x4x3xf32>, tensor<5x3x2xf32>) outputs(%y : tensor<2x5x4x2xf32>) cotangents(%g : tensor<2x5x4x2xf32>) of [0] wrt [0, 1] -> tensor<2x1x4x3xf32>, tensor<5x3x2xf32> {
  ^bb0(%a: tensor<2x1x4x3xf32>, %b: tensor<5x3x2xf32>):
    %0 = mir.matmul %a, %b : (tensor<2x1x4x3xf32>, tensor<5x3x2xf32>) -> tensor<2x5x4x2xf32>
    mir.yield %0 : tensor<2x5x4x2xf32>
  }
  func.return %d0, %d1 : tensor<2x1x4x3xf32>, tensor<5x3x2xf32>
}
