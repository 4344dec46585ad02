// RUN: xdsl-opt %s -p convert-hir-to-mir | filecheck %s --check-prefixes=CHECK,DIRECT
// RUN: xdsl-opt %s -p 'convert-hir-to-mir{fusion-policy=fusable}' | filecheck %s --check-prefixes=CHECK,FUSABLE

// One op.

// CHECK-LABEL: func.func @gated_delta_net(%q: tensor<2x3x2x3xf32>, %k: tensor<2x3x2x3xf32>, %v: tensor<2x3x2x4xf32>, %g: tensor<2x3x2xf32>, %beta: tensor<2x3x2xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>) {
// CHECK-NEXT: %0, %1 = mir.gated_delta_net %q, %k, %v, %g, %beta : (tensor<2x3x2x3xf32>, tensor<2x3x2x3xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>)
// CHECK-NEXT: func.return %0, %1 : tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>
// CHECK-NEXT: }
func.func @gated_delta_net(%q: tensor<2x3x2x3xf32>, %k: tensor<2x3x2x3xf32>, %v: tensor<2x3x2x4xf32>, %g: tensor<2x3x2xf32>, %beta: tensor<2x3x2xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>) {
  %0, %1 = hir.gated_delta_net %q, %k, %v, %g, %beta : (tensor<2x3x2x3xf32>, tensor<2x3x2x3xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>)
  func.return %0, %1 : tensor<2x3x2x4xf32>, tensor<2x2x3x4xf32>
}
