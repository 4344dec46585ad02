// RUN: xdsl-opt %s --split-input-file -p mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir | filecheck %s

// A branch computes the results right where they are, one in two places if need be, or copies what is there already; what
// stands behind sees one place.
// CHECK-LABEL: lir.program @branch {
// CHECK-NEXT: %p = lir.input "arg0" : memref<i1>
// CHECK-NEXT: %x = lir.input "arg1" : memref<2x4xf32>
// CHECK-NEXT: %v = lir.input "arg2" : memref<4xf32>
// CHECK-NEXT: %y = lir.output 0 : memref<4x2xf32>
// CHECK-NEXT: %z = lir.output 1 : memref<4xf32>
// CHECK-NEXT: %u = lir.output 2 : memref<4xf32>
// CHECK-NEXT: lir.if %p {
// CHECK-NEXT: lir.launch @k0_exp over 4 by 4 reads(%v : memref<4xf32>) writes(%z, %u : memref<4xf32>, memref<4xf32>)
// CHECK-NEXT: %x_1 = lir.view %x at 0 : memref<2x4xf32> to memref<4x2xf32, strided<[1, 4]>>
// CHECK-NEXT: lir.launch @k1_copy over 4 by 4 reads(%x_1 : memref<4x2xf32, strided<[1, 4]>>) writes(%y : memref<4x2xf32>)
// CHECK-NEXT: } else {
// CHECK-NEXT: lir.launch @k2_sin_cos over 4 by 4 reads(%v : memref<4xf32>) writes(%u : memref<4xf32>)
// CHECK-NEXT: %x_2 = lir.view %x at 0 : memref<2x4xf32> to memref<8xf32>
// CHECK-NEXT: %y_1 = lir.view %y at 0 : memref<4x2xf32> to memref<8xf32>
// CHECK-NEXT: lir.launch @k3_copy over 8 by 8 reads(%x_2 : memref<8xf32>) writes(%y_1 : memref<8xf32>)
// CHECK-NEXT: lir.launch @k4_copy over 4 by 4 reads(%v : memref<4xf32>) writes(%z : memref<4xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: }
func.func @branch(%p: tensor<i1>, %x: tensor<2x4xf32>, %v: tensor<4xf32>) -> (tensor<4x2xf32>, tensor<4xf32>, tensor<4xf32>) {
  %y, %z, %u = mir.if %p : tensor<i1> captured(%x, %v : tensor<2x4xf32>, tensor<4xf32>) -> (tensor<4x2xf32>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<2x4xf32>, %b: tensor<4xf32>):
    %t = mir.transpose %a perm [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
    %e = mir.exp %b : tensor<4xf32>
    mir.yield %t, %e, %e : tensor<4x2xf32>, tensor<4xf32>, tensor<4xf32>
  } else {
  ^bb0(%a: tensor<2x4xf32>, %b: tensor<4xf32>):
    %t = mir.reshape %a : tensor<2x4xf32> to tensor<4x2xf32>
    %s = mir.sin %b : tensor<4xf32>
    %c = mir.cos %s : tensor<4xf32>
    mir.yield %t, %b, %c : tensor<4x2xf32>, tensor<4xf32>, tensor<4xf32>
  }
  func.return %y, %z, %u : tensor<4x2xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A carry has one place: new ones are computed beside it, and copied when the body is through. What counts is a carry too,
// and the limit part of the test.
// CHECK-LABEL: lir.program @repeat {
// CHECK-NEXT: %x = lir.input "arg0" : memref<4xf32>
// CHECK-NEXT: %w = lir.input "arg1" : memref<4xf32>
// CHECK-NEXT: %y = lir.output 0 : memref<4xf32>
// CHECK-NEXT: %z = lir.output 1 : memref<4xf32>
// CHECK-NEXT: %n = lir.output 2 : memref<i32>
// CHECK-NEXT: %0 = lir.constant dense<0> : tensor<i32> : memref<i32>
// CHECK-NEXT: %1 = lir.slot : memref<i1>
// CHECK-NEXT: lir.launch @k0_copy over 4 by 4 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>)
// CHECK-NEXT: lir.launch @k0_copy over 4 by 4 reads(%w : memref<4xf32>) writes(%z : memref<4xf32>)
// CHECK-NEXT: lir.launch @k1_copy over 1 by 1 reads(%0 : memref<i32>) writes(%n : memref<i32>)
// CHECK-NEXT: lir.while %1 after {
// CHECK-NEXT: %s = lir.slot : memref<f32>
// CHECK-NEXT: lir.launch @k2_reduce_sum over 4 by 4 reads(%y : memref<4xf32>) writes(%s : memref<f32>)
// CHECK-NEXT: lir.launch @k3_lt_and over 1 by 1 reads(%s, %n : memref<f32>, memref<i32>) writes(%1 : memref<i1>)
// CHECK-NEXT: } do {
// CHECK-NEXT: %b = lir.slot : memref<4xf32>
// CHECK-NEXT: %d = lir.slot : memref<4xf32>
// CHECK-NEXT: %2 = lir.slot : memref<i32>
// CHECK-NEXT: lir.launch @k4_add over 4 by 4 reads(%y, %w : memref<4xf32>, memref<4xf32>) writes(%d : memref<4xf32>)
// CHECK-NEXT: lir.launch @k5_add over 1 by 1 reads(%n : memref<i32>) writes(%2 : memref<i32>)
// CHECK-NEXT: lir.launch @k0_copy over 4 by 4 reads(%z : memref<4xf32>) writes(%b : memref<4xf32>)
// CHECK-NEXT: lir.launch @k0_copy over 4 by 4 reads(%b : memref<4xf32>) writes(%y : memref<4xf32>)
// CHECK-NEXT: lir.launch @k0_copy over 4 by 4 reads(%d : memref<4xf32>) writes(%z : memref<4xf32>)
// CHECK-NEXT: lir.launch @k1_copy over 1 by 1 reads(%2 : memref<i32>) writes(%n : memref<i32>)
// CHECK-NEXT: }
// CHECK-NEXT: }
func.func @repeat(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<i32>) {
  %y, %z, %n = mir.while carries(%x, %w : tensor<4xf32>, tensor<4xf32>) captured(%w : tensor<4xf32>) max_iterations 7 -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    %s = mir.reduce_sum %a axes [0] : (tensor<4xf32>) -> tensor<f32>
    %one = mir.constant dense<1.0> : tensor<f32>
    %p = mir.lt %s, %one : (tensor<f32>, tensor<f32>) -> tensor<i1>
    mir.yield %p : tensor<i1>
  } do {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    %d = mir.add %a, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mir.yield %b, %d : tensor<4xf32>, tensor<4xf32>
  }
  func.return %y, %z, %n : tensor<4xf32>, tensor<4xf32>, tensor<i32>
}

// -----

// What is computed again is grouped by itself, and launched in its place.
// CHECK-LABEL: lir.program @again {
// CHECK-NEXT: %x = lir.input "arg0" : memref<4xf32>
// CHECK-NEXT: %z = lir.output 0 : memref<4xf32>
// CHECK-NEXT: %a = lir.slot : memref<4xf32>
// CHECK-NEXT: lir.launch @k0_exp over 4 by 4 reads(%x : memref<4xf32>) writes(%a : memref<4xf32>)
// CHECK-NEXT: %t = lir.slot : memref<4xf32>
// CHECK-NEXT: lir.launch @k1_sin_cos over 4 by 4 reads(%a : memref<4xf32>) writes(%t : memref<4xf32>)
// CHECK-NEXT: lir.launch @k2_tanh over 4 by 4 reads(%t : memref<4xf32>) writes(%z : memref<4xf32>)
// CHECK-NEXT: }
func.func @again(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = mir.exp %x : tensor<4xf32>
  %y = mir.remat captured(%a : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%v: tensor<4xf32>):
    %s = mir.sin %v : tensor<4xf32>
    %t = mir.cos %s : tensor<4xf32>
    mir.yield %t : tensor<4xf32>
  }
  %z = mir.tanh %y : tensor<4xf32>
  func.return %z : tensor<4xf32>
}
