// RUN: DIAGNOSTICS

// CHECK: expected at least one frame of one point, got 0 of 12
lir.kernel @k(%x: memref<384xf32>, %y: memref<384xf32>, %f: memref<10x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  lir.fft forward 12 by 0 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf32> with memref<10x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  lir.return
}

// -----

// CHECK: a Fourier transform of 17 points has the factor 17, expected 4, 2, 3, 5, 7, 11, 13
lir.kernel @k(%x: memref<384xf32>, %y: memref<384xf32>, %f: memref<10x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  lir.fft forward 17 by 16 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf32> with memref<10x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  lir.return
}

// -----

// CHECK: planar is for transforms of complex numbers
lir.kernel @k(%x: memref<384xf32>, %y: memref<384xf32>, %f: memref<10x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  lir.fft from_real 12 by 16 planar %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf32> with memref<10x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  lir.return
}

// -----

// CHECK: expected turns for an even number of real points, and for no others
lir.kernel @k(%x: memref<384xf32>, %y: memref<384xf32>, %f: memref<10x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  lir.fft from_real 12 by 16 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf32> with memref<10x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  lir.return
}

// -----

// CHECK: expected turns for an even number of real points, and for no others
lir.kernel @k(%x: memref<384xf32>, %y: memref<384xf32>, %f: memref<10x2xf32>, %t: memref<13x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  lir.fft forward 12 by 16 %x to %y with %f turns %t in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf32> with memref<10x2xf32> turns memref<13x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  lir.return
}

// -----

// CHECK: expected f32 or f64, got i32
lir.kernel @k(%x: memref<384xi32>, %y: memref<384xf32>, %f: memref<10x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  lir.fft forward 12 by 16 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xi32> to memref<384xf32> with memref<10x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  lir.return
}

// -----

// CHECK: expected a contiguous memref<384xf32>, got memref<383xf32>
lir.kernel @k(%x: memref<384xf32>, %y: memref<383xf32>, %f: memref<10x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  lir.fft forward 12 by 16 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<383xf32> with memref<10x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  lir.return
}

// -----

// CHECK: expected a contiguous memref<10x2xf32>, got memref<9x2xf32>
lir.kernel @k(%x: memref<384xf32>, %y: memref<384xf32>, %f: memref<9x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  lir.fft forward 12 by 16 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf32> with memref<9x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  lir.return
}

// -----

// CHECK: expected a contiguous memref<2x13x8xf32>, got memref<2x12x8xf32>
lir.kernel @k(%x: memref<384xf32>, %y: memref<384xf32>, %f: memref<10x2xf32>, %a: memref<2x12x8xf32>, %b: memref<2x12x8xf32>, %c: memref<2x12x8xf32>, %d: memref<2x12x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  lir.fft forward 12 by 16 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf32> with memref<10x2xf32> in memref<2x12x8xf32>, memref<2x12x8xf32>, memref<2x12x8xf32>, memref<2x12x8xf32>
  lir.return
}

// -----

// CHECK: expected a contiguous memref<384xf32>, got memref<384xf64>
lir.kernel @k(%x: memref<384xf32>, %y: memref<384xf64>, %f: memref<10x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  lir.fft forward 12 by 16 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf64> with memref<10x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  lir.return
}

// -----

// CHECK: expected a source, a result and a workspace of different buffers
lir.kernel @k(%x: memref<384xf32>, %y: memref<384xf32>, %f: memref<10x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  lir.fft forward 12 by 16 %x to %x with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf32> with memref<10x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  lir.return
}

// -----

// CHECK: lir.fft is out of bounds of dimension 0 of memref<2x13x8xf32>: element 2
lir.kernel @k(%x: memref<384xf32>, %y: memref<384xf32>, %f: memref<10x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 2 : index
  lir.fft forward 12 by 16 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf32> with memref<10x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  lir.return
}

// -----

// CHECK: expected a chirp for points that are convolved, and for no others
lir.kernel @k(%x: memref<384xf32>, %y: memref<384xf32>, %f: memref<10x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  lir.fft forward 12 by 16 convolved 24 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf32> with memref<10x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  lir.return
}

// -----

// CHECK: expected a convolution of at least 23 points, got 22
lir.kernel @k(%x: memref<384xf32>, %y: memref<384xf32>, %f: memref<10x2xf32>, %t: memref<34x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  lir.fft forward 12 by 16 convolved 22 %x to %y with %f chirp %t in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf32> with memref<10x2xf32> chirp memref<34x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  lir.return
}

// -----

// CHECK: full is for transforms of real numbers
lir.kernel @k(%x: memref<384xf32>, %y: memref<384xf32>, %f: memref<10x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  lir.fft forward 12 by 16 full %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf32> with memref<10x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  lir.return
}

// -----

// CHECK: columns are of interleaved complex numbers
lir.kernel @k(%x: memref<384xf32>, %y: memref<384xf32>, %f: memref<10x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  lir.fft forward 12 by 16 columns 8 planar %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf32> with memref<10x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  lir.return
}

// -----

// CHECK: expected matrices of 8 columns or more, got 16 frames by 4
lir.kernel @k(%x: memref<384xf32>, %y: memref<384xf32>, %f: memref<10x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  lir.fft forward 12 by 16 columns 4 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf32> with memref<10x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  lir.return
}

// -----

// CHECK: expected matrices of 8 columns or more, got 16 frames by 9
lir.kernel @k(%x: memref<384xf32>, %y: memref<384xf32>, %f: memref<10x2xf32>, %a: memref<2x13x8xf32>, %b: memref<2x13x8xf32>, %c: memref<2x13x8xf32>, %d: memref<2x13x8xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  lir.fft forward 12 by 16 columns 9 %x to %y with %f in %a, %b, %c, %d piece %c0 block %i : memref<384xf32> to memref<384xf32> with memref<10x2xf32> in memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>, memref<2x13x8xf32>
  lir.return
}
