// RUN: ROUNDTRIP
// RUN: GENERIC

// With the state that the sequence goes on from, and without.

// CHECK-LABEL: func.func @gated_delta_net(%q: tensor<2x3x2x3xf32>, %k: tensor<2x3x2x3xf32>, %v: tensor<2x3x2x4xf32>, %g: tensor<2x3x2xf32>, %beta: tensor<2x3x2xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>) {
// CHECK-NEXT: %0, %1 = hir.gated_delta_net %q, %k, %v, %g, %beta : (tensor<2x3x2x3xf32>, tensor<2x3x2x3xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>)
// CHECK-NEXT: func.return %0, %1 : tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>
// CHECK-NEXT: }
func.func @gated_delta_net(%q: tensor<2x3x2x3xf32>, %k: tensor<2x3x2x3xf32>, %v: tensor<2x3x2x4xf32>, %g: tensor<2x3x2xf32>, %beta: tensor<2x3x2xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>) {
  %0, %1 = hir.gated_delta_net %q, %k, %v, %g, %beta : (tensor<2x3x2x3xf32>, tensor<2x3x2x3xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>)
  func.return %0, %1 : tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>
}

// CHECK-LABEL: func.func @gated_delta_net_state(%q: tensor<2x3x2x3xf32>, %k: tensor<2x3x2x3xf32>, %v: tensor<2x3x2x4xf32>, %g: tensor<2x3x2xf32>, %beta: tensor<2x3x2xf32>, %state: tensor<2x2x3x4xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>) {
// CHECK-NEXT: %0, %1 = hir.gated_delta_net %q, %k, %v, %g, %beta, %state : (tensor<2x3x2x3xf32>, tensor<2x3x2x3xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>, tensor<2x2x3x4xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>)
// CHECK-NEXT: func.return %0, %1 : tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>
// CHECK-NEXT: }
func.func @gated_delta_net_state(%q: tensor<2x3x2x3xf32>, %k: tensor<2x3x2x3xf32>, %v: tensor<2x3x2x4xf32>, %g: tensor<2x3x2xf32>, %beta: tensor<2x3x2xf32>, %state: tensor<2x2x3x4xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>) {
  %0, %1 = hir.gated_delta_net %q, %k, %v, %g, %beta, %state : (tensor<2x3x2x3xf32>, tensor<2x3x2x3xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>, tensor<2x2x3x4xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>)
  func.return %0, %1 : tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>
}

// GENERIC: "hir.gated_delta_net"(%{{.*}}) : (tensor<2x3x2x3xf32>, tensor<2x3x2x3xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>)
