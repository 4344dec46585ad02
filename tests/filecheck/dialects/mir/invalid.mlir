// RUN: DIAGNOSTICS

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%0 = "test.op"() : () -> (tensor<2x3xi32>)
%1 = mir.tanh %0 : tensor<2x3xi32>

// -----

// CHECK: expected a static shape, got tensor<?x3xf32>
%0 = "test.op"() : () -> (tensor<?x3xf32>)
%1 = mir.tanh %0 : tensor<?x3xf32>

// -----

// CHECK: memref<3xf32> should be of base attribute tensor
%0 = "test.op"() : () -> (memref<3xf32>)
%1 = "mir.tanh"(%0) : (memref<3xf32>) -> memref<3xf32>

// -----

// CHECK: attribute tensor<2x3xf32> expected from variable 'T', but got tensor<3x2xf32>
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = "mir.tanh"(%0) : (tensor<2x3xf32>) -> tensor<3x2xf32>

// -----

// CHECK: expected result of type tensor<2xf32>, got tensor<3xf32>
%0 = "test.op"() : () -> (tensor<2xf32>)
%1 = mir.add %0, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>

// -----

// CHECK: shapes [2] and [3] do not broadcast
%0:2 = "test.op"() : () -> (tensor<2xf32>, tensor<3xf32>)
%1 = mir.add %0#0, %0#1 : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>

// -----

// CHECK: operands have different element types: lhs is f32, rhs is f64; cast one
%0:2 = "test.op"() : () -> (tensor<2xf32>, tensor<2xf64>)
%1 = mir.mul %0#0, %0#1 : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16, complex<f32>, complex<f64>
%0 = "test.op"() : () -> (tensor<2xi32>)
%1 = mir.div %0, %0 : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>

// -----

// CHECK: expected result of type tensor<2xi1>, got tensor<2xf32>
%0 = "test.op"() : () -> (tensor<2xf32>)
%1 = mir.lt %0, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>

// -----

// CHECK: element type f32 is not supported; expected one of i1, i32, i64, i8, ui8, i16, ui32
%0 = "test.op"() : () -> (tensor<2xf32>)
%1 = mir.and %0, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>

// -----

// CHECK: expected an i1 condition, got tensor<2xf32>
%0 = "test.op"() : () -> (tensor<2xf32>)
%1 = mir.where %0, %0, %0 : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>

// -----

// CHECK: element type i7 is not supported; expected one of f32, f64, f16, bf16, i1, i8, ui8, i16, i32, ui32, i64, complex<f32>, complex<f64>
%0 = "test.op"() : () -> (tensor<2xf32>)
%1 = mir.cast %0 : tensor<2xf32> to tensor<2xi7>

// -----

// CHECK: expected result of type tensor<2xf64>, got tensor<3xf64>
%0 = "test.op"() : () -> (tensor<2xf32>)
%1 = mir.cast %0 : tensor<2xf32> to tensor<3xf64>

// -----

// CHECK: expected a dense constant
%0 = mir.constant 1 : i32

// -----

// CHECK: expected ranks of at least 2, got [2] and [2, 3]
%0:2 = "test.op"() : () -> (tensor<2xf32>, tensor<2x3xf32>)
%1 = mir.matmul %0#0, %0#1 : (tensor<2xf32>, tensor<2x3xf32>) -> tensor<3xf32>

// -----

// CHECK: the inner dimensions of [2, 3] @ [2, 3] differ: expected 3 rows in the RHS, got 2
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.matmul %0, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: shapes [2] and [5] do not broadcast
%0:2 = "test.op"() : () -> (tensor<2x4x3xf32>, tensor<5x3x4xf32>)
%1 = mir.matmul %0#0, %0#1 : (tensor<2x4x3xf32>, tensor<5x3x4xf32>) -> tensor<2x4x4xf32>

// -----

// CHECK: element type i1 is not supported; expected one of f32, f64, f16, bf16, i32, i64, i8, ui8, i16, ui32, complex<f32>, complex<f64>
%0 = "test.op"() : () -> (tensor<2x2xi1>)
%1 = mir.matmul %0, %0 : (tensor<2x2xi1>, tensor<2x2xi1>) -> tensor<2x2xi1>

// -----

// CHECK: cannot reshape [2, 3] to [5]: the element counts differ
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.reshape %0 : tensor<2x3xf32> to tensor<5xf32>

// -----

// CHECK: expected result of type tensor<6xf32>, got tensor<6xf64>
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.reshape %0 : tensor<2x3xf32> to tensor<6xf64>

// -----

// CHECK: [0, 0] is not a permutation of the 2 dimensions
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.transpose %0 perm [0, 0] : (tensor<2x3xf32>) -> tensor<2x2xf32>

// -----

// CHECK: [0] is not a permutation of the 2 dimensions
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.transpose %0 perm [0] : (tensor<2x3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: the slice 2:4 is out of range for axis 1 of shape [2, 3]
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.narrow %0 axis 1 start 2 len 2 : (tensor<2x3xf32>) -> tensor<2x2xf32>

// -----

// CHECK: axis 2 is out of range for rank 2
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.narrow %0 axis 2 start 0 len 1 : (tensor<2x3xf32>) -> tensor<2x1xf32>

// -----

// CHECK: axis 2 is out of range for rank 2
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.flip %0 axis 2 : tensor<2x3xf32>

// -----

// CHECK: shapes [2, 3] and [2, 2] differ outside axis 0
%0:2 = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x2xf32>)
%1 = mir.concat %0#0, %0#1 axis 0 : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<4x3xf32>

// -----

// CHECK: expected at least one operand
%0 = "mir.concat"() <{axis = 0 : i64}> : () -> tensor<0xf32>

// -----

// CHECK: cannot expand [2, 3] to [4, 3]
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.expand %0 : tensor<2x3xf32> to tensor<4x3xf32>

// -----

// CHECK: axis 2 is out of range for rank 2
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.reduce_sum %0 axes [2] : (tensor<2x3xf32>) -> tensor<2xf32>

// -----

// CHECK: axes [1, -1] repeat one
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.reduce_sum %0 axes [1, -1] : (tensor<2x3xf32>) -> tensor<2xf32>

// -----

// CHECK: expected result of type tensor<2x1xf32>, got tensor<2xf32>
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.reduce_sum %0 axes [1] keep_dim : (tensor<2x3xf32>) -> tensor<2xf32>

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%0 = "test.op"() : () -> (tensor<2x3xi32>)
%1 = mir.reduce_mean %0 axes [1] : (tensor<2x3xi32>) -> tensor<2xi32>

// -----

// CHECK: axis 2 is out of range for rank 2
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.softmax %0 axis 2 : (tensor<2x3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%0 = "test.op"() : () -> (tensor<2x3xi32>)
%1 = mir.softmax %0 axis 1 : (tensor<2x3xi32>) -> tensor<2x3xi32>

// -----

// CHECK: expected gamma of shape [3], got [2]
%0:2 = "test.op"() : () -> (tensor<2x3xf32>, tensor<2xf32>)
%1 = mir.layer_norm %0#0, %0#1, %0#1 axis 1 eps 1.0e-5 : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x3xf32>

// -----

// CHECK: expected a finite eps of at least 0, got -1.0
%0:2 = "test.op"() : () -> (tensor<2x3xf32>, tensor<3xf32>)
%1 = mir.layer_norm %0#0, %0#1, %0#1 axis 1 eps -1.0 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: expected a cotangent of type tensor<2x3xf32>, got tensor<3xf32>
%0:2 = "test.op"() : () -> (tensor<2x3xf32>, tensor<3xf32>)
%1 = mir.layer_norm_backward_input %0#0, %0#1, %0#1 axis 1 eps 0.1 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: expected labels of shape [2] for logits of shape [2, 3], got [3]
%0:2 = "test.op"() : () -> (tensor<2x3xf32>, tensor<3xi32>)
%1 = mir.softmax_cross_entropy_with_logits %0#0, %0#1 : (tensor<2x3xf32>, tensor<3xi32>) -> tensor<3xf32>

// -----

// CHECK: element type f64 is not supported; expected one of i32, i64, i8, ui8, i16, ui32, f32
%0:2 = "test.op"() : () -> (tensor<2x3xf32>, tensor<2xf64>)
%1 = mir.softmax_cross_entropy_with_logits %0#0, %0#1 : (tensor<2x3xf32>, tensor<2xf64>) -> tensor<2xf32>

// -----

// CHECK: expected logits of rank 1 or more, got a scalar
%0:2 = "test.op"() : () -> (tensor<f32>, tensor<i32>)
%1 = mir.softmax_cross_entropy_with_logits %0#0, %0#1 : (tensor<f32>, tensor<i32>) -> tensor<f32>

// -----

// CHECK: expected d_loss of shape [2], got tensor<2x3xf32>
%0:2 = "test.op"() : () -> (tensor<2x3xf32>, tensor<2xi32>)
%1 = mir.softmax_cross_entropy_backward %0#0, %0#1, %0#0 : (tensor<2x3xf32>, tensor<2xi32>, tensor<2x3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: a bias of shape [2, 3] does not broadcast to [2, 4]
%0:2 = "test.op"() : () -> (tensor<2x3xf32>, tensor<3x4xf32>)
%1 = mir.fused_matmul_bias_act %0#0, %0#1, %0#0 : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<2x3xf32>) -> tensor<2x4xf32>

// -----

// CHECK: Expected `gelu`, `gelu_approx`, `silu`, `relu`, `sigmoid`, `tanh`, `exp`, `log`, `erf`, `sqrt`, `rsqrt`, `recip`, `neg`, `abs`, `sin`, `cos`, `tan`, `atan`, or `round`.
%0:3 = "test.op"() : () -> (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>)
%1 = mir.fused_matmul_bias_act %0#0, %0#1, %0#2 activation swish : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>

// -----

// CHECK: expected a cotangent of type tensor<2xf32>, got tensor<3xf32>
%0:2 = "test.op"() : () -> (tensor<2xf32>, tensor<3xf32>)
%1 = mir.relu_backward %0#0, %0#1 : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>

// -----

// CHECK: expected a cotangent of type tensor<2xf32>, got tensor<3xf32>
%0:2 = "test.op"() : () -> (tensor<2xf32>, tensor<3xf32>)
%1 = mir.activation_backward tanh %0#0, %0#1 : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>

// -----

// CHECK: the yielded values do not match the results
%0 = "test.op"() : () -> (tensor<2xf32>)
%1 = mir.fusion (%0) : (tensor<2xf32>) -> tensor<3xf32> {
^bb0(%a: tensor<2xf32>):
  mir.yield %a : tensor<2xf32>
}

// -----

// CHECK: the block arguments do not match the inputs
%0 = "test.op"() : () -> (tensor<2xf32>)
%1 = mir.fusion (%0) : (tensor<2xf32>) -> tensor<2xf32> {
^bb0(%a: tensor<3xf32>):
  %2 = "test.op"() : () -> (tensor<2xf32>)
  mir.yield %2 : tensor<2xf32>
}

// -----

// CHECK: Operation using value defined out of its IsolatedFromAbove parent
%0 = "test.op"() : () -> (tensor<2xf32>)
%1 = mir.fusion (%0) : (tensor<2xf32>) -> tensor<2xf32> {
^bb0(%a: tensor<2xf32>):
  mir.yield %0 : tensor<2xf32>
}

// -----

// CHECK: expected extents of loops that are not 1, got [2, 1, 3]
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.fusion (%0) loops <[2, 1, 3] parallel 1 : ([0, 2]) -> ([0, 2])> : (tensor<2x3xf32>) -> tensor<2x3xf32> {
^bb0(%a: tensor<2x3xf32>):
  mir.yield %a : tensor<2x3xf32>
}

// -----

// CHECK: parallel 3: expected at most 2 loops
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.fusion (%0) loops <[2, 3] parallel 3 : ([0, 1]) -> ([0, 1])> : (tensor<2x3xf32>) -> tensor<2x3xf32> {
^bb0(%a: tensor<2x3xf32>):
  mir.yield %a : tensor<2x3xf32>
}

// -----

// CHECK: reduce 1 to 2: expected an end below 2
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.fusion (%0) loops <[2, 3] reduce 1 to 2 : ([0, 1]) -> ([0, 1])> : (tensor<2x3xf32>) -> tensor<2x3xf32> {
^bb0(%a: tensor<2x3xf32>):
  mir.yield %a : tensor<2x3xf32>
}

// -----

// CHECK: expected ascending numbers of 2 loops, got [1, 0]
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.fusion (%0) loops <[3, 2] parallel 1 : ([1, 0]) -> ([1, 0])> : (tensor<2x3xf32>) -> tensor<2x3xf32> {
^bb0(%a: tensor<2x3xf32>):
  mir.yield %a : tensor<2x3xf32>
}

// -----

// CHECK: expected ascending numbers of 2 loops, got [0, 2]
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.fusion (%0) loops <[2, 3] parallel 1 : ([0, 2]) -> ([0, 1])> : (tensor<2x3xf32>) -> tensor<2x3xf32> {
^bb0(%a: tensor<2x3xf32>):
  mir.yield %a : tensor<2x3xf32>
}

// -----

// CHECK: loops of 2 inputs and 1 results, of which there are 1 and 1
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.fusion (%0) loops <[2, 3] parallel 1 : ([0, 1], [0]) -> ([0, 1])> : (tensor<2x3xf32>) -> tensor<2x3xf32> {
^bb0(%a: tensor<2x3xf32>):
  mir.yield %a : tensor<2x3xf32>
}

// -----

// CHECK: input 0 of type tensor<2x3xf32> does not run over the loops [0]
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.fusion (%0) loops <[2, 3] parallel 1 : ([0]) -> ([0, 1])> : (tensor<2x3xf32>) -> tensor<2x3xf32> {
^bb0(%a: tensor<2x3xf32>):
  mir.yield %a : tensor<2x3xf32>
}

// -----

// CHECK: result 0 of type tensor<2x3xf32> does not run over the loops [0, 1]
%0 = "test.op"() : () -> (tensor<2x3xf32>)
%1 = mir.fusion (%0) loops <[2, 4] parallel 1 : (operand) -> ([0, 1])> : (tensor<2x3xf32>) -> tensor<2x3xf32> {
^bb0(%a: tensor<2x3xf32>):
  mir.yield %a : tensor<2x3xf32>
}

// -----

// CHECK: 2 results for wrt [0]
%0 = "test.op"() : () -> (tensor<2xf32>)
%1, %2 = mir.vjp primals(%0 : tensor<2xf32>) outputs(%0 : tensor<2xf32>) cotangents(%0 : tensor<2xf32>) of [0] wrt [0] -> tensor<2xf32>, tensor<2xf32> {
^bb0(%a: tensor<2xf32>):
  %2 = mir.tanh %a : tensor<2xf32>
  mir.yield %2 : tensor<2xf32>
}

// -----

// CHECK: 1 cotangents of the results [0, 1], of which there are 1
%0 = "test.op"() : () -> (tensor<2xf32>)
%1 = mir.vjp primals(%0 : tensor<2xf32>) outputs(%0 : tensor<2xf32>) cotangents(%0 : tensor<2xf32>) of [0, 1] wrt [0] -> tensor<2xf32> {
^bb0(%a: tensor<2xf32>):
  %2 = mir.tanh %a : tensor<2xf32>
  mir.yield %2 : tensor<2xf32>
}

// -----

// CHECK: wrt [1] leaves the 1 operands
%0 = "test.op"() : () -> (tensor<2xf32>)
%1 = mir.vjp primals(%0 : tensor<2xf32>) outputs(%0 : tensor<2xf32>) cotangents(%0 : tensor<2xf32>) of [0] wrt [1] -> tensor<2xf32> {
^bb0(%a: tensor<2xf32>):
  %2 = mir.tanh %a : tensor<2xf32>
  mir.yield %2 : tensor<2xf32>
}

// -----

// CHECK: cotangent of type tensor<3xf32> for a result of type tensor<2xf32>
%0:2 = "test.op"() : () -> (tensor<2xf32>, tensor<3xf32>)
%1 = mir.vjp primals(%0#0 : tensor<2xf32>) outputs(%0#0 : tensor<2xf32>) cotangents(%0#1 : tensor<3xf32>) of [0] wrt [0] -> tensor<2xf32> {
^bb0(%a: tensor<2xf32>):
  %2 = mir.tanh %a : tensor<2xf32>
  mir.yield %2 : tensor<2xf32>
}

// -----

// CHECK: expected a body of one op and a mir.yield
%0 = "test.op"() : () -> (tensor<2xf32>)
%1 = mir.vjp primals(%0 : tensor<2xf32>) outputs(%0 : tensor<2xf32>) cotangents(%0 : tensor<2xf32>) of [0] wrt [0] -> tensor<2xf32> {
^bb0(%a: tensor<2xf32>):
  mir.yield %a : tensor<2xf32>
}

// -----

// CHECK: expected indices to begin with the batch dimensions [2], got shape [3, 4]
func.func @gather_batch(%table: tensor<2x6xf32>, %i: tensor<3x4xi64>) {
  %0 = "mir.gather"(%table, %i) <{axis = 1 : i64, batch_dims = 1 : i64}> : (tensor<2x6xf32>, tensor<3x4xi64>) -> tensor<2x4xf32>
  func.return
}

// -----

// CHECK: updates of shape [4, 3] do not fit indices of shape [5]
func.func @scatter_add_shapes(%u: tensor<4x3xf32>, %i: tensor<5xi64>) {
  %0 = "mir.scatter_add"(%u, %i) <{axis = 0 : i64, batch_dims = 0 : i64, extent = 7 : i64}> : (tensor<4x3xf32>, tensor<5xi64>) -> tensor<7x3xf32>
  func.return
}

// -----

// CHECK: cannot add updates of shape [4, 3] to shape [8, 3]
func.func @index_add_longer(%x: tensor<8x3xf32>, %u: tensor<4x3xf32>, %i: tensor<4xi64>) {
  %0 = "mir.index_add"(%x, %u, %i) <{axis = 0 : i64, batch_dims = 0 : i64, extent = 7 : i64}> : (tensor<8x3xf32>, tensor<4x3xf32>, tensor<4xi64>) -> tensor<8x3xf32>
  func.return
}

// -----

// CHECK: cannot add updates of shape [4, 3] to shape [7]
func.func @index_add_rank(%x: tensor<7xf32>, %u: tensor<4x3xf32>, %i: tensor<4xi64>) {
  %0 = "mir.index_add"(%x, %u, %i) <{axis = 0 : i64, batch_dims = 0 : i64, extent = 7 : i64}> : (tensor<7xf32>, tensor<4x3xf32>, tensor<4xi64>) -> tensor<7xf32>
  func.return
}
