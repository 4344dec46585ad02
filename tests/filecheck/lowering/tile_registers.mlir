// RUN: xdsl-opt %s -p 'lir-tile-matmuls{lanes=16 registers=32 bf16=true int8=true amx=true}' | filecheck %s
// RUN: xdsl-opt %s -p 'lir-tile-matmuls{lanes=16 registers=32 bf16=true int8=true amx=true}' -t rlx-llvm | filecheck %s --check-prefix=LLVM
// RUN: xdsl-opt %s -p 'lir-tile-matmuls{lanes=16 registers=32 bf16=true int8=true amx=true}' -t numba | filecheck %s --check-prefix=PYTHON

// Blocks of 32 rows, of which the last has 8, and 40 columns, of which a call takes 32: sums on the stack, rounded once.
// CHECK-LABEL: lir.kernel @product(
// CHECK: %sums = memref.alloca() : memref<32x40xf32>
// The plan begins with two configurations of the registers: palette 1, rows of 64 bytes, 16 rows.
// CHECK: lir.call_function "gemm_registers_2x2_c0_bf16" [1, 0, 18014673391583296, 18014673391583296, 0, 0, 1157442765409226768,
// CHECK: lir.call_function "gemm_registers_2x1_c0_bf16"
// CHECK: lir.round_bf16
// CHECK: lir.call_function "gemm_registers_1x2_c0_bf16"

// LLVM: call void @llvm.x86.ldtilecfg(ptr %plan)
// LLVM: call void @llvm.x86.tilezero(i8 0)
// LLVM: call void @llvm.x86.tileloadd64(i8 4, ptr %a0, i64 %left_row_bytes)
// LLVM: call void @llvm.x86.tileloadd64(i8 6, ptr %b0, i64 %right_line_bytes)
// LLVM: call void @llvm.x86.tdpbf16ps(i8 0, i8 4, i8 6)
// LLVM: call void @llvm.x86.tdpbf16ps(i8 3, i8 5, i8 7)
// LLVM: call void @llvm.x86.tilestored64(i8 0, ptr %into00, i64 %into_row_bytes)
// LLVM: call void @llvm.x86.tilerelease()

// PYTHON-LABEL: def gemm_registers_2x2_c0_bf16(
// PYTHON-LABEL: def product(
lir.program @p attributes {arena_bytes = 0 : i64, alignment = 64 : i64} {
  %a = lir.input "a" : memref<40x64xbf16>
  %b = lir.input "b" : memref<64x40xbf16>
  %c = lir.output 0 : memref<40x40xbf16>
  lir.launch @product over 40 by 40 reads(%a, %b : memref<40x64xbf16>, memref<64x40xbf16>) writes(%c : memref<40x40xbf16>)
}
lir.kernel @product(%a: memref<40x64xbf16>, %b: memref<64x40xbf16>, %c: memref<40x40xbf16>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c40 = arith.constant 40 : index
  lir.gemm %a[], %b[], %c[] rows %lo to %hi cols %c0 to %c40 : memref<40x64xbf16>, memref<64x40xbf16>, memref<40x40xbf16>
  lir.return
}
