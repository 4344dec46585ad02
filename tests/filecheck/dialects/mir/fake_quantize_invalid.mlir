// RUN: DIAGNOSTICS

// CHECK: expected 2, 4 or 8 bits, got 3
%x = "test.op"() : () -> (tensor<2x3xf32>)
%y, %s = mir.fake_quantize %x bits 3 ste identity scale_mode per_batch : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<1xf32>)

// -----

// CHECK: scale mode per_batch takes no state
%x, %v = "test.op"() : () -> (tensor<2x3xf32>, tensor<1xf32>)
%y, %s = mir.fake_quantize %x state %v bits 8 ste identity scale_mode per_batch : (tensor<2x3xf32>, tensor<1xf32>) -> (tensor<2x3xf32>, tensor<1xf32>)

// -----

// CHECK: scale mode fixed takes a state
%x = "test.op"() : () -> (tensor<2x3xf32>)
%y, %s = mir.fake_quantize %x bits 8 ste identity scale_mode fixed : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<1xf32>)

// -----

// CHECK: scale mode ema takes a decay
%x, %v = "test.op"() : () -> (tensor<2x3xf32>, tensor<1xf32>)
%y, %s = mir.fake_quantize %x state %v bits 8 ste identity scale_mode ema : (tensor<2x3xf32>, tensor<1xf32>) -> (tensor<2x3xf32>, tensor<1xf32>)

// -----

// CHECK: scale mode fixed takes no decay
%x, %v = "test.op"() : () -> (tensor<2x3xf32>, tensor<1xf32>)
%y, %s = mir.fake_quantize %x state %v bits 8 ste identity scale_mode fixed decay 0.5 : (tensor<2x3xf32>, tensor<1xf32>) -> (tensor<2x3xf32>, tensor<1xf32>)

// -----

// CHECK: expected a decay from 0 to 1, got 1.5
%x, %v = "test.op"() : () -> (tensor<2x3xf32>, tensor<1xf32>)
%y, %s = mir.fake_quantize %x state %v bits 8 ste identity scale_mode ema decay 1.5 : (tensor<2x3xf32>, tensor<1xf32>) -> (tensor<2x3xf32>, tensor<1xf32>)

// -----

// CHECK: expected a state of type tensor<3xf32>, got tensor<1xf32>
%x, %v = "test.op"() : () -> (tensor<2x3xf32>, tensor<1xf32>)
%y, %s = mir.fake_quantize %x state %v bits 8 axis 1 ste identity scale_mode fixed : (tensor<2x3xf32>, tensor<1xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)

// -----

// CHECK: element type f16 is not supported; expected one of f32, f64
%x = "test.op"() : () -> (tensor<2x3xf16>)
%y, %s = mir.fake_quantize %x bits 8 ste identity scale_mode per_batch : (tensor<2x3xf16>) -> (tensor<2x3xf16>, tensor<1xf16>)

// -----

// CHECK: expected result 1 of type tensor<1xf32>, got tensor<3xf32>
%x = "test.op"() : () -> (tensor<2x3xf32>)
%y, %s = mir.fake_quantize %x bits 8 ste identity scale_mode per_batch : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)

// -----

// CHECK: expected a scale of type tensor<2xf32>, got tensor<3xf32>
%x, %v = "test.op"() : () -> (tensor<2x3xf32>, tensor<3xf32>)
%y = mir.fake_quantize_lsq %x, %v bits 8 axis 0 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: expected a cotangent of type tensor<2x3xf32>, got tensor<3xf32>
%x, %v = "test.op"() : () -> (tensor<2x3xf32>, tensor<3xf32>)
%y = mir.fake_quantize_backward %x, %v, %v bits 8 axis 1 ste tanh : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: expected a cotangent of type tensor<2x3xf32>, got tensor<3xf32>
%x, %v = "test.op"() : () -> (tensor<2x3xf32>, tensor<3xf32>)
%y = mir.fake_quantize_lsq_backward_scale %x, %v, %v bits 8 axis 1 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>

// -----

// CHECK: expected a carrier of type tensor<2x3xf32>, got tensor<3xf32>
%x, %v = "test.op"() : () -> (tensor<2x3xf32>, tensor<3xf32>)
%y = mir.straight_through %x, %v : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%x = "test.op"() : () -> (tensor<2x3xi32>)
%y = mir.straight_through %x, %x : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
