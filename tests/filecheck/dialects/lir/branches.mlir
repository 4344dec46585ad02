// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: lir.program @branch {
// CHECK-NEXT: %ps = lir.input "ps" : memref<7xi1>
// CHECK-NEXT: %x = lir.input "x" : memref<4xf32>
// CHECK-NEXT: %y = lir.output 0 : memref<4xf32>
// CHECK-NEXT: %p = lir.view %ps at 3 : memref<7xi1> to memref<i1>
// CHECK-NEXT: lir.if %p {
// CHECK-NEXT: lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>)
// CHECK-NEXT: } else {
// CHECK-NEXT: %t = lir.slot : memref<4xf32>
// CHECK-NEXT: lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%t : memref<4xf32>)
// CHECK-NEXT: lir.launch @copy over 4 by 4 reads(%t : memref<4xf32>) writes(%y : memref<4xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: lir.loop %i = 0 to 7 {
// CHECK-NEXT: %q = lir.step %ps at %i : memref<7xi1> to memref<i1>
// CHECK-NEXT: lir.if %q attributes {what = "only this"} {
// CHECK-NEXT: lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: lir.if %q {
// CHECK-NEXT: } else {
// CHECK-NEXT: lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: lir.if %q {
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
lir.program @branch {
  %ps = lir.input "ps" : memref<7xi1>
  %x = lir.input "x" : memref<4xf32>
  %y = lir.output 0 : memref<4xf32>
  %p = lir.view %ps at 3 : memref<7xi1> to memref<i1>
  lir.if %p {
    lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>)
  } else {
    %t = lir.slot : memref<4xf32>
    lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%t : memref<4xf32>)
    lir.launch @copy over 4 by 4 reads(%t : memref<4xf32>) writes(%y : memref<4xf32>)
  }
  lir.loop %i = 0 to 7 {
    %q = lir.step %ps at %i : memref<7xi1> to memref<i1>
    lir.if %q attributes {what = "only this"} {
      lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>)
    }
    lir.if %q {
    } else {
      lir.launch @copy over 4 by 4 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>)
    }
    lir.if %q {
    } else {
    }
  }
}

lir.kernel @copy(%a: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

// GENERIC: "lir.if"(%{{.*}}) ({
// GENERIC-NEXT: "lir.launch"
// GENERIC-NEXT: }, {
// GENERIC-NEXT: "lir.slot"

// What the test finds says whether the body runs.
// CHECK-LABEL: lir.program @search {
// CHECK: lir.while %going after {
// CHECK-NEXT: lir.launch @less over 1 by 1 reads(%c : memref<f32>) writes(%going : memref<i1>)
// CHECK-NEXT: } do {
// CHECK-NEXT: %t = lir.slot : memref<f32>
// CHECK-NEXT: lir.launch @next over 1 by 1 reads(%c : memref<f32>) writes(%t : memref<f32>)
// CHECK-NEXT: lir.launch @next over 1 by 1 reads(%t : memref<f32>) writes(%c : memref<f32>)
// CHECK-NEXT: lir.while %going attributes {what = "nothing"} after {
// CHECK-NEXT: } do {
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
lir.program @search {
  %x = lir.input "x" : memref<f32>
  %c = lir.output 0 : memref<f32>
  %going = lir.slot : memref<i1>
  lir.launch @next over 1 by 1 reads(%x : memref<f32>) writes(%c : memref<f32>)
  lir.while %going after {
    lir.launch @less over 1 by 1 reads(%c : memref<f32>) writes(%going : memref<i1>)
  } do {
    %t = lir.slot : memref<f32>
    lir.launch @next over 1 by 1 reads(%c : memref<f32>) writes(%t : memref<f32>)
    lir.launch @next over 1 by 1 reads(%t : memref<f32>) writes(%c : memref<f32>)
    lir.while %going attributes {what = "nothing"} after {
    } do {
    }
  }
}

lir.kernel @next(%a: memref<f32>, %o: memref<f32>, %lo: index, %hi: index) {
  lir.return
}

lir.kernel @less(%a: memref<f32>, %o: memref<i1>, %lo: index, %hi: index) {
  lir.return
}

// GENERIC: "lir.while"(%{{.*}}) ({
// GENERIC-NEXT: "lir.launch"
// GENERIC-NEXT: }, {
// GENERIC-NEXT: "lir.slot"
