// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @distributions(%key: tensor<2xi64>, %keys: tensor<3x2xi32>, %a: tensor<3xf32>) {
// CHECK-NEXT: %drawn = mir.rng_gamma %key, %a : (tensor<2xi64>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %logs = mir.rng_gamma %keys, %a log : (tensor<3x2xi32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %slope = mir.gamma_slope %a, %drawn : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %slopes = mir.gamma_slope %a, %logs log : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %events = mir.rng_poisson %key, %a : (tensor<2xi64>, tensor<3xf32>) -> tensor<3xi64>
// CHECK-NEXT: %successes = mir.rng_binomial %key, %a, %a : (tensor<2xi64>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %order = mir.rng_permutation %keys : tensor<3x2xi32> to tensor<3x7xi32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @distributions(%key: tensor<2xi64>, %keys: tensor<3x2xi32>, %a: tensor<3xf32>) {
  %drawn = mir.rng_gamma %key, %a : (tensor<2xi64>, tensor<3xf32>) -> tensor<3xf32>
  %logs = mir.rng_gamma %keys, %a log : (tensor<3x2xi32>, tensor<3xf32>) -> tensor<3xf32>
  %slope = mir.gamma_slope %a, %drawn : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %slopes = mir.gamma_slope %a, %logs log : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %events = mir.rng_poisson %key, %a : (tensor<2xi64>, tensor<3xf32>) -> tensor<3xi64>
  %successes = mir.rng_binomial %key, %a, %a : (tensor<2xi64>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %order = mir.rng_permutation %keys : tensor<3x2xi32> to tensor<3x7xi32>
  func.return
}

// GENERIC: "mir.rng_gamma"(%{{.*}}, %{{.*}}) : (
// GENERIC: "mir.rng_gamma"(%{{.*}}, %{{.*}}) <{log}> : (
// GENERIC: "mir.rng_permutation"(%{{.*}}) : (tensor<3x2xi32>) -> tensor<3x7xi32>
