// RUN: xdsl-opt %s -p mir-emit-vjp | filecheck %s

// The derivative of a fused op goes through its definition, except where a rule is cheaper.

// The product and its activation are computed again; where the function holds the parts, cse merges them.
// CHECK-LABEL: func.func @fused_matmul_bias_act(%x0: tensor<4x3xf32>, %x1: tensor<3x2xf32>, %x2: tensor<2xf32>, %y: tensor<4x2xf32>, %g: tensor<4x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>) {
// CHECK-NEXT: %0 = mir.matmul %x0, %x1 : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %1 = mir.add %0, %x2 : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %2 = mir.tanh %1 : tensor<4x2xf32>
// CHECK-NEXT: %3 = mir.mul %2, %2 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %4 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %5 = mir.sub %4, %3 : (tensor<f32>, tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %6 = mir.mul %g, %5 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %d_c = mir.reduce_sum %6 axes [0] : (tensor<4x2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %7 = mir.transpose %x0 perm [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %d_b = mir.matmul %7, %6 : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: func.return %d_b, %d_c : tensor<3x2xf32>, tensor<2xf32>
// CHECK-NEXT: }
func.func @fused_matmul_bias_act(%x0: tensor<4x3xf32>, %x1: tensor<3x2xf32>, %x2: tensor<2xf32>, %y: tensor<4x2xf32>, %g: tensor<4x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>) {
  %d1, %d2 = mir.vjp primals(%x0, %x1, %x2 : tensor<4x3xf32>, tensor<3x2xf32>, tensor<2xf32>) outputs(%y : tensor<4x2xf32>) cotangents(%g : tensor<4x2xf32>) of [0] wrt [1, 2] -> tensor<3x2xf32>, tensor<2xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<3x2xf32>, %c: tensor<2xf32>):
    %0 = mir.fused_matmul_bias_act %a, %b, %c activation tanh : (tensor<4x3xf32>, tensor<3x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    mir.yield %0 : tensor<4x2xf32>
  }
  func.return %d1, %d2 : tensor<3x2xf32>, tensor<2xf32>
}

// Operands that are one value have a cotangent each.
// CHECK-LABEL: func.func @one_value_twice(%x: tensor<3x3xf32>, %y: tensor<3x3xf32>, %g: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>) {
// CHECK-NEXT: %0 = mir.transpose %x perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %d_a = mir.matmul %g, %0 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %1 = mir.transpose %x perm [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %d_b = mir.matmul %1, %g : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: func.return %d_a, %d_b, %g : tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>
// CHECK-NEXT: }
func.func @one_value_twice(%x: tensor<3x3xf32>, %y: tensor<3x3xf32>, %g: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>) {
  %d0, %d1, %d2 = mir.vjp primals(%x, %x, %x : tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>) outputs(%y : tensor<3x3xf32>) cotangents(%g : tensor<3x3xf32>) of [0] wrt [0, 1, 2] -> tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32> {
  ^bb0(%a: tensor<3x3xf32>, %b: tensor<3x3xf32>, %c: tensor<3x3xf32>):
    %0 = mir.fused_matmul_bias_act %a, %b, %c : (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    mir.yield %0 : tensor<3x3xf32>
  }
  func.return %d0, %d1, %d2 : tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>
}

// The halves side by side: `up` gets `g silu(gate)`, `gate` gets `g up silu'(gate)`.
// CHECK-LABEL: func.func @fused_swiglu(%x0: tensor<3x4xf32>, %y0: tensor<3x2xf32>, %g0: tensor<3x2xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT: %0 = mir.narrow %x0 axis -1 start 0 len 2 : (tensor<3x4xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %1 = mir.narrow %x0 axis -1 start 2 len 2 : (tensor<3x4xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %2 = mir.silu %1 : tensor<3x2xf32>
// CHECK-NEXT: %3 = mir.mul %g0, %2 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %4 = mir.mul %g0, %0 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %5 = mir.sigmoid %1 : tensor<3x2xf32>
// CHECK-NEXT: %6 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %7 = mir.sub %6, %5 : (tensor<f32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %8 = mir.mul %5, %7 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %9 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %10 = mir.eq %8, %9 : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xi1>
// CHECK-NEXT: %11 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %12 = mir.where %10, %11, %1 : (tensor<3x2xi1>, tensor<f32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %13 = mir.mul %8, %12 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %14 = mir.add %5, %13 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %15 = mir.mul %4, %14 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %dx0 = mir.concat %3, %15 axis -1 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return %dx0 : tensor<3x4xf32>
// CHECK-NEXT: }
func.func @fused_swiglu(%x0: tensor<3x4xf32>, %y0: tensor<3x2xf32>, %g0: tensor<3x2xf32>) -> tensor<3x4xf32> {
  %dx0 = mir.vjp primals(%x0 : tensor<3x4xf32>) outputs(%y0 : tensor<3x2xf32>) cotangents(%g0 : tensor<3x2xf32>) of [0] wrt [0] -> tensor<3x4xf32> {
  ^bb0(%a: tensor<3x4xf32>):
    %0 = mir.fused_swiglu %a : tensor<3x4xf32> to tensor<3x2xf32>
    mir.yield %0 : tensor<3x2xf32>
  }
  func.return %dx0 : tensor<3x4xf32>
}
