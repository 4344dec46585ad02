// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family conv.

// CHECK-LABEL: func.func @conv(%x: tensor<2x4x7x5xf32>, %w: tensor<6x2x3x3xf32>, %y: tensor<2x6x4x3xf32>, %g: tensor<2x6x4x3xf32>) -> (tensor<2x4x7x5xf32>, tensor<6x2x3x3xf32>) {
// CHECK-NEXT: %d = mir.conv2d_backward_input %g, %w input_size [7, 5] stride [2, 2] padding [1, 1] dilation [1, 1] groups 2 : (tensor<2x6x4x3xf32>, tensor<6x2x3x3xf32>) -> tensor<2x4x7x5xf32>
// CHECK-NEXT: %d_1 = mir.conv2d_backward_weight %x, %g kernel_size [3, 3] stride [2, 2] padding [1, 1] dilation [1, 1] groups 2 : (tensor<2x4x7x5xf32>, tensor<2x6x4x3xf32>) -> tensor<6x2x3x3xf32>
// CHECK-NEXT: func.return %d, %d_1 : tensor<2x4x7x5xf32>, tensor<6x2x3x3xf32>
// CHECK-NEXT: }
func.func @conv(%x: tensor<2x4x7x5xf32>, %w: tensor<6x2x3x3xf32>, %y: tensor<2x6x4x3xf32>, %g: tensor<2x6x4x3xf32>) -> (tensor<2x4x7x5xf32>, tensor<6x2x3x3xf32>) {
  %d:2 = mir.vjp primals(%x, %w : tensor<2x4x7x5xf32>, tensor<6x2x3x3xf32>) outputs(%y : tensor<2x6x4x3xf32>) cotangents(%g : tensor<2x6x4x3xf32>) of [0] wrt [0, 1] -> tensor<2x4x7x5xf32>, tensor<6x2x3x3xf32> {
  ^bb0(%a: tensor<2x4x7x5xf32>, %b: tensor<6x2x3x3xf32>):
    %0 = mir.conv %a, %b stride [2, 2] padding [1, 1] dilation [1, 1] groups 2 : (tensor<2x4x7x5xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x4x3xf32>
    mir.yield %0 : tensor<2x6x4x3xf32>
  }
  func.return %d#0, %d#1 : tensor<2x4x7x5xf32>, tensor<6x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @conv_line(%x: tensor<2x3x9xf32>, %w: tensor<4x3x2xf32>, %y: tensor<2x4x3xf32>, %g: tensor<2x4x3xf32>) -> (tensor<2x3x9xf32>, tensor<4x3x2xf32>) {
// CHECK-NEXT: %0 = mir.reshape %x : tensor<2x3x9xf32> to tensor<2x3x1x9xf32>
// CHECK-NEXT: %1 = mir.reshape %w : tensor<4x3x2xf32> to tensor<4x3x1x2xf32>
// CHECK-NEXT: %2 = mir.reshape %g : tensor<2x4x3xf32> to tensor<2x4x1x3xf32>
// CHECK-NEXT: %3 = mir.conv2d_backward_input %2, %1 input_size [1, 9] stride [1, 3] padding [0, 0] dilation [1, 2] groups 1 : (tensor<2x4x1x3xf32>, tensor<4x3x1x2xf32>) -> tensor<2x3x1x9xf32>
// CHECK-NEXT: %d = mir.reshape %3 : tensor<2x3x1x9xf32> to tensor<2x3x9xf32>
// CHECK-NEXT: %4 = mir.conv2d_backward_weight %0, %2 kernel_size [1, 2] stride [1, 3] padding [0, 0] dilation [1, 2] groups 1 : (tensor<2x3x1x9xf32>, tensor<2x4x1x3xf32>) -> tensor<4x3x1x2xf32>
// CHECK-NEXT: %d_1 = mir.reshape %4 : tensor<4x3x1x2xf32> to tensor<4x3x2xf32>
// CHECK-NEXT: func.return %d, %d_1 : tensor<2x3x9xf32>, tensor<4x3x2xf32>
// CHECK-NEXT: }
func.func @conv_line(%x: tensor<2x3x9xf32>, %w: tensor<4x3x2xf32>, %y: tensor<2x4x3xf32>, %g: tensor<2x4x3xf32>) -> (tensor<2x3x9xf32>, tensor<4x3x2xf32>) {
  %d:2 = mir.vjp primals(%x, %w : tensor<2x3x9xf32>, tensor<4x3x2xf32>) outputs(%y : tensor<2x4x3xf32>) cotangents(%g : tensor<2x4x3xf32>) of [0] wrt [0, 1] -> tensor<2x3x9xf32>, tensor<4x3x2xf32> {
  ^bb0(%a: tensor<2x3x9xf32>, %b: tensor<4x3x2xf32>):
    %0 = mir.conv %a, %b stride [3] padding [0] dilation [2] groups 1 : (tensor<2x3x9xf32>, tensor<4x3x2xf32>) -> tensor<2x4x3xf32>
    mir.yield %0 : tensor<2x4x3xf32>
  }
  func.return %d#0, %d#1 : tensor<2x3x9xf32>, tensor<4x3x2xf32>
}

// -----

// CHECK-LABEL: func.func @conv2d_backward_input(%dy: tensor<2x6x4x3xf32>, %w: tensor<6x2x3x3xf32>, %y: tensor<2x4x7x5xf32>, %g: tensor<2x4x7x5xf32>) -> (tensor<2x6x4x3xf32>, tensor<6x2x3x3xf32>) {
// CHECK-NEXT: %d = mir.conv %g, %w stride [2, 2] padding [1, 1] dilation [1, 1] groups 2 : (tensor<2x4x7x5xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x4x3xf32>
// CHECK-NEXT: %d_1 = mir.conv2d_backward_weight %g, %dy kernel_size [3, 3] stride [2, 2] padding [1, 1] dilation [1, 1] groups 2 : (tensor<2x4x7x5xf32>, tensor<2x6x4x3xf32>) -> tensor<6x2x3x3xf32>
// CHECK-NEXT: func.return %d, %d_1 : tensor<2x6x4x3xf32>, tensor<6x2x3x3xf32>
// CHECK-NEXT: }
func.func @conv2d_backward_input(%dy: tensor<2x6x4x3xf32>, %w: tensor<6x2x3x3xf32>, %y: tensor<2x4x7x5xf32>, %g: tensor<2x4x7x5xf32>) -> (tensor<2x6x4x3xf32>, tensor<6x2x3x3xf32>) {
  %d:2 = mir.vjp primals(%dy, %w : tensor<2x6x4x3xf32>, tensor<6x2x3x3xf32>) outputs(%y : tensor<2x4x7x5xf32>) cotangents(%g : tensor<2x4x7x5xf32>) of [0] wrt [0, 1] -> tensor<2x6x4x3xf32>, tensor<6x2x3x3xf32> {
  ^bb0(%a: tensor<2x6x4x3xf32>, %b: tensor<6x2x3x3xf32>):
    %0 = mir.conv2d_backward_input %a, %b input_size [7, 5] stride [2, 2] padding [1, 1] dilation [1, 1] groups 2 : (tensor<2x6x4x3xf32>, tensor<6x2x3x3xf32>) -> tensor<2x4x7x5xf32>
    mir.yield %0 : tensor<2x4x7x5xf32>
  }
  func.return %d#0, %d#1 : tensor<2x6x4x3xf32>, tensor<6x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @conv2d_backward_weight(%x: tensor<2x4x7x5xf32>, %dy: tensor<2x6x4x3xf32>, %y: tensor<6x2x3x3xf32>, %g: tensor<6x2x3x3xf32>) -> (tensor<2x4x7x5xf32>, tensor<2x6x4x3xf32>) {
// CHECK-NEXT: %d = mir.conv2d_backward_input %dy, %g input_size [7, 5] stride [2, 2] padding [1, 1] dilation [1, 1] groups 2 : (tensor<2x6x4x3xf32>, tensor<6x2x3x3xf32>) -> tensor<2x4x7x5xf32>
// CHECK-NEXT: %d_1 = mir.conv %x, %g stride [2, 2] padding [1, 1] dilation [1, 1] groups 2 : (tensor<2x4x7x5xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x4x3xf32>
// CHECK-NEXT: func.return %d, %d_1 : tensor<2x4x7x5xf32>, tensor<2x6x4x3xf32>
// CHECK-NEXT: }
func.func @conv2d_backward_weight(%x: tensor<2x4x7x5xf32>, %dy: tensor<2x6x4x3xf32>, %y: tensor<6x2x3x3xf32>, %g: tensor<6x2x3x3xf32>) -> (tensor<2x4x7x5xf32>, tensor<2x6x4x3xf32>) {
  %d:2 = mir.vjp primals(%x, %dy : tensor<2x4x7x5xf32>, tensor<2x6x4x3xf32>) outputs(%y : tensor<6x2x3x3xf32>) cotangents(%g : tensor<6x2x3x3xf32>) of [0] wrt [0, 1] -> tensor<2x4x7x5xf32>, tensor<2x6x4x3xf32> {
  ^bb0(%a: tensor<2x4x7x5xf32>, %b: tensor<2x6x4x3xf32>):
    %0 = mir.conv2d_backward_weight %a, %b kernel_size [3, 3] stride [2, 2] padding [1, 1] dilation [1, 1] groups 2 : (tensor<2x4x7x5xf32>, tensor<2x6x4x3xf32>) -> tensor<6x2x3x3xf32>
    mir.yield %0 : tensor<6x2x3x3xf32>
  }
  func.return %d#0, %d#1 : tensor<2x4x7x5xf32>, tensor<2x6x4x3xf32>
}
