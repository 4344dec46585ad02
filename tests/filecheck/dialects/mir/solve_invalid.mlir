// RUN: DIAGNOSTICS

// CHECK: expected one matrix, got a tensor of rank 3; see mir.batched_dense_solve
%0, %1 = "test.op"() : () -> (tensor<2x3x3xf32>, tensor<2x3xf32>)
%2 = mir.dense_solve %0, %1 : (tensor<2x3x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: expected a batch of matrices, got a tensor of rank 2; see mir.dense_solve
%0, %1 = "test.op"() : () -> (tensor<3x3xf32>, tensor<3xf32>)
%2 = mir.batched_dense_solve %0, %1 : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>

// -----

// CHECK: expected square matrices, got [3, 4]
%0, %1 = "test.op"() : () -> (tensor<3x4xf32>, tensor<3xf32>)
%2 = mir.dense_solve %0, %1 : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3xf32>

// -----

// CHECK: expected a right-hand side of shape [3] or [3, k], got [4]
%0, %1 = "test.op"() : () -> (tensor<3x3xf32>, tensor<4xf32>)
%2 = mir.dense_solve %0, %1 : (tensor<3x3xf32>, tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: expected a right-hand side of shape [2, 3] or [2, 3, k], got [3, 4]
%0, %1 = "test.op"() : () -> (tensor<2x3x3xf32>, tensor<3x4xf32>)
%2 = mir.batched_dense_solve %0, %1 : (tensor<2x3x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>

// -----

// CHECK: operands have different element types: a is f32, b is f64; cast one
%0, %1 = "test.op"() : () -> (tensor<3x3xf32>, tensor<3xf64>)
%2 = mir.dense_solve %0, %1 : (tensor<3x3xf32>, tensor<3xf64>) -> tensor<3xf64>

// -----

// CHECK: element type f16 is not supported; expected one of f32, f64, complex<f32>, complex<f64>
%0, %1 = "test.op"() : () -> (tensor<3x3xf16>, tensor<3xf16>)
%2 = mir.dense_solve %0, %1 : (tensor<3x3xf16>, tensor<3xf16>) -> tensor<3xf16>

// -----

// CHECK: expected result 1 of type tensor<3xi32>, got tensor<3xi64>
%0 = "test.op"() : () -> (tensor<3x3xf32>)
%1, %2 = mir.lu %0 : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xi64>)

// -----

// CHECK: expected square matrices, got [3]
%0 = "test.op"() : () -> (tensor<3xf32>)
%1, %2 = mir.lu %0 : (tensor<3xf32>) -> (tensor<3xf32>, tensor<i32>)

// -----

// CHECK: expected pivots of type tensor<3xi32>, got tensor<3xi64>
%0, %1, %2 = "test.op"() : () -> (tensor<3x3xf32>, tensor<3xi64>, tensor<3xf32>)
%3 = mir.lu_solve %0, %1, %2 : (tensor<3x3xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<3xf32>

// -----

// CHECK: element type complex<f32> is not supported; expected one of f32, f64
%0 = "test.op"() : () -> (tensor<3x3xcomplex<f32>>)
%1, %2 = mir.lu %0 : (tensor<3x3xcomplex<f32>>) -> (tensor<3x3xcomplex<f32>>, tensor<3xi32>)

// -----

// CHECK: expected pivots of type tensor<3xi32>, got tensor<2xi32>
%0, %1 = "test.op"() : () -> (tensor<3x3xf32>, tensor<2xi32>)
%2 = mir.lu_inverse %0, %1 : (tensor<3x3xf32>, tensor<2xi32>) -> tensor<3x3xf32>

// -----

// CHECK: expected pivots [..., n] of type i32, got tensor<3xi64>
%0, %1 = "test.op"() : () -> (tensor<3x2xf32>, tensor<3xi64>)
%2 = mir.interchange_rows %0, %1 : (tensor<3x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>

// -----

// CHECK: expected a right-hand side of shape [3] or [3, k], got [4, 2]
%0, %1 = "test.op"() : () -> (tensor<4x2xf32>, tensor<3xi32>)
%2 = mir.interchange_rows %0, %1 : (tensor<4x2xf32>, tensor<3xi32>) -> tensor<4x2xf32>

// -----

// CHECK: expected square matrices, got [3, 4]
%0, %1 = "test.op"() : () -> (tensor<3x4xf32>, tensor<3xf32>)
%2 = mir.triangular_solve %0, %1 : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3xf32>

// -----

// CHECK: expected a right-hand side of shape [3] or [3, k], got [4]
%0, %1 = "test.op"() : () -> (tensor<3x3xf32>, tensor<4xf32>)
%2 = mir.triangular_solve %0, %1 : (tensor<3x3xf32>, tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: element type complex<f32> is not supported; expected one of f32, f64
%0, %1 = "test.op"() : () -> (tensor<3x3xcomplex<f32>>, tensor<3xcomplex<f32>>)
%2 = mir.triangular_solve %0, %1 : (tensor<3x3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
