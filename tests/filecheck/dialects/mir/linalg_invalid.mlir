// RUN: DIAGNOSTICS

// CHECK: operands have different element types: lhs is f32, rhs is f64; cast one
%0, %1 = "test.op"() : () -> (tensor<3x5xf32>, tensor<5x4xf64>)
%2 = mir.dot_general %0, %1 contracting [1] x [0] batch [] x [] : (tensor<3x5xf32>, tensor<5x4xf64>) -> tensor<3x4xf32>

// -----

// CHECK: element type i1 is not supported; expected one of f32, f64, f16, bf16, i32, i64, i8, ui8, i16, ui32, complex<f32>, complex<f64>
%0 = "test.op"() : () -> (tensor<3x3xi1>)
%1 = mir.dot_general %0, %0 contracting [1] x [0] batch [] x [] : (tensor<3x3xi1>, tensor<3x3xi1>) -> tensor<3x3xi1>

// -----

// CHECK: axis 2 is out of range for rank 2
%0 = "test.op"() : () -> (tensor<3x3xf32>)
%1 = mir.dot_general %0, %0 contracting [2] x [0] batch [] x [] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>

// -----

// CHECK: expected distinct lhs dimensions, got contracting [1] and batch [-1]
%0 = "test.op"() : () -> (tensor<3x3xf32>)
%1 = mir.dot_general %0, %0 contracting [1] x [0] batch [-1] x [1] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>

// -----

// CHECK: expected distinct rhs dimensions, got contracting [0, 0] and batch []
%0 = "test.op"() : () -> (tensor<3x3xf32>)
%1 = mir.dot_general %0, %0 contracting [0, 1] x [0, 0] batch [] x [] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>

// -----

// CHECK: 1 contracting dimensions of lhs cannot be paired with 0 of rhs
%0 = "test.op"() : () -> (tensor<3x3xf32>)
%1 = mir.dot_general %0, %0 contracting [1] x [] batch [] x [] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>

// -----

// CHECK: 0 batch dimensions of lhs cannot be paired with 1 of rhs
%0 = "test.op"() : () -> (tensor<3x3xf32>)
%1 = mir.dot_general %0, %0 contracting [] x [] batch [] x [0] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>

// -----

// CHECK: contracting dimensions differ: axis 1 of [3, 5] has extent 5, axis 0 of [3, 5] has 3
%0 = "test.op"() : () -> (tensor<3x5xf32>)
%1 = mir.dot_general %0, %0 contracting [1] x [0] batch [] x [] : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>

// -----

// CHECK: batch dimensions differ: axis 0 of [3, 5] has extent 3, axis 1 of [3, 5] has 5
%0 = "test.op"() : () -> (tensor<3x5xf32>)
%1 = mir.dot_general %0, %0 contracting [] x [] batch [0] x [1] : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>

// -----

// CHECK: expected result of type tensor<3x4xf32>, got tensor<4x3xf32>
%0, %1 = "test.op"() : () -> (tensor<3x5xf32>, tensor<5x4xf32>)
%2 = mir.dot_general %0, %1 contracting [1] x [0] batch [] x [] : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<4x3xf32>

// -----

// CHECK: expected w to be a matrix, got shape [2, 5, 4]
%x, %w, %a, %b = "test.op"() : () -> (tensor<3x5xf32>, tensor<2x5x4xf32>, tensor<5x2xf32>, tensor<2x4xf32>)
%y = mir.lora_matmul %x, %w, %a, %b scale 1.0 : (tensor<3x5xf32>, tensor<2x5x4xf32>, tensor<5x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>

// -----

// CHECK: expected x @ a @ b of the shape [3, 4] of x @ w, got [3, 1]
%x, %w, %a, %b = "test.op"() : () -> (tensor<3x5xf32>, tensor<5x4xf32>, tensor<5x2xf32>, tensor<2x1xf32>)
%y = mir.lora_matmul %x, %w, %a, %b scale 1.0 : (tensor<3x5xf32>, tensor<5x4xf32>, tensor<5x2xf32>, tensor<2x1xf32>) -> tensor<3x4xf32>

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%x = "test.op"() : () -> (tensor<3x3xi32>)
%y = mir.lora_matmul %x, %x, %x, %x scale 1.0 : (tensor<3x3xi32>, tensor<3x3xi32>, tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi32>
