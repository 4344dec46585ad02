// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family pool.

// CHECK-LABEL: func.func @pool_max(%x: tensor<2x3x4x6xf32>, %y: tensor<2x3x2x3xf32>, %g: tensor<2x3x2x3xf32>) -> tensor<2x3x4x6xf32> {
// CHECK-NEXT: %d = mir.maxpool2d_backward %x, %g kernel_size [2, 2] stride [2, 2] padding [0, 0] : (tensor<2x3x4x6xf32>, tensor<2x3x2x3xf32>) -> tensor<2x3x4x6xf32>
// CHECK-NEXT: func.return %d : tensor<2x3x4x6xf32>
// CHECK-NEXT: }
func.func @pool_max(%x: tensor<2x3x4x6xf32>, %y: tensor<2x3x2x3xf32>, %g: tensor<2x3x2x3xf32>) -> tensor<2x3x4x6xf32> {
  %d = mir.vjp primals(%x : tensor<2x3x4x6xf32>) outputs(%y : tensor<2x3x2x3xf32>) cotangents(%g : tensor<2x3x2x3xf32>) of [0] wrt [0] -> tensor<2x3x4x6xf32> {
  ^bb0(%a: tensor<2x3x4x6xf32>):
    %0 = mir.pool max %a count_include_pad true kernel_size [2, 2] stride [2, 2] padding [0, 0] : (tensor<2x3x4x6xf32>) -> tensor<2x3x2x3xf32>
    mir.yield %0 : tensor<2x3x2x3xf32>
  }
  func.return %d : tensor<2x3x4x6xf32>
}

// -----

// CHECK-LABEL: func.func @pool_min(%x: tensor<2x3x4x6xf32>, %y: tensor<2x3x2x3xf32>, %g: tensor<2x3x2x3xf32>) -> tensor<2x3x4x6xf32> {
// CHECK-NEXT: %0 = mir.neg %x : tensor<2x3x4x6xf32>
// CHECK-NEXT: %d = mir.maxpool2d_backward %0, %g kernel_size [2, 2] stride [2, 2] padding [0, 0] : (tensor<2x3x4x6xf32>, tensor<2x3x2x3xf32>) -> tensor<2x3x4x6xf32>
// CHECK-NEXT: func.return %d : tensor<2x3x4x6xf32>
// CHECK-NEXT: }
func.func @pool_min(%x: tensor<2x3x4x6xf32>, %y: tensor<2x3x2x3xf32>, %g: tensor<2x3x2x3xf32>) -> tensor<2x3x4x6xf32> {
  %d = mir.vjp primals(%x : tensor<2x3x4x6xf32>) outputs(%y : tensor<2x3x2x3xf32>) cotangents(%g : tensor<2x3x2x3xf32>) of [0] wrt [0] -> tensor<2x3x4x6xf32> {
  ^bb0(%a: tensor<2x3x4x6xf32>):
    %0 = mir.pool min %a count_include_pad true kernel_size [2, 2] stride [2, 2] padding [0, 0] : (tensor<2x3x4x6xf32>) -> tensor<2x3x2x3xf32>
    mir.yield %0 : tensor<2x3x2x3xf32>
  }
  func.return %d : tensor<2x3x4x6xf32>
}

// -----

// CHECK-LABEL: func.func @pool_sum(%x: tensor<2x3x4x6xf32>, %y: tensor<2x3x2x3xf32>, %g: tensor<2x3x2x3xf32>) -> tensor<2x3x4x6xf32> {
// CHECK-NEXT: %d = mir.sumpool2d_backward %g input_size [4, 6] kernel_size [2, 2] stride [2, 2] padding [0, 0] : (tensor<2x3x2x3xf32>) -> tensor<2x3x4x6xf32>
// CHECK-NEXT: func.return %d : tensor<2x3x4x6xf32>
// CHECK-NEXT: }
func.func @pool_sum(%x: tensor<2x3x4x6xf32>, %y: tensor<2x3x2x3xf32>, %g: tensor<2x3x2x3xf32>) -> tensor<2x3x4x6xf32> {
  %d = mir.vjp primals(%x : tensor<2x3x4x6xf32>) outputs(%y : tensor<2x3x2x3xf32>) cotangents(%g : tensor<2x3x2x3xf32>) of [0] wrt [0] -> tensor<2x3x4x6xf32> {
  ^bb0(%a: tensor<2x3x4x6xf32>):
    %0 = mir.pool sum %a count_include_pad true kernel_size [2, 2] stride [2, 2] padding [0, 0] : (tensor<2x3x4x6xf32>) -> tensor<2x3x2x3xf32>
    mir.yield %0 : tensor<2x3x2x3xf32>
  }
  func.return %d : tensor<2x3x4x6xf32>
}

// -----

// CHECK-LABEL: func.func @pool_mean(%x: tensor<2x3x4x6xf32>, %y: tensor<2x3x2x3xf32>, %g: tensor<2x3x2x3xf32>) -> tensor<2x3x4x6xf32> {
// CHECK-NEXT: %0 = mir.constant dense<2.500000e-01> : tensor<f32>
// CHECK-NEXT: %1 = mir.mul %g, %0 : (tensor<2x3x2x3xf32>, tensor<f32>) -> tensor<2x3x2x3xf32>
// CHECK-NEXT: %d = mir.sumpool2d_backward %1 input_size [4, 6] kernel_size [2, 2] stride [2, 2] padding [0, 0] : (tensor<2x3x2x3xf32>) -> tensor<2x3x4x6xf32>
// CHECK-NEXT: func.return %d : tensor<2x3x4x6xf32>
// CHECK-NEXT: }
func.func @pool_mean(%x: tensor<2x3x4x6xf32>, %y: tensor<2x3x2x3xf32>, %g: tensor<2x3x2x3xf32>) -> tensor<2x3x4x6xf32> {
  %d = mir.vjp primals(%x : tensor<2x3x4x6xf32>) outputs(%y : tensor<2x3x2x3xf32>) cotangents(%g : tensor<2x3x2x3xf32>) of [0] wrt [0] -> tensor<2x3x4x6xf32> {
  ^bb0(%a: tensor<2x3x4x6xf32>):
    %0 = mir.pool mean %a count_include_pad true kernel_size [2, 2] stride [2, 2] padding [0, 0] : (tensor<2x3x4x6xf32>) -> tensor<2x3x2x3xf32>
    mir.yield %0 : tensor<2x3x2x3xf32>
  }
  func.return %d : tensor<2x3x4x6xf32>
}

// -----

// CHECK-LABEL: func.func @pool_mean_excluding(%x: tensor<2x3x4x6xf32>, %y: tensor<2x3x3x4xf32>, %g: tensor<2x3x3x4xf32>) -> tensor<2x3x4x6xf32> {
// CHECK-NEXT: %0 = mir.constant dense<[[1.000000e+00, 5.000000e-01, 5.000000e-01, 1.000000e+00], [5.000000e-01, 2.500000e-01, 2.500000e-01, 5.000000e-01], [1.000000e+00, 5.000000e-01, 5.000000e-01, 1.000000e+00]]> : tensor<3x4xf32>
// CHECK-NEXT: %1 = mir.mul %g, %0 : (tensor<2x3x3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x3x4xf32>
// CHECK-NEXT: %d = mir.sumpool2d_backward %1 input_size [4, 6] kernel_size [2, 2] stride [2, 2] padding [1, 1] : (tensor<2x3x3x4xf32>) -> tensor<2x3x4x6xf32>
// CHECK-NEXT: func.return %d : tensor<2x3x4x6xf32>
// CHECK-NEXT: }
func.func @pool_mean_excluding(%x: tensor<2x3x4x6xf32>, %y: tensor<2x3x3x4xf32>, %g: tensor<2x3x3x4xf32>) -> tensor<2x3x4x6xf32> {
  %d = mir.vjp primals(%x : tensor<2x3x4x6xf32>) outputs(%y : tensor<2x3x3x4xf32>) cotangents(%g : tensor<2x3x3x4xf32>) of [0] wrt [0] -> tensor<2x3x4x6xf32> {
  ^bb0(%a: tensor<2x3x4x6xf32>):
    %0 = mir.pool mean %a count_include_pad false kernel_size [2, 2] stride [2, 2] padding [1, 1] : (tensor<2x3x4x6xf32>) -> tensor<2x3x3x4xf32>
    mir.yield %0 : tensor<2x3x3x4xf32>
  }
  func.return %d : tensor<2x3x4x6xf32>
}

// -----

// CHECK-LABEL: func.func @maxpool2d_take(%x: tensor<2x3x4x6xf32>, %t: tensor<2x3x4x6xf32>, %y: tensor<2x3x2x3xf32>, %g: tensor<2x3x2x3xf32>) -> tensor<2x3x4x6xf32> {
// CHECK-NEXT: %d = mir.maxpool2d_backward %x, %g kernel_size [2, 2] stride [2, 2] padding [0, 0] : (tensor<2x3x4x6xf32>, tensor<2x3x2x3xf32>) -> tensor<2x3x4x6xf32>
// CHECK-NEXT: func.return %d : tensor<2x3x4x6xf32>
// CHECK-NEXT: }
func.func @maxpool2d_take(%x: tensor<2x3x4x6xf32>, %t: tensor<2x3x4x6xf32>, %y: tensor<2x3x2x3xf32>, %g: tensor<2x3x2x3xf32>) -> tensor<2x3x4x6xf32> {
  %d = mir.vjp primals(%x, %t : tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>) outputs(%y : tensor<2x3x2x3xf32>) cotangents(%g : tensor<2x3x2x3xf32>) of [0] wrt [1] -> tensor<2x3x4x6xf32> {
  ^bb0(%a: tensor<2x3x4x6xf32>, %b: tensor<2x3x4x6xf32>):
    %0 = mir.maxpool2d_take %a, %b kernel_size [2, 2] stride [2, 2] padding [0, 0] : (tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x2x3xf32>
    mir.yield %0 : tensor<2x3x2x3xf32>
  }
  func.return %d : tensor<2x3x4x6xf32>
}

// -----

// CHECK-LABEL: func.func @maxpool2d_backward(%x: tensor<2x3x4x6xf32>, %dy: tensor<2x3x2x3xf32>, %y: tensor<2x3x4x6xf32>, %g: tensor<2x3x4x6xf32>) -> tensor<2x3x2x3xf32> {
// CHECK-NEXT: %d = mir.maxpool2d_take %x, %g kernel_size [2, 2] stride [2, 2] padding [0, 0] : (tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x2x3xf32>
// CHECK-NEXT: func.return %d : tensor<2x3x2x3xf32>
// CHECK-NEXT: }
func.func @maxpool2d_backward(%x: tensor<2x3x4x6xf32>, %dy: tensor<2x3x2x3xf32>, %y: tensor<2x3x4x6xf32>, %g: tensor<2x3x4x6xf32>) -> tensor<2x3x2x3xf32> {
  %d = mir.vjp primals(%x, %dy : tensor<2x3x4x6xf32>, tensor<2x3x2x3xf32>) outputs(%y : tensor<2x3x4x6xf32>) cotangents(%g : tensor<2x3x4x6xf32>) of [0] wrt [1] -> tensor<2x3x2x3xf32> {
  ^bb0(%a: tensor<2x3x4x6xf32>, %b: tensor<2x3x2x3xf32>):
    %0 = mir.maxpool2d_backward %a, %b kernel_size [2, 2] stride [2, 2] padding [0, 0] : (tensor<2x3x4x6xf32>, tensor<2x3x2x3xf32>) -> tensor<2x3x4x6xf32>
    mir.yield %0 : tensor<2x3x4x6xf32>
  }
  func.return %d : tensor<2x3x2x3xf32>
}

// -----

// CHECK-LABEL: func.func @sumpool2d_backward(%dy: tensor<2x3x2x3xf32>, %y: tensor<2x3x4x6xf32>, %g: tensor<2x3x4x6xf32>) -> tensor<2x3x2x3xf32> {
// CHECK-NEXT: %d = mir.pool sum %g count_include_pad true kernel_size [2, 2] stride [2, 2] padding [0, 0] : (tensor<2x3x4x6xf32>) -> tensor<2x3x2x3xf32>
// CHECK-NEXT: func.return %d : tensor<2x3x2x3xf32>
// CHECK-NEXT: }
func.func @sumpool2d_backward(%dy: tensor<2x3x2x3xf32>, %y: tensor<2x3x4x6xf32>, %g: tensor<2x3x4x6xf32>) -> tensor<2x3x2x3xf32> {
  %d = mir.vjp primals(%dy : tensor<2x3x2x3xf32>) outputs(%y : tensor<2x3x4x6xf32>) cotangents(%g : tensor<2x3x4x6xf32>) of [0] wrt [0] -> tensor<2x3x2x3xf32> {
  ^bb0(%a: tensor<2x3x2x3xf32>):
    %0 = mir.sumpool2d_backward %a input_size [4, 6] kernel_size [2, 2] stride [2, 2] padding [0, 0] : (tensor<2x3x2x3xf32>) -> tensor<2x3x4x6xf32>
    mir.yield %0 : tensor<2x3x4x6xf32>
  }
  func.return %d : tensor<2x3x2x3xf32>
}
