// RUN: xdsl-opt %s -p convert-hir-to-mir | filecheck %s --check-prefixes=CHECK,DIRECT
// RUN: xdsl-opt %s -p 'convert-hir-to-mir{fusion-policy=fusable}' | filecheck %s --check-prefixes=CHECK,FUSABLE
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
