// RUN: xdsl-opt %s -p 'convert-hir-to-mir,mir-prepare-for-ad,mir-grad{wrt=w1,b1,w2,b2},mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir,lir-plan-memory' -t numba | filecheck %s

// CHECK: import numpy as np
// CHECK-NOT: xdsl
// CHECK: def mlp_grad(**inputs):
// CHECK: return (loss, d_w1, d_b1, d_w2, d_b2,)

func.func @mlp(
    %x: tensor<16x64xf32> {mir.name = "x", mir.kind = "input"},
    %labels: tensor<16xi32> {mir.name = "labels", mir.kind = "input"},
    %w1: tensor<64x32xf32> {mir.name = "w1", mir.kind = "param"},
    %b1: tensor<32xf32> {mir.name = "b1", mir.kind = "param"},
    %w2: tensor<32x10xf32> {mir.name = "w2", mir.kind = "param"},
    %b2: tensor<10xf32> {mir.name = "b2", mir.kind = "param"}
) -> tensor<f32> {
  %h = hir.linear %x, %w1 bias %b1 activation gelu : (tensor<16x64xf32>, tensor<64x32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
  %logits = hir.linear %h, %w2 bias %b2 : (tensor<16x32xf32>, tensor<32x10xf32>, tensor<10xf32>) -> tensor<16x10xf32>
  %losses = mir.softmax_cross_entropy_with_logits %logits, %labels : (tensor<16x10xf32>, tensor<16xi32>) -> tensor<16xf32>
  %loss = mir.reduce_mean %losses axes [0] : (tensor<16xf32>) -> tensor<f32>
  func.return %loss : tensor<f32>
}
