// RUN: xdsl-opt %s -p mir-unroll-while | filecheck %s

// A branch each time, and at the end of each time the question whether there is a next one.
// CHECK-LABEL: func.func @bounded(%x: tensor<f32>, %k: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
// CHECK-NEXT: %0 = mir.lt %x, %k : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT: %1 = mir.constant dense<0> : tensor<i32>
// CHECK-NEXT: %y, %2, %n = mir.scan 10 carries(%x, %0, %1 : tensor<f32>, tensor<i1>, tensor<i32>) captured(%k : tensor<f32>) -> (tensor<f32>, tensor<i1>, tensor<i32>) {
// CHECK-NEXT: ^bb0(%3: tensor<f32>, %4: tensor<i1>, %5: tensor<i32>, %k_1: tensor<f32>):
// CHECK-NEXT: %6, %7, %8 = mir.if %4 : tensor<i1> captured(%3, %k_1, %5, %4 : tensor<f32>, tensor<f32>, tensor<i32>, tensor<i1>) -> (tensor<f32>, tensor<i1>, tensor<i32>) {
// CHECK-NEXT: ^bb0(%9: tensor<f32>, %k_2: tensor<f32>, %10: tensor<i32>, %11: tensor<i1>):
// CHECK-NEXT: %12 = mir.mul %9, %k_2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %13 = mir.lt %12, %k_2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT: %14 = mir.constant dense<1> : tensor<i32>
// CHECK-NEXT: %15 = mir.add %10, %14 : (tensor<i32>, tensor<i32>) -> tensor<i32>
// CHECK-NEXT: mir.yield %12, %13, %15 : tensor<f32>, tensor<i1>, tensor<i32>
// CHECK-NEXT: } else {
// CHECK-NEXT: ^bb0(%16: tensor<f32>, %k_3: tensor<f32>, %17: tensor<i32>, %18: tensor<i1>):
// CHECK-NEXT: mir.yield %16, %18, %17 : tensor<f32>, tensor<i1>, tensor<i32>
// CHECK-NEXT: }
// CHECK-NEXT: mir.yield %6, %7, %8 : tensor<f32>, tensor<i1>, tensor<i32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y, %n : tensor<f32>, tensor<i32>
// CHECK-NEXT: }
func.func @bounded(%x: tensor<f32>, %k: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
  %y, %n = mir.while carries(%x : tensor<f32>) captured(%k : tensor<f32>) max_iterations 10 -> (tensor<f32>) {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = mir.lt %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    mir.yield %0 : tensor<i1>
  } do {
  ^bb1(%c: tensor<f32>, %d: tensor<f32>):
    %1 = mir.mul %c, %d : (tensor<f32>, tensor<f32>) -> tensor<f32>
    mir.yield %1 : tensor<f32>
  }
  func.return %y, %n : tensor<f32>, tensor<i32>
}

// A loop without a bound stays.
// CHECK-LABEL: func.func @endless(%x: tensor<f32>, %k: tensor<f32>) -> tensor<f32> {
// CHECK-NEXT: %y, %n = mir.while carries(%x : tensor<f32>) captured(%k : tensor<f32>) -> (tensor<f32>) {
// CHECK-NEXT: ^bb0(%a: tensor<f32>, %b: tensor<f32>):
// CHECK-NEXT: %0 = mir.lt %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT: mir.yield %0 : tensor<i1>
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%c: tensor<f32>, %d: tensor<f32>):
// CHECK-NEXT: %1 = mir.mul %c, %d : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: mir.yield %1 : tensor<f32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<f32>
// CHECK-NEXT: }
func.func @endless(%x: tensor<f32>, %k: tensor<f32>) -> tensor<f32> {
  %y, %n = mir.while carries(%x : tensor<f32>) captured(%k : tensor<f32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = mir.lt %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    mir.yield %0 : tensor<i1>
  } do {
  ^bb1(%c: tensor<f32>, %d: tensor<f32>):
    %1 = mir.mul %c, %d : (tensor<f32>, tensor<f32>) -> tensor<f32>
    mir.yield %1 : tensor<f32>
  }
  func.return %y : tensor<f32>
}
