// RUN: xdsl-opt %s -p mir-mark-elementwise-regions | filecheck %s

// A chain, with a bias whose shape is not that of the trailing axes: it broadcasts inside as it did outside.

// CHECK-LABEL: func.func @column(%x: tensor<3x4xf32>, %b: tensor<3x1xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT: %y = mir.elementwise_region(%x, %b : tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT: ^bb0(%x_1: tensor<3x4xf32>, %b_1: tensor<3x1xf32>):
// CHECK-NEXT: %0 = mir.add %x_1, %b_1 : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %y_1 = mir.tanh %0 : tensor<3x4xf32>
// CHECK-NEXT: mir.yield %y_1 : tensor<3x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<3x4xf32>
// CHECK-NEXT: }
func.func @column(%x: tensor<3x4xf32>, %b: tensor<3x1xf32>) -> tensor<3x4xf32> {
  %0 = mir.add %x, %b : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  %y = mir.tanh %0 : tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// Elements that broadcast are computed inside as often as outside; a number is copied, a larger constant is an input.

// CHECK-LABEL: func.func @constants(%x: tensor<3x4xf32>, %b: tensor<4xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT: %row = mir.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
// CHECK-NEXT: %y = mir.elementwise_region(%b, %x, %row : tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT: ^bb0(%b_1: tensor<4xf32>, %x_1: tensor<3x4xf32>, %row_1: tensor<4xf32>):
// CHECK-NEXT: %half = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %0 = mir.mul %b_1, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT: %1 = mir.gt %x_1, %0 : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xi1>
// CHECK-NEXT: %y_1 = mir.where %1, %x_1, %row_1 : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: mir.yield %y_1 : tensor<3x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<3x4xf32>
// CHECK-NEXT: }
func.func @constants(%x: tensor<3x4xf32>, %b: tensor<4xf32>) -> tensor<3x4xf32> {
  %half = mir.constant dense<5.000000e-01> : tensor<f32>
  %row = mir.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
  %0 = mir.mul %b, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = mir.gt %x, %0 : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xi1>
  %y = mir.where %1, %x, %row : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// Several users in one region are no reason to stop.

// CHECK-LABEL: func.func @diamond(%x: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %y = mir.elementwise_region(%x : tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: ^bb0(%x_1: tensor<3xf32>):
// CHECK-NEXT: %0 = mir.exp %x_1 : tensor<3xf32>
// CHECK-NEXT: %1 = mir.sin %0 : tensor<3xf32>
// CHECK-NEXT: %y_1 = mir.mul %0, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: mir.yield %y_1 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<3xf32>
// CHECK-NEXT: }
func.func @diamond(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = mir.exp %x : tensor<3xf32>
  %1 = mir.sin %0 : tensor<3xf32>
  %y = mir.mul %0, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// A value that is returned, or used by another op, is not computed twice: it ends a region.

// CHECK-LABEL: func.func @several_users(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<f32>, tensor<3xf32>) {
// CHECK-NEXT: %0 = mir.elementwise_region(%x : tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: ^bb0(%x_1: tensor<3xf32>):
// CHECK-NEXT: %1 = mir.neg %x_1 : tensor<3xf32>
// CHECK-NEXT: %2 = mir.exp %1 : tensor<3xf32>
// CHECK-NEXT: mir.yield %2 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %1 = mir.reduce_sum %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
// CHECK-NEXT: %y = mir.elementwise_region(%0 : tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: ^bb0(%2: tensor<3xf32>):
// CHECK-NEXT: %3 = mir.sin %2 : tensor<3xf32>
// CHECK-NEXT: %y_1 = mir.cos %3 : tensor<3xf32>
// CHECK-NEXT: mir.yield %y_1 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %0, %1, %y : tensor<3xf32>, tensor<f32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @several_users(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<f32>, tensor<3xf32>) {
  %0 = mir.neg %x : tensor<3xf32>
  %1 = mir.exp %0 : tensor<3xf32>
  %2 = mir.reduce_sum %1 axes [0] : (tensor<3xf32>) -> tensor<f32>
  %3 = mir.sin %1 : tensor<3xf32>
  %y = mir.cos %3 : tensor<3xf32>
  func.return %1, %2, %y : tensor<3xf32>, tensor<f32>, tensor<3xf32>
}

// One op is no region, nor are two that are not connected, nor is one that has a name.

// CHECK-LABEL: func.func @none(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>) {
// CHECK-NEXT: %0 = mir.exp %x : tensor<3xf32>
// CHECK-NEXT: %1 = mir.reduce_sum %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
// CHECK-NEXT: %2 = mir.sin %y {mir.tap = "h"} : tensor<3xf32>
// CHECK-NEXT: %z = mir.cos %2 : tensor<3xf32>
// CHECK-NEXT: func.return %1, %z : tensor<f32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @none(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>) {
  %0 = mir.exp %x : tensor<3xf32>
  %1 = mir.reduce_sum %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
  %2 = mir.sin %y {mir.tap = "h"} : tensor<3xf32>
  %z = mir.cos %2 : tensor<3xf32>
  func.return %1, %z : tensor<f32>, tensor<3xf32>
}

// A region joins like an op, but behind another op only what it does not resize.

// CHECK-LABEL: func.func @regions(%x: tensor<1x1x2x2xf32>, %z: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
// CHECK-NEXT: %0 = mir.exp %x : tensor<1x1x2x2xf32>
// CHECK-NEXT: %y = mir.elementwise_region(%z, %0 : tensor<1x1x4x4xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32> {
// CHECK-NEXT: ^bb0(%z_1: tensor<1x1x4x4xf32>, %1: tensor<1x1x2x2xf32>):
// CHECK-NEXT: %2 = mir.sin %z_1 : tensor<1x1x4x4xf32>
// CHECK-NEXT: %3 = mir.resize_nearest_2x %1 : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
// CHECK-NEXT: %4 = mir.add %3, %2 : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
// CHECK-NEXT: %y_1 = mir.neg %4 : tensor<1x1x4x4xf32>
// CHECK-NEXT: mir.yield %y_1 : tensor<1x1x4x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<1x1x4x4xf32>
// CHECK-NEXT: }
func.func @regions(%x: tensor<1x1x2x2xf32>, %z: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %0 = mir.exp %x : tensor<1x1x2x2xf32>
  %1 = mir.sin %z : tensor<1x1x4x4xf32>
  %2 = mir.elementwise_region (%0, %1 : tensor<1x1x2x2xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  ^bb0(%a: tensor<1x1x2x2xf32>, %b: tensor<1x1x4x4xf32>):
    %3 = mir.resize_nearest_2x %a : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
    %4 = mir.add %3, %b : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
    mir.yield %4 : tensor<1x1x4x4xf32>
  }
  %y = mir.neg %2 : tensor<1x1x4x4xf32>
  func.return %y : tensor<1x1x4x4xf32>
}

// Bodies of branches are looked into, bodies of regions are not.

// CHECK-LABEL: func.func @branch(%p: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %y = mir.if %p : tensor<i1> captured(%x : tensor<3xf32>) -> (tensor<3xf32>) {
// CHECK-NEXT: ^bb0(%a: tensor<3xf32>):
// CHECK-NEXT: %0 = mir.elementwise_region(%a : tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: ^bb0(%a_1: tensor<3xf32>):
// CHECK-NEXT: %1 = mir.sin %a_1 : tensor<3xf32>
// CHECK-NEXT: %2 = mir.cos %1 : tensor<3xf32>
// CHECK-NEXT: mir.yield %2 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: mir.yield %0 : tensor<3xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: ^bb0(%b: tensor<3xf32>):
// CHECK-NEXT: %1 = mir.fusion(%b) : (tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: ^bb0(%c: tensor<3xf32>):
// CHECK-NEXT: %2 = mir.sin %c : tensor<3xf32>
// CHECK-NEXT: %3 = mir.cos %2 : tensor<3xf32>
// CHECK-NEXT: mir.yield %3 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: mir.yield %1 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<3xf32>
// CHECK-NEXT: }
func.func @branch(%p: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %y = mir.if %p : tensor<i1> captured(%x : tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    %0 = mir.sin %a : tensor<3xf32>
    %1 = mir.cos %0 : tensor<3xf32>
    mir.yield %1 : tensor<3xf32>
  } else {
  ^bb1(%b: tensor<3xf32>):
    %2 = mir.fusion (%b) : (tensor<3xf32>) -> tensor<3xf32> {
    ^bb2(%c: tensor<3xf32>):
      %3 = mir.sin %c : tensor<3xf32>
      %4 = mir.cos %3 : tensor<3xf32>
      mir.yield %4 : tensor<3xf32>
    }
    mir.yield %2 : tensor<3xf32>
  }
  func.return %y : tensor<3xf32>
}
