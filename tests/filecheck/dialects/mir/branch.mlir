// RUN: ROUNDTRIP
// RUN: GENERIC

// A branch and the other, which see what is captured.
// CHECK-LABEL: func.func @if(%p: tensor<i1>, %x: tensor<3xf32>, %k: tensor<f32>) -> (tensor<3xf32>, tensor<f32>) {
// CHECK-NEXT: %y, %z = mir.if %p : tensor<i1> captured(%x, %k : tensor<3xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<f32>) {
// CHECK-NEXT: ^bb0(%a: tensor<3xf32>, %b: tensor<f32>):
// CHECK-NEXT: %0 = mir.sin %a : tensor<3xf32>
// CHECK-NEXT: mir.yield %0, %b : tensor<3xf32>, tensor<f32>
// CHECK-NEXT: } else {
// CHECK-NEXT: ^bb0(%c: tensor<3xf32>, %d: tensor<f32>):
// CHECK-NEXT: mir.yield %c, %d : tensor<3xf32>, tensor<f32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y, %z : tensor<3xf32>, tensor<f32>
// CHECK-NEXT: }
func.func @if(%p: tensor<i1>, %x: tensor<3xf32>, %k: tensor<f32>) -> (tensor<3xf32>, tensor<f32>) {
  %y, %z = mir.if %p : tensor<i1> captured(%x, %k : tensor<3xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<f32>) {
  ^bb0(%a: tensor<3xf32>, %b: tensor<f32>):
    %0 = mir.sin %a : tensor<3xf32>
    mir.yield %0, %b : tensor<3xf32>, tensor<f32>
  } else {
  ^bb1(%c: tensor<3xf32>, %d: tensor<f32>):
    mir.yield %c, %d : tensor<3xf32>, tensor<f32>
  }
  func.return %y, %z : tensor<3xf32>, tensor<f32>
}

// CHECK-LABEL: func.func @switch(%i: tensor<i64>, %x: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %y = mir.switch %i : tensor<i64> captured(%x : tensor<3xf32>) -> (tensor<3xf32>) {
// CHECK-NEXT: ^bb0(%a: tensor<3xf32>):
// CHECK-NEXT: %0 = mir.sin %a : tensor<3xf32>
// CHECK-NEXT: mir.yield %0 : tensor<3xf32>
// CHECK-NEXT: } {
// CHECK-NEXT: ^bb0(%b: tensor<3xf32>):
// CHECK-NEXT: mir.yield %b : tensor<3xf32>
// CHECK-NEXT: } {
// CHECK-NEXT: ^bb0(%c: tensor<3xf32>):
// CHECK-NEXT: %1 = mir.cos %c : tensor<3xf32>
// CHECK-NEXT: mir.yield %1 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<3xf32>
// CHECK-NEXT: }
func.func @switch(%i: tensor<i64>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %y = mir.switch %i : tensor<i64> captured(%x : tensor<3xf32>) -> (tensor<3xf32>) {
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

// The condition and the body take the carries, and what is captured.
// CHECK-LABEL: func.func @while(%x: tensor<f32>, %k: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
// CHECK-NEXT: %y, %n = mir.while carries(%x : tensor<f32>) captured(%k : tensor<f32>) max_iterations 10 -> (tensor<f32>) {
// CHECK-NEXT: ^bb0(%a: tensor<f32>, %b: tensor<f32>):
// CHECK-NEXT: %0 = mir.lt %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT: mir.yield %0 : tensor<i1>
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%c: tensor<f32>, %d: tensor<f32>):
// CHECK-NEXT: %1 = mir.add %c, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: mir.yield %1 : tensor<f32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y, %n : tensor<f32>, tensor<i32>
// CHECK-NEXT: }
func.func @while(%x: tensor<f32>, %k: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
  %y, %n = mir.while carries(%x : tensor<f32>) captured(%k : tensor<f32>) max_iterations 10 -> (tensor<f32>) {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = mir.lt %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    mir.yield %0 : tensor<i1>
  } do {
  ^bb1(%c: tensor<f32>, %d: tensor<f32>):
    %1 = mir.add %c, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
    mir.yield %1 : tensor<f32>
  }
  func.return %y, %n : tensor<f32>, tensor<i32>
}

// CHECK-LABEL: func.func @remat(%x: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %y = mir.remat captured(%x : tensor<3xf32>) -> (tensor<3xf32>) {
// CHECK-NEXT: ^bb0(%a: tensor<3xf32>):
// CHECK-NEXT: %0 = mir.sin %a : tensor<3xf32>
// CHECK-NEXT: mir.yield %0 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<3xf32>
// CHECK-NEXT: }
func.func @remat(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = mir.remat captured(%x : tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    %0 = mir.sin %a : tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return %y : tensor<3xf32>
}

// GENERIC: "mir.if"(%{{.*}})
// GENERIC: "mir.switch"(%{{.*}})
// GENERIC: "mir.while"(%{{.*}}) <{max_iterations = 10 : i64, operandSegmentSizes = array<i32: 1, 1>}>
// GENERIC: "mir.remat"(%{{.*}})
