// RUN: xdsl-opt %s --disable-verify | filecheck %s

// Without verification, because nobody registers the name here; registered ones are in tests/face/test_custom.py.

// CHECK-LABEL: func.func @custom(%x: tensor<2x3xf32>, %i: tensor<2xi32>) {
// CHECK-NEXT: %y = mir.custom "acme.square"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %u, %v = mir.custom "acme.split"(%x, %i) options {axis = 1 : i64, mode = "fast"} : (tensor<2x3xf32>, tensor<2xi32>) -> (tensor<2xf32>, tensor<2x2xf32>)
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @custom(%x: tensor<2x3xf32>, %i: tensor<2xi32>) {
  %y = mir.custom "acme.square"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u, %v = mir.custom "acme.split"(%x, %i) options {axis = 1 : i64, mode = "fast"} : (tensor<2x3xf32>, tensor<2xi32>) -> (tensor<2xf32>, tensor<2x2xf32>)
  func.return
}

