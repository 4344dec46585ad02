// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @positions() {
// CHECK-NEXT: %line = mir.iota axis 0 : tensor<4xi64>
// CHECK-NEXT: %columns = mir.iota axis -1 : tensor<2x3xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
// GENERIC: "mir.iota"() <{axis = 0 : i64}>
func.func @positions() {
  %line = mir.iota axis 0 : tensor<4xi64>
  %columns = mir.iota axis -1 : tensor<2x3xf32>
  func.return
}
