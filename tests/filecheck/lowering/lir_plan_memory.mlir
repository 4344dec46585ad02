// RUN: xdsl-opt %s -p lir-plan-memory --split-input-file --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p 'lir-plan-memory{alignment=512}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix=WIDE

// Slots get byte offsets; those that are never live together share bytes.

// %a and %c are never live together, and a slot that nothing uses goes away.
// CHECK-LABEL: lir.program @p attributes {arena_bytes = 512 : i64, alignment = 64 : i64} {
// CHECK: %a = lir.slot at 0 : memref<64xf32>
// CHECK-NEXT: %b = lir.slot at 256 : memref<64xf32>
// CHECK-NEXT: %c = lir.slot at 0 : memref<64xf32>
// CHECK-NEXT: %y = lir.output 0 : memref<f32>
// WIDE-LABEL: lir.program @p attributes {arena_bytes = 768 : i64, alignment = 512 : i64} {
// WIDE: %a = lir.slot at 0 : memref<64xf32>
// WIDE-NEXT: %b = lir.slot at 512 : memref<64xf32>
// WIDE-NEXT: %c = lir.slot at 0 : memref<64xf32>
// WIDE-NEXT: %y = lir.output 0 : memref<f32>
builtin.module {
  lir.program @p {
    %x = lir.input "x" : memref<64xf32>
    %a = lir.slot : memref<64xf32>
    %b = lir.slot : memref<64xf32>
    %c = lir.slot : memref<64xf32>
    %unused = lir.slot : memref<64xf32>
    %y = lir.output 0 : memref<f32>
    lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%a : memref<64xf32>)
    lir.launch @k over 1 by 1 reads(%a : memref<64xf32>) writes(%b : memref<64xf32>)
    lir.launch @k over 1 by 1 reads(%b : memref<64xf32>) writes(%c : memref<64xf32>)
    lir.launch @last over 1 by 1 reads(%c : memref<64xf32>) writes(%y : memref<f32>)
  }
  lir.kernel @k(%i: memref<64xf32>, %o: memref<64xf32>, %lo: index, %hi: index) {
    lir.return
  }
  lir.kernel @last(%i: memref<64xf32>, %o: memref<f32>, %lo: index, %hi: index) {
    lir.return
  }
}

// -----

// %a fits into the output, which is declared below it: the output moves up.
// CHECK-LABEL: lir.program @late attributes {arena_bytes = 256 : i64, alignment = 64 : i64} {
// CHECK-NEXT: %x = lir.input "x" : memref<64xf32>
// CHECK-NEXT: %y = lir.output 0 : memref<64xf32>
// CHECK-NEXT: %a = lir.view %y at 0 : memref<64xf32> to memref<64xf32>
// CHECK-NEXT: %b = lir.slot at 0 : memref<64xf32>
builtin.module {
  lir.program @late {
    %x = lir.input "x" : memref<64xf32>
    %a = lir.slot : memref<64xf32>
    %b = lir.slot : memref<64xf32>
    lir.launch @k over 64 by 64 reads(%x : memref<64xf32>) writes(%a : memref<64xf32>)
    lir.launch @k over 64 by 64 reads(%a : memref<64xf32>) writes(%b : memref<64xf32>)
    %y = lir.output 0 : memref<64xf32>
    lir.launch @k over 64 by 64 reads(%b : memref<64xf32>) writes(%y : memref<64xf32>)
  }
  lir.kernel @k(%i: memref<64xf32>, %o: memref<64xf32>, %lo: index, %hi: index) {
    lir.return
  }
}

// -----

// %c is carried: it lives for the whole loop. %t, of each iteration, shares with %u, and with what lives around the loop
// but not in it: %before and %after. %in is read in every iteration, %kept only at the end.
// CHECK-LABEL: lir.program @loop attributes {arena_bytes = 1024 : i64, alignment = 64 : i64} {
// CHECK: %c = lir.slot at 0 : memref<2x64xf32>
// CHECK-NEXT: %in = lir.slot at 512 : memref<64xf32>
// CHECK: %before = lir.slot at 0 : memref<64xf32>
// CHECK: lir.loop %i = 0 to 1000 {
// CHECK-NEXT: %t = lir.slot at 768 : memref<64xf32>
// CHECK-NEXT: %u = lir.slot at 768 : memref<64xf32>
// CHECK: %after = lir.slot at 512 : memref<64xf32>
// WIDE-LABEL: lir.program @loop attributes {arena_bytes = 1280 : i64, alignment = 512 : i64} {
// WIDE: %t = lir.slot at 1024 : memref<64xf32>
builtin.module {
  lir.program @loop {
    %x = lir.input "x" : memref<64xf32>
    %c = lir.slot : memref<2x64xf32>
    %in = lir.slot : memref<64xf32>
    %y = lir.output 0 : memref<f32>
    %before = lir.slot : memref<64xf32>
    %first = lir.view %c at 0 : memref<2x64xf32> to memref<64xf32>
    lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%before : memref<64xf32>)
    lir.launch @k over 1 by 1 reads(%before : memref<64xf32>) writes(%in : memref<64xf32>)
    lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%first : memref<64xf32>)
    lir.loop %i = 0 to 1000 {
      %t = lir.slot : memref<64xf32>
      %u = lir.slot : memref<64xf32>
      %unused = lir.slot : memref<2x64xf32>
      %element = lir.view %unused at 64 : memref<2x64xf32> to memref<64xf32>
      %old = lir.step %c at %i modulo 2 : memref<2x64xf32> to memref<64xf32>
      %new = lir.step %c at %i shift 1 modulo 2 : memref<2x64xf32> to memref<64xf32>
      lir.launch @k over 1 by 1 reads(%in : memref<64xf32>) writes(%t : memref<64xf32>)
      lir.launch @k over 1 by 1 reads(%t : memref<64xf32>) writes(%new : memref<64xf32>)
      lir.launch @k over 1 by 1 reads(%old : memref<64xf32>) writes(%u : memref<64xf32>)
      lir.launch @k over 1 by 1 reads(%u : memref<64xf32>) writes(%new : memref<64xf32>)
    }
    %after = lir.slot : memref<64xf32>
    lir.launch @k over 1 by 1 reads(%first : memref<64xf32>) writes(%after : memref<64xf32>)
    lir.launch @last over 1 by 1 reads(%after : memref<64xf32>) writes(%y : memref<f32>)
  }
  lir.kernel @k(%i: memref<64xf32>, %o: memref<64xf32>, %lo: index, %hi: index) {
    lir.return
  }
  lir.kernel @last(%i: memref<64xf32>, %o: memref<f32>, %lo: index, %hi: index) {
    lir.return
  }
}

// -----

// What is dead before an output is written, in a loop too, lies in it: the output moves in front of the loop.
// CHECK-LABEL: lir.program @output attributes {arena_bytes = 0 : i64, alignment = 64 : i64} {
// CHECK-NEXT: %x = lir.input "x" : memref<64xf32>
// CHECK-NEXT: %z = lir.output 1 : memref<64xf32>
// CHECK-NEXT: %y = lir.output 0 : memref<64xf32>
// CHECK-NEXT: lir.loop %i = 0 to 3 {
// CHECK-NEXT: lir.loop %j = 0 to 3 {
// CHECK-NEXT: %t = lir.view %y at 0 : memref<64xf32> to memref<64xf32>
builtin.module {
  lir.program @output {
    %x = lir.input "x" : memref<64xf32>
    %z = lir.output 1 : memref<64xf32>
    lir.loop %i = 0 to 3 {
      lir.loop %j = 0 to 3 {
        %t = lir.slot : memref<64xf32>
        lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%t : memref<64xf32>)
        lir.launch @k over 1 by 1 reads(%t : memref<64xf32>) writes(%z : memref<64xf32>)
      }
    }
    %y = lir.output 0 : memref<64xf32>
    lir.launch @k over 1 by 1 reads(%z : memref<64xf32>) writes(%y : memref<64xf32>)
  }
  lir.kernel @k(%i: memref<64xf32>, %o: memref<64xf32>, %lo: index, %hi: index) {
    lir.return
  }
}

// -----

// %last is kept from one iteration to the next, and %t, though dead before %last is written in one, must not lie in it.
// CHECK-LABEL: lir.program @kept attributes {arena_bytes = 512 : i64, alignment = 64 : i64} {
// CHECK: %last = lir.slot at 0 : memref<64xf32>
// CHECK: lir.loop %i = 0 to 3 {
// CHECK-NEXT: %t = lir.slot at 256 : memref<64xf32>
builtin.module {
  lir.program @kept {
    %x = lir.input "x" : memref<64xf32>
    %y = lir.output 0 : memref<64xf32>
    %last = lir.slot : memref<64xf32>
    lir.loop %i = 0 to 3 {
      %t = lir.slot : memref<64xf32>
      lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%t : memref<64xf32>)
      lir.launch @k over 1 by 1 reads(%t : memref<64xf32>) writes(%y : memref<64xf32>)
      lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%last : memref<64xf32>)
    }
    lir.launch @k over 1 by 1 reads(%last : memref<64xf32>) writes(%y : memref<64xf32>)
  }
  lir.kernel @k(%i: memref<64xf32>, %o: memref<64xf32>, %lo: index, %hi: index) {
    lir.return
  }
}

// -----

// Slots of two branches may lie at the same place, and one that is needed behind them at neither's.
// CHECK-LABEL: lir.program @branch attributes {arena_bytes = 512 : i64, alignment = 64 : i64} {
// CHECK: %kept = lir.slot at 0 : memref<64xf32>
// CHECK: lir.if %p {
// CHECK-NEXT: %t = lir.slot at 256 : memref<64xf32>
// CHECK: } else {
// CHECK-NEXT: %u = lir.slot at 256 : memref<64xf32>
builtin.module {
  lir.program @branch {
    %p = lir.input "p" : memref<i1>
    %x = lir.input "x" : memref<64xf32>
    %y = lir.output 0 : memref<64xf32>
    %kept = lir.slot : memref<64xf32>
    lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%y : memref<64xf32>)
    lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%kept : memref<64xf32>)
    lir.if %p {
      %t = lir.slot : memref<64xf32>
      lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%t : memref<64xf32>)
      lir.launch @k over 1 by 1 reads(%t : memref<64xf32>) writes(%y : memref<64xf32>)
    } else {
      %u = lir.slot : memref<64xf32>
      lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%u : memref<64xf32>)
      lir.launch @k over 1 by 1 reads(%u : memref<64xf32>) writes(%y : memref<64xf32>)
    }
    lir.launch @k over 1 by 1 reads(%kept : memref<64xf32>) writes(%y : memref<64xf32>)
  }
  lir.kernel @k(%i: memref<64xf32>, %o: memref<64xf32>, %lo: index, %hi: index) {
    lir.return
  }
}

// -----

// What the next iteration of a while reads is in use to the end of the body, and the predicate too; %t of the test and
// %u of the body are never needed together.
// CHECK-LABEL: lir.program @repeat attributes {arena_bytes = 513 : i64, alignment = 64 : i64} {
// CHECK: %c = lir.slot at 0 : memref<64xf32>
// CHECK: %going = lir.slot at 512 : memref<i1>
// CHECK: lir.while %going after {
// CHECK-NEXT: %t = lir.slot at 256 : memref<64xf32>
// CHECK: } do {
// CHECK-NEXT: %u = lir.slot at 256 : memref<64xf32>
builtin.module {
  lir.program @repeat {
    %x = lir.input "x" : memref<64xf32>
    %y = lir.output 0 : memref<64xf32>
    lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%y : memref<64xf32>)
    %c = lir.slot : memref<64xf32>
    %going = lir.slot : memref<i1>
    lir.launch @k over 1 by 1 reads(%x : memref<64xf32>) writes(%c : memref<64xf32>)
    lir.while %going after {
      %t = lir.slot : memref<64xf32>
      lir.launch @k over 1 by 1 reads(%c : memref<64xf32>) writes(%t : memref<64xf32>)
      lir.launch @less over 1 by 1 reads(%t : memref<64xf32>) writes(%going : memref<i1>)
    } do {
      %u = lir.slot : memref<64xf32>
      lir.launch @k over 1 by 1 reads(%c : memref<64xf32>) writes(%u : memref<64xf32>)
      lir.launch @k over 1 by 1 reads(%u : memref<64xf32>) writes(%c : memref<64xf32>)
    }
    lir.launch @k over 1 by 1 reads(%c : memref<64xf32>) writes(%y : memref<64xf32>)
  }
  lir.kernel @k(%i: memref<64xf32>, %o: memref<64xf32>, %lo: index, %hi: index) {
    lir.return
  }
  lir.kernel @less(%i: memref<64xf32>, %o: memref<i1>, %lo: index, %hi: index) {
    lir.return
  }
}

// -----

// %b would enlarge the arena: it lies in %x, which was read for the last time before. %c fits where %a was. %w is read
// to the end, and nothing lies in it.
// CHECK-LABEL: lir.program @scratch attributes {arena_bytes = 256 : i64, alignment = 64 : i64} {
// CHECK-NEXT: %x = lir.input "x" scratch : memref<2x64xf32>
// CHECK-NEXT: %w = lir.input "w" : memref<64xf32>
// CHECK-NEXT: %a = lir.slot at 0 : memref<64xf32>
// CHECK-NEXT: %b = lir.view %x at 0 : memref<2x64xf32> to memref<64xf32>
// CHECK-NEXT: %c = lir.slot at 0 : memref<64xf32>
builtin.module {
  lir.program @scratch {
    %x = lir.input "x" scratch : memref<2x64xf32>
    %w = lir.input "w" scratch : memref<64xf32>
    %a = lir.slot : memref<64xf32>
    %b = lir.slot : memref<64xf32>
    %c = lir.slot : memref<64xf32>
    %y = lir.output 0 : memref<f32>
    %row = lir.view %x at 64 : memref<2x64xf32> to memref<64xf32>
    lir.launch @k over 1 by 1 reads(%row : memref<64xf32>) writes(%a : memref<64xf32>)
    lir.launch @k over 1 by 1 reads(%a : memref<64xf32>) writes(%b : memref<64xf32>)
    lir.launch @k over 1 by 1 reads(%b : memref<64xf32>) writes(%c : memref<64xf32>)
    lir.launch @last over 1 by 1 reads(%c, %w : memref<64xf32>, memref<64xf32>) writes(%y : memref<f32>)
  }
  lir.kernel @k(%i: memref<64xf32>, %o: memref<64xf32>, %lo: index, %hi: index) {
    lir.return
  }
  lir.kernel @last(%i: memref<64xf32>, %j: memref<64xf32>, %o: memref<f32>, %lo: index, %hi: index) {
    lir.return
  }
}
