// RUN: DIAGNOSTICS

// CHECK: an input of 3 channels in 1 groups does not fit a weight for 2 channels a group
%0, %1, %2 = "test.op"() : () -> (tensor<2x3x7xf32>, tensor<2x2x3xf32>, tensor<2xf32>)
%3 = hir.conv_block %0, %1 : tensor<2x3x7xf32>, tensor<2x2x3xf32> b %2 : tensor<2xf32> stride [2] padding [1] dilation [2] groups 1 eps 1.000000e-05 activation relu -> tensor<2x2x3xf32>

// -----

// CHECK: expected b of shape [2], got [3]
%0, %1, %2 = "test.op"() : () -> (tensor<2x3x7xf32>, tensor<2x3x3xf32>, tensor<3xf32>)
%3 = hir.conv_block %0, %1 : tensor<2x3x7xf32>, tensor<2x3x3xf32> b %2 : tensor<3xf32> stride [2] padding [1] dilation [2] groups 1 eps 1.000000e-05 activation relu -> tensor<2x2x3xf32>

// -----

// CHECK: expected gamma of norm of shape [6], got [4]
%0, %1, %2, %3, %4, %5 = "test.op"() : () -> (tensor<1x4x3x5xf32>, tensor<6x2x3x3xf32>, tensor<4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
%6 = hir.conv_block %0, %1 : tensor<1x4x3x5xf32>, tensor<6x2x3x3xf32> norm(%2, %3, %4, %5 : tensor<4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) stride [1, 1] padding [1, 1] dilation [1, 1] groups 2 eps 1.000000e-02 activation silu -> tensor<1x6x3x5xf32>

// -----

// CHECK: expected norm to be gamma, beta, mean and var of a batch norm, gamma and beta of a group norm, or nothing, got 3 tensors
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<1x4x3x5xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
%5 = hir.conv_block %0, %1 : tensor<1x4x3x5xf32>, tensor<6x2x3x3xf32> norm(%2, %3, %4 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) stride [1, 1] padding [1, 1] dilation [1, 1] groups 2 eps 1.000000e-02 activation silu -> tensor<1x6x3x5xf32>

// -----

// CHECK: a norm of gamma and beta is a group norm, which needs num_groups
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<2x1x4x3xf32>, tensor<4x1x2x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
%5 = hir.conv_block %0, %1 : tensor<2x1x4x3xf32>, tensor<4x1x2x2xf32> b %2 : tensor<4xf32> norm(%3, %4 : tensor<4xf32>, tensor<4xf32>) stride [1, 1] padding [0, 0] dilation [1, 1] groups 1 eps 1.000000e-05 activation gelu -> tensor<2x4x3x2xf32>

// -----

// CHECK: num_groups requires a group norm of gamma and beta, got 4 tensors as norm
%0, %1, %2, %3, %4, %5 = "test.op"() : () -> (tensor<1x4x3x5xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
%6 = hir.conv_block %0, %1 : tensor<1x4x3x5xf32>, tensor<6x2x3x3xf32> norm(%2, %3, %4, %5 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) stride [1, 1] padding [1, 1] dilation [1, 1] groups 2 num_groups 2 eps 1.000000e-02 activation silu -> tensor<1x6x3x5xf32>

// -----

// CHECK: 4 channels do not form 3 equal groups
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<2x1x4x3xf32>, tensor<4x1x2x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
%5 = hir.conv_block %0, %1 : tensor<2x1x4x3xf32>, tensor<4x1x2x2xf32> b %2 : tensor<4xf32> norm(%3, %4 : tensor<4xf32>, tensor<4xf32>) stride [1, 1] padding [0, 0] dilation [1, 1] groups 1 num_groups 3 eps 1.000000e-05 activation gelu -> tensor<2x4x3x2xf32>

// -----

// CHECK: expected [N, C, W] with [O, C, kW] or [N, C, H, W] with [O, C, kH, kW], got [2, 3] with [2, 3, 3]
%0, %1, %2 = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2xf32>)
%3 = hir.conv_block %0, %1 : tensor<2x3xf32>, tensor<2x3x3xf32> b %2 : tensor<2xf32> stride [2] padding [1] dilation [2] groups 1 eps 1.000000e-05 activation relu -> tensor<2x2x3xf32>

// -----

// CHECK: expected w1 of odd extents, got [2, 2]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 = "test.op"() : () -> (tensor<2x3x4x5xf32>, tensor<3x3x2x2xf32>, tensor<3x3x1x1xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
%11 = hir.residual_conv_block %0, %1, %2 : tensor<2x3x4x5xf32>, tensor<3x3x2x2xf32>, tensor<3x3x1x1xf32> norm1(%3, %4, %5, %6 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) norm2(%7, %8, %9, %10 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) stride [1, 1] eps 1.000000e-05 activation relu -> tensor<2x3x4x5xf32>

// -----

// CHECK: a block from shape [1, 2, 5] to [1, 4, 5] needs a shortcut_w
%0, %1, %2 = "test.op"() : () -> (tensor<1x2x5xf32>, tensor<4x2x3xf32>, tensor<4x4x3xf32>)
%3 = hir.residual_conv_block %0, %1, %2 : tensor<1x2x5xf32>, tensor<4x2x3xf32>, tensor<4x4x3xf32> stride [1] eps 1.000000e-05 activation tanh -> tensor<1x2x5xf32>

// -----

// CHECK: expected shortcut_w of shape [4, 2, 1, 1], got [3, 2, 1, 1]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9 = "test.op"() : () -> (tensor<1x2x5x4xf32>, tensor<4x2x3x3xf32>, tensor<4x4x3x3xf32>, tensor<3x2x1x1xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
%10 = hir.residual_conv_block %0, %1, %2 : tensor<1x2x5x4xf32>, tensor<4x2x3x3xf32>, tensor<4x4x3x3xf32> shortcut_w %3 : tensor<3x2x1x1xf32> norm1(%4, %5 : tensor<4xf32>, tensor<4xf32>) norm2(%6, %7 : tensor<4xf32>, tensor<4xf32>) shortcut_norm(%8, %9 : tensor<4xf32>, tensor<4xf32>) stride [2, 2] num_groups 2 eps 5.000000e-02 activation silu -> tensor<1x4x3x2xf32>

// -----

// CHECK: a shortcut_norm of 2 tensors needs a shortcut_w
%0, %1, %2, %3, %4, %5, %6, %7, %8 = "test.op"() : () -> (tensor<1x2x5x4xf32>, tensor<4x2x3x3xf32>, tensor<4x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
%9 = hir.residual_conv_block %0, %1, %2 : tensor<1x2x5x4xf32>, tensor<4x2x3x3xf32>, tensor<4x4x3x3xf32> norm1(%3, %4 : tensor<4xf32>, tensor<4xf32>) norm2(%5, %6 : tensor<4xf32>, tensor<4xf32>) shortcut_norm(%7, %8 : tensor<4xf32>, tensor<4xf32>) stride [2, 2] num_groups 2 eps 5.000000e-02 activation silu -> tensor<1x4x3x2xf32>

// -----

// CHECK: expected gamma of norm2 of shape [4], got [3]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9 = "test.op"() : () -> (tensor<1x2x5x4xf32>, tensor<4x2x3x3xf32>, tensor<4x4x3x3xf32>, tensor<4x2x1x1xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
%10 = hir.residual_conv_block %0, %1, %2 : tensor<1x2x5x4xf32>, tensor<4x2x3x3xf32>, tensor<4x4x3x3xf32> shortcut_w %3 : tensor<4x2x1x1xf32> norm1(%4, %5 : tensor<4xf32>, tensor<4xf32>) norm2(%6, %7 : tensor<3xf32>, tensor<4xf32>) shortcut_norm(%8, %9 : tensor<4xf32>, tensor<4xf32>) stride [2, 2] num_groups 2 eps 5.000000e-02 activation silu -> tensor<1x4x3x2xf32>

// -----

// CHECK: expected x of shape [B, S, C], got [2, 3]
%0, %1, %2 = "test.op"() : () -> (tensor<2x3xf32>, tensor<3x1x1x4xf32>, tensor<2x3x3xf32>)
%3 = hir.depthwise_conv1d_causal %0, %1, %2 : (tensor<2x3xf32>, tensor<3x1x1x4xf32>, tensor<2x3x3xf32>) -> tensor<2x2x3xf32>

// -----

// CHECK: expected w of shape [C, 1, 1, K], got [3, 1, 4]
%0, %1, %2 = "test.op"() : () -> (tensor<2x2x3xf32>, tensor<3x1x4xf32>, tensor<2x3x3xf32>)
%3 = hir.depthwise_conv1d_causal %0, %1, %2 : (tensor<2x2x3xf32>, tensor<3x1x4xf32>, tensor<2x3x3xf32>) -> tensor<2x2x3xf32>

// -----

// CHECK: expected w of shape [3, 1, 1, 4], got [4, 1, 1, 4]
%0, %1, %2 = "test.op"() : () -> (tensor<2x2x3xf32>, tensor<4x1x1x4xf32>, tensor<2x3x3xf32>)
%3 = hir.depthwise_conv1d_causal %0, %1, %2 : (tensor<2x2x3xf32>, tensor<4x1x1x4xf32>, tensor<2x3x3xf32>) -> tensor<2x2x3xf32>

// -----

// CHECK: expected left_pad of shape [2, 3, 3], got [2, 4, 3]
%0, %1, %2 = "test.op"() : () -> (tensor<2x2x3xf32>, tensor<3x1x1x4xf32>, tensor<2x4x3xf32>)
%3 = hir.depthwise_conv1d_causal %0, %1, %2 : (tensor<2x2x3xf32>, tensor<3x1x1x4xf32>, tensor<2x4x3xf32>) -> tensor<2x2x3xf32>

// -----

// CHECK: expected at least one time, channel and tap, got 0, 3 and 4
%0, %1 = "test.op"() : () -> (tensor<2x0x3xf32>, tensor<3x1x1x4xf32>)
%2 = hir.depthwise_conv1d_causal %0, %1 : (tensor<2x0x3xf32>, tensor<3x1x1x4xf32>) -> tensor<2x5x3xf32>
