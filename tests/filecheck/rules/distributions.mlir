// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family distributions: derivatives at fixed probability.

// The slope of the quantile at fixed probability.
// CHECK-LABEL: func.func @rng_gamma(%key: tensor<2xi64>, %a: tensor<3xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %0 = mir.gamma_slope %a, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %d = mir.mul %g, %0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %d : tensor<3xf32>
// CHECK-NEXT: }
func.func @rng_gamma(%key: tensor<2xi64>, %a: tensor<3xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
  %d = mir.vjp primals(%key, %a : tensor<2xi64>, tensor<3xf32>) outputs(%y : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [1] -> tensor<3xf32> {
  ^bb0(%k: tensor<2xi64>, %b: tensor<3xf32>):
    %0 = mir.rng_gamma %k, %b : (tensor<2xi64>, tensor<3xf32>) -> tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %d : tensor<3xf32>
}

// -----

// A central difference.
// CHECK-LABEL: func.func @gamma_slope(%a: tensor<3xf64>, %x: tensor<3xf64>, %y: tensor<3xf64>, %g: tensor<3xf64>) -> tensor<3xf64> {
// CHECK-NEXT: %0 = mir.abs %a : tensor<3xf64>
// CHECK-NEXT: %1 = mir.constant dense<1.000000e-04> : tensor<f64>
// CHECK-NEXT: %2 = mir.mul %0, %1 : (tensor<3xf64>, tensor<f64>) -> tensor<3xf64>
// CHECK-NEXT: %3 = mir.neg %2 : tensor<3xf64>
// CHECK-NEXT: %4 = mir.add %a, %2 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK-NEXT: %5 = mir.gamma_slope %4, %x : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK-NEXT: %6 = mir.add %a, %3 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK-NEXT: %7 = mir.gamma_slope %6, %x : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK-NEXT: %8 = mir.constant dense<0.000000e+00> : tensor<f64>
// CHECK-NEXT: %9 = mir.eq %2, %8 : (tensor<3xf64>, tensor<f64>) -> tensor<3xi1>
// CHECK-NEXT: %10 = mir.sub %5, %7 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK-NEXT: %11 = mir.constant dense<2.000000e+00> : tensor<f64>
// CHECK-NEXT: %12 = mir.mul %2, %11 : (tensor<3xf64>, tensor<f64>) -> tensor<3xf64>
// CHECK-NEXT: %13 = mir.constant dense<1.000000e+00> : tensor<f64>
// CHECK-NEXT: %14 = mir.where %9, %13, %12 : (tensor<3xi1>, tensor<f64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK-NEXT: %15 = mir.div %10, %14 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK-NEXT: %16 = mir.constant dense<0.000000e+00> : tensor<f64>
// CHECK-NEXT: %17 = mir.where %9, %16, %15 : (tensor<3xi1>, tensor<f64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK-NEXT: %d = mir.mul %g, %17 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK-NEXT: func.return %d : tensor<3xf64>
// CHECK-NEXT: }
func.func @gamma_slope(%a: tensor<3xf64>, %x: tensor<3xf64>, %y: tensor<3xf64>, %g: tensor<3xf64>) -> tensor<3xf64> {
  %d = mir.vjp primals(%a, %x : tensor<3xf64>, tensor<3xf64>) outputs(%y : tensor<3xf64>) cotangents(%g : tensor<3xf64>) of [0] wrt [0] -> tensor<3xf64> {
  ^bb0(%b: tensor<3xf64>, %c: tensor<3xf64>):
    %0 = mir.gamma_slope %b, %c : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    mir.yield %0 : tensor<3xf64>
  }
  func.return %d : tensor<3xf64>
}
