// RUN: xdsl-opt %s -p mir-emit-vjp --split-input-file | filecheck %s

// The vjp rules of the family splat.

// CHECK-LABEL: func.func @gaussian_splat_render(%p: tensor<6xf32>, %s: tensor<6xf32>, %q: tensor<8xf32>, %o: tensor<2xf32>, %c: tensor<6xf32>, %sh: tensor<24xf32>, %m: tensor<15xf32>, %y: tensor<48xf32>, %g: tensor<48xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>) {
// CHECK-NEXT: %d, %d_1, %d_2, %d_3, %d_4, %d_5 = mir.gaussian_splat_render_backward %p, %s, %q, %o, %c, %sh, %m, %g radius_scale 1.500000e+00 width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 2.200000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>, tensor<48xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>)
// CHECK-NEXT: func.return %d, %d_1, %d_2, %d_3, %d_4, %d_5 : tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>
// CHECK-NEXT: }
func.func @gaussian_splat_render(%p: tensor<6xf32>, %s: tensor<6xf32>, %q: tensor<8xf32>, %o: tensor<2xf32>, %c: tensor<6xf32>, %sh: tensor<24xf32>, %m: tensor<15xf32>, %y: tensor<48xf32>, %g: tensor<48xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>) {
  %d:6 = mir.vjp primals(%p, %s, %q, %o, %c, %sh, %m : tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) outputs(%y : tensor<48xf32>) cotangents(%g : tensor<48xf32>) of [0] wrt [0, 1, 2, 3, 4, 5] -> tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32> {
  ^bb0(%0: tensor<6xf32>, %1: tensor<6xf32>, %2: tensor<8xf32>, %3: tensor<2xf32>, %4: tensor<6xf32>, %5: tensor<24xf32>, %6: tensor<15xf32>):
    %7 = mir.gaussian_splat_render %0, %1, %2, %3, %4, %5, %6 radius_scale 1.500000e+00 width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 2.200000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> tensor<48xf32>
    mir.yield %7 : tensor<48xf32>
  }
  func.return %d#0, %d#1, %d#2, %d#3, %d#4, %d#5 : tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>
}
