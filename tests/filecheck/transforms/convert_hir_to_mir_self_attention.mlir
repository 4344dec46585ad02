// RUN: xdsl-opt %s -p convert-hir-to-mir | filecheck %s --check-prefixes=CHECK,DIRECT
// RUN: xdsl-opt %s -p 'convert-hir-to-mir{fusion-policy=fusable}' | filecheck %s --check-prefixes=CHECK,FUSABLE

// Projections with biases are composite ops.

// CHECK-LABEL: func.func @rope(%x: tensor<2x3x12xf32>, %cos: tensor<3x3xf32>, %sin: tensor<3x3xf32>) -> tensor<2x3x12xf32> {
// CHECK-NEXT: %0 = mir.rope %x, %cos, %sin num_heads 2 n_rot 6 layout packed pairing halves : (tensor<2x3x12xf32>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<2x3x12xf32>
// CHECK-NEXT: func.return %0 : tensor<2x3x12xf32>
// CHECK-NEXT: }
func.func @rope(%x: tensor<2x3x12xf32>, %cos: tensor<3x3xf32>, %sin: tensor<3x3xf32>) -> tensor<2x3x12xf32> {
  %0 = hir.rope %x, %cos, %sin num_heads 2 n_rot 6 layout packed pairing halves : (tensor<2x3x12xf32>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<2x3x12xf32>
  func.return %0 : tensor<2x3x12xf32>
}

// CHECK-LABEL: func.func @attention_window(%q: tensor<2x3x8xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x4xf32>) -> tensor<2x3x8xf32> {
// CHECK-NEXT: %0, %1 = mir.attention %q, %k, %v layout packed heads 4 kv_heads 2 mask sliding_window window 1 : (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> (tensor<2x3x8xf32>, tensor<2x4x3xf32>)
// CHECK-NEXT: func.return %0 : tensor<2x3x8xf32>
// CHECK-NEXT: }
func.func @attention_window(%q: tensor<2x3x8xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x4xf32>) -> tensor<2x3x8xf32> {
  %0 = hir.attention %q, %k, %v num_heads 4 mask_kind sliding_window window 1 layout packed : (tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x8xf32>
  func.return %0 : tensor<2x3x8xf32>
}

// CHECK-LABEL: func.func @self_attention(%x: tensor<2x3x6xf32>, %q_w: tensor<6x8xf32>, %k_w: tensor<6x4xf32>, %v_w: tensor<6x4xf32>, %o_w: tensor<8x5xf32>) -> tensor<2x3x5xf32> {
// CHECK-NEXT: %0 = mir.matmul %x, %q_w : (tensor<2x3x6xf32>, tensor<6x8xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT: %1 = mir.matmul %x, %k_w : (tensor<2x3x6xf32>, tensor<6x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %2 = mir.matmul %x, %v_w : (tensor<2x3x6xf32>, tensor<6x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %3, %4 = mir.attention %0, %1, %2 layout packed heads 4 kv_heads 2 mask none : (tensor<2x3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x8xf32>, tensor<2x4x3xf32>)
// CHECK-NEXT: %5 = mir.matmul %3, %o_w : (tensor<2x3x8xf32>, tensor<8x5xf32>) -> tensor<2x3x5xf32>
// CHECK-NEXT: func.return %5 : tensor<2x3x5xf32>
// CHECK-NEXT: }
func.func @self_attention(%x: tensor<2x3x6xf32>, %q_w: tensor<6x8xf32>, %k_w: tensor<6x4xf32>, %v_w: tensor<6x4xf32>, %o_w: tensor<8x5xf32>) -> tensor<2x3x5xf32> {
  %0 = hir.self_attention %x, %q_w, %k_w, %v_w, %o_w : tensor<2x3x6xf32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<8x5xf32> num_heads 4 -> tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}
