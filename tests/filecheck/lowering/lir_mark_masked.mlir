// RUN: xdsl-opt %s -p 'lir-mark-unrolled{lanes=16 registers=32}' | filecheck %s
// RUN: xdsl-opt %s -p 'lir-mark-unrolled{lanes=16 registers=32}' -t rlx-llvm | filecheck %s --check-prefix=LLVM
// RUN: xdsl-opt %s -p lir-mark-unrolled | filecheck %s --check-prefix=NARROW

// A rest of 12 of 16 lanes is a masked vector; one of 2 is not, nor any where registers are those of AVX2.
// CHECK-LABEL: lir.kernel @exps(
// CHECK: math.exp
// CHECK: } {lir.masked}
// CHECK: math.exp
// CHECK-NOT: lir.masked
// NARROW-NOT: lir.masked
// LLVM: !llvm.loop [[MASKED:!.*]]
// LLVM: !{!"llvm.loop.vectorize.predicate.enable", i1 true}
lir.program @p attributes {arena_bytes = 0 : i64, alignment = 64 : i64} {
  %a = lir.input "a" : memref<4x34xf32>
  %c = lir.output 0 : memref<4x34xf32>
  lir.launch @exps over 4 by 4 reads(%a : memref<4x34xf32>) writes(%c : memref<4x34xf32>)
}
lir.kernel @exps(%a: memref<4x34xf32>, %c: memref<4x34xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c28 = arith.constant 28 : index
  %c34 = arith.constant 34 : index
  scf.for %i = %lo to %hi step %c1 {
    scf.for %j = %c0 to %c28 step %c1 {
      %x = memref.load %a[%i, %j] : memref<4x34xf32>
      %y = math.exp %x : f32
      memref.store %y, %c[%i, %j] : memref<4x34xf32>
    }
    scf.for %k = %c0 to %c34 step %c1 {
      %z = memref.load %c[%i, %k] : memref<4x34xf32>
      %w = math.exp %z : f32
      memref.store %w, %c[%i, %k] : memref<4x34xf32>
    }
  }
  lir.return
}
