// RUN: xdsl-opt %s -p 'rlx-to-lir{threads=2}' | filecheck %s --check-prefix=LIR
// RUN: xdsl-opt %s -p 'rlx-grad{wrt=w},rlx-to-lir' -t numba | filecheck %s --check-prefix=NUMBA
// RUN: xdsl-opt %s -p 'rlx-to-lir' -t rlx-llvm | filecheck %s --check-prefix=LLVM

// A named pipeline runs the passes that the Python function of that purpose runs, from any stage above its result.

// LIR: lir.program @f attributes {arena_bytes
// LIR: lir.launch @k0_matmul_add_reduce_sum over 400 by 200
// LIR-NOT: cf.assert

// NUMBA: def f_grad(**inputs):

// LLVM: define

func.func @f(%x: tensor<400x300xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<300x5xf32> {mir.name = "w", mir.kind = "param"}, %b: tensor<5xf32> {mir.name = "b", mir.kind = "param"}) -> tensor<f32> {
  %h = hir.linear %x, %w bias %b : (tensor<400x300xf32>, tensor<300x5xf32>, tensor<5xf32>) -> tensor<400x5xf32>
  %y = mir.reduce_sum %h axes [0, 1] : (tensor<400x5xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}
