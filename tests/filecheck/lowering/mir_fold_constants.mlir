// RUN: xdsl-opt %s -p mir-fold-constants --split-input-file --verify-diagnostics | filecheck %s

// A subtree of constants is one, in any element type; what hangs on an argument stays.
// CHECK-LABEL: func.func @f(%x: tensor<2xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<2xf32>, tensor<2xi8>, tensor<2xbf16>, tensor<f64>, tensor<2xi1>) {
// CHECK-NEXT: %0 = mir.constant dense<[-1.000000e+00, -2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %1 = mir.add %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %2 = mir.constant dense<[-56, 0]> : tensor<2xi8>
// CHECK-NEXT: %3 = mir.constant dense<2.560000e+02> : tensor<2xbf16>
// CHECK-NEXT: %4 = mir.constant dense<0.33333333333333331> : tensor<f64>
// CHECK-NEXT: %5 = mir.constant dense<false> : tensor<2xi1>
// CHECK-NEXT: func.return %1, %2, %3, %4, %5 : tensor<2xf32>, tensor<2xi8>, tensor<2xbf16>, tensor<f64>, tensor<2xi1>
// CHECK-NEXT: }
func.func @f(%x: tensor<2xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<2xf32>, tensor<2xi8>, tensor<2xbf16>, tensor<f64>, tensor<2xi1>) {
  %0 = mir.constant dense<[1.0, 4.0]> : tensor<2xf32>
  %1 = mir.sqrt %0 : tensor<2xf32>
  %2 = mir.neg %1 : tensor<2xf32>
  %3 = mir.add %x, %2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %4 = mir.constant dense<[100, -128]> : tensor<2xi8>
  %5 = mir.add %4, %4 : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %6 = mir.constant dense<257> : tensor<2xi32>
  %7 = mir.cast %6 : tensor<2xi32> to tensor<2xbf16>
  %8 = mir.constant dense<1.0> : tensor<f64>
  %9 = mir.constant dense<3.0> : tensor<f64>
  %10 = mir.div %8, %9 : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %11 = mir.lt %0, %2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  func.return %3, %5, %7, %10, %11 : tensor<2xf32>, tensor<2xi8>, tensor<2xbf16>, tensor<f64>, tensor<2xi1>
}

// -----

// Random numbers, what is large, and an expand that others read stay; bodies are folded inside.
// CHECK-LABEL: func.func @stay(%p: tensor<i1> {mir.name = "p", mir.kind = "input"}) -> (tensor<2xi32>, tensor<2000xf32>, tensor<4xf32>, tensor<f32>) {
// CHECK-NEXT: %key = mir.constant dense<[1, 2]> : tensor<2xi64>
// CHECK-NEXT: %0 = mir.rng_bits %key offset 0 : tensor<2xi64> to tensor<2xi32>
// CHECK-NEXT: %1 = mir.constant dense<4.000000e+00> : tensor<f32>
// CHECK-NEXT: %2 = mir.expand %1 : tensor<f32> to tensor<2000xf32>
// CHECK-NEXT: %3 = mir.neg %2 : tensor<2000xf32>
// CHECK-NEXT: %4 = mir.expand %1 : tensor<f32> to tensor<4xf32>
// CHECK-NEXT: %5 = mir.if %p : tensor<i1> -> (tensor<f32>) {
// CHECK-NEXT: %6 = mir.constant dense<0x7f800000> : tensor<f32>
// CHECK-NEXT: mir.yield %6 : tensor<f32>
// CHECK-NEXT: } else {
// CHECK-NEXT: %7 = mir.constant dense<3.000000e+00> : tensor<f32>
// CHECK-NEXT: mir.yield %7 : tensor<f32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %0, %3, %4, %5 : tensor<2xi32>, tensor<2000xf32>, tensor<4xf32>, tensor<f32>
// CHECK-NEXT: }
func.func @stay(%p: tensor<i1> {mir.name = "p", mir.kind = "input"}) -> (tensor<2xi32>, tensor<2000xf32>, tensor<4xf32>, tensor<f32>) {
  %key = mir.constant dense<[1, 2]> : tensor<2xi64>
  %0 = mir.rng_bits %key offset 0 : tensor<2xi64> to tensor<2xi32>
  %1 = mir.constant dense<2.0> : tensor<f32>
  %2 = mir.mul %1, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %3 = mir.expand %2 : tensor<f32> to tensor<2000xf32>
  %4 = mir.neg %3 : tensor<2000xf32>
  %5 = mir.expand %2 : tensor<f32> to tensor<4xf32>
  %6 = mir.if %p : tensor<i1> -> (tensor<f32>) {
    %7 = mir.constant dense<0.0> : tensor<f32>
    %8 = mir.recip %7 : tensor<f32>
    mir.yield %8 : tensor<f32>
  } else {
    %9 = mir.constant dense<3.0> : tensor<f32>
    mir.yield %9 : tensor<f32>
  }
  func.return %0, %4, %5, %6 : tensor<2xi32>, tensor<2000xf32>, tensor<4xf32>, tensor<f32>
}
