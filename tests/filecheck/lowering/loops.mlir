// RUN: xdsl-opt %s -p lir-plan-memory -t numba | filecheck %s
// RUN: xdsl-opt %s -p lir-plan-memory -t 'numba{threads=2}' | filecheck %s --check-prefix THREADS

// Loops of a program are loops over its launches; what moves with the iteration is added to an address.

// A name that a buffer has is not taken, and neither is a loop printed in which nothing is launched.
// CHECK: def carry_launches(memory):
// CHECK-NEXT: arena = memory[0]
// CHECK-NEXT: i = memory[1]
// CHECK-NEXT: y = memory[2]
// CHECK-NEXT: k(i + 16, arena + 16, 0, 4)
// CHECK-NEXT: for i_2 in range(6, -1, -1):
// CHECK-NEXT: for lo in range(0, 4, 2):
// CHECK-NEXT: k(arena + (i_2 + 1) % 2 * 16, arena + i_2 % 2 * 16, lo, lesser(lo + 2, 4))
// CHECK-NEXT: for j in range(3):
// CHECK-NEXT: k(i + i_2 * 48 + j * 16, y + 16 + j * 16, 0, 4)
// CHECK-NEXT: k(arena + 16, y, 0, 4)
// CHECK: def carry(**inputs):
// THREADS: for i_2 in range(6, -1, -1):
// THREADS-NEXT: parallel(k, (arena + (i_2 + 1) % 2 * 16, arena + i_2 % 2 * 16,), 4, 2)
builtin.module {
  lir.program @carry {
    %i = lir.input "i" : memref<7x3x4xf32>
    %c = lir.slot : memref<2x4xf32>
    %y = lir.output 0 : memref<4x4xf32>
    %x1 = lir.view %i at 4 : memref<7x3x4xf32> to memref<4xf32>
    %c1 = lir.view %c at 4 : memref<2x4xf32> to memref<4xf32>
    %y0 = lir.view %y at 0 : memref<4x4xf32> to memref<4xf32>
    lir.launch @k over 4 by 4 reads(%x1 : memref<4xf32>) writes(%c1 : memref<4xf32>)
    lir.loop %i_1 = 0 to 7 reverse {
      %old = lir.step %c at %i_1 shift 1 modulo 2 : memref<2x4xf32> to memref<4xf32>
      %new = lir.step %c at %i_1 modulo 2 : memref<2x4xf32> to memref<4xf32>
      lir.launch @k over 4 by 2 reads(%old : memref<4xf32>) writes(%new : memref<4xf32>)
      %rows = lir.step %i at %i_1 : memref<7x3x4xf32> to memref<3x4xf32>
      lir.loop %j = 0 to 3 {
        %row = lir.step %rows at %j : memref<3x4xf32> to memref<4xf32>
        %out = lir.step %y at %j shift 1 : memref<4x4xf32> to memref<4xf32>
        lir.launch @k over 4 by 4 reads(%row : memref<4xf32>) writes(%out : memref<4xf32>)
      }
      lir.loop %nothing = 0 to 3 {
      }
    }
    lir.launch @k over 4 by 4 reads(%c1 : memref<4xf32>) writes(%y0 : memref<4xf32>)
  }
  lir.kernel @k(%i: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
    lir.return
  }
}
