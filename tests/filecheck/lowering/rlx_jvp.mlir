// RUN: xdsl-opt %s -p 'rlx-jvp{wrt=x}' | filecheck %s --check-prefix=JVP

// A named pipeline runs the passes that the Python function of that purpose runs, from any stage above its result.

// JVP: func.func @f_jvp(
// JVP-SAME: %tangent_x: tensor<400x300xf32>
// JVP-SAME: -> (tensor<f32>, tensor<f32>)

func.func @f(%x: tensor<400x300xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<300x5xf32> {mir.name = "w", mir.kind = "param"}, %b: tensor<5xf32> {mir.name = "b", mir.kind = "param"}) -> tensor<f32> {
  %h = hir.linear %x, %w bias %b : (tensor<400x300xf32>, tensor<300x5xf32>, tensor<5xf32>) -> tensor<400x5xf32>
  %y = mir.reduce_sum %h axes [0, 1] : (tensor<400x5xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}
