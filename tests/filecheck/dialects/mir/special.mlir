// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @special(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
// CHECK-NEXT: %lgamma = mir.lgamma %x : tensor<2x3xf32>
// CHECK-NEXT: %digamma = mir.digamma %x : tensor<2x3xf32>
// CHECK-NEXT: %erfcx = mir.erfcx %x : tensor<2x3xf32>
// CHECK-NEXT: %erf_inv = mir.erf_inv %x : tensor<2x3xf32>
// CHECK-NEXT: %ndtri = mir.ndtri %x : tensor<2x3xf32>
// CHECK-NEXT: %zeta = mir.special_function %x, %y function zeta : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @special(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
  %lgamma = mir.lgamma %x : tensor<2x3xf32>
  %digamma = mir.digamma %x : tensor<2x3xf32>
  %erfcx = mir.erfcx %x : tensor<2x3xf32>
  %erf_inv = mir.erf_inv %x : tensor<2x3xf32>
  %ndtri = mir.ndtri %x : tensor<2x3xf32>
  %zeta = mir.special_function %x, %y function zeta : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// GENERIC: "mir.lgamma"(%{{.*}}) : (tensor<2x3xf32>) -> tensor<2x3xf32>
