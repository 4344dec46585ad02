// RUN: DIAGNOSTICS

// CHECK: expected a weight of rank 2, got [1, 3, 4]
%0:2 = "test.op"() : () -> (tensor<2x3xf32>, tensor<1x3x4xf32>)
%1 = hir.linear %0#0, %0#1 : (tensor<2x3xf32>, tensor<1x3x4xf32>) -> tensor<1x2x4xf32>

// -----

// CHECK: the inner dimensions of [2, 3] @ [4, 3] differ: expected 3 rows in the RHS, got 4
%0:2 = "test.op"() : () -> (tensor<2x3xf32>, tensor<4x3xf32>)
%1 = hir.linear %0#0, %0#1 : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: expected a bias of shape [4], got [3]
%0:3 = "test.op"() : () -> (tensor<2x3xf32>, tensor<3x4xf32>, tensor<3xf32>)
%1 = hir.linear %0#0, %0#1 bias %0#2 : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<2x4xf32>

// -----

// CHECK: operands have different element types: x is f32, w is f64; cast one
%0:2 = "test.op"() : () -> (tensor<2x3xf32>, tensor<3x4xf64>)
%1 = hir.linear %0#0, %0#1 : (tensor<2x3xf32>, tensor<3x4xf64>) -> tensor<2x4xf32>

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%0:2 = "test.op"() : () -> (tensor<2x3xi32>, tensor<3x4xi32>)
%1 = hir.linear %0#0, %0#1 : (tensor<2x3xi32>, tensor<3x4xi32>) -> tensor<2x4xi32>

// -----

// CHECK: expected result of type tensor<2x4xf32>, got tensor<4x2xf32>
%0:2 = "test.op"() : () -> (tensor<2x3xf32>, tensor<3x4xf32>)
%1 = hir.linear %0#0, %0#1 : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
