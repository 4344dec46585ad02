// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p mir-decompose,mir-cse --split-input-file | filecheck %s --check-prefix=SHARED

// The vjp rules of the family factor: products and solves with the factors.

// The symmetric part of what two triangular solves make of half of a product.
// CHECK-LABEL: func.func @cholesky(%x: tensor<3x3xf32>, %y: tensor<3x3xf32>, %g: tensor<3x3xf32>) -> tensor<3x3xf32> {
// CHECK-NEXT: %0 = mir.transpose %y perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %1 = mir.matmul %0, %g : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %2 = mir.iota axis 0 : tensor<3xi64>
// CHECK-NEXT: %3 = mir.reshape %2 : tensor<3xi64> to tensor<3x1xi64>
// CHECK-NEXT: %4 = mir.iota axis 0 : tensor<3xi64>
// CHECK-NEXT: %5 = mir.ge %3, %4 : (tensor<3x1xi64>, tensor<3xi64>) -> tensor<3x3xi1>
// CHECK-NEXT: %6 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %7 = mir.where %5, %1, %6 : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %8 = mir.iota axis 0 : tensor<3xi64>
// CHECK-NEXT: %9 = mir.reshape %8 : tensor<3xi64> to tensor<3x1xi64>
// CHECK-NEXT: %10 = mir.iota axis 0 : tensor<3xi64>
// CHECK-NEXT: %11 = mir.eq %10, %9 : (tensor<3xi64>, tensor<3x1xi64>) -> tensor<3x3xi1>
// CHECK-NEXT: %12 = mir.cast %11 : tensor<3x3xi1> to tensor<3x3xf32>
// CHECK-NEXT: %13 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %14 = mir.mul %12, %13 : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %15 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %16 = mir.sub %15, %14 : (tensor<f32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %17 = mir.mul %7, %16 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %18 = mir.triangular_solve %y, %17 lower transpose : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %19 = mir.transpose %18 perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %20 = mir.triangular_solve %y, %19 lower transpose : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %21 = mir.transpose %20 perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %22 = mir.add %20, %21 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %23 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %dx = mir.mul %22, %23 : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: func.return %dx : tensor<3x3xf32>
// CHECK-NEXT: }
func.func @cholesky(%x: tensor<3x3xf32>, %y: tensor<3x3xf32>, %g: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %dx = mir.vjp primals(%x : tensor<3x3xf32>) outputs(%y : tensor<3x3xf32>) cotangents(%g : tensor<3x3xf32>) of [0] wrt [0] -> tensor<3x3xf32> {
  ^bb0(%a: tensor<3x3xf32>):
    %0 = mir.cholesky %a : tensor<3x3xf32>
    mir.yield %0 : tensor<3x3xf32>
  }
  func.return %dx : tensor<3x3xf32>
}

// -----

// The gaps between the values divide what the cotangent of the vectors has along them.
// CHECK-LABEL: func.func @eigh(%x: tensor<3x3xf32>, %w: tensor<3xf32>, %v: tensor<3x3xf32>, %gw: tensor<3xf32>, %gv: tensor<3x3xf32>) -> tensor<3x3xf32> {
// CHECK-NEXT: %0 = mir.matrix_function %x, %w, %v, %v, %gw : (tensor<3x3xf32>, tensor<3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %1 = mir.transpose %v perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %2 = mir.reshape %w : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %3 = mir.reshape %w : tensor<3xf32> to tensor<1x3xf32>
// CHECK-NEXT: %4 = mir.sub %3, %2 : (tensor<1x3xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %5 = mir.abs %w : tensor<3xf32>
// CHECK-NEXT: %6 = mir.reduce_max %5 axes [0] : (tensor<3xf32>) -> tensor<f32>
// CHECK-NEXT: %7 = mir.reshape %6 : tensor<f32> to tensor<1x1xf32>
// CHECK-NEXT: %8 = mir.constant dense<4.12953085e-07> : tensor<f32>
// CHECK-NEXT: %9 = mir.mul %7, %8 : (tensor<1x1xf32>, tensor<f32>) -> tensor<1x1xf32>
// CHECK-NEXT: %10 = mir.abs %4 : tensor<3x3xf32>
// CHECK-NEXT: %11 = mir.le %10, %9 : (tensor<3x3xf32>, tensor<1x1xf32>) -> tensor<3x3xi1>
// CHECK-NEXT: %12 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %13 = mir.where %11, %12, %4 : (tensor<3x3xi1>, tensor<f32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %14 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %15 = mir.div %14, %13 : (tensor<f32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %16 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %17 = mir.where %11, %16, %15 : (tensor<3x3xi1>, tensor<f32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %18 = mir.matmul %1, %gv : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %19 = mir.mul %17, %18 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %20 = mir.matmul %v, %19 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %21 = mir.matmul %20, %1 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %22 = mir.transpose %21 perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %23 = mir.add %21, %22 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %24 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %25 = mir.mul %23, %24 : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %dx = mir.add %0, %25 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: func.return %dx : tensor<3x3xf32>
// CHECK-NEXT: }
func.func @eigh(%x: tensor<3x3xf32>, %w: tensor<3xf32>, %v: tensor<3x3xf32>, %gw: tensor<3xf32>, %gv: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %dx = mir.vjp primals(%x : tensor<3x3xf32>) outputs(%w, %v : tensor<3xf32>, tensor<3x3xf32>) cotangents(%gw, %gv : tensor<3xf32>, tensor<3x3xf32>) of [0, 1] wrt [0] -> tensor<3x3xf32> {
  ^bb0(%a: tensor<3x3xf32>):
    %0, %1 = mir.eigh %a : (tensor<3x3xf32>) -> (tensor<3xf32>, tensor<3x3xf32>)
    mir.yield %0, %1 : tensor<3xf32>, tensor<3x3xf32>
  }
  func.return %dx : tensor<3x3xf32>
}

// -----

// A triangular solve with what the cotangents of both factors make.
// CHECK-LABEL: func.func @qr(%x: tensor<4x3xf32>, %q: tensor<4x3xf32>, %r: tensor<3x3xf32>, %gq: tensor<4x3xf32>, %gr: tensor<3x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<3x3xf32>
// CHECK-NEXT: %2 = mir.transpose %gr perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %3 = mir.matmul %r, %2 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %4 = mir.add %1, %3 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %5 = mir.transpose %gq perm [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %6 = mir.matmul %5, %q : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %7 = mir.sub %4, %6 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %8 = mir.iota axis 0 : tensor<3xi64>
// CHECK-NEXT: %9 = mir.reshape %8 : tensor<3xi64> to tensor<3x1xi64>
// CHECK-NEXT: %10 = mir.iota axis 0 : tensor<3xi64>
// CHECK-NEXT: %11 = mir.ge %9, %10 : (tensor<3x1xi64>, tensor<3xi64>) -> tensor<3x3xi1>
// CHECK-NEXT: %12 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %13 = mir.where %11, %7, %12 : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %14 = mir.iota axis 0 : tensor<3xi64>
// CHECK-NEXT: %15 = mir.reshape %14 : tensor<3xi64> to tensor<3x1xi64>
// CHECK-NEXT: %16 = mir.iota axis 0 : tensor<3xi64>
// CHECK-NEXT: %17 = mir.constant dense<-1> : tensor<i64>
// CHECK-NEXT: %18 = mir.sub %16, %17 : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
// CHECK-NEXT: %19 = mir.ge %15, %18 : (tensor<3x1xi64>, tensor<3xi64>) -> tensor<3x3xi1>
// CHECK-NEXT: %20 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %21 = mir.where %19, %7, %20 : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %22 = mir.transpose %21 perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %23 = mir.add %13, %22 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %24 = mir.matmul %q, %23 : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %25 = mir.add %gq, %24 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %26 = mir.transpose %25 perm [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %27 = mir.triangular_solve %r, %26 : (tensor<3x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %dx = mir.transpose %27 perm [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @qr(%x: tensor<4x3xf32>, %q: tensor<4x3xf32>, %r: tensor<3x3xf32>, %gq: tensor<4x3xf32>, %gr: tensor<3x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%q, %r : tensor<4x3xf32>, tensor<3x3xf32>) cotangents(%gq, %gr : tensor<4x3xf32>, tensor<3x3xf32>) of [0, 1] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0, %1 = mir.qr %a : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3x3xf32>)
    mir.yield %0, %1 : tensor<4x3xf32>, tensor<3x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// -----

// Differences and sums of the values divide what is common to both kinds of vectors and what is not; `u` has an outside.
// CHECK-LABEL: func.func @svd(%x: tensor<4x3xf32>, %u: tensor<4x3xf32>, %s: tensor<3xf32>, %v: tensor<3x3xf32>, %gu: tensor<4x3xf32>, %gs: tensor<3xf32>, %gv: tensor<3x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.transpose %v perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %1 = mir.matrix_function %x, %s, %u, %0, %gs singular : (tensor<4x3xf32>, tensor<3xf32>, tensor<4x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %2 = mir.transpose %u perm [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %3 = mir.matmul %2, %gu : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %4 = mir.transpose %3 perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %5 = mir.sub %3, %4 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %6 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %7 = mir.mul %5, %6 : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %8 = mir.transpose %gv perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %9 = mir.matmul %v, %8 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %10 = mir.transpose %9 perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %11 = mir.sub %9, %10 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %12 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %13 = mir.mul %11, %12 : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %14 = mir.reshape %s : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %15 = mir.reshape %s : tensor<3xf32> to tensor<1x3xf32>
// CHECK-NEXT: %16 = mir.sub %15, %14 : (tensor<1x3xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %17 = mir.abs %s : tensor<3xf32>
// CHECK-NEXT: %18 = mir.reduce_max %17 axes [0] : (tensor<3xf32>) -> tensor<f32>
// CHECK-NEXT: %19 = mir.reshape %18 : tensor<f32> to tensor<1x1xf32>
// CHECK-NEXT: %20 = mir.constant dense<4.12953085e-07> : tensor<f32>
// CHECK-NEXT: %21 = mir.mul %19, %20 : (tensor<1x1xf32>, tensor<f32>) -> tensor<1x1xf32>
// CHECK-NEXT: %22 = mir.abs %16 : tensor<3x3xf32>
// CHECK-NEXT: %23 = mir.le %22, %21 : (tensor<3x3xf32>, tensor<1x1xf32>) -> tensor<3x3xi1>
// CHECK-NEXT: %24 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %25 = mir.where %23, %24, %16 : (tensor<3x3xi1>, tensor<f32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %26 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %27 = mir.div %26, %25 : (tensor<f32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %28 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %29 = mir.where %23, %28, %27 : (tensor<3x3xi1>, tensor<f32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %30 = mir.add %7, %13 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %31 = mir.mul %29, %30 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %32 = mir.reshape %s : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %33 = mir.reshape %s : tensor<3xf32> to tensor<1x3xf32>
// CHECK-NEXT: %34 = mir.add %33, %32 : (tensor<1x3xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %35 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %36 = mir.abs %34 : tensor<3x3xf32>
// CHECK-NEXT: %37 = mir.le %36, %35 : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xi1>
// CHECK-NEXT: %38 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %39 = mir.where %37, %38, %34 : (tensor<3x3xi1>, tensor<f32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %40 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %41 = mir.div %40, %39 : (tensor<f32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %42 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %43 = mir.where %37, %42, %41 : (tensor<3x3xi1>, tensor<f32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %44 = mir.sub %7, %13 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %45 = mir.mul %43, %44 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %46 = mir.add %31, %45 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %47 = mir.matmul %u, %46 : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %48 = mir.transpose %u perm [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %49 = mir.matmul %48, %gu : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %50 = mir.matmul %u, %49 : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %51 = mir.sub %gu, %50 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %52 = mir.reshape %s : tensor<3xf32> to tensor<1x3xf32>
// CHECK-NEXT: %53 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %54 = mir.abs %52 : tensor<1x3xf32>
// CHECK-NEXT: %55 = mir.le %54, %53 : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xi1>
// CHECK-NEXT: %56 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %57 = mir.where %55, %56, %52 : (tensor<1x3xi1>, tensor<f32>, tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %58 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %59 = mir.div %58, %57 : (tensor<f32>, tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %60 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %61 = mir.where %55, %60, %59 : (tensor<1x3xi1>, tensor<f32>, tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %62 = mir.mul %51, %61 : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %63 = mir.add %47, %62 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %64 = mir.matmul %63, %v : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.add %1, %64 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @svd(%x: tensor<4x3xf32>, %u: tensor<4x3xf32>, %s: tensor<3xf32>, %v: tensor<3x3xf32>, %gu: tensor<4x3xf32>, %gs: tensor<3xf32>, %gv: tensor<3x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%u, %s, %v : tensor<4x3xf32>, tensor<3xf32>, tensor<3x3xf32>) cotangents(%gu, %gs, %gv : tensor<4x3xf32>, tensor<3xf32>, tensor<3x3xf32>) of [0, 1, 2] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0, %1, %2 = mir.svd %a : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3x3xf32>)
    mir.yield %0, %1, %2 : tensor<4x3xf32>, tensor<3xf32>, tensor<3x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// -----

// CHECK-LABEL: func.func @det(%x: tensor<4x4xf32>, %y: tensor<f32>, %g: tensor<f32>) -> tensor<4x4xf32> {
// CHECK-NEXT: %0 = mir.reshape %g : tensor<f32> to tensor<1x1xf32>
// CHECK-NEXT: %1 = mir.cofactors %x : tensor<4x4xf32>
// CHECK-NEXT: %dx = mir.mul %0, %1 : (tensor<1x1xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: func.return %dx : tensor<4x4xf32>
// CHECK-NEXT: }
func.func @det(%x: tensor<4x4xf32>, %y: tensor<f32>, %g: tensor<f32>) -> tensor<4x4xf32> {
  %dx = mir.vjp primals(%x : tensor<4x4xf32>) outputs(%y : tensor<f32>) cotangents(%g : tensor<f32>) of [0] wrt [0] -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    %0 = mir.det %a : (tensor<4x4xf32>) -> tensor<f32>
    mir.yield %0 : tensor<f32>
  }
  func.return %dx : tensor<4x4xf32>
}

// -----

// The tangent of the definition, where the row of the smallest pivot is interchanged with the last one.
// CHECK-LABEL: func.func @cofactors(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>, %g: tensor<2x2xf32>) -> tensor<2x2xf32> {
// CHECK-NEXT: %0, %1 = mir.lu %x : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xi32>)
// CHECK-NEXT: %2 = mir.reshape %0 : tensor<2x2xf32> to tensor<4xf32>
// CHECK-NEXT: %3 = mir.narrow %2 axis 0 start 0 len 1 : (tensor<4xf32>) -> tensor<1xf32>
// CHECK-NEXT: %4 = mir.narrow %2 axis 0 start 3 len 1 : (tensor<4xf32>) -> tensor<1xf32>
// CHECK-NEXT: %5 = mir.concat %3, %4 axis 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
// CHECK-NEXT: %6 = mir.stop_gradient %5 : tensor<2xf32>
// CHECK-NEXT: %7 = mir.abs %6 : tensor<2xf32>
// CHECK-NEXT: %8 = mir.neg %7 : tensor<2xf32>
// CHECK-NEXT: %9 = mir.topk %8 k 1 : (tensor<2xf32>) -> tensor<1xi64>
// CHECK-NEXT: %10 = mir.iota axis 0 : tensor<2xi64>
// CHECK-NEXT: %11 = mir.eq %10, %9 : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi1>
// CHECK-NEXT: %12 = mir.reshape %11 : tensor<2xi1> to tensor<2x1xi1>
// CHECK-NEXT: %13 = mir.constant dense<1> : tensor<i64>
// CHECK-NEXT: %14 = mir.eq %10, %13 : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
// CHECK-NEXT: %15 = mir.reshape %14 : tensor<2xi1> to tensor<2x1xi1>
// CHECK-NEXT: %16 = mir.narrow %11 axis 0 start 1 len 1 : (tensor<2xi1>) -> tensor<1xi1>
// CHECK-NEXT: %17 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %18 = mir.constant dense<-1.000000e+00> : tensor<f32>
// CHECK-NEXT: %19 = mir.where %16, %17, %18 : (tensor<1xi1>, tensor<f32>, tensor<f32>) -> tensor<1xf32>
// CHECK-NEXT: %20 = mir.reshape %19 : tensor<1xf32> to tensor<1x1xf32>
// CHECK-NEXT: %21 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %22 = mir.where %12, %x, %21 : (tensor<2x1xi1>, tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
// CHECK-NEXT: %23 = mir.reduce_sum %22 axes [0] keep_dim : (tensor<2x2xf32>) -> tensor<1x2xf32>
// CHECK-NEXT: %24 = mir.narrow %x axis 0 start 1 len 1 : (tensor<2x2xf32>) -> tensor<1x2xf32>
// CHECK-NEXT: %25 = mir.where %15, %23, %x : (tensor<2x1xi1>, tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %26 = mir.where %12, %24, %25 : (tensor<2x1xi1>, tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %27 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %28 = mir.where %12, %g, %27 : (tensor<2x1xi1>, tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
// CHECK-NEXT: %29 = mir.reduce_sum %28 axes [0] keep_dim : (tensor<2x2xf32>) -> tensor<1x2xf32>
// CHECK-NEXT: %30 = mir.narrow %g axis 0 start 1 len 1 : (tensor<2x2xf32>) -> tensor<1x2xf32>
// CHECK-NEXT: %31 = mir.where %15, %29, %g : (tensor<2x1xi1>, tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %32 = mir.where %12, %30, %31 : (tensor<2x1xi1>, tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %33, %34 = mir.lu %26 : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xi32>)
// CHECK: mir.interchange_rows
// CHECK: mir.triangular_solve
// CHECK: %dx = mir.mul %20, %{{.*}} : (tensor<1x1xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: func.return %dx : tensor<2x2xf32>
// CHECK-NEXT: }
func.func @cofactors(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>, %g: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %dx = mir.vjp primals(%x : tensor<2x2xf32>) outputs(%y : tensor<2x2xf32>) cotangents(%g : tensor<2x2xf32>) of [0] wrt [0] -> tensor<2x2xf32> {
  ^bb0(%a: tensor<2x2xf32>):
    %0 = mir.cofactors %a : tensor<2x2xf32>
    mir.yield %0 : tensor<2x2xf32>
  }
  func.return %dx : tensor<2x2xf32>
}

// -----

// The inverse, turned; the sign has no derivative.
// CHECK-LABEL: func.func @slogdet(%x: tensor<3x3xf32>, %s: tensor<f32>, %l: tensor<f32>, %gs: tensor<f32>, %g: tensor<f32>) -> tensor<3x3xf32> {
// CHECK-NEXT: %0 = mir.reshape %g : tensor<f32> to tensor<1x1xf32>
// CHECK-NEXT: %1 = mir.iota axis 0 : tensor<3xi64>
// CHECK-NEXT: %2 = mir.reshape %1 : tensor<3xi64> to tensor<3x1xi64>
// CHECK-NEXT: %3 = mir.iota axis 0 : tensor<3xi64>
// CHECK-NEXT: %4 = mir.eq %3, %2 : (tensor<3xi64>, tensor<3x1xi64>) -> tensor<3x3xi1>
// CHECK-NEXT: %5 = mir.cast %4 : tensor<3x3xi1> to tensor<3x3xf32>
// CHECK-NEXT: %6 = mir.dense_solve %x, %5 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %7 = mir.transpose %6 perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %dx = mir.mul %0, %7 : (tensor<1x1xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: func.return %dx : tensor<3x3xf32>
// CHECK-NEXT: }
func.func @slogdet(%x: tensor<3x3xf32>, %s: tensor<f32>, %l: tensor<f32>, %gs: tensor<f32>, %g: tensor<f32>) -> tensor<3x3xf32> {
  %dx = mir.vjp primals(%x : tensor<3x3xf32>) outputs(%s, %l : tensor<f32>, tensor<f32>) cotangents(%gs, %g : tensor<f32>, tensor<f32>) of [0, 1] wrt [0] -> tensor<3x3xf32> {
  ^bb0(%a: tensor<3x3xf32>):
    %0, %1 = mir.slogdet %a : (tensor<3x3xf32>) -> (tensor<f32>, tensor<f32>)
    mir.yield %0, %1 : tensor<f32>, tensor<f32>
  }
  func.return %dx : tensor<3x3xf32>
}

// -----

// The logarithm of a determinant and a solve share one factorisation.
// SHARED-LABEL: func.func @shared_inverse(
// SHARED: mir.lu %a
// SHARED-NOT: mir.lu %
// SHARED: func.return
func.func @shared_inverse(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>) {
  %0, %1 = mir.slogdet %a : (tensor<4x4xf32>) -> (tensor<f32>, tensor<f32>)
  %2 = mir.dense_solve %a, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %1, %2 : tensor<f32>, tensor<4x4xf32>
}

// -----

// A determinant and its cofactors share one factorisation.
// SHARED-LABEL: func.func @shared(
// SHARED: mir.lu %a
// SHARED-NOT: mir.lu %
// SHARED: func.return
func.func @shared(%a: tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>) {
  %0 = mir.det %a : (tensor<4x4xf32>) -> tensor<f32>
  %1 = mir.cofactors %a : tensor<4x4xf32>
  func.return %0, %1 : tensor<f32>, tensor<4x4xf32>
}
