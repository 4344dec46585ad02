// RUN: ROUNDTRIP
// RUN: GENERIC

// Gains, offsets and biases may be left out.

// CHECK-LABEL: func.func @layer_norm_bare(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT: %0 = hir.layer_norm %x : tensor<3x4xf32> axis 1 eps 1.000000e-05 -> tensor<3x4xf32>
// CHECK-NEXT: func.return %0 : tensor<3x4xf32>
// CHECK-NEXT: }
func.func @layer_norm_bare(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = hir.layer_norm %x : tensor<3x4xf32> axis 1 eps 1.000000e-05 -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}

// GENERIC: "hir.layer_norm"(%{{.*}}) <{axis = 1 : i64, eps = 1.000000e-05 : f64, operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<3x4xf32>) -> tensor<3x4xf32>

// CHECK-LABEL: func.func @rms_norm(%x: tensor<2x3x5xf32>, %gamma: tensor<5xf32>, %beta: tensor<5xf32>) -> tensor<2x3x5xf32> {
// CHECK-NEXT: %0 = hir.rms_norm %x : tensor<2x3x5xf32> gamma %gamma : tensor<5xf32> beta %beta : tensor<5xf32> axis 2 eps 1.000000e-05 -> tensor<2x3x5xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x5xf32>
// CHECK-NEXT: }
func.func @rms_norm(%x: tensor<2x3x5xf32>, %gamma: tensor<5xf32>, %beta: tensor<5xf32>) -> tensor<2x3x5xf32> {
  %0 = hir.rms_norm %x : tensor<2x3x5xf32> gamma %gamma : tensor<5xf32> beta %beta : tensor<5xf32> axis 2 eps 1.000000e-05 -> tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}

// GENERIC: "hir.rms_norm"(%{{.*}}) <{axis = 2 : i64, eps = 1.000000e-05 : f64, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>

// CHECK-LABEL: func.func @group_norm(%x: tensor<2x6x3x1xf32>, %gamma: tensor<6xf32>, %beta: tensor<6xf32>) -> tensor<2x6x3x1xf32> {
// CHECK-NEXT: %0 = hir.group_norm %x, %gamma, %beta num_groups 3 eps 1.000000e-02 : (tensor<2x6x3x1xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x3x1xf32>
// CHECK-NEXT: func.return %0 : tensor<2x6x3x1xf32>
// CHECK-NEXT: }
func.func @group_norm(%x: tensor<2x6x3x1xf32>, %gamma: tensor<6xf32>, %beta: tensor<6xf32>) -> tensor<2x6x3x1xf32> {
  %0 = hir.group_norm %x, %gamma, %beta num_groups 3 eps 1.000000e-02 : (tensor<2x6x3x1xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x3x1xf32>
  func.return %0 : tensor<2x6x3x1xf32>
}

// CHECK-LABEL: func.func @residual_rms_norm_0(%x: tensor<2x3x5xf32>, %residual: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
// CHECK-NEXT: %0 = hir.residual_rms_norm %x, %residual : tensor<2x3x5xf32>, tensor<2x3x5xf32> eps 3.000000e-02 -> tensor<2x3x5xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x5xf32>
// CHECK-NEXT: }
func.func @residual_rms_norm_0(%x: tensor<2x3x5xf32>, %residual: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
  %0 = hir.residual_rms_norm %x, %residual : tensor<2x3x5xf32>, tensor<2x3x5xf32> eps 3.000000e-02 -> tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}

// GENERIC: "hir.residual_rms_norm"(%{{.*}}) <{eps = 3.000000e-02 : f64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>}> : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>

// CHECK-LABEL: func.func @residual_rms_norm_2(%x: tensor<2x3x5xf32>, %residual: tensor<2x3x5xf32>, %gamma: tensor<5xf32>, %beta: tensor<5xf32>, %bias: tensor<5xf32>) -> tensor<2x3x5xf32> {
// CHECK-NEXT: %0 = hir.residual_rms_norm %x, %residual : tensor<2x3x5xf32>, tensor<2x3x5xf32> gamma %gamma : tensor<5xf32> beta %beta : tensor<5xf32> bias %bias : tensor<5xf32> eps 3.000000e-02 -> tensor<2x3x5xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x5xf32>
// CHECK-NEXT: }
func.func @residual_rms_norm_2(%x: tensor<2x3x5xf32>, %residual: tensor<2x3x5xf32>, %gamma: tensor<5xf32>, %beta: tensor<5xf32>, %bias: tensor<5xf32>) -> tensor<2x3x5xf32> {
  %0 = hir.residual_rms_norm %x, %residual : tensor<2x3x5xf32>, tensor<2x3x5xf32> gamma %gamma : tensor<5xf32> beta %beta : tensor<5xf32> bias %bias : tensor<5xf32> eps 3.000000e-02 -> tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}

// CHECK-LABEL: func.func @residual_layer_norm_2(%x: tensor<2x3x5xf32>, %residual: tensor<2x3x5xf32>, %gamma: tensor<5xf32>, %beta: tensor<5xf32>, %bias: tensor<5xf32>) -> tensor<2x3x5xf32> {
// CHECK-NEXT: %0 = hir.residual_layer_norm %x, %residual : tensor<2x3x5xf32>, tensor<2x3x5xf32> gamma %gamma : tensor<5xf32> beta %beta : tensor<5xf32> bias %bias : tensor<5xf32> eps 3.000000e-02 -> tensor<2x3x5xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x5xf32>
// CHECK-NEXT: }
func.func @residual_layer_norm_2(%x: tensor<2x3x5xf32>, %residual: tensor<2x3x5xf32>, %gamma: tensor<5xf32>, %beta: tensor<5xf32>, %bias: tensor<5xf32>) -> tensor<2x3x5xf32> {
  %0 = hir.residual_layer_norm %x, %residual : tensor<2x3x5xf32>, tensor<2x3x5xf32> gamma %gamma : tensor<5xf32> beta %beta : tensor<5xf32> bias %bias : tensor<5xf32> eps 3.000000e-02 -> tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}

// GENERIC: "hir.residual_layer_norm"(%{{.*}}) <{eps = 3.000000e-02 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
