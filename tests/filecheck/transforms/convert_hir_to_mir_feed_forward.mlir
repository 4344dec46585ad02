// RUN: xdsl-opt %s -p convert-hir-to-mir | filecheck %s --check-prefixes=CHECK,DIRECT
// RUN: xdsl-opt %s -p 'convert-hir-to-mir{fusion-policy=fusable}' | filecheck %s --check-prefixes=CHECK,FUSABLE

// The composite op takes both products in one tensor.

// CHECK-LABEL: func.func @swiglu(%x: tensor<2x3x5xf32>, %up_w: tensor<5x7xf32>, %gate_w: tensor<5x7xf32>, %down_w: tensor<7x4xf32>) -> tensor<2x3x4xf32> {
// CHECK-NEXT: %0 = mir.matmul %x, %up_w : (tensor<2x3x5xf32>, tensor<5x7xf32>) -> tensor<2x3x7xf32>
// CHECK-NEXT: %1 = mir.matmul %x, %gate_w : (tensor<2x3x5xf32>, tensor<5x7xf32>) -> tensor<2x3x7xf32>
// DIRECT-NEXT: %2 = mir.concat %0, %1 axis -1 : (tensor<2x3x7xf32>, tensor<2x3x7xf32>) -> tensor<2x3x14xf32>
// DIRECT-NEXT: %3 = mir.fused_swiglu %2 : tensor<2x3x14xf32> to tensor<2x3x7xf32>
// DIRECT-NEXT: %4 = mir.matmul %3, %down_w : (tensor<2x3x7xf32>, tensor<7x4xf32>) -> tensor<2x3x4xf32>
// DIRECT-NEXT: func.return %4 : tensor<2x3x4xf32>
// DIRECT-NEXT: }
// FUSABLE-NEXT: %2 = mir.silu %1 : tensor<2x3x7xf32>
// FUSABLE-NEXT: %3 = mir.mul %2, %0 : (tensor<2x3x7xf32>, tensor<2x3x7xf32>) -> tensor<2x3x7xf32>
// FUSABLE-NEXT: %4 = mir.matmul %3, %down_w : (tensor<2x3x7xf32>, tensor<7x4xf32>) -> tensor<2x3x4xf32>
// FUSABLE-NEXT: func.return %4 : tensor<2x3x4xf32>
// FUSABLE-NEXT: }
func.func @swiglu(%x: tensor<2x3x5xf32>, %up_w: tensor<5x7xf32>, %gate_w: tensor<5x7xf32>, %down_w: tensor<7x4xf32>) -> tensor<2x3x4xf32> {
  %0 = hir.swiglu %x, %up_w, %gate_w, %down_w : (tensor<2x3x5xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @mlp_two(%x: tensor<2x3x5xf32>, %w0: tensor<5x7xf32>, %w1: tensor<7x2xf32>, %b0: tensor<7xf32>, %b1: tensor<2xf32>) -> tensor<2x3x2xf32> {
// DIRECT-NEXT: %0 = mir.fused_matmul_bias_act %x, %w0, %b0 activation gelu : (tensor<2x3x5xf32>, tensor<5x7xf32>, tensor<7xf32>) -> tensor<2x3x7xf32>
// DIRECT-NEXT: %1 = mir.fused_matmul_bias_act %0, %w1, %b1 : (tensor<2x3x7xf32>, tensor<7x2xf32>, tensor<2xf32>) -> tensor<2x3x2xf32>
// DIRECT-NEXT: func.return %1 : tensor<2x3x2xf32>
// DIRECT-NEXT: }
// FUSABLE-NEXT: %0 = mir.matmul %x, %w0 : (tensor<2x3x5xf32>, tensor<5x7xf32>) -> tensor<2x3x7xf32>
// FUSABLE-NEXT: %1 = mir.add %0, %b0 : (tensor<2x3x7xf32>, tensor<7xf32>) -> tensor<2x3x7xf32>
// FUSABLE-NEXT: %2 = mir.gelu %1 : tensor<2x3x7xf32>
// FUSABLE-NEXT: %3 = mir.matmul %2, %w1 : (tensor<2x3x7xf32>, tensor<7x2xf32>) -> tensor<2x3x2xf32>
// FUSABLE-NEXT: %4 = mir.add %3, %b1 : (tensor<2x3x2xf32>, tensor<2xf32>) -> tensor<2x3x2xf32>
// FUSABLE-NEXT: func.return %4 : tensor<2x3x2xf32>
// FUSABLE-NEXT: }
func.func @mlp_two(%x: tensor<2x3x5xf32>, %w0: tensor<5x7xf32>, %w1: tensor<7x2xf32>, %b0: tensor<7xf32>, %b1: tensor<2xf32>) -> tensor<2x3x2xf32> {
  %0 = hir.mlp %x : tensor<2x3x5xf32> weights(%w0, %w1 : tensor<5x7xf32>, tensor<7x2xf32>) biases(%b0, %b1 : tensor<7xf32>, tensor<2xf32>) activation gelu -> tensor<2x3x2xf32>
  func.return %0 : tensor<2x3x2xf32>
}
