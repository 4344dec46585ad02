// RUN: xdsl-opt %s -p convert-hir-to-mir | filecheck %s --check-prefixes=CHECK,DIRECT
// RUN: xdsl-opt %s -p 'convert-hir-to-mir{fusion-policy=fusable}' | filecheck %s --check-prefixes=CHECK,FUSABLE
// RUN: xdsl-opt %s -p 'convert-hir-to-mir{fusion-policy=for_autodiff}' | filecheck %s --check-prefixes=CHECK,FUSABLE
// RUN: xdsl-opt %s -p convert-hir-to-mir --print-debuginfo | filecheck %s --check-prefix=LOC

// The block's name stays in the location of what it became.
// CHECK-LABEL: func.func @linear
// DIRECT-NEXT: %y = mir.fused_matmul_bias_act %x, %w, %b activation relu
// FUSABLE-NEXT: %0 = mir.matmul %x, %w
// FUSABLE-NEXT: %1 = mir.add %0, %b
// FUSABLE-NEXT: %y = mir.relu %1
// CHECK-NEXT: func.return %y
// LOC: mir.fused_matmul_bias_act {{.*}} loc("hir.linear"("model.py":3:1))
func.func @linear(%x: tensor<4x3xf32>, %w: tensor<3x2xf32>, %b: tensor<2xf32>) -> tensor<4x2xf32> {
  %y = hir.linear %x, %w bias %b activation relu : (tensor<4x3xf32>, tensor<3x2xf32>, tensor<2xf32>) -> tensor<4x2xf32> loc("model.py":3:1)
  func.return %y : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @bare
// CHECK-NEXT: %y = mir.matmul %x, %w
// CHECK-NEXT: %0 = mir.tanh %y
// CHECK-NEXT: %z = mir.matmul %0, %w
// CHECK-NEXT: %1 = mir.exp %z
// CHECK-NEXT: func.return %1
// LOC: mir.matmul {{.*}} loc("hir.linear"(unknown))
func.func @bare(%x: tensor<4x3xf32>, %w: tensor<3x3xf32>) -> tensor<4x3xf32> {
  %y = hir.linear %x, %w : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
  %0 = mir.tanh %y : tensor<4x3xf32>
  %z = hir.linear %0, %w : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
  %1 = mir.exp %z : tensor<4x3xf32>
  func.return %1 : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @bias_alone
// DIRECT-NEXT: %y = mir.fused_matmul_bias_act %x, %w, %b :
// FUSABLE-NEXT: %0 = mir.matmul %x, %w
// FUSABLE-NEXT: %y = mir.add %0, %b
func.func @bias_alone(%x: tensor<4x3xf32>, %w: tensor<3x2xf32>, %b: tensor<2xf32>) -> tensor<4x2xf32> {
  %y = hir.linear %x, %w bias %b : (tensor<4x3xf32>, tensor<3x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  func.return %y : tensor<4x2xf32>
}

// The product by the inputs of all times is in front of the scan; time comes first in it.
// CHECK-LABEL: func.func @lstm(%x: tensor<2x5x3xf32>, %w: tensor<3x16xf32>, %u: tensor<4x16xf32>, %b: tensor<16xf32>, %h: tensor<2x4xf32>) -> (tensor<2x5x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
// CHECK-NEXT: %0 = mir.transpose %x perm [1, 0, 2] : (tensor<2x5x3xf32>) -> tensor<5x2x3xf32>
// CHECK-NEXT: %1 = mir.matmul %0, %w : (tensor<5x2x3xf32>, tensor<3x16xf32>) -> tensor<5x2x16xf32>
// CHECK-NEXT: %2 = mir.add %1, %b : (tensor<5x2x16xf32>, tensor<16xf32>) -> tensor<5x2x16xf32>
// CHECK-NEXT: %last, %cell, %3 = mir.scan 5 carries(%h, %h : tensor<2x4xf32>, tensor<2x4xf32>) over(%2 : tensor<5x2x16xf32>) captured(%u : tensor<4x16xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) stacked(tensor<5x2x4xf32>) {
// CHECK-NEXT: ^bb0(%4: tensor<2x4xf32>, %5: tensor<2x4xf32>, %6: tensor<2x16xf32>, %u_1: tensor<4x16xf32>):
// CHECK-NEXT: %7 = mir.matmul %4, %u_1 : (tensor<2x4xf32>, tensor<4x16xf32>) -> tensor<2x16xf32>
// CHECK-NEXT: %8 = mir.add %6, %7 : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
// CHECK-NEXT: %9 = mir.narrow %8 axis 1 start 0 len 4 : (tensor<2x16xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %10 = mir.narrow %8 axis 1 start 4 len 4 : (tensor<2x16xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %11 = mir.narrow %8 axis 1 start 8 len 4 : (tensor<2x16xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %12 = mir.narrow %8 axis 1 start 12 len 4 : (tensor<2x16xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %13 = mir.sigmoid %10 : tensor<2x4xf32>
// CHECK-NEXT: %14 = mir.mul %13, %5 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %15 = mir.sigmoid %9 : tensor<2x4xf32>
// CHECK-NEXT: %16 = mir.tanh %11 : tensor<2x4xf32>
// CHECK-NEXT: %17 = mir.mul %15, %16 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %18 = mir.add %14, %17 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %19 = mir.sigmoid %12 : tensor<2x4xf32>
// CHECK-NEXT: %20 = mir.tanh %18 : tensor<2x4xf32>
// CHECK-NEXT: %21 = mir.mul %19, %20 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: mir.yield %21, %18, %21 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %y = mir.transpose %3 perm [1, 0, 2] : (tensor<5x2x4xf32>) -> tensor<2x5x4xf32>
// CHECK-NEXT: func.return %y, %last, %cell : tensor<2x5x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
// CHECK-NEXT: }
func.func @lstm(%x: tensor<2x5x3xf32>, %w: tensor<3x16xf32>, %u: tensor<4x16xf32>, %b: tensor<16xf32>, %h: tensor<2x4xf32>) -> (tensor<2x5x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %y, %last, %cell = hir.lstm %x, %w, %u : tensor<2x5x3xf32>, tensor<3x16xf32>, tensor<4x16xf32> b_ih %b : tensor<16xf32> h0 %h : tensor<2x4xf32> c0 %h : tensor<2x4xf32> -> tensor<2x5x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  func.return %y, %last, %cell : tensor<2x5x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// One exponential for each head and time.
// CHECK-LABEL: func.func @mamba2(%x: tensor<2x5x3x4xf32>, %dt: tensor<2x5x3xf32>, %a: tensor<3xf32>, %b: tensor<2x5x6xf32>, %h: tensor<2x3x4x6xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x3x4x6xf32>) {
// CHECK-NEXT: %0 = mir.reshape %a : tensor<3xf32> to tensor<3x1x1xf32>
// CHECK-NEXT: %1 = mir.reshape %a : tensor<3xf32> to tensor<3x1x1xf32>
// CHECK-NEXT: %2 = mir.transpose %x perm [1, 0, 2, 3] : (tensor<2x5x3x4xf32>) -> tensor<5x2x3x4xf32>
// CHECK-NEXT: %3 = mir.reshape %2 : tensor<5x2x3x4xf32> to tensor<5x2x3x4x1xf32>
// CHECK-NEXT: %4 = mir.transpose %dt perm [1, 0, 2] : (tensor<2x5x3xf32>) -> tensor<5x2x3xf32>
// CHECK-NEXT: %5 = mir.reshape %4 : tensor<5x2x3xf32> to tensor<5x2x3x1x1xf32>
// CHECK-NEXT: %6 = mir.transpose %b perm [1, 0, 2] : (tensor<2x5x6xf32>) -> tensor<5x2x6xf32>
// CHECK-NEXT: %7 = mir.reshape %6 : tensor<5x2x6xf32> to tensor<5x2x1x1x6xf32>
// CHECK-NEXT: %8 = mir.transpose %b perm [1, 0, 2] : (tensor<2x5x6xf32>) -> tensor<5x2x6xf32>
// CHECK-NEXT: %9 = mir.reshape %8 : tensor<5x2x6xf32> to tensor<5x2x1x1x6xf32>
// CHECK-NEXT: %last, %10 = mir.scan 5 carries(%h : tensor<2x3x4x6xf32>) over(%3, %5, %7, %9 : tensor<5x2x3x4x1xf32>, tensor<5x2x3x1x1xf32>, tensor<5x2x1x1x6xf32>, tensor<5x2x1x1x6xf32>) captured(%0, %1 : tensor<3x1x1xf32>, tensor<3x1x1xf32>) -> (tensor<2x3x4x6xf32>) stacked(tensor<5x2x3x4x1xf32>) {
// CHECK-NEXT: ^bb0(%11: tensor<2x3x4x6xf32>, %12: tensor<2x3x4x1xf32>, %13: tensor<2x3x1x1xf32>, %14: tensor<2x1x1x6xf32>, %15: tensor<2x1x1x6xf32>, %16: tensor<3x1x1xf32>, %17: tensor<3x1x1xf32>):
// CHECK-NEXT: %18 = mir.mul %13, %16 : (tensor<2x3x1x1xf32>, tensor<3x1x1xf32>) -> tensor<2x3x1x1xf32>
// CHECK-NEXT: %19 = mir.exp %18 : tensor<2x3x1x1xf32>
// CHECK-NEXT: %20 = mir.mul %19, %11 : (tensor<2x3x1x1xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
// CHECK-NEXT: %21 = mir.mul %13, %12 : (tensor<2x3x1x1xf32>, tensor<2x3x4x1xf32>) -> tensor<2x3x4x1xf32>
// CHECK-NEXT: %22 = mir.mul %21, %14 : (tensor<2x3x4x1xf32>, tensor<2x1x1x6xf32>) -> tensor<2x3x4x6xf32>
// CHECK-NEXT: %23 = mir.add %20, %22 : (tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
// CHECK-NEXT: %24 = mir.mul %23, %15 : (tensor<2x3x4x6xf32>, tensor<2x1x1x6xf32>) -> tensor<2x3x4x6xf32>
// CHECK-NEXT: %25 = mir.reduce_sum %24 axes [3] keep_dim : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x1xf32>
// CHECK-NEXT: %26 = mir.mul %17, %12 : (tensor<3x1x1xf32>, tensor<2x3x4x1xf32>) -> tensor<2x3x4x1xf32>
// CHECK-NEXT: %27 = mir.add %25, %26 : (tensor<2x3x4x1xf32>, tensor<2x3x4x1xf32>) -> tensor<2x3x4x1xf32>
// CHECK-NEXT: mir.yield %23, %27 : tensor<2x3x4x6xf32>, tensor<2x3x4x1xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %11 = mir.reshape %10 : tensor<5x2x3x4x1xf32> to tensor<5x2x3x4xf32>
// CHECK-NEXT: %y = mir.transpose %11 perm [1, 0, 2, 3] : (tensor<5x2x3x4xf32>) -> tensor<2x5x3x4xf32>
// CHECK-NEXT: func.return %y, %last : tensor<2x5x3x4xf32>, tensor<2x3x4x6xf32>
// CHECK-NEXT: }
func.func @mamba2(%x: tensor<2x5x3x4xf32>, %dt: tensor<2x5x3xf32>, %a: tensor<3xf32>, %b: tensor<2x5x6xf32>, %h: tensor<2x3x4x6xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x3x4x6xf32>) {
  %y, %last = hir.mamba2 %x, %dt, %a, %b, %b : tensor<2x5x3x4xf32>, tensor<2x5x3xf32>, tensor<3xf32>, tensor<2x5x6xf32>, tensor<2x5x6xf32> d %a : tensor<3xf32> h0 %h : tensor<2x3x4x6xf32> -> tensor<2x5x3x4xf32>, tensor<2x3x4x6xf32>
  func.return %y, %last : tensor<2x5x3x4xf32>, tensor<2x3x4x6xf32>
}
