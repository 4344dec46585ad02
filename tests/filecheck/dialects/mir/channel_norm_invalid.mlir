// RUN: DIAGNOSTICS

// CHECK: expected x of rank at least 2, got [4]
%x = "test.op"() : () -> (tensor<4xf32>)
%y = mir.group_norm %x, %x, %x num_groups 2 eps 1.0e-5 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: 4 channels do not form 3 equal groups
%x, %v = "test.op"() : () -> (tensor<2x4x5xf32>, tensor<4xf32>)
%y = mir.group_norm %x, %v, %v num_groups 3 eps 1.0e-5 : (tensor<2x4x5xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x5xf32>

// -----

// CHECK: 4 channels do not form 0 equal groups
%x = "test.op"() : () -> (tensor<2x4x5xf32>)
%y = mir.group_norm_backward_gamma %x, %x num_groups 0 eps 1.0e-5 : (tensor<2x4x5xf32>, tensor<2x4x5xf32>) -> tensor<4xf32>

// -----

// CHECK: expected gamma of shape [4], got [5]
%x, %v, %w = "test.op"() : () -> (tensor<2x4x5xf32>, tensor<5xf32>, tensor<4xf32>)
%y = mir.group_norm %x, %v, %w num_groups 2 eps 1.0e-5 : (tensor<2x4x5xf32>, tensor<5xf32>, tensor<4xf32>) -> tensor<2x4x5xf32>

// -----

// CHECK: expected a cotangent of type tensor<2x4x5xf32>, got tensor<2x4xf32>
%x, %dy = "test.op"() : () -> (tensor<2x4x5xf32>, tensor<2x4xf32>)
%y = mir.group_norm_backward_beta %x, %dy num_groups 2 eps 1.0e-5 : (tensor<2x4x5xf32>, tensor<2x4xf32>) -> tensor<4xf32>

// -----

// CHECK: expected x of rank 4, got [2, 4, 5]
%x, %v = "test.op"() : () -> (tensor<2x4x5xf32>, tensor<4xf32>)
%y = mir.layer_norm_2d %x, %v, %v eps 1.0e-5 : (tensor<2x4x5xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x5xf32>

// -----

// CHECK: expected var of shape [4], got [5]
%x, %v, %w = "test.op"() : () -> (tensor<5x4xf32>, tensor<4xf32>, tensor<5xf32>)
%y = mir.batch_norm_inference %x, %v, %v, %v, %w axis 1 eps 1.0e-5 : (tensor<5x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<5xf32>) -> tensor<5x4xf32>

// -----

// CHECK: expected a cotangent of type tensor<5x4xf32>, got tensor<4x5xf32>
%x, %v, %dy = "test.op"() : () -> (tensor<5x4xf32>, tensor<4xf32>, tensor<4x5xf32>)
%y = mir.batch_norm_inference_backward_input %x, %v, %v, %v, %dy axis 1 eps 1.0e-5 : (tensor<5x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x5xf32>) -> tensor<5x4xf32>

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%dy = "test.op"() : () -> (tensor<5x4xi32>)
%y = mir.batch_norm_inference_backward_beta %dy axis 1 : (tensor<5x4xi32>) -> tensor<4xi32>
