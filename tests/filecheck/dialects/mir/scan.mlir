// RUN: ROUNDTRIP
// RUN: GENERIC

// A carry, an element at a time, and a matrix that is the same each time.
// CHECK-LABEL: func.func @rnn(%h: tensor<3xf32>, %x: tensor<8x3xf32>, %w: tensor<3x3xf32>) -> (tensor<3xf32>, tensor<8x3xf32>) {
// CHECK-NEXT: %last, %all = mir.scan 8 carries(%h : tensor<3xf32>) over(%x : tensor<8x3xf32>) captured(%w : tensor<3x3xf32>) -> (tensor<3xf32>) stacked(tensor<8x3xf32>) {
// CHECK-NEXT: ^bb0(%c: tensor<3xf32>, %e: tensor<3xf32>, %v: tensor<3x3xf32>):
// CHECK-NEXT: %0 = mir.reshape %c : tensor<3xf32> to tensor<1x3xf32>
// CHECK-NEXT: %1 = mir.matmul %0, %v : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %2 = mir.reshape %1 : tensor<1x3xf32> to tensor<3xf32>
// CHECK-NEXT: %3 = mir.add %2, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %4 = mir.tanh %3 : tensor<3xf32>
// CHECK-NEXT: mir.yield %4, %4 : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %last, %all : tensor<3xf32>, tensor<8x3xf32>
// CHECK-NEXT: }
func.func @rnn(%h: tensor<3xf32>, %x: tensor<8x3xf32>, %w: tensor<3x3xf32>) -> (tensor<3xf32>, tensor<8x3xf32>) {
  %last, %all = mir.scan 8 carries(%h : tensor<3xf32>) over(%x : tensor<8x3xf32>) captured(%w : tensor<3x3xf32>) -> (tensor<3xf32>) stacked (tensor<8x3xf32>) {
  ^bb0(%c: tensor<3xf32>, %e: tensor<3xf32>, %v: tensor<3x3xf32>):
    %0 = mir.reshape %c : tensor<3xf32> to tensor<1x3xf32>
    %1 = mir.matmul %0, %v : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<1x3xf32>
    %2 = mir.reshape %1 : tensor<1x3xf32> to tensor<3xf32>
    %3 = mir.add %2, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %4 = mir.tanh %3 : tensor<3xf32>
    mir.yield %4, %4 : tensor<3xf32>, tensor<3xf32>
  }
  func.return %last, %all : tensor<3xf32>, tensor<8x3xf32>
}

// Nothing to go along and nothing to stack.
// CHECK-LABEL: func.func @bare(%n: tensor<i32>) -> tensor<i32> {
// CHECK-NEXT: %last = mir.scan 5 reverse carries(%n : tensor<i32>) -> (tensor<i32>) {
// CHECK-NEXT: ^bb0(%c: tensor<i32>):
// CHECK-NEXT: %0 = mir.add %c, %c : (tensor<i32>, tensor<i32>) -> tensor<i32>
// CHECK-NEXT: mir.yield %0 : tensor<i32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %last : tensor<i32>
// CHECK-NEXT: }
func.func @bare(%n: tensor<i32>) -> tensor<i32> {
  %last = mir.scan 5 reverse carries(%n : tensor<i32>) -> (tensor<i32>) {
  ^bb0(%c: tensor<i32>):
    %0 = mir.add %c, %c : (tensor<i32>, tensor<i32>) -> tensor<i32>
    mir.yield %0 : tensor<i32>
  }
  func.return %last : tensor<i32>
}

// What a gradient keeps of it.
// CHECK-LABEL: func.func @kept(%n: tensor<i32>) -> tensor<i32> {
// CHECK-NEXT: %last = mir.scan 5 reverse checkpoints 2 recomputed carries(%n : tensor<i32>) -> (tensor<i32>) {
// CHECK-NEXT: ^bb0(%c: tensor<i32>):
// CHECK-NEXT: %0 = mir.add %c, %c : (tensor<i32>, tensor<i32>) -> tensor<i32>
// CHECK-NEXT: mir.yield %0 : tensor<i32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %last : tensor<i32>
// CHECK-NEXT: }
func.func @kept(%n: tensor<i32>) -> tensor<i32> {
  %last = mir.scan 5 reverse checkpoints 2 recomputed carries(%n : tensor<i32>) -> (tensor<i32>) {
  ^bb0(%c: tensor<i32>):
    %0 = mir.add %c, %c : (tensor<i32>, tensor<i32>) -> tensor<i32>
    mir.yield %0 : tensor<i32>
  }
  func.return %last : tensor<i32>
}

// GENERIC: "mir.scan"(%{{.*}}) <{length = 8 : i64, operandSegmentSizes = array<i32: 1, 1, 1>, resultSegmentSizes = array<i32: 1, 1>}>
// GENERIC: "mir.scan"(%{{.*}}) <{length = 5 : i64, reverse, operandSegmentSizes = array<i32: 1, 0, 0>, resultSegmentSizes = array<i32: 1, 0>}>
// GENERIC: "mir.scan"(%{{.*}}) <{length = 5 : i64, reverse, checkpoints = 2 : i64, recomputed, operandSegmentSizes = array<i32: 1, 0, 0>, resultSegmentSizes = array<i32: 1, 0>}>
