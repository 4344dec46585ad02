// RUN: xdsl-opt %s --allow-unregistered-dialect -p convert-stablehlo-to-mir | filecheck %s

// A model with a call, which is walked into; constants stay numbers where they are spread.
// CHECK-LABEL: func.func @main(%x: tensor<8x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x4xf32> {mir.name = "w", mir.kind = "input"}, %b: tensor<4xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<8x4xf32> {
// CHECK-NEXT: %0 = mir.dot_general %x, %w contracting [1] x [0] batch [] x [] : (tensor<8x3xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
// CHECK-NEXT: %1 = mir.reshape %b : tensor<4xf32> to tensor<1x4xf32>
// CHECK-NEXT: %2 = mir.expand %1 : tensor<1x4xf32> to tensor<8x4xf32>
// CHECK-NEXT: %3 = mir.add %0, %2 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK-NEXT: %4 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %5 = mir.max %3, %4 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
// CHECK-NEXT: func.return %5 : tensor<8x4xf32>
// CHECK-NEXT: }
// CHECK-NOT: func.func
func.func @main(%x: tensor<8x3xf32>, %w: tensor<3x4xf32>, %b: tensor<4xf32>) -> tensor<8x4xf32> {
  %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<8x3xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  %1 = "stablehlo.broadcast_in_dim"(%b) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<8x4xf32>
  %2 = "stablehlo.add"(%0, %1) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = func.call @relu(%2) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  func.return %3 : tensor<8x4xf32>
}

func.func private @relu(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
  %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x4xf32>
  %2 = "stablehlo.maximum"(%x, %1) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  func.return %2 : tensor<8x4xf32>
}
