// RUN: DIAGNOSTICS

// CHECK: element type i32 is not supported; expected one of f32, f64, complex<f32>, complex<f64>
%0 = "test.op"() : () -> (tensor<4xi32>)
%1 = mir.fft %0 norm backward : tensor<4xi32>

// -----

// CHECK: expected at least one point along the last axis, got []
%0 = "test.op"() : () -> (tensor<complex<f32>>)
%1 = mir.fft %0 norm backward : tensor<complex<f32>>

// -----

// CHECK: expected real and imaginary parts along the last axis, got 3 numbers
%0 = "test.op"() : () -> (tensor<3xf32>)
%1 = mir.fft %0 norm ortho : tensor<3xf32>

// -----

// CHECK: expected at least one point along the last axis, got [2, 0]
%0 = "test.op"() : () -> (tensor<2x0xf32>)
%1 = mir.rfft %0 : (tensor<2x0xf32>) -> tensor<2x1xcomplex<f32>>

// -----

// CHECK: expected 8 bins for 8 points, got [2, 5]
%0 = "test.op"() : () -> (tensor<2x5xcomplex<f32>>)
%1 = mir.irfft %0 points 8 full : (tensor<2x5xcomplex<f32>>) -> tensor<2x8xf32>

// -----

// CHECK: expected real and imaginary parts along the last axis, got [2, 7]
%0, %1 = "test.op"() : () -> (tensor<2x7xf32>, tensor<5x3xf32>)
%2 = mir.log_mel %0, %1 : (tensor<2x7xf32>, tensor<5x3xf32>) -> tensor<2x5xf32>

// -----

// CHECK: expected filters of [bands, 3], got [5, 4]
%0, %1 = "test.op"() : () -> (tensor<2x8xf32>, tensor<5x4xf32>)
%2 = mir.log_mel %0, %1 : (tensor<2x8xf32>, tensor<5x4xf32>) -> tensor<2x5xf32>

// -----

// CHECK: a clip has at least two axes, frames and the spectrum of each
%0, %1 = "test.op"() : () -> (tensor<8xf32>, tensor<5x3xf32>)
%2 = mir.log_mel %0, %1 clip : (tensor<8xf32>, tensor<5x3xf32>) -> tensor<5xf32>

// -----

// CHECK: expected a cotangent of shape [2, 5], got [5]
%0, %1, %2 = "test.op"() : () -> (tensor<2x8xf32>, tensor<5x3xf32>, tensor<5xf32>)
%3 = mir.log_mel_backward %0, %1, %2 : (tensor<2x8xf32>, tensor<5x3xf32>, tensor<5xf32>) -> tensor<2x8xf32>

// -----

// CHECK: expected 4 bins for 7 points, got [2, 5]
%0 = "test.op"() : () -> (tensor<2x5xcomplex<f32>>)
%1 = mir.irfft %0 points 7 : (tensor<2x5xcomplex<f32>>) -> tensor<2x7xf32>
