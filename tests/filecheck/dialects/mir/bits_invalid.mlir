// RUN: DIAGNOSTICS

// CHECK: element type f32 is not supported; expected one of i32, i64, i8, ui8, i16, ui32
%0 = "test.op"() : () -> (tensor<2xf32>)
%1 = mir.population_count %0 : tensor<2xf32>

// -----

// CHECK: element type i1 is not supported; expected one of f32, f64, f16, bf16, i32, i64, i8, ui8, i16, ui32
%0 = "test.op"() : () -> (tensor<2xi1>)
%1 = mir.bitcast_convert_type %0 : tensor<2xi1> to tensor<2xi8>

// -----

// CHECK: expected element types of one width, got f32 and i64
%0 = "test.op"() : () -> (tensor<2xf32>)
%1 = mir.bitcast_convert_type %0 : tensor<2xf32> to tensor<2xi64>

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%0 = "test.op"() : () -> (tensor<2xi32>)
%1 = mir.reduce_precision %0 exponent_bits 5 mantissa_bits 2 : (tensor<2xi32>) -> tensor<2xi32>

// -----

// CHECK: expected exponent_bits of at least 1, got 0
%0 = "test.op"() : () -> (tensor<2xf32>)
%1 = mir.reduce_precision %0 exponent_bits 0 mantissa_bits 2 : (tensor<2xf32>) -> tensor<2xf32>

// -----

// CHECK: expected mantissa_bits of at least 0, got -1
%0 = "test.op"() : () -> (tensor<2xf32>)
%1 = mir.reduce_precision %0 exponent_bits 5 mantissa_bits -1 : (tensor<2xf32>) -> tensor<2xf32>
