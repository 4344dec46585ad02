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
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<3x3xf32>
// CHECK-NEXT: %2 = mir.constant dense<[0, 1, 2]> : tensor<3xi32>
// CHECK-NEXT: %3 = mir.reshape %2 : tensor<3xi32> to tensor<3x1xi32>
// CHECK-NEXT: %4 = mir.le %2, %3 : (tensor<3xi32>, tensor<3x1xi32>) -> tensor<3x3xi1>
// CHECK-NEXT: %5 = mir.where %4, %1, %g : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %6 = mir.constant dense<[0, 1, 2]> : tensor<3xi32>
// CHECK-NEXT: %7 = mir.reshape %6 : tensor<3xi32> to tensor<3x1xi32>
// CHECK-NEXT: %8 = mir.le %6, %7 : (tensor<3xi32>, tensor<3x1xi32>) -> tensor<3x3xi1>
// CHECK-NEXT: %9 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %10 = mir.where %8, %g, %9 : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %11 = mir.constant dense<[0, 1, 2]> : tensor<3xi32>
// CHECK-NEXT: %12 = mir.reshape %11 : tensor<3xi32> to tensor<3x1xi32>
// CHECK-NEXT: %13 = mir.le %11, %12 : (tensor<3xi32>, tensor<3x1xi32>) -> tensor<3x3xi1>
// CHECK-NEXT: %14 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %15 = mir.where %13, %f, %14 : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %16 = mir.transpose %10 perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %17 = mir.matmul %15, %16 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %18 = mir.constant dense<[0, 1, 2]> : tensor<3xi32>
// CHECK-NEXT: %19 = mir.reshape %18 : tensor<3xi32> to tensor<3x1xi32>
// CHECK-NEXT: %20 = mir.eq %18, %19 : (tensor<3xi32>, tensor<3x1xi32>) -> tensor<3x3xi1>
// CHECK-NEXT: %21 = mir.cast %20 : tensor<3x3xi1> to tensor<3x3xf32>
// CHECK-NEXT: %22 = mir.constant dense<[0, 1, 2]> : tensor<3xi32>
// CHECK-NEXT: %23 = mir.reshape %22 : tensor<3xi32> to tensor<3x1xi32>
// CHECK-NEXT: %24 = mir.le %22, %23 : (tensor<3xi32>, tensor<3x1xi32>) -> tensor<3x3xi1>
// CHECK-NEXT: %25 = mir.where %24, %21, %f : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %26 = mir.transpose %25 perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %27 = mir.matmul %5, %26 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %28 = mir.constant dense<[0, 1, 2]> : tensor<3xi32>
// CHECK-NEXT: %29 = mir.reshape %28 : tensor<3xi32> to tensor<3x1xi32>
// CHECK-NEXT: %30 = mir.le %28, %29 : (tensor<3xi32>, tensor<3x1xi32>) -> tensor<3x3xi1>
// CHECK-NEXT: %31 = mir.where %30, %17, %27 : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %32 = mir.transpose %31 perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %33 = mir.constant dense<[0, 1, 2]> : tensor<3xi32>
// CHECK-NEXT: %34 = mir.reshape %33 : tensor<3xi32> to tensor<3x1xi32>
// CHECK-NEXT: %35 = mir.eq %33, %34 : (tensor<3xi32>, tensor<3x1xi32>) -> tensor<3x3xi1>
// CHECK-NEXT: %36 = mir.cast %35 : tensor<3x3xi1> to tensor<3x3xf32>
// CHECK-NEXT: %37 = mir.constant dense<[0, 1, 2]> : tensor<3xi32>
// CHECK-NEXT: %38 = mir.reshape %37 : tensor<3xi32> to tensor<3x1xi32>
// CHECK-NEXT: %39 = mir.le %37, %38 : (tensor<3xi32>, tensor<3x1xi32>) -> tensor<3x3xi1>
// CHECK-NEXT: %40 = mir.where %39, %36, %f : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %41 = mir.lu_solve %40, %p, %32 : (tensor<3x3xf32>, tensor<3xi32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %42 = mir.transpose %41 perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %43 = mir.constant dense<[0, 1, 2]> : tensor<3xi32>
// CHECK-NEXT: %44 = mir.reshape %43 : tensor<3xi32> to tensor<3x1xi32>
// CHECK-NEXT: %45 = mir.le %43, %44 : (tensor<3xi32>, tensor<3x1xi32>) -> tensor<3x3xi1>
// CHECK-NEXT: %46 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %47 = mir.where %45, %f, %46 : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %48 = mir.constant dense<[1, 2, 3]> : tensor<3xi32>
// CHECK-NEXT: %dm = mir.lu_solve %47, %48, %42 transpose : (tensor<3x3xf32>, tensor<3xi32>, tensor<3x3xf32>) -> tensor<3x3xf32>
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
