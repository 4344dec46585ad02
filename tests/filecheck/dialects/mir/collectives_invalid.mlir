// RUN: DIAGNOSTICS

// CHECK: element type f16 is not supported; expected one of f32, f64, i32, i64
%0 = "test.op"() : () -> (tensor<3xf16>)
%1 = mir.all_reduce sum %0 over 2 : tensor<3xf16>

// -----

// CHECK: expected at least 1 process, got 0
%0 = "test.op"() : () -> (tensor<3xf32>)
%1 = mir.all_reduce sum %0 over 0 : tensor<3xf32>

// -----

// CHECK: expected a first axis that 2 processes share out evenly, got 3
%0 = "test.op"() : () -> (tensor<3xf32>)
%1 = mir.reduce_scatter %0 over 2 : tensor<3xf32> -> tensor<1xf32>

// -----

// CHECK: expected result of type tensor<6xf32>, got tensor<5xf32>
%0 = "test.op"() : () -> (tensor<3xf32>)
%1 = mir.all_gather %0 over 2 : tensor<3xf32> -> tensor<5xf32>

// -----

// CHECK: expected a first axis, got a tensor of rank 0
%0 = "test.op"() : () -> (tensor<f32>)
%1 = mir.all_gather %0 over 2 : tensor<f32> -> tensor<2xf32>

// -----

// CHECK: expected a root from 0 to 1, got 2
%0 = "test.op"() : () -> (tensor<3xf32>)
%1 = mir.broadcast %0 from 2 over 2 : tensor<3xf32>

// -----

// CHECK: expected at most 1073741824 elements, got 2147483648
%0 = "test.op"() : () -> (tensor<2147483648xf32>)
%1 = mir.broadcast %0 from 0 over 2 : tensor<2147483648xf32>
