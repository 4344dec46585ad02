// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family channel_norm.

// Mean and variance over a group of channels.
// CHECK-LABEL: func.func @group_norm(%x0: tensor<2x4x3xf32>, %x1: tensor<4xf32>, %x2: tensor<4xf32>, %y0: tensor<2x4x3xf32>, %g0: tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT: %dx0 = mir.group_norm_backward_input %x0, %x1, %x2, %g0 num_groups 2 eps 1.000000e-03 : (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: %dx1 = mir.group_norm_backward_gamma %x0, %g0 num_groups 2 eps 1.000000e-03 : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<4xf32>
// CHECK-NEXT: %dx2 = mir.group_norm_backward_beta %x0, %g0 num_groups 2 eps 1.000000e-03 : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<4xf32>
// CHECK-NEXT: func.return %dx0, %dx1, %dx2 : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
func.func @group_norm(%x0: tensor<2x4x3xf32>, %x1: tensor<4xf32>, %x2: tensor<4xf32>, %y0: tensor<2x4x3xf32>, %g0: tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>) {
  %dx0, %dx1, %dx2 = mir.vjp primals(%x0, %x1, %x2 : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>) outputs(%y0 : tensor<2x4x3xf32>) cotangents(%g0 : tensor<2x4x3xf32>) of [0] wrt [0, 1, 2] -> tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32> {
  ^bb0(%a: tensor<2x4x3xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    %0 = mir.group_norm %a, %b, %c num_groups 2 eps 1.000000e-03 : (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3xf32>
    mir.yield %0 : tensor<2x4x3xf32>
  }
  func.return %dx0, %dx1, %dx2 : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// The mean gets `-gamma inv dbeta`, the variance `-gamma inv^2 dgamma / 2`.
// CHECK-LABEL: func.func @batch_norm_inference(%x0: tensor<2x4x3xf32>, %x1: tensor<4xf32>, %x2: tensor<4xf32>, %x3: tensor<4xf32>, %x4: tensor<4xf32>, %y0: tensor<2x4x3xf32>, %g0: tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT: %dx0 = mir.batch_norm_inference_backward_input %x0, %x1, %x3, %x4, %g0 axis 1 eps 1.000000e-03 : (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: %dx1 = mir.batch_norm_inference_backward_gamma %x0, %x3, %x4, %g0 axis 1 eps 1.000000e-03 : (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4x3xf32>) -> tensor<4xf32>
// CHECK-NEXT: %dx2 = mir.batch_norm_inference_backward_beta %g0 axis 1 : (tensor<2x4x3xf32>) -> tensor<4xf32>
// CHECK-NEXT: %0 = mir.constant dense<1.000000e-03> : tensor<f32>
// CHECK-NEXT: %1 = mir.add %x4, %0 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT: %2 = mir.rsqrt %1 : tensor<4xf32>
// CHECK-NEXT: %3 = mir.mul %x1, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %4 = mir.batch_norm_inference_backward_beta %g0 axis 1 : (tensor<2x4x3xf32>) -> tensor<4xf32>
// CHECK-NEXT: %5 = mir.mul %3, %4 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %dx3 = mir.neg %5 : tensor<4xf32>
// CHECK-NEXT: %6 = mir.constant dense<1.000000e-03> : tensor<f32>
// CHECK-NEXT: %7 = mir.add %x4, %6 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT: %8 = mir.rsqrt %7 : tensor<4xf32>
// CHECK-NEXT: %9 = mir.mul %x1, %8 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %10 = mir.mul %9, %8 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %11 = mir.batch_norm_inference_backward_gamma %x0, %x3, %x4, %g0 axis 1 eps 1.000000e-03 : (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4x3xf32>) -> tensor<4xf32>
// CHECK-NEXT: %12 = mir.mul %10, %11 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %13 = mir.constant dense<-5.000000e-01> : tensor<f32>
// CHECK-NEXT: %dx4 = mir.mul %12, %13 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT: func.return %dx0, %dx1, %dx2, %dx3, %dx4 : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
func.func @batch_norm_inference(%x0: tensor<2x4x3xf32>, %x1: tensor<4xf32>, %x2: tensor<4xf32>, %x3: tensor<4xf32>, %x4: tensor<4xf32>, %y0: tensor<2x4x3xf32>, %g0: tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %dx0, %dx1, %dx2, %dx3, %dx4 = mir.vjp primals(%x0, %x1, %x2, %x3, %x4 : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) outputs(%y0 : tensor<2x4x3xf32>) cotangents(%g0 : tensor<2x4x3xf32>) of [0] wrt [0, 1, 2, 3, 4] -> tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {
  ^bb0(%a: tensor<2x4x3xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>, %e: tensor<4xf32>):
    %0 = mir.batch_norm_inference %a, %b, %c, %d, %e axis 1 eps 1.000000e-03 : (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3xf32>
    mir.yield %0 : tensor<2x4x3xf32>
  }
  func.return %dx0, %dx1, %dx2, %dx3, %dx4 : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
