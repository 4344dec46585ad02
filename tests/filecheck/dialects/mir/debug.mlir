// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @print(%x: tensor<3xf32>, %p: tensor<3xi1>) {
// CHECK-NEXT: mir.debug_print "start"
// CHECK-NEXT: mir.debug_print "x = {0}, {{[{][{]ok[}][}]}}, again {0!r}" inputs(%x : tensor<3xf32>)
// CHECK-NEXT: mir.debug_print "{0:.3f}" batch 1 inputs(%x : tensor<3xf32>) when %p : tensor<3xi1>
// CHECK-NEXT: mir.debug_print "each" batch 1 when %p : tensor<3xi1>
// CHECK-NEXT: func.return
func.func @print(%x: tensor<3xf32>, %p: tensor<3xi1>) {
  mir.debug_print "start"
  mir.debug_print "x = {0}, {{ok}}, again {0!r}" inputs(%x : tensor<3xf32>)
  mir.debug_print "{0:.3f}" batch 1 inputs(%x : tensor<3xf32>) when %p : tensor<3xi1>
  mir.debug_print "each" batch 1 when %p : tensor<3xi1>
  func.return
}

// GENERIC: "mir.debug_print"(%x, %p) <{text = "{0:.3f}", batch = 1 : i64, operandSegmentSizes = array<i32: 1, 1>}>
