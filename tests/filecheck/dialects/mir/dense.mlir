// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | filecheck %s --check-prefix=BYTES

// Infinities, NaN and signed zeros survive; the generic form has bytes where xDSL reads the bits of a float as a number.
// CHECK: %nan = mir.constant dense<0x7fc00000> : tensor<f32>
// CHECK-NEXT: %low = mir.constant dense<0xfff0000000000000> : tensor<2x3xf64>
// CHECK-NEXT: %mask = mir.constant dense<[0.000000e+00, 0xff800000]> : tensor<2xf32>
// CHECK-NEXT: %half = mir.constant dense<[0x7c00, 1.500000e+00]> : tensor<2xf16>
// CHECK-NEXT: %zeros = mir.constant dense<"0x0000000000000080"> : tensor<2xf32>
// CHECK-NEXT: %bytes = mir.constant dense<2.000000e+00> : tensor<2xf32>
// CHECK-NEXT: %int = mir.constant dense<16> : tensor<i32>
// CHECK-NEXT: %long = mir.constant dense<0x4C000001> : tensor<f32>
// CHECK-NEXT: %complex = mir.constant dense<"0x0000807F0000C0FF"> : tensor<complex<f32>>
// BYTES: %nan = "mir.constant"() <{value = dense<"0x0000C07F"> : tensor<f32>}> : () -> tensor<f32>
// BYTES: %mask = "mir.constant"() <{value = dense<"0x00000000000080FF"> : tensor<2xf32>}> : () -> tensor<2xf32>
%nan = mir.constant dense<0x7FC00000> : tensor<f32>
%low = mir.constant dense<0xFFF0000000000000> : tensor<2x3xf64>
%mask = mir.constant dense<[0.0, 0xFF800000]> : tensor<2xf32>
%half = mir.constant dense<[0x7C00, 1.5]> : tensor<2xf16>
%zeros = mir.constant dense<[0.0, -0.0]> : tensor<2xf32>
%bytes = mir.constant dense<"0x0000004000000040"> : tensor<2xf32>
%int = mir.constant dense<0x10> : tensor<i32>
%long = mir.constant dense<0x4C000001> : tensor<f32>
%complex = mir.constant dense<"0x0000807F0000C0FF"> : tensor<complex<f32>>
