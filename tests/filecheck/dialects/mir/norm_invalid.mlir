// RUN: DIAGNOSTICS

// CHECK: expected gamma of shape [3], got [2]
%x, %v, %w = "test.op"() : () -> (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>)
%y = mir.rms_norm %x, %v, %w axis 1 eps 1.0e-5 : (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: expected beta of shape [3], got [2]
%x, %v, %w = "test.op"() : () -> (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>)
%y = mir.rms_norm %x, %w, %v axis 1 eps 1.0e-5 : (tensor<2x3xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<2x3xf32>

// -----

// CHECK: axis 2 is out of range for rank 2
%x, %v = "test.op"() : () -> (tensor<2x3xf32>, tensor<3xf32>)
%y = mir.rms_norm %x, %v, %v axis 2 eps 1.0e-5 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: expected a finite eps of at least 0, got -1.0
%x, %v = "test.op"() : () -> (tensor<2x3xf32>, tensor<3xf32>)
%y = mir.rms_norm %x, %v, %v axis 1 eps -1.0 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%x, %v = "test.op"() : () -> (tensor<2x3xi32>, tensor<3xi32>)
%y = mir.rms_norm %x, %v, %v axis 1 eps 1.0e-5 : (tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<2x3xi32>

// -----

// CHECK: operands have different element types: x is f32, gamma is f64; cast one
%x, %v = "test.op"() : () -> (tensor<2x3xf32>, tensor<3xf64>)
%y = mir.rms_norm %x, %v, %v axis 1 eps 1.0e-5 : (tensor<2x3xf32>, tensor<3xf64>, tensor<3xf64>) -> tensor<2x3xf32>

// -----

// CHECK: expected a cotangent of type tensor<2x3xf32>, got tensor<3x2xf32>
%x, %v, %dy = "test.op"() : () -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3x2xf32>)
%y = mir.rms_norm_backward_input %x, %v, %v, %dy axis 1 eps 1.0e-5 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>

// -----

// CHECK: expected result of type tensor<3xf32>, got tensor<2x3xf32>
%x, %v = "test.op"() : () -> (tensor<2x3xf32>, tensor<3xf32>)
%y = mir.rms_norm_backward_gamma %x, %v, %v, %x axis 1 eps 1.0e-5 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
