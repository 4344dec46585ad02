// RUN: DIAGNOSTICS

// CHECK: expected x of shape [B, S, W], got [3, 6]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 = "test.op"() : () -> (tensor<3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
%12 = hir.llama_decoder_block %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32> num_heads 4 eps 1.000000e-05 -> tensor<2x3x6xf32>

// -----

// CHECK: expected ln1_g of shape [6], got [5]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<5xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
%12 = hir.llama_decoder_block %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<2x3x6xf32>, tensor<5xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32> num_heads 4 eps 1.000000e-05 -> tensor<2x3x6xf32>

// -----

// CHECK: q_w of 18 columns does not give 4 heads
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x18xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
%12 = hir.llama_decoder_block %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x18xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32> num_heads 4 eps 1.000000e-05 -> tensor<2x3x6xf32>

// -----

// CHECK: 4 query heads do not share 3 key heads evenly
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
%12 = hir.llama_decoder_block %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32> num_heads 4 eps 1.000000e-05 -> tensor<2x3x6xf32>

// -----

// CHECK: expected o_w of shape [16, 6], got [6, 16]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x16xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
%12 = hir.llama_decoder_block %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x16xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32> num_heads 4 eps 1.000000e-05 -> tensor<2x3x6xf32>

// -----

// CHECK: expected up_w of shape [6, 5], got [6, 4]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x4xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
%12 = hir.llama_decoder_block %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x4xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32> num_heads 4 eps 1.000000e-05 -> tensor<2x3x6xf32>

// -----

// CHECK: expected down_w of shape [6, 6], got [6, 5]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
%12 = hir.llama_decoder_block %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<3x2xf32>, tensor<3x2xf32> num_heads 4 eps 1.000000e-05 -> tensor<2x3x6xf32>

// -----

// CHECK: expected tables of shape [3, 2] or [2, 3, 2], got [3, 3]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x3xf32>)
%12 = hir.llama_decoder_block %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x3xf32> num_heads 4 eps 1.000000e-05 -> tensor<2x3x6xf32>

// -----

// CHECK: q_w of 16 columns does not give 4 heads of 8 features
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
%12 = hir.llama_decoder_block %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32> num_heads 4 head_dim 8 eps 1.000000e-05 -> tensor<2x3x6xf32>

// -----

// CHECK: k_w of 8 columns does not give 4 heads of 4 features
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
%12 = hir.llama_decoder_block %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32> num_heads 4 num_kv_heads 4 eps 1.000000e-05 -> tensor<2x3x6xf32>

// -----

// CHECK: expected a mask of shape [2, 3] or [2, 3, 3, 3] (1 for one batch, head or query), got [3, 2]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13 = "test.op"() : () -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4x6xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<6x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<3x4xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x2xi1>)
%14 = hir.llama_decoder_block %0, %1, %2, %3, %4, %5, %6, %8, %9, %10, %11, %12 : tensor<2x3x4xf32>, tensor<4xf32>, tensor<4x6xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<6x4xf32>, tensor<4xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<3x4xf32>, tensor<3x1xf32>, tensor<3x1xf32> ln2_b %7 : tensor<4xf32> mask %13 : tensor<3x2xi1> num_heads 3 num_kv_heads 1 eps 1.000000e-05 -> tensor<2x3x4xf32>

// -----

// CHECK: expected a mask_kind for a mask of f32: mask_kind='bias' adds it to the scores (0 and -inf), mask_kind='custom' hides the keys where it is below 0.5; only an i1 mask has a default, custom
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13 = "test.op"() : () -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4x6xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<6x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<3x4xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<2x3xf32>)
%14 = hir.llama_decoder_block %0, %1, %2, %3, %4, %5, %6, %8, %9, %10, %11, %12 : tensor<2x3x4xf32>, tensor<4xf32>, tensor<4x6xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<6x4xf32>, tensor<4xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<3x4xf32>, tensor<3x1xf32>, tensor<3x1xf32> ln2_b %7 : tensor<4xf32> mask %13 : tensor<2x3xf32> num_heads 3 num_kv_heads 1 eps 1.000000e-05 -> tensor<2x3x4xf32>

// -----

// CHECK: expected a finite eps of at least 0, got -1.0
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
%12 = hir.llama_decoder_block %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32> num_heads 4 eps -1.000000e+00 -> tensor<2x3x6xf32>

// -----

// CHECK: operands have different element types: x is f32, gate_w is f64; cast one
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf64>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
%12 = hir.llama_decoder_block %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf64>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32> num_heads 4 eps 1.000000e-05 -> tensor<2x3x6xf32>

// -----

// CHECK: expected h_pre_norm of shape [B, S, E], got [3, 6]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 = "test.op"() : () -> (tensor<3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>)
%29 = hir.qwen35_mtp_head %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 num_heads 4 n_rot 2 eps 1.000000e-05 : (tensor<3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>) -> tensor<2x1x8xf32>

// -----

// CHECK: expected input_ids of shape [2, 3], got [2, 4]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<2x4xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>)
%29 = hir.qwen35_mtp_head %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 num_heads 4 n_rot 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<2x4xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>) -> tensor<2x1x8xf32>

// -----

// CHECK: expected last_token_idx of shape [2], got [2, 1]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2x1xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>)
%29 = hir.qwen35_mtp_head %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 num_heads 4 n_rot 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2x1xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>) -> tensor<2x1x8xf32>

// -----

// CHECK: element type f32 is not supported; expected one of i32, i64, i8, ui8, i16, ui32
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>)
%29 = hir.qwen35_mtp_head %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 num_heads 4 n_rot 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>) -> tensor<2x1x8xf32>

// -----

// CHECK: expected q_gate_w with an even number of columns, got 31
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x31xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>)
%29 = hir.qwen35_mtp_head %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 num_heads 4 n_rot 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x31xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>) -> tensor<2x1x8xf32>

// -----

// CHECK: half of q_gate_w of 15 columns does not give 4 heads
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x30xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>)
%29 = hir.qwen35_mtp_head %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 num_heads 4 n_rot 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x30xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>) -> tensor<2x1x8xf32>

// -----

// CHECK: expected q_norm_w of shape [4], got [6]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>)
%29 = hir.qwen35_mtp_head %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 num_heads 4 n_rot 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>) -> tensor<2x1x8xf32>

// -----

// CHECK: expected eh_w of shape [12, 6], got [6, 6]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>)
%29 = hir.qwen35_mtp_head %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 num_heads 4 n_rot 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>) -> tensor<2x1x8xf32>

// -----

// CHECK: expected lm_head_w of shape [6, 8], got [5, 8]
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<5x8xf32>)
%29 = hir.qwen35_mtp_head %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 num_heads 4 n_rot 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<5x8xf32>) -> tensor<2x1x8xf32>

// -----

// CHECK: expected an even n_rot of at most 4, got 6
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>)
%29 = hir.qwen35_mtp_head %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 num_heads 4 n_rot 6 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>) -> tensor<2x1x8xf32>

// -----

// CHECK: expected at least one row in embed_w and one token in h_pre_norm, got 0 and 3
%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 = "test.op"() : () -> (tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<0x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>)
%29 = hir.qwen35_mtp_head %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28 num_heads 4 n_rot 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<0x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>) -> tensor<2x1x8xf32>
