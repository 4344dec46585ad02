// RUN: xdsl-opt %s -p canonicalize | filecheck %s

// CHECK-LABEL: @double_neg
// CHECK-NEXT: func.return %x
func.func @double_neg(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = mir.neg %x : tensor<2x3xf32>
  %1 = mir.neg %0 : tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// Only what keeps -0.0 is dropped.
// CHECK-LABEL: @zeros
// CHECK-NEXT: %zero = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %a = mir.add %x, %zero
// CHECK-NEXT: func.return %a, %x, %x, %x, %i, %i
func.func @zeros(%x: tensor<3xf32>, %i: tensor<3xi32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xi32>, tensor<3xi32>) {
  %zero = mir.constant dense<0.0> : tensor<f32>
  %minus_zero = mir.constant dense<-0.0> : tensor<f32>
  %int_zero = mir.constant dense<0> : tensor<i32>
  %a = mir.add %x, %zero : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %b = mir.add %x, %minus_zero : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %c = mir.add %minus_zero, %x : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  %d = mir.sub %x, %zero : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %e = mir.add %i, %int_zero : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  %f = mir.sub %i, %int_zero : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  func.return %a, %b, %c, %d, %e, %f : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xi32>, tensor<3xi32>
}

// CHECK-LABEL: @ones
// CHECK-NEXT: %b = mir.expand %x : tensor<3xf32> to tensor<2x3xf32>
// CHECK-NEXT: %d = mir.neg %x : tensor<3xf32>
// CHECK-NEXT: func.return %x, %b, %x, %d
func.func @ones(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %one = mir.constant dense<1.0> : tensor<f32>
  %minus_one = mir.constant dense<-1.0> : tensor<f32>
  %many = mir.expand %one : tensor<f32> to tensor<2x3xf32>
  %a = mir.mul %one, %x : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  %b = mir.mul %x, %many : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %c = mir.div %x, %one : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %d = mir.mul %x, %minus_one : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  func.return %a, %b, %c, %d : tensor<3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @division
// CHECK-NEXT: %three = mir.constant dense<3.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = mir.constant dense<2.500000e-01> : tensor<f32>
// CHECK-NEXT: %a = mir.mul %x, %0
// CHECK-NEXT: %b = mir.div %x, %three
// CHECK-NEXT: func.return %a, %b
func.func @division(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %four = mir.constant dense<4.0> : tensor<f32>
  %three = mir.constant dense<3.0> : tensor<f32>
  %a = mir.div %x, %four : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %b = mir.div %x, %three : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  func.return %a, %b : tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @powers
// CHECK-NEXT: %b = mir.mul %x, %x
// CHECK-NEXT: %c = mir.recip %x
// CHECK-NEXT: func.return %x, %b, %c
func.func @powers(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %one = mir.constant dense<1.0> : tensor<f32>
  %two = mir.constant dense<2.0> : tensor<f32>
  %minus_one = mir.constant dense<-1.0> : tensor<f32>
  %a = mir.pow %x, %one : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %b = mir.pow %x, %two : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %c = mir.pow %x, %minus_one : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  func.return %a, %b, %c : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @cube
// CHECK-NEXT: %0 = mir.mul %x, %x
// CHECK-NEXT: %a = mir.mul %0, %x
// CHECK-NEXT: %1 = mir.cast %h : tensor<3xf16> to tensor<3xf32>
// CHECK-NEXT: %2 = mir.mul %1, %1
// CHECK-NEXT: %3 = mir.mul %2, %1
// CHECK-NEXT: %b = mir.cast %3 : tensor<3xf32> to tensor<3xf16>
// CHECK-NEXT: func.return %a, %b
func.func @cube(%x: tensor<3xf32>, %h: tensor<3xf16>) -> (tensor<3xf32>, tensor<3xf16>) {
  %three = mir.constant dense<3.0> : tensor<f32>
  %half_three = mir.constant dense<3.0> : tensor<f16>
  %a = mir.pow %x, %three : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %b = mir.pow %h, %half_three : (tensor<3xf16>, tensor<f16>) -> tensor<3xf16>
  func.return %a, %b : tensor<3xf32>, tensor<3xf16>
}

// Two transposes around elementwise ops go where nothing else has to be moved for that.
// CHECK-LABEL: @transposed
// CHECK-NEXT: %0 = mir.reshape %v : tensor<2xf32> to tensor<2x1xf32>
// CHECK-NEXT: %1 = mir.sub %x, %0 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %y = mir.exp %1 : tensor<2x3xf32>
// CHECK-NEXT: func.return %y
func.func @transposed(%x: tensor<2x3xf32>, %v: tensor<2xf32>) -> tensor<2x3xf32> {
  %t = mir.transpose %x perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %d = mir.sub %t, %v : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %e = mir.exp %d : tensor<3x2xf32>
  %y = mir.transpose %e perm [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// CHECK-LABEL: @transposed_beside_another
// CHECK-NEXT: %t = mir.transpose %x perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %d = mir.sub %t, %z : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %y = mir.transpose %d perm [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %y
func.func @transposed_beside_another(%x: tensor<2x3xf32>, %z: tensor<3x2xf32>) -> tensor<2x3xf32> {
  %t = mir.transpose %x perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %d = mir.sub %t, %z : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %y = mir.transpose %d perm [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// CHECK-LABEL: @where
// CHECK-NEXT: %0 = mir.expand %y : tensor<f32> to tensor<3xf32>
// CHECK-NEXT: func.return %x, %x, %0
func.func @where(%c: tensor<3xi1>, %x: tensor<3xf32>, %y: tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %true = mir.constant dense<true> : tensor<i1>
  %false = mir.constant dense<false> : tensor<i1>
  %0 = mir.where %c, %x, %x : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = mir.where %true, %x, %y : (tensor<i1>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = mir.where %false, %x, %y : (tensor<i1>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  func.return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @broadcast
// CHECK-NEXT: %0 = mir.expand %row : tensor<3xf32> to tensor<2x3xf32>
// CHECK-NEXT: %1 = mir.mul %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %2 = mir.add %row, %0 : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %1, %2
func.func @broadcast(%x: tensor<2x3xf32>, %row: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = mir.expand %row : tensor<3xf32> to tensor<2x3xf32>
  %1 = mir.mul %x, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = mir.add %0, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: @casts
// CHECK-NEXT: %b = mir.cast %h : tensor<2xf16> to tensor<2xi32>
// CHECK-NEXT: %c = mir.cast %x : tensor<2xf32> to tensor<2xf16>
// CHECK-NEXT: %d = mir.cast %c : tensor<2xf16> to tensor<2xf32>
// CHECK-NEXT: func.return %h, %b, %d, %x
func.func @casts(%h: tensor<2xf16>, %x: tensor<2xf32>) -> (tensor<2xf16>, tensor<2xi32>, tensor<2xf32>, tensor<2xf32>) {
  %wide = mir.cast %h : tensor<2xf16> to tensor<2xf32>
  %a = mir.cast %wide : tensor<2xf32> to tensor<2xf16>
  %b = mir.cast %wide : tensor<2xf32> to tensor<2xi32>
  %c = mir.cast %x : tensor<2xf32> to tensor<2xf16>
  %d = mir.cast %c : tensor<2xf16> to tensor<2xf32>
  %e = mir.cast %x : tensor<2xf32> to tensor<2xf32>
  func.return %a, %b, %d, %e : tensor<2xf16>, tensor<2xi32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: @moves
// CHECK-NEXT: %0 = mir.reshape %x : tensor<2x3x4xf32> to tensor<24xf32>
// CHECK-NEXT: %1 = mir.transpose %x perm [2, 0, 1]
// CHECK-NEXT: func.return %x, %0, %x, %1
func.func @moves(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<24xf32>, tensor<2x3x4xf32>, tensor<4x2x3xf32>) {
  %0 = mir.reshape %x : tensor<2x3x4xf32> to tensor<6x4xf32>
  %1 = mir.reshape %0 : tensor<6x4xf32> to tensor<2x3x4xf32>
  %2 = mir.reshape %0 : tensor<6x4xf32> to tensor<24xf32>
  %3 = mir.transpose %x perm [1, 0, 2] : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  %4 = mir.transpose %3 perm [1, 0, 2] : (tensor<3x2x4xf32>) -> tensor<2x3x4xf32>
  %5 = mir.transpose %3 perm [2, 1, 0] : (tensor<3x2x4xf32>) -> tensor<4x2x3xf32>
  func.return %1, %2, %4, %5 : tensor<2x3x4xf32>, tensor<24xf32>, tensor<2x3x4xf32>, tensor<4x2x3xf32>
}

// CHECK-LABEL: @transposed_product
// CHECK-NEXT: %0 = mir.transpose %y perm [1, 0]
// CHECK-NEXT: %1 = mir.transpose %x perm [1, 0]
// CHECK-NEXT: %2 = mir.matmul %0, %1 : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: func.return %2
func.func @transposed_product(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<4x2xf32> {
  %0 = mir.matmul %x, %y : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = mir.transpose %0 perm [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
  func.return %1 : tensor<4x2xf32>
}

// CHECK-LABEL: @transpose_of_ones
// CHECK-NEXT: %0 = mir.reshape %x : tensor<2x1x4xf32> to tensor<1x2x4xf32>
// CHECK-NEXT: func.return %0
func.func @transpose_of_ones(%x: tensor<2x1x4xf32>) -> tensor<1x2x4xf32> {
  %0 = mir.transpose %x perm [1, 0, 2] : (tensor<2x1x4xf32>) -> tensor<1x2x4xf32>
  func.return %0 : tensor<1x2x4xf32>
}

// CHECK-LABEL: @expands
// CHECK-NEXT: %0 = mir.expand %x : tensor<3xf32> to tensor<4x2x3xf32>
// CHECK-NEXT: %1 = mir.expand %x : tensor<3xf32> to tensor<2x3xf32>
// CHECK-NEXT: func.return %x, %0, %1
func.func @expands(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<4x2x3xf32>, tensor<2x3xf32>) {
  %0 = mir.expand %x : tensor<3xf32> to tensor<3xf32>
  %1 = mir.expand %x : tensor<3xf32> to tensor<2x3xf32>
  %2 = mir.expand %1 : tensor<2x3xf32> to tensor<4x2x3xf32>
  %3 = mir.reshape %x : tensor<3xf32> to tensor<1x3xf32>
  %4 = mir.expand %3 : tensor<1x3xf32> to tensor<2x3xf32>
  func.return %0, %2, %4 : tensor<3xf32>, tensor<4x2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: @narrows
// CHECK-NEXT: %0 = mir.narrow %x axis 1 start 3 len 2
// CHECK-NEXT: %1 = mir.narrow %y axis 1 start 1 len 1
// CHECK-NEXT: func.return %x, %0, %x, %1
func.func @narrows(%x: tensor<2x6xf32>, %y: tensor<2x2xf32>) -> (tensor<2x6xf32>, tensor<2x2xf32>, tensor<2x6xf32>, tensor<2x1xf32>) {
  %0 = mir.narrow %x axis 1 start 0 len 6 : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %1 = mir.narrow %x axis 1 start 2 len 4 : (tensor<2x6xf32>) -> tensor<2x4xf32>
  %2 = mir.narrow %1 axis 1 start 1 len 2 : (tensor<2x4xf32>) -> tensor<2x2xf32>
  %3 = mir.concat %x, %y axis 1 : (tensor<2x6xf32>, tensor<2x2xf32>) -> tensor<2x8xf32>
  %4 = mir.narrow %3 axis 1 start 0 len 6 : (tensor<2x8xf32>) -> tensor<2x6xf32>
  %5 = mir.narrow %3 axis 1 start 7 len 1 : (tensor<2x8xf32>) -> tensor<2x1xf32>
  func.return %0, %2, %4, %5 : tensor<2x6xf32>, tensor<2x2xf32>, tensor<2x6xf32>, tensor<2x1xf32>
}

// Slices at places that rise evenly are a view, and repeated evenly a repetition of one; others stay.
// CHECK-LABEL: @gathers
// CHECK-NEXT: %0 = mir.narrow %x axis 1 start 2 len 3 : (tensor<2x6xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %1 = mir.reshape %x : tensor<2x6xf32> to tensor<2x3x2xf32>
// CHECK-NEXT: %2 = mir.narrow %1 axis 2 start 1 len 1 : (tensor<2x3x2xf32>) -> tensor<2x3x1xf32>
// CHECK-NEXT: %3 = mir.reshape %2 : tensor<2x3x1xf32> to tensor<2x3xf32>
// CHECK: mir.expand
// CHECK: mir.constant dense<[0, 1, 3]> : tensor<3xi64>
// CHECK-NEXT: mir.gather
func.func @gathers(%x: tensor<2x6xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x6xf32>, tensor<2x3xf32>) {
  %at0 = mir.constant dense<[2, 3, 4]> : tensor<3xi64>
  %0 = mir.gather %x, %at0 axis 1 batch_dims 0 : (tensor<2x6xf32>, tensor<3xi64>) -> tensor<2x3xf32>
  %at1 = mir.constant dense<[1, 3, 9]> : tensor<3xi32>
  %1 = mir.gather %x, %at1 axis 1 batch_dims 0 : (tensor<2x6xf32>, tensor<3xi32>) -> tensor<2x3xf32>
  %at2 = mir.constant dense<[0, 0, 1, 1]> : tensor<4xi64>
  %2 = mir.gather %x, %at2 axis 0 batch_dims 0 : (tensor<2x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
  %at3 = mir.constant dense<[0, 1, 3]> : tensor<3xi64>
  %3 = mir.gather %x, %at3 axis 1 batch_dims 0 : (tensor<2x6xf32>, tensor<3xi64>) -> tensor<2x3xf32>
  func.return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x6xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: @concats
// CHECK-NEXT: func.return %x, %x
func.func @concats(%x: tensor<2x6xf32>, %none: tensor<0x6xf32>) -> (tensor<2x6xf32>, tensor<2x6xf32>) {
  %0 = mir.concat %x axis 0 : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %1 = mir.concat %none, %x, %none axis 0 : (tensor<0x6xf32>, tensor<2x6xf32>, tensor<0x6xf32>) -> tensor<2x6xf32>
  func.return %0, %1 : tensor<2x6xf32>, tensor<2x6xf32>
}

// CHECK-LABEL: @reduces
// CHECK-NEXT: %0 = mir.reshape %x : tensor<2x1x4xf32> to tensor<2x4xf32>
// CHECK-NEXT: %1 = mir.reduce_sum %x axes [0, 2]
// CHECK-SAME: -> tensor<1xf32>
// CHECK-NEXT: %2 = mir.reduce_max %x axes [0, 1, 2]
// CHECK-SAME: -> tensor<f32>
// CHECK-NEXT: func.return %x, %0, %1, %2
func.func @reduces(%x: tensor<2x1x4xf32>) -> (tensor<2x1x4xf32>, tensor<2x4xf32>, tensor<1xf32>, tensor<f32>) {
  %0 = mir.reduce_sum %x axes [] : (tensor<2x1x4xf32>) -> tensor<2x1x4xf32>
  %1 = mir.reduce_mean %x axes [1] : (tensor<2x1x4xf32>) -> tensor<2x4xf32>
  %2 = mir.reduce_sum %x axes [2] : (tensor<2x1x4xf32>) -> tensor<2x1xf32>
  %3 = mir.reduce_sum %2 axes [0] : (tensor<2x1xf32>) -> tensor<1xf32>
  %4 = mir.reduce_max %x axes [2] keep_dim : (tensor<2x1x4xf32>) -> tensor<2x1x1xf32>
  %5 = mir.reduce_max %4 axes [0, 1, 2] : (tensor<2x1x1xf32>) -> tensor<f32>
  func.return %0, %1, %3, %5 : tensor<2x1x4xf32>, tensor<2x4xf32>, tensor<1xf32>, tensor<f32>
}

// A sum with the axis is one without it, and so equal to that.
// CHECK-LABEL: @keeps_axes
// CHECK-NEXT: %0 = mir.reduce_sum %x axes [1] : (tensor<2x3xf32>) -> tensor<2xf32>
// CHECK-NEXT: %1 = mir.reshape %0 : tensor<2xf32> to tensor<2x1xf32>
// CHECK-NEXT: func.return %1
func.func @keeps_axes(%x: tensor<2x3xf32>) -> tensor<2x1xf32> {
  %0 = mir.reduce_sum %x axes [1] keep_dim : (tensor<2x3xf32>) -> tensor<2x1xf32>
  func.return %0 : tensor<2x1xf32>
}

// What a gradient is stopped by stays, and so does the op that a mir.vjp differentiates.
// CHECK-LABEL: @kept
// CHECK-NEXT: mir.stop_gradient
// CHECK: mir.reshape
func.func @kept(%x: tensor<3xf32>, %g: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = mir.stop_gradient %x : tensor<3xf32>
  %1 = mir.vjp primals(%x : tensor<3xf32>) outputs(%x : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0] -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    %2 = mir.reshape %a : tensor<3xf32> to tensor<3xf32>
    mir.yield %2 : tensor<3xf32>
  }
  func.return %0, %1 : tensor<3xf32>, tensor<3xf32>
}

// The cotangent of a bias is as large as all scores: not computed where nothing reads it.
// CHECK-LABEL: @unread_bias_cotangent
// CHECK-NEXT: %dq, %dk, %dv = mir.attention_backward
// CHECK-NEXT: func.return %dq
func.func @unread_bias_cotangent(%q: tensor<1x1x5x2xf32>, %b: tensor<1x1x5x5xf32>, %l: tensor<1x1x5xf32>) -> tensor<1x1x5x2xf32> {
  %dq, %dk, %dv, %db = mir.attention_backward %q, %q, %q, %q, %l, %q by %b : tensor<1x1x5x5xf32> layout bhsd heads 1 kv_heads 1 mask bias : tensor<1x1x5x2xf32>, tensor<1x1x5x2xf32>, tensor<1x1x5x2xf32>, tensor<1x1x5x2xf32>, tensor<1x1x5xf32>, tensor<1x1x5x2xf32> to tensor<1x1x5x2xf32>, tensor<1x1x5x2xf32>, tensor<1x1x5x2xf32>, tensor<1x1x5x5xf32>
  func.return %dq : tensor<1x1x5x2xf32>
}

// The bits of bits are those of the operand.
// CHECK-LABEL: @bits
// CHECK-NEXT: %b = mir.bitcast_convert_type %h : tensor<2xf16> to tensor<2xbf16>
// CHECK-NEXT: %c = mir.reduce_precision %x exponent_bits 5 mantissa_bits 2 : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return %x, %b, %c, %x
func.func @bits(%x: tensor<2xf32>, %h: tensor<2xf16>) -> (tensor<2xf32>, tensor<2xbf16>, tensor<2xf32>, tensor<2xf32>) {
  %0 = mir.bitcast_convert_type %x : tensor<2xf32> to tensor<2xi32>
  %1 = mir.bitcast_convert_type %0 : tensor<2xi32> to tensor<2xui32>
  %a = mir.bitcast_convert_type %1 : tensor<2xui32> to tensor<2xf32>
  %2 = mir.bitcast_convert_type %h : tensor<2xf16> to tensor<2xi16>
  %b = mir.bitcast_convert_type %2 : tensor<2xi16> to tensor<2xbf16>
  %c = mir.reduce_precision %x exponent_bits 5 mantissa_bits 2 : (tensor<2xf32>) -> tensor<2xf32>
  %d = mir.reduce_precision %c exponent_bits 5 mantissa_bits 2 : (tensor<2xf32>) -> tensor<2xf32>
  %e = mir.reduce_precision %x exponent_bits 8 mantissa_bits 23 : (tensor<2xf32>) -> tensor<2xf32>
  func.return %a, %b, %d, %e : tensor<2xf32>, tensor<2xbf16>, tensor<2xf32>, tensor<2xf32>
}

// Elementwise ops between reshapes that cancel are computed in the shape in front; other operands keep them where they are.
// CHECK-LABEL: func.func @reshaped_elements(%x: tensor<4x6xf32>, %y: tensor<6x4xf32>, %s: tensor<1xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
// CHECK-NEXT: %0 = mir.reshape %s : tensor<1xf32> to tensor<f32>
// CHECK-NEXT: %1 = mir.mul %x, %0 : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
// CHECK-NEXT: %2 = mir.tanh %1 : tensor<4x6xf32>
// CHECK-NEXT: %3 = mir.reshape %x : tensor<4x6xf32> to tensor<6x4xf32>
// CHECK-NEXT: %4 = mir.mul %3, %y : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: %5 = mir.reshape %4 : tensor<6x4xf32> to tensor<4x6xf32>
// CHECK-NEXT: func.return %2, %5 : tensor<4x6xf32>, tensor<4x6xf32>
// CHECK-NEXT: }
func.func @reshaped_elements(%x: tensor<4x6xf32>, %y: tensor<6x4xf32>, %s: tensor<1xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %0 = mir.reshape %x : tensor<4x6xf32> to tensor<2x12xf32>
  %1 = mir.mul %0, %s : (tensor<2x12xf32>, tensor<1xf32>) -> tensor<2x12xf32>
  %2 = mir.tanh %1 : tensor<2x12xf32>
  %3 = mir.reshape %2 : tensor<2x12xf32> to tensor<4x6xf32>
  %4 = mir.reshape %x : tensor<4x6xf32> to tensor<6x4xf32>
  %5 = mir.mul %4, %y : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %6 = mir.reshape %5 : tensor<6x4xf32> to tensor<4x6xf32>
  func.return %3, %6 : tensor<4x6xf32>, tensor<4x6xf32>
}
