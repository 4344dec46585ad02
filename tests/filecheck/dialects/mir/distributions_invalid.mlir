// RUN: DIAGNOSTICS

// CHECK: expected parameters that begin with the dimensions [3], got [4]
%0:2 = "test.op"() : () -> (tensor<3x2xi64>, tensor<4xf32>)
%1 = mir.rng_gamma %0#0, %0#1 : (tensor<3x2xi64>, tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%0:2 = "test.op"() : () -> (tensor<2xi64>, tensor<4xi32>)
%1 = mir.rng_poisson %0#0, %0#1 : (tensor<2xi64>, tensor<4xi32>) -> tensor<4xi64>

// -----

// CHECK: expected parameters of one type, got tensor<4xf32> and tensor<3xf32>
%0:3 = "test.op"() : () -> (tensor<2xi64>, tensor<4xf32>, tensor<3xf32>)
%1 = mir.rng_binomial %0#0, %0#1, %0#2 : (tensor<2xi64>, tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>

// -----

// CHECK: expected alpha and x of one type, got tensor<4xf32> and tensor<4xf64>
%0:2 = "test.op"() : () -> (tensor<4xf32>, tensor<4xf64>)
%1 = mir.gamma_slope %0#0, %0#1 : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>

// -----

// CHECK: expected rows behind the dimensions [3], got [3]
%0 = "test.op"() : () -> tensor<3x2xi64>
%1 = mir.rng_permutation %0 : tensor<3x2xi64> to tensor<3xi64>

// -----

// CHECK: expected a row of less than 2^31 elements, got 2147483648
%0 = "test.op"() : () -> tensor<2xi64>
%1 = mir.rng_permutation %0 : tensor<2xi64> to tensor<2147483648xi64>
