// RUN: DIAGNOSTICS

// CHECK: the inner dimensions of [5, 3] @ [2, 4] differ: expected 3 rows in the RHS, got 2
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<5x3xf32>, tensor<2x4xf32>, tensor<3x1xf32>, tensor<4xf32>, tensor<1xf32>)
%5, %6 = hir.shared_linear_pair %0, %1, %2 : tensor<5x3xf32>, tensor<2x4xf32>, tensor<3x1xf32> b1 %3 : tensor<4xf32> b2 %4 : tensor<1xf32> -> tensor<5x4xf32>, tensor<5x1xf32>

// -----

// CHECK: expected w2 of rank 2, got [3]
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<5x3xf32>, tensor<3x4xf32>, tensor<3xf32>, tensor<4xf32>, tensor<1xf32>)
%5, %6 = hir.shared_linear_pair %0, %1, %2 : tensor<5x3xf32>, tensor<3x4xf32>, tensor<3xf32> b1 %3 : tensor<4xf32> b2 %4 : tensor<1xf32> -> tensor<5x4xf32>, tensor<5x1xf32>

// -----

// CHECK: expected b2 of shape [1], got [4]
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<5x3xf32>, tensor<3x4xf32>, tensor<3x1xf32>, tensor<4xf32>, tensor<4xf32>)
%5, %6 = hir.shared_linear_pair %0, %1, %2 : tensor<5x3xf32>, tensor<3x4xf32>, tensor<3x1xf32> b1 %3 : tensor<4xf32> b2 %4 : tensor<4xf32> -> tensor<5x4xf32>, tensor<5x1xf32>

// -----

// CHECK: operands have different element types: x is f32, w2 is f64; cast one
%0, %1, %2 = "test.op"() : () -> (tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<3x7xf64>)
%3, %4 = hir.shared_linear_pair %0, %1, %2 : tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<3x7xf64> -> tensor<2x5x4xf32>, tensor<2x5x7xf32>

// -----

// CHECK: expected weights of element type i8 for int8_block, got i32
%0, %1, %2 = "test.op"() : () -> (tensor<2x3x7xf32>, tensor<7x5xi32>, tensor<3x5xf32>)
%3 = hir.dequant_matmul %0, %1 scales(%2) scheme <int8_block 3> : (tensor<2x3x7xf32>, tensor<7x5xi32>, tensor<3x5xf32>) -> tensor<2x3x5xf32>

// -----

// CHECK: expected scale of shape [3, 5] for int8_block, got [2, 5]
%0, %1, %2 = "test.op"() : () -> (tensor<2x3x7xf32>, tensor<7x5xi8>, tensor<2x5xf32>)
%3 = hir.dequant_matmul %0, %1 scales(%2) scheme <int8_block 3> : (tensor<2x3x7xf32>, tensor<7x5xi8>, tensor<2x5xf32>) -> tensor<2x3x5xf32>
