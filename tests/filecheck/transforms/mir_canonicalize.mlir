// RUN: xdsl-opt %s -p mir-canonicalize --split-input-file --verify-diagnostics | filecheck %s

// The patterns are shown one by one in dialects/mir/canonicalize.mlir; this is what runs them in pipelines.

// What one pattern leaves is for others to take up, and what nothing reads goes.
// CHECK-LABEL: func.func @chain(%x: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: func.return %x : tensor<3xf32>
// CHECK-NEXT: }
func.func @chain(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = mir.neg %x : tensor<3xf32>
  %1 = mir.neg %0 : tensor<3xf32>
  %2 = mir.reshape %1 : tensor<3xf32> to tensor<3x1xf32>
  %3 = mir.reshape %2 : tensor<3x1xf32> to tensor<3xf32>
  %unread = mir.sin %2 : tensor<3x1xf32>
  func.return %3 : tensor<3xf32>
}

// A sum of elementwise ops on a transposed value sums the value as it lies.
// CHECK-LABEL: func.func @as_it_lies(%x: tensor<5x4x3xf32>, %y: tensor<3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.tanh %x : tensor<5x4x3xf32>
// CHECK-NEXT: %1 = mir.reshape %y : tensor<3xf32> to tensor<1x1x3xf32>
// CHECK-NEXT: %2 = mir.mul %0, %1 : (tensor<5x4x3xf32>, tensor<1x1x3xf32>) -> tensor<5x4x3xf32>
// CHECK-NEXT: %3 = mir.reduce_sum %2 axes [0] : (tensor<5x4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %3 : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @as_it_lies(%x: tensor<5x4x3xf32>, %y: tensor<3xf32>) -> tensor<4x3xf32> {
  %0 = mir.transpose %x perm [1, 2, 0] : (tensor<5x4x3xf32>) -> tensor<4x3x5xf32>
  %1 = mir.tanh %0 : tensor<4x3x5xf32>
  %2 = mir.reshape %y : tensor<3xf32> to tensor<3x1xf32>
  %3 = mir.mul %1, %2 : (tensor<4x3x5xf32>, tensor<3x1xf32>) -> tensor<4x3x5xf32>
  %4 = mir.reduce_sum %3 axes [2] : (tensor<4x3x5xf32>) -> tensor<4x3xf32>
  func.return %4 : tensor<4x3xf32>
}
