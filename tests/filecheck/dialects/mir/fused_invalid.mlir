// RUN: DIAGNOSTICS

// CHECK: expected a residual of type tensor<2x3xf32>, got tensor<3xf32>
%x, %v = "test.op"() : () -> (tensor<2x3xf32>, tensor<3xf32>)
%y = mir.fused_residual_ln %x, %v gamma %v beta %v eps 1.0e-5 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: expected bias of shape [3], got [2]
%x, %v, %w = "test.op"() : () -> (tensor<2x3xf32>, tensor<3xf32>, tensor<2xf32>)
%y = mir.fused_residual_rms_norm %x, %x gamma %v beta %v bias %w eps 1.0e-5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<2x3xf32>

// -----

// CHECK: expected two halves along the last axis, got [2, 3]
%x = "test.op"() : () -> (tensor<2x3xf32>)
%y = mir.fused_swiglu %x : tensor<2x3xf32> to tensor<2x1xf32>

// -----

// CHECK: expected two halves along the last axis, got []
%x = "test.op"() : () -> (tensor<f32>)
%y = mir.fused_swiglu %x : tensor<f32> to tensor<f32>

// -----

// CHECK: element type i8 is not supported; expected one of f32, f64, f16, bf16
%x = "test.op"() : () -> (tensor<2x4xf32>)
%y = mir.fused_swiglu %x : tensor<2x4xf32> to tensor<2x2xi8>
