// RUN: xdsl-opt %s -t stablehlo | filecheck %s

// Generic form, as any MLIR parser with StableHLO reads it; numbers are exact.

// CHECK:      "builtin.module"() ({
// CHECK-NEXT:   "func.func"() <{sym_name = "main", function_type = (tensor<2xf32>) -> tensor<2xf32>}> ({
// CHECK-NEXT:   ^bb0(%x: tensor<2xf32>):
// CHECK-NEXT:     %c = "stablehlo.constant"() {value = dense<"0x0000807F0000C07F"> : tensor<2xf32>} : () -> tensor<2xf32>
// CHECK-NEXT:     %0 = "stablehlo.minimum"(%x, %c) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:     "func.return"(%0) : (tensor<2xf32>) -> ()
func.func @f(%x: tensor<2xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<2xf32> {
  %c = mir.constant dense<[0x7F800000, 0x7FC00000]> : tensor<2xf32>
  %0 = mir.min %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
