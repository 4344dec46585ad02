// RUN: DIAGNOSTICS

// CHECK: a kernel over 7 elements exceeds the extent 5 + 2*0 of the padded input
func.func @kernel_too_large(%x: tensor<1x4x5x5xf32>, %w: tensor<2x4x7x1xf32>) {
  %0 = "mir.conv"(%x, %w) <{stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}> : (tensor<1x4x5x5xf32>, tensor<2x4x7x1xf32>) -> tensor<1x2x1x5xf32>
  func.return
}

// -----

// CHECK: expected strides of at least 1, got [0, 1]
func.func @stride(%x: tensor<1x4x5x5xf32>, %w: tensor<2x4x3x3xf32>) {
  %0 = "mir.conv"(%x, %w) <{stride = array<i64: 0, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}> : (tensor<1x4x5x5xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// CHECK: expected paddings of at least 0, got [-1, 0]
func.func @padding(%x: tensor<1x4x5x5xf32>, %w: tensor<2x4x3x3xf32>) {
  %0 = "mir.conv"(%x, %w) <{stride = array<i64: 1, 1>, padding = array<i64: -1, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}> : (tensor<1x4x5x5xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// CHECK: expected 2 dilations, got [1]
func.func @dilations(%x: tensor<1x4x5x5xf32>, %w: tensor<2x4x3x3xf32>) {
  %0 = "mir.conv"(%x, %w) <{stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1>, groups = 1 : i64}> : (tensor<1x4x5x5xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// CHECK: expected an image of at least 1 element along each axis, got [0, 5]
func.func @empty_image(%x: tensor<1x4x0x5xf32>, %w: tensor<2x4x1x1xf32>) {
  %0 = "mir.conv"(%x, %w) <{stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}> : (tensor<1x4x0x5xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x0x5xf32>
  func.return
}

// -----

// CHECK: expected at least 1 group, got 0
func.func @no_groups(%x: tensor<1x4x5x5xf32>, %w: tensor<2x4x3x3xf32>) {
  %0 = "mir.conv"(%x, %w) <{stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 0 : i64}> : (tensor<1x4x5x5xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// CHECK: expected at least 1 channel
func.func @no_channels(%x: tensor<1x0x5x5xf32>, %w: tensor<2x0x3x3xf32>) {
  %0 = "mir.conv"(%x, %w) <{stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}> : (tensor<1x0x5x5xf32>, tensor<2x0x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// CHECK: 3 output channels do not divide into 2 groups
func.func @output_groups(%x: tensor<1x4x5x5xf32>, %w: tensor<3x2x3x3xf32>) {
  %0 = "mir.conv"(%x, %w) <{stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 2 : i64}> : (tensor<1x4x5x5xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x3x3xf32>
  func.return
}

// -----

// CHECK: an input of 4 channels in 2 groups does not fit a weight for 4 channels a group
func.func @input_groups(%x: tensor<1x4x5x5xf32>, %w: tensor<2x4x3x3xf32>) {
  %0 = "mir.conv"(%x, %w) <{stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 2 : i64}> : (tensor<1x4x5x5xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// CHECK: expected [N, C, W] with [O, C, kW] or [N, C, H, W] with [O, C, kH, kW], got [1, 4, 5, 5, 5] with [2, 4, 3, 3, 3]
func.func @rank(%x: tensor<1x4x5x5x5xf32>, %w: tensor<2x4x3x3x3xf32>) {
  %0 = "mir.conv"(%x, %w) <{stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}> : (tensor<1x4x5x5x5xf32>, tensor<2x4x3x3x3xf32>) -> tensor<1x2x3x3x3xf32>
  func.return
}

// -----

// CHECK: element type i32 is not supported
func.func @conv_element(%x: tensor<1x4x5x5xi32>, %w: tensor<2x4x3x3xi32>) {
  %0 = "mir.conv"(%x, %w) <{stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}> : (tensor<1x4x5x5xi32>, tensor<2x4x3x3xi32>) -> tensor<1x2x3x3xi32>
  func.return
}

// -----

// CHECK: expected result of type tensor<1x2x3x3xf32>, got tensor<1x2x4x3xf32>
func.func @conv_result(%x: tensor<1x4x5x5xf32>, %w: tensor<2x4x3x3xf32>) {
  %0 = "mir.conv"(%x, %w) <{stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}> : (tensor<1x4x5x5xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x4x3xf32>
  func.return
}

// -----

// CHECK: expected x of shape [N, C, H, W], got [4, 5, 5]
func.func @transpose_rank(%x: tensor<4x5x5xf32>, %w: tensor<4x2x3x3xf32>) {
  %0 = "mir.conv_transpose2d"(%x, %w) <{stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>}> : (tensor<4x5x5xf32>, tensor<4x2x3x3xf32>) -> tensor<1x2x7x7xf32>
  func.return
}

// -----

// CHECK: an input of 4 channels does not fit a weight for 3
func.func @transpose_channels(%x: tensor<1x4x5x5xf32>, %w: tensor<3x2x3x3xf32>) {
  %0 = "mir.conv_transpose2d"(%x, %w) <{stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>}> : (tensor<1x4x5x5xf32>, tensor<3x2x3x3xf32>) -> tensor<1x2x7x7xf32>
  func.return
}

// -----

// CHECK: expected an output_padding of 0 to below the larger of stride and dilation, [1, 1], got [1, 0]
func.func @output_padding(%x: tensor<1x4x5x5xf32>, %w: tensor<4x2x3x3xf32>) {
  %0 = "mir.conv_transpose2d"(%x, %w) <{stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 1, 0>}> : (tensor<1x4x5x5xf32>, tensor<4x2x3x3xf32>) -> tensor<1x2x8x7xf32>
  func.return
}

// -----

// CHECK: a padding of [4, 0] leaves nothing: the result has extents [-1, 7]
func.func @transpose_padding(%x: tensor<1x4x5x5xf32>, %w: tensor<4x2x3x3xf32>) {
  %0 = "mir.conv_transpose2d"(%x, %w) <{stride = array<i64: 1, 1>, padding = array<i64: 4, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>}> : (tensor<1x4x5x5xf32>, tensor<4x2x3x3xf32>) -> tensor<1x2x1x7xf32>
  func.return
}

// -----

// CHECK: expected dy of shape [1, 4, 4, 4], got [1, 4, 5, 5]
func.func @backward_input_dy(%x: tensor<1x4x5x5xf32>, %w: tensor<4x2x3x3xf32>) {
  %0 = "mir.conv2d_backward_input"(%x, %w) <{stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64, input_size = array<i64: 6, 6>}> : (tensor<1x4x5x5xf32>, tensor<4x2x3x3xf32>) -> tensor<1x2x6x6xf32>
  func.return
}

// -----

// CHECK: expected dy of shape [1, 2, 4, 4], got [1, 2, 3, 3]
func.func @backward_weight_dy(%x: tensor<1x4x5x5xf32>, %w: tensor<1x2x3x3xf32>) {
  %0 = "mir.conv2d_backward_weight"(%x, %w) <{stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64, kernel_size = array<i64: 2, 2>}> : (tensor<1x4x5x5xf32>, tensor<1x2x3x3xf32>) -> tensor<2x4x2x2xf32>
  func.return
}
