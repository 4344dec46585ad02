// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: lir.kernel @forward(%x: memref<384xf32>, %y: memref<384xf32>, %f: memref<10x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
// CHECK: lir.fft forward 12 by 16 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf32> with memref<10x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
lir.kernel @forward(%x: memref<384xf32>, %y: memref<384xf32>, %f: memref<10x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %one = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  scf.for %i = %lo to %hi step %one {
    lir.fft forward 12 by 16 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf32> with memref<10x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  }
  lir.return
}

// CHECK-LABEL: lir.kernel @inverse(%x: memref<72xf64>, %y: memref<72xf64>, %f: memref<10x2xf64>, %a: memref<1x13x3xf64>, %b: memref<1x13x3xf64>, %c: memref<1x13x3xf64>, %d: memref<1x13x3xf64>, %lo: index, %hi: index) {
// CHECK: lir.fft inverse 12 by 3 planar scaled %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<72xf64> to memref<72xf64> with memref<10x2xf64> in memref<1x13x3xf64>, memref<1x13x3xf64>, memref<1x13x3xf64>, memref<1x13x3xf64>
lir.kernel @inverse(%x: memref<72xf64>, %y: memref<72xf64>, %f: memref<10x2xf64>, %a: memref<1x13x3xf64>, %b: memref<1x13x3xf64>, %c: memref<1x13x3xf64>, %d: memref<1x13x3xf64>, %lo: index, %hi: index) {
  %one = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  scf.for %i = %lo to %hi step %one {
    lir.fft inverse 12 by 3 planar scaled %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<72xf64> to memref<72xf64> with memref<10x2xf64> in memref<1x13x3xf64>, memref<1x13x3xf64>, memref<1x13x3xf64>, memref<1x13x3xf64>
  }
  lir.return
}

// CHECK-LABEL: lir.kernel @real(%x: memref<80xf32>, %y: memref<96xf32>, %f: memref<1x2xf32>, %t: memref<6x2xf32>, %a: memref<1x6x8xf32>, %b: memref<1x6x8xf32>, %c: memref<1x6x8xf32>, %d: memref<1x6x8xf32>, %lo: index, %hi: index) {
// CHECK: lir.fft from_real 10 by 8 %x to %y with %f turns %t in %a, %b, %c, %d piece %c0 block %i : memref<80xf32> to memref<96xf32> with memref<1x2xf32> turns memref<6x2xf32> in memref<1x6x8xf32>, memref<1x6x8xf32>, memref<1x6x8xf32>, memref<1x6x8xf32>
lir.kernel @real(%x: memref<80xf32>, %y: memref<96xf32>, %f: memref<1x2xf32>, %t: memref<6x2xf32>, %a: memref<1x6x8xf32>, %b: memref<1x6x8xf32>, %c: memref<1x6x8xf32>, %d: memref<1x6x8xf32>, %lo: index, %hi: index) {
  %one = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  scf.for %i = %lo to %hi step %one {
    lir.fft from_real 10 by 8 %x to %y with %f turns %t in %a, %b, %c, %d piece %c0 block %i : memref<80xf32> to memref<96xf32> with memref<1x2xf32> turns memref<6x2xf32> in memref<1x6x8xf32>, memref<1x6x8xf32>, memref<1x6x8xf32>, memref<1x6x8xf32>
  }
  lir.return
}

// CHECK-LABEL: lir.kernel @back(%x: memref<64xf32>, %y: memref<56xf32>, %f: memref<1x2xf32>, %a: memref<1x8x8xf32>, %b: memref<1x8x8xf32>, %c: memref<1x8x8xf32>, %d: memref<1x8x8xf32>, %lo: index, %hi: index) {
// CHECK: lir.fft to_real 7 by 8 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<64xf32> to memref<56xf32> with memref<1x2xf32> in memref<1x8x8xf32>, memref<1x8x8xf32>, memref<1x8x8xf32>, memref<1x8x8xf32>
lir.kernel @back(%x: memref<64xf32>, %y: memref<56xf32>, %f: memref<1x2xf32>, %a: memref<1x8x8xf32>, %b: memref<1x8x8xf32>, %c: memref<1x8x8xf32>, %d: memref<1x8x8xf32>, %lo: index, %hi: index) {
  %one = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  scf.for %i = %lo to %hi step %one {
    lir.fft to_real 7 by 8 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<64xf32> to memref<56xf32> with memref<1x2xf32> in memref<1x8x8xf32>, memref<1x8x8xf32>, memref<1x8x8xf32>, memref<1x8x8xf32>
  }
  lir.return
}

// CHECK-LABEL: lir.kernel @all(%x: memref<80xf32>, %y: memref<160xf32>, %f: memref<1x2xf32>, %t: memref<6x2xf32>, %a: memref<1x11x8xf32>, %b: memref<1x11x8xf32>, %c: memref<1x11x8xf32>, %d: memref<1x11x8xf32>, %lo: index, %hi: index) {
// CHECK: lir.fft from_real 10 by 8 full %x to %y with %f turns %t in %a, %b, %c, %d piece %c0 block %i : memref<80xf32> to memref<160xf32> with memref<1x2xf32> turns memref<6x2xf32> in memref<1x11x8xf32>, memref<1x11x8xf32>, memref<1x11x8xf32>, memref<1x11x8xf32>
lir.kernel @all(%x: memref<80xf32>, %y: memref<160xf32>, %f: memref<1x2xf32>, %t: memref<6x2xf32>, %a: memref<1x11x8xf32>, %b: memref<1x11x8xf32>, %c: memref<1x11x8xf32>, %d: memref<1x11x8xf32>, %lo: index, %hi: index) {
  %one = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  scf.for %i = %lo to %hi step %one {
    lir.fft from_real 10 by 8 full %x to %y with %f turns %t in %a, %b, %c, %d piece %c0 block %i : memref<80xf32> to memref<160xf32> with memref<1x2xf32> turns memref<6x2xf32> in memref<1x11x8xf32>, memref<1x11x8xf32>, memref<1x11x8xf32>, memref<1x11x8xf32>
  }
  lir.return
}

// CHECK-LABEL: lir.kernel @columns(%x: memref<432xf32>, %y: memref<432xf32>, %f: memref<10x2xf32>, %a: memref<1x13x8xf32>, %b: memref<1x13x8xf32>, %c: memref<1x13x8xf32>, %d: memref<1x13x8xf32>, %lo: index, %hi: index) {
// CHECK: lir.fft forward 12 by 18 columns 9 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<432xf32> to memref<432xf32> with memref<10x2xf32> in memref<1x13x8xf32>, memref<1x13x8xf32>, memref<1x13x8xf32>, memref<1x13x8xf32>
lir.kernel @columns(%x: memref<432xf32>, %y: memref<432xf32>, %f: memref<10x2xf32>, %a: memref<1x13x8xf32>, %b: memref<1x13x8xf32>, %c: memref<1x13x8xf32>, %d: memref<1x13x8xf32>, %lo: index, %hi: index) {
  %one = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  scf.for %i = %lo to %hi step %one {
    lir.fft forward 12 by 18 columns 9 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<432xf32> to memref<432xf32> with memref<10x2xf32> in memref<1x13x8xf32>, memref<1x13x8xf32>, memref<1x13x8xf32>, memref<1x13x8xf32>
  }
  lir.return
}

// CHECK-LABEL: lir.kernel @prime(%x: memref<272xf32>, %y: memref<272xf32>, %f: memref<34x2xf32>, %t: memref<53x2xf32>, %a: memref<1x37x8xf32>, %b: memref<1x37x8xf32>, %c: memref<1x37x8xf32>, %d: memref<1x37x8xf32>, %lo: index, %hi: index) {
// CHECK: lir.fft forward 17 by 8 convolved 36 %x to %y with %f chirp %t in %a, %b, %c, %d piece %c0 block %i : memref<272xf32> to memref<272xf32> with memref<34x2xf32> chirp memref<53x2xf32> in memref<1x37x8xf32>, memref<1x37x8xf32>, memref<1x37x8xf32>, memref<1x37x8xf32>
lir.kernel @prime(%x: memref<272xf32>, %y: memref<272xf32>, %f: memref<34x2xf32>, %t: memref<53x2xf32>, %a: memref<1x37x8xf32>, %b: memref<1x37x8xf32>, %c: memref<1x37x8xf32>, %d: memref<1x37x8xf32>, %lo: index, %hi: index) {
  %one = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  scf.for %i = %lo to %hi step %one {
    lir.fft forward 17 by 8 convolved 36 %x to %y with %f chirp %t in %a, %b, %c, %d piece %c0 block %i : memref<272xf32> to memref<272xf32> with memref<34x2xf32> chirp memref<53x2xf32> in memref<1x37x8xf32>, memref<1x37x8xf32>, memref<1x37x8xf32>, memref<1x37x8xf32>
  }
  lir.return
}

// GENERIC: "lir.fft"(%{{.*}}) <{
