// RUN: xdsl-opt %s -p lir-plan-memory --split-input-file --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p 'lir-plan-memory{alignment=512}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix=WIDE

// Slots get byte offsets; those that are never live together share bytes.

// %a and %c are never live together, and a slot that nothing uses goes away.
builtin.module {
  lir.program @p {
    %x = lir.input "x" : memref<64xf32>
    %a = lir.slot : memref<64xf32>
    %b = lir.slot : memref<64xf32>
    %c = lir.slot : memref<64xf32>
    %unused = lir.slot : memref<64xf32>
    %y = lir.output 0 : memref<f32>
    lir.launch @k over 1 by 1 reads(%x) writes(%a) : (memref<64xf32>) -> memref<64xf32>
    lir.launch @k over 1 by 1 reads(%a) writes(%b) : (memref<64xf32>) -> memref<64xf32>
    lir.launch @k over 1 by 1 reads(%b) writes(%c) : (memref<64xf32>) -> memref<64xf32>
    lir.launch @last over 1 by 1 reads(%c) writes(%y) : (memref<64xf32>) -> memref<f32>
  }
  lir.kernel @k(%i: memref<64xf32>, %o: memref<64xf32>, %lo: index, %hi: index) {
    lir.return
  }
  lir.kernel @last(%i: memref<64xf32>, %o: memref<f32>, %lo: index, %hi: index) {
    lir.return
  }
}
