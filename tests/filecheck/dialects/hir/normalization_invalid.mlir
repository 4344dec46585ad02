// RUN: DIAGNOSTICS

// CHECK: expected gamma of shape [5], got [3]
%0, %1, %2 = "test.op"() : () -> (tensor<2x3x5xf32>, tensor<3xf32>, tensor<5xf32>)
%3 = hir.layer_norm %0 : tensor<2x3x5xf32> gamma %1 : tensor<3xf32> beta %2 : tensor<5xf32> axis 2 eps 1.000000e-05 -> tensor<2x3x5xf32>

// -----

// CHECK: operands have different element types: x is f32, beta is f64; cast one
%0, %1, %2 = "test.op"() : () -> (tensor<2x3x5xf32>, tensor<5xf32>, tensor<5xf64>)
%3 = hir.rms_norm %0 : tensor<2x3x5xf32> gamma %1 : tensor<5xf32> beta %2 : tensor<5xf64> axis 2 eps 1.000000e-05 -> tensor<2x3x5xf32>

// -----

// CHECK: axis 3 is out of range for rank 3
%0, %1, %2 = "test.op"() : () -> (tensor<2x3x5xf32>, tensor<5xf32>, tensor<5xf32>)
%3 = hir.rms_norm %0 : tensor<2x3x5xf32> gamma %1 : tensor<5xf32> beta %2 : tensor<5xf32> axis 3 eps 1.000000e-05 -> tensor<2x3x5xf32>

// -----

// CHECK: expected a finite eps of at least 0, got -1.0
%0, %1, %2 = "test.op"() : () -> (tensor<2x3x5xf32>, tensor<5xf32>, tensor<5xf32>)
%3 = hir.rms_norm %0 : tensor<2x3x5xf32> gamma %1 : tensor<5xf32> beta %2 : tensor<5xf32> axis 2 eps -1.000000e+00 -> tensor<2x3x5xf32>

// -----

// CHECK: 6 channels do not form 4 equal groups
%0, %1, %2 = "test.op"() : () -> (tensor<2x6x3x1xf32>, tensor<6xf32>, tensor<6xf32>)
%3 = hir.group_norm %0, %1, %2 num_groups 4 eps 1.000000e-02 : (tensor<2x6x3x1xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x3x1xf32>

// -----

// CHECK: expected a residual of type tensor<2x3x5xf32>, got tensor<2x1x5xf32>
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<2x3x5xf32>, tensor<2x1x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>)
%5 = hir.residual_rms_norm %0, %1 : tensor<2x3x5xf32>, tensor<2x1x5xf32> gamma %2 : tensor<5xf32> beta %3 : tensor<5xf32> bias %4 : tensor<5xf32> eps 3.000000e-02 -> tensor<2x3x5xf32>

// -----

// CHECK: expected gamma of shape [5], got [3]
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<3xf32>, tensor<5xf32>, tensor<5xf32>)
%5 = hir.residual_rms_norm %0, %1 : tensor<2x3x5xf32>, tensor<2x3x5xf32> gamma %2 : tensor<3xf32> beta %3 : tensor<5xf32> bias %4 : tensor<5xf32> eps 3.000000e-02 -> tensor<2x3x5xf32>

// -----

// CHECK: expected bias of shape [5], got [1, 5]
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<1x5xf32>)
%5 = hir.residual_layer_norm %0, %1 : tensor<2x3x5xf32>, tensor<2x3x5xf32> gamma %2 : tensor<5xf32> beta %3 : tensor<5xf32> bias %4 : tensor<1x5xf32> eps 3.000000e-02 -> tensor<2x3x5xf32>

// -----

// CHECK: expected a finite eps of at least 0, got -2.0
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>)
%5 = hir.residual_layer_norm %0, %1 : tensor<2x3x5xf32>, tensor<2x3x5xf32> gamma %2 : tensor<5xf32> beta %3 : tensor<5xf32> bias %4 : tensor<5xf32> eps -2.000000e+00 -> tensor<2x3x5xf32>
