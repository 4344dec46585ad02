// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @transformer(%x: tensor<2x3x4xf32>, %w: tensor<4x12xf32>, %o: tensor<4x4xf32>, %m: tensor<2x3xi1>, %b: tensor<12xf32>, %g: tensor<4xf32>, %c: tensor<3x1xf32>, %u: tensor<4x8xf32>, %d: tensor<8x4xf32>, %i: tensor<8xf32>) {
// CHECK-NEXT: %plain = mir.fused_attention_block %x, %w, %o : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32> num_heads 2 -> tensor<2x3x4xf32>
// CHECK-NEXT: %all = mir.fused_attention_block %x, %w, %o : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32> mask %m : tensor<2x3xi1> qkv_b %b : tensor<12xf32> out_b %g : tensor<4xf32> cos %c : tensor<3x1xf32> sin %c : tensor<3x1xf32> num_heads 2 -> tensor<2x3x4xf32>
// CHECK-NEXT: %layer = mir.fused_transformer_layer %x, %w, %o, %g, %u, %d, %g : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x8xf32>, tensor<8x4xf32>, tensor<4xf32> num_heads 2 eps1 1.000000e-05 eps2 1.000000e-05 -> tensor<2x3x4xf32>
// CHECK-NEXT: %biased = mir.fused_transformer_layer %x, %w, %o, %g, %u, %d, %g : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x8xf32>, tensor<8x4xf32>, tensor<4xf32> mask %m : tensor<2x3xi1> qkv_b %b : tensor<12xf32> out_b %g : tensor<4xf32> ln1_b %g : tensor<4xf32> fc1_b %i : tensor<8xf32> fc2_b %g : tensor<4xf32> ln2_b %g : tensor<4xf32> num_heads 2 eps1 1.000000e-05 eps2 1.000000e-06 activation gelu -> tensor<2x3x4xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @transformer(%x: tensor<2x3x4xf32>, %w: tensor<4x12xf32>, %o: tensor<4x4xf32>, %m: tensor<2x3xi1>, %b: tensor<12xf32>, %g: tensor<4xf32>, %c: tensor<3x1xf32>, %u: tensor<4x8xf32>, %d: tensor<8x4xf32>, %i: tensor<8xf32>) {
  %plain = mir.fused_attention_block %x, %w, %o : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32> num_heads 2 -> tensor<2x3x4xf32>
  %all = mir.fused_attention_block %x, %w, %o : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32> mask %m : tensor<2x3xi1> qkv_b %b : tensor<12xf32> out_b %g : tensor<4xf32> cos %c : tensor<3x1xf32> sin %c : tensor<3x1xf32> num_heads 2 -> tensor<2x3x4xf32>
  %layer = mir.fused_transformer_layer %x, %w, %o, %g, %u, %d, %g : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x8xf32>, tensor<8x4xf32>, tensor<4xf32> num_heads 2 eps1 1.000000e-05 eps2 1.000000e-05 -> tensor<2x3x4xf32>
  %biased = mir.fused_transformer_layer %x, %w, %o, %g, %u, %d, %g : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x8xf32>, tensor<8x4xf32>, tensor<4xf32> mask %m : tensor<2x3xi1> qkv_b %b : tensor<12xf32> out_b %g : tensor<4xf32> ln1_b %g : tensor<4xf32> fc1_b %i : tensor<8xf32> fc2_b %g : tensor<4xf32> ln2_b %g : tensor<4xf32> num_heads 2 eps1 1.000000e-05 eps2 1.000000e-06 activation gelu -> tensor<2x3x4xf32>
  func.return
}

// GENERIC: "mir.fused_attention_block"(%{{.*}}) <{num_heads = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>}>
