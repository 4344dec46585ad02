// RUN: DIAGNOSTICS

// CHECK: rows of 3 elements do not fit matrices of shape [4, 5]
%0:3 = "test.op"() : () -> (tensor<6x3xf32>, tensor<2x4x5xf32>, tensor<6xi64>)
%1 = mir.grouped_matmul %0#0, %0#1, %0#2 : (tensor<6x3xf32>, tensor<2x4x5xf32>, tensor<6xi64>) -> tensor<6x5xf32>

// -----

// CHECK: rows of 3 elements do not fit matrices of shape [3, 5]
%0:3 = "test.op"() : () -> (tensor<6x3xf32>, tensor<2x3x5xf32>, tensor<6xi64>)
%1 = mir.grouped_matmul %0#0, %0#1, %0#2 transpose_rhs : (tensor<6x3xf32>, tensor<2x3x5xf32>, tensor<6xi64>) -> tensor<6x5xf32>

// -----

// CHECK: expected x of rank 2, got [6]
%0:3 = "test.op"() : () -> (tensor<6xf32>, tensor<2x3x5xf32>, tensor<6xi64>)
%1 = mir.grouped_matmul %0#0, %0#1, %0#2 : (tensor<6xf32>, tensor<2x3x5xf32>, tensor<6xi64>) -> tensor<6x5xf32>

// -----

// CHECK: expected w of rank 3, got [3, 5]
%0:3 = "test.op"() : () -> (tensor<6x3xf32>, tensor<3x5xf32>, tensor<6xi64>)
%1 = mir.grouped_matmul %0#0, %0#1, %0#2 : (tensor<6x3xf32>, tensor<3x5xf32>, tensor<6xi64>) -> tensor<6x5xf32>

// -----

// CHECK: expected an expert for each of 6 rows, got ids of shape [5]
%0:3 = "test.op"() : () -> (tensor<6x3xf32>, tensor<2x3x5xf32>, tensor<5xi64>)
%1 = mir.grouped_matmul %0#0, %0#1, %0#2 : (tensor<6x3xf32>, tensor<2x3x5xf32>, tensor<5xi64>) -> tensor<6x5xf32>

// -----

// CHECK: element type f64 is not supported; expected one of
%0:3 = "test.op"() : () -> (tensor<6x3xf32>, tensor<2x3x5xf32>, tensor<6xf64>)
%1 = mir.grouped_matmul %0#0, %0#1, %0#2 : (tensor<6x3xf32>, tensor<2x3x5xf32>, tensor<6xf64>) -> tensor<6x5xf32>

// -----

// CHECK: cannot send rows to one of 0 experts
%0:3 = "test.op"() : () -> (tensor<6x3xf32>, tensor<0x3x5xf32>, tensor<6xi64>)
%1 = mir.grouped_matmul %0#0, %0#1, %0#2 : (tensor<6x3xf32>, tensor<0x3x5xf32>, tensor<6xi64>) -> tensor<6x5xf32>

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%0:3 = "test.op"() : () -> (tensor<6x3xi32>, tensor<2x3x5xi32>, tensor<6xi64>)
%1 = mir.grouped_matmul %0#0, %0#1, %0#2 : (tensor<6x3xi32>, tensor<2x3x5xi32>, tensor<6xi64>) -> tensor<6x5xi32>

// -----

// CHECK: operands have different element types: x is f32, w is f64; cast one
%0:3 = "test.op"() : () -> (tensor<6x3xf32>, tensor<2x3x5xf64>, tensor<6xi64>)
%1 = mir.grouped_matmul %0#0, %0#1, %0#2 : (tensor<6x3xf32>, tensor<2x3x5xf64>, tensor<6xi64>) -> tensor<6x5xf32>

// -----

// CHECK: 6 rows of x do not fit 5 rows of g
%0:3 = "test.op"() : () -> (tensor<6x3xf32>, tensor<5x4xf32>, tensor<6xi64>)
%1 = mir.grouped_matmul_backward_weight %0#0, %0#1, %0#2 experts 2 : (tensor<6x3xf32>, tensor<5x4xf32>, tensor<6xi64>) -> tensor<2x3x4xf32>

// -----

// CHECK: cannot send rows to one of 0 experts
%0:3 = "test.op"() : () -> (tensor<6x3xf32>, tensor<6x4xf32>, tensor<6xi64>)
%1 = mir.grouped_matmul_backward_weight %0#0, %0#1, %0#2 experts 0 : (tensor<6x3xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<0x3x4xf32>

// -----

// CHECK: expected g of rank 2, got [6]
%0:3 = "test.op"() : () -> (tensor<6x3xf32>, tensor<6xf32>, tensor<6xi64>)
%1 = mir.grouped_matmul_backward_weight %0#0, %0#1, %0#2 experts 2 : (tensor<6x3xf32>, tensor<6xf32>, tensor<6xi64>) -> tensor<2x3x4xf32>

// -----

// CHECK: expected result of type tensor<2x3x4xf32>, got tensor<3x3x4xf32>
%0:3 = "test.op"() : () -> (tensor<6x3xf32>, tensor<6x4xf32>, tensor<6xi64>)
%1 = mir.grouped_matmul_backward_weight %0#0, %0#1, %0#2 experts 2 : (tensor<6x3xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<3x3x4xf32>
