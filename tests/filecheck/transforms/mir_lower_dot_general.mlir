// RUN: xdsl-opt %s -p mir-lower-dot-general --split-input-file --verify-diagnostics | filecheck %s

// Operands are laid out as matrices: batch dimensions in front, free ones as rows and columns.

// A matrix product as it is.
// CHECK-LABEL: func.func @plain(%x: tensor<3x5xf32>, %y: tensor<5x4xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT: %0 = mir.matmul %x, %y : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return %0 : tensor<3x4xf32>
// CHECK-NEXT: }
func.func @plain(%x: tensor<3x5xf32>, %y: tensor<5x4xf32>) -> tensor<3x4xf32> {
  %0 = mir.dot_general %x, %y contracting [1] x [0] batch [] x [] : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}

// -----

// Batch dimensions anywhere, several free ones.
// CHECK-LABEL: func.func @heads(%q: tensor<2x7x3x4xf32>, %k: tensor<2x5x3x4xf32>) -> tensor<2x3x7x5xf32> {
// CHECK-NEXT: %0 = mir.transpose %q perm [0, 2, 1, 3] : (tensor<2x7x3x4xf32>) -> tensor<2x3x7x4xf32>
// CHECK-NEXT: %1 = mir.transpose %k perm [0, 2, 3, 1] : (tensor<2x5x3x4xf32>) -> tensor<2x3x4x5xf32>
// CHECK-NEXT: %2 = mir.matmul %0, %1 : (tensor<2x3x7x4xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x7x5xf32>
// CHECK-NEXT: func.return %2 : tensor<2x3x7x5xf32>
// CHECK-NEXT: }
func.func @heads(%q: tensor<2x7x3x4xf32>, %k: tensor<2x5x3x4xf32>) -> tensor<2x3x7x5xf32> {
  %0 = mir.dot_general %q, %k contracting [3] x [3] batch [0, 2] x [0, 2] : (tensor<2x7x3x4xf32>, tensor<2x5x3x4xf32>) -> tensor<2x3x7x5xf32>
  func.return %0 : tensor<2x3x7x5xf32>
}

// -----

// Several pairs are summed over in the order for which less is moved: here the first operand stays as it lies.
// CHECK-LABEL: func.func @crossed(%x: tensor<3x5x2xf32>, %y: tensor<2x9x5xf32>) -> tensor<3x9xf32> {
// CHECK-NEXT: %0 = mir.reshape %x : tensor<3x5x2xf32> to tensor<3x10xf32>
// CHECK-NEXT: %1 = mir.transpose %y perm [2, 0, 1] : (tensor<2x9x5xf32>) -> tensor<5x2x9xf32>
// CHECK-NEXT: %2 = mir.reshape %1 : tensor<5x2x9xf32> to tensor<10x9xf32>
// CHECK-NEXT: %3 = mir.matmul %0, %2 : (tensor<3x10xf32>, tensor<10x9xf32>) -> tensor<3x9xf32>
// CHECK-NEXT: func.return %3 : tensor<3x9xf32>
// CHECK-NEXT: }
func.func @crossed(%x: tensor<3x5x2xf32>, %y: tensor<2x9x5xf32>) -> tensor<3x9xf32> {
  %0 = mir.dot_general %x, %y contracting [1, 2] x [2, 0] batch [] x [] : (tensor<3x5x2xf32>, tensor<2x9x5xf32>) -> tensor<3x9xf32>
  func.return %0 : tensor<3x9xf32>
}

// -----

// Inside of regions, too.
// CHECK-LABEL: func.func @nested(%x: tensor<3xf32>) -> tensor<3x3xf32> {
// CHECK-NEXT: %y = mir.fusion(%x) : (tensor<3xf32>) -> tensor<3x3xf32> {
// CHECK-NEXT: ^bb0(%a: tensor<3xf32>):
// CHECK-NEXT: %0 = mir.reshape %a : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %1 = mir.reshape %a : tensor<3xf32> to tensor<1x3xf32>
// CHECK-NEXT: %2 = mir.mul %0, %1 : (tensor<3x1xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: mir.yield %2 : tensor<3x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<3x3xf32>
// CHECK-NEXT: }
func.func @nested(%x: tensor<3xf32>) -> tensor<3x3xf32> {
  %y = mir.fusion(%x) : (tensor<3xf32>) -> tensor<3x3xf32> {
  ^bb0(%a: tensor<3xf32>):
    %0 = mir.dot_general %a, %a contracting [] x [] batch [] x [] : (tensor<3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
    mir.yield %0 : tensor<3x3xf32>
  }
  func.return %y : tensor<3x3xf32>
}

// -----

// A sum for each row of two matrices has neither rows nor columns; half floats are added up in f32.
// CHECK-LABEL: func.func @rows(%x: tensor<3x5xf16>, %y: tensor<5x3xf16>) -> tensor<3xf16> {
// CHECK-NEXT: %0 = mir.cast %x : tensor<3x5xf16> to tensor<3x5xf32>
// CHECK-NEXT: %1 = mir.cast %y : tensor<5x3xf16> to tensor<5x3xf32>
// CHECK-NEXT: %2 = mir.transpose %1 perm [1, 0] : (tensor<5x3xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %3 = mir.mul %0, %2 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %4 = mir.reduce_sum %3 axes [1] : (tensor<3x5xf32>) -> tensor<3xf32>
// CHECK-NEXT: %5 = mir.cast %4 : tensor<3xf32> to tensor<3xf16>
// CHECK-NEXT: func.return %5 : tensor<3xf16>
// CHECK-NEXT: }
func.func @rows(%x: tensor<3x5xf16>, %y: tensor<5x3xf16>) -> tensor<3xf16> {
  %0 = mir.dot_general %x, %y contracting [1] x [0] batch [0] x [1] : (tensor<3x5xf16>, tensor<5x3xf16>) -> tensor<3xf16>
  func.return %0 : tensor<3xf16>
}
