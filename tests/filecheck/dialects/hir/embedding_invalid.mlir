// RUN: DIAGNOSTICS

// CHECK: expected table of shape [V, D], got [5, 3, 2]
%0, %1 = "test.op"() : () -> (tensor<2x3xi32>, tensor<5x3x2xf32>)
%2 = hir.embedding %0, %1 : (tensor<2x3xi32>, tensor<5x3x2xf32>) -> tensor<2x3x3xf32>

// -----

// CHECK: element type f64 is not supported; expected one of i32, i64, i8, ui8, i16, ui32, f32
%0, %1 = "test.op"() : () -> (tensor<2x3xf64>, tensor<5x3xf32>)
%2 = hir.embedding %0, %1 : (tensor<2x3xf64>, tensor<5x3xf32>) -> tensor<2x3x3xf32>

// -----

// CHECK: cannot take slices of an axis of extent 0
%0, %1 = "test.op"() : () -> (tensor<2x3xi32>, tensor<0x3xf32>)
%2 = hir.embedding %0, %1 : (tensor<2x3xi32>, tensor<0x3xf32>) -> tensor<2x3x3xf32>

// -----

// CHECK: expected table of shape [2, 5], got [2, 4]
%0, %1, %2 = "test.op"() : () -> (tensor<3x5xf32>, tensor<2x4xf32>, tensor<2xf32>)
%3 = hir.tied_head %0, %1, %2 : (tensor<3x5xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<3x2xf32>

// -----

// CHECK: expected table of shape [V, D], got [5]
%0, %1, %2 = "test.op"() : () -> (tensor<3x5xf32>, tensor<5xf32>, tensor<2xf32>)
%3 = hir.tied_head %0, %1, %2 : (tensor<3x5xf32>, tensor<5xf32>, tensor<2xf32>) -> tensor<3x2xf32>

// -----

// CHECK: expected b of shape [2], got [5]
%0, %1, %2 = "test.op"() : () -> (tensor<3x5xf32>, tensor<2x5xf32>, tensor<5xf32>)
%3 = hir.tied_head %0, %1, %2 : (tensor<3x5xf32>, tensor<2x5xf32>, tensor<5xf32>) -> tensor<3x2xf32>
