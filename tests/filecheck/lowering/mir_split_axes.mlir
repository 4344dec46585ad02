// RUN: xdsl-opt %s -p mir-split-axes --split-input-file | filecheck %s

// A reshape that splits axes for a reduction moves in front of the elementwise ops.
// CHECK-LABEL: func.func @before_a_sum
// CHECK-NEXT: %0 = mir.reshape %x : tensor<6x4xf32> to tensor<2x3x4xf32>
// CHECK-NEXT: %1 = mir.mul %0, %row : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %2 = mir.exp %1 : tensor<2x3x4xf32>
// CHECK-NEXT: %y = mir.reduce_sum %2 axes [1]
func.func @before_a_sum(%x: tensor<6x4xf32>, %row: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = mir.mul %x, %row : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  %1 = mir.exp %0 : tensor<6x4xf32>
  %2 = mir.reshape %1 : tensor<6x4xf32> to tensor<2x3x4xf32>
  %y = mir.reduce_sum %2 axes [1] : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// -----

// A product computes its epilogue where it is: the reshape stays.
// CHECK-LABEL: func.func @behind_a_product
// CHECK-NEXT: mir.matmul
// CHECK-NEXT: mir.exp
// CHECK-NEXT: mir.reshape
// CHECK-NEXT: mir.reduce_sum
func.func @behind_a_product(%x: tensor<6x5xf32>, %w: tensor<5x4xf32>) -> tensor<2x4xf32> {
  %0 = mir.matmul %x, %w : (tensor<6x5xf32>, tensor<5x4xf32>) -> tensor<6x4xf32>
  %1 = mir.exp %0 : tensor<6x4xf32>
  %2 = mir.reshape %1 : tensor<6x4xf32> to tensor<2x3x4xf32>
  %y = mir.reduce_sum %2 axes [1] : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// -----

// What repeats rows and is read element by element runs over the repetitions as a loop of their own.
// CHECK-LABEL: func.func @repeated
// CHECK-NEXT: %0 = mir.reshape %x : tensor<2x4xf32> to tensor<2x1x4xf32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<2x1x4xf32> to tensor<2x3x4xf32>
// CHECK-NEXT: %2 = mir.reshape %w : tensor<6x4xf32> to tensor<2x3x4xf32>
// CHECK-NEXT: %3 = mir.mul %1, %2 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %4 = mir.exp %3 : tensor<2x3x4xf32>
// CHECK-NEXT: %5 = mir.reshape %4 : tensor<2x3x4xf32> to tensor<6x4xf32>
// CHECK-NEXT: func.return %5
func.func @repeated(%x: tensor<2x4xf32>, %w: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %0 = mir.reshape %x : tensor<2x4xf32> to tensor<2x1x4xf32>
  %1 = mir.expand %0 : tensor<2x1x4xf32> to tensor<2x3x4xf32>
  %2 = mir.reshape %1 : tensor<2x3x4xf32> to tensor<6x4xf32>
  %3 = mir.mul %2, %w : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %4 = mir.exp %3 : tensor<6x4xf32>
  func.return %4 : tensor<6x4xf32>
}

// -----

// A value of another reader stays as it is.
// CHECK-LABEL: func.func @read_twice
// CHECK-NEXT: mir.exp %x : tensor<6x4xf32>
// CHECK-NEXT: mir.exp
// CHECK-NEXT: mir.reshape
func.func @read_twice(%x: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<2x4xf32>) {
  %0 = mir.exp %x : tensor<6x4xf32>
  %1 = mir.exp %0 : tensor<6x4xf32>
  %2 = mir.reshape %1 : tensor<6x4xf32> to tensor<2x3x4xf32>
  %y = mir.reduce_sum %2 axes [1] : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  func.return %0, %y : tensor<6x4xf32>, tensor<2x4xf32>
}
