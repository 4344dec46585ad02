// RUN: xdsl-opt %s -p mir-unfuse-elementwise-regions | filecheck %s


// Operands broadcast as they did in the region: nothing is read by its index modulo a count.

// CHECK-LABEL: func.func @broadcast(%x: tensor<3x6xf32>, %b: tensor<3x1xf32>) -> tensor<3x6xf32> {
// CHECK-NEXT: %0 = mir.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %1 = mir.mul %b, %0 : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
// CHECK-NEXT: %2 = mir.add %x, %1 : (tensor<3x6xf32>, tensor<3x1xf32>) -> tensor<3x6xf32>
// CHECK-NEXT: %y = mir.tanh %2 : tensor<3x6xf32>
// CHECK-NEXT: func.return %y : tensor<3x6xf32>
// CHECK-NEXT: }
func.func @broadcast(%x: tensor<3x6xf32>, %b: tensor<3x1xf32>) -> tensor<3x6xf32> {
  %y = mir.elementwise_region (%x, %b : tensor<3x6xf32>, tensor<3x1xf32>) -> tensor<3x6xf32> {
  ^bb0(%p: tensor<3x6xf32>, %q: tensor<3x1xf32>):
    %0 = mir.constant dense<5.000000e-01> : tensor<f32>
    %1 = mir.mul %q, %0 : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
    %2 = mir.add %p, %1 : (tensor<3x6xf32>, tensor<3x1xf32>) -> tensor<3x6xf32>
    %3 = mir.tanh %2 : tensor<3x6xf32>
    mir.yield %3 : tensor<3x6xf32>
  }
  func.return %y : tensor<3x6xf32>
}

// Other regions are for another pass.

// CHECK-LABEL: func.func @others(%x: tensor<1x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT: %z = mir.batch_elementwise_region(%x, %x : tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT: ^bb0(%a: tensor<1x3xf32>):
// CHECK-NEXT: %0 = mir.relu %a : tensor<1x3xf32>
// CHECK-NEXT: mir.yield %0 : tensor<1x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %z : tensor<2x3xf32>
// CHECK-NEXT: }
func.func @others(%x: tensor<1x3xf32>) -> tensor<2x3xf32> {
  %y = mir.elementwise_region (%x : tensor<1x3xf32>) -> tensor<1x3xf32> {
  ^bb0(%a: tensor<1x3xf32>):
    mir.yield %a : tensor<1x3xf32>
  }
  %z = mir.batch_elementwise_region (%x, %y : tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<1x3xf32>):
    %0 = mir.relu %a : tensor<1x3xf32>
    mir.yield %0 : tensor<1x3xf32>
  }
  func.return %z : tensor<2x3xf32>
}
