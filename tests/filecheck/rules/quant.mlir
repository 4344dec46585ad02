// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family quant.

// CHECK-LABEL: func.func @dequantize_weights(%w: tensor<5x6xi8>, %s: tensor<2x6xf32>, %z: tensor<2x6xf32>, %y: tensor<5x6xf32>, %g: tensor<5x6xf32>) -> (tensor<2x6xf32>, tensor<2x6xf32>) {
// CHECK-NEXT: %0 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<2x6xf32>
// CHECK-NEXT: %2 = mir.dequantize_weights %w scales(%1, %z) scheme <int8_block_asym 4> shape [5, 6] : (tensor<5x6xi8>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<5x6xf32>
// CHECK-NEXT: %3 = mir.mul %g, %2 : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>
// CHECK-NEXT: %4 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %5 = mir.expand %4 : tensor<f32> to tensor<3x6xf32>
// CHECK-NEXT: %6 = mir.concat %3, %5 axis 0 : (tensor<5x6xf32>, tensor<3x6xf32>) -> tensor<8x6xf32>
// CHECK-NEXT: %7 = mir.reshape %6 : tensor<8x6xf32> to tensor<2x4x6xf32>
// CHECK-NEXT: %d = mir.reduce_sum %7 axes [1] : (tensor<2x4x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT: %8 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %9 = mir.expand %8 : tensor<f32> to tensor<3x6xf32>
// CHECK-NEXT: %10 = mir.concat %g, %9 axis 0 : (tensor<5x6xf32>, tensor<3x6xf32>) -> tensor<8x6xf32>
// CHECK-NEXT: %11 = mir.reshape %10 : tensor<8x6xf32> to tensor<2x4x6xf32>
// CHECK-NEXT: %12 = mir.reduce_sum %11 axes [1] : (tensor<2x4x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT: %13 = mir.mul %s, %12 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT: %d_1 = mir.neg %13 : tensor<2x6xf32>
// CHECK-NEXT: func.return %d, %d_1 : tensor<2x6xf32>, tensor<2x6xf32>
// CHECK-NEXT: }
func.func @dequantize_weights(%w: tensor<5x6xi8>, %s: tensor<2x6xf32>, %z: tensor<2x6xf32>, %y: tensor<5x6xf32>, %g: tensor<5x6xf32>) -> (tensor<2x6xf32>, tensor<2x6xf32>) {
  %d:2 = mir.vjp primals(%w, %s, %z : tensor<5x6xi8>, tensor<2x6xf32>, tensor<2x6xf32>) outputs(%y : tensor<5x6xf32>) cotangents(%g : tensor<5x6xf32>) of [0] wrt [1, 2] -> tensor<2x6xf32>, tensor<2x6xf32> {
  ^bb0(%a: tensor<5x6xi8>, %b: tensor<2x6xf32>, %c: tensor<2x6xf32>):
    %0 = mir.dequantize_weights %a scales(%b, %c) scheme <int8_block_asym 4> shape [5, 6] : (tensor<5x6xi8>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<5x6xf32>
    mir.yield %0 : tensor<5x6xf32>
  }
  func.return %d#0, %d#1 : tensor<2x6xf32>, tensor<2x6xf32>
}

// -----

// CHECK-LABEL: func.func @dequant_matmul(%x: tensor<3x32xf32>, %w: tensor<36xui8>, %y: tensor<3x2xf32>, %g: tensor<3x2xf32>) -> tensor<3x32xf32> {
// CHECK-NEXT: %d = mir.dequant_matmul_backward_input %g, %w scheme <gguf_q4_0> k 32 : (tensor<3x2xf32>, tensor<36xui8>) -> tensor<3x32xf32>
// CHECK-NEXT: func.return %d : tensor<3x32xf32>
// CHECK-NEXT: }
func.func @dequant_matmul(%x: tensor<3x32xf32>, %w: tensor<36xui8>, %y: tensor<3x2xf32>, %g: tensor<3x2xf32>) -> tensor<3x32xf32> {
  %d = mir.vjp primals(%x, %w : tensor<3x32xf32>, tensor<36xui8>) outputs(%y : tensor<3x2xf32>) cotangents(%g : tensor<3x2xf32>) of [0] wrt [0] -> tensor<3x32xf32> {
  ^bb0(%a: tensor<3x32xf32>, %b: tensor<36xui8>):
    %0 = mir.dequant_matmul %a, %b scheme <gguf_q4_0> : (tensor<3x32xf32>, tensor<36xui8>) -> tensor<3x2xf32>
    mir.yield %0 : tensor<3x2xf32>
  }
  func.return %d : tensor<3x32xf32>
}

// -----

// CHECK-LABEL: func.func @dequant_matmul_backward_input(%dy: tensor<3x6xf32>, %w: tensor<8x6xui8>, %s: tensor<6xf32>, %y: tensor<3x8xf32>, %g: tensor<3x8xf32>) -> (tensor<3x6xf32>, tensor<6xf32>) {
// CHECK-NEXT: %d = mir.dequant_matmul %g, %w scales(%s) scheme <fp8_e5m2> : (tensor<3x8xf32>, tensor<8x6xui8>, tensor<6xf32>) -> tensor<3x6xf32>
// CHECK-NEXT: %0 = mir.transpose %g perm [1, 0] : (tensor<3x8xf32>) -> tensor<8x3xf32>
// CHECK-NEXT: %1 = mir.matmul %0, %dy : (tensor<8x3xf32>, tensor<3x6xf32>) -> tensor<8x6xf32>
// CHECK-NEXT: %2 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = mir.expand %2 : tensor<f32> to tensor<6xf32>
// CHECK-NEXT: %4 = mir.dequantize_weights %w scales(%3) scheme <fp8_e5m2> shape [8, 6] : (tensor<8x6xui8>, tensor<6xf32>) -> tensor<8x6xf32>
// CHECK-NEXT: %5 = mir.mul %1, %4 : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
// CHECK-NEXT: %d_1 = mir.reduce_sum %5 axes [0] : (tensor<8x6xf32>) -> tensor<6xf32>
// CHECK-NEXT: func.return %d, %d_1 : tensor<3x6xf32>, tensor<6xf32>
// CHECK-NEXT: }
func.func @dequant_matmul_backward_input(%dy: tensor<3x6xf32>, %w: tensor<8x6xui8>, %s: tensor<6xf32>, %y: tensor<3x8xf32>, %g: tensor<3x8xf32>) -> (tensor<3x6xf32>, tensor<6xf32>) {
  %d:2 = mir.vjp primals(%dy, %w, %s : tensor<3x6xf32>, tensor<8x6xui8>, tensor<6xf32>) outputs(%y : tensor<3x8xf32>) cotangents(%g : tensor<3x8xf32>) of [0] wrt [0, 2] -> tensor<3x6xf32>, tensor<6xf32> {
  ^bb0(%a: tensor<3x6xf32>, %b: tensor<8x6xui8>, %c: tensor<6xf32>):
    %0 = mir.dequant_matmul_backward_input %a, %b scales(%c) scheme <fp8_e5m2> k 8 : (tensor<3x6xf32>, tensor<8x6xui8>, tensor<6xf32>) -> tensor<3x8xf32>
    mir.yield %0 : tensor<3x8xf32>
  }
  func.return %d#0, %d#1 : tensor<3x6xf32>, tensor<6xf32>
}
