// RUN: xdsl-opt %s -p mir-emit-vjp | filecheck %s

// The derivative of a fusion is that of the ops in it.

// Two results, of which one has a cotangent.
// CHECK-LABEL: func.func @fusion(%x0: tensor<3xf32>, %x1: tensor<3xf32>, %y0: tensor<3xf32>, %y1: tensor<3xf32>, %g: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %0 = mir.sin %x0 : tensor<3xf32>
// CHECK-NEXT: %1 = mir.mul %g, %x1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %d_b = mir.mul %g, %0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %2 = mir.cos %x0 : tensor<3xf32>
// CHECK-NEXT: %d_a = mir.mul %1, %2 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %d_a, %d_b : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @fusion(%x0: tensor<3xf32>, %x1: tensor<3xf32>, %y0: tensor<3xf32>, %y1: tensor<3xf32>, %g: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %d0, %d1 = mir.vjp primals(%x0, %x1 : tensor<3xf32>, tensor<3xf32>) outputs(%y0, %y1 : tensor<3xf32>, tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [1] wrt [0, 1] -> tensor<3xf32>, tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    %0, %1 = mir.fusion(%a, %b) : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
    ^bb0(%c: tensor<3xf32>, %d: tensor<3xf32>):
      %2 = mir.sin %c : tensor<3xf32>
      %3 = mir.mul %2, %d : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      mir.yield %2, %3 : tensor<3xf32>, tensor<3xf32>
    }
    mir.yield %0, %1 : tensor<3xf32>, tensor<3xf32>
  }
  func.return %d0, %d1 : tensor<3xf32>, tensor<3xf32>
}
