// RUN: DIAGNOSTICS

// CHECK: lir.program cannot hold arith.constant
lir.program @p {
  %0 = arith.constant 1 : index
}

// -----

// CHECK: two inputs or params are named 'x'
lir.program @p {
  %0 = lir.input "x" : memref<2xf32>
  %1 = lir.param "x" : memref<2xf32>
}

// -----

// CHECK: outputs must be numbered 0, 1, ... once each, got [1]
lir.program @p {
  %0 = lir.output 1 : memref<2xf32>
}

// -----

// CHECK: expected a static shape, got memref<?xf32>
lir.program @p {
  %0 = lir.input "x" : memref<?xf32>
}

// -----

// CHECK: expected a contiguous buffer, got memref<2x3xf32, strided<[1, 2]>>
lir.program @p {
  %0 = lir.input "x" : memref<2x3xf32, strided<[1, 2]>>
}

// -----

// CHECK: a buffer cannot hold index
lir.program @p {
  %0 = lir.slot : memref<2xindex>
}

// -----

// CHECK: expected a byte offset of at least 0, got -64
lir.program @p {
  %0 = lir.slot at -64 : memref<2xf32>
}

// -----

// CHECK: a view keeps the element type, got memref<2xf32> to memref<2xf64>
lir.program @p {
  %0 = lir.slot : memref<2xf32>
  %1 = lir.view %0 at 0 : memref<2xf32> to memref<2xf64>
}

// -----

// CHECK: elements 1 to 3 leave the 2 of the source
lir.program @p {
  %0 = lir.slot : memref<2xf32>
  %1 = lir.view %0 at 1 : memref<2xf32> to memref<2xf32>
}

// -----

// CHECK: expected a layout without offset, got memref<2xf32, strided<[1], offset: 1>>
lir.program @p {
  %0 = lir.slot : memref<2xf32>
  %1 = lir.view %0 at 0 : memref<2xf32> to memref<2xf32, strided<[1], offset: 1>>
}

// -----

// CHECK: the value has type tensor<2xf32>, the buffer memref<3xf32>
lir.program @p {
  %0 = lir.constant dense<[1.0, 2.0]> : tensor<2xf32> : memref<3xf32>
}

// -----

// CHECK: expected extent >= 0 and chunk >= 1, got 2 by 0
lir.program @p {
  %0 = lir.slot : memref<2xf32>
  lir.launch @k over 2 by 0 writes(%0 : memref<2xf32>)
}

// -----

// CHECK: expected one chunk where BLAS has threads, and at least 2 of them, got 2 chunks with 4
lir.program @p {
  %0 = lir.slot : memref<2xf32>
  lir.launch @k over 2 by 1 blas_threads 4 writes(%0 : memref<2xf32>)
}

// -----

// CHECK: expected one chunk where BLAS has threads, and at least 2 of them, got 1 chunks with 1
lir.program @p {
  %0 = lir.slot : memref<2xf32>
  lir.launch @k over 2 by 2 blas_threads 1 writes(%0 : memref<2xf32>)
}

// -----

// CHECK: a written buffer may be passed only once
lir.program @p {
  %0 = lir.slot : memref<2xf32>
  lir.launch @k over 2 by 1 reads(%0 : memref<2xf32>) writes(%0 : memref<2xf32>)
}

// -----

// CHECK: the last two arguments of a kernel are its bounds, of type index
lir.kernel @k(%a: memref<2xf32>, %lo: index) {
  %c = arith.constant 0 : index
  lir.return
}

// -----

// CHECK: a kernel takes buffers and two bounds, got tensor<2xf32>
lir.kernel @k(%a: tensor<2xf32>, %lo: index, %hi: index) {
  %c = arith.constant 0 : index
  lir.return
}

// -----

// CHECK: expected a static shape, got memref<2x?xf32>
lir.kernel @k(%a: memref<2x?xf32>, %lo: index, %hi: index) {
  %c = arith.constant 0 : index
  lir.return
}

// -----

// CHECK: expected both bounds of the inner range, or none
lir.kernel @k(%a: memref<2x3xf32>, %b: memref<3x5xf32>, %o: memref<2x5xf32>, %lo: index, %hi: index) {
  "lir.gemm"(%a, %b, %o, %lo, %hi, %lo, %hi, %lo) <{operandSegmentSizes = array<i32: 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0>}> : (memref<2x3xf32>, memref<3x5xf32>, memref<2x5xf32>, index, index, index, index, index) -> ()
  lir.return
}

// -----

// CHECK: shapes do not chain: [2, 3] @ [4, 5] into [2, 5]
lir.kernel @k(%a: memref<2x3xf32>, %b: memref<4x5xf32>, %o: memref<2x5xf32>, %lo: index, %hi: index) {
  lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %lo to %hi : memref<2x3xf32>, memref<4x5xf32>, memref<2x5xf32>
  lir.return
}

// -----

// CHECK: expected f32, f64 or bf16 throughout, or i8, i8, i32, got f32, f64, f32
lir.kernel @k(%a: memref<2x3xf32>, %b: memref<3x5xf64>, %o: memref<2x5xf32>, %lo: index, %hi: index) {
  lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %lo to %hi : memref<2x3xf32>, memref<3x5xf64>, memref<2x5xf32>
  lir.return
}

// -----

// CHECK: expected neither inner nor accumulate in bf16
lir.kernel @k(%a: memref<2x3xbf16>, %b: memref<3x5xbf16>, %o: memref<2x5xbf16>, %lo: index, %hi: index) {
  lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %lo to %hi accumulate : memref<2x3xbf16>, memref<3x5xbf16>, memref<2x5xbf16>
  lir.return
}

// -----

// CHECK: expected 1 leading indices for memref<4x2x3xf32>
lir.kernel @k(%a: memref<4x2x3xf32>, %b: memref<3x5xf32>, %o: memref<2x5xf32>, %lo: index, %hi: index) {
  lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %lo to %hi : memref<4x2x3xf32>, memref<3x5xf32>, memref<2x5xf32>
  lir.return
}

// -----

// CHECK: expected a unit trailing stride, got memref<2x3xf32, strided<[6, 2]>>
lir.kernel @k(%a: memref<2x3xf32, strided<[6, 2]>>, %b: memref<3x5xf32>, %o: memref<2x5xf32>, %lo: index, %hi: index) {
  lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %lo to %hi : memref<2x3xf32, strided<[6, 2]>>, memref<3x5xf32>, memref<2x5xf32>
  lir.return
}

// -----

// CHECK: expected rows of unit stride, got memref<2x5xf32, strided<[1, 2]>>
lir.kernel @k(%a: memref<2x3xf32>, %b: memref<3x5xf32>, %o: memref<2x5xf32, strided<[1, 2]>>, %lo: index, %hi: index) {
  lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %lo to %hi : memref<2x3xf32>, memref<3x5xf32>, memref<2x5xf32, strided<[1, 2]>>
  lir.return
}

// -----

// CHECK: expected an index for each of at least 2 dimensions of memref<2x3xf32>
lir.kernel @k(%a: memref<2x3xf32>, %b: memref<3x5xf32>, %o: memref<2x5xf32>, %lo: index, %hi: index) {
  lir.block_gemm %a[%lo], %b[%lo, %lo], %o[%lo, %lo] rows %hi cols %hi depth %hi : memref<2x3xf32>, memref<3x5xf32>, memref<2x5xf32>
  lir.return
}

// -----

// CHECK: expected rows of unit stride, got memref<3x5xf32, strided<[1, 3]>>
lir.kernel @k(%a: memref<2x3xf32>, %b: memref<3x5xf32, strided<[1, 3]>>, %o: memref<2x5xf32>, %lo: index, %hi: index) {
  lir.block_gemm %a[%lo, %lo], %b[%lo, %lo], %o[%lo, %lo] rows %hi cols %hi depth %hi : memref<2x3xf32>, memref<3x5xf32, strided<[1, 3]>>, memref<2x5xf32>
  lir.return
}

// -----

// CHECK: expected f32 or f64 throughout, got f32, f64, f32
lir.kernel @k(%a: memref<2x3xf32>, %b: memref<3x5xf64>, %o: memref<2x5xf32>, %lo: index, %hi: index) {
  lir.block_gemm %a[%lo, %lo], %b[%lo, %lo], %o[%lo, %lo] rows %hi cols %hi depth %hi : memref<2x3xf32>, memref<3x5xf64>, memref<2x5xf32>
  lir.return
}

// -----

// CHECK: 'y' is optional, but no input is named so
lir.program @p attributes {optional = ["y"]} {
  %x = lir.input "x" : memref<2xf32>
}

// -----

// CHECK: alignment must be a power of two up to 2097152, got 48
lir.program @p attributes {arena_bytes = 64 : i64, alignment = 48 : i64} {
  %x = lir.input "x" : memref<2xf32>
}

// -----

// CHECK: arena_bytes must be from 0 to 70368744177664, got -1
lir.program @p attributes {arena_bytes = -1 : i64, alignment = 64 : i64} {
  %x = lir.input "x" : memref<2xf32>
}

// -----

// CHECK: the slot memref<2xf32> at 64 ends at 72, the arena at 64
lir.program @p attributes {arena_bytes = 64 : i64, alignment = 64 : i64} {
  %a = lir.slot at 64 : memref<2xf32>
}

// -----

// CHECK: the slot memref<2xf32> at 4 is not aligned to 64 bytes
lir.program @p attributes {arena_bytes = 64 : i64, alignment = 64 : i64} {
  %a = lir.slot at 4 : memref<2xf32>
}

// -----

// CHECK: expected a buffer of at most 70368744177664 bytes, got memref<8388608x8388608xf32>
lir.program @p {
  %a = lir.slot : memref<8388608x8388608xf32>
}

// -----

// CHECK: no lir.kernel is named @other
lir.program @p {
  %x = lir.input "x" : memref<2xf32>
  %y = lir.output 0 : memref<2xf32>
  lir.launch @other over 2 by 2 reads(%x : memref<2xf32>) writes(%y : memref<2xf32>)
}
lir.kernel @k(%i: memref<2xf32>, %o: memref<2xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: @k takes 2 buffers, got 1
lir.program @p {
  %x = lir.input "x" : memref<2xf32>
  %y = lir.output 0 : memref<2xf32>
  lir.launch @k over 2 by 2 writes(%y : memref<2xf32>)
}
lir.kernel @k(%i: memref<2xf32>, %o: memref<2xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: buffer 0 of @k is memref<2xf32>, got memref<3xf32>
lir.program @p {
  %x = lir.input "x" : memref<3xf32>
  %y = lir.output 0 : memref<2xf32>
  lir.launch @k over 2 by 2 reads(%x : memref<3xf32>) writes(%y : memref<2xf32>)
}
lir.kernel @k(%i: memref<2xf32>, %o: memref<2xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: @k would write to a lir.input
lir.program @p {
  %x = lir.input "x" : memref<2xf32>
  %z = lir.input "z" : memref<2xf32>
  lir.launch @k over 2 by 2 reads(%z : memref<2xf32>) writes(%x : memref<2xf32>)
}
lir.kernel @k(%i: memref<2xf32>, %o: memref<2xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: @k would write to a lir.param
lir.program @p {
  %x = lir.param "x" : memref<2xf32>
  %z = lir.input "z" : memref<2xf32>
  lir.launch @k over 2 by 2 reads(%z : memref<2xf32>) writes(%x : memref<2xf32>)
}
lir.kernel @k(%i: memref<2xf32>, %o: memref<2xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: @k would write to a lir.constant
lir.program @p {
  %x = lir.constant dense<[1.0, 2.0]> : tensor<2xf32> : memref<2xf32>
  %z = lir.input "z" : memref<2xf32>
  lir.launch @k over 2 by 2 reads(%z : memref<2xf32>) writes(%x : memref<2xf32>)
}
lir.kernel @k(%i: memref<2xf32>, %o: memref<2xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: @k would write to a lir.input
lir.program @p {
  %x = lir.input "x" : memref<4xf32>
  %v = lir.view %x at 2 : memref<4xf32> to memref<2xf32>
  %w = lir.view %v at 0 : memref<2xf32> to memref<2xf32>
  %z = lir.input "z" : memref<2xf32>
  lir.launch @k over 2 by 2 reads(%z : memref<2xf32>) writes(%w : memref<2xf32>)
}
lir.kernel @k(%i: memref<2xf32>, %o: memref<2xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: @k writes to its buffer 0, which the launch only reads
lir.program @p {
  %x = lir.input "x" : memref<2xf32>
  %y = lir.output 0 : memref<2xf32>
  lir.launch @k over 2 by 2 reads(%x : memref<2xf32>) writes(%y : memref<2xf32>)
}
lir.kernel @k(%i: memref<2xf32>, %o: memref<2xf32>, %lo: index, %hi: index) {
  %v = memref.load %o[%lo] : memref<2xf32>
  memref.store %v, %i[%lo] : memref<2xf32>
  lir.return
}

// -----

// CHECK: buffers 0 and 1 of @k overlap, and 1 is written
lir.program @p {
  %y = lir.output 0 : memref<3xf32>
  %v = lir.view %y at 0 : memref<3xf32> to memref<2xf32>
  %w = lir.view %y at 1 : memref<3xf32> to memref<2xf32>
  lir.launch @k over 2 by 2 reads(%v : memref<2xf32>) writes(%w : memref<2xf32>)
}
lir.kernel @k(%i: memref<2xf32>, %o: memref<2xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: the slots memref<2xf32> at 0 and memref<2xf32> at 0 overlap and are in use at the same time
lir.program @p attributes {arena_bytes = 64 : i64, alignment = 64 : i64} {
  %a = lir.slot at 0 : memref<2xf32>
  %b = lir.slot at 0 : memref<2xf32>
  lir.launch @k over 2 by 2 reads(%a : memref<2xf32>) writes(%b : memref<2xf32>)
}
lir.kernel @k(%i: memref<2xf32>, %o: memref<2xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: memref.load is out of bounds of dimension 1 of memref<4x3xf32>: element 3
lir.kernel @k(%i: memref<4x3xf32>, %o: memref<4x3xf32>, %lo: index, %hi: index) {
  %c3 = arith.constant 3 : index
  %v = memref.load %i[%c3, %c3] : memref<4x3xf32>
  lir.return
}

// -----

// CHECK: memref.load is out of bounds of dimension 0 of memref<4x3xf32>: element -1
lir.kernel @k(%i: memref<4x3xf32>, %o: memref<4x3xf32>, %lo: index, %hi: index) {
  %m1 = arith.constant -1 : index
  %v = memref.load %i[%m1, %lo] : memref<4x3xf32>
  lir.return
}

// -----

// CHECK: memref.store is out of bounds of dimension 0 of memref<4x3xf32>: element 4
lir.kernel @k(%i: memref<4x3xf32>, %o: memref<4x3xf32>, %lo: index, %hi: index) {
  %c4 = arith.constant 4 : index
  %c0 = arith.constant 0 : index
  %v = memref.load %i[%c0, %c0] : memref<4x3xf32>
  memref.store %v, %o[%c4, %c0] : memref<4x3xf32>
  lir.return
}

// -----

// CHECK: lir.gemm is out of bounds of dimension 0 of memref<2x3xf32>: elements ? to 3
lir.kernel @k(%a: memref<2x3xf32>, %b: memref<3x5xf32>, %o: memref<2x5xf32>, %lo: index, %hi: index) {
  %c3 = arith.constant 3 : index
  lir.gemm %a[], %b[], %o[] rows %lo to %c3 cols %lo to %hi : memref<2x3xf32>, memref<3x5xf32>, memref<2x5xf32>
  lir.return
}

// -----

// CHECK: lir.gemm is out of bounds of dimension 1 of memref<3x5xf32>: elements 2 to 1
lir.kernel @k(%a: memref<2x3xf32>, %b: memref<3x5xf32>, %o: memref<2x5xf32>, %lo: index, %hi: index) {
  %c2 = arith.constant 2 : index
  %c1 = arith.constant 1 : index
  lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %c2 to %c1 : memref<2x3xf32>, memref<3x5xf32>, memref<2x5xf32>
  lir.return
}

// -----

// CHECK: lir.gemm is out of bounds of dimension 1 of memref<2x3xf32>: elements ? to 4
lir.kernel @k(%a: memref<2x3xf32>, %b: memref<3x5xf32>, %o: memref<2x5xf32>, %lo: index, %hi: index) {
  %c4 = arith.constant 4 : index
  lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %lo to %hi inner %lo to %c4 : memref<2x3xf32>, memref<3x5xf32>, memref<2x5xf32>
  lir.return
}

// -----

// CHECK: lir.block_gemm is out of bounds of dimension 1 of memref<2x5xf32>: 5 elements from 1
lir.kernel @k(%a: memref<2x3xf32>, %b: memref<3x5xf32>, %o: memref<2x5xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  lir.block_gemm %a[%lo, %lo], %b[%lo, %c0], %o[%lo, %c1] rows %hi cols %c5 depth %hi : memref<2x3xf32>, memref<3x5xf32>, memref<2x5xf32>
  lir.return
}

// -----

// CHECK: lir.getrf is out of bounds of dimension 0 of memref<4x3x3xf32>: element 4
lir.kernel @k(%a: memref<4x3x3xf32>, %p: memref<4x3xi32>, %lo: index, %hi: index) {
  %c4 = arith.constant 4 : index
  lir.getrf %a[%c4], %p[%lo] : memref<4x3x3xf32>, memref<4x3xi32>
  lir.return
}

// -----

// CHECK: lir.getrf is out of bounds of dimension 1 of memref<3x9xf32>: elements 10 to 10
lir.kernel @k(%a: memref<3x9xf32>, %p: memref<3xi32>, %lo: index, %hi: index) {
  %c3 = arith.constant 3 : index
  %c10 = arith.constant 10 : index
  lir.getrf %a[], %p[] lines %c3 columns %c10 : memref<3x9xf32>, memref<3xi32>
  lir.return
}

// -----

// CHECK: lir.geqrf is out of bounds of dimension 0 of memref<4x96xf32>: element 4
lir.kernel @k(%a: memref<3x5xf32>, %s: memref<3xf32>, %w: memref<4x96xf32>, %lo: index, %hi: index) {
  %c4 = arith.constant 4 : index
  lir.geqrf %a[], %s[], %w[%c4] : memref<3x5xf32>, memref<3xf32>, memref<4x96xf32>
  lir.return
}

// -----

// CHECK: expected a step of at least 1, got 0
lir.kernel @k(%i: memref<4x3xf32>, %o: memref<4x3xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  scf.for %j = %lo to %hi step %c0 {
  }
  lir.return
}

// -----

// CHECK: a kernel's buffers are its arguments and memref.alloca, got memref.alloc
lir.kernel @k(%i: memref<4x3xf32>, %o: memref<4x3xf32>, %lo: index, %hi: index) {
  %a = memref.alloc() : memref<3xf32>
  lir.return
}

// -----

// CHECK: a kernel's buffers are its arguments and memref.alloca, got builtin.unrealized_conversion_cast
lir.kernel @k(%i: memref<4x3xf32>, %o: memref<4x3xf32>, %lo: index, %hi: index) {
  %a = builtin.unrealized_conversion_cast %i : memref<4x3xf32> to memref<400xf32>
  lir.return
}

// -----

// CHECK: expected a bitcast between types of one width, got index, i64
lir.kernel @k(%i: memref<4x3xf32>, %o: memref<4x3xf32>, %lo: index, %hi: index) {
  %a = builtin.unrealized_conversion_cast %lo : index to i64
  lir.return
}

// -----

// CHECK: expected a contiguous buffer, got memref<4xf32, strided<[8]>>
lir.kernel @k(%i: memref<4x3xf32>, %o: memref<4x3xf32>, %lo: index, %hi: index) {
  %a = memref.alloca() : memref<4xf32, strided<[8]>>
  lir.return
}

// -----

// CHECK: a kernel has at most 1048576 bytes of scratch buffers, got 2000000
lir.kernel @k(%i: memref<4x3xf32>, %o: memref<4x3xf32>, %lo: index, %hi: index) {
  %a = memref.alloca() : memref<500000xf32>
  lir.return
}

// -----

// CHECK: lir.unroll is from 2 to 8, or all 64 iterations, got 56
lir.kernel @unrolled(%x: memref<64xf32>, %lo: index, %hi: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 64 : index
  scf.for %i = %zero to %end step %one {
    %y = memref.load %x[%i] : memref<64xf32>
    memref.store %y, %x[%i] : memref<64xf32>
  } {lir.unroll = 56 : i64}
  lir.return
}

// -----

// CHECK: lir.unroll is a number, on a loop whose bounds are constants
lir.kernel @unbounded(%x: memref<64xf32>, %lo: index, %hi: index) {
  %one = arith.constant 1 : index
  scf.for %i = %lo to %hi step %one {
    %y = memref.load %x[%i] : memref<64xf32>
    memref.store %y, %x[%i] : memref<64xf32>
  } {lir.unroll = 4 : i64}
  lir.return
}

// -----

// CHECK: expected 2 indices for memref<32x16xf32>, got 1
lir.kernel @k(%o: memref<32x16xf32>, %lo: index, %hi: index) {
  lir.prefetch %o[%lo] : memref<32x16xf32>
  lir.return
}

// -----

// CHECK: lir.prefetch is out of bounds of dimension 1 of memref<32x16xf32>: element 16
lir.kernel @k(%o: memref<32x16xf32>, %lo: index, %hi: index) {
  %n = arith.constant 16 : index
  lir.prefetch %o[%lo, %n] : memref<32x16xf32>
  lir.return
}

// -----

// CHECK: memref.load accesses an element of memref<?xf32> other than the one of its iteration
lir.kernel @k(%x: memref<?xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %y = memref.load %x[%c0] : memref<?xf32>
  lir.return
}

// -----

// CHECK: memref.store accesses an element of memref<?xf32> other than the one of its iteration
lir.kernel @k(%x: memref<?xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = arith.constant 0.000000e+00 : f32
  scf.for %i = %c0 to %hi step %c1 {
    memref.store %y, %x[%i] : memref<?xf32>
  }
  lir.return
}

// -----

// CHECK: memref.load accesses an element of memref<?xf32> other than the one of its iteration
lir.kernel @k(%x: memref<?xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %j = arith.addi %i, %c1 : index
    %y = memref.load %x[%j] : memref<?xf32>
  }
  lir.return
}

// -----

// CHECK: expected a static shape, got memref<?x4xf32>
lir.kernel @k(%x: memref<?x4xf32>, %lo: index, %hi: index) {
  lir.return
}

// -----

// CHECK: buffer 0 of @k is memref<?xf32>, got memref<6xf32>
builtin.module {
  lir.program @p {
    %x = lir.output 0 : memref<6xf32>
    lir.launch @k over 7 by 7 writes(%x : memref<6xf32>)
  }
  lir.kernel @k(%x: memref<?xf32>, %lo: index, %hi: index) {
    lir.return
  }
}

// -----

// CHECK: "w" is marked copied_back, but not donated
builtin.module {
  lir.program @p {
    %w = lir.param "w" copied_back : memref<6xf32>
  }
}

// -----

// CHECK: "x" is marked scratch, but marked donated: it holds a value in the end
builtin.module {
  lir.program @p {
    %x = lir.input "x" donated scratch : memref<6xf32>
  }
}

// -----

// CHECK: "w" is marked scratch, but a param: it holds a value in the end
builtin.module {
  lir.program @p {
    %w = lir.param "w" scratch : memref<6xf32>
  }
}

// -----

// CHECK: expected buffers with the same 1 batch axes, got memref<3xf32>, memref<2xf32>
lir.kernel @k(%x: memref<3xf32>, %y: memref<2xf32>, %c: memref<1xi8>, %lo: index, %hi: index) {
  lir.debug_print "{0} {1}" batch 1 to %c : memref<1xi8> buffers(%x, %y : memref<3xf32>, memref<2xf32>)
  lir.return
}

// -----

// CHECK: expected a contiguous buffer, got memref<3x2xf32, strided<[1, 3]>>
lir.kernel @k(%x: memref<3x2xf32, strided<[1, 3]>>, %c: memref<1xi8>, %lo: index, %hi: index) {
  lir.debug_print "{0}" batch 0 to %c : memref<1xi8> buffers(%x : memref<3x2xf32, strided<[1, 3]>>)
  lir.return
}

// -----

// CHECK: expected an i1 for each example, got memref<3xf32>
lir.kernel @k(%x: memref<3xf32>, %c: memref<1xi8>, %lo: index, %hi: index) {
  lir.debug_print "{0}" batch 1 to %c : memref<1xi8> buffers(%x : memref<3xf32>) when %x : memref<3xf32>
  lir.return
}

// -----

// CHECK: expected limit >= 1, got 0
lir.kernel @count(%o: memref<1xi64>, %lo: index, %hi: index) {
  %go = lir.poll %hi of 0
  lir.return
}

// -----

// CHECK: a sum over 2 processes cannot be from memref<3xf32> to memref<4xf32>
lir.kernel @k(%x: memref<3xf32>, %y: memref<4xf32>, %c: memref<1xi8>, %lo: index, %hi: index) {
  lir.collective sum %x to %y by %c root 0 over 2 : memref<3xf32>, memref<4xf32>, memref<1xi8>
  lir.return
}

// -----

// CHECK: a gather over 2 processes cannot be from memref<3xf32> to memref<4xf32>
lir.kernel @k(%x: memref<3xf32>, %y: memref<4xf32>, %c: memref<1xi8>, %lo: index, %hi: index) {
  lir.collective gather %x to %y by %c root 0 over 2 : memref<3xf32>, memref<4xf32>, memref<1xi8>
  lir.return
}

// -----

// CHECK: expected a root from 0 to 1, got 2
lir.kernel @k(%x: memref<3xf32>, %y: memref<3xf32>, %c: memref<1xi8>, %lo: index, %hi: index) {
  lir.collective broadcast %x to %y by %c root 2 over 2 : memref<3xf32>, memref<3xf32>, memref<1xi8>
  lir.return
}

// -----

// CHECK: expected a contiguous buffer of f32, f64, i32 or i64, got memref<3xi8>
lir.kernel @k(%x: memref<3xi8>, %c: memref<1xi8>, %lo: index, %hi: index) {
  lir.collective sum %x to %x by %c root 0 over 2 : memref<3xi8>, memref<3xi8>, memref<1xi8>
  lir.return
}

// -----

// CHECK: a gather cannot be in place: expected a source that is not the target
lir.kernel @k(%x: memref<3xf32>, %c: memref<1xi8>, %lo: index, %hi: index) {
  lir.collective gather %x to %x by %c root 0 over 1 : memref<3xf32>, memref<3xf32>, memref<1xi8>
  lir.return
}

// -----

// CHECK: a sum over 2 processes cannot be from memref<3xf32> to memref<4xf32>
lir.kernel @k(%x: memref<3xf32>, %y: memref<4xf32>, %r: memref<1xi64>, %c: memref<1xi8>, %lo: index, %hi: index) {
  lir.collective_start sum %x to %y as %r by %c root 0 over 2 : memref<3xf32>, memref<4xf32>, memref<1xi8>
  lir.return
}
