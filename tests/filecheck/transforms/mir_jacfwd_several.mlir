// RUN: xdsl-opt %s -p 'mir-jacfwd{wrt=x,w}' | filecheck %s

// One batch of the unit vectors of both arguments: where it has those of one, it has zeros for the other.
// CHECK-LABEL: func.func @f_jacfwd(%x: tensor<2xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<f32> {mir.name = "w", mir.kind = "param"}) -> (tensor<2x2xf32>, tensor<2xf32>) {
// CHECK-NEXT: %0 = mir.constant dense<[0, 1, 2]> : tensor<3xi64>
// CHECK-NEXT: %1 = mir.constant dense<[0, 1]> : tensor<2xi64>
// CHECK-NEXT: %2 = mir.reshape %0 : tensor<3xi64> to tensor<3x1xi64>
// CHECK-NEXT: %3 = mir.eq %2, %1 : (tensor<3x1xi64>, tensor<2xi64>) -> tensor<3x2xi1>
// CHECK-NEXT: %tangent_x = mir.cast %3 : tensor<3x2xi1> to tensor<3x2xf32>
// CHECK-NEXT: %4 = mir.constant dense<2> : tensor<1xi64>
// CHECK-NEXT: %5 = mir.reshape %0 : tensor<3xi64> to tensor<3x1xi64>
// CHECK-NEXT: %6 = mir.eq %5, %4 : (tensor<3x1xi64>, tensor<1xi64>) -> tensor<3x1xi1>
// CHECK-NEXT: %7 = mir.cast %6 : tensor<3x1xi1> to tensor<3x1xf32>
// CHECK-NEXT: %tangent_w = mir.reshape %7 : tensor<3x1xf32> to tensor<3xf32>
// CHECK-NEXT: %8 = mir.mul %tangent_x, %w : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
// CHECK-NEXT: %9 = mir.reshape %tangent_w : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %10 = mir.mul %9, %x : (tensor<3x1xf32>, tensor<2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %t_y = mir.add %8, %10 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %11 = mir.narrow %t_y axis 0 start 0 len 2 : (tensor<3x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %12 = mir.transpose %11 perm [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %13 = mir.narrow %t_y axis 0 start 2 len 1 : (tensor<3x2xf32>) -> tensor<1x2xf32>
// CHECK-NEXT: %14 = mir.transpose %13 perm [1, 0] : (tensor<1x2xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %15 = mir.reshape %14 : tensor<2x1xf32> to tensor<2xf32>
// CHECK-NEXT: func.return %12, %15 : tensor<2x2xf32>, tensor<2xf32>
// CHECK-NEXT: }
func.func @f(%x: tensor<2xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<f32> {mir.name = "w", mir.kind = "param"}) -> tensor<2xf32> {
  %y = mir.mul %x, %w : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
