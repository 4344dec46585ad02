// RUN: ROUNDTRIP
// RUN: GENERIC

// Biases may be left out, each of its own.

// CHECK-LABEL: func.func @transformer_layer(%hidden: tensor<2x3x6xf32>, %qkv_w: tensor<6x18xf32>, %out_w: tensor<6x6xf32>, %ln1_g: tensor<6xf32>, %fc1_w: tensor<6x5xf32>, %fc2_w: tensor<5x6xf32>, %ln2_g: tensor<6xf32>, %qkv_b: tensor<18xf32>, %fc1_b: tensor<5xf32>, %out_b: tensor<6xf32>, %ln1_b: tensor<6xf32>, %fc2_b: tensor<6xf32>, %ln2_b: tensor<6xf32>, %mask: tensor<2x3xi1>) -> tensor<2x3x6xf32> {
// CHECK-NEXT: %0 = hir.transformer_layer %hidden, %qkv_w, %out_w, %ln1_g, %fc1_w, %fc2_w, %ln2_g : tensor<2x3x6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32> mask %mask : tensor<2x3xi1> qkv_b %qkv_b : tensor<18xf32> out_b %out_b : tensor<6xf32> ln1_b %ln1_b : tensor<6xf32> fc1_b %fc1_b : tensor<5xf32> fc2_b %fc2_b : tensor<6xf32> ln2_b %ln2_b : tensor<6xf32> num_heads 2 eps1 1.000000e-05 eps2 1.000000e-05 activation gelu -> tensor<2x3x6xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x6xf32>
// CHECK-NEXT: }
func.func @transformer_layer(%hidden: tensor<2x3x6xf32>, %qkv_w: tensor<6x18xf32>, %out_w: tensor<6x6xf32>, %ln1_g: tensor<6xf32>, %fc1_w: tensor<6x5xf32>, %fc2_w: tensor<5x6xf32>, %ln2_g: tensor<6xf32>, %qkv_b: tensor<18xf32>, %fc1_b: tensor<5xf32>, %out_b: tensor<6xf32>, %ln1_b: tensor<6xf32>, %fc2_b: tensor<6xf32>, %ln2_b: tensor<6xf32>, %mask: tensor<2x3xi1>) -> tensor<2x3x6xf32> {
  %0 = hir.transformer_layer %hidden, %qkv_w, %out_w, %ln1_g, %fc1_w, %fc2_w, %ln2_g : tensor<2x3x6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32> mask %mask : tensor<2x3xi1> qkv_b %qkv_b : tensor<18xf32> out_b %out_b : tensor<6xf32> ln1_b %ln1_b : tensor<6xf32> fc1_b %fc1_b : tensor<5xf32> fc2_b %fc2_b : tensor<6xf32> ln2_b %ln2_b : tensor<6xf32> num_heads 2 eps1 1.000000e-05 eps2 1.000000e-05 activation gelu -> tensor<2x3x6xf32>
  func.return %0 : tensor<2x3x6xf32>
}

// GENERIC: "hir.transformer_layer"(%{{.*}}) <{num_heads = 2 : i64, eps1 = 1.000000e-05 : f64, eps2 = 1.000000e-05 : f64, activation = #mir<activation gelu>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1>}> : (tensor<2x3x6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<2x3xi1>, tensor<18xf32>, tensor<6xf32>, tensor<6xf32>, tensor<5xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>

// CHECK-LABEL: func.func @transformer_layer_bare(%hidden: tensor<1x3x4xf32>, %qkv_w: tensor<4x12xf32>, %out_w: tensor<4x4xf32>, %ln1_g: tensor<4xf32>, %fc1_w: tensor<4x3xf32>, %fc2_w: tensor<3x4xf32>, %ln2_g: tensor<4xf32>, %fc1_b: tensor<3xf32>) -> tensor<1x3x4xf32> {
// CHECK-NEXT: %0 = hir.transformer_layer %hidden, %qkv_w, %out_w, %ln1_g, %fc1_w, %fc2_w, %ln2_g : tensor<1x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x3xf32>, tensor<3x4xf32>, tensor<4xf32> fc1_b %fc1_b : tensor<3xf32> num_heads 1 eps1 2.000000e-02 eps2 3.000000e-02 activation silu -> tensor<1x3x4xf32>
// CHECK-NEXT: func.return %0 : tensor<1x3x4xf32>
// CHECK-NEXT: }
func.func @transformer_layer_bare(%hidden: tensor<1x3x4xf32>, %qkv_w: tensor<4x12xf32>, %out_w: tensor<4x4xf32>, %ln1_g: tensor<4xf32>, %fc1_w: tensor<4x3xf32>, %fc2_w: tensor<3x4xf32>, %ln2_g: tensor<4xf32>, %fc1_b: tensor<3xf32>) -> tensor<1x3x4xf32> {
  %0 = hir.transformer_layer %hidden, %qkv_w, %out_w, %ln1_g, %fc1_w, %fc2_w, %ln2_g : tensor<1x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x3xf32>, tensor<3x4xf32>, tensor<4xf32> fc1_b %fc1_b : tensor<3xf32> num_heads 1 eps1 2.000000e-02 eps2 3.000000e-02 activation silu -> tensor<1x3x4xf32>
  func.return %0 : tensor<1x3x4xf32>
}

// CHECK-LABEL: func.func @transformer_block(%x: tensor<2x3x6xf32>, %qkv_w: tensor<6x18xf32>, %out_w: tensor<6x6xf32>, %ln1_g: tensor<6xf32>, %fc1_w: tensor<6x5xf32>, %fc2_w: tensor<5x6xf32>, %ln2_g: tensor<6xf32>, %qkv_b: tensor<18xf32>, %fc1_b: tensor<5xf32>, %out_b: tensor<6xf32>, %ln1_b: tensor<6xf32>, %fc2_b: tensor<6xf32>, %ln2_b: tensor<6xf32>) -> tensor<2x3x6xf32> {
// CHECK-NEXT: %0 = hir.transformer_block %x, %ln1_g, %qkv_w, %out_w, %ln2_g, %fc1_w, %fc2_w : tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32> ln1_b %ln1_b : tensor<6xf32> qkv_b %qkv_b : tensor<18xf32> out_b %out_b : tensor<6xf32> ln2_b %ln2_b : tensor<6xf32> fc1_b %fc1_b : tensor<5xf32> fc2_b %fc2_b : tensor<6xf32> num_heads 3 activation gelu eps 1.000000e-05 -> tensor<2x3x6xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x6xf32>
// CHECK-NEXT: }
func.func @transformer_block(%x: tensor<2x3x6xf32>, %qkv_w: tensor<6x18xf32>, %out_w: tensor<6x6xf32>, %ln1_g: tensor<6xf32>, %fc1_w: tensor<6x5xf32>, %fc2_w: tensor<5x6xf32>, %ln2_g: tensor<6xf32>, %qkv_b: tensor<18xf32>, %fc1_b: tensor<5xf32>, %out_b: tensor<6xf32>, %ln1_b: tensor<6xf32>, %fc2_b: tensor<6xf32>, %ln2_b: tensor<6xf32>) -> tensor<2x3x6xf32> {
  %0 = hir.transformer_block %x, %ln1_g, %qkv_w, %out_w, %ln2_g, %fc1_w, %fc2_w : tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32> ln1_b %ln1_b : tensor<6xf32> qkv_b %qkv_b : tensor<18xf32> out_b %out_b : tensor<6xf32> ln2_b %ln2_b : tensor<6xf32> fc1_b %fc1_b : tensor<5xf32> fc2_b %fc2_b : tensor<6xf32> num_heads 3 activation gelu eps 1.000000e-05 -> tensor<2x3x6xf32>
  func.return %0 : tensor<2x3x6xf32>
}

// GENERIC: "hir.transformer_block"(%{{.*}}) <{num_heads = 3 : i64, activation = #mir<activation gelu>, eps = 1.000000e-05 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1>}> : (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<18xf32>, tensor<6xf32>, tensor<6xf32>, tensor<5xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>

// CHECK-LABEL: func.func @transformer_block_bare(%x: tensor<1x4x3xf32>, %qkv_w: tensor<3x9xf32>, %out_w: tensor<3x3xf32>, %ln1_g: tensor<3xf32>, %fc1_w: tensor<3x2xf32>, %fc2_w: tensor<2x3xf32>, %ln2_g: tensor<3xf32>) -> tensor<1x4x3xf32> {
// CHECK-NEXT: %0 = hir.transformer_block %x, %ln1_g, %qkv_w, %out_w, %ln2_g, %fc1_w, %fc2_w : tensor<1x4x3xf32>, tensor<3xf32>, tensor<3x9xf32>, tensor<3x3xf32>, tensor<3xf32>, tensor<3x2xf32>, tensor<2x3xf32> num_heads 1 activation tanh eps 1.000000e-05 mask_kind sliding_window window 1 attn_logit_softcap 2.000000e+00 -> tensor<1x4x3xf32>
// CHECK-NEXT: func.return %0 : tensor<1x4x3xf32>
// CHECK-NEXT: }
func.func @transformer_block_bare(%x: tensor<1x4x3xf32>, %qkv_w: tensor<3x9xf32>, %out_w: tensor<3x3xf32>, %ln1_g: tensor<3xf32>, %fc1_w: tensor<3x2xf32>, %fc2_w: tensor<2x3xf32>, %ln2_g: tensor<3xf32>) -> tensor<1x4x3xf32> {
  %0 = hir.transformer_block %x, %ln1_g, %qkv_w, %out_w, %ln2_g, %fc1_w, %fc2_w : tensor<1x4x3xf32>, tensor<3xf32>, tensor<3x9xf32>, tensor<3x3xf32>, tensor<3xf32>, tensor<3x2xf32>, tensor<2x3xf32> num_heads 1 activation tanh eps 1.000000e-05 mask_kind sliding_window window 1 attn_logit_softcap 2.000000e+00 -> tensor<1x4x3xf32>
  func.return %0 : tensor<1x4x3xf32>
}

// CHECK-LABEL: func.func @transformer_block_hidden(%x: tensor<2x3x4xf32>, %qkv_w: tensor<4x12xf32>, %out_w: tensor<4x4xf32>, %ln1_g: tensor<4xf32>, %fc1_w: tensor<4x3xf32>, %fc2_w: tensor<3x4xf32>, %ln2_g: tensor<4xf32>, %out_b: tensor<4xf32>, %mask: tensor<2x3xi1>) -> tensor<2x3x4xf32> {
// CHECK-NEXT: %0 = hir.transformer_block %x, %ln1_g, %qkv_w, %out_w, %ln2_g, %fc1_w, %fc2_w : tensor<2x3x4xf32>, tensor<4xf32>, tensor<4x12xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x3xf32>, tensor<3x4xf32> mask %mask : tensor<2x3xi1> out_b %out_b : tensor<4xf32> num_heads 2 activation gelu eps 1.000000e-05 -> tensor<2x3x4xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x4xf32>
// CHECK-NEXT: }
func.func @transformer_block_hidden(%x: tensor<2x3x4xf32>, %qkv_w: tensor<4x12xf32>, %out_w: tensor<4x4xf32>, %ln1_g: tensor<4xf32>, %fc1_w: tensor<4x3xf32>, %fc2_w: tensor<3x4xf32>, %ln2_g: tensor<4xf32>, %out_b: tensor<4xf32>, %mask: tensor<2x3xi1>) -> tensor<2x3x4xf32> {
  %0 = hir.transformer_block %x, %ln1_g, %qkv_w, %out_w, %ln2_g, %fc1_w, %fc2_w : tensor<2x3x4xf32>, tensor<4xf32>, tensor<4x12xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x3xf32>, tensor<3x4xf32> mask %mask : tensor<2x3xi1> out_b %out_b : tensor<4xf32> num_heads 2 activation gelu eps 1.000000e-05 -> tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}
