// RUN: DIAGNOSTICS

// CHECK: expected k of shape [2, 3, 2, 3], got [2, 3, 2, 4]
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<2x3x2x3xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>)
%5, %6 = hir.gated_delta_net %0, %1, %2, %3, %4 : (tensor<2x3x2x3xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>)

// -----

// CHECK: expected a state of type tensor<2x2x3x4xf32>, got tensor<2x2x4x3xf32>
%0, %1, %2, %3, %4, %5 = "test.op"() : () -> (tensor<2x3x2x3xf32>, tensor<2x3x2x3xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>, tensor<2x2x4x3xf32>)
%6, %7 = hir.gated_delta_net %0, %1, %2, %3, %4, %5 : (tensor<2x3x2x3xf32>, tensor<2x3x2x3xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>, tensor<2x2x4x3xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>)
