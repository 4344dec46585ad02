// RUN: xdsl-opt %s --split-input-file -p 'lir-tile-matmuls{lanes=16 registers=32}' | filecheck %s

// Three tiles of ten rows for each panel of 16 columns. Of 500 terms, 250 and then 250 are added up; those from 0 on are
// stored, the others added.
// CHECK-LABEL: lir.kernel @k0_matmul
// CHECK: scf.for %block = %c0 to %c500 step %c250 {
// CHECK-NEXT: %0 = arith.addi %block, %c250 : index
// CHECK-NEXT: %1 = arith.minsi %0, %c500 : index
// CHECK-NEXT: scf.for %j = %c0 to %c5 step %c1 {
// CHECK-NEXT: %2 = arith.muli %j, %c16 : index
// CHECK-NEXT: %3 = arith.addi %c0_1, %2 : index
// CHECK-NEXT: %4 = arith.subi %1, %block : index
// CHECK-NEXT: lir.call_function "gemm_lines_16_v16_f32" [80](%b) to(%panel) at[%block, %3, %c0, %c0] range %c0 to %4 : (memref<500x80xf32>) to(memref<250x16xf32>)
// CHECK-NEXT: lir.call_function "gemm_tile_10x16_v16_t0_by1_f32" [3, 500, 1, 5000, 16, 16, 80, 80, 0](%a, %panel, %b) to(%c) at[%lo, %block, %c0, %c0, %block, %3, %lo, %3] range %block to %1 : (memref<30x500xf32>, memref<250x16xf32>, memref<500x80xf32>) to(memref<30x80xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
builtin.module {
  lir.program @forward {
    %x = lir.input "x" : memref<30x500xf32>
    %w = lir.param "w" : memref<500x80xf32>
    %y = lir.output 0 : memref<30x80xf32>
    lir.launch @k0_matmul over 30 by 30 reads(%x, %w : memref<30x500xf32>, memref<500x80xf32>) writes(%y : memref<30x80xf32>)
  }
  lir.kernel @k0_matmul(%a: memref<30x500xf32>, %b: memref<500x80xf32>, %c: memref<30x80xf32>, %lo: index, %hi: index) {
    %c0 = arith.constant 0 : index
    %c80 = arith.constant 80 : index
    lir.gemm %a[], %b[], %c[] rows %lo to %hi cols %c0 to %c80 : memref<30x500xf32>, memref<500x80xf32>, memref<30x80xf32>
    lir.return
  }
}

// -----

// 30 columns leave vectors of 8, 4 and 2 lanes: zeros fill the lines of the panel up to 32, and a tile has two vectors a
// row.
// CHECK-LABEL: lir.kernel @k0_matmul
// CHECK: %panel = memref.alloca() : memref<200x32xf32>
// CHECK: lir.call_function "gemm_padded_lines_30_v16_f32" [30](%b) to(%panel) at[%block, %c0_1, %c0, %c0] range %c0 to %2 : (memref<400x30xf32>) to(memref<200x32xf32>)
// CHECK-NEXT: lir.call_function "gemm_padded_tile_12x30_v16_t0_by1_f32" [10, 400, 1, 4800, 32, 16, 30, 30, 0](%a, %panel, %b) to(%c) at[%lo, %block, %c0, %c0, %block, %c0_1, %lo, %c0_1] range %block to %1 : (memref<120x400xf32>, memref<200x32xf32>, memref<400x30xf32>) to(memref<120x30xf32>)
builtin.module {
  lir.program @padded {
    %x = lir.input "x" : memref<120x400xf32>
    %w = lir.param "w" : memref<400x30xf32>
    %y = lir.output 0 : memref<120x30xf32>
    lir.launch @k0_matmul over 120 by 120 reads(%x, %w : memref<120x400xf32>, memref<400x30xf32>) writes(%y : memref<120x30xf32>)
  }
  lir.kernel @k0_matmul(%a: memref<120x400xf32>, %b: memref<400x30xf32>, %c: memref<120x30xf32>, %lo: index, %hi: index) {
    %c0 = arith.constant 0 : index
    %c30 = arith.constant 30 : index
    lir.gemm %a[], %b[], %c[] rows %lo to %hi cols %c0 to %c30 : memref<120x400xf32>, memref<400x30xf32>, memref<120x30xf32>
    lir.return
  }
}
