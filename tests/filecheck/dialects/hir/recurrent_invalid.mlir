// RUN: DIAGNOSTICS

// CHECK: expected x of shape [B, T, F], got [5, 3]
%0:3 = "test.op"() : () -> (tensor<5x3xf32>, tensor<3x4xf32>, tensor<4x4xf32>)
%1:2 = hir.rnn %0#0, %0#1, %0#2 : tensor<5x3xf32>, tensor<3x4xf32>, tensor<4x4xf32> -> tensor<5x4xf32>, tensor<5x4xf32>

// -----

// CHECK: expected w_hh of shape [H, G], got [4]
%0:3 = "test.op"() : () -> (tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<4xf32>)
%1:2 = hir.rnn %0#0, %0#1, %0#2 : tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<4xf32> -> tensor<2x5x4xf32>, tensor<2x4xf32>

// -----

// CHECK: expected w_hh of shape [4, 12], got [4, 4]
%0:3 = "test.op"() : () -> (tensor<2x5x3xf32>, tensor<3x12xf32>, tensor<4x4xf32>)
%1:2 = hir.gru %0#0, %0#1, %0#2 : tensor<2x5x3xf32>, tensor<3x12xf32>, tensor<4x4xf32> -> tensor<2x5x4xf32>, tensor<2x4xf32>

// -----

// CHECK: expected w_ih of shape [3, 16], got [16, 3]
%0:3 = "test.op"() : () -> (tensor<2x5x3xf32>, tensor<16x3xf32>, tensor<4x16xf32>)
%1:3 = hir.lstm %0#0, %0#1, %0#2 : tensor<2x5x3xf32>, tensor<16x3xf32>, tensor<4x16xf32> -> tensor<2x5x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>

// -----

// CHECK: expected b_hh of shape [16], got [4]
%0:4 = "test.op"() : () -> (tensor<2x5x3xf32>, tensor<3x16xf32>, tensor<4x16xf32>, tensor<4xf32>)
%1:3 = hir.lstm %0#0, %0#1, %0#2 : tensor<2x5x3xf32>, tensor<3x16xf32>, tensor<4x16xf32> b_hh %0#3 : tensor<4xf32> -> tensor<2x5x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>

// -----

// CHECK: expected c0 of shape [2, 4], got [1, 4]
%0:4 = "test.op"() : () -> (tensor<2x5x3xf32>, tensor<3x16xf32>, tensor<4x16xf32>, tensor<1x4xf32>)
%1:3 = hir.lstm %0#0, %0#1, %0#2 : tensor<2x5x3xf32>, tensor<3x16xf32>, tensor<4x16xf32> c0 %0#3 : tensor<1x4xf32> -> tensor<2x5x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>

// -----

// CHECK: operands have different element types: x is f32, h0 is f64; cast one
%0:4 = "test.op"() : () -> (tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<4x4xf32>, tensor<2x4xf64>)
%1:2 = hir.rnn %0#0, %0#1, %0#2 : tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<4x4xf32> h0 %0#3 : tensor<2x4xf64> -> tensor<2x5x4xf32>, tensor<2x4xf64>

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%0:3 = "test.op"() : () -> (tensor<2x5x3xi32>, tensor<3x4xi32>, tensor<4x4xi32>)
%1:2 = hir.rnn %0#0, %0#1, %0#2 : tensor<2x5x3xi32>, tensor<3x4xi32>, tensor<4x4xi32> -> tensor<2x5x4xi32>, tensor<2x4xi32>

// -----

// CHECK: expected dt of shape [2, 5, 3], got [2, 5, 4]
%0:4 = "test.op"() : () -> (tensor<2x5x3x4xf32>, tensor<2x5x4xf32>, tensor<3xf32>, tensor<2x5x6xf32>)
%1:2 = hir.mamba2 %0#0, %0#1, %0#2, %0#3, %0#3 : tensor<2x5x3x4xf32>, tensor<2x5x4xf32>, tensor<3xf32>, tensor<2x5x6xf32>, tensor<2x5x6xf32> -> tensor<2x5x3x4xf32>, tensor<2x3x4x6xf32>

// -----

// CHECK: expected b of shape [B, T, N], got [2, 5, 1, 6]
%0:4 = "test.op"() : () -> (tensor<2x5x3x4xf32>, tensor<2x5x3xf32>, tensor<3xf32>, tensor<2x5x1x6xf32>)
%1:2 = hir.mamba2 %0#0, %0#1, %0#2, %0#3, %0#3 : tensor<2x5x3x4xf32>, tensor<2x5x3xf32>, tensor<3xf32>, tensor<2x5x1x6xf32>, tensor<2x5x1x6xf32> -> tensor<2x5x3x4xf32>, tensor<2x3x4x6xf32>

// -----

// CHECK: expected h0 of type tensor<2x3x4x6xf32>, got tensor<2x3x4x6xf16>
%0:5 = "test.op"() : () -> (tensor<2x5x3x4xf16>, tensor<2x5x3xf16>, tensor<3xf16>, tensor<2x5x6xf16>, tensor<2x3x4x6xf16>)
%1:2 = hir.mamba2 %0#0, %0#1, %0#2, %0#3, %0#3 : tensor<2x5x3x4xf16>, tensor<2x5x3xf16>, tensor<3xf16>, tensor<2x5x6xf16>, tensor<2x5x6xf16> h0 %0#4 : tensor<2x3x4x6xf16> -> tensor<2x5x3x4xf16>, tensor<2x3x4x6xf32>
