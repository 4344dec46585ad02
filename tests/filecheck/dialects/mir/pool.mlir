// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @pool(%x: tensor<2x3x4x6xf32>, %t: tensor<2x3x4x6xf32>) {
// CHECK-NEXT: %largest = mir.pool max %x count_include_pad true kernel_size [2, 3] stride [2, 3] padding [0, 0] : (tensor<2x3x4x6xf32>) -> tensor<2x3x2x2xf32>
// CHECK-NEXT: %least = mir.pool min %x count_include_pad true kernel_size [2, 2] stride [1, 1] padding [0, 1] : (tensor<2x3x4x6xf32>) -> tensor<2x3x3x7xf32>
// CHECK-NEXT: %sum = mir.pool sum %x count_include_pad true kernel_size [4, 6] stride [1, 1] padding [0, 0] : (tensor<2x3x4x6xf32>) -> tensor<2x3x1x1xf32>
// CHECK-NEXT: %mean = mir.pool mean %x count_include_pad false kernel_size [2, 2] stride [2, 2] padding [1, 1] : (tensor<2x3x4x6xf32>) -> tensor<2x3x3x4xf32>
// CHECK-NEXT: %picked = mir.maxpool2d_take %x, %t kernel_size [2, 3] stride [2, 3] padding [0, 0] : (tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x2x2xf32>
// CHECK-NEXT: %dx = mir.maxpool2d_backward %x, %picked kernel_size [2, 3] stride [2, 3] padding [0, 0] : (tensor<2x3x4x6xf32>, tensor<2x3x2x2xf32>) -> tensor<2x3x4x6xf32>
// CHECK-NEXT: %spread = mir.sumpool2d_backward %picked input_size [4, 6] kernel_size [2, 3] stride [2, 3] padding [0, 0] : (tensor<2x3x2x2xf32>) -> tensor<2x3x4x6xf32>
// CHECK-NEXT: %twice = mir.resize_nearest_2x %x : (tensor<2x3x4x6xf32>) -> tensor<2x3x8x12xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @pool(%x: tensor<2x3x4x6xf32>, %t: tensor<2x3x4x6xf32>) {
  %largest = mir.pool max %x count_include_pad true kernel_size [2, 3] stride [2, 3] padding [0, 0] : (tensor<2x3x4x6xf32>) -> tensor<2x3x2x2xf32>
  %least = mir.pool min %x count_include_pad true kernel_size [2, 2] stride [1, 1] padding [0, 1] : (tensor<2x3x4x6xf32>) -> tensor<2x3x3x7xf32>
  %sum = mir.pool sum %x count_include_pad true kernel_size [4, 6] stride [1, 1] padding [0, 0] : (tensor<2x3x4x6xf32>) -> tensor<2x3x1x1xf32>
  %mean = mir.pool mean %x count_include_pad false kernel_size [2, 2] stride [2, 2] padding [1, 1] : (tensor<2x3x4x6xf32>) -> tensor<2x3x3x4xf32>
  %picked = mir.maxpool2d_take %x, %t kernel_size [2, 3] stride [2, 3] padding [0, 0] : (tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x2x2xf32>
  %dx = mir.maxpool2d_backward %x, %picked kernel_size [2, 3] stride [2, 3] padding [0, 0] : (tensor<2x3x4x6xf32>, tensor<2x3x2x2xf32>) -> tensor<2x3x4x6xf32>
  %spread = mir.sumpool2d_backward %picked input_size [4, 6] kernel_size [2, 3] stride [2, 3] padding [0, 0] : (tensor<2x3x2x2xf32>) -> tensor<2x3x4x6xf32>
  %twice = mir.resize_nearest_2x %x : (tensor<2x3x4x6xf32>) -> tensor<2x3x8x12xf32>
  func.return
}

// GENERIC: "mir.pool"(%{{.*}}) <{kind = #mir<pool_kind max>, count_include_pad = true
