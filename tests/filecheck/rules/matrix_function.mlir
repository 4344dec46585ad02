// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family matrix_function.

// Divided differences of the images by the values, which are slopes (here 0) where values are equal.
// CHECK-LABEL: func.func @matrix_function(%x: tensor<3x3xf32>, %w: tensor<3xf32>, %v: tensor<3x3xf32>, %f: tensor<3xf32>, %y: tensor<3x3xf32>, %g: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %0 = mir.matmul %g, %v : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %1 = mir.transpose %v perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %2 = mir.matmul %1, %0 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %3 = mir.reshape %w : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %4 = mir.reshape %w : tensor<3xf32> to tensor<1x3xf32>
// CHECK-NEXT: %5 = mir.reshape %f : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %6 = mir.reshape %f : tensor<3xf32> to tensor<1x3xf32>
// CHECK-NEXT: %7 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %8 = mir.expand %7 : tensor<f32> to tensor<3x3xf32>
// CHECK-NEXT: %9 = mir.reshape %8 : tensor<3x3xf32> to tensor<9xf32>
// CHECK-NEXT: %10 = mir.narrow %9 axis 0 start 0 len 8 : (tensor<9xf32>) -> tensor<8xf32>
// CHECK-NEXT: %11 = mir.reshape %10 : tensor<8xf32> to tensor<2x4xf32>
// CHECK-NEXT: %12 = mir.narrow %11 axis 1 start 0 len 1 : (tensor<2x4xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %13 = mir.reshape %12 : tensor<2x1xf32> to tensor<2xf32>
// CHECK-NEXT: %14 = mir.narrow %9 axis 0 start 8 len 1 : (tensor<9xf32>) -> tensor<1xf32>
// CHECK-NEXT: %15 = mir.concat %13, %14 axis 0 : (tensor<2xf32>, tensor<1xf32>) -> tensor<3xf32>
// CHECK-NEXT: %16 = mir.reshape %15 : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %17 = mir.reshape %15 : tensor<3xf32> to tensor<1x3xf32>
// CHECK-NEXT: %18 = mir.add %16, %17 : (tensor<3x1xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %19 = mir.sub %18, %8 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %20 = mir.transpose %8 perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %21 = mir.sub %19, %20 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %22 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %23 = mir.mul %21, %22 : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %24 = mir.sub %3, %4 : (tensor<3x1xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %25 = mir.sub %5, %6 : (tensor<3x1xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %26 = mir.iota axis 0 : tensor<3xi64>
// CHECK-NEXT: %27 = mir.reshape %26 : tensor<3xi64> to tensor<3x1xi64>
// CHECK-NEXT: %28 = mir.iota axis 0 : tensor<3xi64>
// CHECK-NEXT: %29 = mir.eq %28, %27 : (tensor<3xi64>, tensor<3x1xi64>) -> tensor<3x3xi1>
// CHECK-NEXT: %30 = mir.mul %23, %24 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %31 = mir.sub %25, %30 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %32 = mir.abs %31 : tensor<3x3xf32>
// CHECK-NEXT: %33 = mir.abs %5 : tensor<3x1xf32>
// CHECK-NEXT: %34 = mir.abs %6 : tensor<1x3xf32>
// CHECK-NEXT: %35 = mir.add %33, %34 : (tensor<3x1xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %36 = mir.constant dense<1.90734863e-06> : tensor<f32>
// CHECK-NEXT: %37 = mir.mul %35, %36 : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %38 = mir.le %32, %37 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xi1>
// CHECK-NEXT: %39 = mir.abs %24 : tensor<3x3xf32>
// CHECK-NEXT: %40 = mir.abs %3 : tensor<3x1xf32>
// CHECK-NEXT: %41 = mir.abs %4 : tensor<1x3xf32>
// CHECK-NEXT: %42 = mir.max %40, %41 : (tensor<3x1xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %43 = mir.constant dense<8.2590617e-07> : tensor<f32>
// CHECK-NEXT: %44 = mir.mul %42, %43 : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %45 = mir.le %39, %44 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xi1>
// CHECK-NEXT: %46 = mir.or %38, %45 : (tensor<3x3xi1>, tensor<3x3xi1>) -> tensor<3x3xi1>
// CHECK-NEXT: %47 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %48 = mir.where %46, %47, %24 : (tensor<3x3xi1>, tensor<f32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %49 = mir.div %25, %48 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %50 = mir.where %46, %23, %49 : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %51 = mir.reshape %w : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %52 = mir.reshape %w : tensor<3xf32> to tensor<1x3xf32>
// CHECK-NEXT: %53 = mir.sub %51, %52 : (tensor<3x1xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %54 = mir.abs %53 : tensor<3x3xf32>
// CHECK-NEXT: %55 = mir.abs %w : tensor<3xf32>
// CHECK-NEXT: %56 = mir.reduce_max %55 axes [0] : (tensor<3xf32>) -> tensor<f32>
// CHECK-NEXT: %57 = mir.reshape %56 : tensor<f32> to tensor<1x1xf32>
// CHECK-NEXT: %58 = mir.constant dense<4.12953085e-07> : tensor<f32>
// CHECK-NEXT: %59 = mir.mul %57, %58 : (tensor<1x1xf32>, tensor<f32>) -> tensor<1x1xf32>
// CHECK-NEXT: %60 = mir.le %54, %59 : (tensor<3x3xf32>, tensor<1x1xf32>) -> tensor<3x3xi1>
// CHECK-NEXT: %61 = mir.cast %60 : tensor<3x3xi1> to tensor<3x3xi32>
// CHECK-NEXT: %62 = mir.iota axis 0 : tensor<3xi64>
// CHECK-NEXT: %63 = mir.reshape %62 : tensor<3xi64> to tensor<3x1xi64>
// CHECK-NEXT: %64 = mir.iota axis 0 : tensor<3xi64>
// CHECK-NEXT: %65 = mir.eq %64, %63 : (tensor<3xi64>, tensor<3x1xi64>) -> tensor<3x3xi1>
// CHECK-NEXT: %66 = mir.cast %65 : tensor<3x3xi1> to tensor<3x3xi32>
// CHECK-NEXT: %67 = mir.gt %61, %66 : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>
// CHECK-NEXT: %68 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %69 = mir.mul %53, %68 : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %70 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %71 = mir.where %67, %69, %70 : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %72 = mir.sqrt %71 : tensor<3x3xf32>
// CHECK-NEXT: %73 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %74 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %75 = mir.where %67, %73, %74 : (tensor<3x3xi1>, tensor<f32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %76 = mir.sub %72, %75 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %77 = mir.add %50, %76 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %78 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %79 = mir.where %29, %78, %77 : (tensor<3x3xi1>, tensor<f32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %80 = mir.mul %79, %2 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %81 = mir.matmul %v, %80 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %82 = mir.transpose %v perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %83 = mir.matmul %81, %82 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %84 = mir.transpose %83 perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %85 = mir.add %83, %84 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %86 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %dx = mir.mul %85, %86 : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK-NEXT: %87 = mir.reshape %2 : tensor<3x3xf32> to tensor<9xf32>
// CHECK-NEXT: %88 = mir.narrow %87 axis 0 start 0 len 8 : (tensor<9xf32>) -> tensor<8xf32>
// CHECK-NEXT: %89 = mir.reshape %88 : tensor<8xf32> to tensor<2x4xf32>
// CHECK-NEXT: %90 = mir.narrow %89 axis 1 start 0 len 1 : (tensor<2x4xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %91 = mir.reshape %90 : tensor<2x1xf32> to tensor<2xf32>
// CHECK-NEXT: %92 = mir.narrow %87 axis 0 start 8 len 1 : (tensor<9xf32>) -> tensor<1xf32>
// CHECK-NEXT: %df = mir.concat %91, %92 axis 0 : (tensor<2xf32>, tensor<1xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %dx, %df : tensor<3x3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @matrix_function(%x: tensor<3x3xf32>, %w: tensor<3xf32>, %v: tensor<3x3xf32>, %f: tensor<3xf32>, %y: tensor<3x3xf32>, %g: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>) {
  %dx, %df = mir.vjp primals(%x, %w, %v, %v, %f : tensor<3x3xf32>, tensor<3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3xf32>) outputs(%y : tensor<3x3xf32>) cotangents(%g : tensor<3x3xf32>) of [0] wrt [0, 4] -> tensor<3x3xf32>, tensor<3xf32> {
  ^bb0(%a: tensor<3x3xf32>, %b: tensor<3xf32>, %c: tensor<3x3xf32>, %d: tensor<3x3xf32>, %e: tensor<3xf32>):
    %0 = mir.matrix_function %a, %b, %c, %d, %e : (tensor<3x3xf32>, tensor<3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
    mir.yield %0 : tensor<3x3xf32>
  }
  func.return %dx, %df : tensor<3x3xf32>, tensor<3xf32>
}
// -----

// Products with the result alone: no singular value divides.
// CHECK-LABEL: func.func @pinv(%x: tensor<4x3xf32>, %y: tensor<3x4xf32>, %g: tensor<3x4xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.transpose %y perm [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.transpose %g perm [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %2 = mir.matmul %y, %1 : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %3 = mir.matmul %x, %2 : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %4 = mir.sub %1, %3 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %5 = mir.matmul %1, %y : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %6 = mir.matmul %5, %x : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %7 = mir.sub %1, %6 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %8 = mir.matmul %4, %y : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %9 = mir.matmul %0, %g : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %10 = mir.sub %8, %9 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %11 = mir.matmul %10, %0 : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %12 = mir.matmul %y, %7 : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %13 = mir.matmul %0, %12 : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.add %11, %13 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @pinv(%x: tensor<4x3xf32>, %y: tensor<3x4xf32>, %g: tensor<3x4xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<3x4xf32>) cotangents(%g : tensor<3x4xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.pinv %a rcond 1.000000e-15 : (tensor<4x3xf32>) -> tensor<3x4xf32>
    mir.yield %0 : tensor<3x4xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// -----

// Both cotangents by the pseudo-inverse.
// CHECK-LABEL: func.func @lstsq(%x: tensor<4x3xf32>, %r: tensor<4x2xf32>, %y: tensor<3x2xf32>, %g: tensor<3x2xf32>) -> (tensor<4x3xf32>, tensor<4x2xf32>) {
// CHECK-NEXT: %0 = mir.pinv %x rcond 1.000000e-15 : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %1 = mir.transpose %r perm [1, 0] : (tensor<4x2xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %2 = mir.matmul %g, %1 : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %3 = mir.transpose %0 perm [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %4 = mir.transpose %2 perm [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %5 = mir.matmul %0, %4 : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %6 = mir.matmul %x, %5 : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %7 = mir.sub %4, %6 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %8 = mir.matmul %4, %0 : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %9 = mir.matmul %8, %x : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %10 = mir.sub %4, %9 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %11 = mir.matmul %7, %0 : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %12 = mir.matmul %3, %2 : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %13 = mir.sub %11, %12 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %14 = mir.matmul %13, %3 : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %15 = mir.matmul %0, %10 : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %16 = mir.matmul %3, %15 : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.add %14, %16 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %17 = mir.transpose %0 perm [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dr = mir.matmul %17, %g : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: func.return %dx, %dr : tensor<4x3xf32>, tensor<4x2xf32>
// CHECK-NEXT: }
func.func @lstsq(%x: tensor<4x3xf32>, %r: tensor<4x2xf32>, %y: tensor<3x2xf32>, %g: tensor<3x2xf32>) -> (tensor<4x3xf32>, tensor<4x2xf32>) {
  %dx, %dr = mir.vjp primals(%x, %r : tensor<4x3xf32>, tensor<4x2xf32>) outputs(%y : tensor<3x2xf32>) cotangents(%g : tensor<3x2xf32>) of [0] wrt [0, 1] -> tensor<4x3xf32>, tensor<4x2xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<4x2xf32>):
    %0 = mir.lstsq %a, %b rcond 1.000000e-15 : (tensor<4x3xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
    mir.yield %0 : tensor<3x2xf32>
  }
  func.return %dx, %dr : tensor<4x3xf32>, tensor<4x2xf32>
}
