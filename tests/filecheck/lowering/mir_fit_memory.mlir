// RUN: xdsl-opt %s -p 'mir-fit-memory{budget=9000}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix=FITS
// RUN: xdsl-opt %s -p 'mir-fit-memory{budget=5000}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix=AGAIN
// RUN: xdsl-opt %s -p 'mir-fit-memory{budget=16}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix=LEAST

// The wide value waits for the gradient as long as there is room for it beside the wide one of the gradient.

// FITS-NOT: mir.remat
// AGAIN: mir.remat
// LEAST: mir-fit-memory: the arena takes at least {{.*}} bytes, even if everything is rematerialised; the budget is 16
func.func @f_grad(%x: tensor<16x2xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<2x64xf32> {mir.name = "w", mir.kind = "param"}, %v: tensor<64x2xf32> {mir.name = "v", mir.kind = "param"}) -> (tensor<f32>, tensor<64x2xf32>) {
  %h = mir.matmul %x, %w : (tensor<16x2xf32>, tensor<2x64xf32>) -> tensor<16x64xf32>
  %y = mir.matmul %h, %v : (tensor<16x64xf32>, tensor<64x2xf32>) -> tensor<16x2xf32>
  %l = mir.reduce_sum %y axes [0, 1] : (tensor<16x2xf32>) -> tensor<f32>
  %a = mir.mul %x, %l : (tensor<16x2xf32>, tensor<f32>) -> tensor<16x2xf32>
  %b = mir.matmul %a, %w : (tensor<16x2xf32>, tensor<2x64xf32>) -> tensor<16x64xf32>
  %c = mir.matmul %b, %v : (tensor<16x64xf32>, tensor<64x2xf32>) -> tensor<16x2xf32>
  %t = mir.transpose %h perm [1, 0] : (tensor<16x64xf32>) -> tensor<64x16xf32>
  %d = mir.matmul %t, %c : (tensor<64x16xf32>, tensor<16x2xf32>) -> tensor<64x2xf32>
  func.return %l, %d : tensor<f32>, tensor<64x2xf32>
}
