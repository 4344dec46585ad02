// RUN: DIAGNOSTICS

// CHECK: the forward has 0 arguments for 1 operands
%x = "test.op"() : () -> tensor<f32>
mir.custom_fn inputs(%x : tensor<f32>) -> () {
  mir.yield
}

// -----

// CHECK: input 0 is tensor<f32>, the forward takes tensor<f64>
%x = "test.op"() : () -> tensor<f32>
mir.custom_fn inputs(%x : tensor<f32>) -> () {
^bb0(%a: tensor<f64>):
  mir.yield
}

// -----

// CHECK: captured 0 is tensor<f32>, the forward takes tensor<f64>
%x = "test.op"() : () -> tensor<f32>
mir.custom_fn captured(%x : tensor<f32>) -> () {
^bb0(%a: tensor<f64>):
  mir.yield
}

// -----

// CHECK: the forward yields 1 values for 0 results
%x = "test.op"() : () -> tensor<f32>
mir.custom_fn inputs(%x : tensor<f32>) -> () {
^bb0(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
}

// -----

// CHECK: result 0 is tensor<f64>, the forward yields tensor<f32>
%x = "test.op"() : () -> tensor<f32>
%0 = mir.custom_fn inputs(%x : tensor<f32>) -> (tensor<f64>) {
^bb0(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
}

// -----

// CHECK: expected a mir.yield at the end of the forward
%x = "test.op"() : () -> tensor<f32>
mir.custom_fn inputs(%x : tensor<f32>) -> () {
^bb0(%a: tensor<f32>):
  "test.termop"() : () -> ()
}

// -----

// CHECK: the vjp has 2 arguments for 1 operands, 1 results and 1 cotangents
%x = "test.op"() : () -> tensor<f32>
%0 = mir.custom_fn inputs(%x : tensor<f32>) -> (tensor<f32>) {
^bb0(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
} vjp {
^bb1(%a: tensor<f32>, %y: tensor<f32>):
  mir.yield %a : tensor<f32>
}

// -----

// CHECK: result 0 is tensor<f32>, the vjp takes tensor<f64>
%x = "test.op"() : () -> tensor<f32>
%0 = mir.custom_fn inputs(%x : tensor<f32>) -> (tensor<f32>) {
^bb0(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
} vjp {
^bb1(%a: tensor<f32>, %y: tensor<f64>, %d: tensor<f32>):
  mir.yield %a : tensor<f32>
}

// -----

// CHECK: the cotangent of result 0 is tensor<f32>, the vjp takes tensor<f64>
%x = "test.op"() : () -> tensor<f32>
%0 = mir.custom_fn inputs(%x : tensor<f32>) -> (tensor<f32>) {
^bb0(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
} vjp {
^bb1(%a: tensor<f32>, %y: tensor<f32>, %d: tensor<f64>):
  mir.yield %a : tensor<f32>
}

// -----

// CHECK: input 0 is tensor<f32>, the vjp takes tensor<f64>
%x = "test.op"() : () -> tensor<f32>
%0 = mir.custom_fn inputs(%x : tensor<f32>) -> (tensor<f32>) {
^bb0(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
} vjp {
^bb1(%a: tensor<f64>, %y: tensor<f32>, %d: tensor<f32>):
  mir.yield %d : tensor<f32>
}

// -----

// CHECK: the vjp yields 0 values for 1 floating-point inputs
%x = "test.op"() : () -> tensor<f32>
%0 = mir.custom_fn inputs(%x : tensor<f32>) -> (tensor<f32>) {
^bb0(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
} vjp {
^bb1(%a: tensor<f32>, %y: tensor<f32>, %d: tensor<f32>):
  mir.yield
}

// -----

// CHECK: the vjp yields 2 values for 1 floating-point inputs
%x, %n = "test.op"() : () -> (tensor<f32>, tensor<i32>)
%0 = mir.custom_fn inputs(%x, %n : tensor<f32>, tensor<i32>) -> (tensor<f32>) {
^bb0(%a: tensor<f32>, %k: tensor<i32>):
  mir.yield %a : tensor<f32>
} vjp {
^bb1(%a: tensor<f32>, %k: tensor<i32>, %y: tensor<f32>, %d: tensor<f32>):
  mir.yield %d, %k : tensor<f32>, tensor<i32>
}

// -----

// CHECK: input 0 is tensor<f32>, the vjp yields tensor<i32> for it
%x, %n = "test.op"() : () -> (tensor<f32>, tensor<i32>)
%0 = mir.custom_fn inputs(%x, %n : tensor<f32>, tensor<i32>) -> (tensor<f32>) {
^bb0(%a: tensor<f32>, %k: tensor<i32>):
  mir.yield %a : tensor<f32>
} vjp {
^bb1(%a: tensor<f32>, %k: tensor<i32>, %y: tensor<f32>, %d: tensor<f32>):
  mir.yield %k : tensor<i32>
}

// -----

// CHECK: the jvp has 1 arguments for 1 operands and 1 tangents
%x = "test.op"() : () -> tensor<f32>
%0 = mir.custom_fn inputs(%x : tensor<f32>) -> (tensor<f32>) {
^bb0(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
} jvp {
^bb1(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
}

// -----

// CHECK: the tangent of input 0 is tensor<f32>, the jvp takes tensor<f64>
%x = "test.op"() : () -> tensor<f32>
%0 = mir.custom_fn inputs(%x : tensor<f32>) -> (tensor<f32>) {
^bb0(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
} jvp {
^bb1(%a: tensor<f32>, %t: tensor<f64>):
  mir.yield %a : tensor<f32>
}

// -----

// CHECK: the jvp yields 0 values for 1 floating-point results
%x = "test.op"() : () -> tensor<f32>
%0 = mir.custom_fn inputs(%x : tensor<f32>) -> (tensor<f32>) {
^bb0(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
} jvp {
^bb1(%a: tensor<f32>, %t: tensor<f32>):
  mir.yield
}

// -----

// CHECK: result 1 is tensor<f32>, the jvp yields tensor<i32> for it
%x, %n = "test.op"() : () -> (tensor<f32>, tensor<i32>)
%0, %1 = mir.custom_fn inputs(%x, %n : tensor<f32>, tensor<i32>) -> (tensor<i32>, tensor<f32>) {
^bb0(%a: tensor<f32>, %k: tensor<i32>):
  mir.yield %k, %a : tensor<i32>, tensor<f32>
} jvp {
^bb1(%a: tensor<f32>, %k: tensor<i32>, %t: tensor<f32>):
  mir.yield %k : tensor<i32>
}
