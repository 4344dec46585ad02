// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @rms_norm(%x: tensor<2x3xf32>, %gamma: tensor<3xf32>, %beta: tensor<3xf32>) {
// CHECK-NEXT: %y = mir.rms_norm %x, %gamma, %beta axis 1 eps 1.000000e-05 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %dx = mir.rms_norm_backward_input %x, %gamma, %beta, %x axis 1 eps 1.000000e-01 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %dgamma = mir.rms_norm_backward_gamma %x, %gamma, %beta, %x axis -1 eps 1.000000e-01 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %dbeta = mir.rms_norm_backward_beta %x, %gamma, %beta, %x axis 1 eps 1.000000e-01 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @rms_norm(%x: tensor<2x3xf32>, %gamma: tensor<3xf32>, %beta: tensor<3xf32>) {
  %y = mir.rms_norm %x, %gamma, %beta axis 1 eps 1.000000e-05 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %dx = mir.rms_norm_backward_input %x, %gamma, %beta, %x axis 1 eps 1.000000e-01 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %dgamma = mir.rms_norm_backward_gamma %x, %gamma, %beta, %x axis -1 eps 1.000000e-01 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
  %dbeta = mir.rms_norm_backward_beta %x, %gamma, %beta, %x axis 1 eps 1.000000e-01 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
  func.return
}

// GENERIC: "mir.rms_norm"(%{{.*}}) <{axis = 1 : i64, eps = 1.000000e-05 : f64}>
