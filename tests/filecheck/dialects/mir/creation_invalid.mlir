// RUN: DIAGNOSTICS

// CHECK: axis 1 is out of range for rank 1
%0 = mir.iota axis 1 : tensor<4xi64>

// -----

// CHECK: axis 0 is out of range for rank 0
%0 = mir.iota axis 0 : tensor<i64>

// -----

// CHECK: element type i1 is not supported; expected one of
%0 = mir.iota axis 0 : tensor<4xi1>
