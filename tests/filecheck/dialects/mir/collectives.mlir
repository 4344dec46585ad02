// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @reduce(%x: tensor<3xf32>, %i: tensor<2x2xi64>) -> tensor<3xf32> {
// CHECK-NEXT: %0 = mir.all_reduce sum %x over 2 : tensor<3xf32>
// CHECK-NEXT: %1 = mir.all_reduce max %0 over 2 : tensor<3xf32>
// CHECK-NEXT: %2 = mir.all_reduce min %i over 2 : tensor<2x2xi64>
// CHECK-NEXT: func.return %1 : tensor<3xf32>
func.func @reduce(%x: tensor<3xf32>, %i: tensor<2x2xi64>) -> tensor<3xf32> {
  %0 = mir.all_reduce sum %x over 2 : tensor<3xf32>
  %1 = mir.all_reduce max %0 over 2 : tensor<3xf32>
  %2 = mir.all_reduce min %i over 2 : tensor<2x2xi64>
  func.return %1 : tensor<3xf32>
}

// CHECK-LABEL: func.func @others(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.all_gather %x over 2 : tensor<4x3xf32> -> tensor<8x3xf32>
// CHECK-NEXT: %1 = mir.reduce_scatter %0 over 2 : tensor<8x3xf32> -> tensor<4x3xf32>
// CHECK-NEXT: %2 = mir.broadcast %1 from 1 over 2 : tensor<4x3xf32>
// CHECK-NEXT: %3 = mir.reduce_to %2 to 0 over 2 : tensor<4x3xf32>
// CHECK-NEXT: func.return %3 : tensor<4x3xf32>
func.func @others(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = mir.all_gather %x over 2 : tensor<4x3xf32> -> tensor<8x3xf32>
  %1 = mir.reduce_scatter %0 over 2 : tensor<8x3xf32> -> tensor<4x3xf32>
  %2 = mir.broadcast %1 from 1 over 2 : tensor<4x3xf32>
  %3 = mir.reduce_to %2 to 0 over 2 : tensor<4x3xf32>
  func.return %3 : tensor<4x3xf32>
}

// GENERIC: "mir.all_reduce"(%x) <{kind = #mir<reduction sum>, processes = 2 : i64}> : (tensor<3xf32>) -> tensor<3xf32>
