// RUN: DIAGNOSTICS

// CHECK: expected at least 0 iterations, got -1
lir.program @p {
  lir.loop %i = 0 to -1 {
  }
}

// -----

// CHECK: lir.loop cannot hold lir.output
lir.program @p {
  lir.loop %i = 0 to 3 {
    %y = lir.output 0 : memref<4xf32>
  }
}

// -----

// CHECK: lir.loop cannot hold arith.constant
lir.program @p {
  lir.loop %i = 0 to 3 {
    %y = arith.constant 0 : index
  }
}

// -----

// CHECK: expected inside of a lir.program
lir.loop %i = 0 to 3 {
}

// -----

// CHECK: expected a body of one index, got ()
lir.program @p {
  "lir.loop"() <{extent = 3 : i64}> ({
  ^bb0:
  }) : () -> ()
}

// -----

// CHECK: a lir.loop counts from 0
lir.program @p {
  lir.loop %i = 1 to 3 {
  }
}

// -----

// CHECK: elements 1 to 7 leave the 7 of the source
lir.program @p {
  %xs = lir.input "xs" : memref<7x4xf32>
  lir.loop %i = 0 to 7 {
    %x = lir.step %xs at %i shift 1 : memref<7x4xf32> to memref<4xf32>
  }
}

// -----

// CHECK: elements 0 to 7 leave the 7 of the source
lir.program @p {
  %xs = lir.input "xs" : memref<7x4xf32>
  lir.loop %i = 0 to 8 {
    %x = lir.step %xs at %i : memref<7x4xf32> to memref<4xf32>
  }
}

// -----

// CHECK: expected 0 <= shift < modulo <= 2, got 0 and 3
lir.program @p {
  %c = lir.slot : memref<2x4xf32>
  lir.loop %i = 0 to 7 {
    %x = lir.step %c at %i modulo 3 : memref<2x4xf32> to memref<4xf32>
  }
}

// -----

// CHECK: expected 0 <= shift < modulo <= 2, got 2 and 2
lir.program @p {
  %c = lir.slot : memref<2x4xf32>
  lir.loop %i = 0 to 7 {
    %x = lir.step %c at %i shift 2 modulo 2 : memref<2x4xf32> to memref<4xf32>
  }
}

// -----

// CHECK: expected 0 <= shift < modulo <= 2, got 0 and 0
lir.program @p {
  %c = lir.slot : memref<2x4xf32>
  lir.loop %i = 0 to 7 {
    %x = lir.step %c at %i modulo 0 : memref<2x4xf32> to memref<4xf32>
  }
}

// -----

// CHECK: an element of memref<7x4xf32> is memref<4xf32>, got memref<5xf32>
lir.program @p {
  %xs = lir.input "xs" : memref<7x4xf32>
  lir.loop %i = 0 to 7 {
    %x = lir.step %xs at %i : memref<7x4xf32> to memref<5xf32>
  }
}

// -----

// CHECK: expected a source with a leading axis, got memref<f32>
lir.program @p {
  %s = lir.slot : memref<f32>
  lir.loop %i = 0 to 7 {
    %x = lir.step %s at %i : memref<f32> to memref<f32>
  }
}

// -----

// CHECK: the slot memref<2x4xf32> is local to one iteration of the loop of its lir.step
lir.program @p {
  lir.loop %i = 0 to 7 {
    %c = lir.slot : memref<2x4xf32>
    %x = lir.step %c at %i modulo 2 : memref<2x4xf32> to memref<4xf32>
  }
}

// -----

// CHECK: buffer 0 of @copy is read in a loop before anything has written it
lir.program @p {
  %c = lir.slot : memref<2x4xf32>
  lir.loop %i = 0 to 7 {
    %in = lir.step %c at %i modulo 2 : memref<2x4xf32> to memref<4xf32>
    %out = lir.step %c at %i shift 1 modulo 2 : memref<2x4xf32> to memref<4xf32>
    lir.launch @copy over 4 by 4 reads(%in : memref<4xf32>) writes(%out : memref<4xf32>)
  }
}
lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: buffer 0 of @copy is read in a loop before anything has written it
lir.program @p {
  %y = lir.output 0 : memref<4xf32>
  lir.loop %i = 0 to 7 {
    %t = lir.slot : memref<4xf32>
    lir.launch @copy over 4 by 4 reads(%t : memref<4xf32>) writes(%y : memref<4xf32>)
  }
}
lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// A loop that never runs writes nothing.
// CHECK: buffer 0 of @copy is read in a loop before anything has written it
lir.program @p {
  %xs = lir.input "xs" : memref<7x4xf32>
  %y = lir.output 0 : memref<4xf32>
  %t = lir.slot : memref<4xf32>
  lir.loop %i = 0 to 0 {
    %x = lir.step %xs at %i : memref<7x4xf32> to memref<4xf32>
    lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%t : memref<4xf32>)
  }
  lir.loop %j = 0 to 7 {
    lir.launch @copy over 4 by 4 reads(%t : memref<4xf32>) writes(%y : memref<4xf32>)
  }
}
lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: @copy would write to a lir.input
lir.program @p {
  %xs = lir.input "xs" : memref<7x4xf32>
  %y = lir.output 0 : memref<4xf32>
  lir.loop %i = 0 to 7 {
    %x = lir.step %xs at %i : memref<7x4xf32> to memref<4xf32>
    lir.launch @copy over 4 by 4 reads(%y : memref<4xf32>) writes(%x : memref<4xf32>)
  }
}
lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: buffers 0 and 1 of @copy overlap, and 1 is written
lir.program @p {
  %x = lir.input "x" : memref<4xf32>
  %c = lir.slot : memref<2x4xf32>
  %c0 = lir.view %c at 0 : memref<2x4xf32> to memref<4xf32>
  lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%c0 : memref<4xf32>)
  lir.loop %i = 0 to 7 {
    %in = lir.step %c at %i modulo 2 : memref<2x4xf32> to memref<4xf32>
    %out = lir.step %c at %i shift 0 modulo 2 : memref<2x4xf32> to memref<4xf32>
    lir.launch @copy over 4 by 4 reads(%in : memref<4xf32>) writes(%out : memref<4xf32>)
  }
}
lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// The third iteration reads what it writes.
// CHECK: buffers 0 and 1 of @copy overlap, and 1 is written
lir.program @p {
  %x = lir.input "x" : memref<4xf32>
  %c = lir.slot : memref<3x4xf32>
  %c2 = lir.view %c at 4 : memref<3x4xf32> to memref<4xf32>
  lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%c2 : memref<4xf32>)
  lir.loop %i = 0 to 7 {
    %in = lir.step %c at %i modulo 3 : memref<3x4xf32> to memref<4xf32>
    %out = lir.step %c at %i shift 1 modulo 2 : memref<3x4xf32> to memref<4xf32>
    lir.launch @copy over 4 by 4 reads(%in : memref<4xf32>) writes(%out : memref<4xf32>)
  }
}
lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: no lir.kernel is named @gone
lir.program @p {
  %y = lir.output 0 : memref<4xf32>
  lir.loop %i = 0 to 7 {
    lir.launch @gone over 1 by 1 writes(%y : memref<4xf32>)
  }
}
lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// %kept is in use in every iteration, between those in which it is named too.
// CHECK: the slots memref<4xf32> at 0 and memref<4xf32> at 0 overlap and are in use at the same time
lir.program @p attributes {arena_bytes = 64 : i64, alignment = 64 : i64} {
  %x = lir.input "x" : memref<4xf32>
  %kept = lir.slot at 0 : memref<4xf32>
  %y = lir.output 0 : memref<4xf32>
  lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%kept : memref<4xf32>)
  lir.loop %i = 0 to 7 {
    lir.launch @copy over 4 by 4 reads(%kept : memref<4xf32>) writes(%y : memref<4xf32>)
    %t = lir.slot at 0 : memref<4xf32>
    lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%t : memref<4xf32>)
  }
}
lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: @copy gets a buffer before it is defined
lir.program @p {
  %y = lir.output 0 : memref<4xf32>
  lir.launch @copy over 4 by 4 reads(%t : memref<4xf32>) writes(%y : memref<4xf32>)
  %t = lir.slot : memref<4xf32>
}
lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}
