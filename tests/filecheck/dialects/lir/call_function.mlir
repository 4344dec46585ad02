// RUN: ROUNDTRIP

// CHECK-LABEL: lir.kernel @tiles(%a: memref<26x40xf32>, %b: memref<40x32xf32>, %c: memref<26x32xf32>, %lo: index, %hi: index) {
// CHECK: lir.call_function "gemm_tile_13x32_v16_t0_by1_f32" [2, 40, 1, 520, 32, 16, 32, 32, 0](%a, %b, %b) to(%c) at[%c0, %i, %c0, %c0, %c0, %c0, %c0, %c0] range %c0 to %c40 : (memref<26x40xf32>, memref<40x32xf32>, memref<40x32xf32>) to(memref<26x32xf32>)
lir.kernel @tiles(%a: memref<26x40xf32>, %b: memref<40x32xf32>, %c: memref<26x32xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %i = arith.constant 0 : index
  %c40 = arith.constant 40 : index
  lir.call_function "gemm_tile_13x32_v16_t0_by1_f32" [2, 40, 1, 520, 32, 16, 32, 32, 0] (%a, %b, %b) to (%c) at [%c0, %i, %c0, %c0, %c0, %c0, %c0, %c0] range %c0 to %c40 : (memref<26x40xf32>, memref<40x32xf32>, memref<40x32xf32>) to (memref<26x32xf32>)
  lir.return
}

// CHECK-LABEL: lir.kernel @place
// CHECK: %place = lir.freeze %lo
lir.kernel @place(%a: memref<8xf32>, %lo: index, %hi: index) {
  %place = lir.freeze %lo
  lir.return
}
