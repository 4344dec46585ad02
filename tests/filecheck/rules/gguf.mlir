// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family gguf.

// CHECK-LABEL: func.func @dequant_grouped_matmul(%x: tensor<5x32xf32>, %w: tensor<2x54xui8>, %i: tensor<5xi64>, %y: tensor<5x3xf32>, %g: tensor<5x3xf32>) -> tensor<5x32xf32> {
// CHECK-NEXT: %d = mir.dequant_grouped_matmul_backward_input %g, %w, %i scheme <gguf_q4_0> experts 2 k 32 : (tensor<5x3xf32>, tensor<2x54xui8>, tensor<5xi64>) -> tensor<5x32xf32>
// CHECK-NEXT: func.return %d : tensor<5x32xf32>
// CHECK-NEXT: }
func.func @dequant_grouped_matmul(%x: tensor<5x32xf32>, %w: tensor<2x54xui8>, %i: tensor<5xi64>, %y: tensor<5x3xf32>, %g: tensor<5x3xf32>) -> tensor<5x32xf32> {
  %d = mir.vjp primals(%x, %w, %i : tensor<5x32xf32>, tensor<2x54xui8>, tensor<5xi64>) outputs(%y : tensor<5x3xf32>) cotangents(%g : tensor<5x3xf32>) of [0] wrt [0] -> tensor<5x32xf32> {
  ^bb0(%a: tensor<5x32xf32>, %b: tensor<2x54xui8>, %c: tensor<5xi64>):
    %0 = mir.dequant_grouped_matmul %a, %b, %c scheme <gguf_q4_0> experts 2 : (tensor<5x32xf32>, tensor<2x54xui8>, tensor<5xi64>) -> tensor<5x3xf32>
    mir.yield %0 : tensor<5x3xf32>
  }
  func.return %d : tensor<5x32xf32>
}

// -----

// CHECK-LABEL: func.func @dequant_grouped_matmul_backward_input(%dy: tensor<5x3xf32>, %w: tensor<2x54xui8>, %i: tensor<5xi64>, %y: tensor<5x32xf32>, %g: tensor<5x32xf32>) -> tensor<5x3xf32> {
// CHECK-NEXT: %d = mir.dequant_grouped_matmul %g, %w, %i scheme <gguf_q4_0> experts 2 : (tensor<5x32xf32>, tensor<2x54xui8>, tensor<5xi64>) -> tensor<5x3xf32>
// CHECK-NEXT: func.return %d : tensor<5x3xf32>
// CHECK-NEXT: }
func.func @dequant_grouped_matmul_backward_input(%dy: tensor<5x3xf32>, %w: tensor<2x54xui8>, %i: tensor<5xi64>, %y: tensor<5x32xf32>, %g: tensor<5x32xf32>) -> tensor<5x3xf32> {
  %d = mir.vjp primals(%dy, %w, %i : tensor<5x3xf32>, tensor<2x54xui8>, tensor<5xi64>) outputs(%y : tensor<5x32xf32>) cotangents(%g : tensor<5x32xf32>) of [0] wrt [0] -> tensor<5x3xf32> {
  ^bb0(%a: tensor<5x3xf32>, %b: tensor<2x54xui8>, %c: tensor<5xi64>):
    %0 = mir.dequant_grouped_matmul_backward_input %a, %b, %c scheme <gguf_q4_0> experts 2 k 32 : (tensor<5x3xf32>, tensor<2x54xui8>, tensor<5xi64>) -> tensor<5x32xf32>
    mir.yield %0 : tensor<5x32xf32>
  }
  func.return %d : tensor<5x3xf32>
}
