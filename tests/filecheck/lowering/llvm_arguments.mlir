// RUN: xdsl-opt %s -p lir-check-bounds -t rlx-llvm | filecheck %s

// A kernel gets the addresses of its buffers. Of more than twelve it finds them, by base number and offset.
// CHECK-LABEL: define void @sum(ptr noalias readonly %bases, ptr %args, i64 %lo, i64 %hi)
// CHECK-NEXT: %n0 = getelementptr inbounds i64, ptr %args, i64 0
// CHECK: %n12 = getelementptr inbounds i64, ptr %args, i64 24
// CHECK: call void @sum.body(ptr %bases, ptr %a0,
// CHECK-SAME: ptr %a12, i64 %lo, i64 %hi)
// CHECK-LABEL: define internal void @sum.body(ptr noalias readonly %bases, ptr noalias {{.*}}%a0,

// Scratch that is too large for the stack is allocated around it.
// CHECK-LABEL: define void @copy(ptr noalias readonly %bases, ptr %a0, ptr %a1, i64 %lo, i64 %hi)
// CHECK: %heap = call ptr @aligned_alloc(i64 64, i64 400064)
// CHECK: call void @report_check(ptr %status,
// CHECK: call void @copy.body(ptr %bases, ptr %a0, ptr %a1, ptr %h0, i64 %lo, i64 %hi)
// CHECK-NEXT: call void @free(ptr %heap)
// CHECK-LABEL: define internal void @copy.body(ptr noalias readonly %bases, ptr noalias {{.*}}%a0,
// CHECK-SAME: ptr noalias align 64 %h0, i64 %lo, i64 %hi)
lir.program @p attributes {arena_bytes = 0 : i64, alignment = 64 : i64} {
  %x0 = lir.input "x0" : memref<4xf32>
  %x1 = lir.input "x1" : memref<4xf32>
  %x2 = lir.input "x2" : memref<4xf32>
  %x3 = lir.input "x3" : memref<4xf32>
  %x4 = lir.input "x4" : memref<4xf32>
  %x5 = lir.input "x5" : memref<4xf32>
  %x6 = lir.input "x6" : memref<4xf32>
  %x7 = lir.input "x7" : memref<4xf32>
  %x8 = lir.input "x8" : memref<4xf32>
  %x9 = lir.input "x9" : memref<4xf32>
  %x10 = lir.input "x10" : memref<4xf32>
  %x11 = lir.input "x11" : memref<4xf32>
  %y = lir.output 0 : memref<4xf32>
  %z = lir.output 1 : memref<4xf32>
  lir.launch @sum over 4 by 4 reads(%x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7, %x8, %x9, %x10, %x11 : memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>) writes(%y : memref<4xf32>)
  lir.launch @copy over 4 by 4 reads(%x0 : memref<4xf32>) writes(%z : memref<4xf32>)
}
lir.kernel @sum(%x0: memref<4xf32>, %x1: memref<4xf32>, %x2: memref<4xf32>, %x3: memref<4xf32>, %x4: memref<4xf32>, %x5: memref<4xf32>, %x6: memref<4xf32>, %x7: memref<4xf32>, %x8: memref<4xf32>, %x9: memref<4xf32>, %x10: memref<4xf32>, %x11: memref<4xf32>, %y: memref<4xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %v0 = memref.load %x0[%i] : memref<4xf32>
    %w1 = memref.load %x1[%i] : memref<4xf32>
    %v1 = arith.addf %v0, %w1 : f32
    %w2 = memref.load %x2[%i] : memref<4xf32>
    %v2 = arith.addf %v1, %w2 : f32
    %w3 = memref.load %x3[%i] : memref<4xf32>
    %v3 = arith.addf %v2, %w3 : f32
    %w4 = memref.load %x4[%i] : memref<4xf32>
    %v4 = arith.addf %v3, %w4 : f32
    %w5 = memref.load %x5[%i] : memref<4xf32>
    %v5 = arith.addf %v4, %w5 : f32
    %w6 = memref.load %x6[%i] : memref<4xf32>
    %v6 = arith.addf %v5, %w6 : f32
    %w7 = memref.load %x7[%i] : memref<4xf32>
    %v7 = arith.addf %v6, %w7 : f32
    %w8 = memref.load %x8[%i] : memref<4xf32>
    %v8 = arith.addf %v7, %w8 : f32
    %w9 = memref.load %x9[%i] : memref<4xf32>
    %v9 = arith.addf %v8, %w9 : f32
    %w10 = memref.load %x10[%i] : memref<4xf32>
    %v10 = arith.addf %v9, %w10 : f32
    %w11 = memref.load %x11[%i] : memref<4xf32>
    %v11 = arith.addf %v10, %w11 : f32
    memref.store %v11, %y[%i] : memref<4xf32>
  }
  lir.return
}
lir.kernel @copy(%x: memref<4xf32>, %z: memref<4xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  %between = memref.alloca() : memref<100001xf32>
  scf.for %i = %lo to %hi step %c1 {
    %v = memref.load %x[%i] : memref<4xf32>
    memref.store %v, %between[%i] : memref<100001xf32>
    %w = memref.load %between[%i] : memref<100001xf32>
    memref.store %w, %z[%i] : memref<4xf32>
  }
  lir.return
}
