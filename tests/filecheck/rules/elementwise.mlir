// RUN: xdsl-opt %s -p mir-emit-vjp | filecheck %s

// The derivatives of elementwise ops: one mir.vjp per rule.

// Phi(x) + x phi(x), phi the density of the standard normal distribution and Phi its integral.
// CHECK-LABEL: func.func @gelu(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.constant dense<0.707106769> : tensor<f32>
// CHECK-NEXT: %1 = mir.mul %x, %0 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %2 = mir.erf %1 : tensor<4x3xf32>
// CHECK-NEXT: %3 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %4 = mir.mul %3, %2 : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %5 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %6 = mir.add %5, %4 : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %7 = mir.mul %x, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %8 = mir.constant dense<-5.000000e-01> : tensor<f32>
// CHECK-NEXT: %9 = mir.mul %7, %8 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %10 = mir.exp %9 : tensor<4x3xf32>
// CHECK-NEXT: %11 = mir.constant dense<0.398942292> : tensor<f32>
// CHECK-NEXT: %12 = mir.mul %10, %11 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %13 = mir.mul %x, %12 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %14 = mir.add %6, %13 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.mul %g, %14 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @gelu(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.gelu %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// (1 + T)/2 + x/2 (1 - T^2) u', T = tanh(u).
// CHECK-LABEL: func.func @gelu_approx(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.mul %x, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.constant dense<0.0356774069> : tensor<f32>
// CHECK-NEXT: %2 = mir.mul %1, %0 : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %3 = mir.constant dense<0.797884583> : tensor<f32>
// CHECK-NEXT: %4 = mir.add %3, %2 : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %5 = mir.mul %x, %4 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %6 = mir.tanh %5 : tensor<4x3xf32>
// CHECK-NEXT: %7 = mir.mul %6, %6 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %8 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %9 = mir.sub %8, %7 : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %10 = mir.constant dense<0.107032225> : tensor<f32>
// CHECK-NEXT: %11 = mir.mul %10, %0 : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %12 = mir.constant dense<0.797884583> : tensor<f32>
// CHECK-NEXT: %13 = mir.add %12, %11 : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %14 = mir.mul %9, %13 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %15 = mir.mul %x, %14 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %16 = mir.add %6, %15 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %17 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %18 = mir.mul %17, %16 : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %19 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %20 = mir.add %19, %18 : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.mul %g, %20 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @gelu_approx(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.gelu_approx %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// s + y (1 - s), s = sigmoid(x).
// CHECK-LABEL: func.func @silu(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.sigmoid %x : tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %2 = mir.sub %1, %0 : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %3 = mir.mul %y, %2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %4 = mir.add %0, %3 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.mul %g, %4 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @silu(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.silu %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// The sign of the result tells that of the operand, and the result is what the next op keeps.
// CHECK-LABEL: func.func @relu(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.gt %y, %0 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xi1>
// CHECK-NEXT: %2 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %dx = mir.where %1, %g, %2 : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @relu(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.relu %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// y (1 - y).
// CHECK-LABEL: func.func @sigmoid(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.sub %0, %y : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %2 = mir.mul %y, %1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.mul %g, %2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @sigmoid(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.sigmoid %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// 1 - y^2.
// CHECK-LABEL: func.func @tanh(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.mul %y, %y : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %2 = mir.sub %1, %0 : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.mul %g, %2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @tanh(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.tanh %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// The result is the derivative.
// CHECK-LABEL: func.func @exp(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %dx = mir.mul %g, %y : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @exp(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.exp %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// 1/x.
// CHECK-LABEL: func.func @log(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %dx = mir.div %g, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @log(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.log %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// 2/sqrt(pi) exp(-x^2).
// CHECK-LABEL: func.func @erf(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.mul %x, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.neg %0 : tensor<4x3xf32>
// CHECK-NEXT: %2 = mir.exp %1 : tensor<4x3xf32>
// CHECK-NEXT: %3 = mir.constant dense<1.12837923> : tensor<f32>
// CHECK-NEXT: %4 = mir.mul %2, %3 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.mul %g, %4 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @erf(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.erf %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// 1/(2 y): infinite at 0.
// CHECK-LABEL: func.func @sqrt(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %1 = mir.mul %g, %0 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.div %1, %y : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @sqrt(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.sqrt %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// -y^3/2.
// CHECK-LABEL: func.func @rsqrt(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.mul %y, %y : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.mul %0, %y : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %2 = mir.constant dense<-5.000000e-01> : tensor<f32>
// CHECK-NEXT: %3 = mir.mul %1, %2 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.mul %g, %3 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @rsqrt(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.rsqrt %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// -y^2.
// CHECK-LABEL: func.func @recip(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.mul %y, %y : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.mul %g, %0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.neg %1 : tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @recip(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.recip %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// -1.
// CHECK-LABEL: func.func @neg(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %dx = mir.neg %g : tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @neg(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.neg %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// The sign, 0 at 0, NaN of NaN.
// CHECK-LABEL: func.func @abs(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.gt %x, %0 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xi1>
// CHECK-NEXT: %2 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = mir.lt %x, %2 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xi1>
// CHECK-NEXT: %4 = mir.neg %g : tensor<4x3xf32>
// CHECK-NEXT: %5 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %6 = mir.eq %x, %5 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xi1>
// CHECK-NEXT: %7 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %8 = mir.where %6, %7, %x : (tensor<4x3xi1>, tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %9 = mir.where %3, %4, %8 : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.where %1, %g, %9 : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @abs(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.abs %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// cos x.
// CHECK-LABEL: func.func @sin(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.cos %x : tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.mul %g, %0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @sin(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.sin %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// -sin x.
// CHECK-LABEL: func.func @cos(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.sin %x : tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.mul %g, %0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.neg %1 : tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @cos(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.cos %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// 1 + y^2.
// CHECK-LABEL: func.func @tan(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.mul %y, %y : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %2 = mir.add %1, %0 : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.mul %g, %2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @tan(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.tan %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// 1/(1 + x^2).
// CHECK-LABEL: func.func @atan(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.mul %x, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %2 = mir.add %1, %0 : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %dx = mir.div %g, %2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @atan(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.atan %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// Straight through: 1.
// CHECK-LABEL: func.func @round(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: func.return %g : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @round(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %dx = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.round %a : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %dx : tensor<4x3xf32>
}

// What was repeated is summed.
// CHECK-LABEL: func.func @add(%x0: tensor<4x3xf32>, %x1: tensor<3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %d1 = mir.reduce_sum %g axes [0] : (tensor<4x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %g, %d1 : tensor<4x3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @add(%x0: tensor<4x3xf32>, %x1: tensor<3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>) {
  %d0, %d1 = mir.vjp primals(%x0, %x1 : tensor<4x3xf32>, tensor<3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0, 1] -> tensor<4x3xf32>, tensor<3xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<3xf32>):
    %0 = mir.add %a, %b : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %d0, %d1 : tensor<4x3xf32>, tensor<3xf32>
}

// The same with a sign.
// CHECK-LABEL: func.func @sub(%x0: tensor<4x3xf32>, %x1: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
// CHECK-NEXT: %d1 = mir.neg %g : tensor<4x3xf32>
// CHECK-NEXT: func.return %g, %d1 : tensor<4x3xf32>, tensor<4x3xf32>
// CHECK-NEXT: }
func.func @sub(%x0: tensor<4x3xf32>, %x1: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %d0, %d1 = mir.vjp primals(%x0, %x1 : tensor<4x3xf32>, tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0, 1] -> tensor<4x3xf32>, tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>):
    %0 = mir.sub %a, %b : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %d0, %d1 : tensor<4x3xf32>, tensor<4x3xf32>
}

// Each operand times the other.
// CHECK-LABEL: func.func @mul(%x0: tensor<4x3xf32>, %x1: tensor<3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %d0 = mir.mul %g, %x1 : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %0 = mir.mul %g, %x0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %d1 = mir.reduce_sum %0 axes [0] : (tensor<4x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %d0, %d1 : tensor<4x3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @mul(%x0: tensor<4x3xf32>, %x1: tensor<3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>) {
  %d0, %d1 = mir.vjp primals(%x0, %x1 : tensor<4x3xf32>, tensor<3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0, 1] -> tensor<4x3xf32>, tensor<3xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<3xf32>):
    %0 = mir.mul %a, %b : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %d0, %d1 : tensor<4x3xf32>, tensor<3xf32>
}

// Only what is asked for.
// CHECK-LABEL: func.func @mul_one(%x0: tensor<4x3xf32>, %x1: tensor<3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %d0 = mir.mul %g, %x1 : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %d0 : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @mul_one(%x0: tensor<4x3xf32>, %x1: tensor<3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %d0 = mir.vjp primals(%x0, %x1 : tensor<4x3xf32>, tensor<3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<3xf32>):
    %0 = mir.mul %a, %b : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %d0 : tensor<4x3xf32>
}

// -y/rhs for the divisor.
// CHECK-LABEL: func.func @div(%x0: tensor<4x3xf32>, %x1: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
// CHECK-NEXT: %d0 = mir.div %g, %x1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %0 = mir.div %g, %x1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.mul %0, %y : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %d1 = mir.neg %1 : tensor<4x3xf32>
// CHECK-NEXT: func.return %d0, %d1 : tensor<4x3xf32>, tensor<4x3xf32>
// CHECK-NEXT: }
func.func @div(%x0: tensor<4x3xf32>, %x1: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %d0, %d1 = mir.vjp primals(%x0, %x1 : tensor<4x3xf32>, tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0, 1] -> tensor<4x3xf32>, tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>):
    %0 = mir.div %a, %b : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %d0, %d1 : tensor<4x3xf32>, tensor<4x3xf32>
}

// A tie gives half to each.
// CHECK-LABEL: func.func @max(%x0: tensor<4x3xf32>, %x1: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
// CHECK-NEXT: %0 = mir.gt %x0, %x1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
// CHECK-NEXT: %1 = mir.eq %x0, %x1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
// CHECK-NEXT: %2 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %3 = mir.mul %g, %2 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %4 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %5 = mir.where %1, %3, %4 : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %d0 = mir.where %0, %g, %5 : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %6 = mir.lt %x0, %x1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
// CHECK-NEXT: %7 = mir.eq %x0, %x1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
// CHECK-NEXT: %8 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %9 = mir.mul %g, %8 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %10 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %11 = mir.where %7, %9, %10 : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %d1 = mir.where %6, %g, %11 : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %d0, %d1 : tensor<4x3xf32>, tensor<4x3xf32>
// CHECK-NEXT: }
func.func @max(%x0: tensor<4x3xf32>, %x1: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %d0, %d1 = mir.vjp primals(%x0, %x1 : tensor<4x3xf32>, tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0, 1] -> tensor<4x3xf32>, tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>):
    %0 = mir.max %a, %b : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %d0, %d1 : tensor<4x3xf32>, tensor<4x3xf32>
}

// The same for the smaller.
// CHECK-LABEL: func.func @min(%x0: tensor<4x3xf32>, %x1: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
// CHECK-NEXT: %0 = mir.lt %x0, %x1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
// CHECK-NEXT: %1 = mir.eq %x0, %x1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
// CHECK-NEXT: %2 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %3 = mir.mul %g, %2 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %4 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %5 = mir.where %1, %3, %4 : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %d0 = mir.where %0, %g, %5 : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %6 = mir.gt %x0, %x1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
// CHECK-NEXT: %7 = mir.eq %x0, %x1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
// CHECK-NEXT: %8 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %9 = mir.mul %g, %8 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %10 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %11 = mir.where %7, %9, %10 : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %d1 = mir.where %6, %g, %11 : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %d0, %d1 : tensor<4x3xf32>, tensor<4x3xf32>
// CHECK-NEXT: }
func.func @min(%x0: tensor<4x3xf32>, %x1: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %d0, %d1 = mir.vjp primals(%x0, %x1 : tensor<4x3xf32>, tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0, 1] -> tensor<4x3xf32>, tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>):
    %0 = mir.min %a, %b : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %d0, %d1 : tensor<4x3xf32>, tensor<4x3xf32>
}

// 0 where the formula has 0 times infinity: for an exponent 0, and at 0 for the exponent.
// CHECK-LABEL: func.func @pow(%x0: tensor<4x3xf32>, %x1: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.eq %x1, %0 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xi1>
// CHECK-NEXT: %2 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = mir.sub %x1, %2 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %4 = mir.pow %x0, %3 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %5 = mir.mul %x1, %4 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %6 = mir.mul %g, %5 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %7 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %d0 = mir.where %1, %7, %6 : (tensor<4x3xi1>, tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %8 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %9 = mir.eq %x0, %8 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xi1>
// CHECK-NEXT: %10 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %11 = mir.ge %x1, %10 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xi1>
// CHECK-NEXT: %12 = mir.and %9, %11 : (tensor<4x3xi1>, tensor<4x3xi1>) -> tensor<4x3xi1>
// CHECK-NEXT: %13 = mir.log %x0 : tensor<4x3xf32>
// CHECK-NEXT: %14 = mir.mul %y, %13 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %15 = mir.mul %g, %14 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %16 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %d1 = mir.where %12, %16, %15 : (tensor<4x3xi1>, tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %d0, %d1 : tensor<4x3xf32>, tensor<4x3xf32>
// CHECK-NEXT: }
func.func @pow(%x0: tensor<4x3xf32>, %x1: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %d0, %d1 = mir.vjp primals(%x0, %x1 : tensor<4x3xf32>, tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0, 1] -> tensor<4x3xf32>, tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>):
    %0 = mir.pow %a, %b : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %d0, %d1 : tensor<4x3xf32>, tensor<4x3xf32>
}

// The condition has no gradient; each branch gets what it was chosen for.
// CHECK-LABEL: func.func @where(%x0: tensor<4x3xi1>, %x1: tensor<4x3xf32>, %x2: tensor<f32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<f32>) {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %d1 = mir.where %x0, %g, %0 : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %2 = mir.where %x0, %1, %g : (tensor<4x3xi1>, tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %d2 = mir.reduce_sum %2 axes [0, 1] : (tensor<4x3xf32>) -> tensor<f32>
// CHECK-NEXT: func.return %d1, %d2 : tensor<4x3xf32>, tensor<f32>
// CHECK-NEXT: }
func.func @where(%x0: tensor<4x3xi1>, %x1: tensor<4x3xf32>, %x2: tensor<f32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<f32>) {
  %d1, %d2 = mir.vjp primals(%x0, %x1, %x2 : tensor<4x3xi1>, tensor<4x3xf32>, tensor<f32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [1, 2] -> tensor<4x3xf32>, tensor<f32> {
  ^bb0(%a: tensor<4x3xi1>, %b: tensor<4x3xf32>, %c: tensor<f32>):
    %0 = mir.where %a, %b, %c : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %d1, %d2 : tensor<4x3xf32>, tensor<f32>
}
