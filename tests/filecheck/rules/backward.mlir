// RUN: xdsl-opt %s -p mir-emit-vjp | filecheck %s

// Second derivatives: backward ops are differentiated through their definitions.

// Linear in dy, and piecewise constant in x.
// CHECK-LABEL: func.func @relu_backward(%x0: tensor<4x3xf32>, %x1: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.gt %x0, %0 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xi1>
// CHECK-NEXT: %2 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %d_b = mir.where %1, %g, %2 : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %d_b : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @relu_backward(%x0: tensor<4x3xf32>, %x1: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %d1 = mir.vjp primals(%x0, %x1 : tensor<4x3xf32>, tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [1] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>):
    %0 = mir.relu_backward %a, %b : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %d1 : tensor<4x3xf32>
}

// The second derivative of tanh.
// CHECK-LABEL: func.func @activation_backward(%x0: tensor<4x3xf32>, %x1: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
// CHECK-NEXT: %0 = mir.tanh %x0 : tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.mul %0, %0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %2 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = mir.sub %2, %1 : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %d_b = mir.mul %g, %3 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %4 = mir.mul %g, %x1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %5 = mir.neg %4 : tensor<4x3xf32>
// CHECK-NEXT: %6 = mir.mul %5, %0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %7 = mir.mul %5, %0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %8 = mir.add %6, %7 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %9 = mir.mul %0, %0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %10 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %11 = mir.sub %10, %9 : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %d_a = mir.mul %8, %11 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %d_a, %d_b : tensor<4x3xf32>, tensor<4x3xf32>
// CHECK-NEXT: }
func.func @activation_backward(%x0: tensor<4x3xf32>, %x1: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %d0, %d1 = mir.vjp primals(%x0, %x1 : tensor<4x3xf32>, tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0, 1] -> tensor<4x3xf32>, tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>):
    %0 = mir.activation_backward tanh %a, %b : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %d0, %d1 : tensor<4x3xf32>, tensor<4x3xf32>
}

// The derivative with respect to the cotangent of the losses.
// CHECK-LABEL: func.func @cross_entropy_backward(%x0: tensor<4x3xf32>, %x1: tensor<4xi32>, %x2: tensor<4xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %0 = mir.softmax %x0 axis 1 : (tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.reshape %x1 : tensor<4xi32> to tensor<4x1xi32>
// CHECK-NEXT: %2 = mir.constant dense<[0, 1, 2]> : tensor<3xi32>
// CHECK-NEXT: %3 = mir.eq %1, %2 : (tensor<4x1xi32>, tensor<3xi32>) -> tensor<4x3xi1>
// CHECK-NEXT: %4 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %5 = mir.sub %0, %4 : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %6 = mir.where %3, %5, %0 : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %7 = mir.reshape %x1 : tensor<4xi32> to tensor<4x1xi32>
// CHECK-NEXT: %8 = mir.constant dense<0> : tensor<i32>
// CHECK-NEXT: %9 = mir.ge %7, %8 : (tensor<4x1xi32>, tensor<i32>) -> tensor<4x1xi1>
// CHECK-NEXT: %10 = mir.constant dense<3> : tensor<i32>
// CHECK-NEXT: %11 = mir.lt %7, %10 : (tensor<4x1xi32>, tensor<i32>) -> tensor<4x1xi1>
// CHECK-NEXT: %12 = mir.and %9, %11 : (tensor<4x1xi1>, tensor<4x1xi1>) -> tensor<4x1xi1>
// CHECK-NEXT: %13 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %14 = mir.where %12, %g, %13 : (tensor<4x1xi1>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %15 = mir.mul %14, %6 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %16 = mir.reduce_sum %15 axes [1] : (tensor<4x3xf32>) -> tensor<4xf32>
// CHECK-NEXT: %17 = mir.reshape %16 : tensor<4xf32> to tensor<4x1xf32>
// CHECK-NEXT: %d_c = mir.reshape %17 : tensor<4x1xf32> to tensor<4xf32>
// CHECK-NEXT: func.return %d_c : tensor<4xf32>
// CHECK-NEXT: }
func.func @cross_entropy_backward(%x0: tensor<4x3xf32>, %x1: tensor<4xi32>, %x2: tensor<4xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4xf32> {
  %d2 = mir.vjp primals(%x0, %x1, %x2 : tensor<4x3xf32>, tensor<4xi32>, tensor<4xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [2] -> tensor<4xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<4xi32>, %c: tensor<4xf32>):
    %0 = mir.softmax_cross_entropy_backward %a, %b, %c : (tensor<4x3xf32>, tensor<4xi32>, tensor<4xf32>) -> tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %d2 : tensor<4xf32>
}
