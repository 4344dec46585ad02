// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family moe.

// CHECK-LABEL: func.func @grouped_matmul(%x: tensor<6x3xf32>, %w: tensor<4x3x5xf32>, %i: tensor<6xi64>, %y: tensor<6x5xf32>, %g: tensor<6x5xf32>) -> (tensor<6x3xf32>, tensor<4x3x5xf32>) {
// CHECK-NEXT: %d = mir.grouped_matmul %g, %w, %i transpose_rhs : (tensor<6x5xf32>, tensor<4x3x5xf32>, tensor<6xi64>) -> tensor<6x3xf32>
// CHECK-NEXT: %d_1 = mir.grouped_matmul_backward_weight %x, %g, %i experts 4 : (tensor<6x3xf32>, tensor<6x5xf32>, tensor<6xi64>) -> tensor<4x3x5xf32>
// CHECK-NEXT: func.return %d, %d_1 : tensor<6x3xf32>, tensor<4x3x5xf32>
// CHECK-NEXT: }
func.func @grouped_matmul(%x: tensor<6x3xf32>, %w: tensor<4x3x5xf32>, %i: tensor<6xi64>, %y: tensor<6x5xf32>, %g: tensor<6x5xf32>) -> (tensor<6x3xf32>, tensor<4x3x5xf32>) {
  %d:2 = mir.vjp primals(%x, %w, %i : tensor<6x3xf32>, tensor<4x3x5xf32>, tensor<6xi64>) outputs(%y : tensor<6x5xf32>) cotangents(%g : tensor<6x5xf32>) of [0] wrt [0, 1] -> tensor<6x3xf32>, tensor<4x3x5xf32> {
  ^bb0(%a: tensor<6x3xf32>, %b: tensor<4x3x5xf32>, %c: tensor<6xi64>):
    %0 = mir.grouped_matmul %a, %b, %c : (tensor<6x3xf32>, tensor<4x3x5xf32>, tensor<6xi64>) -> tensor<6x5xf32>
    mir.yield %0 : tensor<6x5xf32>
  }
  func.return %d#0, %d#1 : tensor<6x3xf32>, tensor<4x3x5xf32>
}

// -----

// CHECK-LABEL: func.func @grouped_matmul_transposed(%x: tensor<6x5xf32>, %w: tensor<4x3x5xf32>, %i: tensor<6xi64>, %y: tensor<6x3xf32>, %g: tensor<6x3xf32>) -> (tensor<6x5xf32>, tensor<4x3x5xf32>) {
// CHECK-NEXT: %d = mir.grouped_matmul %g, %w, %i : (tensor<6x3xf32>, tensor<4x3x5xf32>, tensor<6xi64>) -> tensor<6x5xf32>
// CHECK-NEXT: %d_1 = mir.grouped_matmul_backward_weight %g, %x, %i experts 4 : (tensor<6x3xf32>, tensor<6x5xf32>, tensor<6xi64>) -> tensor<4x3x5xf32>
// CHECK-NEXT: func.return %d, %d_1 : tensor<6x5xf32>, tensor<4x3x5xf32>
// CHECK-NEXT: }
func.func @grouped_matmul_transposed(%x: tensor<6x5xf32>, %w: tensor<4x3x5xf32>, %i: tensor<6xi64>, %y: tensor<6x3xf32>, %g: tensor<6x3xf32>) -> (tensor<6x5xf32>, tensor<4x3x5xf32>) {
  %d:2 = mir.vjp primals(%x, %w, %i : tensor<6x5xf32>, tensor<4x3x5xf32>, tensor<6xi64>) outputs(%y : tensor<6x3xf32>) cotangents(%g : tensor<6x3xf32>) of [0] wrt [0, 1] -> tensor<6x5xf32>, tensor<4x3x5xf32> {
  ^bb0(%a: tensor<6x5xf32>, %b: tensor<4x3x5xf32>, %c: tensor<6xi64>):
    %0 = mir.grouped_matmul %a, %b, %c transpose_rhs : (tensor<6x5xf32>, tensor<4x3x5xf32>, tensor<6xi64>) -> tensor<6x3xf32>
    mir.yield %0 : tensor<6x3xf32>
  }
  func.return %d#0, %d#1 : tensor<6x5xf32>, tensor<4x3x5xf32>
}

// -----

// CHECK-LABEL: func.func @grouped_matmul_backward_weight(%x: tensor<6x3xf32>, %h: tensor<6x5xf32>, %i: tensor<6xi64>, %y: tensor<4x3x5xf32>, %g: tensor<4x3x5xf32>) -> (tensor<6x3xf32>, tensor<6x5xf32>) {
// CHECK-NEXT: %d = mir.grouped_matmul %h, %g, %i transpose_rhs : (tensor<6x5xf32>, tensor<4x3x5xf32>, tensor<6xi64>) -> tensor<6x3xf32>
// CHECK-NEXT: %d_1 = mir.grouped_matmul %x, %g, %i : (tensor<6x3xf32>, tensor<4x3x5xf32>, tensor<6xi64>) -> tensor<6x5xf32>
// CHECK-NEXT: func.return %d, %d_1 : tensor<6x3xf32>, tensor<6x5xf32>
// CHECK-NEXT: }
func.func @grouped_matmul_backward_weight(%x: tensor<6x3xf32>, %h: tensor<6x5xf32>, %i: tensor<6xi64>, %y: tensor<4x3x5xf32>, %g: tensor<4x3x5xf32>) -> (tensor<6x3xf32>, tensor<6x5xf32>) {
  %d:2 = mir.vjp primals(%x, %h, %i : tensor<6x3xf32>, tensor<6x5xf32>, tensor<6xi64>) outputs(%y : tensor<4x3x5xf32>) cotangents(%g : tensor<4x3x5xf32>) of [0] wrt [0, 1] -> tensor<6x3xf32>, tensor<6x5xf32> {
  ^bb0(%a: tensor<6x3xf32>, %b: tensor<6x5xf32>, %c: tensor<6xi64>):
    %0 = mir.grouped_matmul_backward_weight %a, %b, %c experts 4 : (tensor<6x3xf32>, tensor<6x5xf32>, tensor<6xi64>) -> tensor<4x3x5xf32>
    mir.yield %0 : tensor<4x3x5xf32>
  }
  func.return %d#0, %d#1 : tensor<6x3xf32>, tensor<6x5xf32>
}
