// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family complex.

// CHECK-LABEL: func.func @real(%x: tensor<2x3xcomplex<f32>>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>> {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<2x3xf32>
// CHECK-NEXT: %d0 = mir.complex %g, %1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
// CHECK-NEXT: func.return %d0 : tensor<2x3xcomplex<f32>>
// CHECK-NEXT: }
func.func @real(%x: tensor<2x3xcomplex<f32>>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>> {
  %d0 = mir.vjp primals(%x : tensor<2x3xcomplex<f32>>) outputs(%y : tensor<2x3xf32>) cotangents(%g : tensor<2x3xf32>) of [0] wrt [0] -> tensor<2x3xcomplex<f32>> {
  ^bb0(%a: tensor<2x3xcomplex<f32>>):
    %0 = mir.real %a : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
    mir.yield %0 : tensor<2x3xf32>
  }
  return %d0 : tensor<2x3xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func @imag(%x: tensor<2x3xcomplex<f32>>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>> {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<2x3xf32>
// CHECK-NEXT: %d0 = mir.complex %1, %g : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
// CHECK-NEXT: func.return %d0 : tensor<2x3xcomplex<f32>>
// CHECK-NEXT: }
func.func @imag(%x: tensor<2x3xcomplex<f32>>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>> {
  %d0 = mir.vjp primals(%x : tensor<2x3xcomplex<f32>>) outputs(%y : tensor<2x3xf32>) cotangents(%g : tensor<2x3xf32>) of [0] wrt [0] -> tensor<2x3xcomplex<f32>> {
  ^bb0(%a: tensor<2x3xcomplex<f32>>):
    %0 = mir.imag %a : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
    mir.yield %0 : tensor<2x3xf32>
  }
  return %d0 : tensor<2x3xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func @complex(%x: tensor<2x3xf32>, %w: tensor<2x3xf32>, %y: tensor<2x3xcomplex<f32>>, %g: tensor<2x3xcomplex<f32>>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
// CHECK-NEXT: %d0 = mir.real %g : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
// CHECK-NEXT: %d1 = mir.imag %g : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %d0, %d1 : tensor<2x3xf32>, tensor<2x3xf32>
// CHECK-NEXT: }
func.func @complex(%x: tensor<2x3xf32>, %w: tensor<2x3xf32>, %y: tensor<2x3xcomplex<f32>>, %g: tensor<2x3xcomplex<f32>>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %d0, %d1 = mir.vjp primals(%x, %w : tensor<2x3xf32>, tensor<2x3xf32>) outputs(%y : tensor<2x3xcomplex<f32>>) cotangents(%g : tensor<2x3xcomplex<f32>>) of [0] wrt [0, 1] -> tensor<2x3xf32>, tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>):
    %0 = mir.complex %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
    mir.yield %0 : tensor<2x3xcomplex<f32>>
  }
  return %d0, %d1 : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @conjugate(%x: tensor<2x3xcomplex<f32>>, %y: tensor<2x3xcomplex<f32>>, %g: tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>> {
// CHECK-NEXT: %d0 = mir.conjugate %g : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
// CHECK-NEXT: func.return %d0 : tensor<2x3xcomplex<f32>>
// CHECK-NEXT: }
func.func @conjugate(%x: tensor<2x3xcomplex<f32>>, %y: tensor<2x3xcomplex<f32>>, %g: tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>> {
  %d0 = mir.vjp primals(%x : tensor<2x3xcomplex<f32>>) outputs(%y : tensor<2x3xcomplex<f32>>) cotangents(%g : tensor<2x3xcomplex<f32>>) of [0] wrt [0] -> tensor<2x3xcomplex<f32>> {
  ^bb0(%a: tensor<2x3xcomplex<f32>>):
    %0 = mir.conjugate %a : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
    mir.yield %0 : tensor<2x3xcomplex<f32>>
  }
  return %d0 : tensor<2x3xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func @complex_norm_sq(%x: tensor<2x3xcomplex<f32>>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>> {
// CHECK-NEXT: %d0 = mir.complex_norm_sq_backward %x, %g : (tensor<2x3xcomplex<f32>>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
// CHECK-NEXT: func.return %d0 : tensor<2x3xcomplex<f32>>
// CHECK-NEXT: }
func.func @complex_norm_sq(%x: tensor<2x3xcomplex<f32>>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>> {
  %d0 = mir.vjp primals(%x : tensor<2x3xcomplex<f32>>) outputs(%y : tensor<2x3xf32>) cotangents(%g : tensor<2x3xf32>) of [0] wrt [0] -> tensor<2x3xcomplex<f32>> {
  ^bb0(%a: tensor<2x3xcomplex<f32>>):
    %0 = mir.complex_norm_sq %a : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
    mir.yield %0 : tensor<2x3xf32>
  }
  return %d0 : tensor<2x3xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func @complex_norm_sq_backward(%x: tensor<2x3xcomplex<f32>>, %w: tensor<2x3xf32>, %y: tensor<2x3xcomplex<f32>>, %g: tensor<2x3xcomplex<f32>>) -> (tensor<2x3xcomplex<f32>>, tensor<2x3xf32>) {
// CHECK-NEXT: %d0 = mir.complex_norm_sq_backward %g, %w : (tensor<2x3xcomplex<f32>>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
// CHECK-NEXT: %0 = mir.real %x : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
// CHECK-NEXT: %1 = mir.real %g : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
// CHECK-NEXT: %2 = mir.mul %0, %1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %3 = mir.imag %x : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
// CHECK-NEXT: %4 = mir.imag %g : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
// CHECK-NEXT: %5 = mir.mul %3, %4 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %6 = mir.add %2, %5 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %7 = mir.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: %d1 = mir.mul %7, %6 : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %d0, %d1 : tensor<2x3xcomplex<f32>>, tensor<2x3xf32>
// CHECK-NEXT: }
func.func @complex_norm_sq_backward(%x: tensor<2x3xcomplex<f32>>, %w: tensor<2x3xf32>, %y: tensor<2x3xcomplex<f32>>, %g: tensor<2x3xcomplex<f32>>) -> (tensor<2x3xcomplex<f32>>, tensor<2x3xf32>) {
  %d0, %d1 = mir.vjp primals(%x, %w : tensor<2x3xcomplex<f32>>, tensor<2x3xf32>) outputs(%y : tensor<2x3xcomplex<f32>>) cotangents(%g : tensor<2x3xcomplex<f32>>) of [0] wrt [0, 1] -> tensor<2x3xcomplex<f32>>, tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xcomplex<f32>>, %b: tensor<2x3xf32>):
    %0 = mir.complex_norm_sq_backward %a, %b : (tensor<2x3xcomplex<f32>>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
    mir.yield %0 : tensor<2x3xcomplex<f32>>
  }
  return %d0, %d1 : tensor<2x3xcomplex<f32>>, tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @hypot(%x: tensor<2x3xf32>, %w: tensor<2x3xf32>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
// CHECK-NEXT: %0 = mir.sign %x : tensor<2x3xf32>
// CHECK-NEXT: %1 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %2 = mir.eq %y, %1 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT: %3 = mir.abs %x : tensor<2x3xf32>
// CHECK-NEXT: %4 = mir.constant dense<0x7f800000> : tensor<f32>
// CHECK-NEXT: %5 = mir.eq %3, %4 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT: %6 = mir.or %2, %5 : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT: %7 = mir.where %6, %0, %x : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %8 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %9 = mir.where %6, %8, %y : (tensor<2x3xi1>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %10 = mir.div %7, %9 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %11 = mir.mul %g, %10 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %12 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %d0 = mir.where %2, %12, %11 : (tensor<2x3xi1>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %13 = mir.sign %w : tensor<2x3xf32>
// CHECK-NEXT: %14 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %15 = mir.eq %y, %14 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT: %16 = mir.abs %w : tensor<2x3xf32>
// CHECK-NEXT: %17 = mir.constant dense<0x7f800000> : tensor<f32>
// CHECK-NEXT: %18 = mir.eq %16, %17 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT: %19 = mir.or %15, %18 : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT: %20 = mir.where %19, %13, %w : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %21 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %22 = mir.where %19, %21, %y : (tensor<2x3xi1>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %23 = mir.div %20, %22 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %24 = mir.mul %g, %23 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %25 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %d1 = mir.where %15, %25, %24 : (tensor<2x3xi1>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %d0, %d1 : tensor<2x3xf32>, tensor<2x3xf32>
// CHECK-NEXT: }
func.func @hypot(%x: tensor<2x3xf32>, %w: tensor<2x3xf32>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %d0, %d1 = mir.vjp primals(%x, %w : tensor<2x3xf32>, tensor<2x3xf32>) outputs(%y : tensor<2x3xf32>) cotangents(%g : tensor<2x3xf32>) of [0] wrt [0, 1] -> tensor<2x3xf32>, tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>):
    %0 = mir.hypot %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    mir.yield %0 : tensor<2x3xf32>
  }
  return %d0, %d1 : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @log_hypot(%x: tensor<2x3xf32>, %w: tensor<2x3xf32>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT: %0 = mir.hypot %x, %w : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %1 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %2 = mir.eq %0, %1 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT: %3 = mir.abs %x : tensor<2x3xf32>
// CHECK-NEXT: %4 = mir.constant dense<0x7f800000> : tensor<f32>
// CHECK-NEXT: %5 = mir.eq %3, %4 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT: %6 = mir.or %2, %5 : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT: %7 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %8 = mir.where %6, %7, %x : (tensor<2x3xi1>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %9 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %10 = mir.where %6, %9, %0 : (tensor<2x3xi1>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %11 = mir.div %8, %10 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %12 = mir.div %11, %10 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %13 = mir.mul %g, %12 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %14 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %d0 = mir.where %2, %14, %13 : (tensor<2x3xi1>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %d0 : tensor<2x3xf32>
// CHECK-NEXT: }
func.func @log_hypot(%x: tensor<2x3xf32>, %w: tensor<2x3xf32>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %d0 = mir.vjp primals(%x, %w : tensor<2x3xf32>, tensor<2x3xf32>) outputs(%y : tensor<2x3xf32>) cotangents(%g : tensor<2x3xf32>) of [0] wrt [0] -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>):
    %0 = mir.log_hypot %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    mir.yield %0 : tensor<2x3xf32>
  }
  return %d0 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @atan2(%x: tensor<2x3xf32>, %w: tensor<2x3xf32>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
// CHECK-NEXT: %0 = mir.hypot %x, %w : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %1 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %2 = mir.eq %0, %1 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT: %3 = mir.abs %w : tensor<2x3xf32>
// CHECK-NEXT: %4 = mir.constant dense<0x7f800000> : tensor<f32>
// CHECK-NEXT: %5 = mir.eq %3, %4 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT: %6 = mir.or %2, %5 : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT: %7 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %8 = mir.where %6, %7, %w : (tensor<2x3xi1>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %9 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %10 = mir.where %6, %9, %0 : (tensor<2x3xi1>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %11 = mir.div %8, %10 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %12 = mir.div %11, %10 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %13 = mir.mul %g, %12 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %14 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %d0 = mir.where %2, %14, %13 : (tensor<2x3xi1>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %15 = mir.hypot %x, %w : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %16 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %17 = mir.eq %15, %16 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT: %18 = mir.abs %x : tensor<2x3xf32>
// CHECK-NEXT: %19 = mir.constant dense<0x7f800000> : tensor<f32>
// CHECK-NEXT: %20 = mir.eq %18, %19 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT: %21 = mir.or %17, %20 : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT: %22 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %23 = mir.where %21, %22, %x : (tensor<2x3xi1>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %24 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %25 = mir.where %21, %24, %15 : (tensor<2x3xi1>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %26 = mir.div %23, %25 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %27 = mir.div %26, %25 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %28 = mir.mul %g, %27 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %29 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %30 = mir.where %17, %29, %28 : (tensor<2x3xi1>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %d1 = mir.neg %30 : tensor<2x3xf32>
// CHECK-NEXT: func.return %d0, %d1 : tensor<2x3xf32>, tensor<2x3xf32>
// CHECK-NEXT: }
func.func @atan2(%x: tensor<2x3xf32>, %w: tensor<2x3xf32>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %d0, %d1 = mir.vjp primals(%x, %w : tensor<2x3xf32>, tensor<2x3xf32>) outputs(%y : tensor<2x3xf32>) cotangents(%g : tensor<2x3xf32>) of [0] wrt [0, 1] -> tensor<2x3xf32>, tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>):
    %0 = mir.atan2 %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    mir.yield %0 : tensor<2x3xf32>
  }
  return %d0, %d1 : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @mul(%x: tensor<2x3xcomplex<f32>>, %w: tensor<2x3xcomplex<f32>>, %y: tensor<2x3xcomplex<f32>>, %g: tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>> {
// CHECK-NEXT: %0 = mir.conjugate %g : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
// CHECK-NEXT: %1 = mir.mul %0, %w : (tensor<2x3xcomplex<f32>>, tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
// CHECK-NEXT: %d0 = mir.conjugate %1 : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
// CHECK-NEXT: func.return %d0 : tensor<2x3xcomplex<f32>>
// CHECK-NEXT: }
func.func @mul(%x: tensor<2x3xcomplex<f32>>, %w: tensor<2x3xcomplex<f32>>, %y: tensor<2x3xcomplex<f32>>, %g: tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>> {
  %d0 = mir.vjp primals(%x, %w : tensor<2x3xcomplex<f32>>, tensor<2x3xcomplex<f32>>) outputs(%y : tensor<2x3xcomplex<f32>>) cotangents(%g : tensor<2x3xcomplex<f32>>) of [0] wrt [0] -> tensor<2x3xcomplex<f32>> {
  ^bb0(%a: tensor<2x3xcomplex<f32>>, %b: tensor<2x3xcomplex<f32>>):
    %0 = mir.mul %a, %b : (tensor<2x3xcomplex<f32>>, tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
    mir.yield %0 : tensor<2x3xcomplex<f32>>
  }
  return %d0 : tensor<2x3xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func @cast(%x: tensor<2x3xf32>, %y: tensor<2x3xcomplex<f32>>, %g: tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32> {
// CHECK-NEXT: %d0 = mir.real %g : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %d0 : tensor<2x3xf32>
// CHECK-NEXT: }
func.func @cast(%x: tensor<2x3xf32>, %y: tensor<2x3xcomplex<f32>>, %g: tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32> {
  %d0 = mir.vjp primals(%x : tensor<2x3xf32>) outputs(%y : tensor<2x3xcomplex<f32>>) cotangents(%g : tensor<2x3xcomplex<f32>>) of [0] wrt [0] -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>):
    %0 = mir.cast %a : tensor<2x3xf32> to tensor<2x3xcomplex<f32>>
    mir.yield %0 : tensor<2x3xcomplex<f32>>
  }
  return %d0 : tensor<2x3xf32>
}
