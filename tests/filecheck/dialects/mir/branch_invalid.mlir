// RUN: DIAGNOSTICS

// CHECK: expected a predicate of type tensor<i1>, got tensor<1xi1>
%p = "test.op"() : () -> tensor<1xi1>
mir.if %p : tensor<1xi1> -> () {
  mir.yield
} else {
  mir.yield
}

// -----

// CHECK: the other branch yields 0 values for 1 results
%p, %x = "test.op"() : () -> (tensor<i1>, tensor<f32>)
%0 = mir.if %p : tensor<i1> captured(%x : tensor<f32>) -> (tensor<f32>) {
^bb0(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
} else {
^bb1(%a: tensor<f32>):
  mir.yield
}

// -----

// CHECK: result 0 is tensor<f32>, the other branch yields tensor<f64>
%p, %x, %y = "test.op"() : () -> (tensor<i1>, tensor<f32>, tensor<f64>)
%0 = mir.if %p : tensor<i1> captured(%x, %y : tensor<f32>, tensor<f64>) -> (tensor<f32>) {
^bb0(%a: tensor<f32>, %b: tensor<f64>):
  mir.yield %a : tensor<f32>
} else {
^bb1(%a: tensor<f32>, %b: tensor<f64>):
  mir.yield %b : tensor<f64>
}

// -----

// CHECK: captured 0 is tensor<f32>, the first branch takes tensor<f64>
%p, %x = "test.op"() : () -> (tensor<i1>, tensor<f32>)
mir.if %p : tensor<i1> captured(%x : tensor<f32>) -> () {
^bb0(%a: tensor<f64>):
  mir.yield
} else {
^bb1(%a: tensor<f32>):
  mir.yield
}

// -----

// CHECK: the other branch has 0 arguments for 1 operands
%p, %x = "test.op"() : () -> (tensor<i1>, tensor<f32>)
mir.if %p : tensor<i1> captured(%x : tensor<f32>) -> () {
^bb0(%a: tensor<f32>):
  mir.yield
} else {
  mir.yield
}

// -----

// CHECK: expected a mir.yield at the end of the first branch
%p = "test.op"() : () -> tensor<i1>
mir.if %p : tensor<i1> -> () {
  "test.termop"() : () -> ()
} else {
  mir.yield
}

// -----

// CHECK: expected an index that is an integer of rank 0, got tensor<f32>
%i = "test.op"() : () -> tensor<f32>
mir.switch %i : tensor<f32> -> () {
  mir.yield
}

// -----

// CHECK: expected at least one branch
%i = "test.op"() : () -> tensor<i32>
"mir.switch"(%i) : (tensor<i32>) -> ()

// -----

// CHECK: branch 1 yields 1 values for 0 results
%i, %x = "test.op"() : () -> (tensor<i32>, tensor<f32>)
mir.switch %i : tensor<i32> captured(%x : tensor<f32>) -> () {
^bb0(%a: tensor<f32>):
  mir.yield
} {
^bb1(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
}

// -----

// CHECK: branch 1 has 1 arguments for 0 operands
%i = "test.op"() : () -> tensor<i32>
mir.switch %i : tensor<i32> -> () {
  mir.yield
} {
^bb1(%a: tensor<f32>):
  mir.yield
}

// -----

// CHECK: expected max_iterations from 0 to 2147483647, got -1
%n = mir.while max_iterations -1 -> () {
  %p = mir.constant dense<false> : tensor<i1>
  mir.yield %p : tensor<i1>
} do {
  mir.yield
}

// -----

// CHECK: expected a condition that yields one tensor<i1>, got tensor<f32>
%x = "test.op"() : () -> tensor<f32>
%0, %n = mir.while carries(%x : tensor<f32>) -> (tensor<f32>) {
^bb0(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
} do {
^bb1(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
}

// -----

// CHECK: expected a condition that yields one tensor<i1>, got nothing
%n = mir.while -> () {
  mir.yield
} do {
  mir.yield
}

// -----

// CHECK: carry 0 is tensor<f32>, the condition takes tensor<f64>
%x = "test.op"() : () -> tensor<f32>
%0, %n = mir.while carries(%x : tensor<f32>) -> (tensor<f32>) {
^bb0(%a: tensor<f64>):
  mir.yield %a : tensor<f64>
} do {
^bb1(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
}

// -----

// CHECK: carry 0 is tensor<f32>, the body yields tensor<f64>
%x, %y = "test.op"() : () -> (tensor<f32>, tensor<f64>)
%0, %n = mir.while carries(%x : tensor<f32>) captured(%y : tensor<f64>) -> (tensor<f32>) {
^bb0(%a: tensor<f32>, %b: tensor<f64>):
  %p = mir.lt %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
  mir.yield %p : tensor<i1>
} do {
^bb1(%a: tensor<f32>, %b: tensor<f64>):
  mir.yield %b : tensor<f64>
}

// -----

// CHECK: carry 0 is tensor<f32>, its result tensor<f64>
%x = "test.op"() : () -> tensor<f32>
%0, %n = mir.while carries(%x : tensor<f32>) -> (tensor<f64>) {
^bb0(%a: tensor<f32>):
  %p = mir.lt %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
  mir.yield %p : tensor<i1>
} do {
^bb1(%a: tensor<f32>):
  mir.yield %a : tensor<f32>
}

// -----

// CHECK: the body yields 2 values for 1 carries and 1 results
%x = "test.op"() : () -> tensor<f32>
%0, %n = mir.while carries(%x : tensor<f32>) -> (tensor<f32>) {
^bb0(%a: tensor<f32>):
  %p = mir.lt %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
  mir.yield %p : tensor<i1>
} do {
^bb1(%a: tensor<f32>):
  mir.yield %a, %a : tensor<f32>, tensor<f32>
}

// -----

// CHECK: result 0 is tensor<f32>, the body yields tensor<f64>
%x = "test.op"() : () -> tensor<f64>
%0 = mir.remat captured(%x : tensor<f64>) -> (tensor<f32>) {
^bb0(%a: tensor<f64>):
  mir.yield %a : tensor<f64>
}
