// RUN: xdsl-opt %s -p mir-prepare-for-fusion,mir-fuse --split-input-file --verify-diagnostics | filecheck %s

// What becomes one kernel.

// A chain of elementwise ops, broadcasts included.
// CHECK-LABEL: func.func @chain(%x: tensor<64x32xf32> {mir.name = "x", mir.kind = "input"}, %b: tensor<32xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<64x32xf32> {
// CHECK-NEXT: %0 = mir.fusion(%x, %b) loops <[64, 32] parallel 1 : ([0, 1], [1]) -> ([0, 1])> : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64x32xf32> {
// CHECK-NEXT: ^bb0(%x_1: tensor<64x32xf32>, %b_1: tensor<32xf32>):
// CHECK-NEXT: %1 = mir.add %x_1, %b_1 : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64x32xf32>
// CHECK-NEXT: %2 = mir.tanh %1 : tensor<64x32xf32>
// CHECK-NEXT: %3 = mir.mul %2, %x_1 : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
// CHECK-NEXT: mir.yield %3 : tensor<64x32xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %0 : tensor<64x32xf32>
// CHECK-NEXT: }
func.func @chain(%x: tensor<64x32xf32> {mir.name = "x", mir.kind = "input"}, %b: tensor<32xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<64x32xf32> {
  %0 = mir.add %x, %b : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64x32xf32>
  %1 = mir.tanh %0 : tensor<64x32xf32>
  %2 = mir.mul %1, %x : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  func.return %2 : tensor<64x32xf32>
}

// -----

// The parts of a composite op go over each row several times.
// CHECK-LABEL: func.func @rows(%x: tensor<64x32xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<64x32xf32> {
// CHECK-NEXT: %0 = mir.fusion(%x) loops <[64, 32] parallel 1 : ([0, 1]) -> ([0, 1])> : (tensor<64x32xf32>) -> tensor<64x32xf32> {
// CHECK-NEXT: ^bb0(%x_1: tensor<64x32xf32>):
// CHECK-NEXT: %1 = mir.reduce_max %x_1 axes [1] : (tensor<64x32xf32>) -> tensor<64xf32>
// CHECK-NEXT: %2 = mir.reshape %1 : tensor<64xf32> to tensor<64x1xf32>
// CHECK-NEXT: %3 = mir.stop_gradient %2 : tensor<64x1xf32>
// CHECK-NEXT: %4 = mir.sub %x_1, %3 : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
// CHECK-NEXT: %5 = mir.exp %4 : tensor<64x32xf32>
// CHECK-NEXT: %6 = mir.reduce_sum %5 axes [1] : (tensor<64x32xf32>) -> tensor<64xf32>
// CHECK-NEXT: %7 = mir.reshape %6 : tensor<64xf32> to tensor<64x1xf32>
// CHECK-NEXT: %8 = mir.div %5, %7 : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
// CHECK-NEXT: mir.yield %8 : tensor<64x32xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %0 : tensor<64x32xf32>
// CHECK-NEXT: }
func.func @rows(%x: tensor<64x32xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<64x32xf32> {
  %0 = mir.softmax %x axis -1 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  func.return %0 : tensor<64x32xf32>
}

// -----

// A product and what follows it row by row.
// CHECK-LABEL: func.func @epilogue(%x: tensor<64x16xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<16x32xf32> {mir.name = "w", mir.kind = "param"}, %b: tensor<32xf32> {mir.name = "b", mir.kind = "param"}) -> tensor<64x32xf32> {
// CHECK-NEXT: %0 = mir.fusion(%x, %w, %b) loops <[64, 32] parallel 1 : (operand, operand, [1]) -> ([0, 1])> : (tensor<64x16xf32>, tensor<16x32xf32>, tensor<32xf32>) -> tensor<64x32xf32> {
// CHECK-NEXT: ^bb0(%x_1: tensor<64x16xf32>, %w_1: tensor<16x32xf32>, %b_1: tensor<32xf32>):
// CHECK-NEXT: %1 = mir.matmul %x_1, %w_1 : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
// CHECK-NEXT: %2 = mir.add %1, %b_1 : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64x32xf32>
// CHECK-NEXT: %3 = mir.relu %2 : tensor<64x32xf32>
// CHECK-NEXT: mir.yield %3 : tensor<64x32xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %0 : tensor<64x32xf32>
// CHECK-NEXT: }
func.func @epilogue(%x: tensor<64x16xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<16x32xf32> {mir.name = "w", mir.kind = "param"}, %b: tensor<32xf32> {mir.name = "b", mir.kind = "param"}) -> tensor<64x32xf32> {
  %0 = mir.matmul %x, %w : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
  %1 = mir.add %0, %b : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64x32xf32>
  %2 = mir.relu %1 : tensor<64x32xf32>
  func.return %2 : tensor<64x32xf32>
}

// -----

// A sum down the columns with what it sums.
// CHECK-LABEL: func.func @columns(%x: tensor<64x32xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<32xf32> {
// CHECK-NEXT: %0 = mir.fusion(%x) loops <[64, 32] parallel 1 : ([0, 1]) -> ([1])> : (tensor<64x32xf32>) -> tensor<32xf32> {
// CHECK-NEXT: ^bb0(%x_1: tensor<64x32xf32>):
// CHECK-NEXT: %1 = mir.mul %x_1, %x_1 : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
// CHECK-NEXT: %2 = mir.reduce_sum %1 axes [0] : (tensor<64x32xf32>) -> tensor<32xf32>
// CHECK-NEXT: mir.yield %2 : tensor<32xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %0 : tensor<32xf32>
// CHECK-NEXT: }
func.func @columns(%x: tensor<64x32xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<32xf32> {
  %0 = mir.mul %x, %x : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = mir.reduce_sum %0 axes [0] : (tensor<64x32xf32>) -> tensor<32xf32>
  func.return %1 : tensor<32xf32>
}

// -----

// Two products have a kernel each: the second needs the first whole.
// CHECK-LABEL: func.func @two(%x: tensor<64x16xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<16x16xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<64x16xf32> {
// CHECK-NEXT: %0 = mir.fusion(%x, %w) loops <[64, 16] parallel 1 : (operand, operand) -> ([0, 1])> : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32> {
// CHECK: %1 = mir.matmul %x_1, %w_1 : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
// CHECK: %1 = mir.fusion(%0, %w) loops <[64, 16] parallel 1 : (operand, operand) -> ([0, 1])> : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32> {
// CHECK: %3 = mir.matmul %2, %w_1 : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
// CHECK: func.return %1 : tensor<64x16xf32>
func.func @two(%x: tensor<64x16xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<16x16xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<64x16xf32> {
  %0 = mir.matmul %x, %w : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
  %1 = mir.tanh %0 : tensor<64x16xf32>
  %2 = mir.matmul %1, %w : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
  func.return %2 : tensor<64x16xf32>
}

// -----

// Neither is a product part of a loop that would need each of its rows several times.
// CHECK-LABEL: func.func @smaller(
// CHECK-NEXT: %h = mir.fusion(%x, %w) loops <[3, 4] parallel 1 : (operand, operand) -> ([0, 1])> : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x4xf32> {
// CHECK: %y = mir.fusion(%h, %b) loops <[2, 3, 4] parallel 2 : ([1, 2], [0, 2]) -> ([0, 1, 2])> : (tensor<3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32> {
// CHECK: func.return %y : tensor<2x3x4xf32>
func.func @smaller(%x: tensor<3x5xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<5x4xf32> {mir.name = "w", mir.kind = "param"}, %b: tensor<2x1x4xf32> {mir.name = "b", mir.kind = "param"}) -> tensor<2x3x4xf32> {
  %h = mir.matmul %x, %w : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
  %y = mir.add %h, %b : (tensor<3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  func.return %y : tensor<2x3x4xf32>
}

// -----

// A product of two values that are nowhere in memory is stored: to compute it again, they would be computed again too.
// CHECK-LABEL: func.func @kept(%x: tensor<8x128xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<128x128xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<8x128xf32> {
// CHECK-NEXT: %0, %1 = mir.fusion(%x) loops <[8, 128] parallel 1 : ([0, 1]) -> ([0, 1], [0, 1])> : (tensor<8x128xf32>) -> (tensor<8x128xf32>, tensor<8x128xf32>) {
// CHECK-NEXT: ^bb0(%x_1: tensor<8x128xf32>):
// CHECK-NEXT: %2 = mir.exp %x_1 : tensor<8x128xf32>
// CHECK-NEXT: %3 = mir.tanh %x_1 : tensor<8x128xf32>
// CHECK-NEXT: %4 = mir.mul %2, %3 : (tensor<8x128xf32>, tensor<8x128xf32>) -> tensor<8x128xf32>
// CHECK-NEXT: %5 = mir.sin %4 : tensor<8x128xf32>
// CHECK-NEXT: mir.yield %4, %5 : tensor<8x128xf32>, tensor<8x128xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %2 = mir.fusion(%1, %w, %0) loops <[8, 128] parallel 1 : (operand, operand, [0, 1]) -> ([0, 1])> : (tensor<8x128xf32>, tensor<128x128xf32>, tensor<8x128xf32>) -> tensor<8x128xf32> {
// CHECK-NEXT: ^bb0(%3: tensor<8x128xf32>, %w_1: tensor<128x128xf32>, %4: tensor<8x128xf32>):
// CHECK-NEXT: %5 = mir.matmul %3, %w_1 : (tensor<8x128xf32>, tensor<128x128xf32>) -> tensor<8x128xf32>
// CHECK-NEXT: %6 = mir.add %5, %4 : (tensor<8x128xf32>, tensor<8x128xf32>) -> tensor<8x128xf32>
// CHECK-NEXT: mir.yield %6 : tensor<8x128xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %2 : tensor<8x128xf32>
// CHECK-NEXT: }
func.func @kept(%x: tensor<8x128xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<128x128xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<8x128xf32> {
  %0 = mir.exp %x : tensor<8x128xf32>
  %1 = mir.tanh %x : tensor<8x128xf32>
  %2 = mir.mul %0, %1 : (tensor<8x128xf32>, tensor<8x128xf32>) -> tensor<8x128xf32>
  %3 = mir.sin %2 : tensor<8x128xf32>
  %4 = mir.matmul %3, %w : (tensor<8x128xf32>, tensor<128x128xf32>) -> tensor<8x128xf32>
  %5 = mir.add %4, %2 : (tensor<8x128xf32>, tensor<8x128xf32>) -> tensor<8x128xf32>
  func.return %5 : tensor<8x128xf32>
}

// -----

// The ops of a body are grouped among themselves.
// CHECK-LABEL: func.func @bodies(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %a = mir.fusion(%x) loops <[4] parallel 0 : ([0]) -> ([0])> : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: ^bb0(%x_1: tensor<4xf32>):
// CHECK-NEXT: %a_1 = mir.exp %x_1 : tensor<4xf32>
// CHECK-NEXT: mir.yield %a_1 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %y = mir.remat captured(%a : tensor<4xf32>) -> (tensor<4xf32>) {
// CHECK-NEXT: ^bb0(%v: tensor<4xf32>):
// CHECK-NEXT: %t = mir.fusion(%v) loops <[4] parallel 0 : ([0]) -> ([0])> : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: ^bb0(%v_1: tensor<4xf32>):
// CHECK-NEXT: %s = mir.sin %v_1 : tensor<4xf32>
// CHECK-NEXT: %t_1 = mir.cos %s : tensor<4xf32>
// CHECK-NEXT: mir.yield %t_1 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: mir.yield %t : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %z = mir.if %p : tensor<i1> captured(%y : tensor<4xf32>) -> (tensor<4xf32>) {
// CHECK-NEXT: ^bb0(%v: tensor<4xf32>):
// CHECK-NEXT: %t = mir.fusion(%v) loops <[4] parallel 0 : ([0]) -> ([0])> : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: ^bb0(%v_1: tensor<4xf32>):
// CHECK-NEXT: %s = mir.sin %v_1 : tensor<4xf32>
// CHECK-NEXT: %t_1 = mir.cos %s : tensor<4xf32>
// CHECK-NEXT: mir.yield %t_1 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: mir.yield %t : tensor<4xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: ^bb0(%v_1: tensor<4xf32>):
// CHECK-NEXT: mir.yield %v_1 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %r = mir.fusion(%z) loops <[4] parallel 0 : ([0]) -> ([0])> : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: ^bb0(%z_1: tensor<4xf32>):
// CHECK-NEXT: %r_1 = mir.tanh %z_1 : tensor<4xf32>
// CHECK-NEXT: mir.yield %r_1 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %r : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
func.func @bodies(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = mir.exp %x : tensor<4xf32>
  %y = mir.remat captured(%a : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%v: tensor<4xf32>):
    %s = mir.sin %v : tensor<4xf32>
    %t = mir.cos %s : tensor<4xf32>
    mir.yield %t : tensor<4xf32>
  }
  %z = mir.if %p : tensor<i1> captured(%y : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%v: tensor<4xf32>):
    %s = mir.sin %v : tensor<4xf32>
    %t = mir.cos %s : tensor<4xf32>
    mir.yield %t : tensor<4xf32>
  } else {
  ^bb0(%v: tensor<4xf32>):
    mir.yield %v : tensor<4xf32>
  }
  %r = mir.tanh %z : tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// What differs in a number only has it as an input; 2.0 is in both.
// CHECK-LABEL: func.func @numbers(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
// CHECK-NEXT: %k = mir.constant dense<3.000000e-01> : tensor<f32>
// CHECK-NEXT: %s = mir.fusion(%x, %k) loops <[2, 2] parallel 1 : ([0, 1], []) -> ([0, 1])> : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32> {
// CHECK-NEXT: ^bb0(%x_1: tensor<2x2xf32>, %k_1: tensor<f32>):
// CHECK-NEXT: %0 = mir.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: %a = mir.mul %x_1, %k_1 : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
// CHECK-NEXT: %b = mir.add %a, %0 : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
// CHECK-NEXT: %1 = mir.reduce_max %b axes [1] : (tensor<2x2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %2 = mir.reshape %1 : tensor<2xf32> to tensor<2x1xf32>
// CHECK-NEXT: %3 = mir.stop_gradient %2 : tensor<2x1xf32>
// CHECK-NEXT: %4 = mir.sub %b, %3 : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %5 = mir.exp %4 : tensor<2x2xf32>
// CHECK-NEXT: %6 = mir.reduce_sum %5 axes [1] : (tensor<2x2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %7 = mir.reshape %6 : tensor<2xf32> to tensor<2x1xf32>
// CHECK-NEXT: %s_1 = mir.div %5, %7 : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: mir.yield %s_1 : tensor<2x2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %t = mir.transpose %s perm [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %l = mir.constant dense<7.000000e-01> : tensor<f32>
// CHECK-NEXT: %u = mir.fusion(%t, %l) loops <[2, 2] parallel 1 : ([0, 1], []) -> ([0, 1])> : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32> {
// CHECK-NEXT: ^bb0(%t_1: tensor<2x2xf32>, %l_1: tensor<f32>):
// CHECK-NEXT: %0 = mir.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: %c = mir.mul %t_1, %l_1 : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
// CHECK-NEXT: %d = mir.add %c, %0 : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
// CHECK-NEXT: %1 = mir.reduce_max %d axes [1] : (tensor<2x2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %2 = mir.reshape %1 : tensor<2xf32> to tensor<2x1xf32>
// CHECK-NEXT: %3 = mir.stop_gradient %2 : tensor<2x1xf32>
// CHECK-NEXT: %4 = mir.sub %d, %3 : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %5 = mir.exp %4 : tensor<2x2xf32>
// CHECK-NEXT: %6 = mir.reduce_sum %5 axes [1] : (tensor<2x2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %7 = mir.reshape %6 : tensor<2xf32> to tensor<2x1xf32>
// CHECK-NEXT: %u_1 = mir.div %5, %7 : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: mir.yield %u_1 : tensor<2x2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %u : tensor<2x2xf32>
// CHECK-NEXT: }
func.func @numbers(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %2 = mir.constant dense<2.0> : tensor<f32>
  %k = mir.constant dense<0.3> : tensor<f32>
  %l = mir.constant dense<0.7> : tensor<f32>
  %a = mir.mul %x, %k : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %b = mir.add %a, %2 : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %s = mir.softmax %b axis -1 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %t = mir.transpose %s perm [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %c = mir.mul %t, %l : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %d = mir.add %c, %2 : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %u = mir.softmax %d axis -1 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %u : tensor<2x2xf32>
}

// -----

// Values are defined before they are used.
// CHECK: mir.exp: operand 0 %z (a result of mir.neg) is used before it is defined
func.func @order(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xf32> {
  %y = mir.exp %z : tensor<3xf32>
  %z = mir.neg %x : tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// -----

// What is another view of its operand only is left for the lowering, which needs no memory for it.
// CHECK-LABEL: func.func @views
// CHECK-NEXT: %0 = mir.transpose %x perm [2, 0, 1] : (tensor<9x1x8xf32>) -> tensor<8x9x1xf32>
// CHECK-NEXT: %1 = mir.reshape %0 : tensor<8x9x1xf32> to tensor<8x9xf32>
// CHECK-NEXT: %2 = mir.fusion(%1, %y) loops <[8, 8] parallel 1 : (operand, operand) -> ([0, 1])> : (tensor<8x9xf32>, tensor<9x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT: ^bb0(%3: tensor<8x9xf32>, %y_1: tensor<9x8xf32>):
// CHECK-NEXT: %4 = mir.matmul %3, %y_1 : (tensor<8x9xf32>, tensor<9x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: mir.yield %4 : tensor<8x8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %2 : tensor<8x8xf32>
func.func @views(%x: tensor<9x1x8xf32>, %y: tensor<9x8xf32>) -> tensor<8x8xf32> {
  %0 = mir.transpose %x perm [2, 0, 1] : (tensor<9x1x8xf32>) -> tensor<8x9x1xf32>
  %1 = mir.reshape %0 : tensor<8x9x1xf32> to tensor<8x9xf32>
  %2 = mir.matmul %1, %y : (tensor<8x9xf32>, tensor<9x8xf32>) -> tensor<8x8xf32>
  func.return %2 : tensor<8x8xf32>
}

// -----

// Random words that all rows read are computed once, in a kernel of their own; what is made of them is not stored.
// CHECK-LABEL: func.func @words_of_all_rows
// CHECK: mir.fusion
// CHECK: mir.threefry2x32
// CHECK: mir.yield
// CHECK: mir.fusion
// CHECK-NOT: mir.threefry2x32
// CHECK: mir.and
func.func @words_of_all_rows(%key: tensor<ui32> {mir.name = "key", mir.kind = "input"}, %counter: tensor<32xui32> {mir.name = "counter", mir.kind = "input"}, %x: tensor<64x32xui32> {mir.name = "x", mir.kind = "input"}) -> tensor<64x32xui32> {
  %words = mir.threefry2x32 %key, %key, %counter, %counter word 0 : (tensor<ui32>, tensor<ui32>, tensor<32xui32>, tensor<32xui32>) -> tensor<32xui32>
  %other = mir.xor %words, %counter : (tensor<32xui32>, tensor<32xui32>) -> tensor<32xui32>
  %y = mir.and %x, %other : (tensor<64x32xui32>, tensor<32xui32>) -> tensor<64x32xui32>
  func.return %y : tensor<64x32xui32>
}

// -----

// Words of each element are part of the kernel that reads them.
// CHECK-LABEL: func.func @words_of_each
// CHECK: mir.fusion
// CHECK: mir.threefry2x32
// CHECK-NEXT: mir.and
// CHECK-NOT: mir.fusion
// CHECK: func.return
func.func @words_of_each(%key: tensor<ui32> {mir.name = "key", mir.kind = "input"}, %x: tensor<64x32xui32> {mir.name = "x", mir.kind = "input"}) -> tensor<64x32xui32> {
  %words = mir.threefry2x32 %key, %key, %x, %x word 0 : (tensor<ui32>, tensor<ui32>, tensor<64x32xui32>, tensor<64x32xui32>) -> tensor<64x32xui32>
  %y = mir.and %x, %words : (tensor<64x32xui32>, tensor<64x32xui32>) -> tensor<64x32xui32>
  func.return %y : tensor<64x32xui32>
}

// -----

// Functions of single rows are a kernel of vectors, where they take long beside the row.
// CHECK-LABEL: func.func @single(%x: tensor<64x8xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<64xf32> {
// CHECK-NEXT: %0 = mir.fusion(%x) loops <[64, 8] parallel 1 : ([0, 1]) -> ([0])> : (tensor<64x8xf32>) -> tensor<64xf32> {
// CHECK-NEXT: ^bb0(%x_1: tensor<64x8xf32>):
// CHECK-NEXT: %1 = mir.reduce_sum %x_1 axes [1] : (tensor<64x8xf32>) -> tensor<64xf32>
// CHECK-NEXT: mir.yield %1 : tensor<64xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %1 = mir.fusion(%0) loops <[64] parallel 0 : ([0]) -> ([0])> : (tensor<64xf32>) -> tensor<64xf32> {
// CHECK-NEXT: ^bb0(%2: tensor<64xf32>):
// CHECK-NEXT: %3 = mir.exp %2 : tensor<64xf32>
// CHECK-NEXT: %4 = mir.log1p %3 : tensor<64xf32>
// CHECK-NEXT: mir.yield %4 : tensor<64xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %1 : tensor<64xf32>
// CHECK-NEXT: }
func.func @single(%x: tensor<64x8xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<64xf32> {
  %0 = mir.reduce_sum %x axes [1] : (tensor<64x8xf32>) -> tensor<64xf32>
  %1 = mir.exp %0 : tensor<64xf32>
  %2 = mir.log1p %1 : tensor<64xf32>
  func.return %2 : tensor<64xf32>
}

// -----

// A function of a row that is broadcast over many rows has a kernel of its own, a cheap one does not.
// CHECK-LABEL: func.func @outer
// CHECK: mir.fusion(%y) loops <[400] parallel 0
// CHECK: mir.sqrt
// CHECK: mir.yield
// CHECK: mir.fusion(%x, %0, %y) loops <[300, 400] parallel 1
// CHECK-NOT: mir.sqrt
// CHECK: mir.abs
// CHECK: func.return
func.func @outer(%x: tensor<300x1xf32> {mir.name = "x", mir.kind = "input"}, %y: tensor<1x400xf32> {mir.name = "y", mir.kind = "input"}) -> tensor<300x400xf32> {
  %0 = mir.mul %y, %y : (tensor<1x400xf32>, tensor<1x400xf32>) -> tensor<1x400xf32>
  %1 = mir.sqrt %0 : tensor<1x400xf32>
  %2 = mir.mul %x, %1 : (tensor<300x1xf32>, tensor<1x400xf32>) -> tensor<300x400xf32>
  %3 = mir.abs %y : tensor<1x400xf32>
  %4 = mir.add %2, %3 : (tensor<300x400xf32>, tensor<1x400xf32>) -> tensor<300x400xf32>
  func.return %4 : tensor<300x400xf32>
}

// -----

// The same over few rows is one kernel.
// CHECK-LABEL: func.func @few_rows
// CHECK: mir.fusion(%y, %x) loops <[3, 400] parallel 1
// CHECK: mir.sqrt
// CHECK-NOT: mir.fusion
// CHECK: func.return
func.func @few_rows(%x: tensor<3x1xf32> {mir.name = "x", mir.kind = "input"}, %y: tensor<1x400xf32> {mir.name = "y", mir.kind = "input"}) -> tensor<3x400xf32> {
  %0 = mir.sqrt %y : tensor<1x400xf32>
  %1 = mir.mul %x, %0 : (tensor<3x1xf32>, tensor<1x400xf32>) -> tensor<3x400xf32>
  func.return %1 : tensor<3x400xf32>
}
