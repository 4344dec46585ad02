// RUN: DIAGNOSTICS

// CHECK: lir.if cannot hold lir.output
lir.program @p {
  %p = lir.input "p" : memref<i1>
  lir.if %p {
    %y = lir.output 0 : memref<4xf32>
  }
}

// -----

// CHECK: lir.while cannot hold arith.constant
lir.program @p {
  %p = lir.input "p" : memref<i1>
  lir.while %p after {
  } do {
    %y = arith.constant 0 : index
  }
}

// -----

// CHECK: expected inside of a lir.program
builtin.module {
  %p = lir.slot : memref<i1>
  lir.if %p {
  }
}

// -----

// CHECK: expected a predicate of type memref<i1>, got memref<1xi1>
lir.program @p {
  %p = lir.input "p" : memref<1xi1>
  "lir.if"(%p) ({
  ^bb0:
  }, {
  ^bb0:
  }) : (memref<1xi1>) -> ()
}

// -----

// CHECK: expected a predicate of type memref<i1>, got memref<i8>
lir.program @p {
  %p = lir.input "p" : memref<i8>
  "lir.while"(%p) ({
  ^bb0:
  }, {
  ^bb0:
  }) : (memref<i8>) -> ()
}

// -----

// CHECK: expected regions without arguments, got (index)
lir.program @p {
  %p = lir.input "p" : memref<i1>
  "lir.while"(%p) ({
  ^bb0:
  }, {
  ^bb0(%i: index):
  }) : (memref<i1>) -> ()
}

// -----

// CHECK: the predicate of lir.if comes before it is defined
lir.program @p {
  lir.if %p {
  }
  %p = lir.input "p" : memref<i1>
}

// -----

// CHECK: the predicate of lir.if is read before anything has written it
lir.program @p {
  %p = lir.slot : memref<i1>
  lir.if %p {
  }
}

// -----

// What the body writes is not there when it is asked first.
// CHECK: the predicate of lir.while is read before anything has written it
lir.program @p {
  %t = lir.input "t" : memref<i1>
  %p = lir.slot : memref<i1>
  lir.while %p after {
  } do {
    lir.launch @set over 1 by 1 reads(%t : memref<i1>) writes(%p : memref<i1>)
  }
}
lir.kernel @set(%a: memref<i1>, %o: memref<i1>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: output 0 is only written in a branch or loop that may not run
lir.program @p {
  %p = lir.input "p" : memref<i1>
  %x = lir.input "x" : memref<4xf32>
  %y = lir.output 0 : memref<4xf32>
  lir.if %p {
    lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>)
  }
}
lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: output 0 is only written in a branch or loop that may not run
lir.program @p {
  %p = lir.input "p" : memref<i1>
  %x = lir.input "x" : memref<4xf32>
  %y = lir.output 0 : memref<4xf32>
  lir.while %p after {
  } do {
    lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>)
  }
}
lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: buffer 0 of @copy, which is read, is only written in a branch or loop that may not run
lir.program @p {
  %p = lir.input "p" : memref<i1>
  %x = lir.input "x" : memref<4xf32>
  %t = lir.slot : memref<4xf32>
  %y = lir.output 0 : memref<4xf32>
  lir.if %p {
  } else {
    lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%t : memref<4xf32>)
  }
  lir.launch @copy over 4 by 4 reads(%t : memref<4xf32>) writes(%y : memref<4xf32>)
}
lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// One branch does not see what the other one writes.
// CHECK: buffer 0 of @copy is read in a branch before anything has written it
lir.program @p {
  %p = lir.input "p" : memref<i1>
  %x = lir.input "x" : memref<4xf32>
  %t = lir.slot : memref<4xf32>
  %y = lir.output 0 : memref<4xf32>
  lir.if %p {
    lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%t : memref<4xf32>)
    lir.launch @copy over 4 by 4 reads(%t : memref<4xf32>) writes(%y : memref<4xf32>)
  } else {
    lir.launch @copy over 4 by 4 reads(%t : memref<4xf32>) writes(%y : memref<4xf32>)
  }
}
lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// The first test does not see what the body writes.
// CHECK: buffer 0 of @copy is read in a branch before anything has written it
lir.program @p {
  %p = lir.input "p" : memref<i1>
  %x = lir.input "x" : memref<4xf32>
  %t = lir.slot : memref<4xf32>
  %y = lir.output 0 : memref<4xf32>
  lir.while %p after {
    lir.launch @copy over 4 by 4 reads(%t : memref<4xf32>) writes(%y : memref<4xf32>)
  } do {
    lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%t : memref<4xf32>)
  }
}
lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// What a branch declares is not seen behind it.
// CHECK: @copy gets a buffer before it is defined
lir.program @p {
  %p = lir.input "p" : memref<i1>
  %x = lir.input "x" : memref<4xf32>
  %y = lir.output 0 : memref<4xf32>
  lir.launch @copy over 4 by 4 reads(%t : memref<4xf32>) writes(%y : memref<4xf32>)
  lir.if %p {
    %t = lir.slot : memref<4xf32>
    lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%t : memref<4xf32>)
  }
}
lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// %kept is in use in every iteration, between those in which it is named too.
// CHECK: the slots memref<4xf32> at 0 and memref<4xf32> at 0 overlap and are in use at the same time
lir.program @p attributes {arena_bytes = 64 : i64, alignment = 64 : i64} {
  %p = lir.input "p" : memref<i1>
  %x = lir.input "x" : memref<4xf32>
  %kept = lir.slot at 0 : memref<4xf32>
  %y = lir.output 0 : memref<4xf32>
  lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>)
  lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%kept : memref<4xf32>)
  lir.while %p after {
    lir.launch @copy over 4 by 4 reads(%kept : memref<4xf32>) writes(%y : memref<4xf32>)
  } do {
    %t = lir.slot at 0 : memref<4xf32>
    lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%t : memref<4xf32>)
  }
}
lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// %kept is in use in one branch, and while the other one is not run.
// CHECK: the slots memref<4xf32> at 0 and memref<4xf32> at 0 overlap and are in use at the same time
lir.program @p attributes {arena_bytes = 64 : i64, alignment = 64 : i64} {
  %p = lir.input "p" : memref<i1>
  %x = lir.input "x" : memref<4xf32>
  %kept = lir.slot at 0 : memref<4xf32>
  %y = lir.output 0 : memref<4xf32>
  lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>)
  lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%kept : memref<4xf32>)
  lir.if %p {
    %t = lir.slot at 0 : memref<4xf32>
    lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%t : memref<4xf32>)
  }
  lir.launch @copy over 4 by 4 reads(%kept : memref<4xf32>) writes(%y : memref<4xf32>)
}
lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}
