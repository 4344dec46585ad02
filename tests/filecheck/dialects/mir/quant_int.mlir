// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @integers(%x: tensor<4x8xi8>, %w: tensor<8x6xi8>, %b: tensor<6xi32>, %image: tensor<1x2x5x5xi8>, %kernel: tensor<6x1x3x3xi8>) {
// CHECK-NEXT: %y = mir.q_matmul %x, %w, %b zero_points 1, 2, 3 multiplier 5.000000e-01 : (tensor<4x8xi8>, tensor<8x6xi8>, tensor<6xi32>) -> tensor<4x6xi8>
// CHECK-NEXT: %z = mir.q_conv2d %image, %kernel, %b strides [2, 1] padding [0, 1, 0, 1] dilations [1, 2] groups 2 zero_points 0, 0, 0 multiplier 5.000000e-01 : (tensor<1x2x5x5xi8>, tensor<6x1x3x3xi8>, tensor<6xi32>) -> tensor<1x6x2x3xi8>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @integers(%x: tensor<4x8xi8>, %w: tensor<8x6xi8>, %b: tensor<6xi32>, %image: tensor<1x2x5x5xi8>, %kernel: tensor<6x1x3x3xi8>) {
  %y = mir.q_matmul %x, %w, %b zero_points 1, 2, 3 multiplier 5.000000e-01 : (tensor<4x8xi8>, tensor<8x6xi8>, tensor<6xi32>) -> tensor<4x6xi8>
  %z = mir.q_conv2d %image, %kernel, %b strides [2, 1] padding [0, 1, 0, 1] dilations [1, 2] groups 2 zero_points 0, 0, 0 multiplier 5.000000e-01 : (tensor<1x2x5x5xi8>, tensor<6x1x3x3xi8>, tensor<6xi32>) -> tensor<1x6x2x3xi8>
  func.return
}

// GENERIC: "mir.q_matmul"(%{{.*}}) <{x_zero_point = 1 : i64, w_zero_point = 2 : i64, out_zero_point = 3 : i64, multiplier = 5.000000e-01 : f64}>
