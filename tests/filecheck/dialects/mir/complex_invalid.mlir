// RUN: DIAGNOSTICS

// CHECK: element type f32 is not supported; expected one of complex<f32>, complex<f64>
%0 = "test.op"() : () -> (tensor<3xf32>)
%1 = mir.real %0 : (tensor<3xf32>) -> tensor<3xf32>

// -----

// CHECK: element type f32 is not supported; expected one of complex<f32>, complex<f64>
%0 = "test.op"() : () -> (tensor<3xf32>)
%1 = mir.conjugate %0 : (tensor<3xf32>) -> tensor<3xf32>

// -----

// CHECK: expected result of type tensor<3xf64>, got tensor<3xf32>
%0 = "test.op"() : () -> (tensor<3xcomplex<f64>>)
%1 = mir.imag %0 : (tensor<3xcomplex<f64>>) -> tensor<3xf32>

// -----

// CHECK: element type f16 is not supported; expected one of f32, f64
%0 = "test.op"() : () -> (tensor<3xf16>)
%1 = mir.complex %0, %0 : (tensor<3xf16>, tensor<3xf16>) -> tensor<3xcomplex<f16>>

// -----

// CHECK: expected operands of one shape, got [3] and [4]
%0, %1 = "test.op"() : () -> (tensor<3xf32>, tensor<4xf32>)
%2 = mir.complex %0, %1 : (tensor<3xf32>, tensor<4xf32>) -> tensor<3xcomplex<f32>>

// -----

// CHECK: expected a cotangent of the type of the real and imaginary parts, got tensor<3xf64>
%0, %1 = "test.op"() : () -> (tensor<3xcomplex<f32>>, tensor<3xf64>)
%2 = mir.complex_norm_sq_backward %0, %1 : (tensor<3xcomplex<f32>>, tensor<3xf64>) -> tensor<3xcomplex<f32>>

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64
%0 = "test.op"() : () -> (tensor<3xi32>)
%1 = mir.hypot %0, %0 : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>

// -----

// CHECK: a complex tensor has no cast to real numbers: take mir.real or mir.imag
%0 = "test.op"() : () -> (tensor<3xcomplex<f32>>)
%1 = mir.cast %0 : tensor<3xcomplex<f32>> to tensor<3xf32>
