// RUN: xdsl-opt %s -p lir-elide-copies --split-input-file | filecheck %s

// A carry is stored over the one before, and a result where it is wanted; a copy of what others read stays.

// CHECK-LABEL: lir.program @f {
// CHECK-NEXT: %x = lir.input "x" : memref<8xf32>
// CHECK-NEXT: %y = lir.output 0 : memref<8xf32>
// CHECK-NEXT: %z = lir.output 1 : memref<8xf32>
// CHECK-NEXT: %state = lir.slot : memref<8xf32>
// CHECK-NEXT: lir.launch @copy over 8 by 8 reads(%x : memref<8xf32>) writes(%state : memref<8xf32>)
// CHECK-NEXT: lir.loop %i = 0 to 3 {
// CHECK-NEXT: lir.launch @double_in_place over 8 by 4 writes(%state : memref<8xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: %y_1 = lir.view %y at 0 : memref<8xf32> to memref<8xf32>
// CHECK-NEXT: lir.launch @double over 8 by 4 reads(%state : memref<8xf32>) writes(%y_1 : memref<8xf32>)
// CHECK-NEXT: lir.launch @copy over 8 by 8 reads(%state : memref<8xf32>) writes(%z : memref<8xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @copy(%a: memref<8xf32>, %b: memref<8xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: scf.for %i = %lo to %hi step %c1 {
// CHECK-NEXT: %v = memref.load %a[%i] : memref<8xf32>
// CHECK-NEXT: memref.store %v, %b[%i] : memref<8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @double(%a: memref<8xf32>, %b: memref<8xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: scf.for %i = %lo to %hi step %c1 {
// CHECK-NEXT: %v = memref.load %a[%i] : memref<8xf32>
// CHECK-NEXT: %s = arith.addf %v, %v : f32
// CHECK-NEXT: memref.store %s, %b[%i] : memref<8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @double_in_place(%b: memref<8xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: scf.for %i = %lo to %hi step %c1 {
// CHECK-NEXT: %v = memref.load %b[%i] : memref<8xf32>
// CHECK-NEXT: %s = arith.addf %v, %v : f32
// CHECK-NEXT: memref.store %s, %b[%i] : memref<8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.program @f {
  %x = lir.input "x" : memref<8xf32>
  %y = lir.output 0 : memref<8xf32>
  %z = lir.output 1 : memref<8xf32>
  %state = lir.slot : memref<8xf32>
  lir.launch @copy over 8 by 8 reads(%x : memref<8xf32>) writes(%state : memref<8xf32>)
  lir.loop %i = 0 to 3 {
    %new = lir.slot : memref<8xf32>
    lir.launch @double over 8 by 4 reads(%state : memref<8xf32>) writes(%new : memref<8xf32>)
    lir.launch @copy over 8 by 8 reads(%new : memref<8xf32>) writes(%state : memref<8xf32>)
  }
  %last = lir.slot : memref<8xf32>
  lir.launch @double over 8 by 4 reads(%state : memref<8xf32>) writes(%last : memref<8xf32>)
  %y_1 = lir.view %y at 0 : memref<8xf32> to memref<8xf32>
  lir.launch @copy over 8 by 8 reads(%last : memref<8xf32>) writes(%y_1 : memref<8xf32>)
  lir.launch @copy over 8 by 8 reads(%state : memref<8xf32>) writes(%z : memref<8xf32>)
}
lir.kernel @copy(%a: memref<8xf32>, %b: memref<8xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %v = memref.load %a[%i] : memref<8xf32>
    memref.store %v, %b[%i] : memref<8xf32>
  }
  lir.return
}
lir.kernel @double(%a: memref<8xf32>, %b: memref<8xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %v = memref.load %a[%i] : memref<8xf32>
    %s = arith.addf %v, %v : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
  lir.return
}

// -----

// An element is read after another one is stored, or by another launch in between: nothing changes.

// CHECK-LABEL: lir.program @g {
// CHECK-NEXT: %x = lir.input "x" : memref<8xf32>
// CHECK-NEXT: %y = lir.output 0 : memref<8xf32>
// CHECK-NEXT: %z = lir.output 1 : memref<8xf32>
// CHECK-NEXT: %u = lir.output 2 : memref<8xf32>
// CHECK-NEXT: lir.launch @copy over 8 by 8 reads(%x : memref<8xf32>) writes(%y : memref<8xf32>)
// CHECK-NEXT: %a = lir.slot : memref<8xf32>
// CHECK-NEXT: lir.launch @mirrored over 8 by 8 reads(%y : memref<8xf32>) writes(%a : memref<8xf32>)
// CHECK-NEXT: lir.launch @copy over 8 by 8 reads(%a : memref<8xf32>) writes(%y : memref<8xf32>)
// CHECK-NEXT: lir.launch @copy over 8 by 8 reads(%x : memref<8xf32>) writes(%z : memref<8xf32>)
// CHECK-NEXT: %b = lir.slot : memref<8xf32>
// CHECK-NEXT: lir.launch @double over 8 by 8 reads(%z : memref<8xf32>) writes(%b : memref<8xf32>)
// CHECK-NEXT: lir.launch @double over 8 by 8 reads(%z : memref<8xf32>) writes(%u : memref<8xf32>)
// CHECK-NEXT: lir.launch @copy over 8 by 8 reads(%b : memref<8xf32>) writes(%z : memref<8xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @copy(%a: memref<8xf32>, %b: memref<8xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: scf.for %i = %lo to %hi step %c1 {
// CHECK-NEXT: %v = memref.load %a[%i] : memref<8xf32>
// CHECK-NEXT: memref.store %v, %b[%i] : memref<8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @double(%a: memref<8xf32>, %b: memref<8xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: scf.for %i = %lo to %hi step %c1 {
// CHECK-NEXT: %v = memref.load %a[%i] : memref<8xf32>
// CHECK-NEXT: %s = arith.addf %v, %v : f32
// CHECK-NEXT: memref.store %s, %b[%i] : memref<8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-NEXT: lir.kernel @mirrored(%a: memref<8xf32>, %b: memref<8xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c7 = arith.constant 7 : index
// CHECK-NEXT: scf.for %i = %lo to %hi step %c1 {
// CHECK-NEXT: %j = arith.subi %c7, %i : index
// CHECK-NEXT: %v = memref.load %a[%j] : memref<8xf32>
// CHECK-NEXT: %s = arith.addf %v, %v : f32
// CHECK-NEXT: memref.store %s, %b[%i] : memref<8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
lir.program @g {
  %x = lir.input "x" : memref<8xf32>
  %y = lir.output 0 : memref<8xf32>
  %z = lir.output 1 : memref<8xf32>
  %u = lir.output 2 : memref<8xf32>
  lir.launch @copy over 8 by 8 reads(%x : memref<8xf32>) writes(%y : memref<8xf32>)
  %a = lir.slot : memref<8xf32>
  lir.launch @mirrored over 8 by 8 reads(%y : memref<8xf32>) writes(%a : memref<8xf32>)
  lir.launch @copy over 8 by 8 reads(%a : memref<8xf32>) writes(%y : memref<8xf32>)
  lir.launch @copy over 8 by 8 reads(%x : memref<8xf32>) writes(%z : memref<8xf32>)
  %b = lir.slot : memref<8xf32>
  lir.launch @double over 8 by 8 reads(%z : memref<8xf32>) writes(%b : memref<8xf32>)
  lir.launch @double over 8 by 8 reads(%z : memref<8xf32>) writes(%u : memref<8xf32>)
  lir.launch @copy over 8 by 8 reads(%b : memref<8xf32>) writes(%z : memref<8xf32>)
}
lir.kernel @copy(%a: memref<8xf32>, %b: memref<8xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %v = memref.load %a[%i] : memref<8xf32>
    memref.store %v, %b[%i] : memref<8xf32>
  }
  lir.return
}
lir.kernel @double(%a: memref<8xf32>, %b: memref<8xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %v = memref.load %a[%i] : memref<8xf32>
    %s = arith.addf %v, %v : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
  lir.return
}
lir.kernel @mirrored(%a: memref<8xf32>, %b: memref<8xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  scf.for %i = %lo to %hi step %c1 {
    %j = arith.subi %c7, %i : index
    %v = memref.load %a[%j] : memref<8xf32>
    %s = arith.addf %v, %v : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
  lir.return
}
