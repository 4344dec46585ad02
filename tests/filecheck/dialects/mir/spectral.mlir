// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @spectral(%z: tensor<2x6xcomplex<f32>>, %x: tensor<2x8xf64>, %filters: tensor<5x3xf64>, %dy: tensor<2x5xf64>) {
// CHECK-NEXT: %forward = mir.fft %z norm backward : tensor<2x6xcomplex<f32>>
// CHECK-NEXT: %inverse = mir.fft %z inverse norm forward : tensor<2x6xcomplex<f32>>
// CHECK-NEXT: %parts = mir.fft %x norm ortho : tensor<2x8xf64>
// CHECK-NEXT: %bins = mir.rfft %x : (tensor<2x8xf64>) -> tensor<2x5xcomplex<f64>>
// CHECK-NEXT: %real = mir.irfft %bins points 8 : (tensor<2x5xcomplex<f64>>) -> tensor<2x8xf64>
// CHECK-NEXT: %all = mir.rfft %x full : (tensor<2x8xf64>) -> tensor<2x8xcomplex<f64>>
// CHECK-NEXT: %part = mir.irfft %all points 8 full : (tensor<2x8xcomplex<f64>>) -> tensor<2x8xf64>
// CHECK-NEXT: %frame = mir.log_mel %x, %filters : (tensor<2x8xf64>, tensor<5x3xf64>) -> tensor<2x5xf64>
// CHECK-NEXT: %clip = mir.log_mel %x, %filters clip : (tensor<2x8xf64>, tensor<5x3xf64>) -> tensor<2x5xf64>
// CHECK-NEXT: %back = mir.log_mel_backward %x, %filters, %dy clip : (tensor<2x8xf64>, tensor<5x3xf64>, tensor<2x5xf64>) -> tensor<2x8xf64>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @spectral(%z: tensor<2x6xcomplex<f32>>, %x: tensor<2x8xf64>, %filters: tensor<5x3xf64>, %dy: tensor<2x5xf64>) {
  %forward = mir.fft %z norm backward : tensor<2x6xcomplex<f32>>
  %inverse = mir.fft %z inverse norm forward : tensor<2x6xcomplex<f32>>
  %parts = mir.fft %x norm ortho : tensor<2x8xf64>
  %bins = mir.rfft %x : (tensor<2x8xf64>) -> tensor<2x5xcomplex<f64>>
  %real = mir.irfft %bins points 8 : (tensor<2x5xcomplex<f64>>) -> tensor<2x8xf64>
  %all = mir.rfft %x full : (tensor<2x8xf64>) -> tensor<2x8xcomplex<f64>>
  %part = mir.irfft %all points 8 full : (tensor<2x8xcomplex<f64>>) -> tensor<2x8xf64>
  %frame = mir.log_mel %x, %filters : (tensor<2x8xf64>, tensor<5x3xf64>) -> tensor<2x5xf64>
  %clip = mir.log_mel %x, %filters clip : (tensor<2x8xf64>, tensor<5x3xf64>) -> tensor<2x5xf64>
  %back = mir.log_mel_backward %x, %filters, %dy clip : (tensor<2x8xf64>, tensor<5x3xf64>, tensor<2x5xf64>) -> tensor<2x8xf64>
  return
}

// GENERIC: "mir.fft"(%{{.*}}) <{norm = #mir<fft_norm backward>}>
// GENERIC: "mir.fft"(%{{.*}}) <{inverse, norm = #mir<fft_norm forward>}>
// GENERIC: "mir.log_mel"(%{{.*}}, %{{.*}}) <{clip}>
