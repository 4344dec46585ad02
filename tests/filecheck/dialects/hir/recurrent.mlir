// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @recurrent(%x: tensor<2x5x3xf32>, %w: tensor<3x4xf32>, %u: tensor<4x4xf32>, %b: tensor<4xf32>, %h: tensor<2x4xf32>) {
// CHECK-NEXT: %y, %last = hir.rnn %x, %w, %u : tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<4x4xf32> -> tensor<2x5x4xf32>, tensor<2x4xf32>
// CHECK-NEXT: %z, %end = hir.rnn %x, %w, %u : tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<4x4xf32> b_ih %b : tensor<4xf32> b_hh %b : tensor<4xf32> h0 %h : tensor<2x4xf32> -> tensor<2x5x4xf32>, tensor<2x4xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @recurrent(%x: tensor<2x5x3xf32>, %w: tensor<3x4xf32>, %u: tensor<4x4xf32>, %b: tensor<4xf32>, %h: tensor<2x4xf32>) {
  %y, %last = hir.rnn %x, %w, %u : tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<4x4xf32> -> tensor<2x5x4xf32>, tensor<2x4xf32>
  %z, %end = hir.rnn %x, %w, %u : tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<4x4xf32> b_ih %b : tensor<4xf32> b_hh %b : tensor<4xf32> h0 %h : tensor<2x4xf32> -> tensor<2x5x4xf32>, tensor<2x4xf32>
  func.return
}

// CHECK-LABEL: func.func @lstm(%x: tensor<2x5x3xf32>, %w: tensor<3x16xf32>, %u: tensor<4x16xf32>, %b: tensor<16xf32>, %h: tensor<2x4xf32>) {
// CHECK-NEXT: %y, %last, %cell = hir.lstm %x, %w, %u : tensor<2x5x3xf32>, tensor<3x16xf32>, tensor<4x16xf32> b_hh %b : tensor<16xf32> c0 %h : tensor<2x4xf32> -> tensor<2x5x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @lstm(%x: tensor<2x5x3xf32>, %w: tensor<3x16xf32>, %u: tensor<4x16xf32>, %b: tensor<16xf32>, %h: tensor<2x4xf32>) {
  %y, %last, %cell = hir.lstm %x, %w, %u : tensor<2x5x3xf32>, tensor<3x16xf32>, tensor<4x16xf32> b_hh %b : tensor<16xf32> c0 %h : tensor<2x4xf32> -> tensor<2x5x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  func.return
}

// CHECK-LABEL: func.func @gru(%x: tensor<2x5x3xf32>, %w: tensor<3x12xf32>, %u: tensor<4x12xf32>, %b: tensor<12xf32>) {
// CHECK-NEXT: %y, %last = hir.gru %x, %w, %u : tensor<2x5x3xf32>, tensor<3x12xf32>, tensor<4x12xf32> b_ih %b : tensor<12xf32> b_hh %b : tensor<12xf32> -> tensor<2x5x4xf32>, tensor<2x4xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @gru(%x: tensor<2x5x3xf32>, %w: tensor<3x12xf32>, %u: tensor<4x12xf32>, %b: tensor<12xf32>) {
  %y, %last = hir.gru %x, %w, %u : tensor<2x5x3xf32>, tensor<3x12xf32>, tensor<4x12xf32> b_ih %b : tensor<12xf32> b_hh %b : tensor<12xf32> -> tensor<2x5x4xf32>, tensor<2x4xf32>
  func.return
}

// CHECK-LABEL: func.func @mamba2(%x: tensor<2x5x3x4xf16>, %dt: tensor<2x5x3xf16>, %a: tensor<3xf16>, %b: tensor<2x5x6xf16>, %h: tensor<2x3x4x6xf32>) {
// CHECK-NEXT: %y, %last = hir.mamba2 %x, %dt, %a, %b, %b : tensor<2x5x3x4xf16>, tensor<2x5x3xf16>, tensor<3xf16>, tensor<2x5x6xf16>, tensor<2x5x6xf16> -> tensor<2x5x3x4xf16>, tensor<2x3x4x6xf32>
// CHECK-NEXT: %z, %end = hir.mamba2 %x, %dt, %a, %b, %b : tensor<2x5x3x4xf16>, tensor<2x5x3xf16>, tensor<3xf16>, tensor<2x5x6xf16>, tensor<2x5x6xf16> d %a : tensor<3xf16> h0 %h : tensor<2x3x4x6xf32> -> tensor<2x5x3x4xf16>, tensor<2x3x4x6xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @mamba2(%x: tensor<2x5x3x4xf16>, %dt: tensor<2x5x3xf16>, %a: tensor<3xf16>, %b: tensor<2x5x6xf16>, %h: tensor<2x3x4x6xf32>) {
  %y, %last = hir.mamba2 %x, %dt, %a, %b, %b : tensor<2x5x3x4xf16>, tensor<2x5x3xf16>, tensor<3xf16>, tensor<2x5x6xf16>, tensor<2x5x6xf16> -> tensor<2x5x3x4xf16>, tensor<2x3x4x6xf32>
  %z, %end = hir.mamba2 %x, %dt, %a, %b, %b : tensor<2x5x3x4xf16>, tensor<2x5x3xf16>, tensor<3xf16>, tensor<2x5x6xf16>, tensor<2x5x6xf16> d %a : tensor<3xf16> h0 %h : tensor<2x3x4x6xf32> -> tensor<2x5x3x4xf16>, tensor<2x3x4x6xf32>
  func.return
}

// GENERIC: "hir.lstm"(%{{.*}}) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 1>}> : (tensor<2x5x3xf32>, tensor<3x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<2x4xf32>)
