// RUN: DIAGNOSTICS

// CHECK: expected matrices with a spectral decomposition, got [4, 3]
%a, %w, %v = "test.op"() : () -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3x3xf32>)
%1 = mir.matrix_function %a, %w, %a, %v, %w : (tensor<4x3xf32>, tensor<3xf32>, tensor<4x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>

// -----

// CHECK: expected images of shape [3], got [2]
%a, %w, %f = "test.op"() : () -> (tensor<3x3xf32>, tensor<3xf32>, tensor<2xf32>)
%1 = mir.matrix_function %a, %w, %a, %a, %f : (tensor<3x3xf32>, tensor<3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<2xf32>) -> tensor<3x3xf32>

// -----

// CHECK: expected matrices, got a tensor of shape [3]
%0 = "test.op"() : () -> (tensor<3xf32>)
%1 = mir.pinv %0 rcond 1.000000e-15 : (tensor<3xf32>) -> tensor<3xf32>
