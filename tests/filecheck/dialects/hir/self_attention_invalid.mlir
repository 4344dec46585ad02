// RUN: DIAGNOSTICS

// CHECK: expected tables of shape [3, 3] or [2, 3, 3], got [3, 2]
%0, %1, %2 = "test.op"() : () -> (tensor<2x3x12xf32>, tensor<3x2xf32>, tensor<3x3xf32>)
%3 = hir.rope %0, %1, %2 num_heads 2 n_rot 6 layout packed pairing halves : (tensor<2x3x12xf32>, tensor<3x2xf32>, tensor<3x3xf32>) -> tensor<2x3x12xf32>

// -----

// CHECK: expected an even n_rot of at most 6, got 5
%0, %1, %2 = "test.op"() : () -> (tensor<2x3x12xf32>, tensor<3x3xf32>, tensor<3x3xf32>)
%3 = hir.rope %0, %1, %2 num_heads 2 n_rot 5 layout packed pairing halves : (tensor<2x3x12xf32>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<2x3x12xf32>

// -----

// CHECK: x of shape [2, 3, 12] does not hold 5 heads
%0, %1, %2 = "test.op"() : () -> (tensor<2x3x12xf32>, tensor<3x3xf32>, tensor<3x3xf32>)
%3 = hir.rope %0, %1, %2 num_heads 5 n_rot 2 layout packed pairing halves : (tensor<2x3x12xf32>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<2x3x12xf32>

// -----

// CHECK: k of shape [2, 5, 3] in layout packed has 1 heads of 3 features, expected 1 of 2
%0, %1, %2 = "test.op"() : () -> (tensor<2x3x8xf32>, tensor<2x5x3xf32>, tensor<2x5x4xf32>)
%3 = hir.attention %0, %1, %2 num_heads 4 layout packed : (tensor<2x3x8xf32>, tensor<2x5x3xf32>, tensor<2x5x4xf32>) -> tensor<2x3x8xf32>

// -----

// CHECK: expected as many values as keys, got 4 and 5
%0, %1, %2 = "test.op"() : () -> (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x4x4xf32>)
%3 = hir.attention %0, %1, %2 num_heads 4 layout packed : (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x4x4xf32>) -> tensor<2x3x8xf32>

// -----

// CHECK: expected a mask of shape [2, 5] or [2, 4, 3, 5] (1 for one batch, head or query), got [2, 4]
%0, %1, %2, %3 = "test.op"() : () -> (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x4xi1>)
%4 = hir.attention %0, %1, %2, %3 num_heads 4 layout packed : (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x4xi1>) -> tensor<2x3x8xf32>

// -----

// CHECK: expected a mask_kind for a mask of f32: mask_kind='bias' adds it to the scores (0 and -inf), mask_kind='custom' hides the keys where it is below 0.5; only an i1 mask has a default, custom
%0, %1, %2, %3 = "test.op"() : () -> (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x5xf32>)
%4 = hir.attention %0, %1, %2, %3 num_heads 4 layout packed : (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x5xf32>) -> tensor<2x3x8xf32>

// -----

// CHECK: a mask of kind bias needs an operand
%0, %1, %2 = "test.op"() : () -> (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>)
%3 = hir.attention %0, %1, %2 num_heads 4 mask_kind bias layout packed : (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x8xf32>

// -----

// CHECK: a window is given exactly where the mask is sliding_window
%0, %1, %2 = "test.op"() : () -> (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>)
%3 = hir.attention %0, %1, %2 num_heads 4 mask_kind sliding_window layout packed : (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x8xf32>

// -----

// CHECK: expected a positive finite attn_logit_softcap, got -1.0
%0, %1, %2 = "test.op"() : () -> (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>)
%3 = hir.attention %0, %1, %2 num_heads 4 attn_logit_softcap -1.000000e+00 layout packed : (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x8xf32>

// -----

// CHECK: k of width 4 does not hold 3 heads
%0, %1, %2 = "test.op"() : () -> (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>)
%3 = hir.attention %0, %1, %2 num_heads 4 num_kv_heads 3 layout packed : (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x8xf32>

// -----

// CHECK: expected x of shape [B, S, W], got [3, 6]
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32>)
%5 = hir.self_attention %0, %1, %2, %3, %4 : tensor<3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32> num_heads 4 -> tensor<2x3x5xf32>

// -----

// CHECK: q_w of 7 columns does not give 4 heads
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6x7xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32>)
%5 = hir.self_attention %0, %1, %2, %3, %4 : tensor<2x3x6xf32>, tensor<6x7xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32> num_heads 4 -> tensor<2x3x5xf32>

// -----

// CHECK: 4 query heads do not share 3 key heads evenly
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<8x5xf32>)
%5 = hir.self_attention %0, %1, %2, %3, %4 : tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<8x5xf32> num_heads 4 -> tensor<2x3x5xf32>

// -----

// CHECK: k_w of 5 columns does not give heads of 2 features
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x5xf32>, tensor<6x4xf32>, tensor<8x5xf32>)
%5 = hir.self_attention %0, %1, %2, %3, %4 : tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x5xf32>, tensor<6x4xf32>, tensor<8x5xf32> num_heads 4 -> tensor<2x3x5xf32>

// -----

// CHECK: expected v_w of shape [6, 4], got [6, 8]
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x8xf32>, tensor<8x5xf32>)
%5 = hir.self_attention %0, %1, %2, %3, %4 : tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x8xf32>, tensor<8x5xf32> num_heads 4 -> tensor<2x3x5xf32>

// -----

// CHECK: expected o_w of shape [8, 5], got [6, 5]
%0, %1, %2, %3, %4 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x5xf32>)
%5 = hir.self_attention %0, %1, %2, %3, %4 : tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x5xf32> num_heads 4 -> tensor<2x3x5xf32>

// -----

// CHECK: expected k_b of shape [4], got [8]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<5xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3xi1>)
%12 = hir.self_attention %0, %1, %2, %3, %4 : tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32> q_b %5 : tensor<8xf32> k_b %6 : tensor<8xf32> v_b %7 : tensor<4xf32> o_b %8 : tensor<5xf32> cos %9 : tensor<2x3x1xf32> sin %10 : tensor<2x3x1xf32> mask %11 : tensor<2x3xi1> num_heads 4 num_kv_heads 2 -> tensor<2x3x5xf32>

// -----

// CHECK: expected both cos and sin, or none, got one
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32>, tensor<8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<5xf32>, tensor<2x3x1xf32>, tensor<2x3xi1>)
%11 = hir.self_attention %0, %1, %2, %3, %4 : tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32> q_b %5 : tensor<8xf32> k_b %6 : tensor<4xf32> v_b %7 : tensor<4xf32> o_b %8 : tensor<5xf32> cos %9 : tensor<2x3x1xf32> mask %10 : tensor<2x3xi1> num_heads 4 num_kv_heads 2 -> tensor<2x3x5xf32>

// -----

// CHECK: expected tables of shape [3, 1] or [2, 3, 1], got [3, 2]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32>, tensor<8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<5xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2x3xi1>)
%12 = hir.self_attention %0, %1, %2, %3, %4 : tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32> q_b %5 : tensor<8xf32> k_b %6 : tensor<4xf32> v_b %7 : tensor<4xf32> o_b %8 : tensor<5xf32> cos %9 : tensor<3x2xf32> sin %10 : tensor<3x2xf32> mask %11 : tensor<2x3xi1> num_heads 4 num_kv_heads 2 -> tensor<2x3x5xf32>

// -----

// CHECK: expected a mask of shape [2, 3] or [2, 4, 3, 3] (1 for one batch, head or query), got [3, 3]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32>, tensor<8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<5xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<3x3xi1>)
%12 = hir.self_attention %0, %1, %2, %3, %4 : tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32> q_b %5 : tensor<8xf32> k_b %6 : tensor<4xf32> v_b %7 : tensor<4xf32> o_b %8 : tensor<5xf32> cos %9 : tensor<2x3x1xf32> sin %10 : tensor<2x3x1xf32> mask %11 : tensor<3x3xi1> num_heads 4 num_kv_heads 2 -> tensor<2x3x5xf32>

// -----

// CHECK: k_w of 4 columns does not give 4 heads of 2 features
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32>, tensor<8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<5xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3xi1>)
%12 = hir.self_attention %0, %1, %2, %3, %4 : tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32> q_b %5 : tensor<8xf32> k_b %6 : tensor<4xf32> v_b %7 : tensor<4xf32> o_b %8 : tensor<5xf32> cos %9 : tensor<2x3x1xf32> sin %10 : tensor<2x3x1xf32> mask %11 : tensor<2x3xi1> num_heads 4 num_kv_heads 4 -> tensor<2x3x5xf32>
