// RUN: xdsl-opt %s -p 'convert-hir-to-mir,mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir' --print-debuginfo | filecheck %s --check-prefix=LOC

// Two layers of one shape run the same kernels, and each launch says of which layer it is.

// LOC: lir.launch @k0_mul_reduce_sum_etc_rsqrt over {{.*}} loc("hir.llama_decoder_block"("layer0"("model.py":3:0)))
// LOC: lir.launch @k1_matmul over {{.*}} loc("hir.llama_decoder_block"("layer0"("model.py":3:0)))
// LOC: lir.launch @k2_matmul over {{.*}} loc("hir.llama_decoder_block"("layer0"("model.py":3:0)))
// LOC: lir.launch @k2_matmul over {{.*}} loc("hir.llama_decoder_block"("layer0"("model.py":3:0)))
// LOC: lir.launch @k3_rope over {{.*}} loc("hir.llama_decoder_block"("layer0"("model.py":3:0)))
// LOC: lir.launch @k4_rope over {{.*}} loc("hir.llama_decoder_block"("layer0"("model.py":3:0)))
// LOC: lir.launch @k5_attention over {{.*}} loc("hir.llama_decoder_block"("layer0"("model.py":3:0)))
// LOC: lir.launch @k6_matmul_add_etc_rsqrt over {{.*}} loc("hir.llama_decoder_block"("layer0"("model.py":3:0)))
// LOC: lir.launch @k7_matmul_silu_mul over {{.*}} loc("hir.llama_decoder_block"("layer0"("model.py":3:0)))
// LOC: lir.launch @k8_matmul_add_etc_rsqrt over {{.*}} loc("hir.llama_decoder_block"("layer1"("model.py":4:0)))
// LOC: lir.launch @k1_matmul over {{.*}} loc("hir.llama_decoder_block"("layer1"("model.py":4:0)))
// LOC: lir.launch @k2_matmul over {{.*}} loc("hir.llama_decoder_block"("layer1"("model.py":4:0)))
// LOC: lir.launch @k2_matmul over {{.*}} loc("hir.llama_decoder_block"("layer1"("model.py":4:0)))
// LOC: lir.launch @k3_rope over {{.*}} loc("hir.llama_decoder_block"("layer1"("model.py":4:0)))
// LOC: lir.launch @k4_rope over {{.*}} loc("hir.llama_decoder_block"("layer1"("model.py":4:0)))
// LOC: lir.launch @k5_attention over {{.*}} loc("hir.llama_decoder_block"("layer1"("model.py":4:0)))
// LOC: lir.launch @k6_matmul_add_etc_rsqrt over {{.*}} loc("hir.llama_decoder_block"("layer1"("model.py":4:0)))
// LOC: lir.launch @k7_matmul_silu_mul over {{.*}} loc("hir.llama_decoder_block"("layer1"("model.py":4:0)))
// LOC: lir.launch @k9_matmul_add_reduce_sum over {{.*}} loc(unknown)

func.func @m(%x: tensor<2x5x8xf32> {mir.name = "x", mir.kind = "input"}, %cos: tensor<5x2xf32> {mir.name = "cos", mir.kind = "input"}, %sin: tensor<5x2xf32> {mir.name = "sin", mir.kind = "input"}, %g10: tensor<8xf32> {mir.name = "g10"}, %q0: tensor<8x16xf32> {mir.name = "q0"}, %k0: tensor<8x8xf32> {mir.name = "k0"}, %v0: tensor<8x8xf32> {mir.name = "v0"}, %o0: tensor<16x8xf32> {mir.name = "o0"}, %g20: tensor<8xf32> {mir.name = "g20"}, %gw0: tensor<8x12xf32> {mir.name = "gw0"}, %uw0: tensor<8x12xf32> {mir.name = "uw0"}, %dw0: tensor<12x8xf32> {mir.name = "dw0"}, %g11: tensor<8xf32> {mir.name = "g11"}, %q1: tensor<8x16xf32> {mir.name = "q1"}, %k1: tensor<8x8xf32> {mir.name = "k1"}, %v1: tensor<8x8xf32> {mir.name = "v1"}, %o1: tensor<16x8xf32> {mir.name = "o1"}, %g21: tensor<8xf32> {mir.name = "g21"}, %gw1: tensor<8x12xf32> {mir.name = "gw1"}, %uw1: tensor<8x12xf32> {mir.name = "uw1"}, %dw1: tensor<12x8xf32> {mir.name = "dw1"}) -> tensor<f32> {
  %0 = hir.llama_decoder_block %x, %g10, %q0, %k0, %v0, %o0, %g20, %gw0, %uw0, %dw0, %cos, %sin : tensor<2x5x8xf32>, tensor<8xf32>, tensor<8x16xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<16x8xf32>, tensor<8xf32>, tensor<8x12xf32>, tensor<8x12xf32>, tensor<12x8xf32>, tensor<5x2xf32>, tensor<5x2xf32> num_heads 4 eps 1.000000e-05 -> tensor<2x5x8xf32> loc("layer0"("model.py":3:0))
  %1 = hir.llama_decoder_block %0, %g11, %q1, %k1, %v1, %o1, %g21, %gw1, %uw1, %dw1, %cos, %sin : tensor<2x5x8xf32>, tensor<8xf32>, tensor<8x16xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<16x8xf32>, tensor<8xf32>, tensor<8x12xf32>, tensor<8x12xf32>, tensor<12x8xf32>, tensor<5x2xf32>, tensor<5x2xf32> num_heads 4 eps 1.000000e-05 -> tensor<2x5x8xf32> loc("layer1"("model.py":4:0))
  %2 = mir.reduce_sum %1 axes [0, 1, 2] : (tensor<2x5x8xf32>) -> tensor<f32>
  func.return %2 : tensor<f32>
}
