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

// `g trigamma(x)`.
// CHECK-LABEL: func.func @digamma(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.special_function %x function trigamma : (tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
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

// `(2 x y - 2 / sqrt(pi)) g`, and a series in `1 / x^2` above 10.
// CHECK-LABEL: func.func @erfcx(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<1.000000e+01> : tensor<f32>
// CHECK-NEXT: %1 = mir.gt %x, %0 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xi1>
// CHECK-NEXT: %2 = mir.constant dense<1.000000e+01> : tensor<f32>
// CHECK-NEXT: %3 = mir.where %1, %x, %2 : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %4 = mir.recip %3 : tensor<3x5xf32>
// CHECK-NEXT: %5 = mir.mul %4, %4 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %6 = mir.constant dense<1.47010263e+10> : tensor<f32>
// CHECK-NEXT: %7 = mir.mul %5, %6 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %8 = mir.constant dense<-1.08896486e+09> : tensor<f32>
// CHECK-NEXT: %9 = mir.add %7, %8 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %10 = mir.mul %9, %5 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %11 = mir.constant dense<0x4CA629B1> : tensor<f32>
// CHECK-NEXT: %12 = mir.add %10, %11 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %13 = mir.mul %12, %5 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %14 = mir.constant dense<0xCAE72EE0> : tensor<f32>
// CHECK-NEXT: %15 = mir.add %13, %14 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %16 = mir.mul %15, %5 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %17 = mir.constant dense<721467.438> : tensor<f32>
// CHECK-NEXT: %18 = mir.add %16, %17 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %19 = mir.mul %18, %5 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %20 = mir.constant dense<-75943.9375> : tensor<f32>
// CHECK-NEXT: %21 = mir.add %19, %20 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %22 = mir.mul %21, %5 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %23 = mir.constant dense<8934.58105> : tensor<f32>
// CHECK-NEXT: %24 = mir.add %22, %23 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %25 = mir.mul %24, %5 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %26 = mir.constant dense<-1191.27747> : tensor<f32>
// CHECK-NEXT: %27 = mir.add %25, %26 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %28 = mir.mul %27, %5 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %29 = mir.constant dense<183.273453> : tensor<f32>
// CHECK-NEXT: %30 = mir.add %28, %29 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %31 = mir.mul %30, %5 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %32 = mir.constant dense<-33.3224487> : tensor<f32>
// CHECK-NEXT: %33 = mir.add %31, %32 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %34 = mir.mul %33, %5 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %35 = mir.constant dense<7.40498829> : tensor<f32>
// CHECK-NEXT: %36 = mir.add %34, %35 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %37 = mir.mul %36, %5 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %38 = mir.constant dense<-2.11571097> : tensor<f32>
// CHECK-NEXT: %39 = mir.add %37, %38 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %40 = mir.mul %39, %5 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %41 = mir.constant dense<0.846284389> : tensor<f32>
// CHECK-NEXT: %42 = mir.add %40, %41 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %43 = mir.mul %42, %5 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %44 = mir.constant dense<-0.564189613> : tensor<f32>
// CHECK-NEXT: %45 = mir.add %43, %44 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %46 = mir.mul %45, %5 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %47 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %48 = mir.where %1, %47, %x : (tensor<3x5xi1>, tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %49 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %50 = mir.where %1, %49, %y : (tensor<3x5xi1>, tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %51 = mir.mul %48, %50 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %52 = mir.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: %53 = mir.mul %51, %52 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %54 = mir.constant dense<1.12837923> : tensor<f32>
// CHECK-NEXT: %55 = mir.sub %53, %54 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %56 = mir.where %1, %46, %55 : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %56 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
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
// CHECK-NEXT: %0 = mir.mul %y, %y : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.exp %0 : tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.constant dense<0.886226952> : tensor<f32>
// CHECK-NEXT: %3 = mir.mul %1, %2 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %3 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
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
// CHECK-NEXT: %0 = mir.mul %y, %y : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %2 = mir.mul %0, %1 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %3 = mir.exp %2 : tensor<3x5xf32>
// CHECK-NEXT: %4 = mir.constant dense<2.50662827> : tensor<f32>
// CHECK-NEXT: %5 = mir.mul %3, %4 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %5 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
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
