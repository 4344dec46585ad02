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
