// RUN: xdsl-opt %s -p mir-legalize-multi-axis-reduce --split-input-file --verify-diagnostics | filecheck %s

// A reduction over several axes becomes one per axis.

// Axis by axis; the result is the same shape.
// CHECK-LABEL: func.func @multi(%x: tensor<2x3x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xf32> {
// CHECK-NEXT: %y = mir.reduce_max %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %y : tensor<3xf32>
// CHECK-NEXT: }
func.func @multi(%x: tensor<2x3x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xf32> {
  %y = mir.reduce_max %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// -----

// With keep_dim.
// CHECK-LABEL: func.func @keep(%x: tensor<2x3x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<2x1x1xf32> {
// CHECK-NEXT: %y = mir.reduce_sum %x axes [1, 2] keep_dim : (tensor<2x3x4xf32>) -> tensor<2x1x1xf32>
// CHECK-NEXT: func.return %y : tensor<2x1x1xf32>
// CHECK-NEXT: }
func.func @keep(%x: tensor<2x3x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<2x1x1xf32> {
  %y = mir.reduce_sum %x axes [1, 2] keep_dim : (tensor<2x3x4xf32>) -> tensor<2x1x1xf32>
  func.return %y : tensor<2x1x1xf32>
}

// -----

// One axis stays as it is.
// CHECK-LABEL: func.func @one(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<2xf32> {
// CHECK-NEXT: %y = mir.reduce_mean %x axes [1] : (tensor<2x3xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return %y : tensor<2xf32>
// CHECK-NEXT: }
func.func @one(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<2xf32> {
  %y = mir.reduce_mean %x axes [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
