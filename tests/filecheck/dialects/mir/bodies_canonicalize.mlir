// RUN: xdsl-opt %s -p canonicalize,cse | filecheck %s

// A branch that is known beforehand takes the place of its op; an index past either end is that end.
// CHECK-LABEL: func.func @known(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %0 = mir.sin %x : tensor<3xf32>
// CHECK-NEXT: %1 = mir.cos %x : tensor<3xf32>
// CHECK-NEXT: %2 = mir.tanh %x : tensor<3xf32>
// CHECK-NEXT: func.return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @known(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %p = mir.constant dense<false> : tensor<i1>
  %i = mir.constant dense<9> : tensor<i32>
  %j = mir.constant dense<-1> : tensor<i32>
  %0 = mir.if %p : tensor<i1> captured(%x : tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    mir.yield %a : tensor<3xf32>
  } else {
  ^bb1(%a: tensor<3xf32>):
    %1 = mir.sin %a : tensor<3xf32>
    mir.yield %1 : tensor<3xf32>
  }
  %2 = mir.switch %i : tensor<i32> captured(%x : tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb2(%a: tensor<3xf32>):
    mir.yield %a : tensor<3xf32>
  } {
  ^bb3(%a: tensor<3xf32>):
    %3 = mir.cos %a : tensor<3xf32>
    mir.yield %3 : tensor<3xf32>
  }
  %4 = mir.switch %j : tensor<i32> captured(%x : tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb4(%a: tensor<3xf32>):
    %5 = mir.tanh %a : tensor<3xf32>
    mir.yield %5 : tensor<3xf32>
  } {
  ^bb5(%a: tensor<3xf32>):
    mir.yield %a : tensor<3xf32>
  }
  func.return %0, %2, %4 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// A number comes in, a value goes in once, a result that is the same in both branches does not come out.
// CHECK-LABEL: func.func @tidied(%p: tensor<i1>, %x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %0 = mir.if %p : tensor<i1> captured(%x : tensor<3xf32>) -> (tensor<3xf32>) {
// CHECK-NEXT: ^bb0(%x_1: tensor<3xf32>):
// CHECK-NEXT: %c = mir.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.mul %x_1, %x_1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %2 = mir.mul %1, %c : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK-NEXT: mir.yield %2 : tensor<3xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: ^bb0(%x_2: tensor<3xf32>):
// CHECK-NEXT: mir.yield %x_2 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %0, %x : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @tidied(%p: tensor<i1>, %x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %c = mir.constant dense<2.0> : tensor<f32>
  %0, %1, %2 = mir.if %p : tensor<i1> captured(%x, %c, %y, %x : tensor<3xf32>, tensor<f32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>, %k: tensor<f32>, %b: tensor<3xf32>, %d: tensor<3xf32>):
    %3 = mir.mul %a, %d : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %4 = mir.mul %3, %k : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    mir.yield %4, %b, %d : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  } else {
  ^bb1(%a: tensor<3xf32>, %k: tensor<f32>, %b: tensor<3xf32>, %d: tensor<3xf32>):
    mir.yield %a, %a, %a : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  }
  func.return %0, %2 : tensor<3xf32>, tensor<3xf32>
}

// Scans of no time and of one.
// CHECK-LABEL: func.func @short(%h: tensor<f32>, %x: tensor<1xf32>) -> (tensor<f32>, tensor<0xf32>, tensor<f32>) {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<0xf32>
// CHECK-NEXT: %2 = mir.reshape %x : tensor<1xf32> to tensor<f32>
// CHECK-NEXT: %3 = mir.add %h, %2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: func.return %h, %1, %3 : tensor<f32>, tensor<0xf32>, tensor<f32>
// CHECK-NEXT: }
func.func @short(%h: tensor<f32>, %x: tensor<1xf32>) -> (tensor<f32>, tensor<0xf32>, tensor<f32>) {
  %e = mir.narrow %x axis 0 start 0 len 0 : (tensor<1xf32>) -> tensor<0xf32>
  %0, %1 = mir.scan 0 carries(%h : tensor<f32>) over(%e : tensor<0xf32>) -> (tensor<f32>) stacked (tensor<0xf32>) {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    mir.yield %b, %a : tensor<f32>, tensor<f32>
  }
  %2 = mir.scan 1 carries(%h : tensor<f32>) over(%x : tensor<1xf32>) -> (tensor<f32>) {
  ^bb1(%a: tensor<f32>, %b: tensor<f32>):
    %3 = mir.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    mir.yield %3 : tensor<f32>
  }
  func.return %0, %1, %2 : tensor<f32>, tensor<0xf32>, tensor<f32>
}

// A carry that stays as it is goes in as it is, what nothing reads goes, elements come out as they went in.
// CHECK-LABEL: func.func @scanned(%h: tensor<f32>, %k: tensor<f32>, %x: tensor<8xf32>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>) {
// CHECK-NEXT: %0 = mir.scan 8 carries(%h : tensor<f32>) captured(%k : tensor<f32>) -> (tensor<f32>) {
// CHECK-NEXT: ^bb0(%a: tensor<f32>, %k_1: tensor<f32>):
// CHECK-NEXT: %1 = mir.mul %a, %k_1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: mir.yield %1 : tensor<f32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %0, %k, %x : tensor<f32>, tensor<f32>, tensor<8xf32>
// CHECK-NEXT: }
func.func @scanned(%h: tensor<f32>, %k: tensor<f32>, %x: tensor<8xf32>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>) {
  %0, %1, %2, %3, %4 = mir.scan 8 carries(%h, %k, %h : tensor<f32>, tensor<f32>, tensor<f32>) over(%x : tensor<8xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) stacked (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: tensor<f32>, %same: tensor<f32>, %unread: tensor<f32>, %e: tensor<f32>):
    %5 = mir.mul %a, %same : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %6 = mir.mul %unread, %e : (tensor<f32>, tensor<f32>) -> tensor<f32>
    mir.yield %5, %same, %6, %e, %6 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  func.return %0, %1, %3 : tensor<f32>, tensor<f32>, tensor<8xf32>
}

// The condition reads a carry too.
// CHECK-LABEL: func.func @looped(%h: tensor<f32>, %k: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<i32>) {
// CHECK-NEXT: %0, %1, %n = mir.while carries(%h, %h : tensor<f32>, tensor<f32>) captured(%k : tensor<f32>) -> (tensor<f32>, tensor<f32>) {
// CHECK-NEXT: ^bb0(%a: tensor<f32>, %asked: tensor<f32>, %k_1: tensor<f32>):
// CHECK-NEXT: %2 = mir.lt %asked, %k_1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT: mir.yield %2 : tensor<i1>
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%a_1: tensor<f32>, %asked_1: tensor<f32>, %k_2: tensor<f32>):
// CHECK-NEXT: %3 = mir.mul %a_1, %k_2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %4 = mir.add %asked_1, %k_2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: mir.yield %3, %4 : tensor<f32>, tensor<f32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %0, %k, %n : tensor<f32>, tensor<f32>, tensor<i32>
// CHECK-NEXT: }
func.func @looped(%h: tensor<f32>, %k: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<i32>) {
  %0, %1, %2, %3, %n = mir.while carries(%h, %k, %h, %h : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) captured(%k : tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<f32>, %same: tensor<f32>, %asked: tensor<f32>, %unread: tensor<f32>, %d: tensor<f32>):
    %4 = mir.lt %asked, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
    mir.yield %4 : tensor<i1>
  } do {
  ^bb1(%a: tensor<f32>, %same: tensor<f32>, %asked: tensor<f32>, %unread: tensor<f32>, %d: tensor<f32>):
    %5 = mir.mul %a, %same : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %6 = mir.add %asked, %d : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %7 = mir.mul %unread, %asked : (tensor<f32>, tensor<f32>) -> tensor<f32>
    mir.yield %5, %same, %6, %7 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  func.return %0, %1, %n : tensor<f32>, tensor<f32>, tensor<i32>
}

// A loop that is never run.
// CHECK-LABEL: func.func @never(%h: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
// CHECK-NEXT: %n = mir.constant dense<0> : tensor<i32>
// CHECK-NEXT: func.return %h, %n : tensor<f32>, tensor<i32>
// CHECK-NEXT: }
func.func @never(%h: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
  %0, %n = mir.while carries(%h : tensor<f32>) max_iterations 0 -> (tensor<f32>) {
  ^bb0(%a: tensor<f32>):
    %1 = mir.lt %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
    mir.yield %1 : tensor<i1>
  } do {
  ^bb1(%a: tensor<f32>):
    %2 = mir.sin %a : tensor<f32>
    mir.yield %2 : tensor<f32>
  }
  func.return %0, %n : tensor<f32>, tensor<i32>
}

// Bodies are compared op by op.
// CHECK-LABEL: func.func @twice(%p: tensor<i1>, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
// CHECK-NEXT: %0 = mir.if %p : tensor<i1> captured(%x : tensor<f32>) -> (tensor<f32>) {
// CHECK-NEXT: ^bb0(%a: tensor<f32>):
// CHECK-NEXT: %1 = mir.sin %a : tensor<f32>
// CHECK-NEXT: mir.yield %1 : tensor<f32>
// CHECK-NEXT: } else {
// CHECK-NEXT: ^bb0(%a_1: tensor<f32>):
// CHECK-NEXT: mir.yield %a_1 : tensor<f32>
// CHECK-NEXT: }
// CHECK-NEXT: %1 = mir.if %p : tensor<i1> captured(%x : tensor<f32>) -> (tensor<f32>) {
// CHECK-NEXT: ^bb0(%c: tensor<f32>):
// CHECK-NEXT: %2 = mir.cos %c : tensor<f32>
// CHECK-NEXT: mir.yield %2 : tensor<f32>
// CHECK-NEXT: } else {
// CHECK-NEXT: ^bb0(%c_1: tensor<f32>):
// CHECK-NEXT: mir.yield %c_1 : tensor<f32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %0, %0, %1 : tensor<f32>, tensor<f32>, tensor<f32>
// CHECK-NEXT: }
func.func @twice(%p: tensor<i1>, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = mir.if %p : tensor<i1> captured(%x : tensor<f32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<f32>):
    %1 = mir.sin %a : tensor<f32>
    mir.yield %1 : tensor<f32>
  } else {
  ^bb1(%a: tensor<f32>):
    mir.yield %a : tensor<f32>
  }
  %2 = mir.if %p : tensor<i1> captured(%x : tensor<f32>) -> (tensor<f32>) {
  ^bb2(%b: tensor<f32>):
    %3 = mir.sin %b : tensor<f32>
    mir.yield %3 : tensor<f32>
  } else {
  ^bb3(%b: tensor<f32>):
    mir.yield %b : tensor<f32>
  }
  %4 = mir.if %p : tensor<i1> captured(%x : tensor<f32>) -> (tensor<f32>) {
  ^bb4(%c: tensor<f32>):
    %5 = mir.cos %c : tensor<f32>
    mir.yield %5 : tensor<f32>
  } else {
  ^bb5(%c: tensor<f32>):
    mir.yield %c : tensor<f32>
  }
  func.return %0, %2, %4 : tensor<f32>, tensor<f32>, tensor<f32>
}
