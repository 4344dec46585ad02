// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family collectives.

// CHECK-LABEL: func.func @all_reduce(%x: tensor<3xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %d0 = mir.all_reduce sum %g over 2 : tensor<3xf32>
// CHECK-NEXT: func.return %d0 : tensor<3xf32>
// CHECK-NEXT: }
func.func @all_reduce(%x: tensor<3xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
  %d0 = mir.vjp primals(%x : tensor<3xf32>) outputs(%y : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0] -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    %0 = mir.all_reduce sum %a over 2 : tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  return %d0 : tensor<3xf32>
}
