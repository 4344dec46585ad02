// RUN: xdsl-opt %s -p mir-decompose-fusion-regions | filecheck %s


// CHECK-LABEL: func.func @fusion(%x: tensor<3xf32>) -> tensor<f32> {
// CHECK-NEXT: %0 = mir.exp %x : tensor<3xf32>
// CHECK-NEXT: %y = mir.reduce_sum %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
// CHECK-NEXT: func.return %y : tensor<f32>
// CHECK-NEXT: }
func.func @fusion(%x: tensor<3xf32>) -> tensor<f32> {
  %y = mir.fusion (%x) : (tensor<3xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<3xf32>):
    %0 = mir.exp %a : tensor<3xf32>
    %1 = mir.reduce_sum %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
    mir.yield %1 : tensor<f32>
  }
  func.return %y : tensor<f32>
}

// A chain of resizes.

// CHECK-LABEL: func.func @transform(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x12x16xf32> {
// CHECK-NEXT: %0 = mir.resize_nearest_2x %x : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
// CHECK-NEXT: %y = mir.resize_nearest_2x %0 : (tensor<1x2x6x8xf32>) -> tensor<1x2x12x16xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x12x16xf32>
// CHECK-NEXT: }
func.func @transform(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x12x16xf32> {
  %y = mir.transform_region %x : tensor<1x2x3x4xf32> -> tensor<1x2x12x16xf32> {
  ^bb0(%a: tensor<1x2x3x4xf32>):
    %0 = mir.resize_nearest_2x %a : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
    %1 = mir.resize_nearest_2x %0 : (tensor<1x2x6x8xf32>) -> tensor<1x2x12x16xf32>
    mir.yield %1 : tensor<1x2x12x16xf32>
  }
  func.return %y : tensor<1x2x12x16xf32>
}

// The body for each input.

// CHECK-LABEL: func.func @batch(%x: tensor<1x3xf32>, %y: tensor<1x3xf32>, %s: tensor<f32>) -> tensor<2x3xf32> {
// CHECK-NEXT: %0 = mir.mul %x, %s : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
// CHECK-NEXT: %1 = mir.relu %0 : tensor<1x3xf32>
// CHECK-NEXT: %2 = mir.mul %y, %s : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
// CHECK-NEXT: %3 = mir.relu %2 : tensor<1x3xf32>
// CHECK-NEXT: %z = mir.concat %1, %3 axis 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %z : tensor<2x3xf32>
// CHECK-NEXT: }
func.func @batch(%x: tensor<1x3xf32>, %y: tensor<1x3xf32>, %s: tensor<f32>) -> tensor<2x3xf32> {
  %z = mir.batch_elementwise_region (%x, %y : tensor<1x3xf32>, tensor<1x3xf32>) captured(%s : tensor<f32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<1x3xf32>, %b: tensor<f32>):
    %0 = mir.mul %a, %b : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
    %1 = mir.relu %0 : tensor<1x3xf32>
    mir.yield %1 : tensor<1x3xf32>
  }
  func.return %z : tensor<2x3xf32>
}

// A region of elementwise ops is for another pass; a fusion in a branch is reached.

// CHECK-LABEL: func.func @others(%p: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %y = mir.elementwise_region(%x : tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: ^bb0(%a: tensor<3xf32>):
// CHECK-NEXT: %0 = mir.exp %a : tensor<3xf32>
// CHECK-NEXT: mir.yield %0 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %z = mir.if %p : tensor<i1> captured(%y : tensor<3xf32>) -> (tensor<3xf32>) {
// CHECK-NEXT: ^bb0(%b: tensor<3xf32>):
// CHECK-NEXT: %0 = mir.sin %b : tensor<3xf32>
// CHECK-NEXT: mir.yield %0 : tensor<3xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: ^bb0(%b_1: tensor<3xf32>):
// CHECK-NEXT: mir.yield %b_1 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %z : tensor<3xf32>
// CHECK-NEXT: }
func.func @others(%p: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %y = mir.elementwise_region (%x : tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    %0 = mir.exp %a : tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  %z = mir.if %p : tensor<i1> captured(%y : tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb1(%b: tensor<3xf32>):
    %1 = mir.fusion (%b) : (tensor<3xf32>) -> tensor<3xf32> {
    ^bb2(%c: tensor<3xf32>):
      %2 = mir.sin %c : tensor<3xf32>
      mir.yield %2 : tensor<3xf32>
    }
    mir.yield %1 : tensor<3xf32>
  } else {
  ^bb3(%b: tensor<3xf32>):
    mir.yield %b : tensor<3xf32>
  }
  func.return %z : tensor<3xf32>
}

// Resizes move in front of a region, which stays.

// CHECK-LABEL: func.func @prologue(%x: tensor<1x2x3x4xf32>, %b: tensor<8xf32>) -> tensor<1x2x6x8xf32> {
// CHECK-NEXT: %0 = mir.resize_nearest_2x %x : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
// CHECK-NEXT: %y = mir.elementwise_region(%b, %0 : tensor<8xf32>, tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xf32> {
// CHECK-NEXT: ^bb0(%b_1: tensor<8xf32>, %1: tensor<1x2x6x8xf32>):
// CHECK-NEXT: %2 = mir.exp %b_1 : tensor<8xf32>
// CHECK-NEXT: %3 = mir.add %1, %2 : (tensor<1x2x6x8xf32>, tensor<8xf32>) -> tensor<1x2x6x8xf32>
// CHECK-NEXT: mir.yield %3 : tensor<1x2x6x8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<1x2x6x8xf32>
// CHECK-NEXT: }
func.func @prologue(%x: tensor<1x2x3x4xf32>, %b: tensor<8xf32>) -> tensor<1x2x6x8xf32> {
  %y = mir.elementwise_region (%b, %x : tensor<8xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32> {
  ^bb0(%p: tensor<8xf32>, %a: tensor<1x2x3x4xf32>):
    %0 = mir.exp %p : tensor<8xf32>
    %1 = mir.resize_nearest_2x %a : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
    %2 = mir.add %1, %0 : (tensor<1x2x6x8xf32>, tensor<8xf32>) -> tensor<1x2x6x8xf32>
    mir.yield %2 : tensor<1x2x6x8xf32>
  }
  func.return %y : tensor<1x2x6x8xf32>
}
