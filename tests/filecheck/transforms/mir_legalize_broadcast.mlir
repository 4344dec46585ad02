// RUN: xdsl-opt %s -p mir-legalize-broadcast --split-input-file --verify-diagnostics | filecheck %s

// Both operands at once, a scalar, a comparison, a choice; operands of the shape of the result stay.
// CHECK-LABEL: func.func @f(%c: tensor<4x1xf32>, %r: tensor<1x3xf32>, %s: tensor<f32>, %x: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) {
// CHECK-NEXT: %0 = mir.expand %c : tensor<4x1xf32> to tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.expand %r : tensor<1x3xf32> to tensor<4x3xf32>
// CHECK-NEXT: %2 = mir.add %0, %1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %3 = mir.expand %s : tensor<f32> to tensor<1x3xf32>
// CHECK-NEXT: %4 = mir.lt %3, %r : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xi1>
// CHECK-NEXT: %5 = mir.expand %4 : tensor<1x3xi1> to tensor<4x3xi1>
// CHECK-NEXT: %6 = mir.expand %s : tensor<f32> to tensor<4x3xf32>
// CHECK-NEXT: %7 = mir.where %5, %x, %6 : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %8 = mir.mul %x, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %2, %7, %8 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
// CHECK-NEXT: }
func.func @f(%c: tensor<4x1xf32>, %r: tensor<1x3xf32>, %s: tensor<f32>, %x: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) {
  %0 = mir.add %c, %r : (tensor<4x1xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
  %1 = mir.lt %s, %r : (tensor<f32>, tensor<1x3xf32>) -> tensor<1x3xi1>
  %2 = mir.where %1, %x, %s : (tensor<1x3xi1>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %3 = mir.mul %x, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %0, %2, %3 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}

// -----

// No elements, and bodies.
// CHECK-LABEL: func.func @empty(%z: tensor<0x3xf32>, %o: tensor<1x3xf32>) -> (tensor<0x3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %0 = mir.expand %o : tensor<1x3xf32> to tensor<0x3xf32>
// CHECK-NEXT: %1 = mir.max %z, %0 : (tensor<0x3xf32>, tensor<0x3xf32>) -> tensor<0x3xf32>
// CHECK-NEXT: %2 = mir.reshape %o : tensor<1x3xf32> to tensor<3xf32>
// CHECK-NEXT: %3 = mir.scan 0 carries(%2 : tensor<3xf32>) over(%1 : tensor<0x3xf32>) -> (tensor<3xf32>) {
// CHECK-NEXT: ^bb0(%a: tensor<3xf32>, %x: tensor<3xf32>):
// CHECK-NEXT: %4 = mir.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: %5 = mir.expand %4 : tensor<f32> to tensor<3xf32>
// CHECK-NEXT: %6 = mir.mul %a, %5 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: mir.yield %6 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %1, %3 : tensor<0x3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @empty(%z: tensor<0x3xf32>, %o: tensor<1x3xf32>) -> (tensor<0x3xf32>, tensor<3xf32>) {
  %0 = mir.max %z, %o : (tensor<0x3xf32>, tensor<1x3xf32>) -> tensor<0x3xf32>
  %1 = mir.reshape %o : tensor<1x3xf32> to tensor<3xf32>
  %2 = mir.scan 0 carries(%1 : tensor<3xf32>) over(%0 : tensor<0x3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>, %x: tensor<3xf32>):
    %3 = mir.constant dense<2.0> : tensor<f32>
    %4 = mir.mul %a, %3 : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    mir.yield %4 : tensor<3xf32>
  }
  func.return %0, %2 : tensor<0x3xf32>, tensor<3xf32>
}
