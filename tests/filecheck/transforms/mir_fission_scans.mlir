// RUN: xdsl-opt %s -p mir-fission-scans | filecheck %s

// What hangs on no carry leaves the loop.

// A product of elements is one product in front of the loop.
// CHECK-LABEL: func.func @early(%h: tensor<2x3xf32>, %x: tensor<8x2x3xf32>, %u: tensor<3x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT: %0 = mir.matmul %x, %u : (tensor<8x2x3xf32>, tensor<3x3xf32>) -> tensor<8x2x3xf32>
// CHECK-NEXT: %last = mir.scan 8 carries(%h : tensor<2x3xf32>) over(%0 : tensor<8x2x3xf32>) -> (tensor<2x3xf32>) {
// CHECK-NEXT: ^bb0(%1: tensor<2x3xf32>, %2: tensor<2x3xf32>):
// CHECK-NEXT: %3 = mir.add %1, %2 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: mir.yield %3 : tensor<2x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %last : tensor<2x3xf32>
// CHECK-NEXT: }
func.func @early(%h: tensor<2x3xf32>, %x: tensor<8x2x3xf32>, %u: tensor<3x3xf32>) -> tensor<2x3xf32> {
  %last = mir.scan 8 carries(%h : tensor<2x3xf32>) over(%x : tensor<8x2x3xf32>) captured(%u : tensor<3x3xf32>) -> (tensor<2x3xf32>) {
  ^bb0(%c: tensor<2x3xf32>, %e: tensor<2x3xf32>, %v: tensor<3x3xf32>):
    %0 = mir.matmul %e, %v : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %1 = mir.add %c, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    mir.yield %1 : tensor<2x3xf32>
  }
  func.return %last : tensor<2x3xf32>
}

// A sum of products is one product behind it; a result that nothing uses goes.
// CHECK-LABEL: func.func @late(%h: tensor<2x3xf32>, %x: tensor<8x2x3xf32>, %s: tensor<3x3xf32>) -> (tensor<2x3xf32>, tensor<3x3xf32>) {
// CHECK-NEXT: %last, %0 = mir.scan 8 carries(%h : tensor<2x3xf32>) over(%x : tensor<8x2x3xf32>) -> (tensor<2x3xf32>) stacked(tensor<8x2x3xf32>) {
// CHECK-NEXT: ^bb0(%1: tensor<2x3xf32>, %2: tensor<2x3xf32>):
// CHECK-NEXT: %3 = mir.add %1, %2 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: mir.yield %3, %3 : tensor<2x3xf32>, tensor<2x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %1 = mir.transpose %x perm [0, 2, 1] : (tensor<8x2x3xf32>) -> tensor<8x3x2xf32>
// CHECK-NEXT: %2 = mir.dot_general %1, %0 contracting [0, 2] x [0, 1] batch [] x [] : (tensor<8x3x2xf32>, tensor<8x2x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %sum = mir.add %s, %2 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: func.return %last, %sum : tensor<2x3xf32>, tensor<3x3xf32>
// CHECK-NEXT: }
func.func @late(%h: tensor<2x3xf32>, %x: tensor<8x2x3xf32>, %s: tensor<3x3xf32>) -> (tensor<2x3xf32>, tensor<3x3xf32>) {
  %last, %sum, %unused = mir.scan 8 carries(%h, %s : tensor<2x3xf32>, tensor<3x3xf32>) over(%x : tensor<8x2x3xf32>) -> (tensor<2x3xf32>, tensor<3x3xf32>) stacked(tensor<8x2x3xf32>) {
  ^bb0(%c: tensor<2x3xf32>, %t: tensor<3x3xf32>, %e: tensor<2x3xf32>):
    %0 = mir.add %c, %e : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = mir.transpose %e perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %2 = mir.matmul %1, %0 : (tensor<3x2xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
    %3 = mir.add %t, %2 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    mir.yield %0, %3, %c : tensor<2x3xf32>, tensor<3x3xf32>, tensor<2x3xf32>
  }
  func.return %last, %sum : tensor<2x3xf32>, tensor<3x3xf32>
}

// A large value that is stacked anyway is summed behind it, over all times at once.
// CHECK-LABEL: func.func @sum(%h: tensor<32x32xf32>, %x: tensor<8x32x32xf32>, %s: tensor<32xf32>) -> (tensor<8x32x32xf32>, tensor<32xf32>) {
// CHECK-NEXT: %last, %ys = mir.scan 8 carries(%h : tensor<32x32xf32>) over(%x : tensor<8x32x32xf32>) -> (tensor<32x32xf32>) stacked(tensor<8x32x32xf32>) {
// CHECK-NEXT: ^bb0(%0: tensor<32x32xf32>, %1: tensor<32x32xf32>):
// CHECK-NEXT: %2 = mir.add %0, %1 : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: mir.yield %2, %2 : tensor<32x32xf32>, tensor<32x32xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %0 = mir.reduce_sum %ys axes [0, 1] : (tensor<8x32x32xf32>) -> tensor<32xf32>
// CHECK-NEXT: %sum = mir.add %s, %0 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
// CHECK-NEXT: func.return %ys, %sum : tensor<8x32x32xf32>, tensor<32xf32>
// CHECK-NEXT: }
func.func @sum(%h: tensor<32x32xf32>, %x: tensor<8x32x32xf32>, %s: tensor<32xf32>) -> (tensor<8x32x32xf32>, tensor<32xf32>) {
  %last, %sum, %ys = mir.scan 8 carries(%h, %s : tensor<32x32xf32>, tensor<32xf32>) over(%x : tensor<8x32x32xf32>) -> (tensor<32x32xf32>, tensor<32xf32>) stacked(tensor<8x32x32xf32>) {
  ^bb0(%c: tensor<32x32xf32>, %t: tensor<32xf32>, %e: tensor<32x32xf32>):
    %0 = mir.add %c, %e : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %1 = mir.reduce_sum %0 axes [0] : (tensor<32x32xf32>) -> tensor<32xf32>
    %2 = mir.add %t, %1 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    mir.yield %0, %2, %0 : tensor<32x32xf32>, tensor<32xf32>, tensor<32x32xf32>
  }
  func.return %ys, %sum : tensor<8x32x32xf32>, tensor<32xf32>
}

// What a loop adds to a table by index is added behind it, over all times at once.
// CHECK-LABEL: func.func @table(%h: tensor<2xf32>, %i: tensor<8xi32>, %s: tensor<9x2xf32>) -> tensor<9x2xf32> {
// CHECK-NEXT: %last, %0 = mir.scan 8 carries(%h : tensor<2xf32>) -> (tensor<2xf32>) stacked(tensor<8x2xf32>) {
// CHECK-NEXT: ^bb0(%1: tensor<2xf32>):
// CHECK-NEXT: %2 = mir.tanh %1 : tensor<2xf32>
// CHECK-NEXT: mir.yield %2, %2 : tensor<2xf32>, tensor<2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %1 = mir.scatter_add %0, %i axis 0 batch_dims 0 extent 9 : (tensor<8x2xf32>, tensor<8xi32>) -> tensor<9x2xf32>
// CHECK-NEXT: %sum = mir.add %s, %1 : (tensor<9x2xf32>, tensor<9x2xf32>) -> tensor<9x2xf32>
// CHECK-NEXT: func.return %sum : tensor<9x2xf32>
// CHECK-NEXT: }
func.func @table(%h: tensor<2xf32>, %i: tensor<8xi32>, %s: tensor<9x2xf32>) -> tensor<9x2xf32> {
  %last, %sum = mir.scan 8 carries(%h, %s : tensor<2xf32>, tensor<9x2xf32>) over(%i : tensor<8xi32>) -> (tensor<2xf32>, tensor<9x2xf32>) {
  ^bb0(%c: tensor<2xf32>, %t: tensor<9x2xf32>, %e: tensor<i32>):
    %0 = mir.tanh %c : tensor<2xf32>
    %1 = mir.scatter_add %0, %e axis 0 batch_dims 0 extent 9 : (tensor<2xf32>, tensor<i32>) -> tensor<9x2xf32>
    %2 = mir.add %t, %1 : (tensor<9x2xf32>, tensor<9x2xf32>) -> tensor<9x2xf32>
    mir.yield %0, %2 : tensor<2xf32>, tensor<9x2xf32>
  }
  func.return %sum : tensor<9x2xf32>
}
