// RUN: DIAGNOSTICS

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%x = "test.op"() : () -> (tensor<2x3x4xi32>)
%w = "test.op"() : () -> (tensor<4x12xf32>)
%o = "test.op"() : () -> (tensor<4x4xf32>)
%y = mir.fused_attention_block %x, %w, %o : tensor<2x3x4xi32>, tensor<4x12xf32>, tensor<4x4xf32> num_heads 2 -> tensor<2x3x4xi32>

// -----

// CHECK: expected qkv_w of shape [4, 12], got [4, 8]
%x = "test.op"() : () -> (tensor<2x3x4xf32>)
%w = "test.op"() : () -> (tensor<4x8xf32>)
%o = "test.op"() : () -> (tensor<4x4xf32>)
%y = mir.fused_attention_block %x, %w, %o : tensor<2x3x4xf32>, tensor<4x8xf32>, tensor<4x4xf32> num_heads 2 -> tensor<2x3x4xf32>

// -----

// CHECK: expected qkv_b of shape [12], got [4]
%x = "test.op"() : () -> (tensor<2x3x4xf32>)
%w = "test.op"() : () -> (tensor<4x12xf32>)
%o = "test.op"() : () -> (tensor<4x4xf32>)
%qkv_b = "test.op"() : () -> (tensor<4xf32>)
%y = mir.fused_attention_block %x, %w, %o : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32> qkv_b %qkv_b : tensor<4xf32> num_heads 2 -> tensor<2x3x4xf32>

// -----

// CHECK: operands have different element types: hidden is f32, out_w is f64; cast one
%x = "test.op"() : () -> (tensor<2x3x4xf32>)
%w = "test.op"() : () -> (tensor<4x12xf32>)
%o = "test.op"() : () -> (tensor<4x4xf64>)
%y = mir.fused_attention_block %x, %w, %o : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf64> num_heads 2 -> tensor<2x3x4xf32>

// -----

// CHECK: expected a mask of shape [2, 3] or [2, 2, 3, 3] (1 for one batch, head or query), got [2, 4]
%x = "test.op"() : () -> (tensor<2x3x4xf32>)
%w = "test.op"() : () -> (tensor<4x12xf32>)
%o = "test.op"() : () -> (tensor<4x4xf32>)
%mask = "test.op"() : () -> (tensor<2x4xi1>)
%y = mir.fused_attention_block %x, %w, %o : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32> mask %mask : tensor<2x4xi1> num_heads 2 -> tensor<2x3x4xf32>

// -----

// CHECK: expected a mask of i1, true where a key is seen, got one of f32: compare it (mask > 0.5), or add it to the scores of mir.attention as its bias
%x = "test.op"() : () -> (tensor<2x3x4xf32>)
%w = "test.op"() : () -> (tensor<4x12xf32>)
%o = "test.op"() : () -> (tensor<4x4xf32>)
%mask = "test.op"() : () -> (tensor<2x3xf32>)
%y = mir.fused_attention_block %x, %w, %o : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32> mask %mask : tensor<2x3xf32> num_heads 2 -> tensor<2x3x4xf32>

// -----

// CHECK: expected both cos and sin, or neither
%x = "test.op"() : () -> (tensor<2x3x4xf32>)
%w = "test.op"() : () -> (tensor<4x12xf32>)
%o = "test.op"() : () -> (tensor<4x4xf32>)
%cos = "test.op"() : () -> (tensor<3x1xf32>)
%y = mir.fused_attention_block %x, %w, %o : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32> cos %cos : tensor<3x1xf32> num_heads 2 -> tensor<2x3x4xf32>

// -----

// CHECK: expected tables of shape [3, 1] or [2, 3, 1], got [4, 1]
%x = "test.op"() : () -> (tensor<2x3x4xf32>)
%w = "test.op"() : () -> (tensor<4x12xf32>)
%o = "test.op"() : () -> (tensor<4x4xf32>)
%cos = "test.op"() : () -> (tensor<4x1xf32>)
%sin = "test.op"() : () -> (tensor<4x1xf32>)
%y = mir.fused_attention_block %x, %w, %o : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32> cos %cos : tensor<4x1xf32> sin %sin : tensor<4x1xf32> num_heads 2 -> tensor<2x3x4xf32>

// -----

// CHECK: hidden of width 4 does not hold 3 heads
%x = "test.op"() : () -> (tensor<2x3x4xf32>)
%w = "test.op"() : () -> (tensor<4x12xf32>)
%o = "test.op"() : () -> (tensor<4x4xf32>)
%y = mir.fused_attention_block %x, %w, %o : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32> num_heads 3 -> tensor<2x3x4xf32>

// -----

// CHECK: expected fc2_w of shape [8, 4], got [7, 4]
%x = "test.op"() : () -> (tensor<2x3x4xf32>)
%w = "test.op"() : () -> (tensor<4x12xf32>)
%o = "test.op"() : () -> (tensor<4x4xf32>)
%g = "test.op"() : () -> (tensor<4xf32>)
%u = "test.op"() : () -> (tensor<4x8xf32>)
%d = "test.op"() : () -> (tensor<7x4xf32>)
%h = "test.op"() : () -> (tensor<4xf32>)
%y = mir.fused_transformer_layer %x, %w, %o, %g, %u, %d, %h : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x8xf32>, tensor<7x4xf32>, tensor<4xf32> num_heads 2 eps1 1.000000e-05 eps2 1.000000e-05 -> tensor<2x3x4xf32>

// -----

// CHECK: expected ln2_g of shape [4], got [5]
%x = "test.op"() : () -> (tensor<2x3x4xf32>)
%w = "test.op"() : () -> (tensor<4x12xf32>)
%o = "test.op"() : () -> (tensor<4x4xf32>)
%g = "test.op"() : () -> (tensor<4xf32>)
%u = "test.op"() : () -> (tensor<4x8xf32>)
%d = "test.op"() : () -> (tensor<8x4xf32>)
%h = "test.op"() : () -> (tensor<5xf32>)
%y = mir.fused_transformer_layer %x, %w, %o, %g, %u, %d, %h : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x8xf32>, tensor<8x4xf32>, tensor<5xf32> num_heads 2 eps1 1.000000e-05 eps2 1.000000e-05 -> tensor<2x3x4xf32>

// -----

// CHECK: expected fc1_b of shape [8], got [4]
%x = "test.op"() : () -> (tensor<2x3x4xf32>)
%w = "test.op"() : () -> (tensor<4x12xf32>)
%o = "test.op"() : () -> (tensor<4x4xf32>)
%g = "test.op"() : () -> (tensor<4xf32>)
%u = "test.op"() : () -> (tensor<4x8xf32>)
%d = "test.op"() : () -> (tensor<8x4xf32>)
%h = "test.op"() : () -> (tensor<4xf32>)
%fc1_b = "test.op"() : () -> (tensor<4xf32>)
%y = mir.fused_transformer_layer %x, %w, %o, %g, %u, %d, %h : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x8xf32>, tensor<8x4xf32>, tensor<4xf32> fc1_b %fc1_b : tensor<4xf32> num_heads 2 eps1 1.000000e-05 eps2 1.000000e-05 -> tensor<2x3x4xf32>

// -----

// CHECK: expected a mask of shape [2, 3] or [2, 2, 3, 3] (1 for one batch, head or query), got [1, 3, 3, 3]
%x = "test.op"() : () -> (tensor<2x3x4xf32>)
%w = "test.op"() : () -> (tensor<4x12xf32>)
%o = "test.op"() : () -> (tensor<4x4xf32>)
%g = "test.op"() : () -> (tensor<4xf32>)
%u = "test.op"() : () -> (tensor<4x8xf32>)
%d = "test.op"() : () -> (tensor<8x4xf32>)
%h = "test.op"() : () -> (tensor<4xf32>)
%mask = "test.op"() : () -> (tensor<1x3x3x3xi1>)
%y = mir.fused_transformer_layer %x, %w, %o, %g, %u, %d, %h : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x8xf32>, tensor<8x4xf32>, tensor<4xf32> mask %mask : tensor<1x3x3x3xi1> num_heads 2 eps1 1.000000e-05 eps2 1.000000e-05 -> tensor<2x3x4xf32>

// -----

// CHECK: expected a finite eps of at least 0, got -1.0
%x = "test.op"() : () -> (tensor<2x3x4xf32>)
%w = "test.op"() : () -> (tensor<4x12xf32>)
%o = "test.op"() : () -> (tensor<4x4xf32>)
%g = "test.op"() : () -> (tensor<4xf32>)
%u = "test.op"() : () -> (tensor<4x8xf32>)
%d = "test.op"() : () -> (tensor<8x4xf32>)
%h = "test.op"() : () -> (tensor<4xf32>)
%y = mir.fused_transformer_layer %x, %w, %o, %g, %u, %d, %h : tensor<2x3x4xf32>, tensor<4x12xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x8xf32>, tensor<8x4xf32>, tensor<4xf32> num_heads 2 eps1 1.000000e-05 eps2 -1.000000e+00 -> tensor<2x3x4xf32>
