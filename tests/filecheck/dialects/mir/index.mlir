// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @index(%table: tensor<5x3xf32>, %i: tensor<2x4xi64>, %batched: tensor<2x6x3xf32>) {
// CHECK-NEXT: %rows = mir.gather %table, %i axis 0 batch_dims 0 : (tensor<5x3xf32>, tensor<2x4xi64>) -> tensor<2x4x3xf32>
// CHECK-NEXT: %picked = mir.gather %batched, %i axis 1 batch_dims 1 : (tensor<2x6x3xf32>, tensor<2x4xi64>) -> tensor<2x4x3xf32>
// CHECK-NEXT: %added = mir.scatter_add %rows, %i axis 0 batch_dims 0 extent 5 : (tensor<2x4x3xf32>, tensor<2x4xi64>) -> tensor<5x3xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @index(%table: tensor<5x3xf32>, %i: tensor<2x4xi64>, %batched: tensor<2x6x3xf32>) {
  %rows = mir.gather %table, %i axis 0 batch_dims 0 : (tensor<5x3xf32>, tensor<2x4xi64>) -> tensor<2x4x3xf32>
  %picked = mir.gather %batched, %i axis 1 batch_dims 1 : (tensor<2x6x3xf32>, tensor<2x4xi64>) -> tensor<2x4x3xf32>
  %added = mir.scatter_add %rows, %i axis 0 batch_dims 0 extent 5 : (tensor<2x4x3xf32>, tensor<2x4xi64>) -> tensor<5x3xf32>
  func.return
}

// GENERIC: "mir.gather"(%{{.*}}) <{axis = 0 : i64, batch_dims = 0 : i64}>
