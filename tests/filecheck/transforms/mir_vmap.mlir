// RUN: xdsl-opt %s -p 'mir-vmap{inputs=x size=8}' --split-input-file --verify-diagnostics | filecheck %s

// The function of a batch: what the new axis reaches has it in front, the rest is computed once.

// A weight is shared; what depends on it alone is computed once, and repeated where it is returned.
// CHECK-LABEL: func.func @f_vmap(%x: tensor<8x4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x2xf32> {mir.name = "w", mir.kind = "param"}) -> (tensor<8x4x2xf32>, tensor<8x3x2xf32>) {
// CHECK-NEXT: %s = mir.tanh %w : tensor<3x2xf32>
// CHECK-NEXT: %y = mir.matmul %x, %s : (tensor<8x4x3xf32>, tensor<3x2xf32>) -> tensor<8x4x2xf32>
// CHECK-NEXT: %0 = mir.expand %s : tensor<3x2xf32> to tensor<8x3x2xf32>
// CHECK-NEXT: func.return %y, %0 : tensor<8x4x2xf32>, tensor<8x3x2xf32>
// CHECK-NEXT: }
func.func @f(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x2xf32> {mir.name = "w", mir.kind = "param"}) -> (tensor<4x2xf32>, tensor<3x2xf32>) {
  %s = mir.tanh %w : tensor<3x2xf32>
  %y = mir.matmul %x, %s : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  func.return %y, %s : tensor<4x2xf32>, tensor<3x2xf32>
}

// -----

// An operand of lower rank gets axes of 1 behind the new one; what has no such axis broadcasts as it is.
// CHECK-LABEL: func.func @ranks_vmap(%x: tensor<8x3xf32> {mir.name = "x", mir.kind = "input"}, %c: tensor<2x3xf32> {mir.name = "c", mir.kind = "input"}) -> tensor<8x2x3xf32> {
// CHECK-NEXT: %k = mir.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: %d = mir.mul %x, %k : (tensor<8x3xf32>, tensor<f32>) -> tensor<8x3xf32>
// CHECK-NEXT: %0 = mir.reshape %d : tensor<8x3xf32> to tensor<8x1x3xf32>
// CHECK-NEXT: %y = mir.add %0, %c : (tensor<8x1x3xf32>, tensor<2x3xf32>) -> tensor<8x2x3xf32>
// CHECK-NEXT: func.return %y : tensor<8x2x3xf32>
// CHECK-NEXT: }
func.func @ranks(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}, %c: tensor<2x3xf32> {mir.name = "c", mir.kind = "input"}) -> (tensor<2x3xf32>) {
  %k = mir.constant dense<2.0> : tensor<f32>
  %d = mir.mul %x, %k : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %y = mir.add %d, %c : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// -----

// Axes counted from the front move up, those from the back stay.
// CHECK-LABEL: func.func @axes_vmap(%x: tensor<8x4x3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<8x4xf32> {
// CHECK-NEXT: %s = mir.softmax %x axis -1 : (tensor<8x4x3xf32>) -> tensor<8x4x3xf32>
// CHECK-NEXT: %t = mir.softmax %s axis 1 : (tensor<8x4x3xf32>) -> tensor<8x4x3xf32>
// CHECK-NEXT: %y = mir.reduce_sum %t axes [2] : (tensor<8x4x3xf32>) -> tensor<8x4xf32>
// CHECK-NEXT: func.return %y : tensor<8x4xf32>
// CHECK-NEXT: }
func.func @axes(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<4xf32>) {
  %s = mir.softmax %x axis -1 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %t = mir.softmax %s axis 0 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %y = mir.reduce_sum %t axes [1] : (tensor<4x3xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A gain for each example is not what the op takes: its definition is batched.
// CHECK-LABEL: func.func @definition_vmap(%c: tensor<4x3xf32> {mir.name = "c", mir.kind = "input"}, %x: tensor<8x3xf32> {mir.name = "x", mir.kind = "param"}) -> tensor<8x4x3xf32> {
// CHECK-NEXT: %0 = mir.reduce_mean %c axes [1] keep_dim : (tensor<4x3xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: %1 = mir.sub %c, %0 : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %2 = mir.mul %1, %1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %3 = mir.reduce_mean %2 axes [1] keep_dim : (tensor<4x3xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: %4 = mir.constant dense<1.000000e-05> : tensor<f32>
// CHECK-NEXT: %5 = mir.add %3, %4 : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
// CHECK-NEXT: %6 = mir.rsqrt %5 : tensor<4x1xf32>
// CHECK-NEXT: %7 = mir.mul %1, %6 : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %8 = mir.reshape %x : tensor<8x3xf32> to tensor<8x1x3xf32>
// CHECK-NEXT: %9 = mir.mul %7, %8 : (tensor<4x3xf32>, tensor<8x1x3xf32>) -> tensor<8x4x3xf32>
// CHECK-NEXT: %10 = mir.reshape %x : tensor<8x3xf32> to tensor<8x1x3xf32>
// CHECK-NEXT: %y = mir.add %9, %10 : (tensor<8x4x3xf32>, tensor<8x1x3xf32>) -> tensor<8x4x3xf32>
// CHECK-NEXT: func.return %y : tensor<8x4x3xf32>
// CHECK-NEXT: }
func.func @definition(%c: tensor<4x3xf32> {mir.name = "c", mir.kind = "input"}, %x: tensor<3xf32> {mir.name = "x", mir.kind = "param"}) -> (tensor<4x3xf32>) {
  %y = mir.layer_norm %c, %x, %x axis 1 eps 1.000000e-05 : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}

// -----

// What is not batched keeps its op, here with the gain that all share.
// CHECK-LABEL: func.func @shared_vmap(%x: tensor<8x4x3xf32> {mir.name = "x", mir.kind = "input"}, %gamma: tensor<3xf32> {mir.name = "gamma", mir.kind = "param"}) -> tensor<8x4x3xf32> {
// CHECK-NEXT: %y = mir.layer_norm %x, %gamma, %gamma axis 2 eps 1.000000e-05 : (tensor<8x4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<8x4x3xf32>
// CHECK-NEXT: func.return %y : tensor<8x4x3xf32>
// CHECK-NEXT: }
func.func @shared(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %gamma: tensor<3xf32> {mir.name = "gamma", mir.kind = "param"}) -> (tensor<4x3xf32>) {
  %y = mir.layer_norm %x, %gamma, %gamma axis 1 eps 1.000000e-05 : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}

// -----

// The shapes that ops say are those of one example.
// CHECK-LABEL: func.func @moves_vmap(%x: tensor<8x3x2xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<8x6xf32>, tensor<8x2x3xf32>, tensor<8x4x3x2xf32>) {
// CHECK-NEXT: %a = mir.reshape %x : tensor<8x3x2xf32> to tensor<8x6xf32>
// CHECK-NEXT: %b = mir.transpose %x perm [0, 2, 1] : (tensor<8x3x2xf32>) -> tensor<8x2x3xf32>
// CHECK-NEXT: %0 = mir.reshape %x : tensor<8x3x2xf32> to tensor<8x1x3x2xf32>
// CHECK-NEXT: %c = mir.expand %0 : tensor<8x1x3x2xf32> to tensor<8x4x3x2xf32>
// CHECK-NEXT: func.return %a, %b, %c : tensor<8x6xf32>, tensor<8x2x3xf32>, tensor<8x4x3x2xf32>
// CHECK-NEXT: }
func.func @moves(%x: tensor<3x2xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<6xf32>, tensor<2x3xf32>, tensor<4x3x2xf32>) {
  %a = mir.reshape %x : tensor<3x2xf32> to tensor<6xf32>
  %b = mir.transpose %x perm [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %c = mir.expand %x : tensor<3x2xf32> to tensor<4x3x2xf32>
  func.return %a, %b, %c : tensor<6xf32>, tensor<2x3xf32>, tensor<4x3x2xf32>
}

// -----

// An op whose leading axes are batch, and that does not broadcast, gets all of its operands with the new one.
// CHECK-LABEL: func.func @leading_vmap(%x: tensor<8x3x2xf32> {mir.name = "x", mir.kind = "input"}, %y: tensor<1x2xf32> {mir.name = "y", mir.kind = "input"}, %labels: tensor<3xi32> {mir.name = "labels", mir.kind = "input"}) -> (tensor<8x4x2xf32>, tensor<8x3xf32>) {
// CHECK-NEXT: %0 = mir.expand %y : tensor<1x2xf32> to tensor<8x1x2xf32>
// CHECK-NEXT: %a = mir.concat %x, %0 axis 1 : (tensor<8x3x2xf32>, tensor<8x1x2xf32>) -> tensor<8x4x2xf32>
// CHECK-NEXT: %1 = mir.expand %labels : tensor<3xi32> to tensor<8x3xi32>
// CHECK-NEXT: %b = mir.softmax_cross_entropy_with_logits %x, %1 : (tensor<8x3x2xf32>, tensor<8x3xi32>) -> tensor<8x3xf32>
// CHECK-NEXT: func.return %a, %b : tensor<8x4x2xf32>, tensor<8x3xf32>
// CHECK-NEXT: }
func.func @leading(%x: tensor<3x2xf32> {mir.name = "x", mir.kind = "input"}, %y: tensor<1x2xf32> {mir.name = "y", mir.kind = "input"}, %labels: tensor<3xi32> {mir.name = "labels", mir.kind = "input"}) -> (tensor<4x2xf32>, tensor<3xf32>) {
  %a = mir.concat %x, %y axis 0 : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
  %b = mir.softmax_cross_entropy_with_logits %x, %labels : (tensor<3x2xf32>, tensor<3xi32>) -> tensor<3xf32>
  func.return %a, %b : tensor<4x2xf32>, tensor<3xf32>
}

// -----

// A fused layer takes inputs or weights with the axis, but its bias is not larger than the product.
// CHECK-LABEL: func.func @fused_vmap(%x: tensor<8x4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x4xf32> {mir.name = "w", mir.kind = "param"}, %b: tensor<4xf32> {mir.name = "b", mir.kind = "param"}, %t: tensor<4x3xf32> {mir.name = "t", mir.kind = "input"}, %v: tensor<3x3xf32> {mir.name = "v", mir.kind = "param"}) -> (tensor<8x4x4xf32>, tensor<8x4x3xf32>) {
// CHECK-NEXT: %a = mir.fused_matmul_bias_act %x, %w, %b activation relu : (tensor<8x4x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<8x4x4xf32>
// CHECK-NEXT: %0 = mir.matmul %t, %v : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %c = mir.add %0, %x : (tensor<4x3xf32>, tensor<8x4x3xf32>) -> tensor<8x4x3xf32>
// CHECK-NEXT: func.return %a, %c : tensor<8x4x4xf32>, tensor<8x4x3xf32>
// CHECK-NEXT: }
func.func @fused(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x4xf32> {mir.name = "w", mir.kind = "param"}, %b: tensor<4xf32> {mir.name = "b", mir.kind = "param"}, %t: tensor<4x3xf32> {mir.name = "t", mir.kind = "input"}, %v: tensor<3x3xf32> {mir.name = "v", mir.kind = "param"}) -> (tensor<4x4xf32>, tensor<4x3xf32>) {
  %a = mir.fused_matmul_bias_act %x, %w, %b activation relu : (tensor<4x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %c = mir.fused_matmul_bias_act %t, %v, %x : (tensor<4x3xf32>, tensor<3x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %a, %c : tensor<4x4xf32>, tensor<4x3xf32>
}

// -----

// Tables for each example are one more outer axis of the gather, indices one more axis of the indices.
// CHECK-LABEL: func.func @tables_vmap(%x: tensor<8x5x2xf32> {mir.name = "x", mir.kind = "input"}, %i: tensor<3xi32> {mir.name = "i", mir.kind = "input"}) -> tensor<8x3x2xf32> {
// CHECK-NEXT: %y = mir.gather %x, %i axis 1 batch_dims 0 : (tensor<8x5x2xf32>, tensor<3xi32>) -> tensor<8x3x2xf32>
// CHECK-NEXT: func.return %y : tensor<8x3x2xf32>
// CHECK-NEXT: }
func.func @tables(%x: tensor<5x2xf32> {mir.name = "x", mir.kind = "input"}, %i: tensor<3xi32> {mir.name = "i", mir.kind = "input"}) -> tensor<3x2xf32> {
  %y = mir.gather %x, %i axis 0 batch_dims 0 : (tensor<5x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
  func.return %y : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: func.func @indices_vmap(%t: tensor<5x2xf32> {mir.name = "t", mir.kind = "input"}, %x: tensor<8x3xi32> {mir.name = "x", mir.kind = "input"}) -> (tensor<8x3x2xf32>, tensor<8x5x2xf32>) {
// CHECK-NEXT: %y = mir.gather %t, %x axis 0 batch_dims 0 : (tensor<5x2xf32>, tensor<8x3xi32>) -> tensor<8x3x2xf32>
// CHECK-NEXT: %z = mir.scatter_add %y, %x axis 1 batch_dims 1 extent 5 : (tensor<8x3x2xf32>, tensor<8x3xi32>) -> tensor<8x5x2xf32>
// CHECK-NEXT: func.return %y, %z : tensor<8x3x2xf32>, tensor<8x5x2xf32>
// CHECK-NEXT: }
func.func @indices(%t: tensor<5x2xf32> {mir.name = "t", mir.kind = "input"}, %x: tensor<3xi32> {mir.name = "x", mir.kind = "input"}) -> (tensor<3x2xf32>, tensor<5x2xf32>) {
  %y = mir.gather %t, %x axis 0 batch_dims 0 : (tensor<5x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
  %z = mir.scatter_add %y, %x axis 0 batch_dims 0 extent 5 : (tensor<3x2xf32>, tensor<3xi32>) -> tensor<5x2xf32>
  func.return %y, %z : tensor<3x2xf32>, tensor<5x2xf32>
}

// -----

// An unknown name is answered with the known ones.
// CHECK: mir-vmap: @other has no argument "x"; it has y
func.func @other(%y: tensor<3xf32> {mir.name = "y", mir.kind = "input"}) -> tensor<3xf32> {
  func.return %y : tensor<3xf32>
}
