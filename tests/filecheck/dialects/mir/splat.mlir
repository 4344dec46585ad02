// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @splat(%p: tensor<6xf32>, %s: tensor<6xf32>, %q: tensor<8xf32>, %o: tensor<2xf32>, %c: tensor<6xf32>, %sh: tensor<24xf32>, %m: tensor<15xf32>, %g: tensor<48xf32>) {
// CHECK-NEXT: %y = mir.gaussian_splat_render %p, %s, %q, %o, %c, %sh, %m radius_scale 1.600000e+00 width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 1.000000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> tensor<48xf32>
// CHECK-NEXT: %d, %d_1, %d_2, %d_3, %d_4, %d_5 = mir.gaussian_splat_render_backward %p, %s, %q, %o, %c, %sh, %m, %g radius_scale 1.600000e+00 width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 1.000000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>, tensor<48xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>)
// CHECK-NEXT: %e, %e_1, %e_2, %e_3, %e_4, %e_5 = mir.gaussian_splat_render_backward %p, %s, %q, %o, %c, %sh, %m, %g radius_scale 1.600000e+00 width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 1.000000e+00 loss_grad_clip 1.000000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>, tensor<48xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>)
// CHECK-NEXT: %u, %a, %t, %k = mir.gaussian_splat_prepare %p, %s, %q, %o, %c, %sh, %m radius_scale 1.600000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>)
// CHECK-NEXT: %z = mir.gaussian_splat_rasterize %u, %a, %t, %k, %m width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 1.000000e+00 : (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<15xf32>) -> tensor<48xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @splat(%p: tensor<6xf32>, %s: tensor<6xf32>, %q: tensor<8xf32>, %o: tensor<2xf32>, %c: tensor<6xf32>, %sh: tensor<24xf32>, %m: tensor<15xf32>, %g: tensor<48xf32>) {
  %y = mir.gaussian_splat_render %p, %s, %q, %o, %c, %sh, %m radius_scale 1.600000e+00 width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 1.000000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> tensor<48xf32>
  %d:6 = mir.gaussian_splat_render_backward %p, %s, %q, %o, %c, %sh, %m, %g radius_scale 1.600000e+00 width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 1.000000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>, tensor<48xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>)
  %e:6 = mir.gaussian_splat_render_backward %p, %s, %q, %o, %c, %sh, %m, %g radius_scale 1.600000e+00 width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 1.000000e+00 loss_grad_clip 1.000000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>, tensor<48xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>)
  %u, %a, %t, %k = mir.gaussian_splat_prepare %p, %s, %q, %o, %c, %sh, %m radius_scale 1.600000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>)
  %z = mir.gaussian_splat_rasterize %u, %a, %t, %k, %m width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 1.000000e+00 : (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<15xf32>) -> tensor<48xf32>
  func.return
}

// GENERIC: "mir.gaussian_splat_render"(%{{.*}}) <{radius_scale = 1.600000e+00 : f64, width = 4 : i64, height = 3 : i64
