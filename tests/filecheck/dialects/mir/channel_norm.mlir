// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @channel_norm(%x: tensor<2x4x3x3xf32>, %gamma: tensor<4xf32>, %beta: tensor<4xf32>) {
// CHECK-NEXT: %group = mir.group_norm %x, %gamma, %beta num_groups 2 eps 1.000000e-05 : (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3x3xf32>
// CHECK-NEXT: %group_dx = mir.group_norm_backward_input %x, %gamma, %beta, %x num_groups 2 eps 1.000000e-05 : (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
// CHECK-NEXT: %group_dgamma = mir.group_norm_backward_gamma %x, %x num_groups 2 eps 1.000000e-05 : (tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>) -> tensor<4xf32>
// CHECK-NEXT: %group_dbeta = mir.group_norm_backward_beta %x, %x num_groups 2 eps 1.000000e-05 : (tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>) -> tensor<4xf32>
// CHECK-NEXT: %layer = mir.layer_norm_2d %x, %gamma, %beta eps 1.000000e-05 : (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3x3xf32>
// CHECK-NEXT: %batch = mir.batch_norm_inference %x, %gamma, %beta, %beta, %gamma axis 1 eps 1.000000e-05 : (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3x3xf32>
// CHECK-NEXT: %batch_dx = mir.batch_norm_inference_backward_input %x, %gamma, %beta, %gamma, %x axis 1 eps 1.000000e-05 : (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
// CHECK-NEXT: %batch_dgamma = mir.batch_norm_inference_backward_gamma %x, %beta, %gamma, %x axis 1 eps 1.000000e-05 : (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4x3x3xf32>) -> tensor<4xf32>
// CHECK-NEXT: %batch_dbeta = mir.batch_norm_inference_backward_beta %x axis 1 : (tensor<2x4x3x3xf32>) -> tensor<4xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @channel_norm(%x: tensor<2x4x3x3xf32>, %gamma: tensor<4xf32>, %beta: tensor<4xf32>) {
  %group = mir.group_norm %x, %gamma, %beta num_groups 2 eps 1.000000e-05 : (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3x3xf32>
  %group_dx = mir.group_norm_backward_input %x, %gamma, %beta, %x num_groups 2 eps 1.000000e-05 : (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %group_dgamma = mir.group_norm_backward_gamma %x, %x num_groups 2 eps 1.000000e-05 : (tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>) -> tensor<4xf32>
  %group_dbeta = mir.group_norm_backward_beta %x, %x num_groups 2 eps 1.000000e-05 : (tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>) -> tensor<4xf32>
  %layer = mir.layer_norm_2d %x, %gamma, %beta eps 1.000000e-05 : (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3x3xf32>
  %batch = mir.batch_norm_inference %x, %gamma, %beta, %beta, %gamma axis 1 eps 1.000000e-05 : (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3x3xf32>
  %batch_dx = mir.batch_norm_inference_backward_input %x, %gamma, %beta, %gamma, %x axis 1 eps 1.000000e-05 : (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %batch_dgamma = mir.batch_norm_inference_backward_gamma %x, %beta, %gamma, %x axis 1 eps 1.000000e-05 : (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4x3x3xf32>) -> tensor<4xf32>
  %batch_dbeta = mir.batch_norm_inference_backward_beta %x axis 1 : (tensor<2x4x3x3xf32>) -> tensor<4xf32>
  func.return
}

// GENERIC: "mir.group_norm"(%{{.*}}) <{num_groups = 2 : i64, eps = 1.000000e-05 : f64}>
// GENERIC: "mir.batch_norm_inference_backward_beta"(%{{.*}}) <{axis = 1 : i64}>
