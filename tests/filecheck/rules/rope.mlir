// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family rope.

// CHECK-LABEL: func.func @rope(%x: tensor<2x5x6xf32>, %cos: tensor<5x3xf32>, %sin: tensor<5x3xf32>, %y: tensor<2x5x6xf32>, %g: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
// CHECK-NEXT: %d = mir.rope_backward %g, %cos, %sin num_heads 1 n_rot 6 layout packed pairing halves : (tensor<2x5x6xf32>, tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<2x5x6xf32>
// CHECK-NEXT: func.return %d : tensor<2x5x6xf32>
// CHECK-NEXT: }
func.func @rope(%x: tensor<2x5x6xf32>, %cos: tensor<5x3xf32>, %sin: tensor<5x3xf32>, %y: tensor<2x5x6xf32>, %g: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  %d = mir.vjp primals(%x, %cos, %sin : tensor<2x5x6xf32>, tensor<5x3xf32>, tensor<5x3xf32>) outputs(%y : tensor<2x5x6xf32>) cotangents(%g : tensor<2x5x6xf32>) of [0] wrt [0] -> tensor<2x5x6xf32> {
  ^bb0(%a: tensor<2x5x6xf32>, %b: tensor<5x3xf32>, %c: tensor<5x3xf32>):
    %0 = mir.rope %a, %b, %c num_heads 1 n_rot 6 layout packed pairing halves : (tensor<2x5x6xf32>, tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<2x5x6xf32>
    mir.yield %0 : tensor<2x5x6xf32>
  }
  func.return %d : tensor<2x5x6xf32>
}

// -----

// CHECK-LABEL: func.func @rope_tables(%x: tensor<2x5x6xf32>, %cos: tensor<5x3xf32>, %sin: tensor<5x3xf32>, %y: tensor<2x5x6xf32>, %g: tensor<2x5x6xf32>) -> tensor<5x3xf32> {
// CHECK-NEXT: %0 = mir.reshape %x : tensor<2x5x6xf32> to tensor<2x5x1x6xf32>
// CHECK-NEXT: %1 = mir.narrow %0 axis 3 start 0 len 3 : (tensor<2x5x1x6xf32>) -> tensor<2x5x1x3xf32>
// CHECK-NEXT: %2 = mir.narrow %0 axis 3 start 3 len 3 : (tensor<2x5x1x6xf32>) -> tensor<2x5x1x3xf32>
// CHECK-NEXT: %3 = mir.reshape %g : tensor<2x5x6xf32> to tensor<2x5x1x6xf32>
// CHECK-NEXT: %4 = mir.narrow %3 axis 3 start 0 len 3 : (tensor<2x5x1x6xf32>) -> tensor<2x5x1x3xf32>
// CHECK-NEXT: %5 = mir.narrow %3 axis 3 start 3 len 3 : (tensor<2x5x1x6xf32>) -> tensor<2x5x1x3xf32>
// CHECK-NEXT: %6 = mir.mul %1, %5 : (tensor<2x5x1x3xf32>, tensor<2x5x1x3xf32>) -> tensor<2x5x1x3xf32>
// CHECK-NEXT: %7 = mir.mul %2, %4 : (tensor<2x5x1x3xf32>, tensor<2x5x1x3xf32>) -> tensor<2x5x1x3xf32>
// CHECK-NEXT: %8 = mir.sub %6, %7 : (tensor<2x5x1x3xf32>, tensor<2x5x1x3xf32>) -> tensor<2x5x1x3xf32>
// CHECK-NEXT: %d = mir.reduce_sum %8 axes [0, 2] : (tensor<2x5x1x3xf32>) -> tensor<5x3xf32>
// CHECK-NEXT: func.return %d : tensor<5x3xf32>
// CHECK-NEXT: }
func.func @rope_tables(%x: tensor<2x5x6xf32>, %cos: tensor<5x3xf32>, %sin: tensor<5x3xf32>, %y: tensor<2x5x6xf32>, %g: tensor<2x5x6xf32>) -> tensor<5x3xf32> {
  %d = mir.vjp primals(%x, %cos, %sin : tensor<2x5x6xf32>, tensor<5x3xf32>, tensor<5x3xf32>) outputs(%y : tensor<2x5x6xf32>) cotangents(%g : tensor<2x5x6xf32>) of [0] wrt [2] -> tensor<5x3xf32> {
  ^bb0(%a: tensor<2x5x6xf32>, %b: tensor<5x3xf32>, %c: tensor<5x3xf32>):
    %0 = mir.rope %a, %b, %c num_heads 1 n_rot 6 layout packed pairing halves : (tensor<2x5x6xf32>, tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<2x5x6xf32>
    mir.yield %0 : tensor<2x5x6xf32>
  }
  func.return %d : tensor<5x3xf32>
}
