// RUN: xdsl-opt %s -p mir-raise-composites --split-input-file | filecheck %s

// What is spelled out becomes the composite op that it is; what only looks like one stays.

// Product, bias on either side, activation.
// CHECK-LABEL: func.func @product(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x6xf32> {mir.name = "w", mir.kind = "input"}, %b: tensor<6xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<4x6xf32> {
// CHECK-NEXT: %0 = mir.fused_matmul_bias_act %x, %w, %b activation relu : (tensor<4x3xf32>, tensor<3x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: func.return %0 : tensor<4x6xf32>
// CHECK-NEXT: }
func.func @product(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x6xf32> {mir.name = "w", mir.kind = "input"}, %b: tensor<6xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<4x6xf32> {
  %0 = mir.matmul %x, %w : (tensor<4x3xf32>, tensor<3x6xf32>) -> tensor<4x6xf32>
  %1 = mir.add %b, %0 : (tensor<6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = mir.relu %1 : tensor<4x6xf32>
  func.return %2 : tensor<4x6xf32>
}

// -----

// A product that is an output stays one (the output counts as a use), and so does the sum behind it.
// CHECK-LABEL: func.func @product_is_an_output(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x6xf32> {mir.name = "w", mir.kind = "input"}, %b: tensor<6xf32> {mir.name = "b", mir.kind = "input"}) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
// CHECK-NEXT: %0 = mir.matmul %x, %w : (tensor<4x3xf32>, tensor<3x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %1 = mir.add %0, %b : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: func.return %0, %1 : tensor<4x6xf32>, tensor<4x6xf32>
// CHECK-NEXT: }
func.func @product_is_an_output(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x6xf32> {mir.name = "w", mir.kind = "input"}, %b: tensor<6xf32> {mir.name = "b", mir.kind = "input"}) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %0 = mir.matmul %x, %w : (tensor<4x3xf32>, tensor<3x6xf32>) -> tensor<4x6xf32>
  %1 = mir.add %0, %b : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  func.return %0, %1 : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// A sum that is an output keeps the activation out, not the bias.
// CHECK-LABEL: func.func @sum_is_an_output(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x6xf32> {mir.name = "w", mir.kind = "input"}, %b: tensor<6xf32> {mir.name = "b", mir.kind = "input"}) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
// CHECK-NEXT: %0 = mir.fused_matmul_bias_act %x, %w, %b : (tensor<4x3xf32>, tensor<3x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %1 = mir.gelu %0 : tensor<4x6xf32>
// CHECK-NEXT: func.return %0, %1 : tensor<4x6xf32>, tensor<4x6xf32>
// CHECK-NEXT: }
func.func @sum_is_an_output(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x6xf32> {mir.name = "w", mir.kind = "input"}, %b: tensor<6xf32> {mir.name = "b", mir.kind = "input"}) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %0 = mir.matmul %x, %w : (tensor<4x3xf32>, tensor<3x6xf32>) -> tensor<4x6xf32>
  %1 = mir.add %0, %b : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %2 = mir.gelu %1 : tensor<4x6xf32>
  func.return %1, %2 : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// What is added makes the product larger: no bias.
// CHECK-LABEL: func.func @bias_broadcasts_the_product(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x6xf32> {mir.name = "w", mir.kind = "input"}, %b: tensor<2x4x6xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<2x4x6xf32> {
// CHECK-NEXT: %0 = mir.matmul %x, %w : (tensor<4x3xf32>, tensor<3x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %1 = mir.add %0, %b : (tensor<4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
// CHECK-NEXT: func.return %1 : tensor<2x4x6xf32>
// CHECK-NEXT: }
func.func @bias_broadcasts_the_product(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x6xf32> {mir.name = "w", mir.kind = "input"}, %b: tensor<2x4x6xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<2x4x6xf32> {
  %0 = mir.matmul %x, %w : (tensor<4x3xf32>, tensor<3x6xf32>) -> tensor<4x6xf32>
  %1 = mir.add %0, %b : (tensor<4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  func.return %1 : tensor<2x4x6xf32>
}

// -----

// A layer norm by hand, its gain and offset one after the other.
// CHECK-LABEL: func.func @layer_norm(%x: tensor<4x6xf32> {mir.name = "x", mir.kind = "input"}, %g: tensor<6xf32> {mir.name = "g", mir.kind = "input"}, %b: tensor<6xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<4x6xf32> {
// CHECK-NEXT: %0 = mir.layer_norm %x, %g, %b axis 1 eps 1.000000e-05 : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: func.return %0 : tensor<4x6xf32>
// CHECK-NEXT: }
func.func @layer_norm(%x: tensor<4x6xf32> {mir.name = "x", mir.kind = "input"}, %g: tensor<6xf32> {mir.name = "g", mir.kind = "input"}, %b: tensor<6xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<4x6xf32> {
  %eps = mir.constant dense<1.0e-5> : tensor<f32>
  %mean = mir.reduce_mean %x axes [1] keep_dim : (tensor<4x6xf32>) -> tensor<4x1xf32>
  %c = mir.sub %x, %mean : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  %sq = mir.mul %c, %c : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %var = mir.reduce_mean %sq axes [1] keep_dim : (tensor<4x6xf32>) -> tensor<4x1xf32>
  %safe = mir.add %var, %eps : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %r = mir.rsqrt %safe : tensor<4x1xf32>
  %n = mir.mul %c, %r : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  %0 = mir.mul %g, %n : (tensor<6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = mir.add %0, %b : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  func.return %1 : tensor<4x6xf32>
}

// -----

// A mean that is not kept broadcasts along the other axis of a square: no layer norm.
// CHECK-LABEL: func.func @mean_along_the_other_axis(%x: tensor<4x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x4xf32> {
// CHECK-NEXT: %eps = mir.constant dense<1.000000e-05> : tensor<f32>
// CHECK-NEXT: %mean = mir.reduce_mean %x axes [1] : (tensor<4x4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %c = mir.sub %x, %mean : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %sq = mir.mul %c, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %var = mir.reduce_mean %sq axes [1] : (tensor<4x4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %safe = mir.add %var, %eps : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT: %r = mir.rsqrt %safe : tensor<4xf32>
// CHECK-NEXT: %n = mir.mul %c, %r : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: func.return %n : tensor<4x4xf32>
// CHECK-NEXT: }
func.func @mean_along_the_other_axis(%x: tensor<4x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x4xf32> {
  %eps = mir.constant dense<1.0e-5> : tensor<f32>
  %mean = mir.reduce_mean %x axes [1] : (tensor<4x4xf32>) -> tensor<4xf32>
  %c = mir.sub %x, %mean : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %sq = mir.mul %c, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %var = mir.reduce_mean %sq axes [1] : (tensor<4x4xf32>) -> tensor<4xf32>
  %safe = mir.add %var, %eps : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %r = mir.rsqrt %safe : tensor<4xf32>
  %n = mir.mul %c, %r : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  func.return %n : tensor<4x4xf32>
}

// -----

// A gain along the other axis stays outside.
// CHECK-LABEL: func.func @gain_along_the_other_axis(%x: tensor<4x4xf32> {mir.name = "x", mir.kind = "input"}, %g: tensor<4x1xf32> {mir.name = "g", mir.kind = "input"}) -> tensor<4x4xf32> {
// CHECK-NEXT: %0 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<4xf32>
// CHECK-NEXT: %2 = mir.constant dense<-0.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = mir.expand %2 : tensor<f32> to tensor<4xf32>
// CHECK-NEXT: %n = mir.layer_norm %x, %1, %3 axis 1 eps 1.000000e-05 : (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %4 = mir.mul %n, %g : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: func.return %4 : tensor<4x4xf32>
// CHECK-NEXT: }
func.func @gain_along_the_other_axis(%x: tensor<4x4xf32> {mir.name = "x", mir.kind = "input"}, %g: tensor<4x1xf32> {mir.name = "g", mir.kind = "input"}) -> tensor<4x4xf32> {
  %eps = mir.constant dense<1.0e-5> : tensor<f32>
  %mean = mir.reduce_mean %x axes [1] keep_dim : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %c = mir.sub %x, %mean : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %sq = mir.mul %c, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %var = mir.reduce_mean %sq axes [1] keep_dim : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %safe = mir.add %var, %eps : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %r = mir.rsqrt %safe : tensor<4x1xf32>
  %n = mir.mul %c, %r : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %0 = mir.mul %n, %g : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  func.return %0 : tensor<4x4xf32>
}

// -----

// A sum, a bias and a layer norm along the last axis.
// CHECK-LABEL: func.func @residual(%x: tensor<4x6xf32> {mir.name = "x", mir.kind = "input"}, %y: tensor<4x6xf32> {mir.name = "y", mir.kind = "input"}, %v: tensor<6xf32> {mir.name = "v", mir.kind = "input"}, %g: tensor<6xf32> {mir.name = "g", mir.kind = "input"}, %b: tensor<6xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<4x6xf32> {
// CHECK-NEXT: %0 = mir.fused_residual_ln %x, %y gamma %g beta %b bias %v eps 1.000000e-05 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: func.return %0 : tensor<4x6xf32>
// CHECK-NEXT: }
func.func @residual(%x: tensor<4x6xf32> {mir.name = "x", mir.kind = "input"}, %y: tensor<4x6xf32> {mir.name = "y", mir.kind = "input"}, %v: tensor<6xf32> {mir.name = "v", mir.kind = "input"}, %g: tensor<6xf32> {mir.name = "g", mir.kind = "input"}, %b: tensor<6xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<4x6xf32> {
  %0 = mir.add %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = mir.add %v, %0 : (tensor<6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = mir.layer_norm %1, %g, %b axis -1 eps 1.0e-5 : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  func.return %2 : tensor<4x6xf32>
}

// -----

// Along another axis, of a value that broadcasts, or with the sum read by others, it stays.
// CHECK-LABEL: func.func @no_residual(%x: tensor<4x6xf32> {mir.name = "x", mir.kind = "input"}, %y: tensor<4x6xf32> {mir.name = "y", mir.kind = "input"}, %v: tensor<6xf32> {mir.name = "v", mir.kind = "input"}, %g: tensor<6xf32> {mir.name = "g", mir.kind = "input"}, %b: tensor<6xf32> {mir.name = "b", mir.kind = "input"}, %g4: tensor<4xf32> {mir.name = "g4", mir.kind = "input"}, %b4: tensor<4xf32> {mir.name = "b4", mir.kind = "input"}) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
// CHECK-NEXT: %0 = mir.add %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %1 = mir.rms_norm %0, %g4, %b4 axis 0 eps 1.000000e-05 : (tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %2 = mir.add %x, %v : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %3 = mir.rms_norm %2, %g, %b axis -1 eps 1.000000e-05 : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %4 = mir.sub %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %5 = mir.add %4, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %6 = mir.rms_norm %5, %g, %b axis -1 eps 1.000000e-05 : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: func.return %1, %3, %5, %6 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
// CHECK-NEXT: }
func.func @no_residual(%x: tensor<4x6xf32> {mir.name = "x", mir.kind = "input"}, %y: tensor<4x6xf32> {mir.name = "y", mir.kind = "input"}, %v: tensor<6xf32> {mir.name = "v", mir.kind = "input"}, %g: tensor<6xf32> {mir.name = "g", mir.kind = "input"}, %b: tensor<6xf32> {mir.name = "b", mir.kind = "input"}, %g4: tensor<4xf32> {mir.name = "g4", mir.kind = "input"}, %b4: tensor<4xf32> {mir.name = "b4", mir.kind = "input"}) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %0 = mir.add %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = mir.rms_norm %0, %g4, %b4 axis 0 eps 1.0e-5 : (tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x6xf32>
  %2 = mir.add %x, %v : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %3 = mir.rms_norm %2, %g, %b axis -1 eps 1.0e-5 : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %4 = mir.sub %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %5 = mir.add %4, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %6 = mir.rms_norm %5, %g, %b axis -1 eps 1.0e-5 : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  func.return %1, %3, %5, %6 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// The second half gates.
// CHECK-LABEL: func.func @swiglu(%x: tensor<4x12xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x6xf32> {
// CHECK-NEXT: %0 = mir.fused_swiglu %x : tensor<4x12xf32> to tensor<4x6xf32>
// CHECK-NEXT: func.return %0 : tensor<4x6xf32>
// CHECK-NEXT: }
func.func @swiglu(%x: tensor<4x12xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x6xf32> {
  %up = mir.narrow %x axis 1 start 0 len 6 : (tensor<4x12xf32>) -> tensor<4x6xf32>
  %gate = mir.narrow %x axis -1 start 6 len 6 : (tensor<4x12xf32>) -> tensor<4x6xf32>
  %0 = mir.silu %gate : tensor<4x6xf32>
  %1 = mir.mul %up, %0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %1 : tensor<4x6xf32>
}

// -----

// The first half gates.
// CHECK-LABEL: func.func @swiglu_gate_first(%x: tensor<4x12xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x6xf32> {
// CHECK-NEXT: %0 = mir.fused_swiglu %x gate_first : tensor<4x12xf32> to tensor<4x6xf32>
// CHECK-NEXT: func.return %0 : tensor<4x6xf32>
// CHECK-NEXT: }
func.func @swiglu_gate_first(%x: tensor<4x12xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x6xf32> {
  %gate = mir.narrow %x axis 1 start 0 len 6 : (tensor<4x12xf32>) -> tensor<4x6xf32>
  %up = mir.narrow %x axis 1 start 6 len 6 : (tensor<4x12xf32>) -> tensor<4x6xf32>
  %0 = mir.sigmoid %gate : tensor<4x6xf32>
  %1 = mir.mul %0, %gate : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = mir.mul %1, %up : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %2 : tensor<4x6xf32>
}

// -----

// Parts that are no halves, or lie along another axis.
// CHECK-LABEL: func.func @no_swiglu(%x: tensor<4x13xf32> {mir.name = "x", mir.kind = "input"}, %y: tensor<8x6xf32> {mir.name = "y", mir.kind = "input"}) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
// CHECK-NEXT: %0 = mir.narrow %x axis 1 start 0 len 6 : (tensor<4x13xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %1 = mir.narrow %x axis 1 start 6 len 6 : (tensor<4x13xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %2 = mir.silu %0 : tensor<4x6xf32>
// CHECK-NEXT: %3 = mir.mul %2, %1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %4 = mir.narrow %y axis 0 start 0 len 4 : (tensor<8x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %5 = mir.narrow %y axis 0 start 4 len 4 : (tensor<8x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %6 = mir.silu %4 : tensor<4x6xf32>
// CHECK-NEXT: %7 = mir.mul %6, %5 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: func.return %3, %7 : tensor<4x6xf32>, tensor<4x6xf32>
// CHECK-NEXT: }
func.func @no_swiglu(%x: tensor<4x13xf32> {mir.name = "x", mir.kind = "input"}, %y: tensor<8x6xf32> {mir.name = "y", mir.kind = "input"}) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %0 = mir.narrow %x axis 1 start 0 len 6 : (tensor<4x13xf32>) -> tensor<4x6xf32>
  %1 = mir.narrow %x axis 1 start 6 len 6 : (tensor<4x13xf32>) -> tensor<4x6xf32>
  %2 = mir.silu %0 : tensor<4x6xf32>
  %3 = mir.mul %2, %1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = mir.narrow %y axis 0 start 0 len 4 : (tensor<8x6xf32>) -> tensor<4x6xf32>
  %5 = mir.narrow %y axis 0 start 4 len 4 : (tensor<8x6xf32>) -> tensor<4x6xf32>
  %6 = mir.silu %4 : tensor<4x6xf32>
  %7 = mir.mul %6, %5 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %3, %7 : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// Activations, whatever is multiplied first.
// CHECK-LABEL: func.func @activations(%x: tensor<4x6xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
// CHECK-NEXT: %0 = mir.gelu %x : tensor<4x6xf32>
// CHECK-NEXT: %1 = mir.gelu_approx %x : tensor<4x6xf32>
// CHECK-NEXT: %2 = mir.silu %x : tensor<4x6xf32>
// CHECK-NEXT: func.return %0, %1, %2, %x : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
// CHECK-NEXT: }
func.func @activations(%x: tensor<4x6xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %one = mir.constant dense<1.0> : tensor<f32>
  %half = mir.constant dense<0.5> : tensor<f32>
  %root = mir.constant dense<0.70710678> : tensor<f32>
  %cubic = mir.constant dense<0.044715> : tensor<f32>
  %c = mir.constant dense<0.79788456> : tensor<f32>
  %0 = mir.neg %x : tensor<4x6xf32>
  %1 = mir.exp %0 : tensor<4x6xf32>
  %2 = mir.add %1, %one : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  %3 = mir.recip %2 : tensor<4x6xf32>
  %4 = mir.div %x, %2 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %5 = mir.mul %x, %root : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  %6 = mir.erf %5 : tensor<4x6xf32>
  %7 = mir.add %one, %6 : (tensor<f32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %8 = mir.mul %x, %7 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %9 = mir.mul %8, %half : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  %10 = mir.mul %x, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %11 = mir.mul %10, %cubic : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  %12 = mir.mul %11, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %13 = mir.add %x, %12 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %14 = mir.mul %13, %c : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  %15 = mir.tanh %14 : tensor<4x6xf32>
  %16 = mir.mul %half, %x : (tensor<f32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %17 = mir.add %15, %one : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  %18 = mir.mul %16, %17 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %19 = mir.sigmoid %x : tensor<4x6xf32>
  %20 = mir.mul %19, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %9, %18, %20, %x : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// Another number in it, and it is another function.
// CHECK-LABEL: func.func @no_gelu(%x: tensor<4x6xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x6xf32> {
// CHECK-NEXT: %one = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %half = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %root = mir.constant dense<7.071000e-01> : tensor<f32>
// CHECK-NEXT: %0 = mir.mul %x, %root : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
// CHECK-NEXT: %1 = mir.erf %0 : tensor<4x6xf32>
// CHECK-NEXT: %2 = mir.add %one, %1 : (tensor<f32>, tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %3 = mir.mul %x, %2 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %4 = mir.mul %3, %half : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
// CHECK-NEXT: func.return %4 : tensor<4x6xf32>
// CHECK-NEXT: }
func.func @no_gelu(%x: tensor<4x6xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x6xf32> {
  %one = mir.constant dense<1.0> : tensor<f32>
  %half = mir.constant dense<0.5> : tensor<f32>
  %root = mir.constant dense<0.7071> : tensor<f32>
  %5 = mir.mul %x, %root : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  %6 = mir.erf %5 : tensor<4x6xf32>
  %7 = mir.add %one, %6 : (tensor<f32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %8 = mir.mul %x, %7 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %9 = mir.mul %8, %half : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  func.return %9 : tensor<4x6xf32>
}

// -----

// Softmax.
// CHECK-LABEL: func.func @softmax(%x: tensor<4x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x4xf32> {
// CHECK-NEXT: %y = mir.softmax %x axis 1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: func.return %y : tensor<4x4xf32>
// CHECK-NEXT: }
func.func @softmax(%x: tensor<4x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x4xf32> {
  %top = mir.reduce_max %x axes [1] keep_dim : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %s = mir.sub %x, %top : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %e = mir.exp %s : tensor<4x4xf32>
  %t = mir.reduce_sum %e axes [1] keep_dim : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %y = mir.div %e, %t : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// -----

// Summed along another axis than the maximum is taken.
// CHECK-LABEL: func.func @softmax_of_two_axes(%x: tensor<4x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x4xf32> {
// CHECK-NEXT: %top = mir.reduce_max %x axes [1] keep_dim : (tensor<4x4xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: %s = mir.sub %x, %top : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %e = mir.exp %s : tensor<4x4xf32>
// CHECK-NEXT: %t = mir.reduce_sum %e axes [0] keep_dim : (tensor<4x4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT: %y = mir.div %e, %t : (tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: func.return %y : tensor<4x4xf32>
// CHECK-NEXT: }
func.func @softmax_of_two_axes(%x: tensor<4x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x4xf32> {
  %top = mir.reduce_max %x axes [1] keep_dim : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %s = mir.sub %x, %top : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %e = mir.exp %s : tensor<4x4xf32>
  %t = mir.reduce_sum %e axes [0] keep_dim : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %y = mir.div %e, %t : (tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// -----

// Without the maximum it overflows where softmax does not.
// CHECK-LABEL: func.func @plain_softmax(%x: tensor<4x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x4xf32> {
// CHECK-NEXT: %e = mir.exp %x : tensor<4x4xf32>
// CHECK-NEXT: %t = mir.reduce_sum %e axes [1] keep_dim : (tensor<4x4xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: %y = mir.div %e, %t : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: func.return %y : tensor<4x4xf32>
// CHECK-NEXT: }
func.func @plain_softmax(%x: tensor<4x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x4xf32> {
  %e = mir.exp %x : tensor<4x4xf32>
  %t = mir.reduce_sum %e axes [1] keep_dim : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %y = mir.div %e, %t : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// -----

// Attention without a mask.
// CHECK-LABEL: func.func @attention(%q: tensor<2x3x4x8xf32> {mir.name = "q", mir.kind = "input"}, %k: tensor<2x3x4x8xf32> {mir.name = "k", mir.kind = "input"}, %v: tensor<2x3x4x8xf32> {mir.name = "v", mir.kind = "input"}) -> tensor<2x3x4x8xf32> {
// CHECK-NEXT: %y, %0 = mir.attention %q, %k, %v layout bhsd heads 3 kv_heads 3 mask none scale 5.000000e-01 : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4xf32>)
// CHECK-NEXT: func.return %y : tensor<2x3x4x8xf32>
// CHECK-NEXT: }
func.func @attention(%q: tensor<2x3x4x8xf32> {mir.name = "q", mir.kind = "input"}, %k: tensor<2x3x4x8xf32> {mir.name = "k", mir.kind = "input"}, %v: tensor<2x3x4x8xf32> {mir.name = "v", mir.kind = "input"}) -> tensor<2x3x4x8xf32> {
  %scale = mir.constant dense<0.5> : tensor<f32>
  %low = mir.constant dense<-1.0e9> : tensor<f32>
  %kt = mir.transpose %k perm [0, 1, 3, 2] : (tensor<2x3x4x8xf32>) -> tensor<2x3x8x4xf32>
  %s = mir.matmul %q, %kt : (tensor<2x3x4x8xf32>, tensor<2x3x8x4xf32>) -> tensor<2x3x4x4xf32>
  %z = mir.mul %s, %scale : (tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
  %p = mir.softmax %z axis 3 : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  %y = mir.matmul %p, %v : (tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  func.return %y : tensor<2x3x4x8xf32>
}

// -----

// Positions that a program counts itself, likewise.
// CHECK-LABEL: func.func @counted(%q: tensor<2x3x4x8xf32> {mir.name = "q", mir.kind = "input"}, %k: tensor<2x3x4x8xf32> {mir.name = "k", mir.kind = "input"}, %v: tensor<2x3x4x8xf32> {mir.name = "v", mir.kind = "input"}) -> tensor<2x3x4x8xf32> {
// CHECK-NEXT: %y, %0 = mir.attention %q, %k, %v layout bhsd heads 3 kv_heads 3 mask causal scale 5.000000e-01 : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4xf32>)
// CHECK-NEXT: func.return %y : tensor<2x3x4x8xf32>
// CHECK-NEXT: }
func.func @counted(%q: tensor<2x3x4x8xf32> {mir.name = "q", mir.kind = "input"}, %k: tensor<2x3x4x8xf32> {mir.name = "k", mir.kind = "input"}, %v: tensor<2x3x4x8xf32> {mir.name = "v", mir.kind = "input"}) -> tensor<2x3x4x8xf32> {
  %scale = mir.constant dense<0.5> : tensor<f32>
  %low = mir.constant dense<-1.0e9> : tensor<f32>
  %i = mir.iota axis 0 : tensor<4x1xi64>
  %j = mir.iota axis 0 : tensor<4xi64>
  %seen = mir.ge %i, %j : (tensor<4x1xi64>, tensor<4xi64>) -> tensor<4x4xi1>
  %kt = mir.transpose %k perm [0, 1, 3, 2] : (tensor<2x3x4x8xf32>) -> tensor<2x3x8x4xf32>
  %s = mir.matmul %q, %kt : (tensor<2x3x4x8xf32>, tensor<2x3x8x4xf32>) -> tensor<2x3x4x4xf32>
  %z = mir.mul %s, %scale : (tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
  %m = mir.where %seen, %z, %low : (tensor<4x4xi1>, tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
  %p = mir.softmax %m axis 3 : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  %y = mir.matmul %p, %v : (tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  func.return %y : tensor<2x3x4x8xf32>
}

// -----

// JAX's own attention for a causal mask: `and` with true of the shape of the scores, and a choice between truth values.
// CHECK-LABEL: func.func @causal_of_jax
// CHECK-NEXT: %y, %0 = mir.attention %q, %k, %v layout bhsd heads 3 kv_heads 3 mask causal scale 5.000000e-01 : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4xf32>)
// CHECK-NEXT: func.return %y : tensor<2x3x4x8xf32>
// CHECK-NEXT: }
func.func @causal_of_jax(%q: tensor<2x3x4x8xf32> {mir.name = "q", mir.kind = "input"}, %k: tensor<2x3x4x8xf32> {mir.name = "k", mir.kind = "input"}, %v: tensor<2x3x4x8xf32> {mir.name = "v", mir.kind = "input"}) -> tensor<2x3x4x8xf32> {
  %scale = mir.constant dense<0.5> : tensor<f32>
  %low = mir.constant dense<-1.0e9> : tensor<f32>
  %zero = mir.constant dense<0> : tensor<i32>
  %true = mir.constant dense<true> : tensor<4x4xi1>
  %false = mir.constant dense<false> : tensor<4x4xi1>
  %one = mir.constant dense<true> : tensor<i1>
  %all = mir.expand %one : tensor<i1> to tensor<2x3x4x4xi1>
  %i = mir.iota axis 0 : tensor<4x4xi32>
  %after = mir.add %i, %zero : (tensor<4x4xi32>, tensor<i32>) -> tensor<4x4xi32>
  %j = mir.iota axis 1 : tensor<4x4xi32>
  %order = mir.ge %after, %j : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
  %lower = mir.where %order, %true, %false : (tensor<4x4xi1>, tensor<4x4xi1>, tensor<4x4xi1>) -> tensor<4x4xi1>
  %row = mir.reshape %lower : tensor<4x4xi1> to tensor<1x1x4x4xi1>
  %seen = mir.and %all, %row : (tensor<2x3x4x4xi1>, tensor<1x1x4x4xi1>) -> tensor<2x3x4x4xi1>
  %kt = mir.transpose %k perm [0, 1, 3, 2] : (tensor<2x3x4x8xf32>) -> tensor<2x3x8x4xf32>
  %s = mir.matmul %q, %kt : (tensor<2x3x4x8xf32>, tensor<2x3x8x4xf32>) -> tensor<2x3x4x4xf32>
  %z = mir.mul %s, %scale : (tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
  %m = mir.where %seen, %z, %low : (tensor<2x3x4x4xi1>, tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
  %p = mir.softmax %m axis 3 : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  %y = mir.matmul %p, %v : (tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  func.return %y : tensor<2x3x4x8xf32>
}

// -----

// A maximum whose axes are moved after it was taken, and the values before: `jax.vmap` of a softmax.
// CHECK-LABEL: func.func @softmax_of_moved
// CHECK: mir.softmax %{{.*}} axis 2
// CHECK-NOT: mir.exp
func.func @softmax_of_moved(%x: tensor<2x3x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3x2x4xf32> {
  %top = mir.reduce_max %x axes [2] : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
  %moved = mir.transpose %top perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %max = mir.reshape %moved : tensor<3x2xf32> to tensor<3x2x1xf32>
  %fixed = mir.stop_gradient %max : tensor<3x2x1xf32>
  %t = mir.transpose %x perm [1, 0, 2] : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  %d = mir.sub %t, %fixed : (tensor<3x2x4xf32>, tensor<3x2x1xf32>) -> tensor<3x2x4xf32>
  %e = mir.exp %d : tensor<3x2x4xf32>
  %sum = mir.reduce_sum %e axes [2] : (tensor<3x2x4xf32>) -> tensor<3x2xf32>
  %total = mir.reshape %sum : tensor<3x2xf32> to tensor<3x2x1xf32>
  %y = mir.div %e, %total : (tensor<3x2x4xf32>, tensor<3x2x1xf32>) -> tensor<3x2x4xf32>
  func.return %y : tensor<3x2x4xf32>
}

// -----

// The maximum of other rows is none of the softmax: the axes have one extent.
// CHECK-LABEL: func.func @maximum_of_others
// CHECK-NOT: mir.softmax
// CHECK: func.return
func.func @maximum_of_others(%x: tensor<3x3x4xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3x3x4xf32> {
  %top = mir.reduce_max %x axes [2] : (tensor<3x3x4xf32>) -> tensor<3x3xf32>
  %max = mir.reshape %top : tensor<3x3xf32> to tensor<3x3x1xf32>
  %t = mir.transpose %x perm [1, 0, 2] : (tensor<3x3x4xf32>) -> tensor<3x3x4xf32>
  %d = mir.sub %t, %max : (tensor<3x3x4xf32>, tensor<3x3x1xf32>) -> tensor<3x3x4xf32>
  %e = mir.exp %d : tensor<3x3x4xf32>
  %sum = mir.reduce_sum %e axes [2] : (tensor<3x3x4xf32>) -> tensor<3x3xf32>
  %total = mir.reshape %sum : tensor<3x3xf32> to tensor<3x3x1xf32>
  %y = mir.div %e, %total : (tensor<3x3x4xf32>, tensor<3x3x1xf32>) -> tensor<3x3x4xf32>
  func.return %y : tensor<3x3x4xf32>
}

// -----

// Positions compared are a causal mask, which is no operand.
// CHECK-LABEL: func.func @causal(%q: tensor<2x3x4x8xf32> {mir.name = "q", mir.kind = "input"}, %k: tensor<2x3x4x8xf32> {mir.name = "k", mir.kind = "input"}, %v: tensor<2x3x4x8xf32> {mir.name = "v", mir.kind = "input"}) -> tensor<2x3x4x8xf32> {
// CHECK-NEXT: %y, %0 = mir.attention %q, %k, %v layout bhsd heads 3 kv_heads 3 mask causal scale 5.000000e-01 : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4xf32>)
// CHECK-NEXT: func.return %y : tensor<2x3x4x8xf32>
// CHECK-NEXT: }
func.func @causal(%q: tensor<2x3x4x8xf32> {mir.name = "q", mir.kind = "input"}, %k: tensor<2x3x4x8xf32> {mir.name = "k", mir.kind = "input"}, %v: tensor<2x3x4x8xf32> {mir.name = "v", mir.kind = "input"}) -> tensor<2x3x4x8xf32> {
  %scale = mir.constant dense<0.5> : tensor<f32>
  %low = mir.constant dense<-1.0e9> : tensor<f32>
  %j = mir.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
  %i = mir.reshape %j : tensor<4xi32> to tensor<4x1xi32>
  %seen = mir.ge %i, %j : (tensor<4x1xi32>, tensor<4xi32>) -> tensor<4x4xi1>
  %kt = mir.transpose %k perm [0, 1, 3, 2] : (tensor<2x3x4x8xf32>) -> tensor<2x3x8x4xf32>
  %s = mir.matmul %q, %kt : (tensor<2x3x4x8xf32>, tensor<2x3x8x4xf32>) -> tensor<2x3x4x4xf32>
  %z = mir.mul %s, %scale : (tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
  %m = mir.where %seen, %z, %low : (tensor<4x4xi1>, tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
  %p = mir.softmax %m axis 3 : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  %y = mir.matmul %p, %v : (tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  func.return %y : tensor<2x3x4x8xf32>
}

// -----

// The first query sees nothing here: by hand its weights are even, in the op 0.
// CHECK-LABEL: func.func @a_row_sees_nothing(%q: tensor<2x3x4x8xf32> {mir.name = "q", mir.kind = "input"}, %k: tensor<2x3x4x8xf32> {mir.name = "k", mir.kind = "input"}, %v: tensor<2x3x4x8xf32> {mir.name = "v", mir.kind = "input"}) -> tensor<2x3x4x8xf32> {
// CHECK-NEXT: %scale = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %low = mir.constant dense<-1.000000e+09> : tensor<f32>
// CHECK-NEXT: %j = mir.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
// CHECK-NEXT: %i = mir.reshape %j : tensor<4xi32> to tensor<4x1xi32>
// CHECK-NEXT: %seen = mir.gt %i, %j : (tensor<4x1xi32>, tensor<4xi32>) -> tensor<4x4xi1>
// CHECK-NEXT: %kt = mir.transpose %k perm [0, 1, 3, 2] : (tensor<2x3x4x8xf32>) -> tensor<2x3x8x4xf32>
// CHECK-NEXT: %s = mir.matmul %q, %kt : (tensor<2x3x4x8xf32>, tensor<2x3x8x4xf32>) -> tensor<2x3x4x4xf32>
// CHECK-NEXT: %z = mir.mul %s, %scale : (tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
// CHECK-NEXT: %m = mir.where %seen, %z, %low : (tensor<4x4xi1>, tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
// CHECK-NEXT: %p = mir.softmax %m axis 3 : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
// CHECK-NEXT: %y = mir.matmul %p, %v : (tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
// CHECK-NEXT: func.return %y : tensor<2x3x4x8xf32>
// CHECK-NEXT: }
func.func @a_row_sees_nothing(%q: tensor<2x3x4x8xf32> {mir.name = "q", mir.kind = "input"}, %k: tensor<2x3x4x8xf32> {mir.name = "k", mir.kind = "input"}, %v: tensor<2x3x4x8xf32> {mir.name = "v", mir.kind = "input"}) -> tensor<2x3x4x8xf32> {
  %scale = mir.constant dense<0.5> : tensor<f32>
  %low = mir.constant dense<-1.0e9> : tensor<f32>
  %j = mir.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
  %i = mir.reshape %j : tensor<4xi32> to tensor<4x1xi32>
  %seen = mir.gt %i, %j : (tensor<4x1xi32>, tensor<4xi32>) -> tensor<4x4xi1>
  %kt = mir.transpose %k perm [0, 1, 3, 2] : (tensor<2x3x4x8xf32>) -> tensor<2x3x8x4xf32>
  %s = mir.matmul %q, %kt : (tensor<2x3x4x8xf32>, tensor<2x3x8x4xf32>) -> tensor<2x3x4x4xf32>
  %z = mir.mul %s, %scale : (tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
  %m = mir.where %seen, %z, %low : (tensor<4x4xi1>, tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
  %p = mir.softmax %m axis 3 : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  %y = mir.matmul %p, %v : (tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  func.return %y : tensor<2x3x4x8xf32>
}

// -----

// A mask that is given may hide all keys of a row.
// CHECK-LABEL: func.func @mask_is_an_argument(%q: tensor<2x3x4x8xf32> {mir.name = "q", mir.kind = "input"}, %k: tensor<2x3x4x8xf32> {mir.name = "k", mir.kind = "input"}, %v: tensor<2x3x4x8xf32> {mir.name = "v", mir.kind = "input"}, %seen: tensor<4x4xi1> {mir.name = "seen", mir.kind = "input"}) -> tensor<2x3x4x8xf32> {
// CHECK-NEXT: %scale = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %low = mir.constant dense<-1.000000e+09> : tensor<f32>
// CHECK-NEXT: %kt = mir.transpose %k perm [0, 1, 3, 2] : (tensor<2x3x4x8xf32>) -> tensor<2x3x8x4xf32>
// CHECK-NEXT: %s = mir.matmul %q, %kt : (tensor<2x3x4x8xf32>, tensor<2x3x8x4xf32>) -> tensor<2x3x4x4xf32>
// CHECK-NEXT: %z = mir.mul %s, %scale : (tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
// CHECK-NEXT: %m = mir.where %seen, %z, %low : (tensor<4x4xi1>, tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
// CHECK-NEXT: %p = mir.softmax %m axis 3 : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
// CHECK-NEXT: %y = mir.matmul %p, %v : (tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
// CHECK-NEXT: func.return %y : tensor<2x3x4x8xf32>
// CHECK-NEXT: }
func.func @mask_is_an_argument(%q: tensor<2x3x4x8xf32> {mir.name = "q", mir.kind = "input"}, %k: tensor<2x3x4x8xf32> {mir.name = "k", mir.kind = "input"}, %v: tensor<2x3x4x8xf32> {mir.name = "v", mir.kind = "input"}, %seen: tensor<4x4xi1> {mir.name = "seen", mir.kind = "input"}) -> tensor<2x3x4x8xf32> {
  %scale = mir.constant dense<0.5> : tensor<f32>
  %low = mir.constant dense<-1.0e9> : tensor<f32>
  %kt = mir.transpose %k perm [0, 1, 3, 2] : (tensor<2x3x4x8xf32>) -> tensor<2x3x8x4xf32>
  %s = mir.matmul %q, %kt : (tensor<2x3x4x8xf32>, tensor<2x3x8x4xf32>) -> tensor<2x3x4x4xf32>
  %z = mir.mul %s, %scale : (tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
  %m = mir.where %seen, %z, %low : (tensor<4x4xi1>, tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
  %p = mir.softmax %m axis 3 : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  %y = mir.matmul %p, %v : (tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  func.return %y : tensor<2x3x4x8xf32>
}

// -----

// What is added to the scores is a bias.
// CHECK-LABEL: func.func @bias(%q: tensor<2x3x4x8xf32> {mir.name = "q", mir.kind = "input"}, %k: tensor<2x3x4x8xf32> {mir.name = "k", mir.kind = "input"}, %v: tensor<2x3x4x8xf32> {mir.name = "v", mir.kind = "input"}, %b: tensor<3x4x4xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<2x3x4x8xf32> {
// CHECK-NEXT: %0 = mir.reshape %b : tensor<3x4x4xf32> to tensor<1x3x4x4xf32>
// CHECK-NEXT: %y, %1 = mir.attention %q, %k, %v, %0 layout bhsd heads 3 kv_heads 3 mask bias scale 5.000000e-01 : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<1x3x4x4xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4xf32>)
// CHECK-NEXT: func.return %y : tensor<2x3x4x8xf32>
// CHECK-NEXT: }
func.func @bias(%q: tensor<2x3x4x8xf32> {mir.name = "q", mir.kind = "input"}, %k: tensor<2x3x4x8xf32> {mir.name = "k", mir.kind = "input"}, %v: tensor<2x3x4x8xf32> {mir.name = "v", mir.kind = "input"}, %b: tensor<3x4x4xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<2x3x4x8xf32> {
  %scale = mir.constant dense<0.5> : tensor<f32>
  %low = mir.constant dense<-1.0e9> : tensor<f32>
  %kt = mir.transpose %k perm [0, 1, 3, 2] : (tensor<2x3x4x8xf32>) -> tensor<2x3x8x4xf32>
  %s = mir.matmul %q, %kt : (tensor<2x3x4x8xf32>, tensor<2x3x8x4xf32>) -> tensor<2x3x4x4xf32>
  %z = mir.mul %s, %scale : (tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
  %m = mir.add %b, %z : (tensor<3x4x4xf32>, tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  %p = mir.softmax %m axis 3 : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  %y = mir.matmul %p, %v : (tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  func.return %y : tensor<2x3x4x8xf32>
}

// -----

// Heads that are split from features, brought in front of positions, and back: layout packed. Query heads share keys.
// CHECK-LABEL: func.func @packed(%q: tensor<2x4x24xf32> {mir.name = "q", mir.kind = "input"}, %k: tensor<2x4x8xf32> {mir.name = "k", mir.kind = "input"}, %v: tensor<2x4x8xf32> {mir.name = "v", mir.kind = "input"}) -> tensor<2x4x24xf32> {
// CHECK-NEXT: %0, %1 = mir.attention %q, %k, %v layout packed heads 3 kv_heads 1 mask none scale 1.000000e+00 : (tensor<2x4x24xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x24xf32>, tensor<2x3x4xf32>)
// CHECK-NEXT: func.return %0 : tensor<2x4x24xf32>
// CHECK-NEXT: }
func.func @packed(%q: tensor<2x4x24xf32> {mir.name = "q", mir.kind = "input"}, %k: tensor<2x4x8xf32> {mir.name = "k", mir.kind = "input"}, %v: tensor<2x4x8xf32> {mir.name = "v", mir.kind = "input"}) -> tensor<2x4x24xf32> {
  %q0 = mir.reshape %q : tensor<2x4x24xf32> to tensor<2x4x3x8xf32>
  %q1 = mir.transpose %q0 perm [0, 2, 1, 3] : (tensor<2x4x3x8xf32>) -> tensor<2x3x4x8xf32>
  %k0 = mir.reshape %k : tensor<2x4x8xf32> to tensor<2x4x1x8xf32>
  %k1 = mir.transpose %k0 perm [0, 2, 3, 1] : (tensor<2x4x1x8xf32>) -> tensor<2x1x8x4xf32>
  %v0 = mir.reshape %v : tensor<2x4x8xf32> to tensor<2x4x1x8xf32>
  %v1 = mir.transpose %v0 perm [0, 2, 1, 3] : (tensor<2x4x1x8xf32>) -> tensor<2x1x4x8xf32>
  %s = mir.matmul %q1, %k1 : (tensor<2x3x4x8xf32>, tensor<2x1x8x4xf32>) -> tensor<2x3x4x4xf32>
  %p = mir.softmax %s axis -1 : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  %0 = mir.matmul %p, %v1 : (tensor<2x3x4x4xf32>, tensor<2x1x4x8xf32>) -> tensor<2x3x4x8xf32>
  %1 = mir.transpose %0 perm [0, 2, 1, 3] : (tensor<2x3x4x8xf32>) -> tensor<2x4x3x8xf32>
  %2 = mir.reshape %1 : tensor<2x4x3x8xf32> to tensor<2x4x24xf32>
  func.return %2 : tensor<2x4x24xf32>
}

// -----

// Grouped heads of JAX's own attention: the group, along which heads share keys, is in front of all.
// CHECK-LABEL: func.func @grouped_heads_of_jax
// CHECK: mir.attention %{{.*}}, %{{.*}}, %{{.*}} layout bhsd heads 6 kv_heads 3 mask none : (tensor<2x6x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> (tensor<2x6x4x8xf32>, tensor<2x6x4xf32>)
// CHECK-NOT: mir.dot_general
func.func @grouped_heads_of_jax(%q: tensor<2x4x6x8xf32> {mir.name = "q", mir.kind = "input"}, %k: tensor<2x4x3x8xf32> {mir.name = "k", mir.kind = "input"}, %v: tensor<2x4x3x8xf32> {mir.name = "v", mir.kind = "input"}) -> tensor<2x4x6x8xf32> {
  %0 = mir.reshape %q : tensor<2x4x6x8xf32> to tensor<2x4x3x2x8xf32>
  %1 = mir.dot_general %0, %k contracting [4] x [3] batch [0, 2] x [0, 2] : (tensor<2x4x3x2x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x3x4x2x4xf32>
  %2 = mir.constant dense<0.353553385> : tensor<f32>
  %3 = mir.mul %1, %2 : (tensor<2x3x4x2x4xf32>, tensor<f32>) -> tensor<2x3x4x2x4xf32>
  %4 = mir.reduce_max %3 axes [4] : (tensor<2x3x4x2x4xf32>) -> tensor<2x3x4x2xf32>
  %5 = mir.transpose %4 perm [3, 0, 1, 2] : (tensor<2x3x4x2xf32>) -> tensor<2x2x3x4xf32>
  %6 = mir.reshape %5 : tensor<2x2x3x4xf32> to tensor<2x2x3x4x1xf32>
  %7 = mir.stop_gradient %6 : tensor<2x2x3x4x1xf32>
  %8 = mir.transpose %3 perm [3, 0, 1, 2, 4] : (tensor<2x3x4x2x4xf32>) -> tensor<2x2x3x4x4xf32>
  %9 = mir.sub %8, %7 : (tensor<2x2x3x4x4xf32>, tensor<2x2x3x4x1xf32>) -> tensor<2x2x3x4x4xf32>
  %10 = mir.exp %9 : tensor<2x2x3x4x4xf32>
  %11 = mir.reduce_sum %10 axes [4] : (tensor<2x2x3x4x4xf32>) -> tensor<2x2x3x4xf32>
  %12 = mir.reshape %11 : tensor<2x2x3x4xf32> to tensor<2x2x3x4x1xf32>
  %13 = mir.div %10, %12 : (tensor<2x2x3x4x4xf32>, tensor<2x2x3x4x1xf32>) -> tensor<2x2x3x4x4xf32>
  %14 = mir.dot_general %v, %13 contracting [1] x [4] batch [0, 2] x [1, 2] : (tensor<2x4x3x8xf32>, tensor<2x2x3x4x4xf32>) -> tensor<2x3x8x2x4xf32>
  %15 = mir.transpose %14 perm [3, 0, 4, 1, 2] : (tensor<2x3x8x2x4xf32>) -> tensor<2x2x4x3x8xf32>
  %16 = mir.transpose %15 perm [1, 2, 3, 0, 4] : (tensor<2x2x4x3x8xf32>) -> tensor<2x4x3x2x8xf32>
  %17 = mir.reshape %16 : tensor<2x4x3x2x8xf32> to tensor<2x4x6x8xf32>
  func.return %17 : tensor<2x4x6x8xf32>
}

// -----

// In the body of a loop, too.
// CHECK-LABEL: func.func @in_a_body(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x3xf32> {mir.name = "w", mir.kind = "input"}, %b: tensor<3xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.remat captured(%x, %w, %b : tensor<4x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>) {
// CHECK-NEXT: ^bb0(%1: tensor<4x3xf32>, %2: tensor<3x3xf32>, %3: tensor<3xf32>):
// CHECK-NEXT: %4 = mir.fused_matmul_bias_act %1, %2, %3 : (tensor<4x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: mir.yield %4 : tensor<4x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %0 : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @in_a_body(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3x3xf32> {mir.name = "w", mir.kind = "input"}, %b: tensor<3xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<4x3xf32> {
  %0 = mir.remat captured(%x, %w, %b : tensor<4x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>) {
  ^bb0(%1: tensor<4x3xf32>, %2: tensor<3x3xf32>, %3: tensor<3xf32>):
    %4 = mir.matmul %1, %2 : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
    %5 = mir.add %4, %3 : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    mir.yield %5 : tensor<4x3xf32>
  }
  func.return %0 : tensor<4x3xf32>
}

// -----

// A variance as the mean of squares less the square of the mean.
// CHECK-LABEL: func.func @variance_by_moments(
// CHECK: %y = mir.layer_norm %x, %{{.*}}, %{{.*}} axis 1 eps 1.000000e-05
// CHECK-NEXT: func.return %y : tensor<4x6xf32>
func.func @variance_by_moments(%x: tensor<4x6xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x6xf32> {
  %n = mir.constant dense<6.0> : tensor<f32>
  %zero = mir.constant dense<0.0> : tensor<f32>
  %eps = mir.constant dense<1.0e-5> : tensor<f32>
  %s = mir.reduce_sum %x axes [1] : (tensor<4x6xf32>) -> tensor<4xf32>
  %s1 = mir.reshape %s : tensor<4xf32> to tensor<4x1xf32>
  %m = mir.div %s1, %n : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %xx = mir.mul %x, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = mir.reduce_sum %xx axes [1] : (tensor<4x6xf32>) -> tensor<4xf32>
  %t1 = mir.reshape %t : tensor<4xf32> to tensor<4x1xf32>
  %q = mir.div %t1, %n : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %mm = mir.mul %m, %m : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %d = mir.sub %q, %mm : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %v = mir.max %zero, %d : (tensor<f32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %c = mir.sub %x, %m : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  %e = mir.add %v, %eps : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %r = mir.rsqrt %e : tensor<4x1xf32>
  %y = mir.mul %c, %r : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  func.return %y : tensor<4x6xf32>
}

// -----

// The square of the mean less the mean of squares is another thing.
// CHECK-LABEL: func.func @square_of_the_mean_less_moment(
// CHECK-NOT: mir.layer_norm
// CHECK: func.return %y : tensor<4x6xf32>
func.func @square_of_the_mean_less_moment(%x: tensor<4x6xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x6xf32> {
  %n = mir.constant dense<6.0> : tensor<f32>
  %zero = mir.constant dense<0.0> : tensor<f32>
  %eps = mir.constant dense<1.0e-5> : tensor<f32>
  %s = mir.reduce_sum %x axes [1] : (tensor<4x6xf32>) -> tensor<4xf32>
  %s1 = mir.reshape %s : tensor<4xf32> to tensor<4x1xf32>
  %m = mir.div %s1, %n : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %xx = mir.mul %x, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = mir.reduce_sum %xx axes [1] : (tensor<4x6xf32>) -> tensor<4xf32>
  %t1 = mir.reshape %t : tensor<4xf32> to tensor<4x1xf32>
  %q = mir.div %t1, %n : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %mm = mir.mul %m, %m : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %d = mir.sub %mm, %q : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %v = mir.max %zero, %d : (tensor<f32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %c = mir.sub %x, %m : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  %e = mir.add %v, %eps : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %r = mir.rsqrt %e : tensor<4x1xf32>
  %y = mir.mul %c, %r : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  func.return %y : tensor<4x6xf32>
}

// -----

// Numbers at their positions in order are a sort, along the last axis.
// CHECK-LABEL: func.func @sorted(
// CHECK-NEXT: %y = mir.sort %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %z = mir.sort %x descending : (tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: func.return %y, %z
func.func @sorted(%x: tensor<4x6xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %p = mir.topk %x k 6 smallest : (tensor<4x6xf32>) -> tensor<4x6xi64>
  %y = mir.gather %x, %p axis 1 batch_dims 1 : (tensor<4x6xf32>, tensor<4x6xi64>) -> tensor<4x6xf32>
  %q = mir.topk %x k 6 : (tensor<4x6xf32>) -> tensor<4x6xi64>
  %z = mir.gather %x, %q axis 1 batch_dims 1 : (tensor<4x6xf32>, tensor<4x6xi64>) -> tensor<4x6xf32>
  func.return %y, %z : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// A part of the numbers in order, of a few that are read, is one of a sort.
// CHECK-LABEL: func.func @part_of_sorted(
// CHECK-NEXT: %m = mir.sort %x first 999 count 2 : (tensor<2000xf32>) -> tensor<2xf32>
// CHECK-NEXT: %e = mir.sort %x first 1999 count 1 : (tensor<2000xf32>) -> tensor<1xf32>
// CHECK-NEXT: func.return %m, %e
func.func @part_of_sorted(%x: tensor<2000xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<2xf32>, tensor<1xf32>) {
  %p = mir.topk %x k 2000 smallest : (tensor<2000xf32>) -> tensor<2000xi64>
  %y = mir.gather %x, %p axis 0 batch_dims 0 : (tensor<2000xf32>, tensor<2000xi64>) -> tensor<2000xf32>
  %m = mir.narrow %y axis 0 start 999 len 2 : (tensor<2000xf32>) -> tensor<2xf32>
  %e = mir.narrow %y axis -1 start 1999 len 1 : (tensor<2000xf32>) -> tensor<1xf32>
  func.return %m, %e : tensor<2xf32>, tensor<1xf32>
}

// -----

// Not where all of them are read too, or some of each column.
// CHECK-LABEL: func.func @all_of_sorted(
// CHECK-NEXT: %y = mir.sort %x : (tensor<2000xf32>) -> tensor<2000xf32>
// CHECK-NEXT: %m = mir.narrow %y axis 0 start 999 len 2 : (tensor<2000xf32>) -> tensor<2xf32>
// CHECK-NEXT: %v = mir.sort %w : (tensor<2x2000xf32>) -> tensor<2x2000xf32>
// CHECK-NEXT: %n = mir.narrow %v axis 0 start 1 len 1 : (tensor<2x2000xf32>) -> tensor<1x2000xf32>
// CHECK-NEXT: func.return %y, %m, %n
func.func @all_of_sorted(%x: tensor<2000xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<2x2000xf32> {mir.name = "w", mir.kind = "input"}) -> (tensor<2000xf32>, tensor<2xf32>, tensor<1x2000xf32>) {
  %y = mir.sort %x : (tensor<2000xf32>) -> tensor<2000xf32>
  %m = mir.narrow %y axis 0 start 999 len 2 : (tensor<2000xf32>) -> tensor<2xf32>
  %v = mir.sort %w : (tensor<2x2000xf32>) -> tensor<2x2000xf32>
  %n = mir.narrow %v axis 0 start 1 len 1 : (tensor<2x2000xf32>) -> tensor<1x2000xf32>
  func.return %y, %m, %n : tensor<2000xf32>, tensor<2xf32>, tensor<1x2000xf32>
}

// -----

// Not where the positions are read too, as by a derivative, nor for some of the numbers or those of another tensor.
// CHECK-LABEL: func.func @not_only_sorted(
// CHECK-NOT: mir.sort
// CHECK: func.return
func.func @not_only_sorted(%x: tensor<4x6xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<4x6xf32> {mir.name = "w", mir.kind = "input"}) -> (tensor<4x6xf32>, tensor<4x6xi64>, tensor<4x5xf32>, tensor<4x6xf32>) {
  %p = mir.topk %x k 6 smallest : (tensor<4x6xf32>) -> tensor<4x6xi64>
  %y = mir.gather %x, %p axis 1 batch_dims 1 : (tensor<4x6xf32>, tensor<4x6xi64>) -> tensor<4x6xf32>
  %q = mir.topk %x k 5 : (tensor<4x6xf32>) -> tensor<4x5xi64>
  %z = mir.gather %x, %q axis 1 batch_dims 1 : (tensor<4x6xf32>, tensor<4x5xi64>) -> tensor<4x5xf32>
  %r = mir.topk %x k 6 : (tensor<4x6xf32>) -> tensor<4x6xi64>
  %v = mir.gather %w, %r axis 1 batch_dims 1 : (tensor<4x6xf32>, tensor<4x6xi64>) -> tensor<4x6xf32>
  func.return %y, %p, %z, %v : tensor<4x6xf32>, tensor<4x6xi64>, tensor<4x5xf32>, tensor<4x6xf32>
}
