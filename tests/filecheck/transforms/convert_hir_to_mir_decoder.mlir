// RUN: xdsl-opt %s -p convert-hir-to-mir | filecheck %s --check-prefixes=CHECK,DIRECT
// RUN: xdsl-opt %s -p 'convert-hir-to-mir{fusion-policy=fusable}' | filecheck %s --check-prefixes=CHECK,FUSABLE

// Key heads are not repeated for the query heads that share them. Only the gated layer has a composite op.

// CHECK-LABEL: func.func @llama_decoder_block(%x: tensor<2x3x6xf32>, %ln1_g: tensor<6xf32>, %q_w: tensor<6x16xf32>, %k_w: tensor<6x8xf32>, %v_w: tensor<6x8xf32>, %o_w: tensor<16x6xf32>, %ln2_g: tensor<6xf32>, %gate_w: tensor<6x5xf32>, %up_w: tensor<6x5xf32>, %down_w: tensor<5x6xf32>, %cos: tensor<3x2xf32>, %sin: tensor<3x2xf32>) -> tensor<2x3x6xf32> {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<6xf32>
// CHECK-NEXT: %2 = mir.rms_norm %x, %ln1_g, %1 axis 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
// CHECK-NEXT: %3 = mir.matmul %2, %q_w : (tensor<2x3x6xf32>, tensor<6x16xf32>) -> tensor<2x3x16xf32>
// CHECK-NEXT: %4 = mir.matmul %2, %k_w : (tensor<2x3x6xf32>, tensor<6x8xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT: %5 = mir.matmul %2, %v_w : (tensor<2x3x6xf32>, tensor<6x8xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT: %6 = mir.rope %3, %cos, %sin num_heads 4 n_rot 4 layout packed pairing halves : (tensor<2x3x16xf32>, tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<2x3x16xf32>
// CHECK-NEXT: %7 = mir.rope %4, %cos, %sin num_heads 2 n_rot 4 layout packed pairing halves : (tensor<2x3x8xf32>, tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT: %8, %9 = mir.attention %6, %7, %5 layout packed heads 4 kv_heads 2 mask causal : (tensor<2x3x16xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> (tensor<2x3x16xf32>, tensor<2x4x3xf32>)
// CHECK-NEXT: %10 = mir.matmul %8, %o_w : (tensor<2x3x16xf32>, tensor<16x6xf32>) -> tensor<2x3x6xf32>
// CHECK-NEXT: %11 = mir.add %10, %x : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
// CHECK-NEXT: %12 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %13 = mir.expand %12 : tensor<f32> to tensor<6xf32>
// CHECK-NEXT: %14 = mir.rms_norm %11, %ln2_g, %13 axis 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
// CHECK-NEXT: %15 = mir.matmul %14, %up_w : (tensor<2x3x6xf32>, tensor<6x5xf32>) -> tensor<2x3x5xf32>
// CHECK-NEXT: %16 = mir.matmul %14, %gate_w : (tensor<2x3x6xf32>, tensor<6x5xf32>) -> tensor<2x3x5xf32>
// DIRECT-NEXT: %17 = mir.concat %15, %16 axis -1 : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x10xf32>
// DIRECT-NEXT: %18 = mir.fused_swiglu %17 : tensor<2x3x10xf32> to tensor<2x3x5xf32>
// DIRECT-NEXT: %19 = mir.matmul %18, %down_w : (tensor<2x3x5xf32>, tensor<5x6xf32>) -> tensor<2x3x6xf32>
// DIRECT-NEXT: %20 = mir.add %19, %11 : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
// DIRECT-NEXT: func.return %20 : tensor<2x3x6xf32>
// DIRECT-NEXT: }
// FUSABLE-NEXT: %17 = mir.silu %16 : tensor<2x3x5xf32>
// FUSABLE-NEXT: %18 = mir.mul %17, %15 : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
// FUSABLE-NEXT: %19 = mir.matmul %18, %down_w : (tensor<2x3x5xf32>, tensor<5x6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %20 = mir.add %19, %11 : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: func.return %20 : tensor<2x3x6xf32>
// FUSABLE-NEXT: }
func.func @llama_decoder_block(%x: tensor<2x3x6xf32>, %ln1_g: tensor<6xf32>, %q_w: tensor<6x16xf32>, %k_w: tensor<6x8xf32>, %v_w: tensor<6x8xf32>, %o_w: tensor<16x6xf32>, %ln2_g: tensor<6xf32>, %gate_w: tensor<6x5xf32>, %up_w: tensor<6x5xf32>, %down_w: tensor<5x6xf32>, %cos: tensor<3x2xf32>, %sin: tensor<3x2xf32>) -> tensor<2x3x6xf32> {
  %0 = hir.llama_decoder_block %x, %ln1_g, %q_w, %k_w, %v_w, %o_w, %ln2_g, %gate_w, %up_w, %down_w, %cos, %sin : tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<3x2xf32>, tensor<3x2xf32> num_heads 4 eps 1.000000e-05 -> tensor<2x3x6xf32>
  func.return %0 : tensor<2x3x6xf32>
}

// CHECK-LABEL: func.func @qwen35_mtp_head(%h_pre_norm: tensor<2x3x6xf32>, %input_ids: tensor<2x3xi32>, %cos: tensor<3x2xf32>, %sin: tensor<3x2xf32>, %last_token_idx: tensor<2xi32>, %embed_w: tensor<7x6xf32>, %hnorm_w: tensor<6xf32>, %hnorm_b: tensor<6xf32>, %enorm_w: tensor<6xf32>, %enorm_b: tensor<6xf32>, %attn_norm_w: tensor<6xf32>, %attn_norm_b: tensor<6xf32>, %post_norm_w: tensor<6xf32>, %post_norm_b: tensor<6xf32>, %head_norm_w: tensor<6xf32>, %head_norm_b: tensor<6xf32>, %q_norm_w: tensor<4xf32>, %q_norm_b: tensor<4xf32>, %k_norm_w: tensor<4xf32>, %k_norm_b: tensor<4xf32>, %eh_w: tensor<12x6xf32>, %q_gate_w: tensor<6x32xf32>, %k_w: tensor<6x8xf32>, %v_w: tensor<6x8xf32>, %o_w: tensor<16x6xf32>, %gate_w: tensor<6x5xf32>, %up_w: tensor<6x5xf32>, %down_w: tensor<5x6xf32>, %lm_head_w: tensor<6x8xf32>) -> tensor<2x1x8xf32> {
// CHECK-NEXT: %0 = mir.gather %embed_w, %input_ids axis 0 batch_dims 0 : (tensor<7x6xf32>, tensor<2x3xi32>) -> tensor<2x3x6xf32>
// CHECK-NEXT: %1 = mir.rms_norm %0, %enorm_w, %enorm_b axis 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
// CHECK-NEXT: %2 = mir.rms_norm %h_pre_norm, %hnorm_w, %hnorm_b axis 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
// CHECK-NEXT: %3 = mir.concat %1, %2 axis 2 : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x12xf32>
// CHECK-NEXT: %4 = mir.matmul %3, %eh_w : (tensor<2x3x12xf32>, tensor<12x6xf32>) -> tensor<2x3x6xf32>
// CHECK-NEXT: %5 = mir.rms_norm %4, %attn_norm_w, %attn_norm_b axis 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
// CHECK-NEXT: %6 = mir.matmul %5, %q_gate_w : (tensor<2x3x6xf32>, tensor<6x32xf32>) -> tensor<2x3x32xf32>
// CHECK-NEXT: %7 = mir.reshape %6 : tensor<2x3x32xf32> to tensor<2x3x4x8xf32>
// CHECK-NEXT: %8 = mir.narrow %7 axis 3 start 0 len 4 : (tensor<2x3x4x8xf32>) -> tensor<2x3x4x4xf32>
// CHECK-NEXT: %9 = mir.narrow %7 axis 3 start 4 len 4 : (tensor<2x3x4x8xf32>) -> tensor<2x3x4x4xf32>
// CHECK-NEXT: %10 = mir.matmul %5, %k_w : (tensor<2x3x6xf32>, tensor<6x8xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT: %11 = mir.reshape %10 : tensor<2x3x8xf32> to tensor<2x3x2x4xf32>
// CHECK-NEXT: %12 = mir.matmul %5, %v_w : (tensor<2x3x6xf32>, tensor<6x8xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT: %13 = mir.reshape %12 : tensor<2x3x8xf32> to tensor<2x3x2x4xf32>
// CHECK-NEXT: %14 = mir.rms_norm %8, %q_norm_w, %q_norm_b axis 3 eps 1.000000e-05 : (tensor<2x3x4x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4x4xf32>
// CHECK-NEXT: %15 = mir.rope %14, %cos, %sin num_heads 4 n_rot 2 layout bshd pairing halves : (tensor<2x3x4x4xf32>, tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<2x3x4x4xf32>
// CHECK-NEXT: %16 = mir.rms_norm %11, %k_norm_w, %k_norm_b axis 3 eps 1.000000e-05 : (tensor<2x3x2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x2x4xf32>
// CHECK-NEXT: %17 = mir.rope %16, %cos, %sin num_heads 2 n_rot 2 layout bshd pairing halves : (tensor<2x3x2x4xf32>, tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<2x3x2x4xf32>
// CHECK-NEXT: %18, %19 = mir.attention %15, %17, %13 layout bshd heads 4 kv_heads 2 mask causal : (tensor<2x3x4x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x4x3xf32>)
// CHECK-NEXT: %20 = mir.sigmoid %9 : tensor<2x3x4x4xf32>
// CHECK-NEXT: %21 = mir.mul %18, %20 : (tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
// CHECK-NEXT: %22 = mir.reshape %21 : tensor<2x3x4x4xf32> to tensor<2x3x16xf32>
// CHECK-NEXT: %23 = mir.matmul %22, %o_w : (tensor<2x3x16xf32>, tensor<16x6xf32>) -> tensor<2x3x6xf32>
// CHECK-NEXT: %24 = mir.add %23, %4 : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
// CHECK-NEXT: %25 = mir.rms_norm %24, %post_norm_w, %post_norm_b axis 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
// CHECK-NEXT: %26 = mir.matmul %25, %up_w : (tensor<2x3x6xf32>, tensor<6x5xf32>) -> tensor<2x3x5xf32>
// CHECK-NEXT: %27 = mir.matmul %25, %gate_w : (tensor<2x3x6xf32>, tensor<6x5xf32>) -> tensor<2x3x5xf32>
// DIRECT-NEXT: %28 = mir.concat %26, %27 axis -1 : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x10xf32>
// DIRECT-NEXT: %29 = mir.fused_swiglu %28 : tensor<2x3x10xf32> to tensor<2x3x5xf32>
// DIRECT-NEXT: %30 = mir.matmul %29, %down_w : (tensor<2x3x5xf32>, tensor<5x6xf32>) -> tensor<2x3x6xf32>
// DIRECT-NEXT: %31 = mir.add %30, %24 : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
// DIRECT-NEXT: %32 = mir.reshape %last_token_idx : tensor<2xi32> to tensor<2x1xi32>
// DIRECT-NEXT: %33 = mir.gather %31, %32 axis 1 batch_dims 1 : (tensor<2x3x6xf32>, tensor<2x1xi32>) -> tensor<2x1x6xf32>
// DIRECT-NEXT: %34 = mir.rms_norm %33, %head_norm_w, %head_norm_b axis 2 eps 1.000000e-05 : (tensor<2x1x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x1x6xf32>
// DIRECT-NEXT: %35 = mir.matmul %34, %lm_head_w : (tensor<2x1x6xf32>, tensor<6x8xf32>) -> tensor<2x1x8xf32>
// DIRECT-NEXT: func.return %35 : tensor<2x1x8xf32>
// DIRECT-NEXT: }
// FUSABLE-NEXT: %28 = mir.silu %27 : tensor<2x3x5xf32>
// FUSABLE-NEXT: %29 = mir.mul %28, %26 : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
// FUSABLE-NEXT: %30 = mir.matmul %29, %down_w : (tensor<2x3x5xf32>, tensor<5x6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %31 = mir.add %30, %24 : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %32 = mir.reshape %last_token_idx : tensor<2xi32> to tensor<2x1xi32>
// FUSABLE-NEXT: %33 = mir.gather %31, %32 axis 1 batch_dims 1 : (tensor<2x3x6xf32>, tensor<2x1xi32>) -> tensor<2x1x6xf32>
// FUSABLE-NEXT: %34 = mir.rms_norm %33, %head_norm_w, %head_norm_b axis 2 eps 1.000000e-05 : (tensor<2x1x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x1x6xf32>
// FUSABLE-NEXT: %35 = mir.matmul %34, %lm_head_w : (tensor<2x1x6xf32>, tensor<6x8xf32>) -> tensor<2x1x8xf32>
// FUSABLE-NEXT: func.return %35 : tensor<2x1x8xf32>
// FUSABLE-NEXT: }
func.func @qwen35_mtp_head(%h_pre_norm: tensor<2x3x6xf32>, %input_ids: tensor<2x3xi32>, %cos: tensor<3x2xf32>, %sin: tensor<3x2xf32>, %last_token_idx: tensor<2xi32>, %embed_w: tensor<7x6xf32>, %hnorm_w: tensor<6xf32>, %hnorm_b: tensor<6xf32>, %enorm_w: tensor<6xf32>, %enorm_b: tensor<6xf32>, %attn_norm_w: tensor<6xf32>, %attn_norm_b: tensor<6xf32>, %post_norm_w: tensor<6xf32>, %post_norm_b: tensor<6xf32>, %head_norm_w: tensor<6xf32>, %head_norm_b: tensor<6xf32>, %q_norm_w: tensor<4xf32>, %q_norm_b: tensor<4xf32>, %k_norm_w: tensor<4xf32>, %k_norm_b: tensor<4xf32>, %eh_w: tensor<12x6xf32>, %q_gate_w: tensor<6x32xf32>, %k_w: tensor<6x8xf32>, %v_w: tensor<6x8xf32>, %o_w: tensor<16x6xf32>, %gate_w: tensor<6x5xf32>, %up_w: tensor<6x5xf32>, %down_w: tensor<5x6xf32>, %lm_head_w: tensor<6x8xf32>) -> tensor<2x1x8xf32> {
  %0 = hir.qwen35_mtp_head %h_pre_norm, %input_ids, %cos, %sin, %last_token_idx, %embed_w, %hnorm_w, %hnorm_b, %enorm_w, %enorm_b, %eh_w, %attn_norm_w, %attn_norm_b, %q_gate_w, %k_w, %v_w, %q_norm_w, %q_norm_b, %k_norm_w, %k_norm_b, %o_w, %post_norm_w, %post_norm_b, %gate_w, %up_w, %down_w, %head_norm_w, %head_norm_b, %lm_head_w num_heads 4 n_rot 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xi32>, tensor<7x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<12x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>) -> tensor<2x1x8xf32>
  func.return %0 : tensor<2x1x8xf32>
}
