// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @transcendental(%x: tensor<2x3xf32>, %row: tensor<3xf32>) {
// CHECK-NEXT: %log1p = mir.log1p %x : tensor<2x3xf32>
// CHECK-NEXT: %expm1 = mir.expm1 %x : tensor<2x3xf32>
// CHECK-NEXT: %log2 = mir.log2 %x : tensor<2x3xf32>
// CHECK-NEXT: %log10 = mir.log10 %x : tensor<2x3xf32>
// CHECK-NEXT: %exp2 = mir.exp2 %x : tensor<2x3xf32>
// CHECK-NEXT: %cbrt = mir.cbrt %x : tensor<2x3xf32>
// CHECK-NEXT: %asin = mir.asin %x : tensor<2x3xf32>
// CHECK-NEXT: %acos = mir.acos %x : tensor<2x3xf32>
// CHECK-NEXT: %sinh = mir.sinh %x : tensor<2x3xf32>
// CHECK-NEXT: %cosh = mir.cosh %x : tensor<2x3xf32>
// CHECK-NEXT: %asinh = mir.asinh %x : tensor<2x3xf32>
// CHECK-NEXT: %acosh = mir.acosh %x : tensor<2x3xf32>
// CHECK-NEXT: %atanh = mir.atanh %x : tensor<2x3xf32>
// CHECK-NEXT: %erfc = mir.erfc %x : tensor<2x3xf32>
// CHECK-NEXT: %softplus = mir.softplus %x : tensor<2x3xf32>
// CHECK-NEXT: %logaddexp = mir.logaddexp %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @transcendental(%x: tensor<2x3xf32>, %row: tensor<3xf32>) {
  %log1p = mir.log1p %x : tensor<2x3xf32>
  %expm1 = mir.expm1 %x : tensor<2x3xf32>
  %log2 = mir.log2 %x : tensor<2x3xf32>
  %log10 = mir.log10 %x : tensor<2x3xf32>
  %exp2 = mir.exp2 %x : tensor<2x3xf32>
  %cbrt = mir.cbrt %x : tensor<2x3xf32>
  %asin = mir.asin %x : tensor<2x3xf32>
  %acos = mir.acos %x : tensor<2x3xf32>
  %sinh = mir.sinh %x : tensor<2x3xf32>
  %cosh = mir.cosh %x : tensor<2x3xf32>
  %asinh = mir.asinh %x : tensor<2x3xf32>
  %acosh = mir.acosh %x : tensor<2x3xf32>
  %atanh = mir.atanh %x : tensor<2x3xf32>
  %erfc = mir.erfc %x : tensor<2x3xf32>
  %softplus = mir.softplus %x : tensor<2x3xf32>
  %logaddexp = mir.logaddexp %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}

// GENERIC: "mir.log1p"(%{{.*}}) : (tensor<2x3xf32>) -> tensor<2x3xf32>
