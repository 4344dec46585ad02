// RUN: xdsl-opt %s -p convert-hir-to-mir | filecheck %s --check-prefixes=CHECK,DIRECT
// RUN: xdsl-opt %s -p 'convert-hir-to-mir{fusion-policy=fusable}' | filecheck %s --check-prefixes=CHECK,FUSABLE

// A norm of given statistics is one op, and so is a convolution of each channel.

// CHECK-LABEL: func.func @conv_block(%x: tensor<2x3x5x4xf32>, %w: tensor<4x3x2x3xf32>) -> tensor<2x4x4x2xf32> {
// CHECK-NEXT: %0 = mir.conv %x, %w stride [1, 1] padding [0, 0] dilation [1, 1] groups 1 : (tensor<2x3x5x4xf32>, tensor<4x3x2x3xf32>) -> tensor<2x4x4x2xf32>
// CHECK-NEXT: func.return %0 : tensor<2x4x4x2xf32>
// CHECK-NEXT: }
func.func @conv_block(%x: tensor<2x3x5x4xf32>, %w: tensor<4x3x2x3xf32>) -> tensor<2x4x4x2xf32> {
  %0 = hir.conv_block %x, %w : tensor<2x3x5x4xf32>, tensor<4x3x2x3xf32> stride [1, 1] padding [0, 0] dilation [1, 1] groups 1 eps 1.000000e-05 -> tensor<2x4x4x2xf32>
  func.return %0 : tensor<2x4x4x2xf32>
}

// CHECK-LABEL: func.func @residual_conv_block(%x: tensor<2x3x4x5xf32>, %w1: tensor<3x3x3x3xf32>, %w2: tensor<3x3x1x1xf32>, %gamma1: tensor<3xf32>, %beta1: tensor<3xf32>, %mean1: tensor<3xf32>, %var1: tensor<3xf32>, %gamma2: tensor<3xf32>, %beta2: tensor<3xf32>, %mean2: tensor<3xf32>, %var2: tensor<3xf32>) -> tensor<2x3x4x5xf32> {
// CHECK-NEXT: %0 = mir.conv %x, %w1 stride [1, 1] padding [1, 1] dilation [1, 1] groups 1 : (tensor<2x3x4x5xf32>, tensor<3x3x3x3xf32>) -> tensor<2x3x4x5xf32>
// CHECK-NEXT: %1 = mir.batch_norm_inference %0, %gamma1, %beta1, %mean1, %var1 axis 1 eps 1.000000e-05 : (tensor<2x3x4x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4x5xf32>
// CHECK-NEXT: %2 = mir.relu %1 : tensor<2x3x4x5xf32>
// CHECK-NEXT: %3 = mir.conv %2, %w2 stride [1, 1] padding [0, 0] dilation [1, 1] groups 1 : (tensor<2x3x4x5xf32>, tensor<3x3x1x1xf32>) -> tensor<2x3x4x5xf32>
// CHECK-NEXT: %4 = mir.batch_norm_inference %3, %gamma2, %beta2, %mean2, %var2 axis 1 eps 1.000000e-05 : (tensor<2x3x4x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4x5xf32>
// CHECK-NEXT: %5 = mir.add %4, %x : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
// CHECK-NEXT: %6 = mir.relu %5 : tensor<2x3x4x5xf32>
// CHECK-NEXT: func.return %6 : tensor<2x3x4x5xf32>
// CHECK-NEXT: }
func.func @residual_conv_block(%x: tensor<2x3x4x5xf32>, %w1: tensor<3x3x3x3xf32>, %w2: tensor<3x3x1x1xf32>, %gamma1: tensor<3xf32>, %beta1: tensor<3xf32>, %mean1: tensor<3xf32>, %var1: tensor<3xf32>, %gamma2: tensor<3xf32>, %beta2: tensor<3xf32>, %mean2: tensor<3xf32>, %var2: tensor<3xf32>) -> tensor<2x3x4x5xf32> {
  %0 = hir.residual_conv_block %x, %w1, %w2 : tensor<2x3x4x5xf32>, tensor<3x3x3x3xf32>, tensor<3x3x1x1xf32> norm1(%gamma1, %beta1, %mean1, %var1 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) norm2(%gamma2, %beta2, %mean2, %var2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) stride [1, 1] eps 1.000000e-05 activation relu -> tensor<2x3x4x5xf32>
  func.return %0 : tensor<2x3x4x5xf32>
}

// CHECK-LABEL: func.func @depthwise_conv1d_causal(%x: tensor<2x5x3xf32>, %w: tensor<3x1x1x4xf32>) -> tensor<2x5x3xf32> {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<2x3x3xf32>
// CHECK-NEXT: %2 = mir.concat %1, %x axis 1 : (tensor<2x3x3xf32>, tensor<2x5x3xf32>) -> tensor<2x8x3xf32>
// CHECK-NEXT: %3 = mir.reshape %w : tensor<3x1x1x4xf32> to tensor<3x1x4xf32>
// CHECK-NEXT: %4 = mir.transpose %2 perm [0, 2, 1] : (tensor<2x8x3xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT: %5 = mir.conv %4, %3 stride [1] padding [0] dilation [1] groups 3 : (tensor<2x3x8xf32>, tensor<3x1x4xf32>) -> tensor<2x3x5xf32>
// CHECK-NEXT: %6 = mir.transpose %5 perm [0, 2, 1] : (tensor<2x3x5xf32>) -> tensor<2x5x3xf32>
// CHECK-NEXT: func.return %6 : tensor<2x5x3xf32>
// CHECK-NEXT: }
func.func @depthwise_conv1d_causal(%x: tensor<2x5x3xf32>, %w: tensor<3x1x1x4xf32>) -> tensor<2x5x3xf32> {
  %0 = hir.depthwise_conv1d_causal %x, %w : (tensor<2x5x3xf32>, tensor<3x1x1x4xf32>) -> tensor<2x5x3xf32>
  func.return %0 : tensor<2x5x3xf32>
}
