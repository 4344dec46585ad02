// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family transcendental: what each emits for all its floating-point operands at once.

// `result = ln(1 + x)`.
// CHECK-LABEL: func.func @log1p(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.add %0, %x : (tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.div %g, %1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @log1p(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.log1p %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = e^x - 1`.
// CHECK-LABEL: func.func @expm1(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.exp %x : tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @expm1(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.expm1 %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = ln x / ln 2`.
// CHECK-LABEL: func.func @log2(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<1.44269502> : tensor<f32>
// CHECK-NEXT: %1 = mir.mul %g, %0 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.div %1, %x : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @log2(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.log2 %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = ln x / ln 10`.
// CHECK-LABEL: func.func @log10(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<0.434294492> : tensor<f32>
// CHECK-NEXT: %1 = mir.mul %g, %0 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.div %1, %x : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @log10(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.log10 %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `result = 2^x`.
// CHECK-LABEL: func.func @exp2(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<0.693147182> : tensor<f32>
// CHECK-NEXT: %1 = mir.mul %y, %0 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @exp2(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.exp2 %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// The cube root: `g / (3 y^2)`.
// CHECK-LABEL: func.func @cbrt(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.recip %y : tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.mul %0, %0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.constant dense<0.333333343> : tensor<f32>
// CHECK-NEXT: %3 = mir.mul %1, %2 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %3 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @cbrt(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.cbrt %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `g / sqrt((1 - x) (1 + x))`.
// CHECK-LABEL: func.func @asin(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.sub %0, %x : (tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = mir.add %2, %x : (tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %4 = mir.mul %1, %3 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %5 = mir.mul %x, %x : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %6 = mir.neg %5 : tensor<3x5xf32>
// CHECK-NEXT: %7 = mir.straight_through %4, %6 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %8 = mir.rsqrt %7 : tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %8 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @asin(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.asin %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `-g / sqrt((1 - x) (1 + x))`.
// CHECK-LABEL: func.func @acos(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.sub %0, %x : (tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = mir.add %2, %x : (tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %4 = mir.mul %1, %3 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %5 = mir.mul %x, %x : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %6 = mir.neg %5 : tensor<3x5xf32>
// CHECK-NEXT: %7 = mir.straight_through %4, %6 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %8 = mir.rsqrt %7 : tensor<3x5xf32>
// CHECK-NEXT: %9 = mir.mul %g, %8 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.neg %9 : tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @acos(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.acos %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `g cosh x`.
// CHECK-LABEL: func.func @sinh(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.cosh %x : tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @sinh(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.sinh %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `g sinh x`.
// CHECK-LABEL: func.func @cosh(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.sinh %x : tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @cosh(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.cosh %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `g / sqrt(x^2 + 1)`.
// CHECK-LABEL: func.func @asinh(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.hypot %x, %0 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.div %g, %1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @asinh(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.asinh %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `g / sqrt((x - 1) (x + 1))`.
// CHECK-LABEL: func.func @acosh(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.sub %x, %0 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.rsqrt %1 : tensor<3x5xf32>
// CHECK-NEXT: %3 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %4 = mir.add %x, %3 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %5 = mir.rsqrt %4 : tensor<3x5xf32>
// CHECK-NEXT: %6 = mir.mul %2, %5 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %6 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @acosh(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.acosh %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `g / ((1 - x) (1 + x))`.
// CHECK-LABEL: func.func @atanh(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.sub %0, %x : (tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = mir.add %2, %x : (tensor<f32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %4 = mir.mul %1, %3 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %5 = mir.mul %x, %x : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %6 = mir.neg %5 : tensor<3x5xf32>
// CHECK-NEXT: %7 = mir.straight_through %4, %6 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.div %g, %7 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @atanh(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.atanh %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `-2 / sqrt(pi) e^(-x^2) g`.
// CHECK-LABEL: func.func @erfc(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.gaussian %x : tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.mul %0, %0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %2 = mir.constant dense<1.12837923> : tensor<f32>
// CHECK-NEXT: %3 = mir.mul %1, %2 : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %4 = mir.mul %g, %3 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.neg %4 : tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @erfc(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.erfc %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// `g sigmoid(x)`.
// CHECK-LABEL: func.func @softplus(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: %0 = mir.sigmoid %x : tensor<3x5xf32>
// CHECK-NEXT: %dx = mir.mul %g, %0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: func.return %dx : tensor<3x5xf32>
// CHECK-NEXT: }
func.func @softplus(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %g: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %dx = mir.vjp primals(%x : tensor<3x5xf32>) outputs(%y : tensor<3x5xf32>) cotangents(%g : tensor<3x5xf32>) of [0] wrt [0] -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %0 = mir.softplus %a : tensor<3x5xf32>
    mir.yield %0 : tensor<3x5xf32>
  }
  func.return %dx : tensor<3x5xf32>
}

// -----

// The share of each operand, 1/2 where they are equal, also where they are infinite.
// CHECK-LABEL: func.func @logaddexp(%x: tensor<2x3xf32>, %w: tensor<3xf32>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %0 = mir.abs %x : tensor<2x3xf32>
// CHECK-NEXT: %1 = mir.constant dense<0x7f800000> : tensor<f32>
// CHECK-NEXT: %2 = mir.eq %0, %1 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT: %3 = mir.eq %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: %4 = mir.and %2, %3 : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT: %5 = mir.sub %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %6 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %7 = mir.where %4, %6, %5 : (tensor<2x3xi1>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %8 = mir.sigmoid %7 : tensor<2x3xf32>
// CHECK-NEXT: %dx = mir.mul %g, %8 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %9 = mir.abs %w : tensor<3xf32>
// CHECK-NEXT: %10 = mir.constant dense<0x7f800000> : tensor<f32>
// CHECK-NEXT: %11 = mir.eq %9, %10 : (tensor<3xf32>, tensor<f32>) -> tensor<3xi1>
// CHECK-NEXT: %12 = mir.eq %w, %x : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: %13 = mir.and %11, %12 : (tensor<3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT: %14 = mir.sub %w, %x : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %15 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %16 = mir.where %13, %15, %14 : (tensor<2x3xi1>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %17 = mir.sigmoid %16 : tensor<2x3xf32>
// CHECK-NEXT: %18 = mir.mul %g, %17 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %dw = mir.reduce_sum %18 axes [0] : (tensor<2x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %dx, %dw : tensor<2x3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @logaddexp(%x: tensor<2x3xf32>, %w: tensor<3xf32>, %y: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>) {
  %dx, %dw = mir.vjp primals(%x, %w : tensor<2x3xf32>, tensor<3xf32>) outputs(%y : tensor<2x3xf32>) cotangents(%g : tensor<2x3xf32>) of [0] wrt [0, 1] -> tensor<2x3xf32>, tensor<3xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<3xf32>):
    %0 = mir.logaddexp %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    mir.yield %0 : tensor<2x3xf32>
  }
  func.return %dx, %dw : tensor<2x3xf32>, tensor<3xf32>
}
