// RUN: xdsl-opt %s -p lir-plan-memory -t numba | filecheck %s
// RUN: xdsl-opt %s -p lir-plan-memory -t 'numba{threads=2}' | filecheck %s --check-prefix THREADS

// Branches are branches; a part without launches is left out, and so is a branch of two of them.
// CHECK: def is_set(address):
// CHECK: def search_launches(memory):
// CHECK-NEXT: arena = memory[0]
// CHECK-NEXT: ps = memory[1]
// CHECK-NEXT: x = memory[2]
// CHECK-NEXT: y = memory[3]
// CHECK-NEXT: if is_set(ps + 2):
// CHECK-NEXT: k(x, y, 0, 4)
// CHECK-NEXT: else:
// CHECK-NEXT: for lo in range(0, 4, 2):
// CHECK-NEXT: k(x, y, lo, lesser(lo + 2, 4))
// CHECK-NEXT: for i in range(3):
// CHECK-NEXT: if not is_set(ps + i * 1):
// CHECK-NEXT: k(x, y, 0, 4)
// CHECK-NEXT: while True:
// CHECK-NEXT: less(y, arena + 64, 0, 1)
// CHECK-NEXT: if not is_set(arena + 64):
// CHECK-NEXT: break
// CHECK-NEXT: k(y, arena, 0, 4)
// CHECK-NEXT: k(arena, y, 0, 4)
// CHECK-NEXT: {{^$}}
// THREADS: else:
// THREADS-NEXT: parallel(k, (x, y,), 4, 2)
builtin.module {
  lir.program @search {
    %ps = lir.input "ps" : memref<3xi1>
    %x = lir.input "x" : memref<4xf32>
    %y = lir.output 0 : memref<4xf32>
    %going = lir.slot : memref<i1>
    %p = lir.view %ps at 2 : memref<3xi1> to memref<i1>
    lir.if %p {
      lir.launch @k over 4 by 4 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>)
    } else {
      lir.launch @k over 4 by 2 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>)
    }
    lir.if %p {
      lir.loop %j = 0 to 3 {
      }
    }
    lir.loop %i = 0 to 3 {
      %q = lir.step %ps at %i : memref<3xi1> to memref<i1>
      lir.if %q {
      } else {
        lir.launch @k over 4 by 4 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>)
      }
    }
    lir.while %going after {
      lir.launch @less over 1 by 1 reads(%y : memref<4xf32>) writes(%going : memref<i1>)
    } do {
      %t = lir.slot : memref<4xf32>
      lir.launch @k over 4 by 4 reads(%y : memref<4xf32>) writes(%t : memref<4xf32>)
      lir.launch @k over 4 by 4 reads(%t : memref<4xf32>) writes(%y : memref<4xf32>)
    }
  }
  lir.kernel @k(%i: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
    lir.return
  }
  lir.kernel @less(%i: memref<4xf32>, %o: memref<i1>, %lo: index, %hi: index) {
    lir.return
  }
}
