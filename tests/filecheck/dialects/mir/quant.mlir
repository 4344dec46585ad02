// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @dequantize(%i8: tensor<8x6xi8>, %s: tensor<2x6xf32>, %z: tensor<2x6xf32>, %bytes: tensor<24xui8>, %fp8: tensor<8x6xui8>, %codes: tensor<1x6xui8>, %global: tensor<1xf64>, %blocks: tensor<36xui8>) {
// CHECK-NEXT: %symmetric = mir.dequantize_weights %i8 scales(%s) scheme <int8_block 4> shape [8, 6] : (tensor<8x6xi8>, tensor<2x6xf32>) -> tensor<8x6xf32>
// CHECK-NEXT: %asymmetric = mir.dequantize_weights %i8 scales(%s, %z) scheme <int8_block_asym 4> shape [8, 6] : (tensor<8x6xi8>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<8x6xf32>
// CHECK-NEXT: %nibbles = mir.dequantize_weights %bytes scales(%s) scheme <int4_block 4> shape [8, 6] : (tensor<24xui8>, tensor<2x6xf32>) -> tensor<8x6xf32>
// CHECK-NEXT: %plain = mir.dequantize_weights %fp8 scheme <fp8_e4m3> shape [8, 6] : (tensor<8x6xui8>) -> tensor<8x6xf32>
// CHECK-NEXT: %nvfp4 = mir.dequantize_weights %bytes scales(%codes, %global) scheme <nvfp4_block> shape [8, 6] : (tensor<24xui8>, tensor<1x6xui8>, tensor<1xf64>) -> tensor<8x6xf64>
// CHECK-NEXT: %gguf = mir.dequantize_weights %blocks scheme <gguf_q4_0> shape [2, 4, 8] : (tensor<36xui8>) -> tensor<2x4x8xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @dequantize(%i8: tensor<8x6xi8>, %s: tensor<2x6xf32>, %z: tensor<2x6xf32>, %bytes: tensor<24xui8>, %fp8: tensor<8x6xui8>, %codes: tensor<1x6xui8>, %global: tensor<1xf64>, %blocks: tensor<36xui8>) {
  %symmetric = mir.dequantize_weights %i8 scales(%s) scheme <int8_block 4> shape [8, 6] : (tensor<8x6xi8>, tensor<2x6xf32>) -> tensor<8x6xf32>
  %asymmetric = mir.dequantize_weights %i8 scales(%s, %z) scheme <int8_block_asym 4> shape [8, 6] : (tensor<8x6xi8>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<8x6xf32>
  %nibbles = mir.dequantize_weights %bytes scales(%s) scheme <int4_block 4> shape [8, 6] : (tensor<24xui8>, tensor<2x6xf32>) -> tensor<8x6xf32>
  %plain = mir.dequantize_weights %fp8 scheme <fp8_e4m3> shape [8, 6] : (tensor<8x6xui8>) -> tensor<8x6xf32>
  %nvfp4 = mir.dequantize_weights %bytes scales(%codes, %global) scheme <nvfp4_block> shape [8, 6] : (tensor<24xui8>, tensor<1x6xui8>, tensor<1xf64>) -> tensor<8x6xf64>
  %gguf = mir.dequantize_weights %blocks scheme <gguf_q4_0> shape [2, 4, 8] : (tensor<36xui8>) -> tensor<2x4x8xf32>
  func.return
}

// CHECK-LABEL: func.func @products(%x: tensor<2x3x8xf32>, %w: tensor<8x6xi8>, %s: tensor<2x6xf32>, %rows: tensor<5x32xf16>, %packed: tensor<2x54xui8>, %at: tensor<5xi64>) {
// CHECK-NEXT: %y = mir.dequant_matmul %x, %w scales(%s) scheme <int8_block 4> : (tensor<2x3x8xf32>, tensor<8x6xi8>, tensor<2x6xf32>) -> tensor<2x3x6xf32>
// CHECK-NEXT: %back = mir.dequant_matmul_backward_input %y, %w scales(%s) scheme <int8_block 4> k 8 : (tensor<2x3x6xf32>, tensor<8x6xi8>, tensor<2x6xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT: %all = mir.dequant_moe_weights %packed scheme <gguf_q4_0> shape [2, 32, 3] : (tensor<2x54xui8>) -> tensor<2x32x3xf32>
// CHECK-NEXT: %chosen = mir.dequant_grouped_matmul %rows, %packed, %at scheme <gguf_q4_0> experts 2 : (tensor<5x32xf16>, tensor<2x54xui8>, tensor<5xi64>) -> tensor<5x3xf16>
// CHECK-NEXT: %returned = mir.dequant_grouped_matmul_backward_input %chosen, %packed, %at scheme <gguf_q4_0> experts 2 k 32 : (tensor<5x3xf16>, tensor<2x54xui8>, tensor<5xi64>) -> tensor<5x32xf16>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @products(%x: tensor<2x3x8xf32>, %w: tensor<8x6xi8>, %s: tensor<2x6xf32>, %rows: tensor<5x32xf16>, %packed: tensor<2x54xui8>, %at: tensor<5xi64>) {
  %y = mir.dequant_matmul %x, %w scales(%s) scheme <int8_block 4> : (tensor<2x3x8xf32>, tensor<8x6xi8>, tensor<2x6xf32>) -> tensor<2x3x6xf32>
  %back = mir.dequant_matmul_backward_input %y, %w scales(%s) scheme <int8_block 4> k 8 : (tensor<2x3x6xf32>, tensor<8x6xi8>, tensor<2x6xf32>) -> tensor<2x3x8xf32>
  %all = mir.dequant_moe_weights %packed scheme <gguf_q4_0> shape [2, 32, 3] : (tensor<2x54xui8>) -> tensor<2x32x3xf32>
  %chosen = mir.dequant_grouped_matmul %rows, %packed, %at scheme <gguf_q4_0> experts 2 : (tensor<5x32xf16>, tensor<2x54xui8>, tensor<5xi64>) -> tensor<5x3xf16>
  %returned = mir.dequant_grouped_matmul_backward_input %chosen, %packed, %at scheme <gguf_q4_0> experts 2 k 32 : (tensor<5x3xf16>, tensor<2x54xui8>, tensor<5xi64>) -> tensor<5x32xf16>
  func.return
}

// GENERIC: "mir.dequantize_weights"(%{{.*}}, %{{.*}}) <{scheme = #mir.scheme<int8_block 4>, shape = array<i64: 8, 6>}>
