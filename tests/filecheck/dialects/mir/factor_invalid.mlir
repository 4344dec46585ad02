// RUN: DIAGNOSTICS

// CHECK: expected square matrices, got [2, 3]
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.cholesky %0 : tensor<2x3xf32>

// -----

// CHECK: element type f16 is not supported; expected one of f32, f64
%0 = "test.op"() : () -> (tensor<3x3xf16>)
%1 = mir.cholesky %0 : tensor<3x3xf16>

// -----

// CHECK: expected result 0 of type tensor<3xf32>, got tensor<3x3xf32>
%0 = "test.op"() : () -> (tensor<3x3xf32>)
%1, %2 = mir.eigh %0 : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>)

// -----

// CHECK: expected matrices of at least as many rows as columns, got [2, 3]
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1, %2 = mir.qr %0 : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x3xf32>)

// -----

// CHECK: expected matrices of at least as many rows as columns, got [2, 3]
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1, %2, %3 = mir.svd %0 : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2x3xf32>)

// -----

// CHECK: expected square matrices, got [2, 3]
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.det %0 : (tensor<2x3xf32>) -> tensor<f32>
