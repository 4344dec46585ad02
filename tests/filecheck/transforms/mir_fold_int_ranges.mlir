// RUN: xdsl-opt %s -p mir-fold-int-ranges | filecheck %s

// Positions of an axis need no bounds.
// CHECK-LABEL: func.func @positions(
// CHECK-NEXT: %i = mir.iota axis 0 : tensor<4xi64>
// CHECK-NEXT: %y = mir.gather %x, %i
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @positions(%x: tensor<4xf32>) -> tensor<4xf32> {
  %i = mir.iota axis 0 : tensor<4xi64>
  %zero = mir.constant dense<0> : tensor<i64>
  %three = mir.constant dense<3> : tensor<i64>
  %above = mir.max %i, %zero : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %inside = mir.min %above, %three : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %y = mir.gather %x, %inside axis 0 batch_dims 0 : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// Bits under a mask are a shift in range, and its check is true.
// CHECK-LABEL: func.func @shifted(
// CHECK: %by = mir.and
// CHECK-NEXT: %shifted = mir.shift_right_logical %x, %by
// CHECK-NEXT: func.return %shifted : tensor<4xi32>
func.func @shifted(%x: tensor<4xi32>, %n: tensor<4xi32>) -> tensor<4xi32> {
  %mask = mir.constant dense<31> : tensor<i32>
  %zero = mir.constant dense<0> : tensor<i32>
  %width = mir.constant dense<32> : tensor<i32>
  %by = mir.and %n, %mask : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %positive = mir.ge %by, %zero : (tensor<4xi32>, tensor<i32>) -> tensor<4xi1>
  %small = mir.lt %by, %width : (tensor<4xi32>, tensor<i32>) -> tensor<4xi1>
  %inside = mir.and %positive, %small : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %shifted = mir.shift_right_logical %x, %by : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %y = mir.where %inside, %shifted, %zero : (tensor<4xi1>, tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  func.return %y : tensor<4xi32>
}

// A carry that starts in a range, and that the body keeps in it, stays in it; any integer may be out of it.
// CHECK-LABEL: func.func @carried(
// CHECK-NOT: mir.max
// CHECK: mir.yield
// CHECK: mir.max
func.func @carried(%order: tensor<3xi64>) -> (tensor<3xi64>, tensor<3xi64>) {
  %start = mir.iota axis 0 : tensor<3xi64>
  %last = mir.scan 5 carries(%start : tensor<3xi64>) captured(%order : tensor<3xi64>) -> (tensor<3xi64>) {
  ^bb0(%before: tensor<3xi64>, %at: tensor<3xi64>):
    %zero = mir.constant dense<0> : tensor<i64>
    %after = mir.gather %before, %at axis 0 batch_dims 0 : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
    %positive = mir.max %after, %zero : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
    mir.yield %positive : tensor<3xi64>
  }
  %zero = mir.constant dense<0> : tensor<i64>
  %any = mir.max %order, %zero : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
  func.return %last, %any : tensor<3xi64>, tensor<3xi64>
}
