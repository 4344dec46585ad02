// RUN: xdsl-opt %s -p lir-reduce-in-place --split-input-file | filecheck %s

// The result lies where the operand was; with an output, both lie in the output.

// CHECK-LABEL: lir.program @f {
// CHECK-NEXT: %x = lir.input "x" : memref<6xf32>
// CHECK-NEXT: %0 = lir.output 0 : memref<6xf32>
// CHECK-NEXT: %console = lir.slot : memref<1xi8>
// CHECK-NEXT: %a = lir.slot : memref<6xf32>
// CHECK-NEXT: lir.launch @copy over 6 by 6 reads(%x : memref<6xf32>) writes(%a : memref<6xf32>)
// CHECK-NEXT: lir.launch @sum_in_place over 1 by 1 writes(%a, %console : memref<6xf32>, memref<1xi8>)
// CHECK-NEXT: lir.launch @copy over 6 by 6 reads(%a : memref<6xf32>) writes(%0 : memref<6xf32>)
// CHECK-NEXT: %c = lir.output 1 : memref<6xf32>
// CHECK-NEXT: lir.launch @copy over 6 by 6 reads(%x : memref<6xf32>) writes(%c : memref<6xf32>)
// CHECK-NEXT: lir.launch @sum_in_place over 1 by 1 writes(%c, %console : memref<6xf32>, memref<1xi8>)
// CHECK-NEXT: }
// CHECK-LABEL: lir.kernel @sum_in_place(%data: memref<6xf32>, %console: memref<1xi8>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.collective sum %data to %data by %console root 0 over 2 : memref<6xf32>, memref<6xf32>, memref<1xi8>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.program @f {
  %x = lir.input "x" : memref<6xf32>
  %0 = lir.output 0 : memref<6xf32>
  %1 = lir.output 1 : memref<6xf32>
  %console = lir.slot : memref<1xi8>
  %a = lir.slot : memref<6xf32>
  lir.launch @copy over 6 by 6 reads(%x : memref<6xf32>) writes(%a : memref<6xf32>)
  %b = lir.slot : memref<6xf32>
  lir.launch @sum over 1 by 1 reads(%a : memref<6xf32>) writes(%b, %console : memref<6xf32>, memref<1xi8>)
  lir.launch @copy over 6 by 6 reads(%b : memref<6xf32>) writes(%0 : memref<6xf32>)
  %c = lir.slot : memref<6xf32>
  lir.launch @copy over 6 by 6 reads(%x : memref<6xf32>) writes(%c : memref<6xf32>)
  lir.launch @sum over 1 by 1 reads(%c : memref<6xf32>) writes(%1, %console : memref<6xf32>, memref<1xi8>)
}
lir.kernel @copy(%x: memref<6xf32>, %y: memref<6xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %0 = memref.load %x[%i] : memref<6xf32>
  memref.store %0, %y[%i] : memref<6xf32>
  lir.return
}
lir.kernel @sum(%x: memref<6xf32>, %y: memref<6xf32>, %c: memref<1xi8>, %lo: index, %hi: index) {
  lir.collective sum %x to %y by %c root 0 over 2 : memref<6xf32>, memref<6xf32>, memref<1xi8>
  lir.return
}

// -----

// An operand that is read afterwards, an argument, and a gather stay as they are.

// CHECK-LABEL: lir.program @g {
// CHECK-NEXT: %x = lir.input "x" : memref<6xf32>
// CHECK-NEXT: %0 = lir.output 0 : memref<6xf32>
// CHECK-NEXT: %1 = lir.output 1 : memref<6xf32>
// CHECK-NEXT: %2 = lir.output 2 : memref<12xf32>
// CHECK-NEXT: %console = lir.slot : memref<1xi8>
// CHECK-NEXT: %a = lir.slot : memref<6xf32>
// CHECK-NEXT: lir.launch @copy over 6 by 6 reads(%x : memref<6xf32>) writes(%a : memref<6xf32>)
// CHECK-NEXT: lir.launch @sum over 1 by 1 reads(%a : memref<6xf32>) writes(%0, %console : memref<6xf32>, memref<1xi8>)
// CHECK-NEXT: lir.launch @sum over 1 by 1 reads(%x : memref<6xf32>) writes(%1, %console : memref<6xf32>, memref<1xi8>)
// CHECK-NEXT: lir.launch @gather over 1 by 1 reads(%a : memref<6xf32>) writes(%2, %console : memref<12xf32>, memref<1xi8>)
// CHECK-NEXT: }
lir.program @g {
  %x = lir.input "x" : memref<6xf32>
  %0 = lir.output 0 : memref<6xf32>
  %1 = lir.output 1 : memref<6xf32>
  %2 = lir.output 2 : memref<12xf32>
  %console = lir.slot : memref<1xi8>
  %a = lir.slot : memref<6xf32>
  lir.launch @copy over 6 by 6 reads(%x : memref<6xf32>) writes(%a : memref<6xf32>)
  lir.launch @sum over 1 by 1 reads(%a : memref<6xf32>) writes(%0, %console : memref<6xf32>, memref<1xi8>)
  lir.launch @sum over 1 by 1 reads(%x : memref<6xf32>) writes(%1, %console : memref<6xf32>, memref<1xi8>)
  lir.launch @gather over 1 by 1 reads(%a : memref<6xf32>) writes(%2, %console : memref<12xf32>, memref<1xi8>)
}
lir.kernel @copy(%x: memref<6xf32>, %y: memref<6xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %0 = memref.load %x[%i] : memref<6xf32>
  memref.store %0, %y[%i] : memref<6xf32>
  lir.return
}
lir.kernel @sum(%x: memref<6xf32>, %y: memref<6xf32>, %c: memref<1xi8>, %lo: index, %hi: index) {
  lir.collective sum %x to %y by %c root 0 over 2 : memref<6xf32>, memref<6xf32>, memref<1xi8>
  lir.return
}
lir.kernel @gather(%x: memref<6xf32>, %y: memref<12xf32>, %c: memref<1xi8>, %lo: index, %hi: index) {
  lir.collective gather %x to %y by %c root 0 over 2 : memref<6xf32>, memref<12xf32>, memref<1xi8>
  lir.return
}
