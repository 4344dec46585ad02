// RUN: DIAGNOSTICS

// CHECK: xs 0 of type tensor<7x3xf32> has no leading axis of the length 8
%0, %1 = "test.op"() : () -> (tensor<3xf32>, tensor<7x3xf32>)
%2 = mir.scan 8 carries(%0 : tensor<3xf32>) over(%1 : tensor<7x3xf32>) -> (tensor<3xf32>) {
^bb0(%c: tensor<3xf32>, %e: tensor<3xf32>):
  mir.yield %c : tensor<3xf32>
}

// -----

// CHECK: carry 0 is tensor<3xf32>, the body takes tensor<3xf64>
%0, %1 = "test.op"() : () -> (tensor<3xf32>, tensor<3xf32>)
%2 = mir.scan 8 carries(%0 : tensor<3xf32>) -> (tensor<3xf32>) {
^bb0(%c: tensor<3xf64>):
  mir.yield %c : tensor<3xf64>
}

// -----

// CHECK: carry 0 is tensor<3xf32>, the body yields tensor<3xf64>
%0, %1 = "test.op"() : () -> (tensor<3xf32>, tensor<3xf64>)
%2 = mir.scan 8 carries(%0 : tensor<3xf32>) captured(%1 : tensor<3xf64>) -> (tensor<3xf32>) {
^bb0(%c: tensor<3xf32>, %e: tensor<3xf64>):
  mir.yield %e : tensor<3xf64>
}

// -----

// CHECK: the body yields 2 values for 1 carries and 0 results
%0, %1 = "test.op"() : () -> (tensor<3xf32>, tensor<3xf64>)
%2 = mir.scan 8 carries(%0 : tensor<3xf32>) captured(%1 : tensor<3xf64>) -> (tensor<3xf32>) {
^bb0(%c: tensor<3xf32>, %e: tensor<3xf64>):
  mir.yield %c, %e : tensor<3xf32>, tensor<3xf64>
}

// -----

// CHECK: stacked result 0 is tensor<7x3xf32>, the body yields tensor<3xf32>
%0, %1 = "test.op"() : () -> (tensor<3xf32>, tensor<3xf32>)
%2, %3 = mir.scan 8 carries(%0 : tensor<3xf32>) -> (tensor<3xf32>) stacked (tensor<7x3xf32>) {
^bb0(%c: tensor<3xf32>):
  mir.yield %c, %c : tensor<3xf32>, tensor<3xf32>
}

// -----

// CHECK: the body has 1 arguments for 2 operands
%0, %1 = "test.op"() : () -> (tensor<3xf32>, tensor<3xf64>)
%2 = mir.scan 8 carries(%0 : tensor<3xf32>) captured(%1 : tensor<3xf64>) -> (tensor<3xf32>) {
^bb0(%c: tensor<3xf32>):
  mir.yield %c : tensor<3xf32>
}

// -----

// CHECK: expected a length of at least 0, got -1
%0, %1 = "test.op"() : () -> (tensor<3xf32>, tensor<3xf64>)
%2 = mir.scan -1 carries(%0 : tensor<3xf32>) -> (tensor<3xf32>) {
^bb0(%c: tensor<3xf32>):
  mir.yield %c : tensor<3xf32>
}

// -----

// CHECK: expected checkpoints of 1 to 8, the length, got 9
%0 = "test.op"() : () -> tensor<3xf32>
%1 = mir.scan 8 checkpoints 9 carries(%0 : tensor<3xf32>) -> (tensor<3xf32>) {
^bb0(%c: tensor<3xf32>):
  mir.yield %c : tensor<3xf32>
}

// -----

// CHECK: expected checkpoints of 1 to 0, the length, got 1
%0 = "test.op"() : () -> tensor<3xf32>
%1 = mir.scan 0 checkpoints 1 carries(%0 : tensor<3xf32>) -> (tensor<3xf32>) {
^bb0(%c: tensor<3xf32>):
  mir.yield %c : tensor<3xf32>
}
