// RUN: not xdsl-opt %s --allow-unregistered-dialect -p convert-stablehlo-to-mir 2>&1 | filecheck %s

// CHECK: stablehlo.constant in @infinite, at {{.*}}: the constant 4286578688.0 is the bits of an infinity or a NaN
// CHECK-SAME: `python -m xdsl_rlx.frontends model.mlir`
func.func @infinite() -> tensor<f32> {
  %0 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
  func.return %0 : tensor<f32>
}
