// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family elementwise: what each emits for all its floating-point operands at once.

// `result = x ndtr(x)`.
// CHECK-LABEL: func.func @gelu(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.ndtr %x : tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.gaussian %x : tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.constant dense<0.398942292> : tensor<f32>
// CHECK-NEXT: %3 = mir.mul %x, %2 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %4 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %5 = mir.eq %1, %4 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xi1>
// CHECK-NEXT: %6 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %7 = mir.where %5, %6, %3 : (tensor<3x5xi1>, tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %8 = mir.mul %1, %7 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %9 = mir.add %0, %8 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %9 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @gelu(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.gelu %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`.
// CHECK-LABEL: func.func @gelu_approx(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<4.000000e+01> : tensor<f32>
// CHECK-NEXT: %1 = mir.gt %x, %0 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xi1>
// CHECK-NEXT: %2 = mir.constant dense<-4.000000e+01> : tensor<f32>
// CHECK-NEXT: %3 = mir.lt %x, %2 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xi1>
// CHECK-NEXT: %4 = mir.constant dense<-4.000000e+01> : tensor<f32>
// CHECK-NEXT: %5 = mir.where %3, %4, %x : (tensor<3x5xi1>, tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %6 = mir.constant dense<4.000000e+01> : tensor<f32>
// CHECK-NEXT: %7 = mir.where %1, %6, %5 : (tensor<3x5xi1>, tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %8 = mir.mul %7, %7 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %9 = mir.constant dense<0.0713548139> : tensor<f32>
// CHECK-NEXT: %10 = mir.mul %9, %8 : (tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %11 = mir.constant dense<1.59576917> : tensor<f32>
// CHECK-NEXT: %12 = mir.add %11, %10 : (tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %13 = mir.mul %7, %12 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %14 = mir.sigmoid %13 : tensor<3x5xf32>
// CHECK-NEXT: %15 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %16 = mir.sub %15, %14 : (tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %17 = mir.mul %14, %16 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %18 = mir.constant dense<0.214064449> : tensor<f32>
// CHECK-NEXT: %19 = mir.mul %18, %8 : (tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %20 = mir.constant dense<1.59576917> : tensor<f32>
// CHECK-NEXT: %21 = mir.add %20, %19 : (tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %22 = mir.mul %7, %21 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %23 = mir.mul %17, %22 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %24 = mir.add %14, %23 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %24 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @gelu_approx(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.gelu_approx %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = x / (1 + exp(-x))`.
// CHECK-LABEL: func.func @silu(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.sigmoid %x : tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %2 = mir.sub %1, %0 : (tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %3 = mir.mul %0, %2 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %4 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %5 = mir.eq %3, %4 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xi1>
// CHECK-NEXT: %6 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %7 = mir.where %5, %6, %x : (tensor<3x5xi1>, tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %8 = mir.mul %3, %7 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %9 = mir.add %0, %8 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %9 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @silu(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.silu %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = max(x, 0)`; NaN stays NaN. The derivative at 0 is 0.
// CHECK-LABEL: func.func @relu(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.gt %y, %0 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xi1>
// CHECK-NEXT: %2 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %dx = mir.where %1, %g, %2 : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @relu(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.relu %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = 1 / (1 + exp(-x))`.
// CHECK-LABEL: func.func @sigmoid(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.sub %0, %y : (tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.mul %y, %1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %2 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @sigmoid(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.sigmoid %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = tanh(x)`.
// CHECK-LABEL: func.func @tanh(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.mul %y, %y : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %2 = mir.sub %1, %0 : (tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %2 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @tanh(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.tanh %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = e^x`.
// CHECK-LABEL: func.func @exp(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %dx = mir.mul %g, %y : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @exp(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.exp %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = ln x`: -inf at 0, NaN below.
// CHECK-LABEL: func.func @log(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %dx = mir.div %g, %x : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @log(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.log %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = 2/sqrt(pi) integral_0^x exp(-t^2) dt`.
// CHECK-LABEL: func.func @erf(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.gaussian %x : tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.mul %0, %0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.constant dense<1.12837923> : tensor<f32>
// CHECK-NEXT: %3 = mir.mul %1, %2 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %3 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @erf(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.erf %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = 1/sqrt(2 pi) integral_-inf^x e^(-t^2/2) dt`.
// CHECK-LABEL: func.func @ndtr(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.gaussian %x : tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.constant dense<0.398942292> : tensor<f32>
// CHECK-NEXT: %2 = mir.mul %0, %1 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %2 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @ndtr(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.ndtr %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = e^(-x^2/2)`.
// CHECK-LABEL: func.func @gaussian(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.eq %y, %0 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xi1>
// CHECK-NEXT: %2 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = mir.where %1, %2, %x : (tensor<3x5xi1>, tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %4 = mir.mul %y, %3 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %5 = mir.mul %g, %4 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.neg %5 : tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @gaussian(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.gaussian %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = sqrt x`: NaN below 0. The derivative at 0 is +inf.
// CHECK-LABEL: func.func @sqrt(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %1 = mir.mul %g, %0 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.div %1, %y : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @sqrt(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.sqrt %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = 1 / sqrt x`: +inf at 0, NaN below.
// CHECK-LABEL: func.func @rsqrt(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.mul %y, %y : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.mul %0, %y : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.constant dense<-5.000000e-01> : tensor<f32>
// CHECK-NEXT: %3 = mir.mul %1, %2 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %3 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @rsqrt(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.rsqrt %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = 1 / x`.
// CHECK-LABEL: func.func @recip(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.mul %y, %y : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.mul %g, %0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.neg %1 : tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @recip(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.recip %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = -x`, also of integers and complex numbers.
// CHECK-LABEL: func.func @neg(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %dx = mir.neg %g : tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @neg(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.neg %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = |x|`, also of integers. The derivative at 0 is 0.
// CHECK-LABEL: func.func @abs(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.gt %x, %0 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xi1>
// CHECK-NEXT: %2 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = mir.lt %x, %2 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xi1>
// CHECK-NEXT: %4 = mir.neg %g : tensor<3x5xf32>
// CHECK-NEXT: %5 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %6 = mir.eq %x, %5 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xi1>
// CHECK-NEXT: %7 = mir.stop_gradient %x : tensor<3x5xf32>
// CHECK-NEXT: %8 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %9 = mir.where %6, %8, %7 : (tensor<3x5xi1>, tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %10 = mir.where %3, %4, %9 : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.where %1, %g, %10 : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @abs(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.abs %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = sin x`.
// CHECK-LABEL: func.func @sin(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.cos %x : tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @sin(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.sin %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = cos x`.
// CHECK-LABEL: func.func @cos(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.sin %x : tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.mul %g, %0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.neg %1 : tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @cos(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.cos %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = tan x`.
// CHECK-LABEL: func.func @tan(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.mul %y, %y : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %2 = mir.add %1, %0 : (tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %2 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @tan(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.tan %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = atan x`.
// CHECK-LABEL: func.func @atan(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.hypot %x, %0 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.recip %1 : tensor<3x5xf32>
// CHECK-NEXT: %3 = mir.mul %2, %2 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %3 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @atan(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.atan %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result` is the nearest integer, half to even; differentiated straight through (derivative 1) in both modes.
// CHECK-LABEL: func.func @round(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: func.return %g : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @round(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.round %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = lhs + rhs`; integers wrap.
// CHECK-LABEL: func.func @add(%x0: tensor<3x5xf32>, %x1: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
// CHECK-NEXT: func.return %g, %g : tensor<3x5xf32>, tensor<3x5xf32>
// CHECK-NEXT: }
func.func @add(%x0: tensor<3x5xf32>, %x1: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %dx0, %dx1 = mir.vjp primals(%x0, %x1 : tensor<3x5xf32>, tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0, 1] -> tensor<3x5xf32>, tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>):
    %0 = mir.add %a, %b : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx0, %dx1 : tensor<3x5xf32>, tensor<3x5xf32>
}

// -----

// `result = lhs - rhs`; integers wrap.
// CHECK-LABEL: func.func @sub(%x0: tensor<3x5xf32>, %x1: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
// CHECK-NEXT: %dx1 = mir.neg %g : tensor<3x5xf32>
// CHECK-NEXT: func.return %g, %dx1 : tensor<3x5xf32>, tensor<3x5xf32>
// CHECK-NEXT: }
func.func @sub(%x0: tensor<3x5xf32>, %x1: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %dx0, %dx1 = mir.vjp primals(%x0, %x1 : tensor<3x5xf32>, tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0, 1] -> tensor<3x5xf32>, tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>):
    %0 = mir.sub %a, %b : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx0, %dx1 : tensor<3x5xf32>, tensor<3x5xf32>
}

// -----

// `result = lhs * rhs`; integers wrap.
// CHECK-LABEL: func.func @mul(%x0: tensor<3x5xf32>, %x1: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
// CHECK-NEXT: %dx0 = mir.mul %g, %x1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx1 = mir.mul %g, %x0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx0, %dx1 : tensor<3x5xf32>, tensor<3x5xf32>
// CHECK-NEXT: }
func.func @mul(%x0: tensor<3x5xf32>, %x1: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %dx0, %dx1 = mir.vjp primals(%x0, %x1 : tensor<3x5xf32>, tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0, 1] -> tensor<3x5xf32>, tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>):
    %0 = mir.mul %a, %b : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx0, %dx1 : tensor<3x5xf32>, tensor<3x5xf32>
}

// -----

// `result = lhs / rhs` of floats, with IEEE infinities and NaN.
// CHECK-LABEL: func.func @div(%x0: tensor<3x5xf32>, %x1: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
// CHECK-NEXT: %dx0 = mir.div %g, %x1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %0 = mir.div %g, %x1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.mul %0, %y : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx1 = mir.neg %1 : tensor<3x5xf32>
// CHECK-NEXT: func.return %dx0, %dx1 : tensor<3x5xf32>, tensor<3x5xf32>
// CHECK-NEXT: }
func.func @div(%x0: tensor<3x5xf32>, %x1: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %dx0, %dx1 = mir.vjp primals(%x0, %x1 : tensor<3x5xf32>, tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0, 1] -> tensor<3x5xf32>, tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>):
    %0 = mir.div %a, %b : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx0, %dx1 : tensor<3x5xf32>, tensor<3x5xf32>
}

// -----

// `result = max(lhs, rhs)`; NaN if either is. A tie gives half the cotangent to each.
// CHECK-LABEL: func.func @max(%x0: tensor<3x5xf32>, %x1: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
// CHECK-NEXT: %0 = mir.gt %x0, %x1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
// CHECK-NEXT: %1 = mir.eq %x0, %x1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
// CHECK-NEXT: %2 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %3 = mir.mul %g, %2 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %4 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %5 = mir.where %1, %3, %4 : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx0 = mir.where %0, %g, %5 : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %6 = mir.lt %x0, %x1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
// CHECK-NEXT: %7 = mir.eq %x0, %x1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
// CHECK-NEXT: %8 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %9 = mir.mul %g, %8 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %10 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %11 = mir.where %7, %9, %10 : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx1 = mir.where %6, %g, %11 : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx0, %dx1 : tensor<3x5xf32>, tensor<3x5xf32>
// CHECK-NEXT: }
func.func @max(%x0: tensor<3x5xf32>, %x1: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %dx0, %dx1 = mir.vjp primals(%x0, %x1 : tensor<3x5xf32>, tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0, 1] -> tensor<3x5xf32>, tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>):
    %0 = mir.max %a, %b : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx0, %dx1 : tensor<3x5xf32>, tensor<3x5xf32>
}

// -----

// `result = min(lhs, rhs)`; NaN if either is. A tie gives half the cotangent to each.
// CHECK-LABEL: func.func @min(%x0: tensor<3x5xf32>, %x1: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
// CHECK-NEXT: %0 = mir.lt %x0, %x1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
// CHECK-NEXT: %1 = mir.eq %x0, %x1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
// CHECK-NEXT: %2 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %3 = mir.mul %g, %2 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %4 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %5 = mir.where %1, %3, %4 : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx0 = mir.where %0, %g, %5 : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %6 = mir.gt %x0, %x1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
// CHECK-NEXT: %7 = mir.eq %x0, %x1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
// CHECK-NEXT: %8 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %9 = mir.mul %g, %8 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %10 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %11 = mir.where %7, %9, %10 : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx1 = mir.where %6, %g, %11 : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx0, %dx1 : tensor<3x5xf32>, tensor<3x5xf32>
// CHECK-NEXT: }
func.func @min(%x0: tensor<3x5xf32>, %x1: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %dx0, %dx1 = mir.vjp primals(%x0, %x1 : tensor<3x5xf32>, tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0, 1] -> tensor<3x5xf32>, tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>):
    %0 = mir.min %a, %b : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx0, %dx1 : tensor<3x5xf32>, tensor<3x5xf32>
}

// -----

// `result = lhs^rhs` as IEEE pow: `0^0 = 1`, NaN for a negative base and a fractional exponent.
// CHECK-LABEL: func.func @pow(%x0: tensor<3x5xf32>, %x1: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.eq %x0, %0 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xi1>
// CHECK-NEXT: %2 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = mir.eq %x1, %2 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xi1>
// CHECK-NEXT: %4 = mir.and %1, %3 : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
// CHECK-NEXT: %5 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %6 = mir.where %4, %5, %x1 : (tensor<3x5xi1>, tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %7 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %8 = mir.sub %6, %7 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %9 = mir.pow %x0, %8 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %10 = mir.mul %x1, %9 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %11 = mir.mul %g, %10 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %12 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %dx0 = mir.where %4, %12, %11 : (tensor<3x5xi1>, tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %13 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %14 = mir.eq %x0, %13 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xi1>
// CHECK-NEXT: %15 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %16 = mir.ge %x1, %15 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xi1>
// CHECK-NEXT: %17 = mir.and %14, %16 : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
// CHECK-NEXT: %18 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %19 = mir.where %17, %18, %x0 : (tensor<3x5xi1>, tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %20 = mir.pow %19, %x1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %21 = mir.log %19 : tensor<3x5xf32>
// CHECK-NEXT: %22 = mir.mul %20, %21 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %23 = mir.mul %g, %22 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %24 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %dx1 = mir.where %17, %24, %23 : (tensor<3x5xi1>, tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx0, %dx1 : tensor<3x5xf32>, tensor<3x5xf32>
// CHECK-NEXT: }
func.func @pow(%x0: tensor<3x5xf32>, %x1: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %dx0, %dx1 = mir.vjp primals(%x0, %x1 : tensor<3x5xf32>, tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0, 1] -> tensor<3x5xf32>, tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>):
    %0 = mir.pow %a, %b : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx0, %dx1 : tensor<3x5xf32>, tensor<3x5xf32>
}

// -----

// `result[i] = on_true[i] if cond[i] else on_false[i]`; all three broadcast, `cond` is i1.
// CHECK-LABEL: func.func @where(%x0: tensor<3x5xi1>, %x1: tensor<3x5xf32>, %x2: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %dx1 = mir.where %x0, %g, %0 : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %dx2 = mir.where %x0, %1, %g : (tensor<3x5xi1>, tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx1, %dx2 : tensor<3x5xf32>, tensor<3x5xf32>
// CHECK-NEXT: }
func.func @where(%x0: tensor<3x5xi1>, %x1: tensor<3x5xf32>, %x2: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %dx1, %dx2 = mir.vjp primals(%x0, %x1, %x2 : tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [1, 2] -> tensor<3x5xf32>, tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xi1>, %b: tensor<3x5xf32>, %c: tensor<3x5xf32>):
    %0 = mir.where %a, %b, %c : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx1, %dx2 : tensor<3x5xf32>, tensor<3x5xf32>
}
