// RUN: ROUNDTRIP
// RUN: GENERIC


// What the rules take: operands, what is captured, results and cotangents, or tangents, of the floating-point ones.

// CHECK-LABEL: func.func @both(%x: tensor<3xf32>, %n: tensor<3xi32>, %w: tensor<f32>) -> (tensor<3xf32>, tensor<3xi32>) {
// CHECK-NEXT: %y, %m = mir.custom_fn inputs(%x, %n : tensor<3xf32>, tensor<3xi32>) captured(%w : tensor<f32>) -> (tensor<3xf32>, tensor<3xi32>) {
// CHECK-NEXT: ^bb0(%a: tensor<3xf32>, %k: tensor<3xi32>, %b: tensor<f32>):
// CHECK-NEXT: %0 = mir.mul %a, %b : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK-NEXT: mir.yield %0, %k : tensor<3xf32>, tensor<3xi32>
// CHECK-NEXT: } vjp {
// CHECK-NEXT: ^bb0(%a_1: tensor<3xf32>, %k_1: tensor<3xi32>, %b_1: tensor<f32>, %z: tensor<3xf32>, %l: tensor<3xi32>, %d: tensor<3xf32>):
// CHECK-NEXT: %1 = mir.sin %d : tensor<3xf32>
// CHECK-NEXT: mir.yield %1 : tensor<3xf32>
// CHECK-NEXT: } jvp {
// CHECK-NEXT: ^bb0(%a_2: tensor<3xf32>, %k_2: tensor<3xi32>, %b_2: tensor<f32>, %t: tensor<3xf32>):
// CHECK-NEXT: mir.yield %t : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y, %m : tensor<3xf32>, tensor<3xi32>
// CHECK-NEXT: }
func.func @both(%x: tensor<3xf32>, %n: tensor<3xi32>, %w: tensor<f32>) -> (tensor<3xf32>, tensor<3xi32>) {
  %y, %m = mir.custom_fn inputs(%x, %n : tensor<3xf32>, tensor<3xi32>) captured(%w : tensor<f32>) -> (tensor<3xf32>, tensor<3xi32>) {
  ^bb0(%a: tensor<3xf32>, %k: tensor<3xi32>, %b: tensor<f32>):
    %0 = mir.mul %a, %b : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    mir.yield %0, %k : tensor<3xf32>, tensor<3xi32>
  } vjp {
  ^bb1(%a: tensor<3xf32>, %k: tensor<3xi32>, %b: tensor<f32>, %z: tensor<3xf32>, %l: tensor<3xi32>, %d: tensor<3xf32>):
    %1 = mir.sin %d : tensor<3xf32>
    mir.yield %1 : tensor<3xf32>
  } jvp {
  ^bb2(%a: tensor<3xf32>, %k: tensor<3xi32>, %b: tensor<f32>, %t: tensor<3xf32>):
    mir.yield %t : tensor<3xf32>
  }
  func.return %y, %m : tensor<3xf32>, tensor<3xi32>
}

// CHECK-LABEL: func.func @jvp(%x: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %y = mir.custom_fn inputs(%x : tensor<3xf32>) -> (tensor<3xf32>) {
// CHECK-NEXT: ^bb0(%a: tensor<3xf32>):
// CHECK-NEXT: %0 = mir.round %a : tensor<3xf32>
// CHECK-NEXT: mir.yield %0 : tensor<3xf32>
// CHECK-NEXT: } jvp {
// CHECK-NEXT: ^bb0(%a_1: tensor<3xf32>, %t: tensor<3xf32>):
// CHECK-NEXT: mir.yield %t : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<3xf32>
// CHECK-NEXT: }
func.func @jvp(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = mir.custom_fn inputs(%x : tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    %0 = mir.round %a : tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  } jvp {
  ^bb1(%a: tensor<3xf32>, %t: tensor<3xf32>):
    mir.yield %t : tensor<3xf32>
  }
  func.return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @neither() {
// CHECK-NEXT: mir.custom_fn -> () {
// CHECK-NEXT: mir.yield
// CHECK-NEXT: }
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @neither() {
  mir.custom_fn -> () {
    mir.yield
  }
  func.return
}

// GENERIC: "mir.custom_fn"(%{{.*}}) <{operandSegmentSizes = array<i32: 2, 1>, regionSegmentSizes = array<i32: 1, 1, 1>}>
// GENERIC: "mir.custom_fn"(%{{.*}}) <{operandSegmentSizes = array<i32: 1, 0>, regionSegmentSizes = array<i32: 1, 0, 1>}>
