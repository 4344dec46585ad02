// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @random(%key: tensor<2xi64>, %keys: tensor<3x2xi32>, %logits: tensor<4x9xf32>) {
// CHECK-NEXT: %words = mir.rng_bits %key offset 5 : tensor<2xi64> to tensor<4x3xi32>
// CHECK-NEXT: %uniform = mir.rng_uniform %keys low -1.000000e+00 high 1.000000e+00 : tensor<3x2xi32> to tensor<3x5xf32>
// CHECK-NEXT: %normal = mir.rng_normal %key mean 0.000000e+00 scale 2.000000e+00 : tensor<2xi64> to tensor<7xf64>
// CHECK-NEXT: %u = mir.rng_uniform %key low 0.000000e+00 high 1.000000e+00 : tensor<2xi64> to tensor<4xf64>
// CHECK-NEXT: %drawn = mir.draw %logits, %u temperature 5.000000e-01 top_k 3 top_p 1.000000e+00 : (tensor<4x9xf32>, tensor<4xf64>) -> tensor<4xi64>
// CHECK-NEXT: %ids = mir.sample %logits, %key temperature 1.000000e+00 top_k 0 top_p 9.000000e-01 : (tensor<4x9xf32>, tensor<2xi64>) -> tensor<4xi64>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @random(%key: tensor<2xi64>, %keys: tensor<3x2xi32>, %logits: tensor<4x9xf32>) {
  %words = mir.rng_bits %key offset 5 : tensor<2xi64> to tensor<4x3xi32>
  %uniform = mir.rng_uniform %keys low -1.0 high 1.0 : tensor<3x2xi32> to tensor<3x5xf32>
  %normal = mir.rng_normal %key mean 0.0 scale 2.0 : tensor<2xi64> to tensor<7xf64>
  %u = mir.rng_uniform %key low 0.0 high 1.0 : tensor<2xi64> to tensor<4xf64>
  %drawn = mir.draw %logits, %u temperature 0.5 top_k 3 top_p 1.0 : (tensor<4x9xf32>, tensor<4xf64>) -> tensor<4xi64>
  %ids = mir.sample %logits, %key temperature 1.0 top_k 0 top_p 0.9 : (tensor<4x9xf32>, tensor<2xi64>) -> tensor<4xi64>
  func.return
}

// GENERIC: "mir.rng_bits"(%{{.*}}) <{offset = 5 : i64}>
// GENERIC: "mir.rng_uniform"(%{{.*}}) <{low = -1.000000e+00 : f64, high = 1.000000e+00 : f64}>
// GENERIC: "mir.rng_normal"(%{{.*}}) <{mean = 0.000000e+00 : f64, scale = 2.000000e+00 : f64}>
// GENERIC: "mir.draw"(%{{.*}}) <{temperature = 5.000000e-01 : f64, top_k = 3 : i64, top_p = 1.000000e+00 : f64}>
// GENERIC: "mir.sample"(%{{.*}}) <{temperature = 1.000000e+00 : f64, top_k = 0 : i64, top_p = {{.*}} : f64}>
