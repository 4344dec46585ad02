// RUN: xdsl-opt %s -p mir-emit-vjp | filecheck %s

// The gradient runs the other way, along what the scan went along and what it stacked.
// CHECK-LABEL: func.func @scan(%h: tensor<3xf32>, %x: tensor<8x3xf32>, %last: tensor<3xf32>, %before: tensor<8x3xf32>, %g: tensor<3xf32>) -> (tensor<3xf32>, tensor<8x3xf32>) {
// CHECK-NEXT: %dh, %dx = mir.scan 8 reverse carries(%g : tensor<3xf32>) over(%x, %before : tensor<8x3xf32>, tensor<8x3xf32>) -> (tensor<3xf32>) stacked(tensor<8x3xf32>) {
// CHECK-NEXT: ^bb0(%0: tensor<3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>):
// CHECK-NEXT: %3 = mir.mul %0, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %4 = mir.mul %0, %2 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: mir.yield %3, %4 : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %dh, %dx : tensor<3xf32>, tensor<8x3xf32>
// CHECK-NEXT: }
func.func @scan(%h: tensor<3xf32>, %x: tensor<8x3xf32>, %last: tensor<3xf32>, %before: tensor<8x3xf32>, %g: tensor<3xf32>) -> (tensor<3xf32>, tensor<8x3xf32>) {
  %dh, %dx = mir.vjp primals(%h, %x : tensor<3xf32>, tensor<8x3xf32>) outputs(%last, %before : tensor<3xf32>, tensor<8x3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0, 1] -> tensor<3xf32>, tensor<8x3xf32> {
  ^bb0(%h_1: tensor<3xf32>, %x_1: tensor<8x3xf32>):
    %0, %1 = mir.scan 8 carries(%h_1 : tensor<3xf32>) over(%x_1 : tensor<8x3xf32>) -> (tensor<3xf32>) stacked (tensor<8x3xf32>) {
    ^bb1(%c: tensor<3xf32>, %e: tensor<3xf32>):
      %2 = mir.mul %c, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      mir.yield %2, %c : tensor<3xf32>, tensor<3xf32>
    }
    mir.yield %0, %1 : tensor<3xf32>, tensor<8x3xf32>
  }
  func.return %dh, %dx : tensor<3xf32>, tensor<8x3xf32>
}
