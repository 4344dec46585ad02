// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @quantize(%x: tensor<2x3xf32>) {
// CHECK-NEXT: %q = mir.quantize %x scales [5.000000e-01] zero_points [-3] : tensor<2x3xf32> to tensor<2x3xi8>
// CHECK-NEXT: %channels = mir.quantize %x axis 1 scales [5.000000e-01, 2.500000e-01, 1.000000e-01] zero_points [0] : tensor<2x3xf32> to tensor<2x3xi8>
// CHECK-NEXT: %back = mir.dequantize %channels axis 1 scales [5.000000e-01, 2.500000e-01, 1.000000e-01] zero_points [0, 1, 2] : tensor<2x3xi8> to tensor<2x3xbf16>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @quantize(%x: tensor<2x3xf32>) {
  %q = mir.quantize %x scales [5.000000e-01] zero_points [-3] : tensor<2x3xf32> to tensor<2x3xi8>
  %channels = mir.quantize %x axis 1 scales [5.000000e-01, 2.500000e-01, 1.000000e-01] zero_points [0] : tensor<2x3xf32> to tensor<2x3xi8>
  %back = mir.dequantize %channels axis 1 scales [5.000000e-01, 2.500000e-01, 1.000000e-01] zero_points [0, 1, 2] : tensor<2x3xi8> to tensor<2x3xbf16>
  func.return
}

// GENERIC: "mir.dequantize"(%{{.*}}) <{axis = 1 : i64, scales = array<f64: 5.000000e-01, 2.500000e-01, 1.000000e-01>, zero_points = array<i64: 0, 1, 2>}>
