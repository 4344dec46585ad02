// RUN: xdsl-opt %s -p mir-legalize-multi-axis-reduce --split-input-file --verify-diagnostics | filecheck %s

// A product over several axes becomes one per axis.

// A product: the rule of each axis then divides the work in prefixes and suffixes.
// CHECK-LABEL: func.func @multi(%x: tensor<2x3x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xf32> {
// CHECK-NEXT: %0 = mir.reduce_prod %x axes [2] keep_dim : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
// CHECK-NEXT: %1 = mir.reduce_prod %0 axes [0] keep_dim : (tensor<2x3x1xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT: %y = mir.reshape %1 : tensor<1x3x1xf32> to tensor<3xf32>
// CHECK-NEXT: func.return %y : tensor<3xf32>
// CHECK-NEXT: }
func.func @multi(%x: tensor<2x3x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xf32> {
  %y = mir.reduce_prod %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// -----

// With keep_dim.
// CHECK-LABEL: func.func @keep(%x: tensor<2x3x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<2x1x1xf32> {
// CHECK-NEXT: %0 = mir.reduce_prod %x axes [2] keep_dim : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
// CHECK-NEXT: %y = mir.reduce_prod %0 axes [1] keep_dim : (tensor<2x3x1xf32>) -> tensor<2x1x1xf32>
// CHECK-NEXT: func.return %y : tensor<2x1x1xf32>
// CHECK-NEXT: }
func.func @keep(%x: tensor<2x3x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<2x1x1xf32> {
  %y = mir.reduce_prod %x axes [1, 2] keep_dim : (tensor<2x3x4xf32>) -> tensor<2x1x1xf32>
  func.return %y : tensor<2x1x1xf32>
}

// -----

// Other reductions have rules for any axes.
// CHECK-LABEL: func.func @mean(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<f32> {
// CHECK-NEXT: %y = mir.reduce_mean %x axes [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
// CHECK-NEXT: func.return %y : tensor<f32>
// CHECK-NEXT: }
func.func @mean(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<f32> {
  %y = mir.reduce_mean %x axes [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}
