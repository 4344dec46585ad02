// RUN: not xdsl-opt %s --allow-unregistered-dialect -p convert-stablehlo-to-mir 2>&1 | filecheck %s

// CHECK: @unknown: 2 operators cannot be read:
// CHECK-NEXT: stablehlo.frobnicate (2 times, first at an unknown location): has no translation
// CHECK-NEXT: stablehlo.dynamic_pad (once, first at an unknown location): shapes that are known when the program runs
func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.frobnicate"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.frobnicate"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "stablehlo.dynamic_pad"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
