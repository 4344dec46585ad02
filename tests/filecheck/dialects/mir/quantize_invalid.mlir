// RUN: DIAGNOSTICS

// CHECK: expected the number of scales to be 1 or 3, got 2
%x = "test.op"() : () -> (tensor<2x3xf32>)
%y = mir.quantize %x axis 1 scales [1.0, 2.0] zero_points [0] : tensor<2x3xf32> to tensor<2x3xi8>

// -----

// CHECK: expected the number of zero points to be 1, got 3
%x = "test.op"() : () -> (tensor<2x3xf32>)
%y = mir.quantize %x scales [1.0] zero_points [0, 1, 2] : tensor<2x3xf32> to tensor<2x3xi8>

// -----

// CHECK: expected positive and finite scales
%x = "test.op"() : () -> (tensor<2x3xi8>)
%y = mir.dequantize %x scales [0.0] zero_points [0] : tensor<2x3xi8> to tensor<2x3xf32>

// -----

// CHECK: expected zero points that fit in i32
%x = "test.op"() : () -> (tensor<2x3xi8>)
%y = mir.dequantize %x scales [1.0] zero_points [2147483648] : tensor<2x3xi8> to tensor<2x3xf32>

// -----

// CHECK: axis 2 is out of range for rank 2
%x = "test.op"() : () -> (tensor<2x3xf32>)
%y = mir.quantize %x axis 2 scales [1.0] zero_points [0] : tensor<2x3xf32> to tensor<2x3xi8>

// -----

// CHECK: expected result of type tensor<2x3xi8>, got tensor<2x3xi32>
%x = "test.op"() : () -> (tensor<2x3xf32>)
%y = mir.quantize %x scales [1.0] zero_points [0] : tensor<2x3xf32> to tensor<2x3xi32>

// -----

// CHECK: element type i32 is not supported; expected one of i8
%x = "test.op"() : () -> (tensor<2x3xi32>)
%y = mir.dequantize %x scales [1.0] zero_points [0] : tensor<2x3xi32> to tensor<2x3xf32>
