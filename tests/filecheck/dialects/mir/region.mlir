// RUN: ROUNDTRIP
// RUN: GENERIC


// CHECK-LABEL: func.func @elementwise(%x: tensor<3x4xf32>, %b: tensor<3x1xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT: %y = mir.elementwise_region(%x, %b : tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT: ^bb0(%p: tensor<3x4xf32>, %q: tensor<3x1xf32>):
// CHECK-NEXT: %0 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %1 = mir.mul %q, %0 : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
// CHECK-NEXT: %2 = mir.gt %p, %1 : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xi1>
// CHECK-NEXT: %3 = mir.tanh %p : tensor<3x4xf32>
// CHECK-NEXT: %4 = mir.where %2, %3, %1 : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: mir.yield %4 : tensor<3x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<3x4xf32>
// CHECK-NEXT: }
func.func @elementwise(%x: tensor<3x4xf32>, %b: tensor<3x1xf32>) -> tensor<3x4xf32> {
  %y = mir.elementwise_region (%x, %b : tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32> {
  ^bb0(%p: tensor<3x4xf32>, %q: tensor<3x1xf32>):
    %0 = mir.constant dense<5.000000e-01> : tensor<f32>
    %1 = mir.mul %q, %0 : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
    %2 = mir.gt %p, %1 : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xi1>
    %3 = mir.tanh %p : tensor<3x4xf32>
    %4 = mir.where %2, %3, %1 : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
    mir.yield %4 : tensor<3x4xf32>
  }
  func.return %y : tensor<3x4xf32>
}

// A region that resizes an input first.

// CHECK-LABEL: func.func @prologue(%x: tensor<1x2x3x4xf32>, %b: tensor<8xf32>) -> tensor<1x2x6x8xf32> {
// CHECK-NEXT: %y = mir.elementwise_region(%x, %b : tensor<1x2x3x4xf32>, tensor<8xf32>) -> tensor<1x2x6x8xf32> {
// CHECK-NEXT: ^bb0(%p: tensor<1x2x3x4xf32>, %q: tensor<8xf32>):
// CHECK-NEXT: %0 = mir.resize_nearest_2x %p : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
// CHECK-NEXT: %1 = mir.add %0, %q : (tensor<1x2x6x8xf32>, tensor<8xf32>) -> tensor<1x2x6x8xf32>
// CHECK-NEXT: mir.yield %1 : tensor<1x2x6x8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<1x2x6x8xf32>
// CHECK-NEXT: }
func.func @prologue(%x: tensor<1x2x3x4xf32>, %b: tensor<8xf32>) -> tensor<1x2x6x8xf32> {
  %y = mir.elementwise_region (%x, %b : tensor<1x2x3x4xf32>, tensor<8xf32>) -> tensor<1x2x6x8xf32> {
  ^bb0(%p: tensor<1x2x3x4xf32>, %q: tensor<8xf32>):
    %0 = mir.resize_nearest_2x %p : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
    %1 = mir.add %0, %q : (tensor<1x2x6x8xf32>, tensor<8xf32>) -> tensor<1x2x6x8xf32>
    mir.yield %1 : tensor<1x2x6x8xf32>
  }
  func.return %y : tensor<1x2x6x8xf32>
}

// CHECK-LABEL: func.func @transform(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x12x16xf32> {
// CHECK-NEXT: %y = mir.transform_region %x : tensor<1x2x3x4xf32> -> tensor<1x2x12x16xf32> {
// CHECK-NEXT: ^bb0(%a: tensor<1x2x3x4xf32>):
// CHECK-NEXT: %0 = mir.resize_nearest_2x %a : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
// CHECK-NEXT: %1 = mir.resize_nearest_2x %0 : (tensor<1x2x6x8xf32>) -> tensor<1x2x12x16xf32>
// CHECK-NEXT: mir.yield %1 : tensor<1x2x12x16xf32>
// CHECK-NEXT: }
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

// A body that is run on each input, with what is the same for all.

// CHECK-LABEL: func.func @batch(%x: tensor<1x3xf32>, %y: tensor<1x3xf32>, %s: tensor<f32>) -> tensor<2x3xf32> {
// CHECK-NEXT: %z = mir.batch_elementwise_region(%x, %y : tensor<1x3xf32>, tensor<1x3xf32>) captured(%s : tensor<f32>) -> tensor<2x3xf32> {
// CHECK-NEXT: ^bb0(%a: tensor<1x3xf32>, %b: tensor<f32>):
// CHECK-NEXT: %0 = mir.mul %a, %b : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
// CHECK-NEXT: %1 = mir.relu %0 : tensor<1x3xf32>
// CHECK-NEXT: mir.yield %1 : tensor<1x3xf32>
// CHECK-NEXT: }
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

// GENERIC: "mir.elementwise_region"(%{{.*}})
// GENERIC: "mir.transform_region"(%{{.*}})
// GENERIC: "mir.batch_elementwise_region"(%{{.*}}) <{operandSegmentSizes = array<i32: 2, 1>}>
