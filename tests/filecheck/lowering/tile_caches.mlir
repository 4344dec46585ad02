// RUN: xdsl-opt %s -p 'lir-tile-matmuls{min-called-terms=1000 lanes=16 registers=32}' | filecheck %s --check-prefix=COMMON
// RUN: xdsl-opt %s -p 'lir-tile-matmuls{min-called-terms=1000 lanes=16 registers=32 l1-bytes=16384}' | filecheck %s --check-prefix=L1
// RUN: xdsl-opt %s -p 'lir-tile-matmuls{min-called-terms=1000 lanes=16 registers=32 l2-bytes=524288}' | filecheck %s --check-prefix=L2
// RUN: xdsl-opt %s -p 'lir-tile-matmuls{min-called-terms=1000 panel-depth=128 max-uncut-depth=192}' | filecheck %s --check-prefix=DEPTH

// The matmul becomes loops where functions of the library are for longer sums.
// A panel of the RHS, 256 rows of 32 columns, fills L1; the rows of the LHS that it is multiplied by, 512, fill half of L2.
// COMMON-LABEL: lir.kernel @k0_matmul
// COMMON-DAG: [[ROWS:%.*]] = arith.constant 512 : index
// COMMON-DAG: memref.alloca() : memref<256x32xf32>
// COMMON: scf.for %block = %lo to %hi step [[ROWS]] {

// In half as large an L1, panels and tiles have half the columns.
// L1-LABEL: lir.kernel @k0_matmul
// L1: memref.alloca() : memref<256x16xf32>
// L1: %sums = memref.alloca() {lir.outline} : memref<{{[0-9]+}}x16xf32>

// In half as large an L2, panels are multiplied by half as many rows.
// L2-LABEL: lir.kernel @k0_matmul
// L2-DAG: [[ROWS:%.*]] = arith.constant 256 : index
// L2-DAG: memref.alloca() : memref<256x32xf32>
// L2: scf.for %block = %lo to %hi step [[ROWS]] {

// Costs are options too. Panels have fewer rows, and twice as many rows of the LHS are as much of L2.
// DEPTH-LABEL: lir.kernel @k0_matmul
// DEPTH: memref.alloca() : memref<128x16xf32>
// DEPTH: scf.for %block_1 = %lo to %hi step %c1024 {
builtin.module {
  lir.program @forward {
    %x = lir.input "x" : memref<2048x256xf32>
    %w = lir.param "w" : memref<256x128xf32>
    %y = lir.output 0 : memref<2048x128xf32>
    lir.launch @k0_matmul over 2048 by 2048 reads(%x, %w : memref<2048x256xf32>, memref<256x128xf32>) writes(%y : memref<2048x128xf32>)
  }
  lir.kernel @k0_matmul(%a: memref<2048x256xf32>, %b: memref<256x128xf32>, %c: memref<2048x128xf32>, %lo: index, %hi: index) {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    lir.gemm %a[], %b[], %c[] rows %lo to %hi cols %c0 to %c128 : memref<2048x256xf32>, memref<256x128xf32>, memref<2048x128xf32>
    lir.return
  }
}
