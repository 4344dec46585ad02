// RUN: xdsl-opt %s -p 'mir-mixed-precision{policy=mixed_conservative}' --split-input-file --verify-diagnostics | filecheck %s

// Arguments and results keep their types; a value is cast once; a number becomes one of the half type.
// CHECK-LABEL: func.func @f(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x3xf32> {mir.name = "w", mir.kind = "param"}) -> (tensor<4x3xf32>, tensor<4xf32>) {
// CHECK-NEXT: %0 = mir.cast %x : tensor<4x3xf32> to tensor<4x3xf16>
// CHECK-NEXT: %1 = mir.cast %w : tensor<3x3xf32> to tensor<3x3xf16>
// CHECK-NEXT: %2 = mir.matmul %0, %1 : (tensor<4x3xf16>, tensor<3x3xf16>) -> tensor<4x3xf16>
// CHECK-NEXT: %3 = mir.constant dense<2.000000e+00> : tensor<f16>
// CHECK-NEXT: %4 = mir.mul %2, %3 : (tensor<4x3xf16>, tensor<f16>) -> tensor<4x3xf16>
// CHECK-NEXT: %5 = mir.matmul %4, %1 : (tensor<4x3xf16>, tensor<3x3xf16>) -> tensor<4x3xf16>
// CHECK-NEXT: %6 = mir.cast %5 : tensor<4x3xf16> to tensor<4x3xf32>
// CHECK-NEXT: %7 = mir.reduce_sum %6 axes [1] : (tensor<4x3xf32>) -> tensor<4xf32>
// CHECK-NEXT: func.return %6, %7 : tensor<4x3xf32>, tensor<4xf32>
// CHECK-NEXT: }
func.func @f(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x3xf32> {mir.name = "w", mir.kind = "param"}) -> (tensor<4x3xf32>, tensor<4xf32>) {
  %0 = mir.matmul %x, %w : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
  %two = mir.constant dense<2.0> : tensor<f32>
  %1 = mir.mul %0, %two : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %2 = mir.matmul %1, %w : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
  %3 = mir.reduce_sum %2 axes [1] : (tensor<4x3xf32>) -> tensor<4xf32>
  func.return %2, %3 : tensor<4x3xf32>, tensor<4xf32>
}

// -----

// An index in f32, what it is computed from, and a number that is no f16 stay, and so does what is computed of it.
// CHECK-LABEL: func.func @stays(%t: tensor<9xf32> {mir.name = "t", mir.kind = "param"}, %i: tensor<2xf32> {mir.name = "i", mir.kind = "input"}, %n: tensor<2xi32> {mir.name = "n", mir.kind = "input"}) -> (tensor<2xf32>, tensor<2xi32>) {
// CHECK-NEXT: %one = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = mir.add %i, %one : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
// CHECK-NEXT: %1 = mir.gather %t, %0 axis 0 batch_dims 0 : (tensor<9xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %most = mir.constant dense<1.000000e+09> : tensor<f32>
// CHECK-NEXT: %2 = mir.cast %1 : tensor<2xf32> to tensor<2xf16>
// CHECK-NEXT: %3 = mir.exp %2 : tensor<2xf16>
// CHECK-NEXT: %4 = mir.cast %3 : tensor<2xf16> to tensor<2xf32>
// CHECK-NEXT: %5 = mir.mul %4, %most : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
// CHECK-NEXT: %6 = mir.tanh %5 : tensor<2xf32>
// CHECK-NEXT: %7 = mir.add %n, %n : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
// CHECK-NEXT: func.return %6, %7 : tensor<2xf32>, tensor<2xi32>
// CHECK-NEXT: }
func.func @stays(%t: tensor<9xf32> {mir.name = "t", mir.kind = "param"}, %i: tensor<2xf32> {mir.name = "i", mir.kind = "input"}, %n: tensor<2xi32> {mir.name = "n", mir.kind = "input"}) -> (tensor<2xf32>, tensor<2xi32>) {
  %one = mir.constant dense<1.0> : tensor<f32>
  %0 = mir.add %i, %one : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = mir.gather %t, %0 axis 0 batch_dims 0 : (tensor<9xf32>, tensor<2xf32>) -> tensor<2xf32>
  %most = mir.constant dense<1.0e9> : tensor<f32>
  %2 = mir.exp %1 : tensor<2xf32>
  %3 = mir.mul %2, %most : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %4 = mir.tanh %3 : tensor<2xf32>
  %5 = mir.add %n, %n : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  func.return %4, %5 : tensor<2xf32>, tensor<2xi32>
}

// -----

// A body keeps its types, and what a loop carries stays f32.
// CHECK-LABEL: func.func @loop(%xs: tensor<5x4xf32> {mir.name = "xs", mir.kind = "input"}, %c: tensor<4xf32> {mir.name = "c", mir.kind = "input"}) -> tensor<4xf32> {
// CHECK-NEXT: %0 = mir.scan 5 carries(%c : tensor<4xf32>) over(%xs : tensor<5x4xf32>) -> (tensor<4xf32>) {
// CHECK-NEXT: ^bb0(%a: tensor<4xf32>, %x: tensor<4xf32>):
// CHECK-NEXT: %1 = mir.cast %x : tensor<4xf32> to tensor<4xf16>
// CHECK-NEXT: %2 = mir.exp %1 : tensor<4xf16>
// CHECK-NEXT: %3 = mir.cast %2 : tensor<4xf16> to tensor<4xf32>
// CHECK-NEXT: %4 = mir.add %a, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: mir.yield %4 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %0 : tensor<4xf32>
// CHECK-NEXT: }
func.func @loop(%xs: tensor<5x4xf32> {mir.name = "xs", mir.kind = "input"}, %c: tensor<4xf32> {mir.name = "c", mir.kind = "input"}) -> tensor<4xf32> {
  %0 = mir.scan 5 carries(%c : tensor<4xf32>) over(%xs : tensor<5x4xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %x: tensor<4xf32>):
    %1 = mir.exp %x : tensor<4xf32>
    %2 = mir.add %a, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mir.yield %2 : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}
