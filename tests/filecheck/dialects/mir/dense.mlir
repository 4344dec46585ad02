// RUN: xdsl-opt %s | xdsl-opt | filecheck %s

// Infinities, NaN and signed zeros survive our form; the generic form is xDSL's, which reads their bits as integers.
// CHECK: %nan = mir.constant dense<0x7fc00000> : tensor<f32>
// CHECK-NEXT: %low = mir.constant dense<0xfff0000000000000> : tensor<2x3xf64>
// CHECK-NEXT: %mask = mir.constant dense<[0.000000e+00, 0xff800000]> : tensor<2xf32>
// CHECK-NEXT: %half = mir.constant dense<[0x7c00, 1.500000e+00]> : tensor<2xf16>
// CHECK-NEXT: %zeros = mir.constant dense<"0x0000000000000080"> : tensor<2xf32>
// CHECK-NEXT: %bytes = mir.constant dense<2.000000e+00> : tensor<2xf32>
// CHECK-NEXT: %int = mir.constant dense<16> : tensor<i32>
%nan = mir.constant dense<0x7FC00000> : tensor<f32>
%low = mir.constant dense<0xFFF0000000000000> : tensor<2x3xf64>
%mask = mir.constant dense<[0.0, 0xFF800000]> : tensor<2xf32>
%half = mir.constant dense<[0x7C00, 1.5]> : tensor<2xf16>
%zeros = mir.constant dense<[0.0, -0.0]> : tensor<2xf32>
%bytes = mir.constant dense<"0x0000004000000040"> : tensor<2xf32>
%int = mir.constant dense<0x10> : tensor<i32>
