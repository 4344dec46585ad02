// RUN: xdsl-opt %s -p 'mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir,lir-plan-memory' -t asm | filecheck %s

// The machine code of the same kernels, as text; what it looks like depends on the processor.

// CHECK: # Printed by xdsl-rlx: the kernels of @epilogue.
// CHECK: # k0_matmul_add_relu: memref<512xf32>, memref<256x64xf32>, memref<64x512xf32>, memref<256x512xf32>
// CHECK-NEXT: # for {{.+}}
// CHECK: k0_matmul_add_relu:
func.func @epilogue(%x: tensor<256x64xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<64x512xf32> {mir.name = "w", mir.kind = "param"}, %b: tensor<512xf32> {mir.name = "b", mir.kind = "param"}) -> tensor<256x512xf32> {
  %0 = mir.matmul %x, %w : (tensor<256x64xf32>, tensor<64x512xf32>) -> tensor<256x512xf32>
  %1 = mir.add %0, %b : (tensor<256x512xf32>, tensor<512xf32>) -> tensor<256x512xf32>
  %2 = mir.relu %1 : tensor<256x512xf32>
  func.return %2 : tensor<256x512xf32>
}
