// RUN: DIAGNOSTICS

// CHECK: element type f16 is not supported; expected one of f32, f64, i32, i64
%0 = "test.op"() : () -> (tensor<3xf16>)
%1 = mir.all_reduce sum %0 over 2 : tensor<3xf16>

// -----

// CHECK: expected at least 1 process, got 0
%0 = "test.op"() : () -> (tensor<3xf32>)
%1 = mir.all_reduce sum %0 over 0 : tensor<3xf32>
