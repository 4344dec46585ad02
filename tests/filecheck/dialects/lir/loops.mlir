// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: lir.program @carry {
// CHECK-NEXT: %xs = lir.input "xs" : memref<7x4xf32>
// CHECK-NEXT: %c = lir.slot : memref<2x4xf32>
// CHECK-NEXT: %ys = lir.output 0 : memref<8x4xf32>
// CHECK-NEXT: %init = lir.view %c at 0 : memref<2x4xf32> to memref<4xf32>
// CHECK-NEXT: lir.launch @fill over 4 by 4 writes(%init : memref<4xf32>)
// CHECK-NEXT: lir.loop %i = 0 to 7 {
// CHECK-NEXT: %x = lir.step %xs at %i : memref<7x4xf32> to memref<4xf32>
// CHECK-NEXT: %in = lir.step %c at %i modulo 2 : memref<2x4xf32> to memref<4xf32>
// CHECK-NEXT: %out = lir.step %c at %i shift 1 modulo 2 : memref<2x4xf32> to memref<4xf32>
// CHECK-NEXT: %y = lir.step %ys at %i shift 1 : memref<8x4xf32> to memref<4xf32>
// CHECK-NEXT: %t = lir.slot : memref<4xf32>
// CHECK-NEXT: lir.launch @add over 4 by 4 reads(%in, %x : memref<4xf32>, memref<4xf32>) writes(%t : memref<4xf32>)
// CHECK-NEXT: lir.loop %j = 0 to 0 reverse attributes {what = "nothing"} {
// CHECK-NEXT: }
// CHECK-NEXT: lir.launch @add over 4 by 4 reads(%in, %t : memref<4xf32>, memref<4xf32>) writes(%out : memref<4xf32>)
// CHECK-NEXT: lir.launch @add over 4 by 4 reads(%in, %t : memref<4xf32>, memref<4xf32>) writes(%y : memref<4xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: }
lir.program @carry {
  %xs = lir.input "xs" : memref<7x4xf32>
  %c = lir.slot : memref<2x4xf32>
  %ys = lir.output 0 : memref<8x4xf32>
  %init = lir.view %c at 0 : memref<2x4xf32> to memref<4xf32>
  lir.launch @fill over 4 by 4 writes(%init : memref<4xf32>)
  lir.loop %i = 0 to 7 {
    %x = lir.step %xs at %i : memref<7x4xf32> to memref<4xf32>
    %in = lir.step %c at %i modulo 2 : memref<2x4xf32> to memref<4xf32>
    %out = lir.step %c at %i shift 1 modulo 2 : memref<2x4xf32> to memref<4xf32>
    %y = lir.step %ys at %i shift 1 : memref<8x4xf32> to memref<4xf32>
    %t = lir.slot : memref<4xf32>
    lir.launch @add over 4 by 4 reads(%in, %x : memref<4xf32>, memref<4xf32>) writes(%t : memref<4xf32>)
    lir.loop %j = 0 to 0 reverse attributes {what = "nothing"} {
    }
    lir.launch @add over 4 by 4 reads(%in, %t : memref<4xf32>, memref<4xf32>) writes(%out : memref<4xf32>)
    lir.launch @add over 4 by 4 reads(%in, %t : memref<4xf32>, memref<4xf32>) writes(%y : memref<4xf32>)
  }
}

lir.kernel @fill(%o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

lir.kernel @add(%a: memref<4xf32>, %b: memref<4xf32>, %o: memref<4xf32>, %lo: index, %hi: index) {
  lir.return
}

// GENERIC: "lir.loop"() <{extent = 7 : i64}> ({
// GENERIC-NEXT: ^bb0(%{{.*}}: index):
// GENERIC-NEXT: "lir.step"(%{{.*}}, %{{.*}}) : (memref<7x4xf32>, index) -> memref<4xf32>
// GENERIC-NEXT: "lir.step"(%{{.*}}, %{{.*}}) <{modulo = 2 : i64}> : (memref<2x4xf32>, index) -> memref<4xf32>
// GENERIC-NEXT: "lir.step"(%{{.*}}, %{{.*}}) <{shift = 1 : i64, modulo = 2 : i64}> : (memref<2x4xf32>, index) -> memref<4xf32>
// GENERIC: "lir.loop"() <{extent = 0 : i64, reverse}> ({

// Elements of what is strided, and of an element.
// CHECK-LABEL: lir.program @elements {
// CHECK: %r = lir.step %x at %i : memref<3x5x2xf32, strided<[1, 3, 15]>> to memref<5x2xf32, strided<[3, 15]>>
// CHECK-NEXT: lir.loop %j = 0 to 5 {
// CHECK-NEXT: %e = lir.step %r at %j : memref<5x2xf32, strided<[3, 15]>> to memref<2xf32, strided<[15]>>
// CHECK-NEXT: %one = lir.view %e at 15 : memref<2xf32, strided<[15]>> to memref<f32>
lir.program @elements {
  %a = lir.input "x" : memref<2x5x3xf32>
  %x = lir.view %a at 0 : memref<2x5x3xf32> to memref<3x5x2xf32, strided<[1, 3, 15]>>
  lir.loop %i = 0 to 3 {
    %r = lir.step %x at %i : memref<3x5x2xf32, strided<[1, 3, 15]>> to memref<5x2xf32, strided<[3, 15]>>
    lir.loop %j = 0 to 5 {
      %e = lir.step %r at %j : memref<5x2xf32, strided<[3, 15]>> to memref<2xf32, strided<[15]>>
      %one = lir.view %e at 15 : memref<2xf32, strided<[15]>> to memref<f32>
    }
  }
}
