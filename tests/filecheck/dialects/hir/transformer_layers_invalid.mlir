// RUN: DIAGNOSTICS

// CHECK: expected qkv_w of shape [6, 18], got [6, 12]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6x12xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<2x3xi1>, tensor<18xf32>, tensor<6xf32>, tensor<6xf32>, tensor<5xf32>, tensor<6xf32>, tensor<6xf32>)
%14 = hir.transformer_layer %0, %1, %2, %3, %4, %5, %6 : tensor<2x3x6xf32>, tensor<6x12xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32> mask %7 : tensor<2x3xi1> qkv_b %8 : tensor<18xf32> out_b %9 : tensor<6xf32> ln1_b %10 : tensor<6xf32> fc1_b %11 : tensor<5xf32> fc2_b %12 : tensor<6xf32> ln2_b %13 : tensor<6xf32> num_heads 2 eps1 1.000000e-05 eps2 1.000000e-05 activation gelu -> tensor<2x3x6xf32>

// -----

// CHECK: expected fc2_b of shape [6], got [5]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<2x3xi1>, tensor<18xf32>, tensor<6xf32>, tensor<6xf32>, tensor<5xf32>, tensor<5xf32>, tensor<6xf32>)
%14 = hir.transformer_layer %0, %1, %2, %3, %4, %5, %6 : tensor<2x3x6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32> mask %7 : tensor<2x3xi1> qkv_b %8 : tensor<18xf32> out_b %9 : tensor<6xf32> ln1_b %10 : tensor<6xf32> fc1_b %11 : tensor<5xf32> fc2_b %12 : tensor<5xf32> ln2_b %13 : tensor<6xf32> num_heads 2 eps1 1.000000e-05 eps2 1.000000e-05 activation gelu -> tensor<2x3x6xf32>

// -----

// CHECK: expected a mask of i1, true where a key is seen, got one of f32: compare it (mask > 0.5), or add it to the scores of mir.attention as its bias
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<2x3xf32>, tensor<18xf32>, tensor<6xf32>, tensor<6xf32>, tensor<5xf32>, tensor<6xf32>, tensor<6xf32>)
%14 = hir.transformer_layer %0, %1, %2, %3, %4, %5, %6 : tensor<2x3x6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32> mask %7 : tensor<2x3xf32> qkv_b %8 : tensor<18xf32> out_b %9 : tensor<6xf32> ln1_b %10 : tensor<6xf32> fc1_b %11 : tensor<5xf32> fc2_b %12 : tensor<6xf32> ln2_b %13 : tensor<6xf32> num_heads 2 eps1 1.000000e-05 eps2 1.000000e-05 activation gelu -> tensor<2x3x6xf32>

// -----

// CHECK: hidden of shape [2, 3, 6] does not hold 4 heads
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<2x3xi1>, tensor<18xf32>, tensor<6xf32>, tensor<6xf32>, tensor<5xf32>, tensor<6xf32>, tensor<6xf32>)
%14 = hir.transformer_layer %0, %1, %2, %3, %4, %5, %6 : tensor<2x3x6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32> mask %7 : tensor<2x3xi1> qkv_b %8 : tensor<18xf32> out_b %9 : tensor<6xf32> ln1_b %10 : tensor<6xf32> fc1_b %11 : tensor<5xf32> fc2_b %12 : tensor<6xf32> ln2_b %13 : tensor<6xf32> num_heads 4 eps1 1.000000e-05 eps2 1.000000e-05 activation gelu -> tensor<2x3x6xf32>

// -----

// CHECK: expected x of shape [B, S, W], got [2, 6]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12 = "test.op"() : () -> (tensor<2x6xf32>, tensor<6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<18xf32>, tensor<6xf32>, tensor<6xf32>, tensor<5xf32>, tensor<6xf32>)
%13 = hir.transformer_block %0, %1, %2, %3, %4, %5, %6 : tensor<2x6xf32>, tensor<6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32> ln1_b %7 : tensor<6xf32> qkv_b %8 : tensor<18xf32> out_b %9 : tensor<6xf32> ln2_b %10 : tensor<6xf32> fc1_b %11 : tensor<5xf32> fc2_b %12 : tensor<6xf32> num_heads 3 activation gelu eps 1.000000e-05 -> tensor<2x3x6xf32>

// -----

// CHECK: x of width 6 does not hold 4 heads
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<18xf32>, tensor<6xf32>, tensor<6xf32>, tensor<5xf32>, tensor<6xf32>)
%13 = hir.transformer_block %0, %1, %2, %3, %4, %5, %6 : tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32> ln1_b %7 : tensor<6xf32> qkv_b %8 : tensor<18xf32> out_b %9 : tensor<6xf32> ln2_b %10 : tensor<6xf32> fc1_b %11 : tensor<5xf32> fc2_b %12 : tensor<6xf32> num_heads 4 activation gelu eps 1.000000e-05 -> tensor<2x3x6xf32>

// -----

// CHECK: expected qkv_b of shape [18], got [6]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<5xf32>, tensor<6xf32>)
%13 = hir.transformer_block %0, %1, %2, %3, %4, %5, %6 : tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32> ln1_b %7 : tensor<6xf32> qkv_b %8 : tensor<6xf32> out_b %9 : tensor<6xf32> ln2_b %10 : tensor<6xf32> fc1_b %11 : tensor<5xf32> fc2_b %12 : tensor<6xf32> num_heads 3 activation gelu eps 1.000000e-05 -> tensor<2x3x6xf32>

// -----

// CHECK: expected fc2_w of shape [5, 6], got [6, 5]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<6xf32>, tensor<18xf32>, tensor<6xf32>, tensor<6xf32>, tensor<5xf32>, tensor<6xf32>)
%13 = hir.transformer_block %0, %1, %2, %3, %4, %5, %6 : tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32> ln1_b %7 : tensor<6xf32> qkv_b %8 : tensor<18xf32> out_b %9 : tensor<6xf32> ln2_b %10 : tensor<6xf32> fc1_b %11 : tensor<5xf32> fc2_b %12 : tensor<6xf32> num_heads 3 activation gelu eps 1.000000e-05 -> tensor<2x3x6xf32>

// -----

// CHECK: expected a mask of shape [2, 3] or [2, 2, 3, 3] (1 for one batch, head or query), got [2, 4]
%0, %1, %2, %3, %4, %5, %6, %7, %8 = "test.op"() : () -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4x12xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x3xf32>, tensor<3x4xf32>, tensor<2x4xi1>, tensor<4xf32>)
%9 = hir.transformer_block %0, %1, %2, %3, %4, %5, %6 : tensor<2x3x4xf32>, tensor<4xf32>, tensor<4x12xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x3xf32>, tensor<3x4xf32> mask %7 : tensor<2x4xi1> out_b %8 : tensor<4xf32> num_heads 2 activation gelu eps 1.000000e-05 -> tensor<2x3x4xf32>
