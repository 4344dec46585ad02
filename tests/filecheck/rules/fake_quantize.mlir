// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family fake_quantize.

// The carrier gets it all.
// CHECK-LABEL: func.func @straight_through(%x0: tensor<3x4xf32>, %x1: tensor<3x4xf32>, %y0: tensor<3x4xf32>, %g0: tensor<3x4xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT: func.return %g0 : tensor<3x4xf32>
// CHECK-NEXT: }
func.func @straight_through(%x0: tensor<3x4xf32>, %x1: tensor<3x4xf32>, %y0: tensor<3x4xf32>, %g0: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %dx1 = mir.vjp primals(%x0, %x1 : tensor<3x4xf32>, tensor<3x4xf32>) outputs(%y0 : tensor<3x4xf32>) cotangents(%g0 : tensor<3x4xf32>) of [0] wrt [1] -> tensor<3x4xf32> {
  ^bb0(%a: tensor<3x4xf32>, %b: tensor<3x4xf32>):
    %0 = mir.straight_through %a, %b : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    mir.yield %0 : tensor<3x4xf32>
  }
  func.return %dx1 : tensor<3x4xf32>
}

// -----

// Straight through.
// CHECK-LABEL: func.func @fake_quantize(%x0: tensor<3x4xf32>, %y0: tensor<3x4xf32>, %y1: tensor<1xf32>, %g0: tensor<3x4xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT: func.return %g0 : tensor<3x4xf32>
// CHECK-NEXT: }
func.func @fake_quantize(%x0: tensor<3x4xf32>, %y0: tensor<3x4xf32>, %y1: tensor<1xf32>, %g0: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %dx0 = mir.vjp primals(%x0 : tensor<3x4xf32>) outputs(%y0, %y1 : tensor<3x4xf32>, tensor<1xf32>) cotangents(%g0 : tensor<3x4xf32>) of [0] wrt [0] -> tensor<3x4xf32> {
  ^bb0(%a: tensor<3x4xf32>):
    %0, %1 = mir.fake_quantize %a bits 8 ste identity scale_mode per_batch : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<1xf32>)
    mir.yield %0, %1 : tensor<3x4xf32>, tensor<1xf32>
  }
  func.return %dx0 : tensor<3x4xf32>
}

// -----

// The scale that was used is a result of the op.
// CHECK-LABEL: func.func @fake_quantize_clipped(%x0: tensor<3x4xf32>, %x1: tensor<4xf32>, %y0: tensor<3x4xf32>, %y1: tensor<4xf32>, %g0: tensor<3x4xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT: %dx0 = mir.fake_quantize_backward %x0, %y1, %g0 bits 4 axis 1 ste clipped_identity : (tensor<3x4xf32>, tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return %dx0 : tensor<3x4xf32>
// CHECK-NEXT: }
func.func @fake_quantize_clipped(%x0: tensor<3x4xf32>, %x1: tensor<4xf32>, %y0: tensor<3x4xf32>, %y1: tensor<4xf32>, %g0: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %dx0 = mir.vjp primals(%x0, %x1 : tensor<3x4xf32>, tensor<4xf32>) outputs(%y0, %y1 : tensor<3x4xf32>, tensor<4xf32>) cotangents(%g0 : tensor<3x4xf32>) of [0] wrt [0] -> tensor<3x4xf32> {
  ^bb0(%a: tensor<3x4xf32>, %b: tensor<4xf32>):
    %0, %1 = mir.fake_quantize %a state %b bits 4 axis 1 ste clipped_identity scale_mode ema decay 9.000000e-01 : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>)
    mir.yield %0, %1 : tensor<3x4xf32>, tensor<4xf32>
  }
  func.return %dx0 : tensor<3x4xf32>
}

// -----

// Nothing flows from the scale.
// CHECK-LABEL: func.func @fake_quantize_scale(%x0: tensor<3x4xf32>, %y0: tensor<3x4xf32>, %y1: tensor<1xf32>, %g1: tensor<1xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %dx0 = mir.expand %0 : tensor<f32> to tensor<3x4xf32>
// CHECK-NEXT: func.return %dx0 : tensor<3x4xf32>
// CHECK-NEXT: }
func.func @fake_quantize_scale(%x0: tensor<3x4xf32>, %y0: tensor<3x4xf32>, %y1: tensor<1xf32>, %g1: tensor<1xf32>) -> tensor<3x4xf32> {
  %dx0 = mir.vjp primals(%x0 : tensor<3x4xf32>) outputs(%y0, %y1 : tensor<3x4xf32>, tensor<1xf32>) cotangents(%g1 : tensor<1xf32>) of [1] wrt [0] -> tensor<3x4xf32> {
  ^bb0(%a: tensor<3x4xf32>):
    %0, %1 = mir.fake_quantize %a bits 8 ste tanh scale_mode per_batch : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<1xf32>)
    mir.yield %0, %1 : tensor<3x4xf32>, tensor<1xf32>
  }
  func.return %dx0 : tensor<3x4xf32>
}

// -----

// A step size that is learnt.
// CHECK-LABEL: func.func @fake_quantize_lsq(%x0: tensor<3x4xf32>, %x1: tensor<4xf32>, %y0: tensor<3x4xf32>, %g0: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>) {
// CHECK-NEXT: %dx0 = mir.fake_quantize_lsq_backward_x %x0, %x1, %g0 bits 4 axis 1 : (tensor<3x4xf32>, tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %dx1 = mir.fake_quantize_lsq_backward_scale %x0, %x1, %g0 bits 4 axis 1 : (tensor<3x4xf32>, tensor<4xf32>, tensor<3x4xf32>) -> tensor<4xf32>
// CHECK-NEXT: func.return %dx0, %dx1 : tensor<3x4xf32>, tensor<4xf32>
// CHECK-NEXT: }
func.func @fake_quantize_lsq(%x0: tensor<3x4xf32>, %x1: tensor<4xf32>, %y0: tensor<3x4xf32>, %g0: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>) {
  %dx0, %dx1 = mir.vjp primals(%x0, %x1 : tensor<3x4xf32>, tensor<4xf32>) outputs(%y0 : tensor<3x4xf32>) cotangents(%g0 : tensor<3x4xf32>) of [0] wrt [0, 1] -> tensor<3x4xf32>, tensor<4xf32> {
  ^bb0(%a: tensor<3x4xf32>, %b: tensor<4xf32>):
    %0 = mir.fake_quantize_lsq %a, %b bits 4 axis 1 : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    mir.yield %0 : tensor<3x4xf32>
  }
  func.return %dx0, %dx1 : tensor<3x4xf32>, tensor<4xf32>
}
