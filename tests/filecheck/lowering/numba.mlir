// RUN: xdsl-opt %s -p 'mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir,lir-plan-memory' -t numba | filecheck %s
// RUN: xdsl-opt %s -p 'mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir{threads=4},lir-plan-memory' -t 'numba{threads=4}' | filecheck %s --check-prefix THREADS

// The printed module: kernels as loops, the step as a function of the named arguments.

// A product with its epilogue.
// CHECK-NOT: prange
// CHECK-NOT: def parallel
// CHECK: sgemm = fortran("blas", "sgemm",
// CHECK: @kernel('f32[512]', 'f32[256, 64]', 'f32[64, 512]', 'f32[256, 512]')
// CHECK-NEXT: def k0_matmul_add_relu(b, x, w, a3, lo, hi):
// CHECK-NEXT: sgemm(False, False, 512, hi - lo, 64, np.float32(1.0), at(w, (0, 0)), 512, at(x, (lo, 0)), 64, np.float32(0.0), at(a3, (lo, 0)), 512)
// CHECK: for i in range(lo, hi):
// CHECK-NEXT: for j in range(512):
// CHECK: def epilogue_launches(memory):
// CHECK: x = memory[0]
// CHECK: k0_matmul_add_relu(b, x, w, output_0, 0, 256)
// CHECK: def epilogue(**inputs):
// CHECK: run_with_blas(epilogue_launches, x, w, b, output_0)
// CHECK-NEXT: return (output_0,)

// The same in pieces, which the threads of a prange take in turn.
// THREADS: THREADS = 4
// THREADS: @njit(parallel=True
// THREADS: for _ in prange(THREADS):
// THREADS: def epilogue_launches(memory):
// THREADS: parallel(k0_matmul_add_relu, (b, x, w, output_0,), 256, {{[0-9]+}})
func.func @epilogue(%x: tensor<256x64xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<64x512xf32> {mir.name = "w", mir.kind = "param"}, %b: tensor<512xf32> {mir.name = "b", mir.kind = "param"}) -> tensor<256x512xf32> {
  %0 = mir.matmul %x, %w : (tensor<256x64xf32>, tensor<64x512xf32>) -> tensor<256x512xf32>
  %1 = mir.add %0, %b : (tensor<256x512xf32>, tensor<512xf32>) -> tensor<256x512xf32>
  %2 = mir.relu %1 : tensor<256x512xf32>
  func.return %2 : tensor<256x512xf32>
}
