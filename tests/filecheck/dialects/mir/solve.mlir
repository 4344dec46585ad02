// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @solve(%a: tensor<3x3xf32>, %b: tensor<3xf32>, %as: tensor<2x3x3xf64>, %bs: tensor<2x3x4xf64>, %z: tensor<3x3xcomplex<f32>>) {
// CHECK-NEXT: %x = mir.dense_solve %a, %b : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %y = mir.dense_solve %a, %b transpose : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %xs = mir.batched_dense_solve %as, %bs : (tensor<2x3x3xf64>, tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
// CHECK-NEXT: %packed, %pivots = mir.lu %as : (tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x3xi32>)
// CHECK-NEXT: %ys = mir.lu_solve %packed, %pivots, %bs transpose : (tensor<2x3x3xf64>, tensor<2x3xi32>, tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
// CHECK-NEXT: %inverse = mir.lu_inverse %packed, %pivots : (tensor<2x3x3xf64>, tensor<2x3xi32>) -> tensor<2x3x3xf64>
// CHECK-NEXT: %t = mir.triangular_solve %a, %b : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %ts = mir.triangular_solve %as, %bs lower transpose unit_diagonal : (tensor<2x3x3xf64>, tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
// CHECK-NEXT: %is = mir.interchange_rows %bs, %pivots inverse : (tensor<2x3x4xf64>, tensor<2x3xi32>) -> tensor<2x3x4xf64>
// CHECK-NEXT: %w = mir.dense_solve %z, %z : (tensor<3x3xcomplex<f32>>, tensor<3x3xcomplex<f32>>) -> tensor<3x3xcomplex<f32>>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @solve(%a: tensor<3x3xf32>, %b: tensor<3xf32>, %as: tensor<2x3x3xf64>, %bs: tensor<2x3x4xf64>, %z: tensor<3x3xcomplex<f32>>) {
  %x = mir.dense_solve %a, %b : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %y = mir.dense_solve %a, %b transpose : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %xs = mir.batched_dense_solve %as, %bs : (tensor<2x3x3xf64>, tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  %packed, %pivots = mir.lu %as : (tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x3xi32>)
  %ys = mir.lu_solve %packed, %pivots, %bs transpose : (tensor<2x3x3xf64>, tensor<2x3xi32>, tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  %inverse = mir.lu_inverse %packed, %pivots : (tensor<2x3x3xf64>, tensor<2x3xi32>) -> tensor<2x3x3xf64>
  %t = mir.triangular_solve %a, %b : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %ts = mir.triangular_solve %as, %bs lower transpose unit_diagonal : (tensor<2x3x3xf64>, tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  %is = mir.interchange_rows %bs, %pivots inverse : (tensor<2x3x4xf64>, tensor<2x3xi32>) -> tensor<2x3x4xf64>
  %w = mir.dense_solve %z, %z : (tensor<3x3xcomplex<f32>>, tensor<3x3xcomplex<f32>>) -> tensor<3x3xcomplex<f32>>
  func.return
}

// GENERIC: "mir.lu_solve"(%{{.*}}) <{transpose}>
