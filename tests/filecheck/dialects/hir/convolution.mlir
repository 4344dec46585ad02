// RUN: ROUNDTRIP
// RUN: GENERIC

// Norms are lists: four vectors of a batch norm, two of a group norm.

// CHECK-LABEL: func.func @conv_block(%x: tensor<2x3x5x4xf32>, %w: tensor<4x3x2x3xf32>) -> tensor<2x4x4x2xf32> {
// CHECK-NEXT: %0 = hir.conv_block %x, %w : tensor<2x3x5x4xf32>, tensor<4x3x2x3xf32> stride [1, 1] padding [0, 0] dilation [1, 1] groups 1 eps 1.000000e-05 -> tensor<2x4x4x2xf32>
// CHECK-NEXT: func.return %0 : tensor<2x4x4x2xf32>
// CHECK-NEXT: }
func.func @conv_block(%x: tensor<2x3x5x4xf32>, %w: tensor<4x3x2x3xf32>) -> tensor<2x4x4x2xf32> {
  %0 = hir.conv_block %x, %w : tensor<2x3x5x4xf32>, tensor<4x3x2x3xf32> stride [1, 1] padding [0, 0] dilation [1, 1] groups 1 eps 1.000000e-05 -> tensor<2x4x4x2xf32>
  func.return %0 : tensor<2x4x4x2xf32>
}

// GENERIC: "hir.conv_block"(%{{.*}}) <{stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64, eps = 1.000000e-05 : f64, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tensor<2x3x5x4xf32>, tensor<4x3x2x3xf32>) -> tensor<2x4x4x2xf32>

// CHECK-LABEL: func.func @conv_block_bias(%x: tensor<2x3x7xf32>, %w: tensor<2x3x3xf32>, %b: tensor<2xf32>) -> tensor<2x2x3xf32> {
// CHECK-NEXT: %0 = hir.conv_block %x, %w : tensor<2x3x7xf32>, tensor<2x3x3xf32> b %b : tensor<2xf32> stride [2] padding [1] dilation [2] groups 1 eps 1.000000e-05 activation relu -> tensor<2x2x3xf32>
// CHECK-NEXT: func.return %0 : tensor<2x2x3xf32>
// CHECK-NEXT: }
func.func @conv_block_bias(%x: tensor<2x3x7xf32>, %w: tensor<2x3x3xf32>, %b: tensor<2xf32>) -> tensor<2x2x3xf32> {
  %0 = hir.conv_block %x, %w : tensor<2x3x7xf32>, tensor<2x3x3xf32> b %b : tensor<2xf32> stride [2] padding [1] dilation [2] groups 1 eps 1.000000e-05 activation relu -> tensor<2x2x3xf32>
  func.return %0 : tensor<2x2x3xf32>
}

// CHECK-LABEL: func.func @conv_block_batch(%x: tensor<1x4x3x5xf32>, %w: tensor<6x2x3x3xf32>, %gamma: tensor<6xf32>, %beta: tensor<6xf32>, %mean: tensor<6xf32>, %var: tensor<6xf32>) -> tensor<1x6x3x5xf32> {
// CHECK-NEXT: %0 = hir.conv_block %x, %w : tensor<1x4x3x5xf32>, tensor<6x2x3x3xf32> norm(%gamma, %beta, %mean, %var : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) stride [1, 1] padding [1, 1] dilation [1, 1] groups 2 eps 1.000000e-02 activation silu -> tensor<1x6x3x5xf32>
// CHECK-NEXT: func.return %0 : tensor<1x6x3x5xf32>
// CHECK-NEXT: }
func.func @conv_block_batch(%x: tensor<1x4x3x5xf32>, %w: tensor<6x2x3x3xf32>, %gamma: tensor<6xf32>, %beta: tensor<6xf32>, %mean: tensor<6xf32>, %var: tensor<6xf32>) -> tensor<1x6x3x5xf32> {
  %0 = hir.conv_block %x, %w : tensor<1x4x3x5xf32>, tensor<6x2x3x3xf32> norm(%gamma, %beta, %mean, %var : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) stride [1, 1] padding [1, 1] dilation [1, 1] groups 2 eps 1.000000e-02 activation silu -> tensor<1x6x3x5xf32>
  func.return %0 : tensor<1x6x3x5xf32>
}

// CHECK-LABEL: func.func @conv_block_group(%x: tensor<2x1x4x3xf32>, %w: tensor<4x1x2x2xf32>, %b: tensor<4xf32>, %gamma: tensor<4xf32>, %beta: tensor<4xf32>) -> tensor<2x4x3x2xf32> {
// CHECK-NEXT: %0 = hir.conv_block %x, %w : tensor<2x1x4x3xf32>, tensor<4x1x2x2xf32> b %b : tensor<4xf32> norm(%gamma, %beta : tensor<4xf32>, tensor<4xf32>) stride [1, 1] padding [0, 0] dilation [1, 1] groups 1 num_groups 2 eps 1.000000e-05 activation gelu -> tensor<2x4x3x2xf32>
// CHECK-NEXT: func.return %0 : tensor<2x4x3x2xf32>
// CHECK-NEXT: }
func.func @conv_block_group(%x: tensor<2x1x4x3xf32>, %w: tensor<4x1x2x2xf32>, %b: tensor<4xf32>, %gamma: tensor<4xf32>, %beta: tensor<4xf32>) -> tensor<2x4x3x2xf32> {
  %0 = hir.conv_block %x, %w : tensor<2x1x4x3xf32>, tensor<4x1x2x2xf32> b %b : tensor<4xf32> norm(%gamma, %beta : tensor<4xf32>, tensor<4xf32>) stride [1, 1] padding [0, 0] dilation [1, 1] groups 1 num_groups 2 eps 1.000000e-05 activation gelu -> tensor<2x4x3x2xf32>
  func.return %0 : tensor<2x4x3x2xf32>
}

// CHECK-LABEL: func.func @residual_conv_block(%x: tensor<2x3x4x5xf32>, %w1: tensor<3x3x3x3xf32>, %w2: tensor<3x3x1x1xf32>, %gamma1: tensor<3xf32>, %beta1: tensor<3xf32>, %mean1: tensor<3xf32>, %var1: tensor<3xf32>, %gamma2: tensor<3xf32>, %beta2: tensor<3xf32>, %mean2: tensor<3xf32>, %var2: tensor<3xf32>) -> tensor<2x3x4x5xf32> {
// CHECK-NEXT: %0 = hir.residual_conv_block %x, %w1, %w2 : tensor<2x3x4x5xf32>, tensor<3x3x3x3xf32>, tensor<3x3x1x1xf32> norm1(%gamma1, %beta1, %mean1, %var1 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) norm2(%gamma2, %beta2, %mean2, %var2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) stride [1, 1] eps 1.000000e-05 activation relu -> tensor<2x3x4x5xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x4x5xf32>
// CHECK-NEXT: }
func.func @residual_conv_block(%x: tensor<2x3x4x5xf32>, %w1: tensor<3x3x3x3xf32>, %w2: tensor<3x3x1x1xf32>, %gamma1: tensor<3xf32>, %beta1: tensor<3xf32>, %mean1: tensor<3xf32>, %var1: tensor<3xf32>, %gamma2: tensor<3xf32>, %beta2: tensor<3xf32>, %mean2: tensor<3xf32>, %var2: tensor<3xf32>) -> tensor<2x3x4x5xf32> {
  %0 = hir.residual_conv_block %x, %w1, %w2 : tensor<2x3x4x5xf32>, tensor<3x3x3x3xf32>, tensor<3x3x1x1xf32> norm1(%gamma1, %beta1, %mean1, %var1 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) norm2(%gamma2, %beta2, %mean2, %var2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) stride [1, 1] eps 1.000000e-05 activation relu -> tensor<2x3x4x5xf32>
  func.return %0 : tensor<2x3x4x5xf32>
}

// GENERIC: "hir.residual_conv_block"(%{{.*}}) <{stride = array<i64: 1, 1>, eps = 1.000000e-05 : f64, activation = #mir<activation relu>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 4, 4, 0>}> : (tensor<2x3x4x5xf32>, tensor<3x3x3x3xf32>, tensor<3x3x1x1xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4x5xf32>

// CHECK-LABEL: func.func @residual_conv_block_bare(%x: tensor<1x2x5xf32>, %w1: tensor<4x2x3xf32>, %w2: tensor<2x4x3xf32>) -> tensor<1x2x5xf32> {
// CHECK-NEXT: %0 = hir.residual_conv_block %x, %w1, %w2 : tensor<1x2x5xf32>, tensor<4x2x3xf32>, tensor<2x4x3xf32> stride [1] eps 1.000000e-05 activation tanh -> tensor<1x2x5xf32>
// CHECK-NEXT: func.return %0 : tensor<1x2x5xf32>
// CHECK-NEXT: }
func.func @residual_conv_block_bare(%x: tensor<1x2x5xf32>, %w1: tensor<4x2x3xf32>, %w2: tensor<2x4x3xf32>) -> tensor<1x2x5xf32> {
  %0 = hir.residual_conv_block %x, %w1, %w2 : tensor<1x2x5xf32>, tensor<4x2x3xf32>, tensor<2x4x3xf32> stride [1] eps 1.000000e-05 activation tanh -> tensor<1x2x5xf32>
  func.return %0 : tensor<1x2x5xf32>
}

// CHECK-LABEL: func.func @residual_conv_block_shortcut(%x: tensor<1x2x5x4xf32>, %w1: tensor<4x2x3x3xf32>, %w2: tensor<4x4x3x3xf32>, %shortcut_w: tensor<4x2x1x1xf32>, %gamma1: tensor<4xf32>, %beta1: tensor<4xf32>, %gamma2: tensor<4xf32>, %beta2: tensor<4xf32>, %gamma3: tensor<4xf32>, %beta3: tensor<4xf32>) -> tensor<1x4x3x2xf32> {
// CHECK-NEXT: %0 = hir.residual_conv_block %x, %w1, %w2 : tensor<1x2x5x4xf32>, tensor<4x2x3x3xf32>, tensor<4x4x3x3xf32> shortcut_w %shortcut_w : tensor<4x2x1x1xf32> norm1(%gamma1, %beta1 : tensor<4xf32>, tensor<4xf32>) norm2(%gamma2, %beta2 : tensor<4xf32>, tensor<4xf32>) shortcut_norm(%gamma3, %beta3 : tensor<4xf32>, tensor<4xf32>) stride [2, 2] num_groups 2 eps 5.000000e-02 activation silu -> tensor<1x4x3x2xf32>
// CHECK-NEXT: func.return %0 : tensor<1x4x3x2xf32>
// CHECK-NEXT: }
func.func @residual_conv_block_shortcut(%x: tensor<1x2x5x4xf32>, %w1: tensor<4x2x3x3xf32>, %w2: tensor<4x4x3x3xf32>, %shortcut_w: tensor<4x2x1x1xf32>, %gamma1: tensor<4xf32>, %beta1: tensor<4xf32>, %gamma2: tensor<4xf32>, %beta2: tensor<4xf32>, %gamma3: tensor<4xf32>, %beta3: tensor<4xf32>) -> tensor<1x4x3x2xf32> {
  %0 = hir.residual_conv_block %x, %w1, %w2 : tensor<1x2x5x4xf32>, tensor<4x2x3x3xf32>, tensor<4x4x3x3xf32> shortcut_w %shortcut_w : tensor<4x2x1x1xf32> norm1(%gamma1, %beta1 : tensor<4xf32>, tensor<4xf32>) norm2(%gamma2, %beta2 : tensor<4xf32>, tensor<4xf32>) shortcut_norm(%gamma3, %beta3 : tensor<4xf32>, tensor<4xf32>) stride [2, 2] num_groups 2 eps 5.000000e-02 activation silu -> tensor<1x4x3x2xf32>
  func.return %0 : tensor<1x4x3x2xf32>
}

// CHECK-LABEL: func.func @depthwise_conv1d_causal(%x: tensor<2x5x3xf32>, %w: tensor<3x1x1x4xf32>) -> tensor<2x5x3xf32> {
// CHECK-NEXT: %0 = hir.depthwise_conv1d_causal %x, %w : (tensor<2x5x3xf32>, tensor<3x1x1x4xf32>) -> tensor<2x5x3xf32>
// CHECK-NEXT: func.return %0 : tensor<2x5x3xf32>
// CHECK-NEXT: }
func.func @depthwise_conv1d_causal(%x: tensor<2x5x3xf32>, %w: tensor<3x1x1x4xf32>) -> tensor<2x5x3xf32> {
  %0 = hir.depthwise_conv1d_causal %x, %w : (tensor<2x5x3xf32>, tensor<3x1x1x4xf32>) -> tensor<2x5x3xf32>
  func.return %0 : tensor<2x5x3xf32>
}

// CHECK-LABEL: func.func @depthwise_conv1d_causal_goes_on(%x: tensor<2x2x3xf32>, %w: tensor<3x1x1x4xf32>, %left_pad: tensor<2x3x3xf32>) -> tensor<2x2x3xf32> {
// CHECK-NEXT: %0 = hir.depthwise_conv1d_causal %x, %w, %left_pad : (tensor<2x2x3xf32>, tensor<3x1x1x4xf32>, tensor<2x3x3xf32>) -> tensor<2x2x3xf32>
// CHECK-NEXT: func.return %0 : tensor<2x2x3xf32>
// CHECK-NEXT: }
func.func @depthwise_conv1d_causal_goes_on(%x: tensor<2x2x3xf32>, %w: tensor<3x1x1x4xf32>, %left_pad: tensor<2x3x3xf32>) -> tensor<2x2x3xf32> {
  %0 = hir.depthwise_conv1d_causal %x, %w, %left_pad : (tensor<2x2x3xf32>, tensor<3x1x1x4xf32>, tensor<2x3x3xf32>) -> tensor<2x2x3xf32>
  func.return %0 : tensor<2x2x3xf32>
}
