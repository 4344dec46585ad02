// RUN: xdsl-opt %s -p lir-overlap-collectives --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'lir-overlap-collectives{poll_collectives=false collectives_in_flight=1}' --split-input-file | filecheck %s --check-prefix=ONE
// RUN: xdsl-opt %s -p 'lir-overlap-collectives{overlap=false}' --split-input-file | filecheck %s --check-prefix=OFF
// RUN: xdsl-opt %s --split-input-file -p lir-overlap-collectives,lir-plan-memory -t rlx-llvm | filecheck %s --check-prefix=LLVM

// A sum starts when its operand is complete. What needs no sum comes in front of what does. The slot of an operand is
// in use until the wait.

// LLVM-LABEL: define void @sum_in_place_start(
// LLVM: call i64 %{{.*}}(ptr %{{.*}}, ptr %a0, ptr %a0, ptr %a1, i64 6, i64 0, i64 0, i64 0, ptr %status)
// LLVM-LABEL: define void @poll_collectives(
// LLVM: call i64 %{{.*}}(ptr %{{.*}}, ptr %a0, ptr %status)

// CHECK-LABEL: lir.program @f {
// CHECK-NEXT: %x = lir.input "x" : memref<6xf32>
// CHECK-NEXT: %0 = lir.output 0 : memref<6xf32>
// CHECK-NEXT: %1 = lir.output 1 : memref<6xf32>
// CHECK-NEXT: %console = lir.slot : memref<1xi8>
// CHECK-NEXT: %a = lir.slot : memref<6xf32>
// CHECK-NEXT: lir.launch @copy over 6 by 6 reads(%x : memref<6xf32>) writes(%a : memref<6xf32>)
// CHECK-NEXT: %b = lir.slot : memref<6xf32>
// CHECK-NEXT: lir.launch @copy over 6 by 6 reads(%a : memref<6xf32>) writes(%b : memref<6xf32>)
// CHECK-NEXT: %c = lir.slot : memref<6xf32>
// CHECK-NEXT: %request = lir.slot : memref<1xi64>
// CHECK-NEXT: lir.launch @sum_start over 1 by 1 reads(%a : memref<6xf32>) writes(%c, %request, %console : memref<6xf32>, memref<1xi64>, memref<1xi8>)
// CHECK-NEXT: %request_1 = lir.slot : memref<1xi64>
// CHECK-NEXT: lir.launch @sum_in_place_start over 1 by 1 writes(%b, %request_1, %console : memref<6xf32>, memref<1xi64>, memref<1xi8>)
// CHECK-NEXT: lir.launch @sum_wait over 1 by 1 reads(%request, %a : memref<1xi64>, memref<6xf32>) writes(%c : memref<6xf32>)
// CHECK-NEXT: lir.launch @copy over 6 by 6 reads(%c : memref<6xf32>) writes(%0 : memref<6xf32>)
// CHECK-NEXT: lir.launch @poll_collectives over 1 by 1 writes(%request_1 : memref<1xi64>)
// CHECK-NEXT: lir.launch @sum_in_place_wait over 1 by 1 reads(%request_1 : memref<1xi64>) writes(%b : memref<6xf32>)
// CHECK-NEXT: lir.launch @copy over 6 by 6 reads(%b : memref<6xf32>) writes(%1 : memref<6xf32>)
// CHECK-NEXT: }
// CHECK-LABEL: lir.kernel @sum_start(%source: memref<6xf32>, %data: memref<6xf32>, %request: memref<1xi64>, %console: memref<1xi8>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.collective_start sum %source to %data as %request by %console root 0 over 2 : memref<6xf32>, memref<6xf32>, memref<1xi8>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-LABEL: lir.kernel @sum_in_place_start(%data: memref<6xf32>, %request: memref<1xi64>, %console: memref<1xi8>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.collective_start sum %data to %data as %request by %console root 0 over 2 : memref<6xf32>, memref<6xf32>, memref<1xi8>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-LABEL: lir.kernel @sum_wait(%request: memref<1xi64>, %source: memref<6xf32>, %data: memref<6xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.collective_wait %request for %data from %source : memref<6xf32>, memref<6xf32>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-LABEL: lir.kernel @poll_collectives(%request: memref<1xi64>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.collective_poll %request
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-LABEL: lir.kernel @sum_in_place_wait(%request: memref<1xi64>, %data: memref<6xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.collective_wait %request for %data : memref<6xf32>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }

// ONE-LABEL: lir.program @f {
// ONE-NEXT: %x = lir.input "x" : memref<6xf32>
// ONE-NEXT: %0 = lir.output 0 : memref<6xf32>
// ONE-NEXT: %1 = lir.output 1 : memref<6xf32>
// ONE-NEXT: %console = lir.slot : memref<1xi8>
// ONE-NEXT: %a = lir.slot : memref<6xf32>
// ONE-NEXT: lir.launch @copy over 6 by 6 reads(%x : memref<6xf32>) writes(%a : memref<6xf32>)
// ONE-NEXT: %b = lir.slot : memref<6xf32>
// ONE-NEXT: lir.launch @copy over 6 by 6 reads(%a : memref<6xf32>) writes(%b : memref<6xf32>)
// ONE-NEXT: %c = lir.slot : memref<6xf32>
// ONE-NEXT: lir.launch @sum over 1 by 1 reads(%a : memref<6xf32>) writes(%c, %console : memref<6xf32>, memref<1xi8>)
// ONE-NEXT: %request = lir.slot : memref<1xi64>
// ONE-NEXT: lir.launch @sum_in_place_start over 1 by 1 writes(%b, %request, %console : memref<6xf32>, memref<1xi64>, memref<1xi8>)
// ONE-NEXT: lir.launch @copy over 6 by 6 reads(%c : memref<6xf32>) writes(%0 : memref<6xf32>)
// ONE-NEXT: lir.launch @sum_in_place_wait over 1 by 1 reads(%request : memref<1xi64>) writes(%b : memref<6xf32>)
// ONE-NEXT: lir.launch @copy over 6 by 6 reads(%b : memref<6xf32>) writes(%1 : memref<6xf32>)
// ONE-NEXT: }

// OFF-LABEL: lir.program @f {
// OFF-NEXT: %x = lir.input "x" : memref<6xf32>
// OFF-NEXT: %0 = lir.output 0 : memref<6xf32>
// OFF-NEXT: %1 = lir.output 1 : memref<6xf32>
// OFF-NEXT: %console = lir.slot : memref<1xi8>
// OFF-NEXT: %a = lir.slot : memref<6xf32>
// OFF-NEXT: lir.launch @copy over 6 by 6 reads(%x : memref<6xf32>) writes(%a : memref<6xf32>)
// OFF-NEXT: %b = lir.slot : memref<6xf32>
// OFF-NEXT: lir.launch @copy over 6 by 6 reads(%a : memref<6xf32>) writes(%b : memref<6xf32>)
// OFF-NEXT: %c = lir.slot : memref<6xf32>
// OFF-NEXT: lir.launch @sum over 1 by 1 reads(%a : memref<6xf32>) writes(%c, %console : memref<6xf32>, memref<1xi8>)
// OFF-NEXT: lir.launch @sum_in_place over 1 by 1 writes(%b, %console : memref<6xf32>, memref<1xi8>)
// OFF-NEXT: lir.launch @copy over 6 by 6 reads(%c : memref<6xf32>) writes(%0 : memref<6xf32>)
// OFF-NEXT: lir.launch @copy over 6 by 6 reads(%b : memref<6xf32>) writes(%1 : memref<6xf32>)
// OFF-NEXT: }
lir.program @f {
  %x = lir.input "x" : memref<6xf32>
  %0 = lir.output 0 : memref<6xf32>
  %1 = lir.output 1 : memref<6xf32>
  %console = lir.slot : memref<1xi8>
  %a = lir.slot : memref<6xf32>
  lir.launch @copy over 6 by 6 reads(%x : memref<6xf32>) writes(%a : memref<6xf32>)
  %b = lir.slot : memref<6xf32>
  lir.launch @copy over 6 by 6 reads(%a : memref<6xf32>) writes(%b : memref<6xf32>)
  %c = lir.slot : memref<6xf32>
  lir.launch @sum over 1 by 1 reads(%a : memref<6xf32>) writes(%c, %console : memref<6xf32>, memref<1xi8>)
  lir.launch @sum_in_place over 1 by 1 writes(%b, %console : memref<6xf32>, memref<1xi8>)
  lir.launch @copy over 6 by 6 reads(%c : memref<6xf32>) writes(%0 : memref<6xf32>)
  lir.launch @copy over 6 by 6 reads(%b : memref<6xf32>) writes(%1 : memref<6xf32>)
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
lir.kernel @sum_in_place(%x: memref<6xf32>, %c: memref<1xi8>, %lo: index, %hi: index) {
  lir.collective sum %x to %x by %c root 0 over 2 : memref<6xf32>, memref<6xf32>, memref<1xi8>
  lir.return
}

// -----

// Nothing runs beside this one: it stays.

// CHECK-LABEL: lir.program @g {
// CHECK-NEXT: %0 = lir.output 0 : memref<6xf32>
// CHECK-NEXT: %1 = lir.output 1 : memref<6xf32>
// CHECK-NEXT: %console = lir.slot : memref<1xi8>
// CHECK-NEXT: lir.launch @fill over 6 by 6 writes(%0 : memref<6xf32>)
// CHECK-NEXT: lir.launch @sum over 1 by 1 reads(%0 : memref<6xf32>) writes(%1, %console : memref<6xf32>, memref<1xi8>)
// CHECK-NEXT: }

// ONE-LABEL: lir.program @g {
// ONE-NEXT: %0 = lir.output 0 : memref<6xf32>
// ONE-NEXT: %1 = lir.output 1 : memref<6xf32>
// ONE-NEXT: %console = lir.slot : memref<1xi8>
// ONE-NEXT: lir.launch @fill over 6 by 6 writes(%0 : memref<6xf32>)
// ONE-NEXT: lir.launch @sum over 1 by 1 reads(%0 : memref<6xf32>) writes(%1, %console : memref<6xf32>, memref<1xi8>)
// ONE-NEXT: }
lir.program @g {
  %0 = lir.output 0 : memref<6xf32>
  %1 = lir.output 1 : memref<6xf32>
  %console = lir.slot : memref<1xi8>
  lir.launch @fill over 6 by 6 writes(%0 : memref<6xf32>)
  lir.launch @sum over 1 by 1 reads(%0 : memref<6xf32>) writes(%1, %console : memref<6xf32>, memref<1xi8>)
}
lir.kernel @fill(%y: memref<6xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %0 = arith.constant 1.0 : f32
  memref.store %0, %y[%i] : memref<6xf32>
  lir.return
}
lir.kernel @sum(%x: memref<6xf32>, %y: memref<6xf32>, %c: memref<1xi8>, %lo: index, %hi: index) {
  lir.collective sum %x to %y by %c root 0 over 2 : memref<6xf32>, memref<6xf32>, memref<1xi8>
  lir.return
}

// -----

// A store to the operand waits; in a loop, the wait is in the same iteration.

// CHECK-LABEL: lir.program @h {
// CHECK-NEXT: %x = lir.input "x" : memref<4x6xf32>
// CHECK-NEXT: %0 = lir.output 0 : memref<6xf32>
// CHECK-NEXT: %1 = lir.output 1 : memref<6xf32>
// CHECK-NEXT: %console = lir.slot : memref<1xi8>
// CHECK-NEXT: %a = lir.slot : memref<6xf32>
// CHECK-NEXT: lir.loop %t = 0 to 4 {
// CHECK-NEXT: %row = lir.step %x at %t : memref<4x6xf32> to memref<6xf32>
// CHECK-NEXT: lir.launch @copy over 6 by 6 reads(%row : memref<6xf32>) writes(%a : memref<6xf32>)
// CHECK-NEXT: %request = lir.slot : memref<1xi64>
// CHECK-NEXT: lir.launch @sum_start over 1 by 1 reads(%a : memref<6xf32>) writes(%0, %request, %console : memref<6xf32>, memref<1xi64>, memref<1xi8>)
// CHECK-NEXT: lir.launch @fill over 6 by 6 writes(%1 : memref<6xf32>)
// CHECK-NEXT: lir.launch @poll_collectives over 1 by 1 writes(%request : memref<1xi64>)
// CHECK-NEXT: lir.launch @sum_wait over 1 by 1 reads(%request, %a : memref<1xi64>, memref<6xf32>) writes(%0 : memref<6xf32>)
// CHECK-NEXT: lir.launch @fill over 6 by 6 writes(%a : memref<6xf32>)
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-LABEL: lir.kernel @sum_start(%source: memref<6xf32>, %data: memref<6xf32>, %request: memref<1xi64>, %console: memref<1xi8>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.collective_start sum %source to %data as %request by %console root 0 over 2 : memref<6xf32>, memref<6xf32>, memref<1xi8>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-LABEL: lir.kernel @poll_collectives(%request: memref<1xi64>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.collective_poll %request
// CHECK-NEXT: lir.return
// CHECK-NEXT: }
// CHECK-LABEL: lir.kernel @sum_wait(%request: memref<1xi64>, %source: memref<6xf32>, %data: memref<6xf32>, %lo: index, %hi: index) {
// CHECK-NEXT: lir.collective_wait %request for %data from %source : memref<6xf32>, memref<6xf32>
// CHECK-NEXT: lir.return
// CHECK-NEXT: }

// ONE-LABEL: lir.program @h {
// ONE-NEXT: %x = lir.input "x" : memref<4x6xf32>
// ONE-NEXT: %0 = lir.output 0 : memref<6xf32>
// ONE-NEXT: %1 = lir.output 1 : memref<6xf32>
// ONE-NEXT: %console = lir.slot : memref<1xi8>
// ONE-NEXT: %a = lir.slot : memref<6xf32>
// ONE-NEXT: lir.loop %t = 0 to 4 {
// ONE-NEXT: %row = lir.step %x at %t : memref<4x6xf32> to memref<6xf32>
// ONE-NEXT: lir.launch @copy over 6 by 6 reads(%row : memref<6xf32>) writes(%a : memref<6xf32>)
// ONE-NEXT: %request = lir.slot : memref<1xi64>
// ONE-NEXT: lir.launch @sum_start over 1 by 1 reads(%a : memref<6xf32>) writes(%0, %request, %console : memref<6xf32>, memref<1xi64>, memref<1xi8>)
// ONE-NEXT: lir.launch @fill over 6 by 6 writes(%1 : memref<6xf32>)
// ONE-NEXT: lir.launch @sum_wait over 1 by 1 reads(%request, %a : memref<1xi64>, memref<6xf32>) writes(%0 : memref<6xf32>)
// ONE-NEXT: lir.launch @fill over 6 by 6 writes(%a : memref<6xf32>)
// ONE-NEXT: }
// ONE-NEXT: }
lir.program @h {
  %x = lir.input "x" : memref<4x6xf32>
  %0 = lir.output 0 : memref<6xf32>
  %1 = lir.output 1 : memref<6xf32>
  %console = lir.slot : memref<1xi8>
  %a = lir.slot : memref<6xf32>
  lir.loop %t = 0 to 4 {
    %row = lir.step %x at %t : memref<4x6xf32> to memref<6xf32>
    lir.launch @copy over 6 by 6 reads(%row : memref<6xf32>) writes(%a : memref<6xf32>)
    lir.launch @sum over 1 by 1 reads(%a : memref<6xf32>) writes(%0, %console : memref<6xf32>, memref<1xi8>)
    lir.launch @fill over 6 by 6 writes(%a : memref<6xf32>)
    lir.launch @fill over 6 by 6 writes(%1 : memref<6xf32>)
  }
}
lir.kernel @copy(%x: memref<6xf32>, %y: memref<6xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %0 = memref.load %x[%i] : memref<6xf32>
  memref.store %0, %y[%i] : memref<6xf32>
  lir.return
}
lir.kernel @fill(%y: memref<6xf32>, %lo: index, %hi: index) {
  %i = arith.constant 0 : index
  %0 = arith.constant 1.0 : f32
  memref.store %0, %y[%i] : memref<6xf32>
  lir.return
}
lir.kernel @sum(%x: memref<6xf32>, %y: memref<6xf32>, %c: memref<1xi8>, %lo: index, %hi: index) {
  lir.collective sum %x to %y by %c root 0 over 2 : memref<6xf32>, memref<6xf32>, memref<1xi8>
  lir.return
}
