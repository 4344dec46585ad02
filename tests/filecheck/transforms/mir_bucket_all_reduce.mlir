// RUN: xdsl-opt %s -p mir-bucket-all-reduce --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'mir-bucket-all-reduce{bytes=20}' --split-input-file | filecheck %s --check-prefix=SMALL

// What reads a result moves behind the bucket; another kind, and what needs a result, is another bucket.

// CHECK-LABEL: func.func @f(%x: tensor<3xf32>, %y: tensor<2x2xf32>) -> (tensor<3xf32>, tensor<2x2xf32>, tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %0 = mir.reshape %y : tensor<2x2xf32> to tensor<4xf32>
// CHECK-NEXT: %1 = mir.concat %0, %x axis 0 : (tensor<4xf32>, tensor<3xf32>) -> tensor<7xf32>
// CHECK-NEXT: %2 = mir.all_reduce sum %1 over 2 : tensor<7xf32>
// CHECK-NEXT: %3 = mir.narrow %2 axis 0 start 0 len 4 : (tensor<7xf32>) -> tensor<4xf32>
// CHECK-NEXT: %4 = mir.reshape %3 : tensor<4xf32> to tensor<2x2xf32>
// CHECK-NEXT: %5 = mir.narrow %2 axis 0 start 4 len 3 : (tensor<7xf32>) -> tensor<3xf32>
// CHECK-NEXT: %6 = mir.exp %5 : tensor<3xf32>
// CHECK-NEXT: %7 = mir.all_reduce max %x over 2 : tensor<3xf32>
// CHECK-NEXT: %8 = mir.all_reduce max %7 over 2 : tensor<3xf32>
// CHECK-NEXT: func.return %6, %4, %7, %8 : tensor<3xf32>, tensor<2x2xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }

// SMALL-LABEL: func.func @f(%x: tensor<3xf32>, %y: tensor<2x2xf32>) -> (tensor<3xf32>, tensor<2x2xf32>, tensor<3xf32>, tensor<3xf32>) {
// SMALL-NEXT: %0 = mir.all_reduce sum %x over 2 : tensor<3xf32>
// SMALL-NEXT: %1 = mir.all_reduce sum %y over 2 : tensor<2x2xf32>
// SMALL-NEXT: %2 = mir.exp %0 : tensor<3xf32>
// SMALL-NEXT: %3 = mir.all_reduce max %x over 2 : tensor<3xf32>
// SMALL-NEXT: %4 = mir.all_reduce max %3 over 2 : tensor<3xf32>
// SMALL-NEXT: func.return %2, %1, %3, %4 : tensor<3xf32>, tensor<2x2xf32>, tensor<3xf32>, tensor<3xf32>
// SMALL-NEXT: }
func.func @f(%x: tensor<3xf32>, %y: tensor<2x2xf32>) -> (tensor<3xf32>, tensor<2x2xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = mir.all_reduce sum %x over 2 : tensor<3xf32>
  %1 = mir.exp %0 : tensor<3xf32>
  %2 = mir.all_reduce sum %y over 2 : tensor<2x2xf32>
  %3 = mir.all_reduce max %x over 2 : tensor<3xf32>
  %4 = mir.all_reduce max %3 over 2 : tensor<3xf32>
  func.return %1, %2, %3, %4 : tensor<3xf32>, tensor<2x2xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// An op with an effect keeps its place among reductions.

// CHECK-LABEL: func.func @g(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %0 = mir.all_reduce sum %x over 2 : tensor<3xf32>
// CHECK-NEXT: mir.debug_print "between"
// CHECK-NEXT: %1 = mir.all_reduce sum %x over 2 : tensor<3xf32>
// CHECK-NEXT: func.return %0, %1 : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }

// SMALL-LABEL: func.func @g(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
// SMALL-NEXT: %0 = mir.all_reduce sum %x over 2 : tensor<3xf32>
// SMALL-NEXT: mir.debug_print "between"
// SMALL-NEXT: %1 = mir.all_reduce sum %x over 2 : tensor<3xf32>
// SMALL-NEXT: func.return %0, %1 : tensor<3xf32>, tensor<3xf32>
// SMALL-NEXT: }
func.func @g(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = mir.all_reduce sum %x over 2 : tensor<3xf32>
  mir.debug_print "between"
  %1 = mir.all_reduce sum %x over 2 : tensor<3xf32>
  func.return %0, %1 : tensor<3xf32>, tensor<3xf32>
}

// -----

// In bodies of loops, too.

// CHECK-LABEL: func.func @h(%x: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %0 = mir.scan 4 carries(%x : tensor<3xf32>) -> (tensor<3xf32>) {
// CHECK-NEXT: ^bb0(%c: tensor<3xf32>):
// CHECK-NEXT: %1 = mir.sin %c : tensor<3xf32>
// CHECK-NEXT: %2 = mir.concat %c, %1 axis 0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
// CHECK-NEXT: %3 = mir.all_reduce sum %2 over 2 : tensor<6xf32>
// CHECK-NEXT: %4 = mir.narrow %3 axis 0 start 0 len 3 : (tensor<6xf32>) -> tensor<3xf32>
// CHECK-NEXT: %5 = mir.narrow %3 axis 0 start 3 len 3 : (tensor<6xf32>) -> tensor<3xf32>
// CHECK-NEXT: %6 = mir.mul %5, %4 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: mir.yield %6 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %0 : tensor<3xf32>
// CHECK-NEXT: }

// SMALL-LABEL: func.func @h(%x: tensor<3xf32>) -> tensor<3xf32> {
// SMALL-NEXT: %0 = mir.scan 4 carries(%x : tensor<3xf32>) -> (tensor<3xf32>) {
// SMALL-NEXT: ^bb0(%c: tensor<3xf32>):
// SMALL-NEXT: %1 = mir.all_reduce sum %c over 2 : tensor<3xf32>
// SMALL-NEXT: %2 = mir.sin %c : tensor<3xf32>
// SMALL-NEXT: %3 = mir.all_reduce sum %2 over 2 : tensor<3xf32>
// SMALL-NEXT: %4 = mir.mul %3, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// SMALL-NEXT: mir.yield %4 : tensor<3xf32>
// SMALL-NEXT: }
// SMALL-NEXT: func.return %0 : tensor<3xf32>
// SMALL-NEXT: }
func.func @h(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = mir.scan 4 carries(%x : tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%c: tensor<3xf32>):
    %1 = mir.sin %c : tensor<3xf32>
    %2 = mir.all_reduce sum %1 over 2 : tensor<3xf32>
    %3 = mir.all_reduce sum %c over 2 : tensor<3xf32>
    %4 = mir.mul %2, %3 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    mir.yield %4 : tensor<3xf32>
  }
  func.return %0 : tensor<3xf32>
}

// -----

// The order is that in which operands are computed. What is joined, and what is alone, comes right behind its operand.

// CHECK-LABEL: func.func @order(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %0 = mir.sin %x : tensor<3xf32>
// CHECK-NEXT: %1 = mir.exp %0 : tensor<3xf32>
// CHECK-NEXT: %2 = mir.tanh %1 : tensor<3xf32>
// CHECK-NEXT: %3 = mir.concat %0, %1, %2 axis 0 : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<9xf32>
// CHECK-NEXT: %4 = mir.all_reduce sum %3 over 2 : tensor<9xf32>
// CHECK-NEXT: %5 = mir.narrow %4 axis 0 start 0 len 3 : (tensor<9xf32>) -> tensor<3xf32>
// CHECK-NEXT: %6 = mir.narrow %4 axis 0 start 3 len 3 : (tensor<9xf32>) -> tensor<3xf32>
// CHECK-NEXT: %7 = mir.narrow %4 axis 0 start 6 len 3 : (tensor<9xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %7, %6, %5 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }

// SMALL-LABEL: func.func @order(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
// SMALL-NEXT: %0 = mir.sin %x : tensor<3xf32>
// SMALL-NEXT: %1 = mir.all_reduce sum %0 over 2 : tensor<3xf32>
// SMALL-NEXT: %2 = mir.exp %0 : tensor<3xf32>
// SMALL-NEXT: %3 = mir.all_reduce sum %2 over 2 : tensor<3xf32>
// SMALL-NEXT: %4 = mir.tanh %2 : tensor<3xf32>
// SMALL-NEXT: %5 = mir.all_reduce sum %4 over 2 : tensor<3xf32>
// SMALL-NEXT: func.return %5, %3, %1 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
// SMALL-NEXT: }
func.func @order(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = mir.sin %x : tensor<3xf32>
  %1 = mir.exp %0 : tensor<3xf32>
  %2 = mir.tanh %1 : tensor<3xf32>
  %3 = mir.all_reduce sum %2 over 2 : tensor<3xf32>
  %4 = mir.all_reduce sum %1 over 2 : tensor<3xf32>
  %5 = mir.all_reduce sum %0 over 2 : tensor<3xf32>
  func.return %3, %4, %5 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
