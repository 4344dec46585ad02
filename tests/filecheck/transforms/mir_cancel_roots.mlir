// RUN: xdsl-opt %s -p mir-cancel-roots --split-input-file | filecheck %s

// The square of a root, or of an absolute value, is what is below it.

// CHECK-LABEL: func.func @absolute(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xf32> {
// CHECK-NEXT: %y = mir.mul %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %y : tensor<3xf32>
func.func @absolute(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xf32> {
  %0 = mir.abs %x : tensor<3xf32>
  %1 = mir.abs %x : tensor<3xf32>
  %y = mir.mul %0, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// -----

// A norm, with its choice at 0 and an axis of length 1.
// CHECK-LABEL: func.func @norm(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<1xf32> {
// CHECK-NEXT: %0 = mir.mul %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %1 = mir.reduce_sum %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
// CHECK-NEXT: %y = mir.reshape %1 : tensor<f32> to tensor<1xf32>
// CHECK-NEXT: func.return %y : tensor<1xf32>
func.func @norm(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<1xf32> {
  %0 = mir.mul %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = mir.reduce_sum %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
  %2 = mir.constant dense<0.000000e+00> : tensor<f32>
  %3 = mir.le %1, %2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %4 = mir.constant dense<1.000000e+00> : tensor<f32>
  %5 = mir.where %3, %4, %1 : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
  %6 = mir.sqrt %5 : tensor<f32>
  %7 = mir.where %3, %2, %6 : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
  %8 = mir.reshape %7 : tensor<f32> to tensor<1xf32>
  %y = mir.mul %8, %8 : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  func.return %y : tensor<1xf32>
}

// -----

// The root of what may be negative stays, and so does a product of two roots.
// CHECK-LABEL: func.func @stays(
// CHECK: mir.sqrt
// CHECK: mir.sqrt
// CHECK-NEXT: mir.mul
// CHECK-NEXT: mir.mul
// CHECK-NEXT: func.return
func.func @stays(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}, %y: tensor<3xf32> {mir.name = "y", mir.kind = "input"}) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = mir.sqrt %x : tensor<3xf32>
  %1 = mir.abs %y : tensor<3xf32>
  %2 = mir.sqrt %1 : tensor<3xf32>
  %3 = mir.mul %0, %0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %4 = mir.mul %0, %2 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %3, %4 : tensor<3xf32>, tensor<3xf32>
}
