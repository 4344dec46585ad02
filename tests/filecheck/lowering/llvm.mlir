// RUN: xdsl-opt %s -p 'mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir,lir-plan-memory' -t rlx-llvm | filecheck %s

// What `rlx.compile` gives to LLVM: a header, then each kernel.

// CHECK: ; Printed by xdsl-rlx: the kernels of @epilogue.
// CHECK: ; k0_matmul_add_relu: memref<512xf32>, memref<256x64xf32>, memref<64x512xf32>, memref<256x512xf32>
// CHECK-NEXT: define void @k0_matmul_add_relu(ptr {{.*}}%bases, ptr {{.*}}%a0, ptr {{.*}}%a1, ptr {{.*}}%a2, ptr {{.*}}%a3, i64 %lo, i64 %hi)
// CHECK: %blas = load ptr, ptr %bases
// CHECK: call void %{{.*}}(ptr @blas_n, ptr @blas_n,
// CHECK: br i1 %{{.*}}, label %loop
func.func @epilogue(%x: tensor<256x64xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<64x512xf32> {mir.name = "w", mir.kind = "param"}, %b: tensor<512xf32> {mir.name = "b", mir.kind = "param"}) -> tensor<256x512xf32> {
  %0 = mir.matmul %x, %w : (tensor<256x64xf32>, tensor<64x512xf32>) -> tensor<256x512xf32>
  %1 = mir.add %0, %b : (tensor<256x512xf32>, tensor<512xf32>) -> tensor<256x512xf32>
  %2 = mir.relu %1 : tensor<256x512xf32>
  func.return %2 : tensor<256x512xf32>
}
