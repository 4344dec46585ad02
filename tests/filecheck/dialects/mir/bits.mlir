// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @bits(%x: tensor<2x3xf32>, %row: tensor<3xf32>, %n: tensor<3xi32>, %key: tensor<ui32>, %counter: tensor<2xui32>) {
// CHECK-NEXT: %population_count = mir.population_count %n : tensor<3xi32>
// CHECK-NEXT: %clz = mir.clz %n : tensor<3xi32>
// CHECK-NEXT: %bits = mir.bitcast_convert_type %x : tensor<2x3xf32> to tensor<2x3xui32>
// CHECK-NEXT: %nextafter = mir.nextafter %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %rounded = mir.reduce_precision %x exponent_bits 8 mantissa_bits 7 : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %random = mir.threefry2x32 %key, %key, %counter, %counter word 1 : (tensor<ui32>, tensor<ui32>, tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @bits(%x: tensor<2x3xf32>, %row: tensor<3xf32>, %n: tensor<3xi32>, %key: tensor<ui32>, %counter: tensor<2xui32>) {
  %population_count = mir.population_count %n : tensor<3xi32>
  %clz = mir.clz %n : tensor<3xi32>
  %bits = mir.bitcast_convert_type %x : tensor<2x3xf32> to tensor<2x3xui32>
  %nextafter = mir.nextafter %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %rounded = mir.reduce_precision %x exponent_bits 8 mantissa_bits 7 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %random = mir.threefry2x32 %key, %key, %counter, %counter word 1 : (tensor<ui32>, tensor<ui32>, tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
  func.return
}

// GENERIC: "mir.population_count"(%{{.*}}) : (tensor<3xi32>) -> tensor<3xi32>
