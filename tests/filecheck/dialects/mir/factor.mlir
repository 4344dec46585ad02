// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @factors(%a: tensor<2x3x3xf32>) {
// CHECK-NEXT: %l = mir.cholesky %a : tensor<2x3x3xf32>
// CHECK-NEXT: %w, %v = mir.eigh %a : (tensor<2x3x3xf32>) -> (tensor<2x3xf32>, tensor<2x3x3xf32>)
// CHECK-NEXT: %q, %r = mir.qr %a : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x3xf32>)
// CHECK-NEXT: %u, %s, %vt = mir.svd %a : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>)
// CHECK-NEXT: %d = mir.det %a : (tensor<2x3x3xf32>) -> tensor<2xf32>
// CHECK-NEXT: %c = mir.cofactors %a : tensor<2x3x3xf32>
// CHECK-NEXT: %e, %f = mir.slogdet %a : (tensor<2x3x3xf32>) -> (tensor<2xf32>, tensor<2xf32>)
// CHECK-NEXT: func.return
// CHECK-NEXT: }
// GENERIC: "mir.cholesky"(%{{.*}})
func.func @factors(%a: tensor<2x3x3xf32>) {
  %l = mir.cholesky %a : tensor<2x3x3xf32>
  %w, %v = mir.eigh %a : (tensor<2x3x3xf32>) -> (tensor<2x3xf32>, tensor<2x3x3xf32>)
  %q, %r = mir.qr %a : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x3xf32>)
  %u, %s, %vt = mir.svd %a : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>)
  %d = mir.det %a : (tensor<2x3x3xf32>) -> tensor<2xf32>
  %c = mir.cofactors %a : tensor<2x3x3xf32>
  %e, %f = mir.slogdet %a : (tensor<2x3x3xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return
}
