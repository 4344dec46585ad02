// RUN: xdsl-opt %s -p convert-hir-to-mir | filecheck %s --check-prefixes=CHECK,DIRECT
// RUN: xdsl-opt %s -p 'convert-hir-to-mir{fusion-policy=fusable}' | filecheck %s --check-prefixes=CHECK,FUSABLE

// What is left out is ones or zeros.

// CHECK-LABEL: func.func @layer_norm_bare(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT: %0 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<4xf32>
// CHECK-NEXT: %2 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = mir.expand %2 : tensor<f32> to tensor<4xf32>
// CHECK-NEXT: %4 = mir.layer_norm %x, %1, %3 axis 1 eps 1.000000e-05 : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return %4 : tensor<3x4xf32>
// CHECK-NEXT: }
func.func @layer_norm_bare(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = hir.layer_norm %x : tensor<3x4xf32> axis 1 eps 1.000000e-05 -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @rms_norm(%x: tensor<2x3x5xf32>, %gamma: tensor<5xf32>, %beta: tensor<5xf32>) -> tensor<2x3x5xf32> {
// CHECK-NEXT: %0 = mir.rms_norm %x, %gamma, %beta axis 2 eps 1.000000e-05 : (tensor<2x3x5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x5xf32>
// CHECK-NEXT: }
func.func @rms_norm(%x: tensor<2x3x5xf32>, %gamma: tensor<5xf32>, %beta: tensor<5xf32>) -> tensor<2x3x5xf32> {
  %0 = hir.rms_norm %x : tensor<2x3x5xf32> gamma %gamma : tensor<5xf32> beta %beta : tensor<5xf32> axis 2 eps 1.000000e-05 -> tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}

// CHECK-LABEL: func.func @group_norm(%x: tensor<2x6x3x1xf32>, %gamma: tensor<6xf32>, %beta: tensor<6xf32>) -> tensor<2x6x3x1xf32> {
// CHECK-NEXT: %0 = mir.group_norm %x, %gamma, %beta num_groups 3 eps 1.000000e-02 : (tensor<2x6x3x1xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x3x1xf32>
// CHECK-NEXT: func.return %0 : tensor<2x6x3x1xf32>
// CHECK-NEXT: }
func.func @group_norm(%x: tensor<2x6x3x1xf32>, %gamma: tensor<6xf32>, %beta: tensor<6xf32>) -> tensor<2x6x3x1xf32> {
  %0 = hir.group_norm %x, %gamma, %beta num_groups 3 eps 1.000000e-02 : (tensor<2x6x3x1xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x3x1xf32>
  func.return %0 : tensor<2x6x3x1xf32>
}

// CHECK-LABEL: func.func @residual_rms_norm_0(%x: tensor<2x3x5xf32>, %residual: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
// DIRECT-NEXT: %0 = mir.constant dense<1.000000e+00> : tensor<f32>
// DIRECT-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<5xf32>
// DIRECT-NEXT: %2 = mir.constant dense<0.000000e+00> : tensor<f32>
// DIRECT-NEXT: %3 = mir.expand %2 : tensor<f32> to tensor<5xf32>
// DIRECT-NEXT: %4 = mir.fused_residual_rms_norm %x, %residual gamma %1 beta %3 eps 3.000000e-02 : (tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
// DIRECT-NEXT: func.return %4 : tensor<2x3x5xf32>
// DIRECT-NEXT: }
// FUSABLE-NEXT: %0 = mir.add %x, %residual : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
// FUSABLE-NEXT: %1 = mir.constant dense<1.000000e+00> : tensor<f32>
// FUSABLE-NEXT: %2 = mir.expand %1 : tensor<f32> to tensor<5xf32>
// FUSABLE-NEXT: %3 = mir.constant dense<0.000000e+00> : tensor<f32>
// FUSABLE-NEXT: %4 = mir.expand %3 : tensor<f32> to tensor<5xf32>
// FUSABLE-NEXT: %5 = mir.rms_norm %0, %2, %4 axis 2 eps 3.000000e-02 : (tensor<2x3x5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
// FUSABLE-NEXT: func.return %5 : tensor<2x3x5xf32>
// FUSABLE-NEXT: }
func.func @residual_rms_norm_0(%x: tensor<2x3x5xf32>, %residual: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
  %0 = hir.residual_rms_norm %x, %residual : tensor<2x3x5xf32>, tensor<2x3x5xf32> eps 3.000000e-02 -> tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}

// CHECK-LABEL: func.func @residual_layer_norm_2(%x: tensor<2x3x5xf32>, %residual: tensor<2x3x5xf32>, %gamma: tensor<5xf32>, %beta: tensor<5xf32>, %bias: tensor<5xf32>) -> tensor<2x3x5xf32> {
// DIRECT-NEXT: %0 = mir.fused_residual_ln %x, %residual gamma %gamma beta %beta bias %bias eps 3.000000e-02 : (tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
// DIRECT-NEXT: func.return %0 : tensor<2x3x5xf32>
// DIRECT-NEXT: }
// FUSABLE-NEXT: %0 = mir.add %x, %residual : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
// FUSABLE-NEXT: %1 = mir.add %0, %bias : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
// FUSABLE-NEXT: %2 = mir.layer_norm %1, %gamma, %beta axis 2 eps 3.000000e-02 : (tensor<2x3x5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
// FUSABLE-NEXT: func.return %2 : tensor<2x3x5xf32>
// FUSABLE-NEXT: }
func.func @residual_layer_norm_2(%x: tensor<2x3x5xf32>, %residual: tensor<2x3x5xf32>, %gamma: tensor<5xf32>, %beta: tensor<5xf32>, %bias: tensor<5xf32>) -> tensor<2x3x5xf32> {
  %0 = hir.residual_layer_norm %x, %residual : tensor<2x3x5xf32>, tensor<2x3x5xf32> gamma %gamma : tensor<5xf32> beta %beta : tensor<5xf32> bias %bias : tensor<5xf32> eps 3.000000e-02 -> tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}
