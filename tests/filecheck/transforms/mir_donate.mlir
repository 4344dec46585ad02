// RUN: xdsl-opt %s -p 'mir-donate{arguments=w outputs=1}' --split-input-file --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p 'mir-donate{scratch=g}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix=SCRATCH

// CHECK-LABEL: func.func @step(%w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}, %g: tensor<3xf32> {mir.name = "g", mir.kind = "input"}) -> (tensor<f32>, tensor<3xf32> {mir.aliases_input = "w"}) {
// SCRATCH-LABEL: func.func @step(%w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}, %g: tensor<3xf32> {mir.name = "g", mir.kind = "input", mir.scratch}) -> (tensor<f32>, tensor<3xf32>) {
func.func @step(%w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}, %g: tensor<3xf32> {mir.name = "g", mir.kind = "input"}) -> (tensor<f32>, tensor<3xf32>) {
  %n = mir.reduce_sum %g axes [0] : (tensor<3xf32>) -> tensor<f32>
  %new = mir.sub %w, %g : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %n, %new : tensor<f32>, tensor<3xf32>
}

// -----

// SCRATCH: "g" of @unknown cannot be scratch memory: no such argument; arguments are x
// CHECK: result 1 of @unknown cannot overwrite "w": no such argument; arguments are x
func.func @unknown(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<3xf32>, tensor<3xf32>) {
  func.return %x, %x : tensor<3xf32>, tensor<3xf32>
}

// -----

// CHECK: result 1 of @other cannot overwrite "w": the result is tensor<f32>, the argument tensor<3xf32>
func.func @other(%w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}) -> (tensor<3xf32>, tensor<f32>) {
  %n = mir.reduce_sum %w axes [0] : (tensor<3xf32>) -> tensor<f32>
  func.return %w, %n : tensor<3xf32>, tensor<f32>
}

// -----

// CHECK: result 1 of @optional cannot overwrite "w": it is an optional argument
func.func @optional(%w: tensor<3xf32> {mir.name = "w", mir.kind = "input", mir.optional}) -> (tensor<3xf32>, tensor<3xf32>) {
  func.return %w, %w : tensor<3xf32>, tensor<3xf32>
}

// -----

// CHECK: @few has 1 results, got result number 1
func.func @few(%w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}) -> tensor<3xf32> {
  func.return %w : tensor<3xf32>
}

// -----

// CHECK: result 0 of @twice cannot overwrite "w": another result overwrites it
func.func @twice(%w: tensor<3xf32> {mir.name = "w", mir.kind = "param"}) -> (tensor<3xf32> {mir.aliases_input = "w"}, tensor<3xf32>) {
  func.return %w, %w : tensor<3xf32>, tensor<3xf32>
}
