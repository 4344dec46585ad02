// RUN: DIAGNOSTICS

// CHECK: expected images of shape [N, C, H, W], got [2, 4, 4]
func.func @pool_rank(%x: tensor<2x4x4xf32>) {
  %0 = "mir.pool"(%x) <{kind = #mir.pool_kind max, count_include_pad = true, kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>}> : (tensor<2x4x4xf32>) -> tensor<2x2x2xf32>
  func.return
}

// -----

// CHECK: expected a padding of at most half the kernel [2, 2], got [2, 0]
func.func @pool_padding(%x: tensor<1x2x4x4xf32>) {
  %0 = "mir.pool"(%x) <{kind = #mir.pool_kind max, count_include_pad = true, kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 2, 0>}> : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x2xf32>
  func.return
}

// -----

// CHECK: a kernel over 5 elements exceeds the extent 4 + 2*0 of the padded input
func.func @pool_kernel(%x: tensor<1x2x4x4xf32>) {
  %0 = "mir.pool"(%x) <{kind = #mir.pool_kind max, count_include_pad = true, kernel_size = array<i64: 5, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>}> : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x2xf32>
  func.return
}

// -----

// CHECK: expected kernel extents of at least 1, got [0, 2]
func.func @pool_no_kernel(%x: tensor<1x2x4x4xf32>) {
  %0 = "mir.pool"(%x) <{kind = #mir.pool_kind max, count_include_pad = true, kernel_size = array<i64: 0, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>}> : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x2xf32>
  func.return
}

// -----

// CHECK: element type i64 is not supported
func.func @pool_element(%x: tensor<1x2x4x4xi64>) {
  %0 = "mir.pool"(%x) <{kind = #mir.pool_kind max, count_include_pad = true, kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>}> : (tensor<1x2x4x4xi64>) -> tensor<1x2x2x2xi64>
  func.return
}

// -----

// CHECK: expected result of type tensor<1x2x2x2xf32>, got tensor<1x2x2x3xf32>
func.func @pool_result(%x: tensor<1x2x4x4xf32>) {
  %0 = "mir.pool"(%x) <{kind = #mir.pool_kind max, count_include_pad = true, kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>}> : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x3xf32>
  func.return
}

// -----

// CHECK: expected t of shape [1, 2, 4, 4], got [1, 2, 4, 3]
func.func @take_shape(%x: tensor<1x2x4x4xf32>, %w: tensor<1x2x4x3xf32>) {
  %0 = "mir.maxpool2d_take"(%x, %w) <{kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>}> : (tensor<1x2x4x4xf32>, tensor<1x2x4x3xf32>) -> tensor<1x2x2x2xf32>
  func.return
}

// -----

// CHECK: expected dy of shape [1, 2, 2, 2], got [1, 2, 4, 4]
func.func @maxpool_dy(%x: tensor<1x2x4x4xf32>, %w: tensor<1x2x4x4xf32>) {
  %0 = "mir.maxpool2d_backward"(%x, %w) <{kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>}> : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return
}

// -----

// CHECK: expected dy of shape [1, 2, 3, 3], got [1, 2, 4, 4]
func.func @sumpool_dy(%x: tensor<1x2x4x4xf32>) {
  %0 = "mir.sumpool2d_backward"(%x) <{input_size = array<i64: 6, 6>, kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>}> : (tensor<1x2x4x4xf32>) -> tensor<1x2x6x6xf32>
  func.return
}

// -----

// CHECK: expected images of shape [N, C, H, W], got [4, 4]
func.func @resize_rank(%x: tensor<4x4xf32>) {
  %0 = "mir.resize_nearest_2x"(%x) : (tensor<4x4xf32>) -> tensor<8x8xf32>
  func.return
}
