// RUN: DIAGNOSTICS

// CHECK: expected x of element type i8, got ui8
%0 = "test.op"() : () -> (tensor<4x8xui8>)
%1 = "test.op"() : () -> (tensor<8x6xi8>)
%2 = "test.op"() : () -> (tensor<6xi32>)
%r = mir.q_matmul %0, %1, %2 zero_points 0, 0, 0 multiplier 5.0e-01 : (tensor<4x8xui8>, tensor<8x6xi8>, tensor<6xi32>) -> tensor<4x6xi8>

// -----

// CHECK: zero point 2147483648 is out of range for i32
%0 = "test.op"() : () -> (tensor<4x8xi8>)
%1 = "test.op"() : () -> (tensor<8x6xi8>)
%2 = "test.op"() : () -> (tensor<6xi32>)
%r = mir.q_matmul %0, %1, %2 zero_points 0, 2147483648, 0 multiplier 5.0e-01 : (tensor<4x8xi8>, tensor<8x6xi8>, tensor<6xi32>) -> tensor<4x6xi8>

// -----

// CHECK: expected a finite multiplier, got inf
%0 = "test.op"() : () -> (tensor<4x8xi8>)
%1 = "test.op"() : () -> (tensor<8x6xi8>)
%2 = "test.op"() : () -> (tensor<6xi32>)
%r = "mir.q_matmul"(%0, %1, %2) <{multiplier = 0x7FF0000000000000 : f64, out_zero_point = 0 : i64, w_zero_point = 0 : i64, x_zero_point = 0 : i64}> : (tensor<4x8xi8>, tensor<8x6xi8>, tensor<6xi32>) -> tensor<4x6xi8>

// -----

// CHECK: expected a bias of shape [6], got [4]
%0 = "test.op"() : () -> (tensor<4x8xi8>)
%1 = "test.op"() : () -> (tensor<8x6xi8>)
%2 = "test.op"() : () -> (tensor<4xi32>)
%r = mir.q_matmul %0, %1, %2 zero_points 0, 0, 0 multiplier 5.0e-01 : (tensor<4x8xi8>, tensor<8x6xi8>, tensor<4xi32>) -> tensor<4x6xi8>

// -----

// CHECK: expected shapes [M, K] and [K, N], got [4, 8] and [6, 8]
%0 = "test.op"() : () -> (tensor<4x8xi8>)
%1 = "test.op"() : () -> (tensor<6x8xi8>)
%2 = "test.op"() : () -> (tensor<6xi32>)
%r = mir.q_matmul %0, %1, %2 zero_points 0, 0, 0 multiplier 5.0e-01 : (tensor<4x8xi8>, tensor<6x8xi8>, tensor<6xi32>) -> tensor<4x6xi8>

// -----

// CHECK: expected x and w of rank 4, got [1, 2, 5, 5] and [6, 2, 9]
%0 = "test.op"() : () -> (tensor<1x2x5x5xi8>)
%1 = "test.op"() : () -> (tensor<6x2x9xi8>)
%2 = "test.op"() : () -> (tensor<6xi32>)
%r = mir.q_conv2d %0, %1, %2 strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 zero_points 0, 0, 0 multiplier 5.0e-01 : (tensor<1x2x5x5xi8>, tensor<6x2x9xi8>, tensor<6xi32>) -> tensor<1x6x3x3xi8>

// -----

// CHECK: 2 groups do not fit 2 channels and weights of shape [6, 2, 3, 3]
%0 = "test.op"() : () -> (tensor<1x2x5x5xi8>)
%1 = "test.op"() : () -> (tensor<6x2x3x3xi8>)
%2 = "test.op"() : () -> (tensor<6xi32>)
%r = mir.q_conv2d %0, %1, %2 strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 2 zero_points 0, 0, 0 multiplier 5.0e-01 : (tensor<1x2x5x5xi8>, tensor<6x2x3x3xi8>, tensor<6xi32>) -> tensor<1x6x3x3xi8>

// -----

// CHECK: expected two strides, four paddings and two dilations
%0 = "test.op"() : () -> (tensor<1x2x5x5xi8>)
%1 = "test.op"() : () -> (tensor<6x2x3x3xi8>)
%2 = "test.op"() : () -> (tensor<6xi32>)
%r = mir.q_conv2d %0, %1, %2 strides [1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 zero_points 0, 0, 0 multiplier 5.0e-01 : (tensor<1x2x5x5xi8>, tensor<6x2x3x3xi8>, tensor<6xi32>) -> tensor<1x6x3x3xi8>

// -----

// CHECK: expected strides and dilations of at least 1 and no negative padding
%0 = "test.op"() : () -> (tensor<1x2x5x5xi8>)
%1 = "test.op"() : () -> (tensor<6x2x3x3xi8>)
%2 = "test.op"() : () -> (tensor<6xi32>)
%r = mir.q_conv2d %0, %1, %2 strides [0, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 zero_points 0, 0, 0 multiplier 5.0e-01 : (tensor<1x2x5x5xi8>, tensor<6x2x3x3xi8>, tensor<6xi32>) -> tensor<1x6x3x3xi8>

// -----

// CHECK: weights of shape [6, 2, 3, 6] are larger than the padded input of shape [1, 2, 5, 5]
%0 = "test.op"() : () -> (tensor<1x2x5x5xi8>)
%1 = "test.op"() : () -> (tensor<6x2x3x6xi8>)
%2 = "test.op"() : () -> (tensor<6xi32>)
%r = mir.q_conv2d %0, %1, %2 strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 zero_points 0, 0, 0 multiplier 5.0e-01 : (tensor<1x2x5x5xi8>, tensor<6x2x3x6xi8>, tensor<6xi32>) -> tensor<1x6x3x3xi8>
