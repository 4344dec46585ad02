// RUN: xdsl-opt %s -p mir-fuse-region-prologue | filecheck %s

// In front of an op.

// CHECK-LABEL: func.func @op(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32> {
// CHECK-NEXT: %y = mir.elementwise_region(%x : tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32> {
// CHECK-NEXT: ^bb0(%x_1: tensor<1x2x3x4xf32>):
// CHECK-NEXT: %0 = mir.resize_nearest_2x %x_1 : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
// CHECK-NEXT: %y_1 = mir.relu %0 : tensor<1x2x6x8xf32>
// CHECK-NEXT: mir.yield %y_1 : tensor<1x2x6x8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<1x2x6x8xf32>
// CHECK-NEXT: }
func.func @op(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32> {
  %0 = mir.resize_nearest_2x %x : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
  %y = mir.relu %0 : tensor<1x2x6x8xf32>
  func.return %y : tensor<1x2x6x8xf32>
}

// In front of any input of a region, several times, with what stays as it is in its place.

// CHECK-LABEL: func.func @region(%x: tensor<1x1x3x2xf32>, %b: tensor<8xf32>) -> tensor<1x2x12x8xf32> {
// CHECK-NEXT: %0 = mir.expand %b : tensor<8xf32> to tensor<1x2x12x8xf32>
// CHECK-NEXT: %y = mir.elementwise_region(%0, %x : tensor<1x2x12x8xf32>, tensor<1x1x3x2xf32>) -> tensor<1x2x12x8xf32> {
// CHECK-NEXT: ^bb0(%1: tensor<1x2x12x8xf32>, %x_1: tensor<1x1x3x2xf32>):
// CHECK-NEXT: %2 = mir.resize_nearest_2x %x_1 : (tensor<1x1x3x2xf32>) -> tensor<1x1x6x4xf32>
// CHECK-NEXT: %3 = mir.resize_nearest_2x %2 : (tensor<1x1x6x4xf32>) -> tensor<1x1x12x8xf32>
// CHECK-NEXT: %4 = mir.add %1, %3 : (tensor<1x2x12x8xf32>, tensor<1x1x12x8xf32>) -> tensor<1x2x12x8xf32>
// CHECK-NEXT: mir.yield %4 : tensor<1x2x12x8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<1x2x12x8xf32>
// CHECK-NEXT: }
func.func @region(%x: tensor<1x1x3x2xf32>, %b: tensor<8xf32>) -> tensor<1x2x12x8xf32> {
  %1 = mir.transform_region %x : tensor<1x1x3x2xf32> -> tensor<1x1x12x8xf32> {
  ^bb0(%c: tensor<1x1x3x2xf32>):
    %2 = mir.resize_nearest_2x %c : (tensor<1x1x3x2xf32>) -> tensor<1x1x6x4xf32>
    %3 = mir.resize_nearest_2x %2 : (tensor<1x1x6x4xf32>) -> tensor<1x1x12x8xf32>
    mir.yield %3 : tensor<1x1x12x8xf32>
  }
  %6 = mir.expand %b : tensor<8xf32> to tensor<1x2x12x8xf32>
  %y = mir.elementwise_region (%6, %1 : tensor<1x2x12x8xf32>, tensor<1x1x12x8xf32>) -> tensor<1x2x12x8xf32> {
  ^bb0(%p: tensor<1x2x12x8xf32>, %q: tensor<1x1x12x8xf32>):
    %7 = mir.add %p, %q : (tensor<1x2x12x8xf32>, tensor<1x1x12x8xf32>) -> tensor<1x2x12x8xf32>
    mir.yield %7 : tensor<1x2x12x8xf32>
  }
  func.return %y : tensor<1x2x12x8xf32>
}

// A resize that others use stays outside.

// CHECK-LABEL: func.func @several_users(%x: tensor<1x2x3x4xf32>) -> (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>) {
// CHECK-NEXT: %0 = mir.resize_nearest_2x %x : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
// CHECK-NEXT: %y = mir.relu %0 : tensor<1x2x6x8xf32>
// CHECK-NEXT: func.return %0, %y : tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>
// CHECK-NEXT: }
func.func @several_users(%x: tensor<1x2x3x4xf32>) -> (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>) {
  %0 = mir.resize_nearest_2x %x : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
  %y = mir.relu %0 : tensor<1x2x6x8xf32>
  func.return %0, %y : tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>
}

// Twice the same input is one input.

// CHECK-LABEL: func.func @twice(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32> {
// CHECK-NEXT: %y = mir.elementwise_region(%x : tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32> {
// CHECK-NEXT: ^bb0(%x_1: tensor<1x2x3x4xf32>):
// CHECK-NEXT: %0 = mir.resize_nearest_2x %x_1 : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
// CHECK-NEXT: %y_1 = mir.mul %0, %0 : (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xf32>
// CHECK-NEXT: mir.yield %y_1 : tensor<1x2x6x8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<1x2x6x8xf32>
// CHECK-NEXT: }
func.func @twice(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32> {
  %0 = mir.resize_nearest_2x %x : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
  %y = mir.mul %0, %0 : (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xf32>
  func.return %y : tensor<1x2x6x8xf32>
}
