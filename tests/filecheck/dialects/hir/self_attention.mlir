// RUN: ROUNDTRIP
// RUN: GENERIC

// Masks, groups of key heads, layouts.

// CHECK-LABEL: func.func @rope(%x: tensor<2x3x12xf32>, %cos: tensor<3x3xf32>, %sin: tensor<3x3xf32>) -> tensor<2x3x12xf32> {
// CHECK-NEXT: %0 = hir.rope %x, %cos, %sin num_heads 2 n_rot 6 layout packed pairing halves : (tensor<2x3x12xf32>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<2x3x12xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x12xf32>
// CHECK-NEXT: }
func.func @rope(%x: tensor<2x3x12xf32>, %cos: tensor<3x3xf32>, %sin: tensor<3x3xf32>) -> tensor<2x3x12xf32> {
  %0 = hir.rope %x, %cos, %sin num_heads 2 n_rot 6 layout packed pairing halves : (tensor<2x3x12xf32>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<2x3x12xf32>
  func.return %0 : tensor<2x3x12xf32>
}

// CHECK-LABEL: func.func @rope_neighbours(%x: tensor<2x3x2x7xf32>, %cos: tensor<3x3xf32>, %sin: tensor<3x3xf32>) -> tensor<2x3x2x7xf32> {
// CHECK-NEXT: %0 = hir.rope %x, %cos, %sin num_heads 2 n_rot 4 layout bshd pairing neighbours : (tensor<2x3x2x7xf32>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<2x3x2x7xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x2x7xf32>
// CHECK-NEXT: }
func.func @rope_neighbours(%x: tensor<2x3x2x7xf32>, %cos: tensor<3x3xf32>, %sin: tensor<3x3xf32>) -> tensor<2x3x2x7xf32> {
  %0 = hir.rope %x, %cos, %sin num_heads 2 n_rot 4 layout bshd pairing neighbours : (tensor<2x3x2x7xf32>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<2x3x2x7xf32>
  func.return %0 : tensor<2x3x2x7xf32>
}

// CHECK-LABEL: func.func @attention_window(%q: tensor<2x3x8xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x4xf32>) -> tensor<2x3x8xf32> {
// CHECK-NEXT: %0 = hir.attention %q, %k, %v num_heads 4 mask_kind sliding_window window 1 layout packed : (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x8xf32>
// CHECK-NEXT: }
func.func @attention_window(%q: tensor<2x3x8xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x4xf32>) -> tensor<2x3x8xf32> {
  %0 = hir.attention %q, %k, %v num_heads 4 mask_kind sliding_window window 1 layout packed : (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x8xf32>
  func.return %0 : tensor<2x3x8xf32>
}

// CHECK-LABEL: func.func @attention_custom(%q: tensor<2x3x8xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x4xf32>, %mask: tensor<2x5xi1>) -> tensor<2x3x8xf32> {
// CHECK-NEXT: %0 = hir.attention %q, %k, %v, %mask num_heads 4 layout packed : (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x5xi1>) -> tensor<2x3x8xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x8xf32>
// CHECK-NEXT: }
func.func @attention_custom(%q: tensor<2x3x8xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x4xf32>, %mask: tensor<2x5xi1>) -> tensor<2x3x8xf32> {
  %0 = hir.attention %q, %k, %v, %mask num_heads 4 layout packed : (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x5xi1>) -> tensor<2x3x8xf32>
  func.return %0 : tensor<2x3x8xf32>
}

// CHECK-LABEL: func.func @attention_bias(%q: tensor<2x3x8xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x4xf32>, %mask: tensor<1x4x3x5xf32>) -> tensor<2x3x8xf32> {
// CHECK-NEXT: %0 = hir.attention %q, %k, %v, %mask num_heads 4 mask_kind bias attn_logit_softcap 2.000000e+00 layout packed : (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<1x4x3x5xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x8xf32>
// CHECK-NEXT: }
func.func @attention_bias(%q: tensor<2x3x8xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x4xf32>, %mask: tensor<1x4x3x5xf32>) -> tensor<2x3x8xf32> {
  %0 = hir.attention %q, %k, %v, %mask num_heads 4 mask_kind bias attn_logit_softcap 2.000000e+00 layout packed : (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<1x4x3x5xf32>) -> tensor<2x3x8xf32>
  func.return %0 : tensor<2x3x8xf32>
}

// CHECK-LABEL: func.func @attention_bhsd(%q: tensor<2x3x2x3xf32>, %k: tensor<2x1x2x3xf32>, %v: tensor<2x1x2x5xf32>) -> tensor<2x3x2x5xf32> {
// CHECK-NEXT: %0 = hir.attention %q, %k, %v mask_kind causal layout bhsd : (tensor<2x3x2x3xf32>, tensor<2x1x2x3xf32>, tensor<2x1x2x5xf32>) -> tensor<2x3x2x5xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x2x5xf32>
// CHECK-NEXT: }
func.func @attention_bhsd(%q: tensor<2x3x2x3xf32>, %k: tensor<2x1x2x3xf32>, %v: tensor<2x1x2x5xf32>) -> tensor<2x3x2x5xf32> {
  %0 = hir.attention %q, %k, %v mask_kind causal layout bhsd : (tensor<2x3x2x3xf32>, tensor<2x1x2x3xf32>, tensor<2x1x2x5xf32>) -> tensor<2x3x2x5xf32>
  func.return %0 : tensor<2x3x2x5xf32>
}

// CHECK-LABEL: func.func @attention_matrices(%q: tensor<1x9xf32>, %k: tensor<4x9xf32>, %v: tensor<4x9xf32>) -> tensor<1x9xf32> {
// CHECK-NEXT: %0 = hir.attention %q, %k, %v head_dim 3 layout packed : (tensor<1x9xf32>, tensor<4x9xf32>, tensor<4x9xf32>) -> tensor<1x9xf32>
// CHECK-NEXT: func.return %0 : tensor<1x9xf32>
// CHECK-NEXT: }
func.func @attention_matrices(%q: tensor<1x9xf32>, %k: tensor<4x9xf32>, %v: tensor<4x9xf32>) -> tensor<1x9xf32> {
  %0 = hir.attention %q, %k, %v head_dim 3 layout packed : (tensor<1x9xf32>, tensor<4x9xf32>, tensor<4x9xf32>) -> tensor<1x9xf32>
  func.return %0 : tensor<1x9xf32>
}

// CHECK-LABEL: func.func @self_attention(%x: tensor<2x3x6xf32>, %q_w: tensor<6x8xf32>, %k_w: tensor<6x4xf32>, %v_w: tensor<6x4xf32>, %o_w: tensor<8x5xf32>) -> tensor<2x3x5xf32> {
// CHECK-NEXT: %0 = hir.self_attention %x, %q_w, %k_w, %v_w, %o_w : tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32> num_heads 4 -> tensor<2x3x5xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x5xf32>
// CHECK-NEXT: }
func.func @self_attention(%x: tensor<2x3x6xf32>, %q_w: tensor<6x8xf32>, %k_w: tensor<6x4xf32>, %v_w: tensor<6x4xf32>, %o_w: tensor<8x5xf32>) -> tensor<2x3x5xf32> {
  %0 = hir.self_attention %x, %q_w, %k_w, %v_w, %o_w : tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32> num_heads 4 -> tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}

// GENERIC: "hir.self_attention"(%{{.*}}) <{num_heads = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0>}> : (tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32>) -> tensor<2x3x5xf32>

// CHECK-LABEL: func.func @self_attention_everything(%x: tensor<2x3x6xf32>, %q_w: tensor<6x8xf32>, %k_w: tensor<6x4xf32>, %v_w: tensor<6x4xf32>, %o_w: tensor<8x5xf32>, %q_b: tensor<8xf32>, %k_b: tensor<4xf32>, %v_b: tensor<4xf32>, %o_b: tensor<5xf32>, %cos: tensor<2x3x1xf32>, %sin: tensor<2x3x1xf32>, %mask: tensor<2x3xi1>) -> tensor<2x3x5xf32> {
// CHECK-NEXT: %0 = hir.self_attention %x, %q_w, %k_w, %v_w, %o_w : tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32> q_b %q_b : tensor<8xf32> k_b %k_b : tensor<4xf32> v_b %v_b : tensor<4xf32> o_b %o_b : tensor<5xf32> cos %cos : tensor<2x3x1xf32> sin %sin : tensor<2x3x1xf32> mask %mask : tensor<2x3xi1> num_heads 4 num_kv_heads 2 -> tensor<2x3x5xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x5xf32>
// CHECK-NEXT: }
func.func @self_attention_everything(%x: tensor<2x3x6xf32>, %q_w: tensor<6x8xf32>, %k_w: tensor<6x4xf32>, %v_w: tensor<6x4xf32>, %o_w: tensor<8x5xf32>, %q_b: tensor<8xf32>, %k_b: tensor<4xf32>, %v_b: tensor<4xf32>, %o_b: tensor<5xf32>, %cos: tensor<2x3x1xf32>, %sin: tensor<2x3x1xf32>, %mask: tensor<2x3xi1>) -> tensor<2x3x5xf32> {
  %0 = hir.self_attention %x, %q_w, %k_w, %v_w, %o_w : tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32> q_b %q_b : tensor<8xf32> k_b %k_b : tensor<4xf32> v_b %v_b : tensor<4xf32> o_b %o_b : tensor<5xf32> cos %cos : tensor<2x3x1xf32> sin %sin : tensor<2x3x1xf32> mask %mask : tensor<2x3xi1> num_heads 4 num_kv_heads 2 -> tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}

// CHECK-LABEL: func.func @self_attention_bias(%x: tensor<2x3x6xf32>, %q_w: tensor<6x4xf32>, %k_w: tensor<6x4xf32>, %v_w: tensor<6x4xf32>, %o_w: tensor<4x5xf32>, %mask: tensor<2x1x3x3xf32>) -> tensor<2x3x5xf32> {
// CHECK-NEXT: %0 = hir.self_attention %x, %q_w, %k_w, %v_w, %o_w : tensor<2x3x6xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<4x5xf32> mask %mask : tensor<2x1x3x3xf32> num_heads 2 mask_kind bias score_scale 2.000000e-01 attn_logit_softcap 3.000000e+00 -> tensor<2x3x5xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x5xf32>
// CHECK-NEXT: }
func.func @self_attention_bias(%x: tensor<2x3x6xf32>, %q_w: tensor<6x4xf32>, %k_w: tensor<6x4xf32>, %v_w: tensor<6x4xf32>, %o_w: tensor<4x5xf32>, %mask: tensor<2x1x3x3xf32>) -> tensor<2x3x5xf32> {
  %0 = hir.self_attention %x, %q_w, %k_w, %v_w, %o_w : tensor<2x3x6xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<4x5xf32> mask %mask : tensor<2x1x3x3xf32> num_heads 2 mask_kind bias score_scale 2.000000e-01 attn_logit_softcap 3.000000e+00 -> tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}
