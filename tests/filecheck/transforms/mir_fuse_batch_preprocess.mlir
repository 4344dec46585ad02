// RUN: xdsl-opt %s -p mir-fuse-batch-preprocess | filecheck %s

// The same op on each slice.

// CHECK-LABEL: func.func @two(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT: %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %1 = mir.narrow %x axis -2 start 1 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %y = mir.batch_elementwise_region(%0, %1 : tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT: ^bb0(%2: tensor<1x3xf32>):
// CHECK-NEXT: %3 = mir.relu %2 : tensor<1x3xf32>
// CHECK-NEXT: mir.yield %3 : tensor<1x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<2x3xf32>
// CHECK-NEXT: }
func.func @two(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %1 = mir.relu %0 : tensor<1x3xf32>
  %2 = mir.narrow %x axis -2 start 1 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %3 = mir.relu %2 : tensor<1x3xf32>
  %y = mir.concat %1, %3 axis -2 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// In the order of the concatenation, with a value and a number that all share, and a slice used twice.

// CHECK-LABEL: func.func @shared(%x: tensor<4x3xf32>, %s: tensor<2x1xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %h = mir.sin %s : tensor<2x1xf32>
// CHECK-NEXT: %0 = mir.narrow %x axis 0 start 2 len 2 : (tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %1 = mir.narrow %x axis 0 start 0 len 2 : (tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %y = mir.batch_elementwise_region(%0, %1 : tensor<2x3xf32>, tensor<2x3xf32>) captured(%h : tensor<2x1xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: ^bb0(%2: tensor<2x3xf32>, %h_1: tensor<2x1xf32>):
// CHECK-NEXT: %c0 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %3 = mir.mul %2, %h_1 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %4 = mir.add %3, %c0 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT: %5 = mir.mul %4, %2 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: mir.yield %5 : tensor<2x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @shared(%x: tensor<4x3xf32>, %s: tensor<2x1xf32>) -> tensor<4x3xf32> {
  %h = mir.sin %s : tensor<2x1xf32>
  %c0 = mir.constant dense<5.000000e-01> : tensor<f32>
  %0 = mir.narrow %x axis 0 start 2 len 2 : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %1 = mir.mul %0, %h : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  %2 = mir.add %1, %c0 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %3 = mir.mul %2, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %c1 = mir.constant dense<5.000000e-01> : tensor<f32>
  %4 = mir.narrow %x axis 0 start 0 len 2 : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %5 = mir.mul %4, %h : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  %6 = mir.add %5, %c1 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %7 = mir.narrow %x axis 0 start 0 len 2 : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %8 = mir.mul %6, %7 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %y = mir.concat %3, %8 axis 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}

// Behind resizes, and with the ops in regions, in another way for each slice.

// CHECK-LABEL: func.func @prologue(%x: tensor<2x1x2x2xf32>) -> tensor<2x1x4x4xf32> {
// CHECK-NEXT: %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<2x1x2x2xf32>) -> tensor<1x1x2x2xf32>
// CHECK-NEXT: %1 = mir.narrow %x axis 0 start 1 len 1 : (tensor<2x1x2x2xf32>) -> tensor<1x1x2x2xf32>
// CHECK-NEXT: %y = mir.batch_elementwise_region(%0, %1 : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<2x1x4x4xf32> {
// CHECK-NEXT: ^bb0(%2: tensor<1x1x2x2xf32>):
// CHECK-NEXT: %3 = mir.resize_nearest_2x %2 : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
// CHECK-NEXT: %4 = mir.exp %3 : tensor<1x1x4x4xf32>
// CHECK-NEXT: mir.yield %4 : tensor<1x1x4x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<2x1x4x4xf32>
// CHECK-NEXT: }
func.func @prologue(%x: tensor<2x1x2x2xf32>) -> tensor<2x1x4x4xf32> {
  %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<2x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %1 = mir.elementwise_region (%0 : tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32> {
  ^bb0(%a: tensor<1x1x2x2xf32>):
    %2 = mir.resize_nearest_2x %a : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
    %3 = mir.exp %2 : tensor<1x1x4x4xf32>
    mir.yield %3 : tensor<1x1x4x4xf32>
  }
  %4 = mir.narrow %x axis 0 start 1 len 1 : (tensor<2x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %5 = mir.resize_nearest_2x %4 : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
  %6 = mir.exp %5 : tensor<1x1x4x4xf32>
  %y = mir.concat %1, %6 axis 0 : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  func.return %y : tensor<2x1x4x4xf32>
}

// Chains of one length that differ, in an op.

// CHECK-LABEL: func.func @other_op(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT: %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %1 = mir.relu %0 : tensor<1x3xf32>
// CHECK-NEXT: %2 = mir.narrow %x axis 0 start 1 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %3 = mir.tanh %2 : tensor<1x3xf32>
// CHECK-NEXT: %y = mir.concat %1, %3 axis 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %y : tensor<2x3xf32>
// CHECK-NEXT: }
func.func @other_op(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %1 = mir.relu %0 : tensor<1x3xf32>
  %2 = mir.narrow %x axis 0 start 1 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %3 = mir.tanh %2 : tensor<1x3xf32>
  %y = mir.concat %1, %3 axis 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// In a number.

// CHECK-LABEL: func.func @other_number(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT: %c0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %c1 = mir.constant dense<-0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %1 = mir.add %0, %c0 : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
// CHECK-NEXT: %2 = mir.narrow %x axis 0 start 1 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %3 = mir.add %2, %c1 : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
// CHECK-NEXT: %y = mir.concat %1, %3 axis 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %y : tensor<2x3xf32>
// CHECK-NEXT: }
func.func @other_number(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %c0 = mir.constant dense<0.000000e+00> : tensor<f32>
  %c1 = mir.constant dense<-0.000000e+00> : tensor<f32>
  %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %1 = mir.add %0, %c0 : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
  %2 = mir.narrow %x axis 0 start 1 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %3 = mir.add %2, %c1 : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
  %y = mir.concat %1, %3 axis 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// In a slice that one of them uses beside its own.

// CHECK-LABEL: func.func @other_slice(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT: %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %1 = mir.mul %0, %0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %2 = mir.narrow %x axis 0 start 1 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %3 = mir.mul %2, %0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %y = mir.concat %1, %3 axis 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %y : tensor<2x3xf32>
// CHECK-NEXT: }
func.func @other_slice(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %1 = mir.mul %0, %0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
  %2 = mir.narrow %x axis 0 start 1 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %3 = mir.mul %2, %0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
  %y = mir.concat %1, %3 axis 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// Lengths, sources and axes that differ.

// CHECK-LABEL: func.func @other_slices(%x: tensor<3x3xf32>, %z: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>) {
// CHECK-NEXT: %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<3x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %1 = mir.relu %0 : tensor<1x3xf32>
// CHECK-NEXT: %2 = mir.narrow %x axis 0 start 1 len 2 : (tensor<3x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %3 = mir.relu %2 : tensor<2x3xf32>
// CHECK-NEXT: %4 = mir.concat %1, %3 axis 0 : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %5 = mir.relu %0 : tensor<1x3xf32>
// CHECK-NEXT: %6 = mir.narrow %z axis 0 start 1 len 1 : (tensor<3x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %7 = mir.relu %6 : tensor<1x3xf32>
// CHECK-NEXT: %8 = mir.concat %5, %7 axis 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %9 = mir.narrow %x axis 1 start 0 len 1 : (tensor<3x3xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %10 = mir.relu %9 : tensor<3x1xf32>
// CHECK-NEXT: %11 = mir.narrow %x axis 1 start 1 len 1 : (tensor<3x3xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %12 = mir.relu %11 : tensor<3x1xf32>
// CHECK-NEXT: %13 = mir.concat %10, %12 axis 1 : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: func.return %4, %8, %13 : tensor<3x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>
// CHECK-NEXT: }
func.func @other_slices(%x: tensor<3x3xf32>, %z: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>) {
  %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<3x3xf32>) -> tensor<1x3xf32>
  %1 = mir.relu %0 : tensor<1x3xf32>
  %2 = mir.narrow %x axis 0 start 1 len 2 : (tensor<3x3xf32>) -> tensor<2x3xf32>
  %3 = mir.relu %2 : tensor<2x3xf32>
  %4 = mir.concat %1, %3 axis 0 : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  %5 = mir.relu %0 : tensor<1x3xf32>
  %6 = mir.narrow %z axis 0 start 1 len 1 : (tensor<3x3xf32>) -> tensor<1x3xf32>
  %7 = mir.relu %6 : tensor<1x3xf32>
  %8 = mir.concat %5, %7 axis 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  %9 = mir.narrow %x axis 1 start 0 len 1 : (tensor<3x3xf32>) -> tensor<3x1xf32>
  %10 = mir.relu %9 : tensor<3x1xf32>
  %11 = mir.narrow %x axis 1 start 1 len 1 : (tensor<3x3xf32>) -> tensor<3x1xf32>
  %12 = mir.relu %11 : tensor<3x1xf32>
  %13 = mir.concat %10, %12 axis 1 : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  func.return %4, %8, %13 : tensor<3x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>
}

// A result that others use.

// CHECK-LABEL: func.func @several_users(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<1x3xf32>) {
// CHECK-NEXT: %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %1 = mir.exp %0 : tensor<1x3xf32>
// CHECK-NEXT: %2 = mir.relu %1 : tensor<1x3xf32>
// CHECK-NEXT: %3 = mir.narrow %x axis 0 start 1 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %4 = mir.exp %3 : tensor<1x3xf32>
// CHECK-NEXT: %5 = mir.relu %4 : tensor<1x3xf32>
// CHECK-NEXT: %y = mir.concat %2, %5 axis 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %y, %4 : tensor<2x3xf32>, tensor<1x3xf32>
// CHECK-NEXT: }
func.func @several_users(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<1x3xf32>) {
  %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %1 = mir.exp %0 : tensor<1x3xf32>
  %2 = mir.relu %1 : tensor<1x3xf32>
  %3 = mir.narrow %x axis 0 start 1 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %4 = mir.exp %3 : tensor<1x3xf32>
  %5 = mir.relu %4 : tensor<1x3xf32>
  %y = mir.concat %2, %5 axis 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  func.return %y, %4 : tensor<2x3xf32>, tensor<1x3xf32>
}

// A resize behind an elementwise op is no prologue.

// CHECK-LABEL: func.func @late_resize(%x: tensor<2x1x2x2xf32>) -> tensor<2x1x4x4xf32> {
// CHECK-NEXT: %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<2x1x2x2xf32>) -> tensor<1x1x2x2xf32>
// CHECK-NEXT: %1 = mir.exp %0 : tensor<1x1x2x2xf32>
// CHECK-NEXT: %2 = mir.resize_nearest_2x %1 : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
// CHECK-NEXT: %3 = mir.narrow %x axis 0 start 1 len 1 : (tensor<2x1x2x2xf32>) -> tensor<1x1x2x2xf32>
// CHECK-NEXT: %4 = mir.exp %3 : tensor<1x1x2x2xf32>
// CHECK-NEXT: %5 = mir.resize_nearest_2x %4 : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
// CHECK-NEXT: %y = mir.concat %2, %5 axis 0 : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<2x1x4x4xf32>
// CHECK-NEXT: func.return %y : tensor<2x1x4x4xf32>
// CHECK-NEXT: }
func.func @late_resize(%x: tensor<2x1x2x2xf32>) -> tensor<2x1x4x4xf32> {
  %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<2x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %1 = mir.exp %0 : tensor<1x1x2x2xf32>
  %2 = mir.resize_nearest_2x %1 : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
  %3 = mir.narrow %x axis 0 start 1 len 1 : (tensor<2x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %4 = mir.exp %3 : tensor<1x1x2x2xf32>
  %5 = mir.resize_nearest_2x %4 : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
  %y = mir.concat %2, %5 axis 0 : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  func.return %y : tensor<2x1x4x4xf32>
}
