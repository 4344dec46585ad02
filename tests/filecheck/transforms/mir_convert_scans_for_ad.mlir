// RUN: xdsl-opt %s -p mir-convert-scans-for-ad | filecheck %s

// The matrix product of the gradient needs the carry, the derivative of tanh its result; the sum is of no use.
// CHECK-LABEL: func.func @saved(%h: tensor<3xf32>, %x: tensor<8x3xf32>, %w: tensor<3x3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %last, %0, %1 = mir.scan 8 carries(%h : tensor<3xf32>) over(%x : tensor<8x3xf32>) captured(%w : tensor<3x3xf32>) -> (tensor<3xf32>) stacked(tensor<8x3xf32>, tensor<8x3xf32>) {
// CHECK-NEXT: ^bb0(%c: tensor<3xf32>, %e: tensor<3xf32>, %v: tensor<3x3xf32>):
// CHECK-NEXT: %2 = mir.reshape %c : tensor<3xf32> to tensor<1x3xf32>
// CHECK-NEXT: %3 = mir.matmul %2, %v : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %4 = mir.reshape %3 : tensor<1x3xf32> to tensor<3xf32>
// CHECK-NEXT: %5 = mir.add %4, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %6 = mir.tanh %5 : tensor<3xf32>
// CHECK-NEXT: mir.yield %6, %c, %6 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %last : tensor<3xf32>
// CHECK-NEXT: }
func.func @saved(%h: tensor<3xf32>, %x: tensor<8x3xf32>, %w: tensor<3x3xf32>) -> tensor<3xf32> {
  %last = mir.scan 8 carries(%h : tensor<3xf32>) over(%x : tensor<8x3xf32>) captured(%w : tensor<3x3xf32>) -> (tensor<3xf32>) {
  ^bb0(%c: tensor<3xf32>, %e: tensor<3xf32>, %v: tensor<3x3xf32>):
    %0 = mir.reshape %c : tensor<3xf32> to tensor<1x3xf32>
    %1 = mir.matmul %0, %v : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<1x3xf32>
    %2 = mir.reshape %1 : tensor<1x3xf32> to tensor<3xf32>
    %3 = mir.add %2, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %4 = mir.tanh %3 : tensor<3xf32>
    mir.yield %4 : tensor<3xf32>
  }
  func.return %last : tensor<3xf32>
}

// A body that is linear needs nothing.
// CHECK-LABEL: func.func @nothing(%h: tensor<3xf32>, %x: tensor<8x3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %last = mir.scan 8 carries(%h : tensor<3xf32>) over(%x : tensor<8x3xf32>) -> (tensor<3xf32>) {
// CHECK-NEXT: ^bb0(%c: tensor<3xf32>, %e: tensor<3xf32>):
// CHECK-NEXT: %0 = mir.add %c, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %1 = mir.add %0, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: mir.yield %1 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %last : tensor<3xf32>
// CHECK-NEXT: }
func.func @nothing(%h: tensor<3xf32>, %x: tensor<8x3xf32>) -> tensor<3xf32> {
  %last = mir.scan 8 carries(%h : tensor<3xf32>) over(%x : tensor<8x3xf32>) -> (tensor<3xf32>) {
  ^bb0(%c: tensor<3xf32>, %e: tensor<3xf32>):
    %0 = mir.add %c, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %1 = mir.add %0, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    mir.yield %1 : tensor<3xf32>
  }
  func.return %last : tensor<3xf32>
}
