// RUN: xdsl-opt %s -p mir-lower-regions | filecheck %s

// Slices that follow each other are one.

// CHECK-LABEL: func.func @runs(%x: tensor<4x3xf32>, %s: tensor<3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<4x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %1 = mir.narrow %x axis 0 start 1 len 3 : (tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %2 = mir.mul %1, %s : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %3 = mir.relu %2 : tensor<3x3xf32>
// CHECK-NEXT: %4 = mir.mul %0, %s : (tensor<1x3xf32>, tensor<3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %5 = mir.relu %4 : tensor<1x3xf32>
// CHECK-NEXT: %y = mir.concat %3, %5 axis 0 : (tensor<3x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %y : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @runs(%x: tensor<4x3xf32>, %s: tensor<3xf32>) -> tensor<4x3xf32> {
  %0 = mir.narrow %x axis 0 start 1 len 1 : (tensor<4x3xf32>) -> tensor<1x3xf32>
  %1 = mir.narrow %x axis 0 start 2 len 1 : (tensor<4x3xf32>) -> tensor<1x3xf32>
  %2 = mir.narrow %x axis 0 start 3 len 1 : (tensor<4x3xf32>) -> tensor<1x3xf32>
  %3 = mir.narrow %x axis 0 start 0 len 1 : (tensor<4x3xf32>) -> tensor<1x3xf32>
  %y = mir.batch_elementwise_region (%0, %1, %2, %3 : tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>) captured(%s : tensor<3xf32>) -> tensor<4x3xf32> {
  ^bb0(%a: tensor<1x3xf32>, %b: tensor<3xf32>):
    %4 = mir.mul %a, %b : (tensor<1x3xf32>, tensor<3xf32>) -> tensor<1x3xf32>
    %5 = mir.relu %4 : tensor<1x3xf32>
    mir.yield %5 : tensor<1x3xf32>
  }
  func.return %y : tensor<4x3xf32>
}

// What varies along axis 0 is for each slice.

// CHECK-LABEL: func.func @varies(%x: tensor<4x3xf32>, %s: tensor<2x1xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.narrow %x axis 0 start 0 len 2 : (tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %1 = mir.narrow %x axis 0 start 2 len 2 : (tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %2 = mir.mul %0, %s : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %3 = mir.mul %1, %s : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %y = mir.concat %2, %3 axis 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %y : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @varies(%x: tensor<4x3xf32>, %s: tensor<2x1xf32>) -> tensor<4x3xf32> {
  %0 = mir.narrow %x axis 0 start 0 len 2 : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %1 = mir.narrow %x axis 0 start 2 len 2 : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %y = mir.batch_elementwise_region (%0, %1 : tensor<2x3xf32>, tensor<2x3xf32>) captured(%s : tensor<2x1xf32>) -> tensor<4x3xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<2x1xf32>):
    %2 = mir.mul %a, %b : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
    mir.yield %2 : tensor<2x3xf32>
  }
  func.return %y : tensor<4x3xf32>
}

// A body that does not read its slice has as many results as there are slices.

// CHECK-LABEL: func.func @unread(%x: tensor<2x3xf32>, %s: tensor<1x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT: %0 = mir.exp %s : tensor<1x3xf32>
// CHECK-NEXT: %1 = mir.exp %s : tensor<1x3xf32>
// CHECK-NEXT: %y = mir.concat %0, %1 axis 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %y : tensor<2x3xf32>
// CHECK-NEXT: }
func.func @unread(%x: tensor<2x3xf32>, %s: tensor<1x3xf32>) -> tensor<2x3xf32> {
  %0 = mir.narrow %x axis 0 start 0 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %1 = mir.narrow %x axis 0 start 1 len 1 : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %y = mir.batch_elementwise_region (%0, %1 : tensor<1x3xf32>, tensor<1x3xf32>) captured(%s : tensor<1x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<1x3xf32>, %b: tensor<1x3xf32>):
    %2 = mir.exp %b : tensor<1x3xf32>
    mir.yield %2 : tensor<1x3xf32>
  }
  func.return %y : tensor<2x3xf32>
}

// Resizes are broadcasts along axes of their own; by 4 and by 2, these are two for each axis.

// CHECK-LABEL: func.func @resizes(%x: tensor<1x1x2x3xf32>, %z: tensor<1x2x4x6xf32>, %s: tensor<8x1xf32>) -> tensor<1x2x8x12xf32> {
// CHECK-NEXT: %0 = mir.reshape %s : tensor<8x1xf32> to tensor<2x2x2x1x1x1xf32>
// CHECK-NEXT: %1 = mir.reshape %x : tensor<1x1x2x3xf32> to tensor<1x1x2x1x1x3x1x1xf32>
// CHECK-NEXT: %2 = mir.reshape %z : tensor<1x2x4x6xf32> to tensor<1x2x2x2x1x3x2x1xf32>
// CHECK-NEXT: %3 = mir.exp %1 : tensor<1x1x2x1x1x3x1x1xf32>
// CHECK-NEXT: %4 = mir.mul %3, %2 : (tensor<1x1x2x1x1x3x1x1xf32>, tensor<1x2x2x2x1x3x2x1xf32>) -> tensor<1x2x2x2x1x3x2x1xf32>
// CHECK-NEXT: %5 = mir.add %4, %0 : (tensor<1x2x2x2x1x3x2x1xf32>, tensor<2x2x2x1x1x1xf32>) -> tensor<1x2x2x2x2x3x2x1xf32>
// CHECK-NEXT: %6 = mir.expand %5 : tensor<1x2x2x2x2x3x2x1xf32> to tensor<1x2x2x2x2x3x2x2xf32>
// CHECK-NEXT: %y = mir.reshape %6 : tensor<1x2x2x2x2x3x2x2xf32> to tensor<1x2x8x12xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x8x12xf32>
// CHECK-NEXT: }
func.func @resizes(%x: tensor<1x1x2x3xf32>, %z: tensor<1x2x4x6xf32>, %s: tensor<8x1xf32>) -> tensor<1x2x8x12xf32> {
  %y = mir.elementwise_region (%x, %z, %s : tensor<1x1x2x3xf32>, tensor<1x2x4x6xf32>, tensor<8x1xf32>) -> tensor<1x2x8x12xf32> {
  ^bb0(%a: tensor<1x1x2x3xf32>, %b: tensor<1x2x4x6xf32>, %c: tensor<8x1xf32>):
    %0 = mir.resize_nearest_2x %a : (tensor<1x1x2x3xf32>) -> tensor<1x1x4x6xf32>
    %1 = mir.resize_nearest_2x %0 : (tensor<1x1x4x6xf32>) -> tensor<1x1x8x12xf32>
    %2 = mir.resize_nearest_2x %b : (tensor<1x2x4x6xf32>) -> tensor<1x2x8x12xf32>
    %3 = mir.exp %1 : tensor<1x1x8x12xf32>
    %4 = mir.mul %3, %2 : (tensor<1x1x8x12xf32>, tensor<1x2x8x12xf32>) -> tensor<1x2x8x12xf32>
    %5 = mir.add %4, %c : (tensor<1x2x8x12xf32>, tensor<8x1xf32>) -> tensor<1x2x8x12xf32>
    mir.yield %5 : tensor<1x2x8x12xf32>
  }
  func.return %y : tensor<1x2x8x12xf32>
}

// CHECK-LABEL: func.func @transform(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x12x16xf32> {
// CHECK-NEXT: %0 = mir.reshape %x : tensor<1x2x3x4xf32> to tensor<1x2x3x1x4x1xf32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<1x2x3x1x4x1xf32> to tensor<1x2x3x4x4x4xf32>
// CHECK-NEXT: %y = mir.reshape %1 : tensor<1x2x3x4x4x4xf32> to tensor<1x2x12x16xf32>
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
