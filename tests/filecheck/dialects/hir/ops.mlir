// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @linear(%x: tensor<5x2x3xf32>, %w: tensor<3x4xf32>, %b: tensor<4xf32>) {
// CHECK-NEXT: %0 = hir.linear %x, %w : (tensor<5x2x3xf32>, tensor<3x4xf32>) -> tensor<5x2x4xf32>
// CHECK-NEXT: %1 = hir.linear %x, %w bias %b : (tensor<5x2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
// CHECK-NEXT: %2 = hir.linear %x, %w activation silu : (tensor<5x2x3xf32>, tensor<3x4xf32>) -> tensor<5x2x4xf32>
// CHECK-NEXT: %3 = hir.linear %x, %w bias %b activation relu : (tensor<5x2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @linear(%x: tensor<5x2x3xf32>, %w: tensor<3x4xf32>, %b: tensor<4xf32>) {
  %0 = hir.linear %x, %w : (tensor<5x2x3xf32>, tensor<3x4xf32>) -> tensor<5x2x4xf32>
  %1 = hir.linear %x, %w bias %b : (tensor<5x2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
  %2 = hir.linear %x, %w activation silu : (tensor<5x2x3xf32>, tensor<3x4xf32>) -> tensor<5x2x4xf32>
  %3 = hir.linear %x, %w bias %b activation relu : (tensor<5x2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
  func.return
}

// GENERIC: "hir.linear"(%{{.*}}) <{activation = #mir<activation relu>}> : (tensor<5x2x3xf32>, tensor<3x4xf32>, tensor<4xf32>)
