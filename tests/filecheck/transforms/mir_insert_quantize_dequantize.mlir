// RUN: xdsl-opt %s -p mir-insert-quantize-dequantize --split-input-file --verify-diagnostics | filecheck %s

// An argument, and an op that has a scale for each channel; the result is what is left, too.
// CHECK-LABEL: func.func @f(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
// CHECK-NEXT: %0 = mir.quantize %x scales [5.000000e-01] zero_points [3] : tensor<2x3xf32> to tensor<2x3xi8>
// CHECK-NEXT: %x_1 = mir.dequantize %0 scales [5.000000e-01] zero_points [3] : tensor<2x3xi8> to tensor<2x3xf32>
// CHECK-NEXT: %1 = mir.tanh %x_1 {mir.tap = "h"} : tensor<2x3xf32>
// CHECK-NEXT: %2 = mir.quantize %1 axis 1 scales [2.500000e-01, 5.000000e-01, 1.000000e+00] zero_points [0] : tensor<2x3xf32> to tensor<2x3xi8>
// CHECK-NEXT: %3 = mir.dequantize %2 axis 1 scales [2.500000e-01, 5.000000e-01, 1.000000e+00] zero_points [0] : tensor<2x3xi8> to tensor<2x3xf32>
// CHECK-NEXT: %4 = mir.exp %3 : tensor<2x3xf32>
// CHECK-NEXT: func.return %3, %4 : tensor<2x3xf32>, tensor<2x3xf32>
// CHECK-NEXT: }
func.func @f(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input", mir.calibration = #mir.calibration<scales array<f64: 5.000000e-01> zero_points array<i64: 3>>}) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = mir.tanh %x {mir.calibration = #mir.calibration<scales array<f64: 0.25, 0.5, 1.0> zero_points array<i64: 0> axis 1>, mir.tap = "h"} : tensor<2x3xf32>
  %1 = mir.exp %0 : tensor<2x3xf32>
  func.return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// CHECK: mir-insert-quantize-dequantize: mir.tanh: expected the number of scales to be 1 or 3, got 2
func.func @wrong_axis(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<2x3xf32> {
  %0 = mir.tanh %x {mir.calibration = #mir.calibration<scales array<f64: 0.25, 0.5> zero_points array<i64: 0> axis 1>} : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// CHECK: mir-insert-quantize-dequantize: argument 0 of @no_floats: element type i32 is not supported; expected one of f32, f64, f16, bf16
func.func @no_floats(%x: tensor<2xi32> {mir.name = "x", mir.kind = "input", mir.calibration = #mir.calibration<scales array<f64: 0.25> zero_points array<i64: 0>>}) -> tensor<2xi32> {
  func.return %x : tensor<2xi32>
}

// -----

// CHECK: mir-insert-quantize-dequantize: mir.tanh has an invalid mir.calibration: 5.000000e-01 : f64
func.func @no_calibration(%x: tensor<2xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<2xf32> {
  %0 = mir.tanh %x {mir.calibration = 0.5 : f64} : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// CHECK: expected positive and finite scales
func.func @no_scale(%x: tensor<2xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<2xf32> {
  %0 = mir.tanh %x {mir.calibration = #mir.calibration<scales array<f64: 0.0> zero_points array<i64: 0>>} : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
