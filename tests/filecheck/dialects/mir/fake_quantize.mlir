// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @fake_quantize(%x: tensor<2x3xf32>, %one: tensor<1xf32>, %each: tensor<3xf32>) {
// CHECK-NEXT: %through = mir.straight_through %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %y, %scale = mir.fake_quantize %x bits 8 ste identity scale_mode per_batch : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<1xf32>)
// CHECK-NEXT: %ema, %next = mir.fake_quantize %x state %each bits 4 axis 1 ste clipped_identity scale_mode ema decay 9.000000e-01 : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
// CHECK-NEXT: %fixed, %used = mir.fake_quantize %x state %one bits 2 ste hard_tanh scale_mode fixed : (tensor<2x3xf32>, tensor<1xf32>) -> (tensor<2x3xf32>, tensor<1xf32>)
// CHECK-NEXT: %dx = mir.fake_quantize_backward %x, %each, %x bits 4 axis 1 ste tanh : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %lsq = mir.fake_quantize_lsq %x, %one bits 8 : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %lsq_dx = mir.fake_quantize_lsq_backward_x %x, %each, %x bits 8 axis -1 : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %lsq_dscale = mir.fake_quantize_lsq_backward_scale %x, %one, %x bits 8 : (tensor<2x3xf32>, tensor<1xf32>, tensor<2x3xf32>) -> tensor<1xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @fake_quantize(%x: tensor<2x3xf32>, %one: tensor<1xf32>, %each: tensor<3xf32>) {
  %through = mir.straight_through %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %y, %scale = mir.fake_quantize %x bits 8 ste identity scale_mode per_batch : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<1xf32>)
  %ema, %next = mir.fake_quantize %x state %each bits 4 axis 1 ste clipped_identity scale_mode ema decay 9.000000e-01 : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  %fixed, %used = mir.fake_quantize %x state %one bits 2 ste hard_tanh scale_mode fixed : (tensor<2x3xf32>, tensor<1xf32>) -> (tensor<2x3xf32>, tensor<1xf32>)
  %dx = mir.fake_quantize_backward %x, %each, %x bits 4 axis 1 ste tanh : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %lsq = mir.fake_quantize_lsq %x, %one bits 8 : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
  %lsq_dx = mir.fake_quantize_lsq_backward_x %x, %each, %x bits 8 axis -1 : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %lsq_dscale = mir.fake_quantize_lsq_backward_scale %x, %one, %x bits 8 : (tensor<2x3xf32>, tensor<1xf32>, tensor<2x3xf32>) -> tensor<1xf32>
  func.return
}

// GENERIC: "mir.fake_quantize"(%{{.*}}) <{bits = 4 : i64, axis = 1 : i64, ste = #mir<ste clipped_identity>, scale_mode = #mir<scale_mode ema>, decay = 9.000000e-01 : f64}>
