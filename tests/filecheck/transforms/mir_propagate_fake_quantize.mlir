// RUN: xdsl-opt %s -p mir-propagate-fake-quantize --split-input-file --verify-diagnostics | filecheck %s

// The relu stays; the second scale is the first one.
// CHECK-LABEL: func.func @f(%x: tensor<4xf32>, %t: tensor<1xf32>) -> (tensor<4xf32>, tensor<1xf32>) {
// CHECK-NEXT: %0, %1 = mir.fake_quantize %x state %t bits 8 ste identity scale_mode fixed : (tensor<4xf32>, tensor<1xf32>) -> (tensor<4xf32>, tensor<1xf32>)
// CHECK-NEXT: %2 = mir.relu %0 : tensor<4xf32>
// CHECK-NEXT: %3 = mir.exp %2 : tensor<4xf32>
// CHECK-NEXT: func.return %3, %1 : tensor<4xf32>, tensor<1xf32>
// CHECK-NEXT: }
func.func @f(%x: tensor<4xf32>, %t: tensor<1xf32>) -> (tensor<4xf32>, tensor<1xf32>) {
  %0, %1 = mir.fake_quantize %x state %t bits 8 ste identity scale_mode fixed : (tensor<4xf32>, tensor<1xf32>) -> (tensor<4xf32>, tensor<1xf32>)
  %2 = mir.relu %0 : tensor<4xf32>
  %3, %4 = mir.fake_quantize %2 state %t bits 8 ste identity scale_mode fixed : (tensor<4xf32>, tensor<1xf32>) -> (tensor<4xf32>, tensor<1xf32>)
  %5 = mir.exp %3 : tensor<4xf32>
  func.return %5, %4 : tensor<4xf32>, tensor<1xf32>
}

// -----

// The scale of a batch follows the data: what is left of it may have another.
// CHECK-LABEL: func.func @batch(%x: tensor<4xf32>) -> tensor<2xf32> {
// CHECK-NEXT: %0, %1 = mir.fake_quantize %x bits 8 ste identity scale_mode per_batch : (tensor<4xf32>) -> (tensor<4xf32>, tensor<1xf32>)
// CHECK-NEXT: %2 = mir.narrow %0 axis 0 start 0 len 2 : (tensor<4xf32>) -> tensor<2xf32>
// CHECK-NEXT: %3, %4 = mir.fake_quantize %2 bits 8 ste identity scale_mode per_batch : (tensor<2xf32>) -> (tensor<2xf32>, tensor<1xf32>)
// CHECK-NEXT: func.return %3 : tensor<2xf32>
// CHECK-NEXT: }
func.func @batch(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0, %1 = mir.fake_quantize %x bits 8 ste identity scale_mode per_batch : (tensor<4xf32>) -> (tensor<4xf32>, tensor<1xf32>)
  %2 = mir.narrow %0 axis 0 start 0 len 2 : (tensor<4xf32>) -> tensor<2xf32>
  %3, %4 = mir.fake_quantize %2 bits 8 ste identity scale_mode per_batch : (tensor<2xf32>) -> (tensor<2xf32>, tensor<1xf32>)
  func.return %3 : tensor<2xf32>
}
