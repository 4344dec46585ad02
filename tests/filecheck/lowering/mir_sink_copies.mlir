// RUN: xdsl-opt %s -p mir-sink-copies --split-input-file | filecheck %s

// Elementwise ops are computed on the parts, with windows of their other operands.
// CHECK-LABEL: func.func @parts
// CHECK-NEXT: %0 = mir.narrow %z axis -2 start 0 len 2
// CHECK-NEXT: %1 = mir.mul %x, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %2 = mir.narrow %z axis -2 start 2 len 4
// CHECK-NEXT: %3 = mir.mul %y, %2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %4 = mir.add %1, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %5 = mir.add %3, %row : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %6 = mir.concat %4, %5 axis 0
// CHECK-NEXT: func.return %6
func.func @parts(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %z: tensor<6x3xf32>, %row: tensor<3xf32>) -> tensor<6x3xf32> {
  %0 = mir.concat %x, %y axis 0 : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
  %1 = mir.mul %0, %z : (tensor<6x3xf32>, tensor<6x3xf32>) -> tensor<6x3xf32>
  %2 = mir.add %1, %row : (tensor<6x3xf32>, tensor<3xf32>) -> tensor<6x3xf32>
  func.return %2 : tensor<6x3xf32>
}

// -----

// A sum fuses with what it adds up: the concat stays.
// CHECK-LABEL: func.func @summed
// CHECK-NEXT: mir.concat
// CHECK-NEXT: mir.exp
// CHECK-NEXT: mir.reduce_sum
func.func @summed(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>) -> tensor<3xf32> {
  %0 = mir.concat %x, %y axis 0 : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
  %1 = mir.exp %0 : tensor<6x3xf32>
  %2 = mir.reduce_sum %1 axes [0] : (tensor<6x3xf32>) -> tensor<3xf32>
  func.return %2 : tensor<3xf32>
}

// -----

// So does one of which an operand would have to be in memory.
// CHECK-LABEL: func.func @beside_a_product
// CHECK: mir.concat
// CHECK-NEXT: mir.add
// CHECK-NEXT: func.return
func.func @beside_a_product(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %a: tensor<6x5xf32>, %b: tensor<5x3xf32>) -> tensor<6x3xf32> {
  %0 = mir.matmul %a, %b : (tensor<6x5xf32>, tensor<5x3xf32>) -> tensor<6x3xf32>
  %1 = mir.concat %x, %y axis 0 : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
  %2 = mir.add %1, %0 : (tensor<6x3xf32>, tensor<6x3xf32>) -> tensor<6x3xf32>
  func.return %2 : tensor<6x3xf32>
}

// -----

// Elements of a small table are computed once, and not for each index.
// CHECK-LABEL: func.func @table
// CHECK-NEXT: %0 = mir.exp %table : tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.gather %0, %at axis 0 batch_dims 0
// CHECK-NEXT: func.return %1
func.func @table(%table: tensor<4x3xf32>, %at: tensor<9xi32>) -> tensor<9x3xf32> {
  %0 = mir.gather %table, %at axis 0 batch_dims 0 : (tensor<4x3xf32>, tensor<9xi32>) -> tensor<9x3xf32>
  %1 = mir.exp %0 : tensor<9x3xf32>
  func.return %1 : tensor<9x3xf32>
}

// -----

// Of a large table, those that are taken.
// CHECK-LABEL: func.func @large_table
// CHECK-NEXT: mir.gather
// CHECK-NEXT: mir.exp
func.func @large_table(%table: tensor<40x3xf32>, %at: tensor<9xi32>) -> tensor<9x3xf32> {
  %0 = mir.gather %table, %at axis 0 batch_dims 0 : (tensor<40x3xf32>, tensor<9xi32>) -> tensor<9x3xf32>
  %1 = mir.exp %0 : tensor<9x3xf32>
  func.return %1 : tensor<9x3xf32>
}

// -----

// A transpose that is stored moves in front of elementwise ops on one value in memory; other operands broadcast.
// CHECK-LABEL: func.func @transposed
// CHECK-NEXT: %0 = mir.transpose %x perm [1, 0]
// CHECK-NEXT: %1 = mir.cast %0 : tensor<3x2xi8> to tensor<3x2xf32>
// CHECK-NEXT: %2 = mir.reshape %row : tensor<3xf32> to tensor<1x3xf32>
// CHECK-NEXT: %3 = mir.transpose %2 perm [1, 0]
// CHECK-NEXT: %4 = mir.mul %1, %3
// CHECK-NEXT: func.return %4
func.func @transposed(%x: tensor<2x3xi8>, %row: tensor<3xf32>) -> tensor<3x2xf32> {
  %0 = mir.cast %x : tensor<2x3xi8> to tensor<2x3xf32>
  %1 = mir.mul %0, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = mir.transpose %1 perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return %2 : tensor<3x2xf32>
}

// -----

// Two values would be transposed instead of one.
// CHECK-LABEL: func.func @of_two
// CHECK-NEXT: mir.mul
// CHECK-NEXT: mir.transpose
func.func @of_two(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = mir.mul %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = mir.transpose %0 perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return %1 : tensor<3x2xf32>
}

// -----

// A matmul reads its operands transposed at no cost.
// CHECK-LABEL: func.func @multiplied
// CHECK-NEXT: mir.exp
// CHECK-NEXT: mir.transpose
func.func @multiplied(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) -> tensor<3x4xf32> {
  %0 = mir.exp %x : tensor<2x3xf32>
  %1 = mir.transpose %0 perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = mir.matmul %1, %y : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  func.return %2 : tensor<3x4xf32>
}

// -----

// Squares of differences of 40 points and 16 centres: the sums of a point go side by side over the centres.
// CHECK-LABEL: func.func @pairs
// CHECK-NEXT: %0 = mir.transpose %x perm [0, 2, 1] : (tensor<40x1x3xf32>) -> tensor<40x3x1xf32>
// CHECK-NEXT: %1 = mir.reshape %y : tensor<16x3xf32> to tensor<1x16x3xf32>
// CHECK-NEXT: %2 = mir.transpose %1 perm [0, 2, 1] : (tensor<1x16x3xf32>) -> tensor<1x3x16xf32>
// CHECK-NEXT: %3 = mir.sub %0, %2 : (tensor<40x3x1xf32>, tensor<1x3x16xf32>) -> tensor<40x3x16xf32>
// CHECK-NEXT: %4 = mir.mul %3, %3
// CHECK-NEXT: mir.reduce_sum %4 axes [1] : (tensor<40x3x16xf32>) -> tensor<40x16xf32>
func.func @pairs(%x: tensor<40x1x3xf32>, %y: tensor<16x3xf32>) -> tensor<40x16xf32> {
  %0 = mir.sub %x, %y : (tensor<40x1x3xf32>, tensor<16x3xf32>) -> tensor<40x16x3xf32>
  %1 = mir.mul %0, %0 : (tensor<40x16x3xf32>, tensor<40x16x3xf32>) -> tensor<40x16x3xf32>
  %2 = mir.reduce_sum %1 axes [2] : (tensor<40x16x3xf32>) -> tensor<40x16xf32>
  func.return %2 : tensor<40x16xf32>
}

// -----

// What varies over the pairs is as large as they are.
// CHECK-LABEL: func.func @in_memory
// CHECK-NEXT: mir.sub
// CHECK-NEXT: mir.reduce_max %0 axes [2]
func.func @in_memory(%x: tensor<40x16x3xf32>, %y: tensor<40x1x3xf32>) -> tensor<40x16xf32> {
  %0 = mir.sub %x, %y : (tensor<40x16x3xf32>, tensor<40x1x3xf32>) -> tensor<40x16x3xf32>
  %1 = mir.reduce_max %0 axes [2] : (tensor<40x16x3xf32>) -> tensor<40x16xf32>
  func.return %1 : tensor<40x16xf32>
}

// -----

// Too few pairs to fill vectors.
// CHECK-LABEL: func.func @few
// CHECK-NEXT: mir.sub
// CHECK-NEXT: mir.reduce_sum %0 axes [2]
func.func @few(%x: tensor<400x1x3xf32>, %y: tensor<15x3xf32>) -> tensor<400x15xf32> {
  %0 = mir.sub %x, %y : (tensor<400x1x3xf32>, tensor<15x3xf32>) -> tensor<400x15x3xf32>
  %1 = mir.reduce_sum %0 axes [2] : (tensor<400x15x3xf32>) -> tensor<400x15xf32>
  func.return %1 : tensor<400x15xf32>
}
