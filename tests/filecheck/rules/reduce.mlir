// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family reduce: what each emits for all its floating-point operands at once.

// `result = sum over axes`; 0 over an empty extent.
// CHECK-LABEL: func.func @reduce_sum(%x: tensor<3x5xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.reshape %g : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %dx = mir.expand %0 : tensor<3x1xf32> to tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @reduce_sum(%x: tensor<3x5xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.reduce_sum %a axes [1] : (tensor<3x5xf32>) -> tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = sum over axes / count`; NaN over an empty extent.
// CHECK-LABEL: func.func @reduce_mean(%x: tensor<3x5xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<5.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.div %g, %0 : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK-NEXT: %2 = mir.reshape %1 : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %dx = mir.expand %2 : tensor<3x1xf32> to tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @reduce_mean(%x: tensor<3x5xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.reduce_mean %a axes [1] : (tensor<3x5xf32>) -> tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = max over axes`; -inf over an empty extent, NaN if one is. Ties share the cotangent evenly.
// CHECK-LABEL: func.func @reduce_max(%x: tensor<3x5xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.reshape %y : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<3x1xf32> to tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.eq %x, %1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
// CHECK-NEXT: %3 = mir.cast %2 : tensor<3x5xi1> to tensor<3x5xf32>
// CHECK-NEXT: %4 = mir.reduce_sum %3 axes [1] : (tensor<3x5xf32>) -> tensor<3xf32>
// CHECK-NEXT: %5 = mir.div %g, %4 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %6 = mir.reshape %5 : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %7 = mir.expand %6 : tensor<3x1xf32> to tensor<3x5xf32>
// CHECK-NEXT: %8 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %dx = mir.where %2, %7, %8 : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @reduce_max(%x: tensor<3x5xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.reduce_max %a axes [1] : (tensor<3x5xf32>) -> tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = min over axes`; +inf over an empty extent, NaN if one is. Ties share the cotangent evenly.
// CHECK-LABEL: func.func @reduce_min(%x: tensor<3x5xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.reshape %y : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<3x1xf32> to tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.eq %x, %1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
// CHECK-NEXT: %3 = mir.cast %2 : tensor<3x5xi1> to tensor<3x5xf32>
// CHECK-NEXT: %4 = mir.reduce_sum %3 axes [1] : (tensor<3x5xf32>) -> tensor<3xf32>
// CHECK-NEXT: %5 = mir.div %g, %4 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %6 = mir.reshape %5 : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %7 = mir.expand %6 : tensor<3x1xf32> to tensor<3x5xf32>
// CHECK-NEXT: %8 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %dx = mir.where %2, %7, %8 : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @reduce_min(%x: tensor<3x5xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.reduce_min %a axes [1] : (tensor<3x5xf32>) -> tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = product over axes`; 1 over an empty extent. The gradient is exact with any number of zeros.
// CHECK-LABEL: func.func @reduce_prod(%x: tensor<3x5xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.reshape %g : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<3x1xf32> to tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.narrow %x axis 1 start 0 len 2 : (tensor<3x5xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %3 = mir.narrow %x axis 1 start 2 len 2 : (tensor<3x5xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %4 = mir.mul %2, %3 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %5 = mir.narrow %x axis 1 start 4 len 1 : (tensor<3x5xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %6 = mir.concat %4, %5 axis 1 : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %7 = mir.narrow %6 axis 1 start 0 len 1 : (tensor<3x3xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %8 = mir.narrow %6 axis 1 start 1 len 1 : (tensor<3x3xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %9 = mir.mul %7, %8 : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %10 = mir.narrow %6 axis 1 start 2 len 1 : (tensor<3x3xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %11 = mir.concat %9, %10 axis 1 : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %12 = mir.narrow %11 axis 1 start 0 len 1 : (tensor<3x2xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %13 = mir.narrow %11 axis 1 start 1 len 1 : (tensor<3x2xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %14 = mir.concat %13, %12 axis 1 : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %15 = mir.narrow %14 axis 1 start 0 len 1 : (tensor<3x2xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %16 = mir.mul %15, %8 : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %17 = mir.mul %15, %7 : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %18 = mir.narrow %14 axis 1 start 1 len 1 : (tensor<3x2xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %19 = mir.concat %16, %17, %18 axis 1 : (tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %20 = mir.narrow %19 axis 1 start 0 len 2 : (tensor<3x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %21 = mir.mul %20, %3 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %22 = mir.mul %20, %2 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %23 = mir.narrow %19 axis 1 start 2 len 1 : (tensor<3x3xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %24 = mir.concat %21, %22, %23 axis 1 : (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %1, %24 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @reduce_prod(%x: tensor<3x5xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.reduce_prod %a axes [1] : (tensor<3x5xf32>) -> tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %dx : tensor<3x5xf32>
}
