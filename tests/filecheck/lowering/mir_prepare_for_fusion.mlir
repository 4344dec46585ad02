// RUN: xdsl-opt %s -p mir-prepare-for-fusion --split-input-file --verify-diagnostics | filecheck %s

// Decomposed, in normal form, and each thing once.

// The loss sums exponentials without the axis, its gradient with: that is one sum.
// CHECK-LABEL: func.func @sums(%x: tensor<4x10xf32>) -> (tensor<4xf32>, tensor<4x10xf32>) {
// CHECK-NEXT: %0 = mir.exp %x : tensor<4x10xf32>
// CHECK-NEXT: %1 = mir.reduce_sum %0 axes [1] : (tensor<4x10xf32>) -> tensor<4xf32>
// CHECK-NEXT: %2 = mir.log %1 : tensor<4xf32>
// CHECK-NEXT: %3 = mir.reshape %1 : tensor<4xf32> to tensor<4x1xf32>
// CHECK-NEXT: %4 = mir.div %0, %3 : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
// CHECK-NEXT: func.return %2, %4 : tensor<4xf32>, tensor<4x10xf32>
// CHECK-NEXT: }
func.func @sums(%x: tensor<4x10xf32>) -> (tensor<4xf32>, tensor<4x10xf32>) {
  %0 = mir.exp %x : tensor<4x10xf32>
  %1 = mir.reduce_sum %0 axes [1] : (tensor<4x10xf32>) -> tensor<4xf32>
  %2 = mir.log %1 : tensor<4xf32>
  %3 = mir.exp %x : tensor<4x10xf32>
  %4 = mir.reduce_sum %3 axes [1] keep_dim : (tensor<4x10xf32>) -> tensor<4x1xf32>
  %5 = mir.div %3, %4 : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  func.return %2, %5 : tensor<4xf32>, tensor<4x10xf32>
}

// -----

// A product that hangs on no carry leaves the loop, and is decomposed there.
// CHECK-LABEL: func.func @loop(%h: tensor<3xf32>, %xs: tensor<8x2x4xf32>, %w: tensor<4x3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %0 = mir.matmul %xs, %w : (tensor<8x2x4xf32>, tensor<4x3xf32>) -> tensor<8x2x3xf32>
// CHECK-NEXT: %1 = mir.scan 8 carries(%h : tensor<3xf32>) over(%0 : tensor<8x2x3xf32>) -> (tensor<3xf32>) {
// CHECK-NEXT: ^bb0(%2: tensor<3xf32>, %3: tensor<2x3xf32>):
// CHECK-NEXT: %4 = mir.reduce_sum %3 axes [0] : (tensor<2x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %5 = mir.mul %2, %4 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: mir.yield %5 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %1 : tensor<3xf32>
// CHECK-NEXT: }
func.func @loop(%h: tensor<3xf32>, %xs: tensor<8x2x4xf32>, %w: tensor<4x3xf32>) -> tensor<3xf32> {
  %0 = mir.scan 8 carries(%h : tensor<3xf32>) over(%xs : tensor<8x2x4xf32>) captured(%w : tensor<4x3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>, %x: tensor<2x4xf32>, %v: tensor<4x3xf32>):
    %1 = mir.matmul %x, %v : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %2 = mir.reduce_sum %1 axes [0] : (tensor<2x3xf32>) -> tensor<3xf32>
    %3 = mir.mul %a, %2 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    mir.yield %3 : tensor<3xf32>
  }
  func.return %0 : tensor<3xf32>
}
