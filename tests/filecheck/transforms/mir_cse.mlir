// RUN: xdsl-opt %s -p mir-cse --split-input-file --verify-diagnostics | filecheck %s

// What is equal is computed once in a block, and what nothing reads goes.

// In a branch for itself: what is isolated does not see what is around it.
// CHECK-LABEL: func.func @same(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT: %0 = mir.exp %x : tensor<3xf32>
// CHECK-NEXT: %1 = mir.add %0, %0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %2 = mir.remat captured(%x : tensor<3xf32>) -> (tensor<3xf32>) {
// CHECK-NEXT: ^bb0(%a: tensor<3xf32>):
// CHECK-NEXT: %3 = mir.exp %a : tensor<3xf32>
// CHECK-NEXT: %4 = mir.mul %3, %3 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: mir.yield %4 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %1, %2 : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @same(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = mir.exp %x : tensor<3xf32>
  %1 = mir.exp %x : tensor<3xf32>
  %2 = mir.add %0, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %unread = mir.sin %2 : tensor<3xf32>
  %3 = mir.remat captured(%x : tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    %4 = mir.exp %a : tensor<3xf32>
    %5 = mir.exp %a : tensor<3xf32>
    %6 = mir.mul %4, %5 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    mir.yield %6 : tensor<3xf32>
  }
  func.return %2, %3 : tensor<3xf32>, tensor<3xf32>
}

// -----

// Axes that are summed over, and whether they are kept, tell sums apart.
// CHECK-LABEL: func.func @sums(%x: tensor<3x3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3x1xf32>) {
// CHECK-NEXT: %0 = mir.reduce_sum %x axes [0] : (tensor<3x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %1 = mir.reduce_sum %x axes [1] : (tensor<3x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %2 = mir.reduce_sum %x axes [1] keep_dim : (tensor<3x3xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: func.return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3x1xf32>
// CHECK-NEXT: }
func.func @sums(%x: tensor<3x3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3x1xf32>) {
  %0 = mir.reduce_sum %x axes [0] : (tensor<3x3xf32>) -> tensor<3xf32>
  %1 = mir.reduce_sum %x axes [1] : (tensor<3x3xf32>) -> tensor<3xf32>
  %2 = mir.reduce_sum %x axes [1] keep_dim : (tensor<3x3xf32>) -> tensor<3x1xf32>
  func.return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3x1xf32>
}

// -----

// Effects stay, each for itself, with the ops around them that nothing reads.
// CHECK-LABEL: func.func @effects(%x: tensor<3xf32>) {
// CHECK-NEXT: mir.debug_print "{0}" inputs(%x : tensor<3xf32>)
// CHECK-NEXT: mir.debug_print "{0}" inputs(%x : tensor<3xf32>)
// CHECK-NEXT: %0 = mir.scan 3 captured(%x : tensor<3xf32>) -> () stacked(tensor<3x3xf32>) {
// CHECK-NEXT: ^bb0(%a: tensor<3xf32>):
// CHECK-NEXT: mir.debug_print "a"
// CHECK-NEXT: mir.yield %a : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %1 = mir.scan 3 captured(%x : tensor<3xf32>) -> () stacked(tensor<3x3xf32>) {
// CHECK-NEXT: ^bb0(%a: tensor<3xf32>):
// CHECK-NEXT: mir.debug_print "a"
// CHECK-NEXT: mir.yield %a : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return
func.func @effects(%x: tensor<3xf32>) {
  mir.debug_print "{0}" inputs(%x : tensor<3xf32>)
  mir.debug_print "{0}" inputs(%x : tensor<3xf32>)
  %0 = mir.scan 3 captured(%x : tensor<3xf32>) -> () stacked(tensor<3x3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    mir.debug_print "a"
    mir.yield %a : tensor<3xf32>
  }
  %1 = mir.scan 3 captured(%x : tensor<3xf32>) -> () stacked(tensor<3x3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    mir.debug_print "a"
    mir.yield %a : tensor<3xf32>
  }
  func.return
}
