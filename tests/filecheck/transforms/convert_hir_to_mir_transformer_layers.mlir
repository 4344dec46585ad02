// RUN: xdsl-opt %s -p convert-hir-to-mir | filecheck %s --check-prefixes=CHECK,DIRECT
// RUN: xdsl-opt %s -p 'convert-hir-to-mir{fusion-policy=fusable}' | filecheck %s --check-prefixes=CHECK,FUSABLE

// An encoder layer is one composite op; of a decoder layer, the products with biases are.

// CHECK-LABEL: func.func @transformer_layer(%hidden: tensor<2x3x6xf32>, %qkv_w: tensor<6x18xf32>, %out_w: tensor<6x6xf32>, %ln1_g: tensor<6xf32>, %fc1_w: tensor<6x5xf32>, %fc2_w: tensor<5x6xf32>, %ln2_g: tensor<6xf32>, %qkv_b: tensor<18xf32>, %fc1_b: tensor<5xf32>, %out_b: tensor<6xf32>, %ln1_b: tensor<6xf32>, %fc2_b: tensor<6xf32>, %ln2_b: tensor<6xf32>, %mask: tensor<2x3xi1>) -> tensor<2x3x6xf32> {
// DIRECT-NEXT: %0 = mir.fused_transformer_layer %hidden, %qkv_w, %out_w, %ln1_g, %fc1_w, %fc2_w, %ln2_g : tensor<2x3x6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32> mask %mask : tensor<2x3xi1> qkv_b %qkv_b : tensor<18xf32> out_b %out_b : tensor<6xf32> ln1_b %ln1_b : tensor<6xf32> fc1_b %fc1_b : tensor<5xf32> fc2_b %fc2_b : tensor<6xf32> ln2_b %ln2_b : tensor<6xf32> num_heads 2 eps1 1.000000e-05 eps2 1.000000e-05 activation gelu -> tensor<2x3x6xf32>
// DIRECT-NEXT: func.return %0 : tensor<2x3x6xf32>
// DIRECT-NEXT: }
// FUSABLE-NEXT: %0 = mir.matmul %hidden, %qkv_w : (tensor<2x3x6xf32>, tensor<6x18xf32>) -> tensor<2x3x18xf32>
// FUSABLE-NEXT: %1 = mir.add %0, %qkv_b : (tensor<2x3x18xf32>, tensor<18xf32>) -> tensor<2x3x18xf32>
// FUSABLE-NEXT: %2 = mir.narrow %1 axis 2 start 0 len 6 : (tensor<2x3x18xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %3 = mir.narrow %1 axis 2 start 6 len 6 : (tensor<2x3x18xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %4 = mir.narrow %1 axis 2 start 12 len 6 : (tensor<2x3x18xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %5, %6 = mir.attention %2, %3, %4, %mask layout packed heads 2 kv_heads 2 mask custom : (tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3xi1>) -> (tensor<2x3x6xf32>, tensor<2x2x3xf32>)
// FUSABLE-NEXT: %7 = mir.matmul %5, %out_w : (tensor<2x3x6xf32>, tensor<6x6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %8 = mir.add %7, %out_b : (tensor<2x3x6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %9 = mir.add %8, %hidden : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %10 = mir.layer_norm %9, %ln1_g, %ln1_b axis 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %11 = mir.matmul %10, %fc1_w : (tensor<2x3x6xf32>, tensor<6x5xf32>) -> tensor<2x3x5xf32>
// FUSABLE-NEXT: %12 = mir.add %11, %fc1_b : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
// FUSABLE-NEXT: %13 = mir.gelu %12 : tensor<2x3x5xf32>
// FUSABLE-NEXT: %14 = mir.matmul %13, %fc2_w : (tensor<2x3x5xf32>, tensor<5x6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %15 = mir.add %14, %fc2_b : (tensor<2x3x6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %16 = mir.add %15, %10 : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %17 = mir.layer_norm %16, %ln2_g, %ln2_b axis 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: func.return %17 : tensor<2x3x6xf32>
// FUSABLE-NEXT: }
func.func @transformer_layer(%hidden: tensor<2x3x6xf32>, %qkv_w: tensor<6x18xf32>, %out_w: tensor<6x6xf32>, %ln1_g: tensor<6xf32>, %fc1_w: tensor<6x5xf32>, %fc2_w: tensor<5x6xf32>, %ln2_g: tensor<6xf32>, %qkv_b: tensor<18xf32>, %fc1_b: tensor<5xf32>, %out_b: tensor<6xf32>, %ln1_b: tensor<6xf32>, %fc2_b: tensor<6xf32>, %ln2_b: tensor<6xf32>, %mask: tensor<2x3xi1>) -> tensor<2x3x6xf32> {
  %0 = hir.transformer_layer %hidden, %qkv_w, %out_w, %ln1_g, %fc1_w, %fc2_w, %ln2_g : tensor<2x3x6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32>, tensor<6xf32> mask %mask : tensor<2x3xi1> qkv_b %qkv_b : tensor<18xf32> out_b %out_b : tensor<6xf32> ln1_b %ln1_b : tensor<6xf32> fc1_b %fc1_b : tensor<5xf32> fc2_b %fc2_b : tensor<6xf32> ln2_b %ln2_b : tensor<6xf32> num_heads 2 eps1 1.000000e-05 eps2 1.000000e-05 activation gelu -> tensor<2x3x6xf32>
  func.return %0 : tensor<2x3x6xf32>
}

// CHECK-LABEL: func.func @transformer_block(%x: tensor<2x3x6xf32>, %qkv_w: tensor<6x18xf32>, %out_w: tensor<6x6xf32>, %ln1_g: tensor<6xf32>, %fc1_w: tensor<6x5xf32>, %fc2_w: tensor<5x6xf32>, %ln2_g: tensor<6xf32>, %qkv_b: tensor<18xf32>, %fc1_b: tensor<5xf32>, %out_b: tensor<6xf32>, %ln1_b: tensor<6xf32>, %fc2_b: tensor<6xf32>, %ln2_b: tensor<6xf32>) -> tensor<2x3x6xf32> {
// CHECK-NEXT: %0 = mir.layer_norm %x, %ln1_g, %ln1_b axis 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
// DIRECT-NEXT: %1 = mir.fused_matmul_bias_act %0, %qkv_w, %qkv_b : (tensor<2x3x6xf32>, tensor<6x18xf32>, tensor<18xf32>) -> tensor<2x3x18xf32>
// DIRECT-NEXT: %2 = mir.narrow %1 axis 2 start 0 len 6 : (tensor<2x3x18xf32>) -> tensor<2x3x6xf32>
// DIRECT-NEXT: %3 = mir.narrow %1 axis 2 start 6 len 6 : (tensor<2x3x18xf32>) -> tensor<2x3x6xf32>
// DIRECT-NEXT: %4 = mir.narrow %1 axis 2 start 12 len 6 : (tensor<2x3x18xf32>) -> tensor<2x3x6xf32>
// DIRECT-NEXT: %5, %6 = mir.attention %2, %3, %4 layout packed heads 3 kv_heads 3 mask causal : (tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> (tensor<2x3x6xf32>, tensor<2x3x3xf32>)
// DIRECT-NEXT: %7 = mir.fused_matmul_bias_act %5, %out_w, %out_b : (tensor<2x3x6xf32>, tensor<6x6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
// DIRECT-NEXT: %8 = mir.add %7, %x : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
// DIRECT-NEXT: %9 = mir.layer_norm %8, %ln2_g, %ln2_b axis 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
// DIRECT-NEXT: %10 = mir.fused_matmul_bias_act %9, %fc1_w, %fc1_b activation gelu : (tensor<2x3x6xf32>, tensor<6x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
// DIRECT-NEXT: %11 = mir.fused_matmul_bias_act %10, %fc2_w, %fc2_b : (tensor<2x3x5xf32>, tensor<5x6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
// DIRECT-NEXT: %12 = mir.add %11, %8 : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
// DIRECT-NEXT: func.return %12 : tensor<2x3x6xf32>
// DIRECT-NEXT: }
// FUSABLE-NEXT: %1 = mir.matmul %0, %qkv_w : (tensor<2x3x6xf32>, tensor<6x18xf32>) -> tensor<2x3x18xf32>
// FUSABLE-NEXT: %2 = mir.add %1, %qkv_b : (tensor<2x3x18xf32>, tensor<18xf32>) -> tensor<2x3x18xf32>
// FUSABLE-NEXT: %3 = mir.narrow %2 axis 2 start 0 len 6 : (tensor<2x3x18xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %4 = mir.narrow %2 axis 2 start 6 len 6 : (tensor<2x3x18xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %5 = mir.narrow %2 axis 2 start 12 len 6 : (tensor<2x3x18xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %6, %7 = mir.attention %3, %4, %5 layout packed heads 3 kv_heads 3 mask causal : (tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> (tensor<2x3x6xf32>, tensor<2x3x3xf32>)
// FUSABLE-NEXT: %8 = mir.matmul %6, %out_w : (tensor<2x3x6xf32>, tensor<6x6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %9 = mir.add %8, %out_b : (tensor<2x3x6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %10 = mir.add %9, %x : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %11 = mir.layer_norm %10, %ln2_g, %ln2_b axis 2 eps 1.000000e-05 : (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %12 = mir.matmul %11, %fc1_w : (tensor<2x3x6xf32>, tensor<6x5xf32>) -> tensor<2x3x5xf32>
// FUSABLE-NEXT: %13 = mir.add %12, %fc1_b : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
// FUSABLE-NEXT: %14 = mir.gelu %13 : tensor<2x3x5xf32>
// FUSABLE-NEXT: %15 = mir.matmul %14, %fc2_w : (tensor<2x3x5xf32>, tensor<5x6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %16 = mir.add %15, %fc2_b : (tensor<2x3x6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: %17 = mir.add %16, %10 : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
// FUSABLE-NEXT: func.return %17 : tensor<2x3x6xf32>
// FUSABLE-NEXT: }
func.func @transformer_block(%x: tensor<2x3x6xf32>, %qkv_w: tensor<6x18xf32>, %out_w: tensor<6x6xf32>, %ln1_g: tensor<6xf32>, %fc1_w: tensor<6x5xf32>, %fc2_w: tensor<5x6xf32>, %ln2_g: tensor<6xf32>, %qkv_b: tensor<18xf32>, %fc1_b: tensor<5xf32>, %out_b: tensor<6xf32>, %ln1_b: tensor<6xf32>, %fc2_b: tensor<6xf32>, %ln2_b: tensor<6xf32>) -> tensor<2x3x6xf32> {
  %0 = hir.transformer_block %x, %ln1_g, %qkv_w, %out_w, %ln2_g, %fc1_w, %fc2_w : tensor<2x3x6xf32>, tensor<6xf32>, tensor<6x18xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<6x5xf32>, tensor<5x6xf32> ln1_b %ln1_b : tensor<6xf32> qkv_b %qkv_b : tensor<18xf32> out_b %out_b : tensor<6xf32> ln2_b %ln2_b : tensor<6xf32> fc1_b %fc1_b : tensor<5xf32> fc2_b %fc2_b : tensor<6xf32> num_heads 3 activation gelu eps 1.000000e-05 -> tensor<2x3x6xf32>
  func.return %0 : tensor<2x3x6xf32>
}
