// RUN: xdsl-opt %s -p 'mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir,lir-plan-memory' -t rlx-llvm | filecheck %s

// A function that a loop has many times, or a large one, is a call: of a scalar in the text, of the version for 64 lanes once LLVM has
// made vectors of the loop.

// CHECK-LABEL: define void @k0_exp(
// CHECK-COUNT-4: call float @rlx.callee.exp_f32(float %{{.+}}) "vector-function-abi-variant"="_ZGV_LLVM_N64v_rlx.callee.exp_f32(rlx.callee.exp_f32_x64)"
// CHECK: br i1 {{.*}}, !llvm.loop [[HINT:![0-9]+]]
// CHECK: define internal float @rlx.callee.exp_f32(float %x0)
// CHECK: define internal <64 x float> @rlx.callee.exp_f32_x64(<64 x float> %x0)
// CHECK: [[HINT]] = distinct !{[[HINT]], !{!"llvm.loop.vectorize.width", i32 64}, !{!"llvm.loop.vectorize.predicate.enable", i1 true}
func.func @chain(%x: tensor<1000xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<1000xf32> {
  %0 = mir.exp %x : tensor<1000xf32>
  %1 = mir.exp %0 : tensor<1000xf32>
  %2 = mir.exp %1 : tensor<1000xf32>
  %3 = mir.exp %2 : tensor<1000xf32>
  func.return %3 : tensor<1000xf32>
}
