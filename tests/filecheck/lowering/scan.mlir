// RUN: xdsl-opt %s --split-input-file -p mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir | filecheck %s

// A scan is a loop over launches: a carry has two places, which iterations read and write by turns, and what is scanned or
// stacked is seen element by element.

// Forward, iteration t reads place t mod 2.
// CHECK-LABEL: lir.program @forward {
// CHECK-NEXT: %c0 = lir.input "arg0" : memref<4xf32>
// CHECK-NEXT: %xs = lir.input "arg1" : memref<7x4xf32>
// CHECK-NEXT: %w = lir.input "arg2" : memref<4xf32>
// CHECK-NEXT: %c = lir.output 0 : memref<4xf32>
// CHECK-NEXT: %ys = lir.output 1 : memref<7x4xf32>
// CHECK-NEXT: %c_1 = lir.slot : memref<2x4xf32>
// CHECK-NEXT: %c_2 = lir.view %c_1 at 0 : memref<2x4xf32> to memref<4xf32>
// CHECK-NEXT: lir.launch @k0_copy over 4 by 4 reads(%c0 : memref<4xf32>) writes(%c_2 : memref<4xf32>)
// CHECK-NEXT: lir.loop %0 = 0 to 7 {
// CHECK-NEXT: %c_3 = lir.step %c_1 at %0 modulo 2 : memref<2x4xf32> to memref<4xf32>
// CHECK-NEXT: %xs_1 = lir.step %xs at %0 : memref<7x4xf32> to memref<4xf32>
// CHECK-NEXT: %c_4 = lir.step %c_1 at %0 shift 1 modulo 2 : memref<2x4xf32> to memref<4xf32>
// CHECK-NEXT: %ys_1 = lir.step %ys at %0 : memref<7x4xf32> to memref<4xf32>
// CHECK-NEXT: lir.launch @k1_mul_add over 4 by 4 reads(%xs_1, %w, %c_3 : memref<4xf32>, memref<4xf32>, memref<4xf32>) writes(%ys_1, %c_4 : memref<4xf32>, memref<4xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: %c_5 = lir.view %c_1 at 4 : memref<2x4xf32> to memref<4xf32>
// CHECK-NEXT: lir.launch @k0_copy over 4 by 4 reads(%c_5 : memref<4xf32>) writes(%c : memref<4xf32>)
// CHECK-NEXT: }
func.func @forward(%c0: tensor<4xf32>, %xs: tensor<7x4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<7x4xf32>) {
  %c, %ys = mir.scan 7 carries(%c0 : tensor<4xf32>) over(%xs : tensor<7x4xf32>) captured(%w : tensor<4xf32>) -> (tensor<4xf32>) stacked(tensor<7x4xf32>) {
  ^bb0(%old: tensor<4xf32>, %x: tensor<4xf32>, %s: tensor<4xf32>):
    %y = mir.mul %x, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %new = mir.add %old, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mir.yield %new, %y : tensor<4xf32>, tensor<4xf32>
  }
  func.return %c, %ys : tensor<4xf32>, tensor<7x4xf32>
}

// -----

// In reverse, it writes that place.
// CHECK-LABEL: lir.program @backward {
// CHECK-NEXT: %c0 = lir.input "arg0" : memref<4xf32>
// CHECK-NEXT: %xs = lir.input "arg1" : memref<7x4xf32>
// CHECK-NEXT: %w = lir.input "arg2" : memref<4xf32>
// CHECK-NEXT: %c = lir.output 0 : memref<4xf32>
// CHECK-NEXT: %ys = lir.output 1 : memref<7x4xf32>
// CHECK-NEXT: %c_1 = lir.slot : memref<2x4xf32>
// CHECK-NEXT: %c_2 = lir.view %c_1 at 4 : memref<2x4xf32> to memref<4xf32>
// CHECK-NEXT: lir.launch @k0_copy over 4 by 4 reads(%c0 : memref<4xf32>) writes(%c_2 : memref<4xf32>)
// CHECK-NEXT: lir.loop %0 = 0 to 7 reverse {
// CHECK-NEXT: %c_3 = lir.step %c_1 at %0 shift 1 modulo 2 : memref<2x4xf32> to memref<4xf32>
// CHECK-NEXT: %xs_1 = lir.step %xs at %0 : memref<7x4xf32> to memref<4xf32>
// CHECK-NEXT: %c_4 = lir.step %c_1 at %0 modulo 2 : memref<2x4xf32> to memref<4xf32>
// CHECK-NEXT: %ys_1 = lir.step %ys at %0 : memref<7x4xf32> to memref<4xf32>
// CHECK-NEXT: lir.launch @k1_mul_add over 4 by 4 reads(%xs_1, %w, %c_3 : memref<4xf32>, memref<4xf32>, memref<4xf32>) writes(%ys_1, %c_4 : memref<4xf32>, memref<4xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: %c_5 = lir.view %c_1 at 0 : memref<2x4xf32> to memref<4xf32>
// CHECK-NEXT: lir.launch @k0_copy over 4 by 4 reads(%c_5 : memref<4xf32>) writes(%c : memref<4xf32>)
// CHECK-NEXT: }
func.func @backward(%c0: tensor<4xf32>, %xs: tensor<7x4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<7x4xf32>) {
  %c, %ys = mir.scan 7 reverse carries(%c0 : tensor<4xf32>) over(%xs : tensor<7x4xf32>) captured(%w : tensor<4xf32>) -> (tensor<4xf32>) stacked(tensor<7x4xf32>) {
  ^bb0(%old: tensor<4xf32>, %x: tensor<4xf32>, %s: tensor<4xf32>):
    %y = mir.mul %x, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %new = mir.add %old, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mir.yield %new, %y : tensor<4xf32>, tensor<4xf32>
  }
  func.return %c, %ys : tensor<4xf32>, tensor<7x4xf32>
}

// -----

// What is handed on unchanged is copied, since its place is another one; no loop holds constants.
// CHECK-LABEL: lir.program @swap {
// CHECK-NEXT: %a = lir.input "arg0" : memref<2xf32>
// CHECK-NEXT: %b = lir.input "arg1" : memref<2xf32>
// CHECK-NEXT: %x = lir.output 0 : memref<2xf32>
// CHECK-NEXT: %y = lir.output 1 : memref<2xf32>
// CHECK-NEXT: %ones = lir.output 2 : memref<3xf32>
// CHECK-NEXT: %x_1 = lir.slot : memref<2x2xf32>
// CHECK-NEXT: %x_2 = lir.view %x_1 at 0 : memref<2x2xf32> to memref<2xf32>
// CHECK-NEXT: lir.launch @k0_copy over 2 by 2 reads(%a : memref<2xf32>) writes(%x_2 : memref<2xf32>)
// CHECK-NEXT: %y_1 = lir.slot : memref<2x2xf32>
// CHECK-NEXT: %y_2 = lir.view %y_1 at 0 : memref<2x2xf32> to memref<2xf32>
// CHECK-NEXT: lir.launch @k0_copy over 2 by 2 reads(%b : memref<2xf32>) writes(%y_2 : memref<2xf32>)
// CHECK-NEXT: %one = lir.constant dense<1.000000e+00> : tensor<f32> : memref<f32>
// CHECK-NEXT: lir.loop %0 = 0 to 3 {
// CHECK-NEXT: %x_3 = lir.step %x_1 at %0 modulo 2 : memref<2x2xf32> to memref<2xf32>
// CHECK-NEXT: %y_3 = lir.step %y_1 at %0 modulo 2 : memref<2x2xf32> to memref<2xf32>
// CHECK-NEXT: %x_4 = lir.step %x_1 at %0 shift 1 modulo 2 : memref<2x2xf32> to memref<2xf32>
// CHECK-NEXT: %y_4 = lir.step %y_1 at %0 shift 1 modulo 2 : memref<2x2xf32> to memref<2xf32>
// CHECK-NEXT: %ones_1 = lir.step %ones at %0 : memref<3xf32> to memref<f32>
// CHECK-NEXT: lir.launch @k0_copy over 2 by 2 reads(%y_3 : memref<2xf32>) writes(%x_4 : memref<2xf32>)
// CHECK-NEXT: lir.launch @k0_copy over 2 by 2 reads(%x_3 : memref<2xf32>) writes(%y_4 : memref<2xf32>)
// CHECK-NEXT: lir.launch @k1_copy over 1 by 1 reads(%one : memref<f32>) writes(%ones_1 : memref<f32>)
// CHECK-NEXT: }
// CHECK-NEXT: %x_5 = lir.view %x_1 at 2 : memref<2x2xf32> to memref<2xf32>
// CHECK-NEXT: lir.launch @k0_copy over 2 by 2 reads(%x_5 : memref<2xf32>) writes(%x : memref<2xf32>)
// CHECK-NEXT: %y_5 = lir.view %y_1 at 2 : memref<2x2xf32> to memref<2xf32>
// CHECK-NEXT: lir.launch @k0_copy over 2 by 2 reads(%y_5 : memref<2xf32>) writes(%y : memref<2xf32>)
// CHECK-NEXT: }
func.func @swap(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<3xf32>) {
  %one = mir.constant dense<1.0> : tensor<f32>
  %x, %y, %ones = mir.scan 3 carries(%a, %b : tensor<2xf32>, tensor<2xf32>) captured(%one : tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>) stacked(tensor<3xf32>) {
  ^bb0(%p: tensor<2xf32>, %q: tensor<2xf32>, %c: tensor<f32>):
    mir.yield %q, %p, %c : tensor<2xf32>, tensor<2xf32>, tensor<f32>
  }
  func.return %x, %y, %ones : tensor<2xf32>, tensor<2xf32>, tensor<3xf32>
}

// -----

// A body that runs once is no loop.
// CHECK-LABEL: lir.program @once {
// CHECK-NEXT: %a = lir.input "arg0" : memref<2xf32>
// CHECK-NEXT: %q = lir.output 0 : memref<2xf32>
// CHECK-NEXT: lir.launch @k0_exp over 2 by 2 reads(%a : memref<2xf32>) writes(%q : memref<2xf32>)
// CHECK-NEXT: }
func.func @once(%a: tensor<2xf32>) -> tensor<2xf32> {
  %x = mir.scan 1 carries(%a : tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%p: tensor<2xf32>):
    %q = mir.exp %p : tensor<2xf32>
    mir.yield %q : tensor<2xf32>
  }
  func.return %x : tensor<2xf32>
}

// -----

// A carry that is stacked, before an iteration or after it, is read and written in its stack: a place for each time, one
// more for what the loop begins with, and no copies.
// CHECK-LABEL: lir.program @stacked {
// CHECK-NEXT: %c0 = lir.input "arg0" : memref<4xf32>
// CHECK-NEXT: %xs = lir.input "arg1" : memref<7x4xf32>
// CHECK-NEXT: %y = lir.output 0 : memref<7x4xf32>
// CHECK-NEXT: %c = lir.slot : memref<8x4xf32>
// CHECK-NEXT: %c_1 = lir.view %c at 0 : memref<8x4xf32> to memref<4xf32>
// CHECK-NEXT: lir.launch @k0_copy over 4 by 4 reads(%c0 : memref<4xf32>) writes(%c_1 : memref<4xf32>)
// CHECK-NEXT: lir.loop %0 = 0 to 7 {
// CHECK-NEXT: %c_2 = lir.step %c at %0 : memref<8x4xf32> to memref<4xf32>
// CHECK-NEXT: %xs_1 = lir.step %xs at %0 : memref<7x4xf32> to memref<4xf32>
// CHECK-NEXT: %c_3 = lir.step %c at %0 shift 1 : memref<8x4xf32> to memref<4xf32>
// CHECK-NEXT: lir.launch @k1_add over 4 by 4 reads(%c_2, %xs_1 : memref<4xf32>, memref<4xf32>) writes(%c_3 : memref<4xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: %c_4 = lir.view %c at 0 : memref<8x4xf32> to memref<28xf32>
// CHECK-NEXT: %c_5 = lir.view %c at 4 : memref<8x4xf32> to memref<28xf32>
// CHECK-NEXT: %y_1 = lir.view %y at 0 : memref<7x4xf32> to memref<28xf32>
// CHECK-NEXT: lir.launch @k2_mul over 28 by 28 reads(%c_4, %c_5 : memref<28xf32>, memref<28xf32>) writes(%y_1 : memref<28xf32>)
// CHECK-NEXT: }
func.func @stacked(%c0: tensor<4xf32>, %xs: tensor<7x4xf32>) -> tensor<7x4xf32> {
  %c, %before, %after = mir.scan 7 carries(%c0 : tensor<4xf32>) over(%xs : tensor<7x4xf32>) -> (tensor<4xf32>) stacked(tensor<7x4xf32>, tensor<7x4xf32>) {
  ^bb0(%old: tensor<4xf32>, %x: tensor<4xf32>):
    %new = mir.add %old, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mir.yield %new, %old, %new : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  %y = mir.mul %before, %after : (tensor<7x4xf32>, tensor<7x4xf32>) -> tensor<7x4xf32>
  func.return %y : tensor<7x4xf32>
}

// -----

// In reverse, what the loop begins with lies behind the stack of what it reads.
// CHECK-LABEL: lir.program @stacked_backward {
// CHECK-NEXT: %c0 = lir.input "arg0" : memref<4xf32>
// CHECK-NEXT: %xs = lir.input "arg1" : memref<7x4xf32>
// CHECK-NEXT: %y = lir.output 0 : memref<7x4xf32>
// CHECK-NEXT: %c = lir.slot : memref<8x4xf32>
// CHECK-NEXT: %c_1 = lir.view %c at 28 : memref<8x4xf32> to memref<4xf32>
// CHECK-NEXT: lir.launch @k0_copy over 4 by 4 reads(%c0 : memref<4xf32>) writes(%c_1 : memref<4xf32>)
// CHECK-NEXT: lir.loop %0 = 0 to 7 reverse {
// CHECK-NEXT: %c_2 = lir.step %c at %0 shift 1 : memref<8x4xf32> to memref<4xf32>
// CHECK-NEXT: %xs_1 = lir.step %xs at %0 : memref<7x4xf32> to memref<4xf32>
// CHECK-NEXT: %c_3 = lir.step %c at %0 : memref<8x4xf32> to memref<4xf32>
// CHECK-NEXT: lir.launch @k1_add over 4 by 4 reads(%c_2, %xs_1 : memref<4xf32>, memref<4xf32>) writes(%c_3 : memref<4xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: %c_4 = lir.view %c at 4 : memref<8x4xf32> to memref<28xf32>
// CHECK-NEXT: %c_5 = lir.view %c at 0 : memref<8x4xf32> to memref<28xf32>
// CHECK-NEXT: %y_1 = lir.view %y at 0 : memref<7x4xf32> to memref<28xf32>
// CHECK-NEXT: lir.launch @k2_mul over 28 by 28 reads(%c_4, %c_5 : memref<28xf32>, memref<28xf32>) writes(%y_1 : memref<28xf32>)
// CHECK-NEXT: }
func.func @stacked_backward(%c0: tensor<4xf32>, %xs: tensor<7x4xf32>) -> tensor<7x4xf32> {
  %c, %before, %after = mir.scan 7 reverse carries(%c0 : tensor<4xf32>) over(%xs : tensor<7x4xf32>) -> (tensor<4xf32>) stacked(tensor<7x4xf32>, tensor<7x4xf32>) {
  ^bb0(%old: tensor<4xf32>, %x: tensor<4xf32>):
    %new = mir.add %old, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mir.yield %new, %old, %new : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  %y = mir.mul %before, %after : (tensor<7x4xf32>, tensor<7x4xf32>) -> tensor<7x4xf32>
  func.return %y : tensor<7x4xf32>
}

// -----

// Where the stack is a result, which has no place more, one launch writes the carry there, too.
// CHECK-LABEL: lir.program @given {
// CHECK-NEXT: %c0 = lir.input "arg0" : memref<4xf32>
// CHECK-NEXT: %xs = lir.input "arg1" : memref<7x4xf32>
// CHECK-NEXT: %ys = lir.output 0 : memref<7x4xf32>
// CHECK-NEXT: %c = lir.slot : memref<2x4xf32>
// CHECK-NEXT: %c_1 = lir.view %c at 0 : memref<2x4xf32> to memref<4xf32>
// CHECK-NEXT: lir.launch @k0_copy over 4 by 4 reads(%c0 : memref<4xf32>) writes(%c_1 : memref<4xf32>)
// CHECK-NEXT: lir.loop %0 = 0 to 7 {
// CHECK-NEXT: %c_2 = lir.step %c at %0 modulo 2 : memref<2x4xf32> to memref<4xf32>
// CHECK-NEXT: %xs_1 = lir.step %xs at %0 : memref<7x4xf32> to memref<4xf32>
// CHECK-NEXT: %c_3 = lir.step %c at %0 shift 1 modulo 2 : memref<2x4xf32> to memref<4xf32>
// CHECK-NEXT: %ys_1 = lir.step %ys at %0 : memref<7x4xf32> to memref<4xf32>
// CHECK-NEXT: lir.launch @k1_add over 4 by 4 reads(%c_2, %xs_1 : memref<4xf32>, memref<4xf32>) writes(%c_3, %ys_1 : memref<4xf32>, memref<4xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: }
func.func @given(%c0: tensor<4xf32>, %xs: tensor<7x4xf32>) -> tensor<7x4xf32> {
  %c, %ys = mir.scan 7 carries(%c0 : tensor<4xf32>) over(%xs : tensor<7x4xf32>) -> (tensor<4xf32>) stacked(tensor<7x4xf32>) {
  ^bb0(%old: tensor<4xf32>, %x: tensor<4xf32>):
    %new = mir.add %old, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mir.yield %new, %new : tensor<4xf32>, tensor<4xf32>
  }
  func.return %ys : tensor<7x4xf32>
}
