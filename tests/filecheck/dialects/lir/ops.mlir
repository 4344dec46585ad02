// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: lir.program @step attributes {arena_bytes = 256 : i64, alignment = 64 : i64, optional = ["seed"]} {
// CHECK-NEXT: %x = lir.input "x" : memref<16x64xf32>
// CHECK-NEXT: %seed = lir.input "seed" : memref<f32>
// CHECK-NEXT: %w = lir.param "w" : memref<64x32xf32>
// CHECK-NEXT: %c = lir.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> : memref<2xf32>
// CHECK-NEXT: %h = lir.slot : memref<16x32xf32>
// CHECK-NEXT: %placed = lir.slot at 128 : memref<4xf64>
// CHECK-NEXT: %y = lir.output 0 : memref<32x16xf32>
// CHECK-NEXT: %t = lir.view %h at 0 : memref<16x32xf32> to memref<32x16xf32, strided<[1, 32]>>
// CHECK-NEXT: lir.launch @k over 16 by 4 reads(%x, %w : memref<16x64xf32>, memref<64x32xf32>) writes(%h : memref<16x32xf32>)
// CHECK-NEXT: lir.launch @fill over 32 by 32 blas_threads 4 writes(%y : memref<32x16xf32>)
// CHECK-NEXT: }
lir.program @step attributes {arena_bytes = 256 : i64, alignment = 64 : i64, optional = ["seed"]} {
  %x = lir.input "x" : memref<16x64xf32>
  %seed = lir.input "seed" : memref<f32>
  %w = lir.param "w" : memref<64x32xf32>
  %c = lir.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> : memref<2xf32>
  %h = lir.slot : memref<16x32xf32>
  %placed = lir.slot at 128 : memref<4xf64>
  %y = lir.output 0 : memref<32x16xf32>
  %t = lir.view %h at 0 : memref<16x32xf32> to memref<32x16xf32, strided<[1, 32]>>
  lir.launch @k over 16 by 4 reads(%x, %w : memref<16x64xf32>, memref<64x32xf32>) writes(%h : memref<16x32xf32>)
  lir.launch @fill over 32 by 32 blas_threads 4 writes(%y : memref<32x16xf32>)
}

// CHECK-LABEL: lir.program @planless {
// CHECK-NEXT: }
lir.program @planless {
}

// CHECK-LABEL: lir.kernel @k(%a: memref<16x64xf32>, %b: memref<64x32xf32>, %o: memref<16x32xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %zero = arith.constant 0 : index
// CHECK-NEXT: %n = arith.constant 32 : index
// CHECK-NEXT: lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %zero to %n : memref<16x64xf32>, memref<64x32xf32>, memref<16x32xf32>
// CHECK-NEXT: lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %zero to %n accumulate : memref<16x64xf32>, memref<64x32xf32>, memref<16x32xf32>
// CHECK-NEXT: lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %zero to %n inner %lo to %n accumulate : memref<16x64xf32>, memref<64x32xf32>, memref<16x32xf32>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @k(%a: memref<16x64xf32>, %b: memref<64x32xf32>, %o: memref<16x32xf32>, %lo: index, %hi: index) {
  %zero = arith.constant 0 : index
  %n = arith.constant 32 : index
  lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %zero to %n : memref<16x64xf32>, memref<64x32xf32>, memref<16x32xf32>
  lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %zero to %n accumulate : memref<16x64xf32>, memref<64x32xf32>, memref<16x32xf32>
  lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %zero to %n inner %lo to %n accumulate : memref<16x64xf32>, memref<64x32xf32>, memref<16x32xf32>
  lir.return
}

// CHECK-LABEL: lir.kernel @batch(%a: memref<3x16x64xf32>, %b: memref<64x32xf32>, %o: memref<3x16x32xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %zero = arith.constant 0 : index
// CHECK-NEXT: %m = arith.constant 16 : index
// CHECK-NEXT: %n = arith.constant 32 : index
// CHECK-NEXT: lir.gemm %a[%lo], %b[], %o[%lo] rows %zero to %m cols %zero to %n : memref<3x16x64xf32>, memref<64x32xf32>, memref<3x16x32xf32>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @batch(%a: memref<3x16x64xf32>, %b: memref<64x32xf32>, %o: memref<3x16x32xf32>, %lo: index, %hi: index) {
  %zero = arith.constant 0 : index
  %m = arith.constant 16 : index
  %n = arith.constant 32 : index
  lir.gemm %a[%lo], %b[], %o[%lo] rows %zero to %m cols %zero to %n : memref<3x16x64xf32>, memref<64x32xf32>, memref<3x16x32xf32>
  lir.return
}

// CHECK-LABEL: lir.kernel @rounded(%a: memref<16x64xbf16>, %b: memref<64x32xbf16>, %o: memref<16x32xbf16>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %lo to %hi : memref<16x64xbf16>, memref<64x32xbf16>, memref<16x32xbf16>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @rounded(%a: memref<16x64xbf16>, %b: memref<64x32xbf16>, %o: memref<16x32xbf16>, %lo: index, %hi: index) {
  lir.gemm %a[], %b[], %o[] rows %lo to %hi cols %lo to %hi : memref<16x64xbf16>, memref<64x32xbf16>, memref<16x32xbf16>
  lir.return
}

// CHECK-LABEL: lir.kernel @blocks(%a: memref<3x16x64xf32>, %b: memref<64x64xf32>, %o: memref<16x32xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %n = arith.constant 4 : index
// CHECK-NEXT: lir.block_gemm %a[%lo, %n, %lo], %b[%lo, %lo] transposed, %o[%lo, %lo] rows %n cols %n depth %hi : memref<3x16x64xf32>, memref<64x64xf32>, memref<16x32xf32>
// CHECK-NEXT: lir.block_gemm %a[%lo, %n, %lo] transposed, %b[%lo, %lo], %o[%lo, %lo] rows %n cols %n depth %hi accumulate : memref<3x16x64xf32>, memref<64x64xf32>, memref<16x32xf32>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @blocks(%a: memref<3x16x64xf32>, %b: memref<64x64xf32>, %o: memref<16x32xf32>, %lo: index, %hi: index) {
  %n = arith.constant 4 : index
  lir.block_gemm %a[%lo, %n, %lo], %b[%lo, %lo] transposed, %o[%lo, %lo] rows %n cols %n depth %hi : memref<3x16x64xf32>, memref<64x64xf32>, memref<16x32xf32>
  lir.block_gemm %a[%lo, %n, %lo] transposed, %b[%lo, %lo], %o[%lo, %lo] rows %n cols %n depth %hi accumulate : memref<3x16x64xf32>, memref<64x64xf32>, memref<16x32xf32>
  lir.return
}

// CHECK-LABEL: lir.kernel @fill(%o: memref<32x16xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.check %lo at_most %hi, "the end is not before the start"
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @fill(%o: memref<32x16xf32>, %lo: index, %hi: index) {
  lir.check %lo at_most %hi, "the end is not before the start"
  lir.return
}

// CHECK-LABEL: lir.kernel @count(%o: memref<1xi64>, %lo: index, %hi: index) {
// CHECK-NEXT: %go = lir.poll %hi of 4096
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @count(%o: memref<1xi64>, %lo: index, %hi: index) {
  %go = lir.poll %hi of 4096
  lir.return
}

// CHECK-LABEL: lir.kernel @ahead(%o: memref<32x16xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.prefetch %o[%lo, %hi] : memref<32x16xf32>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @ahead(%o: memref<32x16xf32>, %lo: index, %hi: index) {
  lir.prefetch %o[%lo, %hi] : memref<32x16xf32>
  lir.return
}

// GENERIC: "lir.launch"(%{{.*}}) <{kernel = @k, extent = 16 : i64, chunk = 4 : i64, operandSegmentSizes = array<i32: 2, 1>}>
// GENERIC: "lir.gemm"(%{{.*}}) <{operandSegmentSizes = array<i32: 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 0, 0>}>
// GENERIC: "lir.gemm"(%{{.*}}) <{accumulate, operandSegmentSizes = array<i32: 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 0, 0>}>

// CHECK-LABEL: lir.kernel @print(%x: memref<3x2xf32>, %p: memref<3xi1>, %console: memref<1xi8>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.debug_print "{0}" batch 1 to %console : memref<1xi8> buffers(%x : memref<3x2xf32>) when %p : memref<3xi1>
// CHECK-NEXT: lir.debug_print "end" batch 0 to %console : memref<1xi8>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @print(%x: memref<3x2xf32>, %p: memref<3xi1>, %console: memref<1xi8>, %lo: index, %hi: index) {
  lir.debug_print "{0}" batch 1 to %console : memref<1xi8> buffers(%x : memref<3x2xf32>) when %p : memref<3xi1>
  lir.debug_print "end" batch 0 to %console : memref<1xi8>
  lir.return
}

// CHECK-LABEL: lir.kernel @reduce(%x: memref<3x2xf32>, %y: memref<3x2xf32>, %network: memref<1xi8>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.collective sum %x to %y by %network root 0 over 2 : memref<3x2xf32>, memref<3x2xf32>, memref<1xi8>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @reduce(%x: memref<3x2xf32>, %y: memref<3x2xf32>, %network: memref<1xi8>, %lo: index, %hi: index) {
  lir.collective sum %x to %y by %network root 0 over 2 : memref<3x2xf32>, memref<3x2xf32>, memref<1xi8>
  lir.return
}

// CHECK-LABEL: lir.kernel @overlapped(%x: memref<3x2xf32>, %y: memref<3x2xf32>, %request: memref<1xi64>, %network: memref<1xi8>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.collective max %x to %x by %network root 0 over 2 : memref<3x2xf32>, memref<3x2xf32>, memref<1xi8>
// CHECK-NEXT: lir.collective_start sum %x to %y as %request by %network root 0 over 2 : memref<3x2xf32>, memref<3x2xf32>, memref<1xi8>
// CHECK-NEXT: lir.collective_poll %request
// CHECK-NEXT: lir.collective_wait %request for %y from %x : memref<3x2xf32>, memref<3x2xf32>
// CHECK-NEXT: lir.collective_start sum %x to %x as %request by %network root 0 over 2 : memref<3x2xf32>, memref<3x2xf32>, memref<1xi8>
// CHECK-NEXT: lir.collective_wait %request for %x : memref<3x2xf32>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.kernel @overlapped(%x: memref<3x2xf32>, %y: memref<3x2xf32>, %request: memref<1xi64>, %network: memref<1xi8>, %lo: index, %hi: index) {
  lir.collective max %x to %x by %network root 0 over 2 : memref<3x2xf32>, memref<3x2xf32>, memref<1xi8>
  lir.collective_start sum %x to %y as %request by %network root 0 over 2 : memref<3x2xf32>, memref<3x2xf32>, memref<1xi8>
  lir.collective_poll %request
  lir.collective_wait %request for %y from %x : memref<3x2xf32>, memref<3x2xf32>
  lir.collective_start sum %x to %x as %request by %network root 0 over 2 : memref<3x2xf32>, memref<3x2xf32>, memref<1xi8>
  lir.collective_wait %request for %x : memref<3x2xf32>
  lir.return
}
