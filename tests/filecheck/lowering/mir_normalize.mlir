// RUN: xdsl-opt %s -p mir-normalize --split-input-file --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p 'mir-normalize{bf16=true}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix=DOTS

// Other cases of the same ops stay as they are.

// Separate runs of axes are summed one after the other, the innermost first.
// CHECK-LABEL: func.func @runs(%x: tensor<4x3x2xf32>) -> (tensor<3xf32>, tensor<4xf32>) {
// CHECK-NEXT: %0 = mir.reduce_sum %x axes [2] keep_dim : (tensor<4x3x2xf32>) -> tensor<4x3x1xf32>
// CHECK-NEXT: %1 = mir.reduce_sum %0 axes [0] keep_dim : (tensor<4x3x1xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT: %2 = mir.reshape %1 : tensor<1x3x1xf32> to tensor<3xf32>
// CHECK-NEXT: %3 = mir.reduce_sum %x axes [1, 2] : (tensor<4x3x2xf32>) -> tensor<4xf32>
// CHECK-NEXT: func.return %2, %3 : tensor<3xf32>, tensor<4xf32>
// CHECK-NEXT: }
func.func @runs(%x: tensor<4x3x2xf32>) -> (tensor<3xf32>, tensor<4xf32>) {
  %0 = mir.reduce_sum %x axes [0, 2] : (tensor<4x3x2xf32>) -> tensor<3xf32>
  %1 = mir.reduce_sum %x axes [1, 2] : (tensor<4x3x2xf32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<3xf32>, tensor<4xf32>
}

// -----

// BLAS has products of f32 and f64; outer products are elementwise.
// CHECK-LABEL: func.func @products(%x: tensor<4x1xf32>, %y: tensor<1x3xf32>, %h: tensor<2x4xf16>, %k: tensor<4x2xf16>) -> (tensor<4x3xf32>, tensor<2x2xf16>) {
// CHECK-NEXT: %0 = mir.mul %x, %y : (tensor<4x1xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.cast %h : tensor<2x4xf16> to tensor<2x4xf32>
// CHECK-NEXT: %2 = mir.cast %k : tensor<4x2xf16> to tensor<4x2xf32>
// CHECK-NEXT: %3 = mir.matmul %1, %2 : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %4 = mir.cast %3 : tensor<2x2xf32> to tensor<2x2xf16>
// CHECK-NEXT: func.return %0, %4 : tensor<4x3xf32>, tensor<2x2xf16>
// CHECK-NEXT: }
func.func @products(%x: tensor<4x1xf32>, %y: tensor<1x3xf32>, %h: tensor<2x4xf16>, %k: tensor<4x2xf16>) -> (tensor<4x3xf32>, tensor<2x2xf16>) {
  %0 = mir.matmul %x, %y : (tensor<4x1xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
  %1 = mir.matmul %h, %k : (tensor<2x4xf16>, tensor<4x2xf16>) -> tensor<2x2xf16>
  func.return %0, %1 : tensor<4x3xf32>, tensor<2x2xf16>
}

// -----

// A few parts of one element in the last axis are chosen between, in one kernel; short ones, and longer ones, are joined.
// CHECK-LABEL: func.func @interleaved(%x: tensor<64x1xf32>, %y: tensor<64x1xf32>, %s: tensor<2x1xf32>) -> (tensor<64x2xf32>, tensor<2x2xf32>, tensor<128x1xf32>) {
// CHECK-NEXT: %0 = mir.constant dense<[true, false]> : tensor<2xi1>
// CHECK-NEXT: %1 = mir.where %0, %x, %y : (tensor<2xi1>, tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x2xf32>
// CHECK-NEXT: %2 = mir.concat %s, %s axis 1 : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %3 = mir.concat %x, %y axis 0 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<128x1xf32>
// CHECK-NEXT: func.return %1, %2, %3 : tensor<64x2xf32>, tensor<2x2xf32>, tensor<128x1xf32>
// CHECK-NEXT: }
func.func @interleaved(%x: tensor<64x1xf32>, %y: tensor<64x1xf32>, %s: tensor<2x1xf32>) -> (tensor<64x2xf32>, tensor<2x2xf32>, tensor<128x1xf32>) {
  %0 = mir.concat %x, %y axis 1 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x2xf32>
  %1 = mir.concat %s, %s axis 1 : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %2 = mir.concat %x, %y axis 0 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<128x1xf32>
  func.return %0, %1, %2 : tensor<64x2xf32>, tensor<2x2xf32>, tensor<128x1xf32>
}

// -----

// A matrix by a vector: sums along rows, or along columns of a matrix that is transposed.
// CHECK-LABEL: func.func @vector(%a: tensor<4x3xf32>, %x: tensor<3x1xf32>, %y: tensor<1x3xf32>, %z: tensor<4x1xf32>) -> (tensor<4x1xf32>, tensor<1x4xf32>, tensor<3x1xf32>) {
// CHECK-NEXT: %0 = mir.reshape %x : tensor<3x1xf32> to tensor<1x3xf32>
// CHECK-NEXT: %1 = mir.mul %a, %0 : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %2 = mir.reduce_sum %1 axes [1] : (tensor<4x3xf32>) -> tensor<4xf32>
// CHECK-NEXT: %3 = mir.reshape %2 : tensor<4xf32> to tensor<4x1xf32>
// CHECK-NEXT: %4 = mir.mul %a, %y : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %5 = mir.reduce_sum %4 axes [1] : (tensor<4x3xf32>) -> tensor<4xf32>
// CHECK-NEXT: %6 = mir.reshape %5 : tensor<4xf32> to tensor<1x4xf32>
// CHECK-NEXT: %7 = mir.mul %a, %z : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %8 = mir.reduce_sum %7 axes [0] : (tensor<4x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %9 = mir.reshape %8 : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: func.return %3, %6, %9 : tensor<4x1xf32>, tensor<1x4xf32>, tensor<3x1xf32>
// CHECK-NEXT: }
func.func @vector(%a: tensor<4x3xf32>, %x: tensor<3x1xf32>, %y: tensor<1x3xf32>, %z: tensor<4x1xf32>) -> (tensor<4x1xf32>, tensor<1x4xf32>, tensor<3x1xf32>) {
  %t = mir.transpose %a perm [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %0 = mir.matmul %a, %x : (tensor<4x3xf32>, tensor<3x1xf32>) -> tensor<4x1xf32>
  %1 = mir.matmul %y, %t : (tensor<1x3xf32>, tensor<3x4xf32>) -> tensor<1x4xf32>
  %2 = mir.matmul %t, %z : (tensor<3x4xf32>, tensor<4x1xf32>) -> tensor<3x1xf32>
  func.return %0, %1, %2 : tensor<4x1xf32>, tensor<1x4xf32>, tensor<3x1xf32>
}

// -----

// Many vectors by one matrix: one product of matrices.
// CHECK-LABEL: func.func @vectors(%a: tensor<4x3xf32>, %x: tensor<2x3x1xf32>, %y: tensor<2x5x1x4xf32>) -> (tensor<2x4x1xf32>, tensor<2x5x1x3xf32>) {
// CHECK-NEXT: %0 = mir.transpose %a perm [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %1 = mir.reshape %x : tensor<2x3x1xf32> to tensor<2x3xf32>
// CHECK-NEXT: %2 = mir.matmul %1, %0 : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %3 = mir.reshape %2 : tensor<2x4xf32> to tensor<2x4x1xf32>
// CHECK-NEXT: %4 = mir.reshape %y : tensor<2x5x1x4xf32> to tensor<10x4xf32>
// CHECK-NEXT: %5 = mir.matmul %4, %a : (tensor<10x4xf32>, tensor<4x3xf32>) -> tensor<10x3xf32>
// CHECK-NEXT: %6 = mir.reshape %5 : tensor<10x3xf32> to tensor<2x5x1x3xf32>
// CHECK-NEXT: func.return %3, %6 : tensor<2x4x1xf32>, tensor<2x5x1x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
func.func @vectors(%a: tensor<4x3xf32>, %x: tensor<2x3x1xf32>, %y: tensor<2x5x1x4xf32>) -> (tensor<2x4x1xf32>, tensor<2x5x1x3xf32>) {
  %0 = mir.matmul %a, %x : (tensor<4x3xf32>, tensor<2x3x1xf32>) -> tensor<2x4x1xf32>
  %1 = mir.matmul %y, %a : (tensor<2x5x1x4xf32>, tensor<4x3xf32>) -> tensor<2x5x1x3xf32>
  func.return %0, %1 : tensor<2x4x1xf32>, tensor<2x5x1x3xf32>
}

// -----

// The position of the largest element: the least of those that equal it.
// CHECK-LABEL: func.func @position(%x: tensor<4x3xf32>) -> tensor<4x1xi64> {
// CHECK-NEXT: %0 = mir.reduce_max %x axes [1] keep_dim : (tensor<4x3xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: %1 = mir.eq %x, %0 : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xi1>
// CHECK-NEXT: %2 = mir.ne %x, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
// CHECK-NEXT: %3 = mir.or %1, %2 : (tensor<4x3xi1>, tensor<4x3xi1>) -> tensor<4x3xi1>
// CHECK-NEXT: %4 = mir.iota axis 0 : tensor<3xi32>
// CHECK-NEXT: %5 = mir.constant dense<3> : tensor<i32>
// CHECK-NEXT: %6 = mir.where %3, %4, %5 : (tensor<4x3xi1>, tensor<3xi32>, tensor<i32>) -> tensor<4x3xi32>
// CHECK-NEXT: %7 = mir.reduce_min %6 axes [1] : (tensor<4x3xi32>) -> tensor<4xi32>
// CHECK-NEXT: %8 = mir.cast %7 : tensor<4xi32> to tensor<4xi64>
// CHECK-NEXT: %9 = mir.reshape %8 : tensor<4xi64> to tensor<4x1xi64>
// CHECK-NEXT: func.return %9 : tensor<4x1xi64>
// CHECK-NEXT: }
func.func @position(%x: tensor<4x3xf32>) -> tensor<4x1xi64> {
  %0 = mir.topk %x k 1 : (tensor<4x3xf32>) -> tensor<4x1xi64>
  func.return %0 : tensor<4x1xi64>
}

// -----

// Where processors have dot products of bf16, products of matrices of bf16 stay, unless they have few columns.
// CHECK-LABEL: func.func @products_of_bf16(%x: tensor<2x8xbf16>, %y: tensor<8x4xbf16>, %z: tensor<8x3xbf16>) -> (tensor<2x4xbf16>, tensor<2x3xbf16>) {
// CHECK: mir.matmul %{{.*}}, %{{.*}} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
// CHECK: mir.matmul %{{.*}}, %{{.*}} : (tensor<2x8xf32>, tensor<8x3xf32>) -> tensor<2x3xf32>
// DOTS-LABEL: func.func @products_of_bf16(%x: tensor<2x8xbf16>, %y: tensor<8x4xbf16>, %z: tensor<8x3xbf16>) -> (tensor<2x4xbf16>, tensor<2x3xbf16>) {
// DOTS-NEXT: %0 = mir.matmul %x, %y : (tensor<2x8xbf16>, tensor<8x4xbf16>) -> tensor<2x4xbf16>
// DOTS: mir.matmul %{{.*}}, %{{.*}} : (tensor<2x8xf32>, tensor<8x3xf32>) -> tensor<2x3xf32>
func.func @products_of_bf16(%x: tensor<2x8xbf16>, %y: tensor<8x4xbf16>, %z: tensor<8x3xbf16>) -> (tensor<2x4xbf16>, tensor<2x3xbf16>) {
  %0 = mir.matmul %x, %y : (tensor<2x8xbf16>, tensor<8x4xbf16>) -> tensor<2x4xbf16>
  %1 = mir.matmul %x, %z : (tensor<2x8xbf16>, tensor<8x3xbf16>) -> tensor<2x3xbf16>
  func.return %0, %1 : tensor<2x4xbf16>, tensor<2x3xbf16>
}

// -----

// Powers of one and a half, and two and a half, are products with a root.
// CHECK-LABEL: func.func @powers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK: %[[ROOT:.*]] = mir.sqrt %x : tensor<4xf32>
// CHECK: mir.where %{{.*}}, %{{.*}}, %[[ROOT]]
// CHECK: mir.sqrt %x : tensor<4xf32>
// CHECK: %[[SQUARE:.*]] = mir.mul %[[SIZE:.*]], %[[SIZE]] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: mir.mul %{{.*}}, %[[SQUARE]] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func @powers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = mir.constant dense<1.5> : tensor<f32>
  %1 = mir.pow %x, %0 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = mir.constant dense<2.5> : tensor<f32>
  %3 = mir.pow %x, %2 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// -----

// What is scattered and added to a tensor is added right there; what else reads it keeps the zeros that it is added to.
// CHECK-LABEL: func.func @index_add
// CHECK-NEXT: %0 = mir.index_add %x, %u, %i axis 0 batch_dims 0 extent 6 : (tensor<5x3xf32>, tensor<4x3xf32>, tensor<4xi64>) -> tensor<5x3xf32>
// CHECK-NEXT: %1 = mir.index_add %x, %u, %i axis 0 batch_dims 0 extent 5 : (tensor<5x3xf32>, tensor<4x3xf32>, tensor<4xi64>) -> tensor<5x3xf32>
// CHECK-NEXT: %2 = mir.scatter_add %u, %i axis 0 batch_dims 0 extent 6
// CHECK-NEXT: %3 = mir.narrow %2 axis 0 start 1 len 5
// CHECK-NEXT: %4 = mir.add %x, %3
// CHECK-NEXT: %5 = mir.scatter_add %u, %i axis 0 batch_dims 0 extent 5
// CHECK-NEXT: %6 = mir.add %5, %x
// CHECK-NEXT: func.return %0, %1, %4, %5, %6
func.func @index_add(%x: tensor<5x3xf32>, %u: tensor<4x3xf32>, %i: tensor<4xi64>) -> (tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>) {
  %0 = mir.scatter_add %u, %i axis 0 batch_dims 0 extent 6 : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<6x3xf32>
  %1 = mir.narrow %0 axis 0 start 0 len 5 : (tensor<6x3xf32>) -> tensor<5x3xf32>
  %2 = mir.add %x, %1 : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
  %3 = mir.scatter_add %u, %i axis 0 batch_dims 0 extent 5 : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<5x3xf32>
  %4 = mir.add %3, %x : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
  %5 = mir.scatter_add %u, %i axis 0 batch_dims 0 extent 6 : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<6x3xf32>
  %6 = mir.narrow %5 axis 0 start 1 len 5 : (tensor<6x3xf32>) -> tensor<5x3xf32>
  %7 = mir.add %x, %6 : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
  %8 = mir.scatter_add %u, %i axis 0 batch_dims 0 extent 5 : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<5x3xf32>
  %9 = mir.add %8, %x : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
  func.return %2, %4, %7, %8, %9 : tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>
}
