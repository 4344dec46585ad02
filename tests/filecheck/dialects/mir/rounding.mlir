// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @rounding(%x: tensor<2x3xf32>, %row: tensor<3xf32>, %c: tensor<i1>, %n: tensor<3xi32>) {
// CHECK-NEXT: %floor = mir.floor %x : tensor<2x3xf32>
// CHECK-NEXT: %ceil = mir.ceil %x : tensor<2x3xf32>
// CHECK-NEXT: %trunc = mir.trunc %x : tensor<2x3xf32>
// CHECK-NEXT: %sign = mir.sign %n : tensor<3xi32>
// CHECK-NEXT: %rem = mir.rem %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %mod = mir.mod %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %floordiv = mir.floordiv %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %copysign = mir.copysign %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %or = mir.or %c, %c : (tensor<i1>, tensor<i1>) -> tensor<i1>
// CHECK-NEXT: %xor = mir.xor %c, %c : (tensor<i1>, tensor<i1>) -> tensor<i1>
// CHECK-NEXT: %shift_left = mir.shift_left %n, %n : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
// CHECK-NEXT: %shift_right = mir.shift_right %n, %n : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @rounding(%x: tensor<2x3xf32>, %row: tensor<3xf32>, %c: tensor<i1>, %n: tensor<3xi32>) {
  %floor = mir.floor %x : tensor<2x3xf32>
  %ceil = mir.ceil %x : tensor<2x3xf32>
  %trunc = mir.trunc %x : tensor<2x3xf32>
  %sign = mir.sign %n : tensor<3xi32>
  %rem = mir.rem %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %mod = mir.mod %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %floordiv = mir.floordiv %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %copysign = mir.copysign %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %or = mir.or %c, %c : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %xor = mir.xor %c, %c : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %shift_left = mir.shift_left %n, %n : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  %shift_right = mir.shift_right %n, %n : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  func.return
}

// GENERIC: "mir.floor"(%{{.*}}) : (tensor<2x3xf32>) -> tensor<2x3xf32>
