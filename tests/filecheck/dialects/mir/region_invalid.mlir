// RUN: DIAGNOSTICS

// CHECK: the body has 0 arguments for 1 operands
%x = "test.op"() : () -> tensor<2x3xf32>
%0 = mir.elementwise_region (%x : tensor<2x3xf32>) -> tensor<2x3xf32> {
  %1 = mir.constant dense<0.0> : tensor<2x3xf32>
  mir.yield %1 : tensor<2x3xf32>
}

// -----

// CHECK: input 0 is tensor<2x3xf32>, the body takes tensor<2x3xf64>
%x = "test.op"() : () -> tensor<2x3xf32>
%0 = mir.elementwise_region (%x : tensor<2x3xf32>) -> tensor<2x3xf32> {
^bb0(%a: tensor<2x3xf64>):
  mir.yield %a : tensor<2x3xf64>
}

// -----

// CHECK: expected a body that yields one value, got 2
%x = "test.op"() : () -> tensor<2x3xf32>
%0 = mir.elementwise_region (%x : tensor<2x3xf32>) -> tensor<2x3xf32> {
^bb0(%a: tensor<2x3xf32>):
  mir.yield %a, %a : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// CHECK: the result is tensor<2x3xf32>, the body yields tensor<2x3xi32>
%x = "test.op"() : () -> tensor<2x3xf32>
%0 = mir.elementwise_region (%x : tensor<2x3xf32>) -> tensor<2x3xf32> {
^bb0(%a: tensor<2x3xf32>):
  %1 = mir.cast %a : tensor<2x3xf32> to tensor<2x3xi32>
  mir.yield %1 : tensor<2x3xi32>
}

// -----

// CHECK: expected unary, binary, compare, where and cast ops in the body, got mir.transpose
%x = "test.op"() : () -> tensor<2x3xf32>
%0 = mir.elementwise_region (%x : tensor<2x3xf32>) -> tensor<3x2xf32> {
^bb0(%a: tensor<2x3xf32>):
  %1 = mir.transpose %a perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  mir.yield %1 : tensor<3x2xf32>
}

// -----

// CHECK: expected rank-0 constants in the body, got shape [2, 3]
%x = "test.op"() : () -> tensor<2x3xf32>
%0 = mir.elementwise_region (%x : tensor<2x3xf32>) -> tensor<2x3xf32> {
^bb0(%a: tensor<2x3xf32>):
  %1 = mir.constant dense<0.0> : tensor<2x3xf32>
  mir.yield %1 : tensor<2x3xf32>
}

// -----

// CHECK: shapes [2, 1] and [3, 1] do not broadcast
%x, %y = "test.op"() : () -> (tensor<2x1xf32>, tensor<3x1xf32>)
%0 = mir.elementwise_region (%x, %y : tensor<2x1xf32>, tensor<3x1xf32>) -> tensor<6x1xf32> {
^bb0(%a: tensor<2x1xf32>, %b: tensor<3x1xf32>):
  %1 = mir.add %a, %b : (tensor<2x1xf32>, tensor<3x1xf32>) -> tensor<6x1xf32>
  mir.yield %1 : tensor<6x1xf32>
}

// -----

// CHECK: expected only mir.resize_nearest_2x in the body, got mir.neg
%x = "test.op"() : () -> tensor<1x1x2x2xf32>
%0 = mir.transform_region %x : tensor<1x1x2x2xf32> -> tensor<1x1x2x2xf32> {
^bb0(%a: tensor<1x1x2x2xf32>):
  %1 = mir.neg %a : tensor<1x1x2x2xf32>
  mir.yield %1 : tensor<1x1x2x2xf32>
}

// -----

// CHECK: expected a chain: mir.resize_nearest_2x does not use the result of the previous op
%x = "test.op"() : () -> tensor<1x1x2x2xf32>
%0 = mir.transform_region %x : tensor<1x1x2x2xf32> -> tensor<1x1x4x4xf32> {
^bb0(%a: tensor<1x1x2x2xf32>):
  %1 = mir.resize_nearest_2x %a : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
  %2 = mir.resize_nearest_2x %a : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
  mir.yield %2 : tensor<1x1x4x4xf32>
}

// -----

// CHECK: expected a body that yields the end of its chain
%x = "test.op"() : () -> tensor<1x1x2x2xf32>
%0 = mir.transform_region %x : tensor<1x1x2x2xf32> -> tensor<1x1x2x2xf32> {
^bb0(%a: tensor<1x1x2x2xf32>):
  %1 = mir.resize_nearest_2x %a : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
  mir.yield %a : tensor<1x1x2x2xf32>
}

// -----

// CHECK: the operand is tensor<1x1x2x2xf32>, the body takes tensor<f32>
%x = "test.op"() : () -> tensor<1x1x2x2xf32>
%0 = mir.transform_region %x : tensor<1x1x2x2xf32> -> tensor<1x1x2x2xf32> {
^bb0(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
}

// -----

// CHECK: the result is tensor<1x1x2x2xf32>, the body yields tensor<1x1x4x4xf32>
%x = "test.op"() : () -> tensor<1x1x2x2xf32>
%0 = mir.transform_region %x : tensor<1x1x2x2xf32> -> tensor<1x1x2x2xf32> {
^bb0(%a: tensor<1x1x2x2xf32>):
  %1 = mir.resize_nearest_2x %a : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
  mir.yield %1 : tensor<1x1x4x4xf32>
}

// -----

// CHECK: input 0 is tensor<2x3xf32>, input 1 tensor<3xf32>: expected one type
%x, %y = "test.op"() : () -> (tensor<2x3xf32>, tensor<3xf32>)
%0 = mir.batch_elementwise_region (%x, %y : tensor<2x3xf32>, tensor<3xf32>) -> tensor<4x3xf32> {
^bb0(%a: tensor<2x3xf32>):
  mir.yield %a : tensor<2x3xf32>
}

// -----

// CHECK: captured 0 is tensor<3xf32>, the body takes tensor<f32>
%x, %y = "test.op"() : () -> (tensor<2x3xf32>, tensor<3xf32>)
%0 = mir.batch_elementwise_region (%x : tensor<2x3xf32>) captured(%y : tensor<3xf32>) -> tensor<2x3xf32> {
^bb0(%a: tensor<2x3xf32>, %b: tensor<f32>):
  mir.yield %a : tensor<2x3xf32>
}

// -----

// CHECK: expected a result of type tensor<4x3xf32>, got tensor<2x3xf32>
%x = "test.op"() : () -> tensor<2x3xf32>
%0 = mir.batch_elementwise_region (%x, %x : tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> {
^bb0(%a: tensor<2x3xf32>):
  mir.yield %a : tensor<2x3xf32>
}

// -----

// CHECK: the body yields tensor<f32>: expected a result of rank at least 1
%x = "test.op"() : () -> tensor<f32>
%0 = mir.batch_elementwise_region (%x : tensor<f32>) -> tensor<f32> {
^bb0(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
}

// -----

// CHECK: expected unary, binary, compare, where and cast ops in the body, got mir.softmax
%x = "test.op"() : () -> tensor<2x3xf32>
%0 = mir.batch_elementwise_region (%x : tensor<2x3xf32>) -> tensor<2x3xf32> {
^bb0(%a: tensor<2x3xf32>):
  %1 = mir.softmax %a axis 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  mir.yield %1 : tensor<2x3xf32>
}

// -----

// CHECK: expected at least one input
%x = "test.op"() : () -> tensor<f32>
%0 = "mir.batch_elementwise_region"(%x) <{operandSegmentSizes = array<i32: 0, 1>}> ({
^bb0(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
}) : (tensor<f32>) -> tensor<f32>

// -----

// CHECK: expected mir.resize_nearest_2x of arguments of the body only, before its other ops
%x = "test.op"() : () -> tensor<1x1x2x2xf32>
%0 = mir.elementwise_region (%x : tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32> {
^bb0(%a: tensor<1x1x2x2xf32>):
  %1 = mir.exp %a : tensor<1x1x2x2xf32>
  %2 = mir.resize_nearest_2x %1 : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
  mir.yield %2 : tensor<1x1x4x4xf32>
}
