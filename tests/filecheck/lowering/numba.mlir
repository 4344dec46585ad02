// RUN: xdsl-opt %s -p 'mir-fuse,convert-mir-to-lir,lir-plan-memory' -t numba | filecheck %s

// The printed module: kernels as loops, the step as a function of the named arguments.

// A product with its epilogue.
// CHECK: return (y if np.signbit(x) else x) if x == y else x if x > y else y
// CHECK: def k0_matmul_add_relu(b, x, w, a3, lo, hi):
// CHECK: gemm_f32(x[lo:hi, :], False, 16, w[:, 0:32], False, 32, a3[lo:hi, 0:32], 32, False)
// CHECK-NEXT: for i in range(lo, hi):
// CHECK-NEXT: for j in range(32):
// CHECK: def epilogue(**inputs):
// CHECK: return (output_0,)
func.func @epilogue(%x: tensor<64x16xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<16x32xf32> {mir.name = "w", mir.kind = "param"}, %b: tensor<32xf32> {mir.name = "b", mir.kind = "param"}) -> tensor<64x32xf32> {
  %0 = mir.matmul %x, %w : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
  %1 = mir.add %0, %b : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64x32xf32>
  %2 = mir.relu %1 : tensor<64x32xf32>
  func.return %2 : tensor<64x32xf32>
}
