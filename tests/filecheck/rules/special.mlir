// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family special: what each emits for all its floating-point operands at once.

// `g digamma(x)`.
// CHECK-LABEL: func.func @lgamma(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.digamma %x : tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @lgamma(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.lgamma %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `g zeta(2, x)`.
// CHECK-LABEL: func.func @digamma(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.special_function %1, %x function zeta : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %2 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @digamma(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.digamma %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `(2 x y - 2 / sqrt(pi)) g`.
// CHECK-LABEL: func.func @erfcx(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.mul %x, %y : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: %2 = mir.mul %0, %1 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %3 = mir.constant dense<1.12837923> : tensor<f32>
// CHECK-NEXT: %4 = mir.sub %2, %3 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %4 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @erfcx(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.erfcx %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `sqrt(pi) / 2 e^(y^2) g`.
// CHECK-LABEL: func.func @erf_inv(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<0.886226952> : tensor<f32>
// CHECK-NEXT: %1 = mir.mul %g, %0 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.constant dense<1.41421354> : tensor<f32>
// CHECK-NEXT: %3 = mir.mul %y, %2 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %4 = mir.gaussian %3 : tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.div %1, %4 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @erf_inv(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.erf_inv %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `sqrt(2 pi) e^(y^2 / 2) g`.
// CHECK-LABEL: func.func @ndtri(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<2.50662827> : tensor<f32>
// CHECK-NEXT: %1 = mir.mul %g, %0 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.gaussian %y : tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.div %1, %2 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @ndtri(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.ndtri %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `g` times `igamma_grad_a(a, x)` and `gamma_density(a, x)`.
// CHECK-LABEL: func.func @igamma(%a: tensor<3x5xf32>, %x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
// CHECK-NEXT: %0 = mir.special_function %a, %x function igamma_grad_a : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %da = mir.mul %g, %0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.special_function %a, %x function gamma_density : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %da, %dx : tensor<3x5xf32>, tensor<3x5xf32>
// CHECK-NEXT: }
func.func @igamma(%a: tensor<3x5xf32>, %x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %da, %dx = mir.vjp primals(%a, %x : tensor<3x5xf32>, tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0, 1] -> tensor<3x5xf32>, tensor<3x5xf32> {
  ^bb0(%b: tensor<3x5xf32>, %c: tensor<3x5xf32>):
    %0 = mir.special_function %b, %c function igamma : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %da, %dx : tensor<3x5xf32>, tensor<3x5xf32>
}
