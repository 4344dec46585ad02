// RUN: DIAGNOSTICS

// CHECK: updates of shape [3, 3] do not fit indices of shape [4]
%0:2 = "test.op"() : () -> (tensor<3x3xf32>, tensor<4xi64>)
%1 = mir.gather_backward %0#0, %0#1 axis 0 batch_dims 0 extent 5 : (tensor<3x3xf32>, tensor<4xi64>) -> tensor<5x3xf32>

// -----

// CHECK: expected k from 0 to the last extent, got 4 of [2, 3]
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.topk %0 k 4 : (tensor<2x3xf32>) -> tensor<2x4xi64>

// -----

// CHECK: expected k from 0 to the last extent, got 1 of []
%0 = "test.op"() : () -> (tensor<f32>)
%1 = mir.topk %0 k 1 : (tensor<f32>) -> tensor<1xi64>

// -----

// CHECK: expected rows to sort, got a tensor of rank 0
%0 = "test.op"() : () -> (tensor<f32>)
%1 = mir.sort %0 : (tensor<f32>) -> tensor<f32>

// -----

// CHECK: expected elements of rows of 3, got 2 from 2 on
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.sort %0 first 2 count 2 : (tensor<2x3xf32>) -> tensor<2x2xf32>

// -----

// CHECK: expected both first and count, or neither
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.sort %0 first 2 : (tensor<2x3xf32>) -> tensor<2x1xf32>

// -----

// CHECK: element type i1 is not supported; expected one of
%0 = "test.op"() : () -> (tensor<2x3xi1>)
%1 = mir.sort %0 : (tensor<2x3xi1>) -> tensor<2x3xi1>

// -----

// CHECK: expected result of type tensor<2x2xi64>, got tensor<2x2xi32>
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.topk %0 k 2 : (tensor<2x3xf32>) -> tensor<2x2xi32>

// -----

// CHECK: element type i1 is not supported; expected one of
%0 = "test.op"() : () -> (tensor<2x3xi1>)
%1 = mir.topk %0 k 2 : (tensor<2x3xi1>) -> tensor<2x2xi64>

// -----

// CHECK: axis 2 is out of range for rank 2
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.cumsum %0 axis 2 : tensor<2x3xf32>

// -----

// CHECK: element type i1 is not supported; expected one of
%0 = "test.op"() : () -> (tensor<2x3xi1>)
%1 = mir.cumsum_backward %0 axis 0 : tensor<2x3xi1>

// -----

// CHECK: expected x of element type f32, got f64
%0:2 = "test.op"() : () -> (tensor<4xf32>, tensor<4xf64>)
%1 = mir.bisect %0#0, %0#1 : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xi64>

// -----

// CHECK: expected x that begins with the rows of a table, got [2, 3] for [3, 4]
%0:2 = "test.op"() : () -> (tensor<3x4xf32>, tensor<2x3xf32>)
%1 = mir.bisect %0#0, %0#1 : (tensor<3x4xf32>, tensor<2x3xf32>) -> tensor<2x3xi64>
