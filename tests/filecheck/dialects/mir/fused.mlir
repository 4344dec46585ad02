// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @fused(%x: tensor<2x4xf32>, %gamma: tensor<4xf32>, %beta: tensor<4xf32>) {
// CHECK-NEXT: %ln = mir.fused_residual_ln %x, %x gamma %gamma beta %beta eps 1.000000e-05 : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %rms = mir.fused_residual_rms_norm %x, %x gamma %gamma beta %beta bias %beta eps 1.000000e-05 : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %gated = mir.fused_swiglu %x : tensor<2x4xf32> to tensor<2x2xf32>
// CHECK-NEXT: %cast = mir.fused_swiglu %x gate_first : tensor<2x4xf32> to tensor<2x2xbf16>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @fused(%x: tensor<2x4xf32>, %gamma: tensor<4xf32>, %beta: tensor<4xf32>) {
  %ln = mir.fused_residual_ln %x, %x gamma %gamma beta %beta eps 1.000000e-05 : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %rms = mir.fused_residual_rms_norm %x, %x gamma %gamma beta %beta bias %beta eps 1.000000e-05 : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %gated = mir.fused_swiglu %x : tensor<2x4xf32> to tensor<2x2xf32>
  %cast = mir.fused_swiglu %x gate_first : tensor<2x4xf32> to tensor<2x2xbf16>
  func.return
}

// GENERIC: "mir.fused_residual_rms_norm"(%{{.*}}) <{eps = 1.000000e-05 : f64}>
// GENERIC: "mir.fused_swiglu"(%{{.*}}) <{gate_first}>
