// RUN: xdsl-opt %s -p mir-slice-gathers,mir-canonicalize --split-input-file | filecheck %s

// Frames of 24 every 16, whose negative places would count from the end: there are none.
// CHECK-LABEL: func.func @frames
// CHECK-NOT: mir.gather
// CHECK: %{{.*}} = mir.narrow %x axis 0 start 2 len 56
// CHECK: %{{.*}} = mir.concat %{{.*}}, %{{.*}} axis -1 : (tensor<3x16xf32>, tensor<3x8xf32>) -> tensor<3x24xf32>
func.func @frames(%x: tensor<60xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3x24xf32> {
  %starts = mir.constant dense<[[2], [18], [34]]> : tensor<3x1xi32>
  %steps = mir.iota axis 1 : tensor<1x24xi32>
  %zero = mir.constant dense<0> : tensor<i32>
  %n = mir.constant dense<60> : tensor<i32>
  %at = mir.add %starts, %steps : (tensor<3x1xi32>, tensor<1x24xi32>) -> tensor<3x24xi32>
  %below = mir.lt %at, %zero : (tensor<3x24xi32>, tensor<i32>) -> tensor<3x24xi1>
  %back = mir.add %at, %n : (tensor<3x24xi32>, tensor<i32>) -> tensor<3x24xi32>
  %wrapped = mir.where %below, %back, %at : (tensor<3x24xi1>, tensor<3x24xi32>, tensor<3x24xi32>) -> tensor<3x24xi32>
  %wide = mir.cast %wrapped : tensor<3x24xi32> to tensor<3x24xi64>
  %y = mir.gather %x, %wide axis 0 batch_dims 0 : (tensor<60xf32>, tensor<3x24xi64>) -> tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}

// -----

// Windows of rows, the window's places first.
// CHECK-LABEL: func.func @rows
// CHECK-NOT: mir.gather
// CHECK: mir.transpose %{{.*}} perm [1, 0, 2]
func.func @rows(%x: tensor<9x8xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x3x8xf32> {
  %starts = mir.constant dense<[[0, 2, 4]]> : tensor<1x3xi64>
  %steps = mir.iota axis 0 : tensor<4x3xi64>
  %at = mir.add %steps, %starts : (tensor<4x3xi64>, tensor<1x3xi64>) -> tensor<4x3xi64>
  %y = mir.gather %x, %at axis 0 batch_dims 0 : (tensor<9x8xf32>, tensor<4x3xi64>) -> tensor<4x3x8xf32>
  func.return %y : tensor<4x3x8xf32>
}

// -----

// Every third element.
// CHECK-LABEL: func.func @strided
// CHECK-NOT: mir.gather
func.func @strided(%x: tensor<12xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4xf32> {
  %i = mir.iota axis 0 : tensor<4xi64>
  %three = mir.constant dense<3> : tensor<i64>
  %at = mir.mul %i, %three : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %y = mir.gather %x, %at axis 0 batch_dims 0 : (tensor<12xf32>, tensor<4xi64>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// Places out of range are clamped, which slices are not; short windows stay, and so do places that do not rise evenly.
// CHECK-LABEL: func.func @kept
// CHECK-COUNT-3: mir.gather
func.func @kept(%x: tensor<12xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<4xf32>, tensor<5x3xf32>, tensor<2x2xf32>) {
  %i = mir.iota axis 0 : tensor<4xi64>
  %four = mir.constant dense<4> : tensor<i64>
  %far = mir.mul %i, %four : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %a = mir.gather %x, %far axis 0 batch_dims 0 : (tensor<12xf32>, tensor<4xi64>) -> tensor<4xf32>
  %j = mir.iota axis 0 : tensor<5x3xi64>
  %k = mir.iota axis 1 : tensor<5x3xi64>
  %near = mir.add %j, %k : (tensor<5x3xi64>, tensor<5x3xi64>) -> tensor<5x3xi64>
  %b = mir.gather %x, %near axis 0 batch_dims 0 : (tensor<12xf32>, tensor<5x3xi64>) -> tensor<5x3xf32>
  %odd = mir.constant dense<[[0, 1], [5, 7]]> : tensor<2x2xi64>
  %c = mir.gather %x, %odd axis 0 batch_dims 0 : (tensor<12xf32>, tensor<2x2xi64>) -> tensor<2x2xf32>
  func.return %a, %b, %c : tensor<4xf32>, tensor<5x3xf32>, tensor<2x2xf32>
}
