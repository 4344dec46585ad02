// RUN: DIAGNOSTICS

// CHECK: expected x of shape [B, S, H], got [2, 5]
%0:3 = "test.op"() : () -> (tensor<2x5xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>)
%1:2 = mir.selective_scan %0#0, %0#0, %0#1, %0#2, %0#2 : (tensor<2x5xf32>, tensor<2x5xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> (tensor<2x5xf32>, tensor<2x3x4xf32>)

// -----

// CHECK: expected delta of shape [2, 5, 3], got [2, 5, 4]
%0:3 = "test.op"() : () -> (tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>)
%1:2 = mir.selective_scan %0#0, %0#2, %0#1, %0#2, %0#2 : (tensor<2x5x3xf32>, tensor<2x5x4xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> (tensor<2x5x3xf32>, tensor<2x3x4xf32>)

// -----

// CHECK: expected a of shape [H, n], got [4]
%0:3 = "test.op"() : () -> (tensor<2x5x3xf32>, tensor<4xf32>, tensor<2x5x4xf32>)
%1:2 = mir.selective_scan %0#0, %0#0, %0#1, %0#2, %0#2 : (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> (tensor<2x5x3xf32>, tensor<2x3x4xf32>)

// -----

// CHECK: expected a of 3 rows, one for each channel of x, got [4, 4]
%0:3 = "test.op"() : () -> (tensor<2x5x3xf32>, tensor<4x4xf32>, tensor<2x5x4xf32>)
%1:2 = mir.selective_scan %0#0, %0#0, %0#1, %0#2, %0#2 : (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<4x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> (tensor<2x5x3xf32>, tensor<2x4x4xf32>)

// -----

// CHECK: expected c of shape [2, 5, 4], got [2, 5, 3]
%0:3 = "test.op"() : () -> (tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>)
%1:2 = mir.selective_scan %0#0, %0#0, %0#1, %0#2, %0#0 : (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x3xf32>) -> (tensor<2x5x3xf32>, tensor<2x3x4xf32>)

// -----

// CHECK: expected a state of type tensor<2x3x4xf32>, got tensor<2x3x4xf16>
%0:4 = "test.op"() : () -> (tensor<2x5x3xf16>, tensor<3x4xf16>, tensor<2x5x4xf16>, tensor<2x3x4xf16>)
%1:2 = mir.selective_scan %0#0, %0#0, %0#1, %0#2, %0#2 from %0#3 : (tensor<2x5x3xf16>, tensor<2x5x3xf16>, tensor<3x4xf16>, tensor<2x5x4xf16>, tensor<2x5x4xf16>, tensor<2x3x4xf16>) -> (tensor<2x5x3xf16>, tensor<2x3x4xf16>)

// -----

// CHECK: expected result 2 of type tensor<5x2x3x4xf32>, got tensor<2x5x3x4xf32>
%0:3 = "test.op"() : () -> (tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>)
%1:3 = mir.selective_scan %0#0, %0#0, %0#1, %0#2, %0#2 : (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> (tensor<2x5x3xf32>, tensor<2x3x4xf32>, tensor<2x5x3x4xf32>)

// -----

// CHECK: operands have different element types: x is f32, a is f64; cast one
%0:3 = "test.op"() : () -> (tensor<2x5x3xf32>, tensor<3x4xf64>, tensor<2x5x4xf32>)
%1:2 = mir.selective_scan %0#0, %0#0, %0#1, %0#2, %0#2 : (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<3x4xf64>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> (tensor<2x5x3xf32>, tensor<2x3x4xf32>)

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%0:3 = "test.op"() : () -> (tensor<2x5x3xi32>, tensor<3x4xi32>, tensor<2x5x4xi32>)
%1:2 = mir.selective_scan %0#0, %0#0, %0#1, %0#2, %0#2 : (tensor<2x5x3xi32>, tensor<2x5x3xi32>, tensor<3x4xi32>, tensor<2x5x4xi32>, tensor<2x5x4xi32>) -> (tensor<2x5x3xi32>, tensor<2x3x4xi32>)

// -----

// CHECK: expected k of shape [2, 5, 1, 3], got [2, 5, 1, 4]
%0:3 = "test.op"() : () -> (tensor<2x5x1x3xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1xf32>)
%1:2 = mir.gated_delta_net %0#0, %0#1, %0#1, %0#2, %0#2 : (tensor<2x5x1x3xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1xf32>, tensor<2x5x1xf32>) -> (tensor<2x5x1x4xf32>, tensor<2x1x3x4xf32>)

// -----

// CHECK: expected v of shape [2, 5, 1, m], got [2, 4, 1, 4]
%0:3 = "test.op"() : () -> (tensor<2x5x1x3xf32>, tensor<2x4x1x4xf32>, tensor<2x5x1xf32>)
%1:2 = mir.gated_delta_net %0#0, %0#0, %0#1, %0#2, %0#2 : (tensor<2x5x1x3xf32>, tensor<2x5x1x3xf32>, tensor<2x4x1x4xf32>, tensor<2x5x1xf32>, tensor<2x5x1xf32>) -> (tensor<2x4x1x4xf32>, tensor<2x1x3x4xf32>)

// -----

// CHECK: expected beta of shape [2, 5, 1], got [2, 5, 2]
%0:4 = "test.op"() : () -> (tensor<2x5x1x3xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1xf32>, tensor<2x5x2xf32>)
%1:2 = mir.gated_delta_net %0#0, %0#0, %0#1, %0#2, %0#3 : (tensor<2x5x1x3xf32>, tensor<2x5x1x3xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1xf32>, tensor<2x5x2xf32>) -> (tensor<2x5x1x4xf32>, tensor<2x1x3x4xf32>)
