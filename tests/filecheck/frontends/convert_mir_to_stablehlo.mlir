// RUN: xdsl-opt %s -p convert-mir-to-stablehlo --split-input-file --verify-diagnostics | filecheck %s

// Operands broadcast as in NumPy; a param is an argument.

// CHECK-LABEL: func.func @main(%x: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT: %c = "stablehlo.constant"() {value = dense<2.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %0 = "stablehlo.broadcast_in_dim"(%c) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT: %1 = "stablehlo.broadcast_in_dim"(%b) {broadcast_dimensions = array<i64: 1>} : (tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %2 = "stablehlo.add"(%x, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %3 = "stablehlo.multiply"(%2, %0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %3 : tensor<2x3xf32>
func.func @f(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}, %b: tensor<3xf32> {mir.name = "b", mir.kind = "param"}) -> tensor<2x3xf32> {
  %c = mir.constant dense<2.0> : tensor<f32>
  %0 = mir.add %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = mir.mul %0, %c : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// -----

// An elementwise op without an operation of its own is written by its scalar rule.

// CHECK-LABEL: func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT: %0 = "stablehlo.constant"() {value = dense<0.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %1 = "stablehlo.broadcast_in_dim"(%0) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT: %2 = "stablehlo.maximum"(%x, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %3 = "stablehlo.abs"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %4 = "stablehlo.negate"(%3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %5 = "stablehlo.exponential"(%4) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %6 = "stablehlo.log_plus_one"(%5) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %7 = "stablehlo.add"(%2, %6) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %7 : tensor<2x3xf32>
func.func @f(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<2x3xf32> {
  %0 = mir.softplus %x : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// Floats as integers.

// CHECK-LABEL: func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xi32> {
// CHECK-NEXT: %0 = "stablehlo.convert"(%x) : (tensor<2x3xf32>) -> tensor<2x3xi32>
// CHECK-NEXT: func.return %0 : tensor<2x3xi32>
func.func @f(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<2x3xi32> {
  %0 = mir.cast %x : tensor<2x3xf32> to tensor<2x3xi32>
  func.return %0 : tensor<2x3xi32>
}

// -----

// A scan is a while with a counter, slices of its inputs, and stacks of its results.

// CHECK-LABEL: func.func @main(%c: tensor<3xf32>, %x: tensor<5x3xf32>, %w: tensor<3xf32>) -> (tensor<3xf32>, tensor<5x3xf32>) {
// CHECK-NEXT: %0 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
// CHECK-NEXT: %1 = "stablehlo.constant"() {value = dense<0.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %2 = "stablehlo.broadcast_in_dim"(%1) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<5x3xf32>
// CHECK-NEXT: %3, %4, %5 = "stablehlo.while"(%0, %c, %2) ({
// CHECK-NEXT: ^bb0(%6: tensor<i32>, %7: tensor<3xf32>, %8: tensor<5x3xf32>):
// CHECK-NEXT: %9 = "stablehlo.constant"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
// CHECK-NEXT: %10 = "stablehlo.compare"(%6, %9) {comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type SIGNED>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK-NEXT: "stablehlo.return"(%10) : (tensor<i1>) -> ()
// CHECK-NEXT: }, {
// CHECK-NEXT: ^bb0(%11: tensor<i32>, %12: tensor<3xf32>, %13: tensor<5x3xf32>):
// CHECK-NEXT: %14 = "stablehlo.constant"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
// CHECK-NEXT: %15 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
// CHECK-NEXT: %16 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
// CHECK-NEXT: %17 = "stablehlo.subtract"(%14, %11) : (tensor<i32>, tensor<i32>) -> tensor<i32>
// CHECK-NEXT: %18 = "stablehlo.subtract"(%17, %15) : (tensor<i32>, tensor<i32>) -> tensor<i32>
// CHECK-NEXT: %19 = "stablehlo.dynamic_slice"(%x, %18, %16) {slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
// CHECK-NEXT: %20 = "stablehlo.reshape"(%19) : (tensor<1x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %21 = "stablehlo.multiply"(%12, %w) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %22 = "stablehlo.add"(%21, %20) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %23 = "stablehlo.reshape"(%21) : (tensor<3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %24 = "stablehlo.dynamic_update_slice"(%13, %23, %18, %16) : (tensor<5x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x3xf32>
// CHECK-NEXT: %25 = "stablehlo.add"(%11, %15) : (tensor<i32>, tensor<i32>) -> tensor<i32>
// CHECK-NEXT: "stablehlo.return"(%25, %22, %24) : (tensor<i32>, tensor<3xf32>, tensor<5x3xf32>) -> ()
// CHECK-NEXT: }) : (tensor<i32>, tensor<3xf32>, tensor<5x3xf32>) -> (tensor<i32>, tensor<3xf32>, tensor<5x3xf32>)
// CHECK-NEXT: func.return %4, %5 : tensor<3xf32>, tensor<5x3xf32>
func.func @f(%c: tensor<3xf32> {mir.name = "c", mir.kind = "input"}, %x: tensor<5x3xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<3xf32> {mir.name = "w", mir.kind = "input"}) -> (tensor<3xf32>, tensor<5x3xf32>) {
  %0, %1 = mir.scan 5 reverse carries(%c : tensor<3xf32>) over(%x : tensor<5x3xf32>) captured(%w : tensor<3xf32>) -> (tensor<3xf32>) stacked(tensor<5x3xf32>) {
  ^bb0(%s: tensor<3xf32>, %e: tensor<3xf32>, %v: tensor<3xf32>):
    %2 = mir.mul %s, %v : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %3 = mir.add %2, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    mir.yield %3, %2 : tensor<3xf32>, tensor<3xf32>
  }
  func.return %0, %1 : tensor<3xf32>, tensor<5x3xf32>
}

// -----

// Indices are clamped by the operation.

// CHECK-LABEL: func.func @main(%x: tensor<4x3xf32>, %i: tensor<2xi64>) -> tensor<2x3xf32> {
// CHECK-NEXT: %0 = "stablehlo.reshape"(%i) : (tensor<2xi64>) -> tensor<2x1xi64>
// CHECK-NEXT: %1 = "stablehlo.gather"(%x, %0) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false} : (tensor<4x3xf32>, tensor<2x1xi64>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %1 : tensor<2x3xf32>
func.func @f(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}, %i: tensor<2xi64> {mir.name = "i", mir.kind = "input"}) -> tensor<2x3xf32> {
  %0 = mir.gather %x, %i axis 0 batch_dims 0 : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// Ops that StableHLO has no operation for are errors that say so.

// CHECK: mir.rng_poisson cannot be written as StableHLO: it draws until a number is accepted
func.func @f(%k: tensor<2xi64> {mir.name = "k", mir.kind = "input"}, %x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xi64> {
  %0 = mir.rng_poisson %k, %x : (tensor<2xi64>, tensor<3xf32>) -> tensor<3xi64>
  func.return %0 : tensor<3xi64>
}
