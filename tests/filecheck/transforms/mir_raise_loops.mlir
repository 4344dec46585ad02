// RUN: xdsl-opt %s -p mir-raise-loops | filecheck %s

// A carry that stays is captured, and a counter is no carry: its values are those of a range.
// CHECK-LABEL: func.func @counted(%x: tensor<f32>, %k: tensor<f32>) -> (tensor<f32>, tensor<i32>, tensor<f32>) {
// CHECK-NEXT: %0 = mir.iota axis 0 : tensor<10xi32>
// CHECK-NEXT: %y = mir.scan 10 carries(%x : tensor<f32>) over(%0 : tensor<10xi32>) captured(%k : tensor<f32>) -> (tensor<f32>) {
// CHECK-NEXT: ^bb0(%1: tensor<f32>, %2: tensor<i32>, %k_1: tensor<f32>):
// CHECK-NEXT: %t = mir.cast %2 : tensor<i32> to tensor<f32>
// CHECK-NEXT: %3 = mir.mul %1, %k_1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %4 = mir.add %3, %t : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: mir.yield %4 : tensor<f32>
// CHECK-NEXT: }
// CHECK-NEXT: %n = mir.constant dense<10> : tensor<i32>
// CHECK-NEXT: func.return %y, %n, %k : tensor<f32>, tensor<i32>, tensor<f32>
// CHECK-NEXT: }
func.func @counted(%x: tensor<f32>, %k: tensor<f32>) -> (tensor<f32>, tensor<i32>, tensor<f32>) {
  %zero = mir.constant dense<0> : tensor<i32>
  %y, %n, %same, %trips = mir.while carries(%x, %zero, %k : tensor<f32>, tensor<i32>, tensor<f32>) -> (tensor<f32>, tensor<i32>, tensor<f32>) {
  ^bb0(%a: tensor<f32>, %i: tensor<i32>, %c: tensor<f32>):
    %limit = mir.constant dense<10> : tensor<i32>
    %0 = mir.lt %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    mir.yield %0 : tensor<i1>
  } do {
  ^bb1(%a: tensor<f32>, %i: tensor<i32>, %c: tensor<f32>):
    %t = mir.cast %i : tensor<i32> to tensor<f32>
    %1 = mir.mul %a, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %2 = mir.add %1, %t : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %one = mir.constant dense<1> : tensor<i32>
    %next = mir.add %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    mir.yield %2, %next, %c : tensor<f32>, tensor<i32>, tensor<f32>
  }
  func.return %y, %n, %same : tensor<f32>, tensor<i32>, tensor<f32>
}

// Counters with other beginnings and steps, of which one goes down to the end of the loop.
// CHECK-LABEL: func.func @affine(%x: tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i32>) {
// CHECK-NEXT: %0 = mir.iota axis 0 : tensor<4xi32>
// CHECK-NEXT: %1 = mir.constant dense<5> : tensor<i32>
// CHECK-NEXT: %2 = mir.mul %0, %1 : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
// CHECK-NEXT: %3 = mir.constant dense<3> : tensor<i32>
// CHECK-NEXT: %4 = mir.add %2, %3 : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
// CHECK-NEXT: %y = mir.scan 4 carries(%x : tensor<i32>) over(%4 : tensor<4xi32>) -> (tensor<i32>) {
// CHECK-NEXT: ^bb0(%5: tensor<i32>, %6: tensor<i32>):
// CHECK-NEXT: %7 = mir.add %5, %6 : (tensor<i32>, tensor<i32>) -> tensor<i32>
// CHECK-NEXT: mir.yield %7 : tensor<i32>
// CHECK-NEXT: }
// CHECK-NEXT: %i = mir.constant dense<-1> : tensor<i32>
// CHECK-NEXT: %j = mir.constant dense<23> : tensor<i32>
// CHECK-NEXT: func.return %y, %i, %j : tensor<i32>, tensor<i32>, tensor<i32>
// CHECK-NEXT: }
func.func @affine(%x: tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i32>) {
  %seven = mir.constant dense<7> : tensor<i32>
  %three = mir.constant dense<3> : tensor<i32>
  %y, %i, %j, %trips = mir.while carries(%x, %seven, %three : tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i32>) {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>):
    %zero = mir.constant dense<0> : tensor<i32>
    %0 = mir.gt %b, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    mir.yield %0 : tensor<i1>
  } do {
  ^bb1(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>):
    %1 = mir.add %a, %c : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %two = mir.constant dense<2> : tensor<i32>
    %less = mir.sub %b, %two : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %five = mir.constant dense<5> : tensor<i32>
    %more = mir.add %five, %c : (tensor<i32>, tensor<i32>) -> tensor<i32>
    mir.yield %1, %less, %more : tensor<i32>, tensor<i32>, tensor<i32>
  }
  func.return %y, %i, %j : tensor<i32>, tensor<i32>, tensor<i32>
}

// The slice at the counter is an element of what the scan goes along, also with an index that is clamped.
// CHECK-LABEL: func.func @over(%x: tensor<4x3xf32>, %h: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %y = mir.scan 4 carries(%h : tensor<3xf32>) over(%x : tensor<4x3xf32>) -> (tensor<3xf32>) {
// CHECK-NEXT: ^bb0(%0: tensor<3xf32>, %row: tensor<3xf32>):
// CHECK-NEXT: %1 = mir.add %0, %row : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: mir.yield %1 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<3xf32>
// CHECK-NEXT: }
func.func @over(%x: tensor<4x3xf32>, %h: tensor<3xf32>) -> tensor<3xf32> {
  %zero = mir.constant dense<0> : tensor<i32>
  %y, %n, %trips = mir.while carries(%h, %zero : tensor<3xf32>, tensor<i32>) captured(%x : tensor<4x3xf32>) -> (tensor<3xf32>, tensor<i32>) {
  ^bb0(%a: tensor<3xf32>, %i: tensor<i32>, %xs: tensor<4x3xf32>):
    %limit = mir.constant dense<4> : tensor<i32>
    %0 = mir.lt %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    mir.yield %0 : tensor<i1>
  } do {
  ^bb1(%a: tensor<3xf32>, %i: tensor<i32>, %xs: tensor<4x3xf32>):
    %wide = mir.cast %i : tensor<i32> to tensor<i64>
    %least = mir.constant dense<0> : tensor<i64>
    %most = mir.constant dense<3> : tensor<i64>
    %up = mir.max %wide, %least : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %at = mir.min %up, %most : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %row = mir.gather %xs, %at axis 0 batch_dims 0 : (tensor<4x3xf32>, tensor<i64>) -> tensor<3xf32>
    %1 = mir.add %a, %row : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %one = mir.constant dense<1> : tensor<i32>
    %next = mir.add %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    mir.yield %1, %next : tensor<3xf32>, tensor<i32>
  }
  func.return %y : tensor<3xf32>
}

// Reads and writes from the back to the front are a scan in reverse.
// CHECK-LABEL: func.func @backwards(%x: tensor<4x3xf32>, %h: tensor<3xf32>, %init: tensor<4x3xf32>) -> (tensor<3xf32>, tensor<4x3xf32>) {
// CHECK-NEXT: %y, %ys = mir.scan 4 reverse carries(%h : tensor<3xf32>) over(%x : tensor<4x3xf32>) -> (tensor<3xf32>) stacked(tensor<4x3xf32>) {
// CHECK-NEXT: ^bb0(%0: tensor<3xf32>, %row: tensor<3xf32>):
// CHECK-NEXT: %1 = mir.add %0, %row : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: mir.yield %1, %1 : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y, %ys : tensor<3xf32>, tensor<4x3xf32>
// CHECK-NEXT: }
func.func @backwards(%x: tensor<4x3xf32>, %h: tensor<3xf32>, %init: tensor<4x3xf32>) -> (tensor<3xf32>, tensor<4x3xf32>) {
  %zero = mir.constant dense<0> : tensor<i32>
  %y, %n, %ys, %trips = mir.while carries(%h, %zero, %init : tensor<3xf32>, tensor<i32>, tensor<4x3xf32>) captured(%x : tensor<4x3xf32>) -> (tensor<3xf32>, tensor<i32>, tensor<4x3xf32>) {
  ^bb0(%a: tensor<3xf32>, %i: tensor<i32>, %out: tensor<4x3xf32>, %xs: tensor<4x3xf32>):
    %limit = mir.constant dense<4> : tensor<i32>
    %0 = mir.lt %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    mir.yield %0 : tensor<i1>
  } do {
  ^bb1(%a: tensor<3xf32>, %i: tensor<i32>, %out: tensor<4x3xf32>, %xs: tensor<4x3xf32>):
    %three = mir.constant dense<3> : tensor<i32>
    %at = mir.sub %three, %i : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %row = mir.gather %xs, %at axis 0 batch_dims 0 : (tensor<4x3xf32>, tensor<i32>) -> tensor<3xf32>
    %1 = mir.add %a, %row : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %numbers = mir.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
    %here = mir.eq %numbers, %at : (tensor<4xi32>, tensor<i32>) -> tensor<4xi1>
    %mask = mir.reshape %here : tensor<4xi1> to tensor<4x1xi1>
    %2 = mir.where %mask, %1, %out : (tensor<4x1xi1>, tensor<3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %one = mir.constant dense<1> : tensor<i32>
    %next = mir.add %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    mir.yield %1, %next, %2 : tensor<3xf32>, tensor<i32>, tensor<4x3xf32>
  }
  func.return %y, %ys : tensor<3xf32>, tensor<4x3xf32>
}

// The number from the end, in any element type, is one that a scan in reverse goes along.
// CHECK-LABEL: func.func @downwards(%x: tensor<4xi64>, %h: tensor<i64>) -> tensor<i64> {
// CHECK-NEXT: %0 = mir.iota axis 0 : tensor<4xi64>
// CHECK-NEXT: %y = mir.scan 4 reverse carries(%h : tensor<i64>) over(%0, %x : tensor<4xi64>, tensor<4xi64>) -> (tensor<i64>) {
// CHECK-NEXT: ^bb0(%1: tensor<i64>, %number: tensor<i64>, %row: tensor<i64>):
// CHECK-NEXT: %2 = mir.mul %row, %number : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK-NEXT: %3 = mir.add %1, %2 : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK-NEXT: mir.yield %3 : tensor<i64>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<i64>
// CHECK-NEXT: }
func.func @downwards(%x: tensor<4xi64>, %h: tensor<i64>) -> tensor<i64> {
  %zero = mir.constant dense<0> : tensor<i32>
  %y, %n, %trips = mir.while carries(%h, %zero : tensor<i64>, tensor<i32>) captured(%x : tensor<4xi64>) -> (tensor<i64>, tensor<i32>) {
  ^bb0(%a: tensor<i64>, %i: tensor<i32>, %c: tensor<4xi64>):
    %limit = mir.constant dense<4> : tensor<i32>
    %0 = mir.lt %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    mir.yield %0 : tensor<i1>
  } do {
  ^bb1(%a: tensor<i64>, %i: tensor<i32>, %c: tensor<4xi64>):
    %four = mir.constant dense<4> : tensor<i32>
    %one = mir.constant dense<1> : tensor<i32>
    %left = mir.sub %four, %i : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %at = mir.sub %left, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %row = mir.gather %c, %at axis 0 batch_dims 0 : (tensor<4xi64>, tensor<i32>) -> tensor<i64>
    %number = mir.cast %at : tensor<i32> to tensor<i64>
    %1 = mir.mul %row, %number : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %2 = mir.add %a, %1 : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %next = mir.add %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    mir.yield %2, %next : tensor<i64>, tensor<i32>
  }
  func.return %y : tensor<i64>
}

// What is not written keeps its value from before the loop; here, all but rows 1 and 2.
// CHECK-LABEL: func.func @part(%h: tensor<f32>, %init: tensor<5xf32>) -> tensor<5xf32> {
// CHECK-NEXT: %y, %0 = mir.scan 2 carries(%h : tensor<f32>) -> (tensor<f32>) stacked(tensor<2xf32>) {
// CHECK-NEXT: ^bb0(%1: tensor<f32>):
// CHECK-NEXT: %2 = mir.sin %1 : tensor<f32>
// CHECK-NEXT: mir.yield %2, %2 : tensor<f32>, tensor<f32>
// CHECK-NEXT: }
// CHECK-NEXT: %1 = mir.narrow %init axis 0 start 0 len 1 : (tensor<5xf32>) -> tensor<1xf32>
// CHECK-NEXT: %2 = mir.narrow %init axis 0 start 3 len 2 : (tensor<5xf32>) -> tensor<2xf32>
// CHECK-NEXT: %ys = mir.concat %1, %0, %2 axis 0 : (tensor<1xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<5xf32>
// CHECK-NEXT: func.return %ys : tensor<5xf32>
// CHECK-NEXT: }
func.func @part(%h: tensor<f32>, %init: tensor<5xf32>) -> tensor<5xf32> {
  %first = mir.constant dense<1> : tensor<i32>
  %y, %n, %ys, %trips = mir.while carries(%h, %first, %init : tensor<f32>, tensor<i32>, tensor<5xf32>) -> (tensor<f32>, tensor<i32>, tensor<5xf32>) {
  ^bb0(%a: tensor<f32>, %i: tensor<i32>, %out: tensor<5xf32>):
    %limit = mir.constant dense<3> : tensor<i32>
    %0 = mir.ne %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    mir.yield %0 : tensor<i1>
  } do {
  ^bb1(%a: tensor<f32>, %i: tensor<i32>, %out: tensor<5xf32>):
    %1 = mir.sin %a : tensor<f32>
    %numbers = mir.iota axis 0 : tensor<5xi32>
    %here = mir.eq %i, %numbers : (tensor<i32>, tensor<5xi32>) -> tensor<5xi1>
    %2 = mir.where %here, %1, %out : (tensor<5xi1>, tensor<f32>, tensor<5xf32>) -> tensor<5xf32>
    %one = mir.constant dense<1> : tensor<i32>
    %next = mir.add %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    mir.yield %1, %next, %2 : tensor<f32>, tensor<i32>, tensor<5xf32>
  }
  func.return %ys : tensor<5xf32>
}

// A counter may be added to in a wider type.
// CHECK-LABEL: func.func @wide
// CHECK-NOT: mir.while
// CHECK: mir.scan 3
func.func @wide(%x: tensor<f32>) -> tensor<f32> {
  %zero = mir.constant dense<0> : tensor<i32>
  %y, %n, %trips = mir.while carries(%x, %zero : tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>) {
  ^bb0(%a: tensor<f32>, %i: tensor<i32>):
    %limit = mir.constant dense<3> : tensor<i64>
    %wide = mir.cast %i : tensor<i32> to tensor<i64>
    %0 = mir.lt %wide, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
    mir.yield %0 : tensor<i1>
  } do {
  ^bb1(%a: tensor<f32>, %i: tensor<i32>):
    %1 = mir.sin %a : tensor<f32>
    %one = mir.constant dense<1> : tensor<i64>
    %wide = mir.cast %i : tensor<i32> to tensor<i64>
    %sum = mir.add %wide, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %next = mir.cast %sum : tensor<i64> to tensor<i32>
    mir.yield %1, %next : tensor<f32>, tensor<i32>
  }
  func.return %y : tensor<f32>
}

// A counter that is cut to fewer bits on the way wraps: the loop stays.
// CHECK-LABEL: func.func @narrow
// CHECK: mir.while
func.func @narrow(%x: tensor<f32>) -> tensor<f32> {
  %zero = mir.constant dense<0> : tensor<i32>
  %y, %n, %trips = mir.while carries(%x, %zero : tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>) {
  ^bb0(%a: tensor<f32>, %i: tensor<i32>):
    %limit = mir.constant dense<300> : tensor<i32>
    %0 = mir.lt %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    mir.yield %0 : tensor<i1>
  } do {
  ^bb1(%a: tensor<f32>, %i: tensor<i32>):
    %1 = mir.sin %a : tensor<f32>
    %one = mir.constant dense<1> : tensor<i8>
    %small = mir.cast %i : tensor<i32> to tensor<i8>
    %sum = mir.add %small, %one : (tensor<i8>, tensor<i8>) -> tensor<i8>
    %next = mir.cast %sum : tensor<i8> to tensor<i32>
    mir.yield %1, %next : tensor<f32>, tensor<i32>
  }
  func.return %y : tensor<f32>
}

// A loop that ends by its values stays, and so does one whose counter would wrap before the end.
// CHECK-LABEL: func.func @stays
// CHECK: %0, %1 = mir.while carries(%x : tensor<f32>)
// CHECK: %2, %3 = mir.while carries(%zero : tensor<i8>)
func.func @stays(%x: tensor<f32>) -> (tensor<f32>, tensor<i8>) {
  %zero = mir.constant dense<0> : tensor<i8>
  %0, %1 = mir.while carries(%x : tensor<f32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<f32>):
    %limit = mir.constant dense<4.0> : tensor<f32>
    %2 = mir.lt %a, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
    mir.yield %2 : tensor<i1>
  } do {
  ^bb1(%a: tensor<f32>):
    %3 = mir.exp %a : tensor<f32>
    mir.yield %3 : tensor<f32>
  }
  %4, %5 = mir.while carries(%zero : tensor<i8>) -> (tensor<i8>) {
  ^bb0(%a: tensor<i8>):
    %limit = mir.constant dense<127> : tensor<i8>
    %6 = mir.lt %a, %limit : (tensor<i8>, tensor<i8>) -> tensor<i1>
    mir.yield %6 : tensor<i1>
  } do {
  ^bb1(%a: tensor<i8>):
    %step = mir.constant dense<100> : tensor<i8>
    %7 = mir.add %a, %step : (tensor<i8>, tensor<i8>) -> tensor<i8>
    mir.yield %7 : tensor<i8>
  }
  func.return %0, %4 : tensor<f32>, tensor<i8>
}
