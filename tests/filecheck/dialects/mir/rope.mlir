// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @rope(%x: tensor<2x5x12xf32>, %cos: tensor<5x3xf32>, %sin: tensor<5x3xf32>, %h: tensor<2x2x5x6xf64>, %c: tensor<2x5x3xf64>, %t: tensor<1x6x8xf32>) {
// CHECK-NEXT: %turned = mir.rope %x, %cos, %sin num_heads 2 n_rot 6 layout packed pairing halves : (tensor<2x5x12xf32>, tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<2x5x12xf32>
// CHECK-NEXT: %back = mir.rope_backward %h, %c, %c num_heads 2 n_rot 4 layout bhsd pairing neighbours : (tensor<2x2x5x6xf64>, tensor<2x5x3xf64>, tensor<2x5x3xf64>) -> tensor<2x2x5x6xf64>
// CHECK-NEXT: %grid = mir.axial_rope_2d %t end_x 3 end_y 2 num_heads 2 theta 1.000000e+04 repeat_factor 1 : (tensor<1x6x8xf32>) -> tensor<1x6x8xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @rope(%x: tensor<2x5x12xf32>, %cos: tensor<5x3xf32>, %sin: tensor<5x3xf32>, %h: tensor<2x2x5x6xf64>, %c: tensor<2x5x3xf64>, %t: tensor<1x6x8xf32>) {
  %turned = mir.rope %x, %cos, %sin num_heads 2 n_rot 6 layout packed pairing halves : (tensor<2x5x12xf32>, tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<2x5x12xf32>
  %back = mir.rope_backward %h, %c, %c num_heads 2 n_rot 4 layout bhsd pairing neighbours : (tensor<2x2x5x6xf64>, tensor<2x5x3xf64>, tensor<2x5x3xf64>) -> tensor<2x2x5x6xf64>
  %grid = mir.axial_rope_2d %t end_x 3 end_y 2 num_heads 2 theta 1.000000e+04 repeat_factor 1 : (tensor<1x6x8xf32>) -> tensor<1x6x8xf32>
  func.return
}

// GENERIC: "mir.rope"(%{{.*}}) <{num_heads = 2 : i64, n_rot = 6 : i64, layout = #mir<layout packed>, pairing = #mir<pairing halves>}>
