// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family spectral.

// CHECK-LABEL: func.func @fft(%x: tensor<2x4xcomplex<f32>>, %y: tensor<2x4xcomplex<f32>>, %g: tensor<2x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>> {
// CHECK-NEXT: %d0 = mir.fft %g inverse norm backward : tensor<2x4xcomplex<f32>>
// CHECK-NEXT: func.return %d0 : tensor<2x4xcomplex<f32>>
// CHECK-NEXT: }
func.func @fft(%x: tensor<2x4xcomplex<f32>>, %y: tensor<2x4xcomplex<f32>>, %g: tensor<2x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>> {
  %d0 = mir.vjp primals(%x : tensor<2x4xcomplex<f32>>) outputs(%y : tensor<2x4xcomplex<f32>>) cotangents(%g : tensor<2x4xcomplex<f32>>) of [0] wrt [0] -> tensor<2x4xcomplex<f32>> {
  ^bb0(%a: tensor<2x4xcomplex<f32>>):
    %0 = mir.fft %a norm backward : tensor<2x4xcomplex<f32>>
    mir.yield %0 : tensor<2x4xcomplex<f32>>
  }
  return %d0 : tensor<2x4xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func @inverse(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>, %g: tensor<2x8xf32>) -> tensor<2x8xf32> {
// CHECK-NEXT: %0 = mir.fft %g norm backward : tensor<2x8xf32>
// CHECK-NEXT: %1 = mir.constant dense<2.500000e-01> : tensor<f32>
// CHECK-NEXT: %d0 = mir.mul %0, %1 : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
// CHECK-NEXT: func.return %d0 : tensor<2x8xf32>
// CHECK-NEXT: }
func.func @inverse(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>, %g: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %d0 = mir.vjp primals(%x : tensor<2x8xf32>) outputs(%y : tensor<2x8xf32>) cotangents(%g : tensor<2x8xf32>) of [0] wrt [0] -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x8xf32>):
    %0 = mir.fft %a inverse norm forward : tensor<2x8xf32>
    mir.yield %0 : tensor<2x8xf32>
  }
  return %d0 : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func.func @ortho(%x: tensor<2x4xcomplex<f32>>, %y: tensor<2x4xcomplex<f32>>, %g: tensor<2x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>> {
// CHECK-NEXT: %d0 = mir.fft %g inverse norm ortho : tensor<2x4xcomplex<f32>>
// CHECK-NEXT: func.return %d0 : tensor<2x4xcomplex<f32>>
// CHECK-NEXT: }
func.func @ortho(%x: tensor<2x4xcomplex<f32>>, %y: tensor<2x4xcomplex<f32>>, %g: tensor<2x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>> {
  %d0 = mir.vjp primals(%x : tensor<2x4xcomplex<f32>>) outputs(%y : tensor<2x4xcomplex<f32>>) cotangents(%g : tensor<2x4xcomplex<f32>>) of [0] wrt [0] -> tensor<2x4xcomplex<f32>> {
  ^bb0(%a: tensor<2x4xcomplex<f32>>):
    %0 = mir.fft %a norm ortho : tensor<2x4xcomplex<f32>>
    mir.yield %0 : tensor<2x4xcomplex<f32>>
  }
  return %d0 : tensor<2x4xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func @rfft(%x: tensor<2x8xf32>, %y: tensor<2x5xcomplex<f32>>, %g: tensor<2x5xcomplex<f32>>) -> tensor<2x8xf32> {
// CHECK-NEXT: %0 = mir.real %g : (tensor<2x5xcomplex<f32>>) -> tensor<2x5xf32>
// CHECK-NEXT: %1 = mir.imag %g : (tensor<2x5xcomplex<f32>>) -> tensor<2x5xf32>
// CHECK-NEXT: %2 = mir.constant dense<[1.000000e+00, 5.000000e-01, 5.000000e-01, 5.000000e-01, 1.000000e+00]> : tensor<5xf32>
// CHECK-NEXT: %3 = mir.mul %0, %2 : (tensor<2x5xf32>, tensor<5xf32>) -> tensor<2x5xf32>
// CHECK-NEXT: %4 = mir.mul %1, %2 : (tensor<2x5xf32>, tensor<5xf32>) -> tensor<2x5xf32>
// CHECK-NEXT: %5 = mir.complex %3, %4 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xcomplex<f32>>
// CHECK-NEXT: %d0 = mir.irfft %5 points 8 : (tensor<2x5xcomplex<f32>>) -> tensor<2x8xf32>
// CHECK-NEXT: func.return %d0 : tensor<2x8xf32>
// CHECK-NEXT: }
func.func @rfft(%x: tensor<2x8xf32>, %y: tensor<2x5xcomplex<f32>>, %g: tensor<2x5xcomplex<f32>>) -> tensor<2x8xf32> {
  %d0 = mir.vjp primals(%x : tensor<2x8xf32>) outputs(%y : tensor<2x5xcomplex<f32>>) cotangents(%g : tensor<2x5xcomplex<f32>>) of [0] wrt [0] -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x8xf32>):
    %0 = mir.rfft %a : (tensor<2x8xf32>) -> tensor<2x5xcomplex<f32>>
    mir.yield %0 : tensor<2x5xcomplex<f32>>
  }
  return %d0 : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func.func @irfft(%x: tensor<2x5xcomplex<f32>>, %y: tensor<2x8xf32>, %g: tensor<2x8xf32>) -> tensor<2x5xcomplex<f32>> {
// CHECK-NEXT: %0 = mir.rfft %g : (tensor<2x8xf32>) -> tensor<2x5xcomplex<f32>>
// CHECK-NEXT: %1 = mir.real %0 : (tensor<2x5xcomplex<f32>>) -> tensor<2x5xf32>
// CHECK-NEXT: %2 = mir.imag %0 : (tensor<2x5xcomplex<f32>>) -> tensor<2x5xf32>
// CHECK-NEXT: %3 = mir.constant dense<[1.000000e+00, 2.000000e+00, 2.000000e+00, 2.000000e+00, 1.000000e+00]> : tensor<5xf32>
// CHECK-NEXT: %4 = mir.mul %1, %3 : (tensor<2x5xf32>, tensor<5xf32>) -> tensor<2x5xf32>
// CHECK-NEXT: %5 = mir.mul %2, %3 : (tensor<2x5xf32>, tensor<5xf32>) -> tensor<2x5xf32>
// CHECK-NEXT: %d0 = mir.complex %4, %5 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xcomplex<f32>>
// CHECK-NEXT: func.return %d0 : tensor<2x5xcomplex<f32>>
// CHECK-NEXT: }
func.func @irfft(%x: tensor<2x5xcomplex<f32>>, %y: tensor<2x8xf32>, %g: tensor<2x8xf32>) -> tensor<2x5xcomplex<f32>> {
  %d0 = mir.vjp primals(%x : tensor<2x5xcomplex<f32>>) outputs(%y : tensor<2x8xf32>) cotangents(%g : tensor<2x8xf32>) of [0] wrt [0] -> tensor<2x5xcomplex<f32>> {
  ^bb0(%a: tensor<2x5xcomplex<f32>>):
    %0 = mir.irfft %a points 8 : (tensor<2x5xcomplex<f32>>) -> tensor<2x8xf32>
    mir.yield %0 : tensor<2x8xf32>
  }
  return %d0 : tensor<2x5xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func @rfft_full(%x: tensor<2x8xf32>, %y: tensor<2x8xcomplex<f32>>, %g: tensor<2x8xcomplex<f32>>) -> tensor<2x8xf32> {
// CHECK-NEXT: %d0 = mir.irfft %g points 8 full : (tensor<2x8xcomplex<f32>>) -> tensor<2x8xf32>
// CHECK-NEXT: func.return %d0 : tensor<2x8xf32>
// CHECK-NEXT: }
func.func @rfft_full(%x: tensor<2x8xf32>, %y: tensor<2x8xcomplex<f32>>, %g: tensor<2x8xcomplex<f32>>) -> tensor<2x8xf32> {
  %d0 = mir.vjp primals(%x : tensor<2x8xf32>) outputs(%y : tensor<2x8xcomplex<f32>>) cotangents(%g : tensor<2x8xcomplex<f32>>) of [0] wrt [0] -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x8xf32>):
    %0 = mir.rfft %a full : (tensor<2x8xf32>) -> tensor<2x8xcomplex<f32>>
    mir.yield %0 : tensor<2x8xcomplex<f32>>
  }
  return %d0 : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func.func @irfft_full(%x: tensor<2x8xcomplex<f32>>, %y: tensor<2x8xf32>, %g: tensor<2x8xf32>) -> tensor<2x8xcomplex<f32>> {
// CHECK-NEXT: %d0 = mir.rfft %g full : (tensor<2x8xf32>) -> tensor<2x8xcomplex<f32>>
// CHECK-NEXT: func.return %d0 : tensor<2x8xcomplex<f32>>
// CHECK-NEXT: }
func.func @irfft_full(%x: tensor<2x8xcomplex<f32>>, %y: tensor<2x8xf32>, %g: tensor<2x8xf32>) -> tensor<2x8xcomplex<f32>> {
  %d0 = mir.vjp primals(%x : tensor<2x8xcomplex<f32>>) outputs(%y : tensor<2x8xf32>) cotangents(%g : tensor<2x8xf32>) of [0] wrt [0] -> tensor<2x8xcomplex<f32>> {
  ^bb0(%a: tensor<2x8xcomplex<f32>>):
    %0 = mir.irfft %a points 8 full : (tensor<2x8xcomplex<f32>>) -> tensor<2x8xf32>
    mir.yield %0 : tensor<2x8xf32>
  }
  return %d0 : tensor<2x8xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func @log_mel(%x: tensor<2x8xf32>, %w: tensor<5x3xf32>, %y: tensor<2x5xf32>, %g: tensor<2x5xf32>) -> tensor<2x8xf32> {
// CHECK-NEXT: %d0 = mir.log_mel_backward %x, %w, %g : (tensor<2x8xf32>, tensor<5x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
// CHECK-NEXT: func.return %d0 : tensor<2x8xf32>
// CHECK-NEXT: }
func.func @log_mel(%x: tensor<2x8xf32>, %w: tensor<5x3xf32>, %y: tensor<2x5xf32>, %g: tensor<2x5xf32>) -> tensor<2x8xf32> {
  %d0 = mir.vjp primals(%x, %w : tensor<2x8xf32>, tensor<5x3xf32>) outputs(%y : tensor<2x5xf32>) cotangents(%g : tensor<2x5xf32>) of [0] wrt [0] -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<5x3xf32>):
    %0 = mir.log_mel %a, %b : (tensor<2x8xf32>, tensor<5x3xf32>) -> tensor<2x5xf32>
    mir.yield %0 : tensor<2x5xf32>
  }
  return %d0 : tensor<2x8xf32>
}
