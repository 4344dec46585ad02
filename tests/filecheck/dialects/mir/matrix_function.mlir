// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @functions(%a: tensor<3x3xf32>, %w: tensor<3xf32>, %f: tensor<3xf32>, %b: tensor<4x3xf32>) {
// CHECK-NEXT: %0 = mir.matrix_function %a, %w, %a, %a, %f : (tensor<3x3xf32>, tensor<3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %1 = mir.matrix_function %b, %w, %b, %a, %f singular : (tensor<4x3xf32>, tensor<3xf32>, tensor<4x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %2 = mir.pinv %b rcond 1.000000e-15 : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %3 = mir.lstsq %b, %b rcond 1.000000e-15 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
// GENERIC: "mir.matrix_function"(%{{.*}})
func.func @functions(%a: tensor<3x3xf32>, %w: tensor<3xf32>, %f: tensor<3xf32>, %b: tensor<4x3xf32>) {
  %0 = mir.matrix_function %a, %w, %a, %a, %f : (tensor<3x3xf32>, tensor<3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
  %1 = mir.matrix_function %b, %w, %b, %a, %f singular : (tensor<4x3xf32>, tensor<3xf32>, tensor<4x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %2 = mir.pinv %b rcond 1.000000e-15 : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %3 = mir.lstsq %b, %b rcond 1.000000e-15 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
  func.return
}
