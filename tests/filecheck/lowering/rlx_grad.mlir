// RUN: xdsl-opt %s -p 'rlx-grad{wrt=w,b}' | filecheck %s --check-prefix=GRAD
// RUN: xdsl-opt %s -p 'rlx-grad{wrt=b loss=false}' | filecheck %s --check-prefix=ALONE
// RUN: xdsl-opt %s -p 'rlx-grad{wrt=h,w}' | filecheck %s --check-prefix=TAP

// A named pipeline runs the passes that the Python function of that purpose runs, from any stage above its result.

// GRAD: func.func @f_grad(
// GRAD-SAME: -> (tensor<f32>, tensor<300x5xf32> {mir.gradient_of = "w"}, tensor<5xf32> {mir.gradient_of = "b"})
// GRAD-NOT: hir.

// ALONE: func.func @f_grad(
// ALONE-SAME: -> (tensor<5xf32> {mir.gradient_of = "b"})

// A tap of a block is a value that the gradient graph still has.

// TAP: func.func @f_grad(
// TAP-SAME: -> (tensor<f32>, tensor<400x5xf32> {mir.gradient_of = "h"}, tensor<300x5xf32> {mir.gradient_of = "w"})
// TAP: mir.straight_through {{.*}} {mir.tap = "h"}

func.func @f(%x: tensor<400x300xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<300x5xf32> {mir.name = "w", mir.kind = "param"}, %b: tensor<5xf32> {mir.name = "b", mir.kind = "param"}) -> tensor<f32> {
  %h = hir.linear %x, %w bias %b {mir.tap = "h"} : (tensor<400x300xf32>, tensor<300x5xf32>, tensor<5xf32>) -> tensor<400x5xf32>
  %y = mir.reduce_sum %h axes [0, 1] : (tensor<400x5xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}
