// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family attention.

// CHECK-LABEL: func.func @attention(%q: tensor<2x5x6xf32>, %k: tensor<2x7x6xf32>, %v: tensor<2x7x6xf32>, %y: tensor<2x5x6xf32>, %lse: tensor<2x2x5xf32>, %g: tensor<2x5x6xf32>) -> (tensor<2x5x6xf32>, tensor<2x7x6xf32>) {
// CHECK-NEXT: %dq, %0, %dv = mir.attention_backward %q, %k, %v, %y, %lse, %g layout packed heads 2 kv_heads 2 mask causal : tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x5x6xf32>, tensor<2x2x5xf32>, tensor<2x5x6xf32> to tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>
// CHECK-NEXT: func.return %dq, %dv : tensor<2x5x6xf32>, tensor<2x7x6xf32>
// CHECK-NEXT: }
func.func @attention(%q: tensor<2x5x6xf32>, %k: tensor<2x7x6xf32>, %v: tensor<2x7x6xf32>, %y: tensor<2x5x6xf32>, %lse: tensor<2x2x5xf32>, %g: tensor<2x5x6xf32>) -> (tensor<2x5x6xf32>, tensor<2x7x6xf32>) {
  %dq, %dv = mir.vjp primals(%q, %k, %v : tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>) outputs(%y, %lse : tensor<2x5x6xf32>, tensor<2x2x5xf32>) cotangents(%g : tensor<2x5x6xf32>) of [0] wrt [0, 2] -> tensor<2x5x6xf32>, tensor<2x7x6xf32> {
  ^bb0(%a: tensor<2x5x6xf32>, %b: tensor<2x7x6xf32>, %c: tensor<2x7x6xf32>):
    %0, %1 = mir.attention %a, %b, %c layout packed heads 2 kv_heads 2 mask causal : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)
    mir.yield %0, %1 : tensor<2x5x6xf32>, tensor<2x2x5xf32>
  }
  func.return %dq, %dv : tensor<2x5x6xf32>, tensor<2x7x6xf32>
}

// -----

// CHECK-LABEL: func.func @bias_and_lse(%q: tensor<1x1x5x2xf32>, %bias: tensor<1x1x5x5xf32>, %y: tensor<1x1x5x2xf32>, %lse: tensor<1x1x5xf32>, %g: tensor<1x1x5xf32>) -> tensor<1x1x5x5xf32> {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<1x1x5x2xf32>
// CHECK-NEXT: %2, %3, %4, %d = mir.attention_backward %q, %q, %q, %y, %lse, %1 by %bias : tensor<1x1x5x5xf32> d_lse %g : tensor<1x1x5xf32> layout bhsd heads 1 kv_heads 1 mask bias : tensor<1x1x5x2xf32>, tensor<1x1x5x2xf32>, tensor<1x1x5x2xf32>, tensor<1x1x5x2xf32>, tensor<1x1x5xf32>, tensor<1x1x5x2xf32> to tensor<1x1x5x2xf32>, tensor<1x1x5x2xf32>, tensor<1x1x5x2xf32>, tensor<1x1x5x5xf32>
// CHECK-NEXT: func.return %d : tensor<1x1x5x5xf32>
// CHECK-NEXT: }
func.func @bias_and_lse(%q: tensor<1x1x5x2xf32>, %bias: tensor<1x1x5x5xf32>, %y: tensor<1x1x5x2xf32>, %lse: tensor<1x1x5xf32>, %g: tensor<1x1x5xf32>) -> tensor<1x1x5x5xf32> {
  %d = mir.vjp primals(%q, %q, %q, %bias : tensor<1x1x5x2xf32>, tensor<1x1x5x2xf32>, tensor<1x1x5x2xf32>, tensor<1x1x5x5xf32>) outputs(%y, %lse : tensor<1x1x5x2xf32>, tensor<1x1x5xf32>) cotangents(%g : tensor<1x1x5xf32>) of [1] wrt [3] -> tensor<1x1x5x5xf32> {
  ^bb0(%a: tensor<1x1x5x2xf32>, %b: tensor<1x1x5x2xf32>, %c: tensor<1x1x5x2xf32>, %m: tensor<1x1x5x5xf32>):
    %0, %1 = mir.attention %a, %b, %c, %m layout bhsd heads 1 kv_heads 1 mask bias : (tensor<1x1x5x2xf32>, tensor<1x1x5x2xf32>, tensor<1x1x5x2xf32>, tensor<1x1x5x5xf32>) -> (tensor<1x1x5x2xf32>, tensor<1x1x5xf32>)
    mir.yield %0, %1 : tensor<1x1x5x2xf32>, tensor<1x1x5xf32>
  }
  func.return %d : tensor<1x1x5x5xf32>
}
