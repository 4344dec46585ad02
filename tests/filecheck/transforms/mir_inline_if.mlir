// RUN: xdsl-opt %s -p mir-inline-if | filecheck %s

// A choice; what both branches hand on is none.
// CHECK-LABEL: func.func @both(%p: tensor<i1>, %x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %0 = mir.sin %x : tensor<3xf32>
// CHECK-NEXT: %1 = mir.cos %x : tensor<3xf32>
// CHECK-NEXT: %y = mir.where %p, %0, %1 : (tensor<i1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %y, %x : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @both(%p: tensor<i1>, %x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %y, %z = mir.if %p : tensor<i1> captured(%x : tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    %0 = mir.sin %a : tensor<3xf32>
    mir.yield %0, %a : tensor<3xf32>, tensor<3xf32>
  } else {
  ^bb1(%b: tensor<3xf32>):
    %1 = mir.cos %b : tensor<3xf32>
    mir.yield %1, %b : tensor<3xf32>, tensor<3xf32>
  }
  func.return %y, %z : tensor<3xf32>, tensor<3xf32>
}

// By binary search for the index, without branches.
// CHECK-LABEL: func.func @many(%i: tensor<i32>, %x: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %0 = mir.cast %i : tensor<i32> to tensor<i64>
// CHECK-NEXT: %1 = mir.constant dense<1> : tensor<i64>
// CHECK-NEXT: %2 = mir.lt %0, %1 : (tensor<i64>, tensor<i64>) -> tensor<i1>
// CHECK-NEXT: %3 = mir.sin %x : tensor<3xf32>
// CHECK-NEXT: %4 = mir.constant dense<2> : tensor<i64>
// CHECK-NEXT: %5 = mir.lt %0, %4 : (tensor<i64>, tensor<i64>) -> tensor<i1>
// CHECK-NEXT: %6 = mir.cos %x : tensor<3xf32>
// CHECK-NEXT: %7 = mir.where %5, %x, %6 : (tensor<i1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %y = mir.where %2, %3, %7 : (tensor<i1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %y : tensor<3xf32>
// CHECK-NEXT: }
func.func @many(%i: tensor<i32>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %y = mir.switch %i : tensor<i32> captured(%x : tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    %0 = mir.sin %a : tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  } {
  ^bb1(%b: tensor<3xf32>):
    mir.yield %b : tensor<3xf32>
  } {
  ^bb2(%c: tensor<3xf32>):
    %1 = mir.cos %c : tensor<3xf32>
    mir.yield %1 : tensor<3xf32>
  }
  func.return %y : tensor<3xf32>
}

// A branch that may not end stays.
// CHECK-LABEL: func.func @endless(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
// CHECK-NEXT: %y = mir.if %p : tensor<i1> captured(%x : tensor<f32>) -> (tensor<f32>) {
// CHECK-NEXT: ^bb0(%a: tensor<f32>):
// CHECK-NEXT: %0, %n = mir.while carries(%a : tensor<f32>) -> (tensor<f32>) {
// CHECK-NEXT: ^bb0(%b: tensor<f32>):
// CHECK-NEXT: %1 = mir.lt %b, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT: mir.yield %1 : tensor<i1>
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%c: tensor<f32>):
// CHECK-NEXT: mir.yield %c : tensor<f32>
// CHECK-NEXT: }
// CHECK-NEXT: mir.yield %0 : tensor<f32>
// CHECK-NEXT: } else {
// CHECK-NEXT: ^bb0(%d: tensor<f32>):
// CHECK-NEXT: mir.yield %d : tensor<f32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<f32>
// CHECK-NEXT: }
func.func @endless(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %y = mir.if %p : tensor<i1> captured(%x : tensor<f32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<f32>):
    %0, %n = mir.while carries(%a : tensor<f32>) -> (tensor<f32>) {
    ^bb1(%b: tensor<f32>):
      %1 = mir.lt %b, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      mir.yield %1 : tensor<i1>
    } do {
    ^bb2(%c: tensor<f32>):
      mir.yield %c : tensor<f32>
    }
    mir.yield %0 : tensor<f32>
  } else {
  ^bb3(%d: tensor<f32>):
    mir.yield %d : tensor<f32>
  }
  func.return %y : tensor<f32>
}
