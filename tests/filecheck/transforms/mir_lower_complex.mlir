// RUN: xdsl-opt %s -p mir-lower-complex --split-input-file | filecheck %s

// Arguments are taken apart once, and results put together where they are returned.
// CHECK-LABEL: func.func @mul(%z: tensor<3xcomplex<f32>>, %w: tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) {
// CHECK-NEXT: %w_re = mir.real %w : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
// CHECK-NEXT: %w_im = mir.imag %w : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
// CHECK-NEXT: %z_re = mir.real %z : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
// CHECK-NEXT: %z_im = mir.imag %z : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
// CHECK-NEXT: %0 = mir.mul %z_re, %w_re : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %1 = mir.mul %z_im, %w_im : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %y_re = mir.sub %0, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %2 = mir.mul %z_re, %w_im : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %3 = mir.mul %z_im, %w_re : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %y_im = mir.add %2, %3 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %y = mir.complex %y_re, %y_im : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xcomplex<f32>>
// CHECK-NEXT: func.return %y, %z : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
// CHECK-NEXT: }
func.func @mul(%z: tensor<3xcomplex<f32>>, %w: tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) {
  %y = mir.mul %z, %w : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  return %y, %z : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
}

// -----

// What a kernel reads as columns stays a whole.
// CHECK-LABEL: func.func @columns(%z: tensor<9x12xcomplex<f32>>) -> tensor<12x9xcomplex<f32>> {
// CHECK-NEXT: %0 = mir.transpose %z perm [1, 0] : (tensor<9x12xcomplex<f32>>) -> tensor<12x9xcomplex<f32>>
// CHECK-NEXT: %1 = mir.fft %0 norm backward : tensor<12x9xcomplex<f32>>
// CHECK-NEXT: func.return %1 : tensor<12x9xcomplex<f32>>
// CHECK-NEXT: }
func.func @columns(%z: tensor<9x12xcomplex<f32>>) -> tensor<12x9xcomplex<f32>> {
  %0 = mir.transpose %z perm [1, 0] : (tensor<9x12xcomplex<f32>>) -> tensor<12x9xcomplex<f32>>
  %1 = mir.fft %0 norm backward : tensor<12x9xcomplex<f32>>
  return %1 : tensor<12x9xcomplex<f32>>
}

// -----

// Constants are two constants.
// CHECK-LABEL: func.func @add(%z: tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>> {
// CHECK-NEXT: %z_re = mir.real %z : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
// CHECK-NEXT: %z_im = mir.imag %z : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
// CHECK-NEXT: %c_re = mir.constant dense<[1.000000e+00, 3.000000e+00]> : tensor<2xf64>
// CHECK-NEXT: %c_im = mir.constant dense<[2.000000e+00, -4.000000e+00]> : tensor<2xf64>
// CHECK-NEXT: %y_re = mir.add %z_re, %c_re : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
// CHECK-NEXT: %y_im = mir.add %z_im, %c_im : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
// CHECK-NEXT: %y = mir.complex %y_re, %y_im : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xcomplex<f64>>
// CHECK-NEXT: func.return %y : tensor<2xcomplex<f64>>
// CHECK-NEXT: }
func.func @add(%z: tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>> {
  %c = mir.constant dense<[(1.0, 2.0), (3.0, -4.0)]> : tensor<2xcomplex<f64>>
  %y = mir.add %z, %c : (tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  return %y : tensor<2xcomplex<f64>>
}

// -----

// A transform reads and writes complex numbers as they lie in memory.
// CHECK-LABEL: func.func @fft(%z: tensor<4xcomplex<f32>>) -> tensor<4xf32> {
// CHECK-NEXT: %z_re = mir.real %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
// CHECK-NEXT: %z_im = mir.imag %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
// CHECK-NEXT: %doubled_re = mir.add %z_re, %z_re : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %doubled_im = mir.add %z_im, %z_im : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %doubled = mir.complex %doubled_re, %doubled_im : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
// CHECK-NEXT: %y = mir.fft %doubled norm backward : tensor<4xcomplex<f32>>
// CHECK-NEXT: %y_re = mir.real %y : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
// CHECK-NEXT: func.return %y_re : tensor<4xf32>
// CHECK-NEXT: }
func.func @fft(%z: tensor<4xcomplex<f32>>) -> tensor<4xf32> {
  %doubled = mir.add %z, %z : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %y = mir.fft %doubled norm backward : tensor<4xcomplex<f32>>
  %re = mir.real %y : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %re : tensor<4xf32>
}

// -----

// Bodies take and yield whole tensors, and compute on parts.
// CHECK-LABEL: func.func @body(%p: tensor<i1>, %z: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
// CHECK-NEXT: %z_re = mir.real %z : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
// CHECK-NEXT: %z_im = mir.imag %z : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
// CHECK-NEXT: %y_re = mir.add %z_re, %z_re : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %y_im = mir.add %z_im, %z_im : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %y = mir.complex %y_re, %y_im : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xcomplex<f32>>
// CHECK-NEXT: %r = mir.if %p : tensor<i1> captured(%y : tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>) {
// CHECK-NEXT: ^bb0(%v: tensor<3xcomplex<f32>>):
// CHECK-NEXT: %v_re = mir.real %v : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
// CHECK-NEXT: %v_im = mir.imag %v : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
// CHECK-NEXT: %s_re = mir.add %v_re, %v_re : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %s_im = mir.add %v_im, %v_im : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %s = mir.complex %s_re, %s_im : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xcomplex<f32>>
// CHECK-NEXT: mir.yield %s : tensor<3xcomplex<f32>>
// CHECK-NEXT: } else {
// CHECK-NEXT: ^bb0(%v_1: tensor<3xcomplex<f32>>):
// CHECK-NEXT: mir.yield %v_1 : tensor<3xcomplex<f32>>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %r : tensor<3xcomplex<f32>>
// CHECK-NEXT: }
// CHECK-NEXT: }
func.func @body(%p: tensor<i1>, %z: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
  %y = mir.add %z, %z : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  %r = mir.if %p : tensor<i1> captured(%y : tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>) {
  ^bb0(%v: tensor<3xcomplex<f32>>):
    %s = mir.add %v, %v : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
    mir.yield %s : tensor<3xcomplex<f32>>
  } else {
  ^bb0(%v: tensor<3xcomplex<f32>>):
    mir.yield %v : tensor<3xcomplex<f32>>
  }
  return %r : tensor<3xcomplex<f32>>
}
