// RUN: xdsl-opt %s -p mir-mark-transform-regions | filecheck %s

// CHECK-LABEL: func.func @chain(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x24x32xf32> {
// CHECK-NEXT: %y = mir.transform_region %x : tensor<1x2x3x4xf32> -> tensor<1x2x24x32xf32> {
// CHECK-NEXT: ^bb0(%x_1: tensor<1x2x3x4xf32>):
// CHECK-NEXT: %0 = mir.resize_nearest_2x %x_1 : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
// CHECK-NEXT: %1 = mir.resize_nearest_2x %0 : (tensor<1x2x6x8xf32>) -> tensor<1x2x12x16xf32>
// CHECK-NEXT: %y_1 = mir.resize_nearest_2x %1 : (tensor<1x2x12x16xf32>) -> tensor<1x2x24x32xf32>
// CHECK-NEXT: mir.yield %y_1 : tensor<1x2x24x32xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<1x2x24x32xf32>
// CHECK-NEXT: }
func.func @chain(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x24x32xf32> {
  %0 = mir.resize_nearest_2x %x : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
  %1 = mir.resize_nearest_2x %0 : (tensor<1x2x6x8xf32>) -> tensor<1x2x12x16xf32>
  %y = mir.resize_nearest_2x %1 : (tensor<1x2x12x16xf32>) -> tensor<1x2x24x32xf32>
  func.return %y : tensor<1x2x24x32xf32>
}

// A resize joins a region, and several users end a chain.

// CHECK-LABEL: func.func @several_users(%x: tensor<1x2x3x4xf32>) -> (tensor<1x2x12x16xf32>, tensor<1x2x48x64xf32>) {
// CHECK-NEXT: %0 = mir.transform_region %x : tensor<1x2x3x4xf32> -> tensor<1x2x12x16xf32> {
// CHECK-NEXT: ^bb0(%x_1: tensor<1x2x3x4xf32>):
// CHECK-NEXT: %1 = mir.resize_nearest_2x %x_1 : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
// CHECK-NEXT: %2 = mir.resize_nearest_2x %1 : (tensor<1x2x6x8xf32>) -> tensor<1x2x12x16xf32>
// CHECK-NEXT: mir.yield %2 : tensor<1x2x12x16xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %y = mir.transform_region %0 : tensor<1x2x12x16xf32> -> tensor<1x2x48x64xf32> {
// CHECK-NEXT: ^bb0(%1: tensor<1x2x12x16xf32>):
// CHECK-NEXT: %2 = mir.resize_nearest_2x %1 : (tensor<1x2x12x16xf32>) -> tensor<1x2x24x32xf32>
// CHECK-NEXT: %y_1 = mir.resize_nearest_2x %2 : (tensor<1x2x24x32xf32>) -> tensor<1x2x48x64xf32>
// CHECK-NEXT: mir.yield %y_1 : tensor<1x2x48x64xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %0, %y : tensor<1x2x12x16xf32>, tensor<1x2x48x64xf32>
// CHECK-NEXT: }
func.func @several_users(%x: tensor<1x2x3x4xf32>) -> (tensor<1x2x12x16xf32>, tensor<1x2x48x64xf32>) {
  %0 = mir.resize_nearest_2x %x : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
  %1 = mir.resize_nearest_2x %0 : (tensor<1x2x6x8xf32>) -> tensor<1x2x12x16xf32>
  %2 = mir.transform_region %1 : tensor<1x2x12x16xf32> -> tensor<1x2x24x32xf32> {
  ^bb0(%a: tensor<1x2x12x16xf32>):
    %3 = mir.resize_nearest_2x %a : (tensor<1x2x12x16xf32>) -> tensor<1x2x24x32xf32>
    mir.yield %3 : tensor<1x2x24x32xf32>
  }
  %y = mir.resize_nearest_2x %2 : (tensor<1x2x24x32xf32>) -> tensor<1x2x48x64xf32>
  func.return %1, %y : tensor<1x2x12x16xf32>, tensor<1x2x48x64xf32>
}

// One resize is no region.

// CHECK-LABEL: func.func @one(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32> {
// CHECK-NEXT: %y = mir.resize_nearest_2x %x : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x6x8xf32>
// CHECK-NEXT: }
func.func @one(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32> {
  %y = mir.resize_nearest_2x %x : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
  func.return %y : tensor<1x2x6x8xf32>
}
