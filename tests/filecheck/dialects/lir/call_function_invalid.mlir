// RUN: DIAGNOSTICS

// CHECK: expected 3 indices, one for each dimension, got 2
lir.kernel @k(%a: memref<8xf32>, %b: memref<2x8xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  lir.call_function "f" [1] (%a) to (%b) at [%c0, %c0] range %lo to %hi : (memref<8xf32>) to (memref<2x8xf32>)
  lir.return
}

// -----

// CHECK: expected a buffer that the function writes to
lir.kernel @k(%a: memref<8xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  lir.call_function "f" [1] (%a) to () at [%c0] range %lo to %hi : (memref<8xf32>) to ()
  lir.return
}

// -----

// CHECK: lir.call_function is out of bounds of dimension 0 of memref<8xf32>: element 8
lir.kernel @k(%a: memref<8xf32>, %lo: index, %hi: index) {
  %c8 = arith.constant 8 : index
  lir.call_function "f" [1] () to (%a) at [%c8] range %lo to %hi : () to (memref<8xf32>)
  lir.return
}
