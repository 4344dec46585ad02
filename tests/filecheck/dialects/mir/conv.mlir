// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @conv(%x: tensor<2x4x7x5xf32>, %w: tensor<6x2x3x3xf32>, %line: tensor<2x3x9xf64>, %taps: tensor<4x3x2xf64>) {
// CHECK-NEXT: %y = mir.conv %x, %w stride [2, 2] padding [1, 1] dilation [1, 1] groups 2 : (tensor<2x4x7x5xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x4x3xf32>
// CHECK-NEXT: %z = mir.conv %line, %taps stride [3] padding [0] dilation [2] groups 1 : (tensor<2x3x9xf64>, tensor<4x3x2xf64>) -> tensor<2x4x3xf64>
// CHECK-NEXT: %up = mir.conv_transpose2d %y, %w output_padding [0, 1] stride [2, 2] padding [1, 1] dilation [1, 1] groups 2 : (tensor<2x6x4x3xf32>, tensor<6x2x3x3xf32>) -> tensor<2x4x7x6xf32>
// CHECK-NEXT: %dx = mir.conv2d_backward_input %y, %w input_size [7, 5] stride [2, 2] padding [1, 1] dilation [1, 1] groups 2 : (tensor<2x6x4x3xf32>, tensor<6x2x3x3xf32>) -> tensor<2x4x7x5xf32>
// CHECK-NEXT: %dw = mir.conv2d_backward_weight %x, %y kernel_size [3, 3] stride [2, 2] padding [1, 1] dilation [1, 1] groups 2 : (tensor<2x4x7x5xf32>, tensor<2x6x4x3xf32>) -> tensor<6x2x3x3xf32>
// CHECK-NEXT: %windows = mir.im2col %x kernel_size [3, 3] stride [1, 1] padding [0, 0] dilation [1, 1] : (tensor<2x4x7x5xf32>) -> tensor<30x36xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @conv(%x: tensor<2x4x7x5xf32>, %w: tensor<6x2x3x3xf32>, %line: tensor<2x3x9xf64>, %taps: tensor<4x3x2xf64>) {
  %y = mir.conv %x, %w stride [2, 2] padding [1, 1] dilation [1, 1] groups 2 : (tensor<2x4x7x5xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x4x3xf32>
  %z = mir.conv %line, %taps stride [3] padding [0] dilation [2] groups 1 : (tensor<2x3x9xf64>, tensor<4x3x2xf64>) -> tensor<2x4x3xf64>
  %up = mir.conv_transpose2d %y, %w output_padding [0, 1] stride [2, 2] padding [1, 1] dilation [1, 1] groups 2 : (tensor<2x6x4x3xf32>, tensor<6x2x3x3xf32>) -> tensor<2x4x7x6xf32>
  %dx = mir.conv2d_backward_input %y, %w input_size [7, 5] stride [2, 2] padding [1, 1] dilation [1, 1] groups 2 : (tensor<2x6x4x3xf32>, tensor<6x2x3x3xf32>) -> tensor<2x4x7x5xf32>
  %dw = mir.conv2d_backward_weight %x, %y kernel_size [3, 3] stride [2, 2] padding [1, 1] dilation [1, 1] groups 2 : (tensor<2x4x7x5xf32>, tensor<2x6x4x3xf32>) -> tensor<6x2x3x3xf32>
  %windows = mir.im2col %x kernel_size [3, 3] stride [1, 1] padding [0, 0] dilation [1, 1] : (tensor<2x4x7x5xf32>) -> tensor<30x36xf32>
  func.return
}

// GENERIC: "mir.conv"(%{{.*}}) <{stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64}>
