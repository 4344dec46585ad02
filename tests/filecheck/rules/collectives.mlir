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

// -----

// CHECK-LABEL: func.func @all_gather(%x: tensor<4xf32>, %y: tensor<8xf32>, %g: tensor<8xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %d0 = mir.reduce_scatter %g over 2 : tensor<8xf32> -> tensor<4xf32>
// CHECK-NEXT: func.return %d0 : tensor<4xf32>
// CHECK-NEXT: }
func.func @all_gather(%x: tensor<4xf32>, %y: tensor<8xf32>, %g: tensor<8xf32>) -> tensor<4xf32> {
  %d0 = mir.vjp primals(%x : tensor<4xf32>) outputs(%y : tensor<8xf32>) cotangents(%g : tensor<8xf32>) of [0] wrt [0] -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = mir.all_gather %a over 2 : tensor<4xf32> -> tensor<8xf32>
    mir.yield %0 : tensor<8xf32>
  }
  return %d0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @reduce_scatter(%x: tensor<8xf32>, %y: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<8xf32> {
// CHECK-NEXT: %d0 = mir.all_gather %g over 2 : tensor<4xf32> -> tensor<8xf32>
// CHECK-NEXT: func.return %d0 : tensor<8xf32>
// CHECK-NEXT: }
func.func @reduce_scatter(%x: tensor<8xf32>, %y: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<8xf32> {
  %d0 = mir.vjp primals(%x : tensor<8xf32>) outputs(%y : tensor<4xf32>) cotangents(%g : tensor<4xf32>) of [0] wrt [0] -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %0 = mir.reduce_scatter %a over 2 : tensor<8xf32> -> tensor<4xf32>
    mir.yield %0 : tensor<4xf32>
  }
  return %d0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @broadcast(%x: tensor<4xf32>, %y: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %d0 = mir.reduce_to %g to 1 over 2 : tensor<4xf32>
// CHECK-NEXT: func.return %d0 : tensor<4xf32>
// CHECK-NEXT: }
func.func @broadcast(%x: tensor<4xf32>, %y: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
  %d0 = mir.vjp primals(%x : tensor<4xf32>) outputs(%y : tensor<4xf32>) cotangents(%g : tensor<4xf32>) of [0] wrt [0] -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = mir.broadcast %a from 1 over 2 : tensor<4xf32>
    mir.yield %0 : tensor<4xf32>
  }
  return %d0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @reduce_to(%x: tensor<4xf32>, %y: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %d0 = mir.broadcast %g from 1 over 2 : tensor<4xf32>
// CHECK-NEXT: func.return %d0 : tensor<4xf32>
// CHECK-NEXT: }
func.func @reduce_to(%x: tensor<4xf32>, %y: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
  %d0 = mir.vjp primals(%x : tensor<4xf32>) outputs(%y : tensor<4xf32>) cotangents(%g : tensor<4xf32>) of [0] wrt [0] -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = mir.reduce_to %a to 1 over 2 : tensor<4xf32>
    mir.yield %0 : tensor<4xf32>
  }
  return %d0 : tensor<4xf32>
}
