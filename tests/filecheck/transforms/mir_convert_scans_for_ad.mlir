// RUN: xdsl-opt %s -p mir-convert-scans-for-ad | filecheck %s
// RUN: xdsl-opt %s -p 'mir-convert-scans-for-ad{recurrences=unroll},canonicalize,cse' | filecheck %s --check-prefixes=UNROLL

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

// A recurrence with a name gives its states, or is written out time by time.
// CHECK-LABEL: func.func @recurrence(%x: tensor<1x2x3xf32>, %a: tensor<3x4xf32>, %b: tensor<1x2x4xf32>) -> tensor<1x2x3xf32> {
// CHECK-NEXT: %y, %last, %0 = mir.selective_scan %x, %x, %a, %b, %b : (tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<3x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<1x2x3xf32>, tensor<1x3x4xf32>, tensor<2x1x3x4xf32>)
// CHECK-NEXT: func.return %y : tensor<1x2x3xf32>
// CHECK-NEXT: }
// UNROLL-LABEL: func.func @recurrence(%x: tensor<1x2x3xf32>, %a: tensor<3x4xf32>, %b: tensor<1x2x4xf32>) -> tensor<1x2x3xf32> {
// UNROLL-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// UNROLL-NEXT: %1 = mir.reshape %x : tensor<1x2x3xf32> to tensor<2x1x3x1xf32>
// UNROLL-NEXT: %2 = mir.reshape %b : tensor<1x2x4xf32> to tensor<2x1x1x4xf32>
// UNROLL-NEXT: %3 = mir.narrow %1 axis 0 start 0 len 1 : (tensor<2x1x3x1xf32>) -> tensor<1x1x3x1xf32>
// UNROLL-NEXT: %4 = mir.reshape %3 : tensor<1x1x3x1xf32> to tensor<1x3x1xf32>
// UNROLL-NEXT: %5 = mir.narrow %2 axis 0 start 0 len 1 : (tensor<2x1x1x4xf32>) -> tensor<1x1x1x4xf32>
// UNROLL-NEXT: %6 = mir.reshape %5 : tensor<1x1x1x4xf32> to tensor<1x1x4xf32>
// UNROLL-NEXT: %7 = mir.mul %4, %a : (tensor<1x3x1xf32>, tensor<3x4xf32>) -> tensor<1x3x4xf32>
// UNROLL-NEXT: %8 = mir.exp %7 : tensor<1x3x4xf32>
// UNROLL-NEXT: %9 = mir.mul %8, %0 : (tensor<1x3x4xf32>, tensor<f32>) -> tensor<1x3x4xf32>
// UNROLL-NEXT: %10 = mir.mul %4, %4 : (tensor<1x3x1xf32>, tensor<1x3x1xf32>) -> tensor<1x3x1xf32>
// UNROLL-NEXT: %11 = mir.mul %10, %6 : (tensor<1x3x1xf32>, tensor<1x1x4xf32>) -> tensor<1x3x4xf32>
// UNROLL-NEXT: %12 = mir.add %9, %11 : (tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
// UNROLL-NEXT: %13 = mir.mul %12, %6 : (tensor<1x3x4xf32>, tensor<1x1x4xf32>) -> tensor<1x3x4xf32>
// UNROLL-NEXT: %14 = mir.reduce_sum %13 axes [2] : (tensor<1x3x4xf32>) -> tensor<1x3xf32>
// UNROLL-NEXT: %15 = mir.narrow %1 axis 0 start 1 len 1 : (tensor<2x1x3x1xf32>) -> tensor<1x1x3x1xf32>
// UNROLL-NEXT: %16 = mir.reshape %15 : tensor<1x1x3x1xf32> to tensor<1x3x1xf32>
// UNROLL-NEXT: %17 = mir.narrow %2 axis 0 start 1 len 1 : (tensor<2x1x1x4xf32>) -> tensor<1x1x1x4xf32>
// UNROLL-NEXT: %18 = mir.reshape %17 : tensor<1x1x1x4xf32> to tensor<1x1x4xf32>
// UNROLL-NEXT: %19 = mir.mul %16, %a : (tensor<1x3x1xf32>, tensor<3x4xf32>) -> tensor<1x3x4xf32>
// UNROLL-NEXT: %20 = mir.exp %19 : tensor<1x3x4xf32>
// UNROLL-NEXT: %21 = mir.mul %20, %12 : (tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
// UNROLL-NEXT: %22 = mir.mul %16, %16 : (tensor<1x3x1xf32>, tensor<1x3x1xf32>) -> tensor<1x3x1xf32>
// UNROLL-NEXT: %23 = mir.mul %22, %18 : (tensor<1x3x1xf32>, tensor<1x1x4xf32>) -> tensor<1x3x4xf32>
// UNROLL-NEXT: %last = mir.add %21, %23 : (tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
// UNROLL-NEXT: %24 = mir.mul %last, %18 : (tensor<1x3x4xf32>, tensor<1x1x4xf32>) -> tensor<1x3x4xf32>
// UNROLL-NEXT: %25 = mir.reduce_sum %24 axes [2] : (tensor<1x3x4xf32>) -> tensor<1x3xf32>
// UNROLL-NEXT: %26 = mir.reshape %14 : tensor<1x3xf32> to tensor<1x1x3xf32>
// UNROLL-NEXT: %27 = mir.reshape %25 : tensor<1x3xf32> to tensor<1x1x3xf32>
// UNROLL-NEXT: %28 = mir.concat %26, %27 axis 0 : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<2x1x3xf32>
// UNROLL-NEXT: %y = mir.reshape %28 : tensor<2x1x3xf32> to tensor<1x2x3xf32>
// UNROLL-NEXT: func.return %y : tensor<1x2x3xf32>
// UNROLL-NEXT: }
func.func @recurrence(%x: tensor<1x2x3xf32>, %a: tensor<3x4xf32>, %b: tensor<1x2x4xf32>) -> tensor<1x2x3xf32> {
  %y, %last = mir.selective_scan %x, %x, %a, %b, %b : (tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<3x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<1x2x3xf32>, tensor<1x3x4xf32>)
  func.return %y : tensor<1x2x3xf32>
}

// With checkpoints, the carries with which segments begin; the gradient runs a segment again. What is left over of the
// length runs behind the segments, and is kept.
// CHECK-LABEL: func.func @segments(%h: tensor<3xf32>, %x: tensor<10x3xf32>) -> (tensor<3xf32>, tensor<10x3xf32>) {
// CHECK-NEXT: %0 = mir.narrow %x axis 0 start 0 len 9 : (tensor<10x3xf32>) -> tensor<9x3xf32>
// CHECK-NEXT: %1 = mir.reshape %0 : tensor<9x3xf32> to tensor<3x3x3xf32>
// CHECK-NEXT: %2, %3, %4 = mir.scan 3 carries(%h : tensor<3xf32>) over(%1 : tensor<3x3x3xf32>) -> (tensor<3xf32>) stacked(tensor<3x3x3xf32>, tensor<3x3xf32>) {
// CHECK-NEXT: ^bb0(%5: tensor<3xf32>, %6: tensor<3x3xf32>):
// CHECK-NEXT: %7, %8, %9, %10 = mir.scan 3 recomputed carries(%5 : tensor<3xf32>) over(%6 : tensor<3x3xf32>) -> (tensor<3xf32>) stacked(tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>) {
// CHECK-NEXT: ^bb0(%c: tensor<3xf32>, %e: tensor<3xf32>):
// CHECK-NEXT: %11 = mir.mul %c, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %12 = mir.tanh %11 : tensor<3xf32>
// CHECK-NEXT: mir.yield %12, %11, %c, %12 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: mir.yield %7, %8, %5 : tensor<3xf32>, tensor<3x3xf32>, tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %5 = mir.reshape %3 : tensor<3x3x3xf32> to tensor<9x3xf32>
// CHECK-NEXT: %6 = mir.narrow %x axis 0 start 9 len 1 : (tensor<10x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %last, %7, %8, %9 = mir.scan 1 carries(%2 : tensor<3xf32>) over(%6 : tensor<1x3xf32>) -> (tensor<3xf32>) stacked(tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>) {
// CHECK-NEXT: ^bb0(%c: tensor<3xf32>, %e: tensor<3xf32>):
// CHECK-NEXT: %10 = mir.mul %c, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %11 = mir.tanh %10 : tensor<3xf32>
// CHECK-NEXT: mir.yield %11, %10, %c, %11 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %all = mir.concat %5, %7 axis 0 : (tensor<9x3xf32>, tensor<1x3xf32>) -> tensor<10x3xf32>
// CHECK-NEXT: func.return %last, %all : tensor<3xf32>, tensor<10x3xf32>
// CHECK-NEXT: }
func.func @segments(%h: tensor<3xf32>, %x: tensor<10x3xf32>) -> (tensor<3xf32>, tensor<10x3xf32>) {
  %last, %all = mir.scan 10 checkpoints 4 carries(%h : tensor<3xf32>) over(%x : tensor<10x3xf32>) -> (tensor<3xf32>) stacked(tensor<10x3xf32>) {
  ^bb0(%c: tensor<3xf32>, %e: tensor<3xf32>):
    %0 = mir.mul %c, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %1 = mir.tanh %0 : tensor<3xf32>
    mir.yield %1, %0 : tensor<3xf32>, tensor<3xf32>
  }
  func.return %last, %all : tensor<3xf32>, tensor<10x3xf32>
}

// Fewer checkpoints than the square root of the length: segments of segments.
// CHECK-LABEL: func.func @levels(%h: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %last, %0 = mir.scan 3 reverse carries(%h : tensor<3xf32>) -> (tensor<3xf32>) stacked(tensor<3x3xf32>) {
// CHECK-NEXT: ^bb0(%1: tensor<3xf32>):
// CHECK-NEXT: %2, %3 = mir.scan 3 reverse recomputed carries(%1 : tensor<3xf32>) -> (tensor<3xf32>) stacked(tensor<3x3xf32>) {
// CHECK-NEXT: ^bb0(%4: tensor<3xf32>):
// CHECK-NEXT: %5, %6 = mir.scan 3 reverse recomputed carries(%4 : tensor<3xf32>) -> (tensor<3xf32>) stacked(tensor<3x3xf32>) {
// CHECK-NEXT: ^bb0(%c: tensor<3xf32>):
// CHECK-NEXT: %7 = mir.tanh %c : tensor<3xf32>
// CHECK-NEXT: mir.yield %7, %7 : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: mir.yield %5, %4 : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: mir.yield %2, %1 : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %last : tensor<3xf32>
// CHECK-NEXT: }
func.func @levels(%h: tensor<3xf32>) -> tensor<3xf32> {
  %last = mir.scan 27 reverse checkpoints 3 carries(%h : tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%c: tensor<3xf32>):
    %0 = mir.tanh %c : tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %last : tensor<3xf32>
}
