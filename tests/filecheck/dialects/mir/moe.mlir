// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @moe(%x: tensor<6x3xf32>, %w: tensor<4x3x5xf32>, %i: tensor<6xi64>) {
// CHECK-NEXT: %y = mir.grouped_matmul %x, %w, %i : (tensor<6x3xf32>, tensor<4x3x5xf32>, tensor<6xi64>) -> tensor<6x5xf32>
// CHECK-NEXT: %dx = mir.grouped_matmul %y, %w, %i transpose_rhs : (tensor<6x5xf32>, tensor<4x3x5xf32>, tensor<6xi64>) -> tensor<6x3xf32>
// CHECK-NEXT: %dw = mir.grouped_matmul_backward_weight %x, %y, %i experts 4 : (tensor<6x3xf32>, tensor<6x5xf32>, tensor<6xi64>) -> tensor<4x3x5xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @moe(%x: tensor<6x3xf32>, %w: tensor<4x3x5xf32>, %i: tensor<6xi64>) {
  %y = mir.grouped_matmul %x, %w, %i : (tensor<6x3xf32>, tensor<4x3x5xf32>, tensor<6xi64>) -> tensor<6x5xf32>
  %dx = mir.grouped_matmul %y, %w, %i transpose_rhs : (tensor<6x5xf32>, tensor<4x3x5xf32>, tensor<6xi64>) -> tensor<6x3xf32>
  %dw = mir.grouped_matmul_backward_weight %x, %y, %i experts 4 : (tensor<6x3xf32>, tensor<6x5xf32>, tensor<6xi64>) -> tensor<4x3x5xf32>
  func.return
}

// GENERIC: "mir.grouped_matmul"(%{{.*}}) : (tensor<6x3xf32>
// GENERIC: "mir.grouped_matmul"(%{{.*}}) <{transpose_rhs}>
// GENERIC: "mir.grouped_matmul_backward_weight"(%{{.*}}) <{experts = 4 : i64}>
