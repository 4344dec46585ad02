// RUN: xdsl-opt %s -p 'mir-scale-loss{growth-interval=100}' --split-input-file --verify-diagnostics | filecheck %s

// The gradient is in bf16: it is divided in f32. The loss does not depend on the seed.
// CHECK-LABEL: func.func @f_scaled(%w: tensor<3xbf16> {mir.name = "w", mir.kind = "param"}, %d_output: tensor<f32> {mir.name = "d_output", mir.kind = "input", mir.optional}, %loss_scale: tensor<f32> {mir.name = "loss_scale", mir.kind = "input"}, %good_steps: tensor<i32> {mir.name = "good_steps", mir.kind = "input"}) -> (tensor<f32>, tensor<3xf32>, tensor<i1>, tensor<f32>, tensor<i32>) {
// CHECK-NEXT: %d_output_1 = mir.mul %d_output, %loss_scale : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %0 = mir.cast %w : tensor<3xbf16> to tensor<3xf32>
// CHECK-NEXT: %loss = mir.reduce_sum %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
// CHECK-NEXT: %1 = mir.cast %d_output_1 : tensor<f32> to tensor<bf16>
// CHECK-NEXT: %d_w = mir.expand %1 : tensor<bf16> to tensor<3xbf16>
// CHECK-NEXT: %2 = mir.cast %d_w : tensor<3xbf16> to tensor<3xf32>
// CHECK-NEXT: %3 = mir.div %2, %loss_scale : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK-NEXT: %4 = mir.abs %3 : tensor<3xf32>
// CHECK-NEXT: %5 = mir.reduce_max %4 axes [0] : (tensor<3xf32>) -> tensor<f32>
// CHECK-NEXT: %6 = mir.constant dense<0x7f800000> : tensor<f32>
// CHECK-NEXT: %7 = mir.lt %5, %6 : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT: %8 = mir.constant dense<1> : tensor<i32>
// CHECK-NEXT: %9 = mir.add %good_steps, %8 : (tensor<i32>, tensor<i32>) -> tensor<i32>
// CHECK-NEXT: %10 = mir.constant dense<0> : tensor<i32>
// CHECK-NEXT: %11 = mir.where %7, %9, %10 : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
// CHECK-NEXT: %12 = mir.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: %13 = mir.mul %loss_scale, %12 : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %14 = mir.constant dense<100> : tensor<i32>
// CHECK-NEXT: %15 = mir.ge %11, %14 : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK-NEXT: %16 = mir.constant dense<0x7f800000> : tensor<f32>
// CHECK-NEXT: %17 = mir.lt %13, %16 : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT: %18 = mir.and %15, %17 : (tensor<i1>, tensor<i1>) -> tensor<i1>
// CHECK-NEXT: %19 = mir.where %18, %13, %loss_scale : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %20 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %21 = mir.mul %loss_scale, %20 : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %22 = mir.constant dense<1.17549435e-38> : tensor<f32>
// CHECK-NEXT: %23 = mir.max %21, %22 : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %24 = mir.where %7, %19, %23 : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %25 = mir.constant dense<0> : tensor<i32>
// CHECK-NEXT: %26 = mir.where %15, %25, %11 : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
// CHECK-NEXT: func.return %loss, %3, %7, %24, %26 : tensor<f32>, tensor<3xf32>, tensor<i1>, tensor<f32>, tensor<i32>
// CHECK-NEXT: }
func.func @f(%w: tensor<3xbf16> {mir.name = "w", mir.kind = "param"}, %d_output: tensor<f32> {mir.name = "d_output", mir.kind = "input", mir.optional}) -> (tensor<f32>, tensor<3xbf16>) {
  %0 = mir.cast %w : tensor<3xbf16> to tensor<3xf32>
  %loss = mir.reduce_sum %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
  %1 = mir.cast %d_output : tensor<f32> to tensor<bf16>
  %d_w = mir.expand %1 : tensor<bf16> to tensor<3xbf16>
  func.return %loss, %d_w : tensor<f32>, tensor<3xbf16>
}

// -----

// CHECK: mir-scale-loss: @forward has no argument "d_output", the cotangent of a loss, which a gradient graph has (mir-grad, rlx.grad_with_loss); it has w
func.func @forward(%w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<3xf32> {
  func.return %w : tensor<3xf32>
}
