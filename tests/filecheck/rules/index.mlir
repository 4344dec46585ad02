// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family index.

// CHECK-LABEL: func.func @gather(%table: tensor<5x3xf32>, %i: tensor<4xi64>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<5x3xf32> {
// CHECK-NEXT: %d = mir.scatter_add %g, %i axis 0 batch_dims 0 extent 5 : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<5x3xf32>
// CHECK-NEXT: func.return %d : tensor<5x3xf32>
// CHECK-NEXT: }
func.func @gather(%table: tensor<5x3xf32>, %i: tensor<4xi64>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<5x3xf32> {
  %d = mir.vjp primals(%table, %i : tensor<5x3xf32>, tensor<4xi64>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<5x3xf32> {
  ^bb0(%a: tensor<5x3xf32>, %b: tensor<4xi64>):
    %0 = mir.gather %a, %b axis 0 batch_dims 0 : (tensor<5x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %d : tensor<5x3xf32>
}

// -----

// CHECK-LABEL: func.func @scatter_add(%u: tensor<4x3xf32>, %i: tensor<4xi64>, %y: tensor<5x3xf32>, %g: tensor<5x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %d = mir.gather %g, %i axis 0 batch_dims 0 : (tensor<5x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %d : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @scatter_add(%u: tensor<4x3xf32>, %i: tensor<4xi64>, %y: tensor<5x3xf32>, %g: tensor<5x3xf32>) -> tensor<4x3xf32> {
  %d = mir.vjp primals(%u, %i : tensor<4x3xf32>, tensor<4xi64>) outputs(%y : tensor<5x3xf32>) cotangents(%g : tensor<5x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<4xi64>):
    %0 = mir.scatter_add %a, %b axis 0 batch_dims 0 extent 5 : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<5x3xf32>
    mir.yield %0 : tensor<5x3xf32>
  }
  func.return %d : tensor<4x3xf32>
}

// -----

// CHECK-LABEL: func.func @scatter_max(%u: tensor<4x3xf32>, %i: tensor<4xi64>, %y: tensor<5x3xf32>, %g: tensor<5x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %0 = mir.gather %y, %i axis 0 batch_dims 0 : (tensor<5x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.eq %u, %0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
// CHECK-NEXT: %2 = mir.ne %u, %u : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
// CHECK-NEXT: %3 = mir.ne %0, %0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
// CHECK-NEXT: %4 = mir.and %2, %3 : (tensor<4x3xi1>, tensor<4x3xi1>) -> tensor<4x3xi1>
// CHECK-NEXT: %5 = mir.or %1, %4 : (tensor<4x3xi1>, tensor<4x3xi1>) -> tensor<4x3xi1>
// CHECK-NEXT: %6 = mir.cast %5 : tensor<4x3xi1> to tensor<4x3xf32>
// CHECK-NEXT: %7 = mir.scatter_add %6, %i axis 0 batch_dims 0 extent 5 : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<5x3xf32>
// CHECK-NEXT: %8 = mir.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %9 = mir.max %7, %8 : (tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xf32>
// CHECK-NEXT: %10 = mir.div %g, %9 : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
// CHECK-NEXT: %11 = mir.gather %10, %i axis 0 batch_dims 0 : (tensor<5x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
// CHECK-NEXT: %d = mir.mul %6, %11 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %d : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @scatter_max(%u: tensor<4x3xf32>, %i: tensor<4xi64>, %y: tensor<5x3xf32>, %g: tensor<5x3xf32>) -> tensor<4x3xf32> {
  %d = mir.vjp primals(%u, %i : tensor<4x3xf32>, tensor<4xi64>) outputs(%y : tensor<5x3xf32>) cotangents(%g : tensor<5x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<4xi64>):
    %0 = mir.scatter_max %a, %b axis 0 batch_dims 0 extent 5 : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<5x3xf32>
    mir.yield %0 : tensor<5x3xf32>
  }
  func.return %d : tensor<4x3xf32>
}

// -----

// CHECK-LABEL: func.func @cumsum(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %d = mir.cumsum %g axis 0 exclusive reverse : tensor<4x3xf32>
// CHECK-NEXT: func.return %d : tensor<4x3xf32>
// CHECK-NEXT: }
func.func @cumsum(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %d = mir.vjp primals(%x : tensor<4x3xf32>) outputs(%y : tensor<4x3xf32>) cotangents(%g : tensor<4x3xf32>) of [0] wrt [0] -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %0 = mir.cumsum %a axis 0 exclusive : tensor<4x3xf32>
    mir.yield %0 : tensor<4x3xf32>
  }
  func.return %d : tensor<4x3xf32>
}
