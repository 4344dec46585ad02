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
