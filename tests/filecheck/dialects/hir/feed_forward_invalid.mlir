// RUN: DIAGNOSTICS

// CHECK: expected gate_w of shape [5, 7], got [5, 6]
%0, %1, %2, %3 = "test.op"() : () -> (tensor<2x3x5xf32>, tensor<5x7xf32>, tensor<5x6xf32>, tensor<7x4xf32>)
%4 = hir.swiglu %0, %1, %2, %3 : (tensor<2x3x5xf32>, tensor<5x7xf32>, tensor<5x6xf32>, tensor<7x4xf32>) -> tensor<2x3x4xf32>

// -----

// CHECK: expected down_w of shape [7, 7], got [5, 7]
%0, %1, %2, %3 = "test.op"() : () -> (tensor<2x3x5xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>)
%4 = hir.swiglu %0, %1, %2, %3 : (tensor<2x3x5xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<2x3x4xf32>

// -----

// CHECK: expected x of rank at least 2, got [5]
%0, %1, %2, %3 = "test.op"() : () -> (tensor<5xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<7x4xf32>)
%4 = hir.swiglu %0, %1, %2, %3 : (tensor<5xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<2x3x4xf32>

// -----

// CHECK: operands have different element types: x is i32, up_w is f32; cast one
%0, %1, %2, %3 = "test.op"() : () -> (tensor<2x3x5xi32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<7x4xf32>)
%4 = hir.swiglu %0, %1, %2, %3 : (tensor<2x3x5xi32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<2x3x4xf32>

// -----

// CHECK: expected weights[1] of shape [7, n], got [6, 2]
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<2x3x5xf32>, tensor<5x7xf32>, tensor<6x2xf32>, tensor<7xf32>, tensor<2xf32>)
%5 = hir.mlp %0 : tensor<2x3x5xf32> weights(%1, %2 : tensor<5x7xf32>, tensor<6x2xf32>) biases(%3, %4 : tensor<7xf32>, tensor<2xf32>) activation gelu -> tensor<2x3x2xf32>

// -----

// CHECK: expected biases[0] of shape [7], got [2]
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<2x3x5xf32>, tensor<5x7xf32>, tensor<7x2xf32>, tensor<2xf32>, tensor<2xf32>)
%5 = hir.mlp %0 : tensor<2x3x5xf32> weights(%1, %2 : tensor<5x7xf32>, tensor<7x2xf32>) biases(%3, %4 : tensor<2xf32>, tensor<2xf32>) activation gelu -> tensor<2x3x2xf32>

// -----

// CHECK: expected 2 biases, one for each weight, or none, got 1
%0, %1, %2, %3 = "test.op"() : () -> (tensor<2x3x5xf32>, tensor<5x7xf32>, tensor<7x2xf32>, tensor<7xf32>)
%4 = hir.mlp %0 : tensor<2x3x5xf32> weights(%1, %2 : tensor<5x7xf32>, tensor<7x2xf32>) biases(%3 : tensor<7xf32>) activation gelu -> tensor<2x3x2xf32>

// -----

// CHECK: expected at least one weight, got none
%0 = "test.op"() : () -> tensor<2x3x5xf32>
%1 = hir.mlp %0 : tensor<2x3x5xf32> activation gelu -> tensor<2x3x2xf32>

// -----

// CHECK: expected x of rank at least 2, got [5]
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<5xf32>, tensor<5x7xf32>, tensor<7x2xf32>, tensor<7xf32>, tensor<2xf32>)
%5 = hir.mlp %0 : tensor<5xf32> weights(%1, %2 : tensor<5x7xf32>, tensor<7x2xf32>) biases(%3, %4 : tensor<7xf32>, tensor<2xf32>) activation gelu -> tensor<2x3x2xf32>

// -----

// CHECK: expected a static shape, got tensor<?x5xf32>
%0, %1, %2 = "test.op"() : () -> (tensor<?x5xf32>, tensor<5x7xf32>, tensor<7x4xf32>)
%3 = hir.swiglu %0, %1, %1, %2 : (tensor<?x5xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<?x4xf32>
