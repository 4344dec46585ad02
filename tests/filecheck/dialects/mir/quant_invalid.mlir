// RUN: DIAGNOSTICS

// CHECK: int8_block needs a block size of at least 1, got 0
%0 = "test.op"() : () -> (tensor<8x6xi8>)
%1 = "test.op"() : () -> (tensor<2x6xf32>)
%r = mir.dequantize_weights %0 scales(%1) scheme <int8_block> shape [8, 6] : (tensor<8x6xi8>, tensor<2x6xf32>) -> tensor<8x6xf32>

// -----

// CHECK: fp8_e4m3 takes no block size, got 4
%0 = "test.op"() : () -> (tensor<8x6xui8>)
%r = mir.dequantize_weights %0 scheme <fp8_e4m3 4> shape [8, 6] : (tensor<8x6xui8>) -> tensor<8x6xf32>

// -----

// CHECK: expected weights of element type i8 for int8_block, got ui8
%0 = "test.op"() : () -> (tensor<8x6xui8>)
%1 = "test.op"() : () -> (tensor<2x6xf32>)
%r = mir.dequantize_weights %0 scales(%1) scheme <int8_block 4> shape [8, 6] : (tensor<8x6xui8>, tensor<2x6xf32>) -> tensor<8x6xf32>

// -----

// CHECK: 36 bytes are not 96 elements of gguf_q4_0, which has 32 in 18 bytes
%0 = "test.op"() : () -> (tensor<36xui8>)
%r = mir.dequantize_weights %0 scheme <gguf_q4_0> shape [3, 32] : (tensor<36xui8>) -> tensor<3x32xf32>

// -----

// CHECK: expected 24 bytes for 48 elements of int4_block, got 23
%0 = "test.op"() : () -> (tensor<23xui8>)
%1 = "test.op"() : () -> (tensor<2x6xf32>)
%r = mir.dequantize_weights %0 scales(%1) scheme <int4_block 4> shape [8, 6] : (tensor<23xui8>, tensor<2x6xf32>) -> tensor<8x6xf32>

// -----

// CHECK: expected weights of shape [8, 6] for fp8_e4m3, got [6, 8]
%0 = "test.op"() : () -> (tensor<6x8xui8>)
%r = mir.dequantize_weights %0 scheme <fp8_e4m3> shape [8, 6] : (tensor<6x8xui8>) -> tensor<8x6xf32>

// -----

// CHECK: expected scale, zero_point as scales of int8_block_asym, got 1 operands
%0 = "test.op"() : () -> (tensor<8x6xi8>)
%1 = "test.op"() : () -> (tensor<2x6xf32>)
%r = mir.dequantize_weights %0 scales(%1) scheme <int8_block_asym 4> shape [8, 6] : (tensor<8x6xi8>, tensor<2x6xf32>) -> tensor<8x6xf32>

// -----

// CHECK: expected nothing as scales of gguf_q4_0, got 1 operands
%0 = "test.op"() : () -> (tensor<36xui8>)
%1 = "test.op"() : () -> (tensor<2xf32>)
%r = mir.dequantize_weights %0 scales(%1) scheme <gguf_q4_0> shape [2, 32] : (tensor<36xui8>, tensor<2xf32>) -> tensor<2x32xf32>

// -----

// CHECK: expected scale of shape [2, 6] for int8_block, got [1, 6]
%0 = "test.op"() : () -> (tensor<8x6xi8>)
%1 = "test.op"() : () -> (tensor<1x6xf32>)
%r = mir.dequantize_weights %0 scales(%1) scheme <int8_block 4> shape [8, 6] : (tensor<8x6xi8>, tensor<1x6xf32>) -> tensor<8x6xf32>

// -----

// CHECK: expected global_scale of shape [1] for nvfp4_block, got [6]
%0 = "test.op"() : () -> (tensor<24xui8>)
%1 = "test.op"() : () -> (tensor<1x6xui8>)
%2 = "test.op"() : () -> (tensor<6xf32>)
%r = mir.dequantize_weights %0 scales(%1, %2) scheme <nvfp4_block> shape [8, 6] : (tensor<24xui8>, tensor<1x6xui8>, tensor<6xf32>) -> tensor<8x6xf32>

// -----

// CHECK: expected scale of element type ui8 for nvfp4_block, got f32
%0 = "test.op"() : () -> (tensor<24xui8>)
%1 = "test.op"() : () -> (tensor<1x6xf32>)
%2 = "test.op"() : () -> (tensor<1xf32>)
%r = mir.dequantize_weights %0 scales(%1, %2) scheme <nvfp4_block> shape [8, 6] : (tensor<24xui8>, tensor<1x6xf32>, tensor<1xf32>) -> tensor<8x6xf32>

// -----

// CHECK: expected scale of element type f32 or f64 for int8_block, got f16
%0 = "test.op"() : () -> (tensor<8x6xi8>)
%1 = "test.op"() : () -> (tensor<2x6xf16>)
%r = mir.dequantize_weights %0 scales(%1) scheme <int8_block 4> shape [8, 6] : (tensor<8x6xi8>, tensor<2x6xf16>) -> tensor<8x6xf32>

// -----

// CHECK: expected zero_point of element type f32 for int8_block_asym, got f64
%0 = "test.op"() : () -> (tensor<8x6xi8>)
%1 = "test.op"() : () -> (tensor<2x6xf32>)
%2 = "test.op"() : () -> (tensor<2x6xf64>)
%r = mir.dequantize_weights %0 scales(%1, %2) scheme <int8_block_asym 4> shape [8, 6] : (tensor<8x6xi8>, tensor<2x6xf32>, tensor<2x6xf64>) -> tensor<8x6xf32>

// -----

// CHECK: expected a shape of rank 2 for fp8_e4m3, got [48]
%0 = "test.op"() : () -> (tensor<48xui8>)
%r = mir.dequantize_weights %0 scheme <fp8_e4m3> shape [48] : (tensor<48xui8>) -> tensor<48xf32>

// -----

// CHECK: expected a static shape
%0 = "test.op"() : () -> (tensor<8x6xui8>)
%r = mir.dequantize_weights %0 scheme <fp8_e4m3> shape [-8, 6] : (tensor<8x6xui8>) -> tensor<8x6xf32>

// -----

// CHECK: 66 elements are not whole blocks of 32
%0 = "test.op"() : () -> (tensor<36xui8>)
%r = mir.dequantize_weights %0 scheme <gguf_q4_0> shape [2, 33] : (tensor<36xui8>) -> tensor<2x33xf32>

// -----

// CHECK: expected result of type tensor<8x6xf32>, got tensor<8x6xf64>
%0 = "test.op"() : () -> (tensor<8x6xui8>)
%r = mir.dequantize_weights %0 scheme <fp8_e4m3> shape [8, 6] : (tensor<8x6xui8>) -> tensor<8x6xf64>

// -----

// CHECK: expected scales of element type f64 for f64, got f32
%0 = "test.op"() : () -> (tensor<3x8xf64>)
%1 = "test.op"() : () -> (tensor<8x6xi8>)
%2 = "test.op"() : () -> (tensor<2x6xf32>)
%r = mir.dequant_matmul %0, %1 scales(%2) scheme <int8_block 4> : (tensor<3x8xf64>, tensor<8x6xi8>, tensor<2x6xf32>) -> tensor<3x6xf64>

// -----

// CHECK: expected x of rank at least 2, got [8]
%0 = "test.op"() : () -> (tensor<8xf32>)
%1 = "test.op"() : () -> (tensor<8x6xui8>)
%r = mir.dequant_matmul %0, %1 scheme <fp8_e4m3> : (tensor<8xf32>, tensor<8x6xui8>) -> tensor<6xf32>

// -----

// CHECK: 64 elements are not whole rows of 24
%0 = "test.op"() : () -> (tensor<3x24xf32>)
%1 = "test.op"() : () -> (tensor<36xui8>)
%r = mir.dequant_matmul %0, %1 scheme <gguf_q4_0> : (tensor<3x24xf32>, tensor<36xui8>) -> tensor<3x2xf32>

// -----

// CHECK: int4_block needs the operand scale, a matrix
%0 = "test.op"() : () -> (tensor<3x8xf32>)
%1 = "test.op"() : () -> (tensor<24xui8>)
%r = mir.dequant_matmul %0, %1 scheme <int4_block 4> : (tensor<3x8xf32>, tensor<24xui8>) -> tensor<3x6xf32>

// -----

// CHECK: element type i8 is not supported; expected one of f32, f64, f16, bf16
%0 = "test.op"() : () -> (tensor<3x8xi8>)
%1 = "test.op"() : () -> (tensor<8x6xui8>)
%r = mir.dequant_matmul %0, %1 scheme <fp8_e4m3> : (tensor<3x8xi8>, tensor<8x6xui8>) -> tensor<3x6xi8>

// -----

// CHECK: expected k of at least 0, got -8
%0 = "test.op"() : () -> (tensor<3x6xf32>)
%1 = "test.op"() : () -> (tensor<8x6xui8>)
%r = mir.dequant_matmul_backward_input %0, %1 scheme <fp8_e4m3> k -8 : (tensor<3x6xf32>, tensor<8x6xui8>) -> tensor<3x8xf32>

// -----

// CHECK: expected rows of rank 2 and an index for each, got [5, 32] and [4]
%0 = "test.op"() : () -> (tensor<5x32xf32>)
%1 = "test.op"() : () -> (tensor<2x54xui8>)
%2 = "test.op"() : () -> (tensor<4xi64>)
%r = mir.dequant_grouped_matmul %0, %1, %2 scheme <gguf_q4_0> experts 2 : (tensor<5x32xf32>, tensor<2x54xui8>, tensor<4xi64>) -> tensor<5x3xf32>

// -----

// CHECK: element type f64 is not supported; expected one of i32, i64, i8, ui8, i16, ui32, f32
%0 = "test.op"() : () -> (tensor<5x32xf32>)
%1 = "test.op"() : () -> (tensor<2x54xui8>)
%2 = "test.op"() : () -> (tensor<5xf64>)
%r = mir.dequant_grouped_matmul %0, %1, %2 scheme <gguf_q4_0> experts 2 : (tensor<5x32xf32>, tensor<2x54xui8>, tensor<5xf64>) -> tensor<5x3xf32>

// -----

// CHECK: expected a gguf scheme, got fp8_e4m3
%0 = "test.op"() : () -> (tensor<5x32xf32>)
%1 = "test.op"() : () -> (tensor<2x54xui8>)
%2 = "test.op"() : () -> (tensor<5xi64>)
%r = mir.dequant_grouped_matmul %0, %1, %2 scheme <fp8_e4m3> experts 2 : (tensor<5x32xf32>, tensor<2x54xui8>, tensor<5xi64>) -> tensor<5x3xf32>

// -----

// CHECK: 6 rows of weights are not the same number for each of 4 experts
%0 = "test.op"() : () -> (tensor<5x32xf32>)
%1 = "test.op"() : () -> (tensor<2x54xui8>)
%2 = "test.op"() : () -> (tensor<5xi64>)
%r = mir.dequant_grouped_matmul %0, %1, %2 scheme <gguf_q4_0> experts 4 : (tensor<5x32xf32>, tensor<2x54xui8>, tensor<5xi64>) -> tensor<5x3xf32>

// -----

// CHECK: expected at least one expert and extents of at least 0, got 0, 32, 3
%0 = "test.op"() : () -> (tensor<5x3xf32>)
%1 = "test.op"() : () -> (tensor<2x54xui8>)
%2 = "test.op"() : () -> (tensor<5xi64>)
%r = mir.dequant_grouped_matmul_backward_input %0, %1, %2 scheme <gguf_q4_0> experts 0 k 32 : (tensor<5x3xf32>, tensor<2x54xui8>, tensor<5xi64>) -> tensor<5x32xf32>

// -----

// CHECK: expected a gguf scheme, got fp8_e4m3
%0 = "test.op"() : () -> (tensor<5x3xf32>)
%1 = "test.op"() : () -> (tensor<2x54xui8>)
%2 = "test.op"() : () -> (tensor<5xi64>)
%r = mir.dequant_grouped_matmul_backward_input %0, %1, %2 scheme <fp8_e4m3> experts 2 k 32 : (tensor<5x3xf32>, tensor<2x54xui8>, tensor<5xi64>) -> tensor<5x32xf32>

// -----

// CHECK: 16 times 3 weights of an expert are not whole blocks of 32
%0 = "test.op"() : () -> (tensor<2x54xui8>)
%r = mir.dequant_moe_weights %0 scheme <gguf_q4_0> shape [2, 16, 3] : (tensor<2x54xui8>) -> tensor<2x16x3xf32>

// -----

// CHECK: expected a shape of rank 3, got [64, 3]
%0 = "test.op"() : () -> (tensor<2x54xui8>)
%r = mir.dequant_moe_weights %0 scheme <gguf_q4_0> shape [64, 3] : (tensor<2x54xui8>) -> tensor<64x3xf32>
