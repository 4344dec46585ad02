// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @linalg(%x: tensor<2x3x5xf32>, %y: tensor<5x2x4xf32>, %w: tensor<5x4xf32>, %a: tensor<5x2xf32>, %b: tensor<2x4xf32>) {
// CHECK-NEXT: %heads = mir.dot_general %x, %y contracting [2] x [0] batch [0] x [1] : (tensor<2x3x5xf32>, tensor<5x2x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %outer = mir.dot_general %w, %b contracting [] x [] batch [] x [] : (tensor<5x4xf32>, tensor<2x4xf32>) -> tensor<5x4x2x4xf32>
// CHECK-NEXT: %adapted = mir.lora_matmul %x, %w, %a, %b scale 5.000000e-01 : (tensor<2x3x5xf32>, tensor<5x4xf32>, tensor<5x2xf32>, tensor<2x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @linalg(%x: tensor<2x3x5xf32>, %y: tensor<5x2x4xf32>, %w: tensor<5x4xf32>, %a: tensor<5x2xf32>, %b: tensor<2x4xf32>) {
  %heads = mir.dot_general %x, %y contracting [2] x [0] batch [0] x [1] : (tensor<2x3x5xf32>, tensor<5x2x4xf32>) -> tensor<2x3x4xf32>
  %outer = mir.dot_general %w, %b contracting [] x [] batch [] x [] : (tensor<5x4xf32>, tensor<2x4xf32>) -> tensor<5x4x2x4xf32>
  %adapted = mir.lora_matmul %x, %w, %a, %b scale 5.000000e-01 : (tensor<2x3x5xf32>, tensor<5x4xf32>, tensor<5x2xf32>, tensor<2x4xf32>) -> tensor<2x3x4xf32>
  func.return
}

// GENERIC: "mir.dot_general"(%{{.*}}) <{lhs_contracting = array<i64: 2>, rhs_contracting = array<i64: 0>, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 1>}>
// GENERIC: "mir.lora_matmul"(%{{.*}}) <{scale = 5.000000e-01 : f64}>
