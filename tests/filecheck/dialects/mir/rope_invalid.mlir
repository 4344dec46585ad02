// RUN: DIAGNOSTICS

// CHECK: operands have different element types: x is f32, cos is f64; cast one
%x = "test.op"() : () -> (tensor<2x5x12xf32>)
%c = "test.op"() : () -> (tensor<5x3xf64>)
%s = "test.op"() : () -> (tensor<5x3xf32>)
%y = mir.rope %x, %c, %s num_heads 2 n_rot 6 layout packed pairing halves : (tensor<2x5x12xf32>, tensor<5x3xf64>, tensor<5x3xf32>) -> tensor<2x5x12xf32>

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%x = "test.op"() : () -> (tensor<2x5x12xi32>)
%c = "test.op"() : () -> (tensor<5x3xi32>)
%s = "test.op"() : () -> (tensor<5x3xi32>)
%y = mir.rope %x, %c, %s num_heads 2 n_rot 6 layout packed pairing halves : (tensor<2x5x12xi32>, tensor<5x3xi32>, tensor<5x3xi32>) -> tensor<2x5x12xi32>

// -----

// CHECK: expected an even n_rot of at most 6, got 8
%x = "test.op"() : () -> (tensor<2x5x12xf32>)
%c = "test.op"() : () -> (tensor<5x3xf32>)
%s = "test.op"() : () -> (tensor<5x3xf32>)
%y = mir.rope %x, %c, %s num_heads 2 n_rot 8 layout packed pairing halves : (tensor<2x5x12xf32>, tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<2x5x12xf32>

// -----

// CHECK: expected an even n_rot of at most 6, got 3
%x = "test.op"() : () -> (tensor<2x5x12xf32>)
%c = "test.op"() : () -> (tensor<5x3xf32>)
%s = "test.op"() : () -> (tensor<5x3xf32>)
%y = mir.rope_backward %x, %c, %s num_heads 2 n_rot 3 layout packed pairing halves : (tensor<2x5x12xf32>, tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<2x5x12xf32>

// -----

// CHECK: expected tables of shape [5, 3] or [2, 5, 3], got [5, 6]
%x = "test.op"() : () -> (tensor<2x5x12xf32>)
%c = "test.op"() : () -> (tensor<5x6xf32>)
%s = "test.op"() : () -> (tensor<5x6xf32>)
%y = mir.rope %x, %c, %s num_heads 2 n_rot 6 layout packed pairing halves : (tensor<2x5x12xf32>, tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<2x5x12xf32>

// -----

// CHECK: expected cos and sin of one shape, got [2, 5, 3] and [5, 3]
%x = "test.op"() : () -> (tensor<2x5x12xf32>)
%c = "test.op"() : () -> (tensor<2x5x3xf32>)
%s = "test.op"() : () -> (tensor<5x3xf32>)
%y = mir.rope %x, %c, %s num_heads 2 n_rot 6 layout packed pairing halves : (tensor<2x5x12xf32>, tensor<2x5x3xf32>, tensor<5x3xf32>) -> tensor<2x5x12xf32>

// -----

// CHECK: x of width 12 does not hold 5 heads
%x = "test.op"() : () -> (tensor<2x5x12xf32>)
%c = "test.op"() : () -> (tensor<5x3xf32>)
%s = "test.op"() : () -> (tensor<5x3xf32>)
%y = mir.rope %x, %c, %s num_heads 5 n_rot 2 layout packed pairing halves : (tensor<2x5x12xf32>, tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<2x5x12xf32>

// -----

// CHECK: expected result of type tensor<2x5x12xf32>, got tensor<2x5x10xf32>
%x = "test.op"() : () -> (tensor<2x5x12xf32>)
%c = "test.op"() : () -> (tensor<5x3xf32>)
%s = "test.op"() : () -> (tensor<5x3xf32>)
%y = mir.rope %x, %c, %s num_heads 2 n_rot 6 layout packed pairing halves : (tensor<2x5x12xf32>, tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<2x5x10xf32>

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%x = "test.op"() : () -> (tensor<1x6x8xi32>)
%y = mir.axial_rope_2d %x end_x 3 end_y 2 num_heads 2 theta 1.000000e+04 repeat_factor 1 : (tensor<1x6x8xi32>) -> tensor<1x6x8xi32>

// -----

// CHECK: expected heads of a multiple of 4 features, got 6
%x = "test.op"() : () -> (tensor<1x6x12xf32>)
%y = mir.axial_rope_2d %x end_x 3 end_y 2 num_heads 2 theta 1.000000e+04 repeat_factor 1 : (tensor<1x6x12xf32>) -> tensor<1x6x12xf32>

// -----

// CHECK: expected 3 x 2 x 1 tokens, got 7
%x = "test.op"() : () -> (tensor<1x7x8xf32>)
%y = mir.axial_rope_2d %x end_x 3 end_y 2 num_heads 2 theta 1.000000e+04 repeat_factor 1 : (tensor<1x7x8xf32>) -> tensor<1x7x8xf32>

// -----

// CHECK: expected a positive finite theta, got 0.0
%x = "test.op"() : () -> (tensor<1x6x8xf32>)
%y = mir.axial_rope_2d %x end_x 3 end_y 2 num_heads 2 theta 0.000000e+00 repeat_factor 1 : (tensor<1x6x8xf32>) -> tensor<1x6x8xf32>

// -----

// CHECK: expected result of type tensor<1x6x8xf32>, got tensor<1x6x4xf32>
%x = "test.op"() : () -> (tensor<1x6x8xf32>)
%y = mir.axial_rope_2d %x end_x 3 end_y 2 num_heads 2 theta 1.000000e+04 repeat_factor 1 : (tensor<1x6x8xf32>) -> tensor<1x6x4xf32>
