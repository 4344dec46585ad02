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

// CHECK: shapes do not chain: 2x3 @ 4x5 into 2x5
lir.kernel @k(%a: memref<2x3xf32>, %b: memref<4x5xf32>, %o: memref<2x5xf32>, %lo: index, %hi: index) {
  lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %lo to %hi : memref<2x3xf32>, memref<4x5xf32>, memref<2x5xf32>
  lir.return
}

// -----

// CHECK: expected f32 or f64 throughout, got f32, f64, f32
lir.kernel @k(%a: memref<2x3xf32>, %b: memref<3x5xf64>, %o: memref<2x5xf32>, %lo: index, %hi: index) {
  lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %lo to %hi : memref<2x3xf32>, memref<3x5xf64>, memref<2x5xf32>
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
