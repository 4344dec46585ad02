// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family solve: solves with the same matrix.

// CHECK-LABEL: func.func @dense_solve(%m: tensor<3x3xf32>, %r: tensor<3xf32>, %x: tensor<3xf32>, %g: tensor<3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %dr = mir.dense_solve %m, %g transpose : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %0 = mir.reshape %dr : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %1 = mir.reshape %x : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %2 = mir.transpose %1 perm [1, 0] : (tensor<3x1xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %3 = mir.matmul %0, %2 : (tensor<3x1xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %dm = mir.neg %3 : tensor<3x3xf32>
// CHECK-NEXT: func.return %dm, %dr : tensor<3x3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @dense_solve(%m: tensor<3x3xf32>, %r: tensor<3xf32>, %x: tensor<3xf32>, %g: tensor<3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>) {
  %dm, %dr = mir.vjp primals(%m, %r : tensor<3x3xf32>, tensor<3xf32>) outputs(%x : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0, 1] -> tensor<3x3xf32>, tensor<3xf32> {
  ^bb0(%a: tensor<3x3xf32>, %b: tensor<3xf32>):
    %0 = mir.dense_solve %a, %b : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dm, %dr : tensor<3x3xf32>, tensor<3xf32>
}

// -----

// With the transpose, the outer product is turned.
// CHECK-LABEL: func.func @batched_dense_solve(%m: tensor<2x3x3xf32>, %r: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %g: tensor<2x3x4xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x4xf32>) {
// CHECK-NEXT: %dr = mir.batched_dense_solve %m, %g : (tensor<2x3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %0 = mir.transpose %dr perm [0, 2, 1] : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: %1 = mir.matmul %x, %0 : (tensor<2x3x4xf32>, tensor<2x4x3xf32>) -> tensor<2x3x3xf32>
// CHECK-NEXT: %dm = mir.neg %1 : tensor<2x3x3xf32>
// CHECK-NEXT: func.return %dm, %dr : tensor<2x3x3xf32>, tensor<2x3x4xf32>
// CHECK-NEXT: }
func.func @batched_dense_solve(%m: tensor<2x3x3xf32>, %r: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %g: tensor<2x3x4xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x4xf32>) {
  %dm, %dr = mir.vjp primals(%m, %r : tensor<2x3x3xf32>, tensor<2x3x4xf32>) outputs(%x : tensor<2x3x4xf32>) cotangents(%g : tensor<2x3x4xf32>) of [0] wrt [0, 1] -> tensor<2x3x3xf32>, tensor<2x3x4xf32> {
  ^bb0(%a: tensor<2x3x3xf32>, %b: tensor<2x3x4xf32>):
    %0 = mir.batched_dense_solve %a, %b transpose : (tensor<2x3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    mir.yield %0 : tensor<2x3x4xf32>
  }
  func.return %dm, %dr : tensor<2x3x3xf32>, tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: func.func @lu_solve(%f: tensor<3x3xf32>, %p: tensor<3xi32>, %r: tensor<3xf32>, %x: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %dr = mir.lu_solve %f, %p, %g transpose : (tensor<3x3xf32>, tensor<3xi32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %dr : tensor<3xf32>
// CHECK-NEXT: }
func.func @lu_solve(%f: tensor<3x3xf32>, %p: tensor<3xi32>, %r: tensor<3xf32>, %x: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
  %dr = mir.vjp primals(%f, %p, %r : tensor<3x3xf32>, tensor<3xi32>, tensor<3xf32>) outputs(%x : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [2] -> tensor<3xf32> {
  ^bb0(%a: tensor<3x3xf32>, %q: tensor<3xi32>, %b: tensor<3xf32>):
    %0 = mir.lu_solve %a, %q, %b : (tensor<3x3xf32>, tensor<3xi32>, tensor<3xf32>) -> tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dr : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @lu(%m: tensor<3x3xf32>, %f: tensor<3x3xf32>, %p: tensor<3xi32>, %g: tensor<3x3xf32>) -> tensor<3x3xf32> {
// CHECK-NEXT: %0 = mir.constant dense<[0, 1, 2]> : tensor<3xi32>
// CHECK-NEXT: %1 = mir.reshape %0 : tensor<3xi32> to tensor<3x1xi32>
// CHECK-NEXT: %2 = mir.le %0, %1 : (tensor<3xi32>, tensor<3x1xi32>) -> tensor<3x3xi1>
// CHECK-NEXT: %3 = mir.eq %0, %1 : (tensor<3xi32>, tensor<3x1xi32>) -> tensor<3x3xi1>
// CHECK-NEXT: %4 = mir.cast %3 : tensor<3x3xi1> to tensor<3x3xf32>
// CHECK-NEXT: %5 = mir.where %2, %4, %f : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %6 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %7 = mir.where %2, %f, %6 : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %8 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %9 = mir.where %2, %8, %g : (tensor<3x3xi1>, tensor<f32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %10 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %11 = mir.where %2, %g, %10 : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %12 = mir.transpose %5 perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %13 = mir.matmul %9, %12 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %14 = mir.transpose %7 perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %15 = mir.matmul %14, %11 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %16 = mir.sub %13, %15 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %17 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %18 = mir.where %2, %17, %16 : (tensor<3x3xi1>, tensor<f32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %19 = mir.constant dense<[false, false, true]> : tensor<3xi1>
// CHECK-NEXT: %20 = mir.and %3, %19 : (tensor<3x3xi1>, tensor<3xi1>) -> tensor<3x3xi1>
// CHECK-NEXT: %21 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %22 = mir.where %20, %21, %f : (tensor<3x3xi1>, tensor<f32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %23 = mir.triangular_solve %22, %18 lower transpose : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %24 = mir.add %11, %23 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %25 = mir.transpose %24 perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %26 = mir.triangular_solve %f, %25 unit_diagonal : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %27 = mir.interchange_rows %26, %p inverse : (tensor<3x3xf32>, tensor<3xi32>) -> tensor<3x3xf32>
// CHECK-NEXT: %dm = mir.transpose %27 perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: func.return %dm : tensor<3x3xf32>
// CHECK-NEXT: }
func.func @lu(%m: tensor<3x3xf32>, %f: tensor<3x3xf32>, %p: tensor<3xi32>, %g: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %dm = mir.vjp primals(%m : tensor<3x3xf32>) outputs(%f, %p : tensor<3x3xf32>, tensor<3xi32>) cotangents(%g : tensor<3x3xf32>) of [0] wrt [0] -> tensor<3x3xf32> {
  ^bb0(%a: tensor<3x3xf32>):
    %0, %1 = mir.lu %a : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xi32>)
    mir.yield %0, %1 : tensor<3x3xf32>, tensor<3xi32>
  }
  func.return %dm : tensor<3x3xf32>
}

// -----

// Of complex tensors, with the conjugates.
// CHECK-LABEL: func.func @complex_solve
// CHECK-NEXT: %0 = mir.conjugate %x : (tensor<3x1xcomplex<f32>>) -> tensor<3x1xcomplex<f32>>
// CHECK-NEXT: %1 = mir.conjugate %g : (tensor<3x1xcomplex<f32>>) -> tensor<3x1xcomplex<f32>>
// CHECK-NEXT: %2 = mir.dense_solve %m, %1 transpose : (tensor<3x3xcomplex<f32>>, tensor<3x1xcomplex<f32>>) -> tensor<3x1xcomplex<f32>>
// CHECK-NEXT: %dr = mir.conjugate %2 : (tensor<3x1xcomplex<f32>>) -> tensor<3x1xcomplex<f32>>
// CHECK-NEXT: %3 = mir.transpose %0 perm [1, 0] : (tensor<3x1xcomplex<f32>>) -> tensor<1x3xcomplex<f32>>
// CHECK-NEXT: %4 = mir.matmul %dr, %3 : (tensor<3x1xcomplex<f32>>, tensor<1x3xcomplex<f32>>) -> tensor<3x3xcomplex<f32>>
// CHECK-NEXT: %dm = mir.neg %4 : tensor<3x3xcomplex<f32>>
func.func @complex_solve(%m: tensor<3x3xcomplex<f32>>, %r: tensor<3x1xcomplex<f32>>, %x: tensor<3x1xcomplex<f32>>, %g: tensor<3x1xcomplex<f32>>) -> (tensor<3x3xcomplex<f32>>, tensor<3x1xcomplex<f32>>) {
  %dm, %dr = mir.vjp primals(%m, %r : tensor<3x3xcomplex<f32>>, tensor<3x1xcomplex<f32>>) outputs(%x : tensor<3x1xcomplex<f32>>) cotangents(%g : tensor<3x1xcomplex<f32>>) of [0] wrt [0, 1] -> tensor<3x3xcomplex<f32>>, tensor<3x1xcomplex<f32>> {
  ^bb0(%a: tensor<3x3xcomplex<f32>>, %b: tensor<3x1xcomplex<f32>>):
    %0 = mir.dense_solve %a, %b : (tensor<3x3xcomplex<f32>>, tensor<3x1xcomplex<f32>>) -> tensor<3x1xcomplex<f32>>
    mir.yield %0 : tensor<3x1xcomplex<f32>>
  }
  func.return %dm, %dr : tensor<3x3xcomplex<f32>>, tensor<3x1xcomplex<f32>>
}

// -----

// Interchanges in the opposite order.
// CHECK-LABEL: func.func @interchange_rows(%r: tensor<3x2xf32>, %p: tensor<3xi32>, %x: tensor<3x2xf32>, %g: tensor<3x2xf32>) -> tensor<3x2xf32> {
// CHECK-NEXT: %dr = mir.interchange_rows %g, %p inverse : (tensor<3x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
// CHECK-NEXT: func.return %dr : tensor<3x2xf32>
// CHECK-NEXT: }
func.func @interchange_rows(%r: tensor<3x2xf32>, %p: tensor<3xi32>, %x: tensor<3x2xf32>, %g: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %dr = mir.vjp primals(%r, %p : tensor<3x2xf32>, tensor<3xi32>) outputs(%x : tensor<3x2xf32>) cotangents(%g : tensor<3x2xf32>) of [0] wrt [0] -> tensor<3x2xf32> {
  ^bb0(%b: tensor<3x2xf32>, %q: tensor<3xi32>):
    %0 = mir.interchange_rows %b, %q : (tensor<3x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
    mir.yield %0 : tensor<3x2xf32>
  }
  func.return %dr : tensor<3x2xf32>
}

// -----

// The other solve, and the triangle of an outer product without its diagonal.
// CHECK-LABEL: func.func @triangular_solve(%m: tensor<3x3xf32>, %r: tensor<3xf32>, %x: tensor<3xf32>, %g: tensor<3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %dr = mir.triangular_solve %m, %g lower transpose unit_diagonal : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %0 = mir.reshape %dr : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %1 = mir.reshape %x : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %2 = mir.transpose %1 perm [1, 0] : (tensor<3x1xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %3 = mir.matmul %0, %2 : (tensor<3x1xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %4 = mir.iota axis 0 : tensor<3xi64>
// CHECK-NEXT: %5 = mir.reshape %4 : tensor<3xi64> to tensor<3x1xi64>
// CHECK-NEXT: %6 = mir.iota axis 0 : tensor<3xi64>
// CHECK-NEXT: %7 = mir.constant dense<-1> : tensor<i64>
// CHECK-NEXT: %8 = mir.sub %6, %7 : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
// CHECK-NEXT: %9 = mir.ge %5, %8 : (tensor<3x1xi64>, tensor<3xi64>) -> tensor<3x3xi1>
// CHECK-NEXT: %10 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %11 = mir.where %9, %3, %10 : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %dm = mir.neg %11 : tensor<3x3xf32>
// CHECK-NEXT: func.return %dm, %dr : tensor<3x3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @triangular_solve(%m: tensor<3x3xf32>, %r: tensor<3xf32>, %x: tensor<3xf32>, %g: tensor<3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>) {
  %dm, %dr = mir.vjp primals(%m, %r : tensor<3x3xf32>, tensor<3xf32>) outputs(%x : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0, 1] -> tensor<3x3xf32>, tensor<3xf32> {
  ^bb0(%a: tensor<3x3xf32>, %b: tensor<3xf32>):
    %0 = mir.triangular_solve %a, %b lower unit_diagonal : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dm, %dr : tensor<3x3xf32>, tensor<3xf32>
}

// -----

// A product with the inverse in place of another solve.
// CHECK-LABEL: func.func @inverse(%m: tensor<2x2xf32>, %x: tensor<2x2xf32>, %g: tensor<2x2xf32>) -> tensor<2x2xf32> {
// CHECK-NEXT: %0 = mir.transpose %x perm [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %1 = mir.matmul %0, %g : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %2 = mir.transpose %x perm [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %3 = mir.matmul %1, %2 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %dm = mir.neg %3 : tensor<2x2xf32>
// CHECK-NEXT: func.return %dm : tensor<2x2xf32>
// CHECK-NEXT: }
func.func @inverse(%m: tensor<2x2xf32>, %x: tensor<2x2xf32>, %g: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %identity = mir.constant dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32>
  %dm = mir.vjp primals(%m, %identity : tensor<2x2xf32>, tensor<2x2xf32>) outputs(%x : tensor<2x2xf32>) cotangents(%g : tensor<2x2xf32>) of [0] wrt [0] -> tensor<2x2xf32> {
  ^bb0(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>):
    %0 = mir.dense_solve %a, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    mir.yield %0 : tensor<2x2xf32>
  }
  func.return %dm : tensor<2x2xf32>
}
