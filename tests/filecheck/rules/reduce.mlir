// RUN: xdsl-opt %s -p mir-emit-vjp | filecheck %s

// The derivatives of reductions.

// Repeated over what was reduced.
// CHECK-LABEL: func.func @sum(%x: tensor<4x3xf32>, %y: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.reshape %g : tensor<4xf32> to tensor<4x1xf32>
// CHECK-NEXT: %dx = mir.expand %0 : tensor<4x1xf32> to tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @sum(%x: tensor<4x3xf32>, %y: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4xf32>) cotangents(%g : tensor<4xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.reduce_sum %a axes [1] : (tensor<4x3xf32>) -> tensor<4xf32>
    mir.yield %0 : tensor<4xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// Leading axes need no reshape.
// CHECK-LABEL: func.func @sum_leading(%x: tensor<4x3xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %dx = mir.expand %g : tensor<3xf32> to tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @sum_leading(%x: tensor<4x3xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.reduce_sum %a axes [0] : (tensor<4x3xf32>) -> tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// Nor do kept ones.
// CHECK-LABEL: func.func @sum_keep(%x: tensor<4x3xf32>, %y: tensor<4x1xf32>, %g: tensor<4x1xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %dx = mir.expand %g : tensor<4x1xf32> to tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @sum_keep(%x: tensor<4x3xf32>, %y: tensor<4x1xf32>, %g: tensor<4x1xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x1xf32>) cotangents(%g : tensor<4x1xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.reduce_sum %a axes [1] keep_dim : (tensor<4x3xf32>) -> tensor<4x1xf32>
    mir.yield %0 : tensor<4x1xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// Divided by the count before it is repeated, in the type of the operand.
// CHECK-LABEL: func.func @mean(%x: tensor<4x3xf64>, %y: tensor<f64>, %g: tensor<f64>) -> tensor<4x3xf64> {
// CHECK-NEXT: %0 = mir.constant dense<1.200000e+01> : tensor<f64>
// CHECK-NEXT: %1 = mir.div %g, %0 : (tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK-NEXT: %dx = mir.expand %1 : tensor<f64> to tensor<4x3xf64>
// CHECK-NEXT: func.return %dx : tensor<4x3xf64>
// CHECK-NEXT: }
func.func @mean(%x: tensor<4x3xf64>, %y: tensor<f64>, %g: tensor<f64>) -> tensor<4x3xf64> {
  %dx = mir.vjp primals(%x : tensor<4x3xf64>) outputs(%y : tensor<f64>) cotangents(%g : tensor<f64>) of [0] wrt [0] -> tensor<4x3xf64> {
  ^bb0(%a: tensor<4x3xf64>):
    %0 = mir.reduce_mean %a axes [0, 1] : (tensor<4x3xf64>) -> tensor<f64>
    mir.yield %0 : tensor<f64>
  }
  func.return %dx : tensor<4x3xf64>
}

// Ties share evenly over all axes.
// CHECK-LABEL: func.func @max(%x: tensor<4x3xf32>, %y: tensor<f32>, %g: tensor<f32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.eq %x, %y : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xi1>
// CHECK-NEXT: %1 = mir.cast %0 : tensor<4x3xi1> to tensor<4x3xf32>
// CHECK-NEXT: %2 = mir.reduce_sum %1 axes [0, 1] : (tensor<4x3xf32>) -> tensor<f32>
// CHECK-NEXT: %3 = mir.eq %y, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT: %4 = mir.stop_gradient %y : tensor<f32>
// CHECK-NEXT: %5 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %6 = mir.where %3, %5, %4 : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %7 = mir.div %g, %2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %dx = mir.where %0, %7, %6 : (tensor<4x3xi1>, tensor<f32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @max(%x: tensor<4x3xf32>, %y: tensor<f32>, %g: tensor<f32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<f32>) cotangents(%g : tensor<f32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.reduce_max %a axes [0, 1] : (tensor<4x3xf32>) -> tensor<f32>
    mir.yield %0 : tensor<f32>
  }
  func.return %dx : tensor<4x3xf32>
}

// The same for the smallest.
// CHECK-LABEL: func.func @min(%x: tensor<4x3xf32>, %y: tensor<4x1xf32>, %g: tensor<4x1xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.eq %x, %y : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xi1>
// CHECK-NEXT: %1 = mir.cast %0 : tensor<4x3xi1> to tensor<4x3xf32>
// CHECK-NEXT: %2 = mir.reduce_sum %1 axes [1] keep_dim : (tensor<4x3xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: %3 = mir.eq %y, %y : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xi1>
// CHECK-NEXT: %4 = mir.stop_gradient %y : tensor<4x1xf32>
// CHECK-NEXT: %5 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %6 = mir.where %3, %5, %4 : (tensor<4x1xi1>, tensor<f32>, tensor<4x1xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: %7 = mir.div %g, %2 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: %dx = mir.where %0, %7, %6 : (tensor<4x3xi1>, tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @min(%x: tensor<4x3xf32>, %y: tensor<4x1xf32>, %g: tensor<4x1xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x1xf32>) cotangents(%g : tensor<4x1xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.reduce_min %a axes [1] keep_dim : (tensor<4x3xf32>) -> tensor<4x1xf32>
    mir.yield %0 : tensor<4x1xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// The product of the others, without division: right with any number of zeros.
// CHECK-LABEL: func.func @prod(%x: tensor<2x5xf32>, %y: tensor<2xf32>, %g: tensor<2xf32>) -> tensor<2x5xf32> {
// CHECK-NEXT: %0 = mir.reshape %g : tensor<2xf32> to tensor<2x1xf32>
// CHECK-NEXT: %1 = mir.narrow %x axis 1 start 0 len 2 : (tensor<2x5xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %2 = mir.narrow %x axis 1 start 2 len 2 : (tensor<2x5xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %3 = mir.mul %1, %2 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %4 = mir.narrow %x axis 1 start 4 len 1 : (tensor<2x5xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %5 = mir.concat %3, %4 axis 1 : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %6 = mir.narrow %5 axis 1 start 0 len 1 : (tensor<2x3xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %7 = mir.narrow %5 axis 1 start 1 len 1 : (tensor<2x3xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %8 = mir.mul %6, %7 : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %9 = mir.narrow %5 axis 1 start 2 len 1 : (tensor<2x3xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %10 = mir.concat %8, %9 axis 1 : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %11 = mir.narrow %10 axis 1 start 0 len 1 : (tensor<2x2xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %12 = mir.narrow %10 axis 1 start 1 len 1 : (tensor<2x2xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %13 = mir.concat %12, %11 axis 1 : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %14 = mir.narrow %13 axis 1 start 0 len 1 : (tensor<2x2xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %15 = mir.mul %14, %7 : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %16 = mir.mul %14, %6 : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %17 = mir.narrow %13 axis 1 start 1 len 1 : (tensor<2x2xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %18 = mir.concat %15, %16, %17 axis 1 : (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %19 = mir.narrow %18 axis 1 start 0 len 2 : (tensor<2x3xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %20 = mir.mul %19, %2 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %21 = mir.mul %19, %1 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %22 = mir.narrow %18 axis 1 start 2 len 1 : (tensor<2x3xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %23 = mir.concat %20, %21, %22 axis 1 : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x5xf32>
// CHECK-NEXT: %dx = mir.mul %0, %23 : (tensor<2x1xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
// CHECK-NEXT: func.return %dx : tensor<2x5xf32>
// CHECK-NEXT: }
func.func @prod(%x: tensor<2x5xf32>, %y: tensor<2xf32>, %g: tensor<2xf32>) -> tensor<2x5xf32> {
  %dx = mir.vjp primals(%x : tensor<2x5xf32>) outputs(%y : tensor<2xf32>) cotangents(%g : tensor<2xf32>) of [0] wrt [0] -> tensor<2x5xf32> {
  ^bb0(%a: tensor<2x5xf32>):
    %0 = mir.reduce_prod %a axes [1] : (tensor<2x5xf32>) -> tensor<2xf32>
    mir.yield %0 : tensor<2xf32>
  }
  func.return %dx : tensor<2x5xf32>
}

// Of one factor there is nothing to multiply.
// CHECK-LABEL: func.func @prod_one(%x: tensor<2x1xf32>, %y: tensor<2xf32>, %g: tensor<2xf32>) -> tensor<2x1xf32> {
// CHECK-NEXT: %dx = mir.reshape %g : tensor<2xf32> to tensor<2x1xf32>
// CHECK-NEXT: func.return %dx : tensor<2x1xf32>
// CHECK-NEXT: }
func.func @prod_one(%x: tensor<2x1xf32>, %y: tensor<2xf32>, %g: tensor<2xf32>) -> tensor<2x1xf32> {
  %dx = mir.vjp primals(%x : tensor<2x1xf32>) outputs(%y : tensor<2xf32>) cotangents(%g : tensor<2xf32>) of [0] wrt [0] -> tensor<2x1xf32> {
  ^bb0(%a: tensor<2x1xf32>):
    %0 = mir.reduce_prod %a axes [1] : (tensor<2x1xf32>) -> tensor<2xf32>
    mir.yield %0 : tensor<2xf32>
  }
  func.return %dx : tensor<2x1xf32>
}

// Of half floats a rule is made in f32, and its result is rounded: neither the number of elements nor a sum need be an f16.
// CHECK-LABEL: func.func @half_mean(%x: tensor<70000xf16>, %y: tensor<f16>, %g: tensor<f16>) -> tensor<70000xf16> {
// CHECK: mir.constant dense<7.000000e+04> : tensor<f32>
// CHECK: mir.div {{.*}} -> tensor<f32>
// CHECK: mir.cast {{.*}} : tensor<70000xf32> to tensor<70000xf16>
func.func @half_mean(%x: tensor<70000xf16>, %y: tensor<f16>, %g: tensor<f16>) -> tensor<70000xf16> {
  %dx = mir.vjp primals(%x : tensor<70000xf16>) outputs(%y : tensor<f16>) cotangents(%g : tensor<f16>) of [0] wrt [0] -> tensor<70000xf16> {
  ^bb0(%a: tensor<70000xf16>):
    %0 = mir.reduce_mean %a axes [0] : (tensor<70000xf16>) -> tensor<f16>
    mir.yield %0 : tensor<f16>
  }
  func.return %dx : tensor<70000xf16>
}
