// RUN: DIAGNOSTICS

// CHECK: expected a key of shape [.., 2], such as rlx.key(0), got shape [3]
%0 = "test.op"() : () -> (tensor<3xi64>)
%1 = mir.rng_bits %0 offset 0 : tensor<3xi64> to tensor<4xi32>

// -----

// CHECK: element type f32 is not supported; expected one of i32, i64
%0 = "test.op"() : () -> (tensor<2xf32>)
%1 = mir.rng_bits %0 offset 0 : tensor<2xf32> to tensor<4xi32>

// -----

// CHECK: element type i64 is not supported; expected one of i32
%0 = "test.op"() : () -> (tensor<2xi64>)
%1 = mir.rng_bits %0 offset 0 : tensor<2xi64> to tensor<4xi64>

// -----

// CHECK: expected a result that begins with the dimensions [3], got [4, 3]
%0 = "test.op"() : () -> (tensor<3x2xi64>)
%1 = mir.rng_normal %0 mean 0.0 scale 1.0 : tensor<3x2xi64> to tensor<4x3xf32>

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%0 = "test.op"() : () -> (tensor<2xi64>)
%1 = mir.rng_uniform %0 low 0.0 high 1.0 : tensor<2xi64> to tensor<3xi32>

// -----

// CHECK: expected finite bounds low < high, got 1.0 and 1.0
%0 = "test.op"() : () -> (tensor<2xi64>)
%1 = mir.rng_uniform %0 low 1.0 high 1.0000000001 : tensor<2xi64> to tensor<3xf32>

// -----

// CHECK: expected finite bounds low < high, got -60000.0 and 60000.0
%0 = "test.op"() : () -> (tensor<2xi64>)
%1 = mir.rng_uniform %0 low -60000.0 high 60000.0 : tensor<2xi64> to tensor<3xf16>

// -----

// CHECK: expected logits of at least one id, got [4, 0]
%0:2 = "test.op"() : () -> (tensor<4x0xf32>, tensor<2xi64>)
%1 = mir.sample %0#0, %0#1 temperature 1.0 top_k 0 top_p 1.0 : (tensor<4x0xf32>, tensor<2xi64>) -> tensor<4xi64>

// -----

// CHECK: expected a finite temperature of at least 0, got -1.0
%0:2 = "test.op"() : () -> (tensor<4x3xf32>, tensor<2xi64>)
%1 = mir.sample %0#0, %0#1 temperature -1.0 top_k 0 top_p 1.0 : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<4xi64>

// -----

// CHECK: expected top_k of at least 0, got -1
%0:2 = "test.op"() : () -> (tensor<4x3xf32>, tensor<2xi64>)
%1 = mir.sample %0#0, %0#1 temperature 1.0 top_k -1 top_p 1.0 : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<4xi64>

// -----

// CHECK: expected top_p above 0 and up to 1, got 0.0
%0:2 = "test.op"() : () -> (tensor<4x3xf32>, tensor<2xi64>)
%1 = mir.sample %0#0, %0#1 temperature 1.0 top_k 0 top_p 0.0 : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<4xi64>

// -----

// CHECK: expected one key of shape [2], got [4, 2]
%0:2 = "test.op"() : () -> (tensor<4x3xf32>, tensor<4x2xi64>)
%1 = mir.sample %0#0, %0#1 temperature 1.0 top_k 0 top_p 1.0 : (tensor<4x3xf32>, tensor<4x2xi64>) -> tensor<4xi64>

// -----

// CHECK: expected u of type tensor<4xf64>, got tensor<4xf32>
%0:2 = "test.op"() : () -> (tensor<4x3xf32>, tensor<4xf32>)
%1 = mir.draw %0#0, %0#1 temperature 1.0 top_k 0 top_p 1.0 : (tensor<4x3xf32>, tensor<4xf32>) -> tensor<4xi64>

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%0:2 = "test.op"() : () -> (tensor<4x3xi32>, tensor<4xf64>)
%1 = mir.draw %0#0, %0#1 temperature 1.0 top_k 0 top_p 1.0 : (tensor<4x3xi32>, tensor<4xf64>) -> tensor<4xi64>
