// RUN: DIAGNOSTICS

// CHECK: expected a format string of str.format, got '{'
mir.debug_print "{"

// -----

// CHECK: field {0}: expected the number of one of 0 operands
mir.debug_print "{0}"

// -----

// CHECK: field {x:.3f}: expected the number of one of 1 operands
%0 = "test.op"() : () -> (tensor<3xf32>)
mir.debug_print "{x:.3f}" inputs(%0 : tensor<3xf32>)

// -----

// CHECK: no field of 'x' has operand 0
%0 = "test.op"() : () -> (tensor<3xf32>)
mir.debug_print "x" inputs(%0 : tensor<3xf32>)

// -----

// CHECK: operand 1 of type tensor<2xf32>: expected [3] as its batch axes
%0, %1 = "test.op"() : () -> (tensor<3xf32>, tensor<2xf32>)
mir.debug_print "{0} {1}" batch 1 inputs(%0, %1 : tensor<3xf32>, tensor<2xf32>)

// -----

// CHECK: batch 1: expected at most the rank of every operand
mir.debug_print "x" batch 1

// -----

// CHECK: expected a predicate of type tensor<i1>, got tensor<3xi1>
%0 = "test.op"() : () -> (tensor<3xi1>)
mir.debug_print "x" when %0 : tensor<3xi1>
