// RUN: xdsl-opt %s -p mir-fuse-gaussian-splat --split-input-file --verify-diagnostics | filecheck %s

// Splats that are prepared for one picture.

// CHECK-LABEL: func.func @fused(%p: tensor<6xf32>, %s: tensor<6xf32>, %q: tensor<8xf32>, %o: tensor<2xf32>, %c: tensor<6xf32>, %sh: tensor<24xf32>, %m: tensor<15xf32>) -> tensor<48xf32> {
// CHECK-NEXT: %y = mir.gaussian_splat_render %p, %s, %q, %o, %c, %sh, %m radius_scale 1.500000e+00 width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 2.200000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> tensor<48xf32>
// CHECK-NEXT: func.return %y : tensor<48xf32>
// CHECK-NEXT: }
func.func @fused(%p: tensor<6xf32>, %s: tensor<6xf32>, %q: tensor<8xf32>, %o: tensor<2xf32>, %c: tensor<6xf32>, %sh: tensor<24xf32>, %m: tensor<15xf32>) -> tensor<48xf32> {
  %u, %a, %t, %k = mir.gaussian_splat_prepare %p, %s, %q, %o, %c, %sh, %m radius_scale 1.500000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>)
  %y = mir.gaussian_splat_rasterize %u, %a, %t, %k, %m width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 2.200000e+00 : (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<15xf32>) -> tensor<48xf32>
  func.return %y : tensor<48xf32>
}

// -----

// What is prepared has another use.
// CHECK-LABEL: func.func @used_twice(%p: tensor<6xf32>, %s: tensor<6xf32>, %q: tensor<8xf32>, %o: tensor<2xf32>, %c: tensor<6xf32>, %sh: tensor<24xf32>, %m: tensor<15xf32>) -> (tensor<48xf32>, tensor<2x3xf32>) {
// CHECK-NEXT: %u, %a, %t, %k = mir.gaussian_splat_prepare %p, %s, %q, %o, %c, %sh, %m radius_scale 1.500000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>)
// CHECK-NEXT: %y = mir.gaussian_splat_rasterize %u, %a, %t, %k, %m width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 2.200000e+00 : (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<15xf32>) -> tensor<48xf32>
// CHECK-NEXT: func.return %y, %t : tensor<48xf32>, tensor<2x3xf32>
// CHECK-NEXT: }
func.func @used_twice(%p: tensor<6xf32>, %s: tensor<6xf32>, %q: tensor<8xf32>, %o: tensor<2xf32>, %c: tensor<6xf32>, %sh: tensor<24xf32>, %m: tensor<15xf32>) -> (tensor<48xf32>, tensor<2x3xf32>) {
  %u, %a, %t, %k = mir.gaussian_splat_prepare %p, %s, %q, %o, %c, %sh, %m radius_scale 1.500000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>)
  %y = mir.gaussian_splat_rasterize %u, %a, %t, %k, %m width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 2.200000e+00 : (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<15xf32>) -> tensor<48xf32>
  func.return %y, %t : tensor<48xf32>, tensor<2x3xf32>
}

// -----

// The picture is that of another camera.
// CHECK-LABEL: func.func @other_camera(%p: tensor<6xf32>, %s: tensor<6xf32>, %q: tensor<8xf32>, %o: tensor<2xf32>, %c: tensor<6xf32>, %sh: tensor<24xf32>, %m: tensor<15xf32>, %n: tensor<15xf32>) -> tensor<48xf32> {
// CHECK-NEXT: %u, %a, %t, %k = mir.gaussian_splat_prepare %p, %s, %q, %o, %c, %sh, %m radius_scale 1.500000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>)
// CHECK-NEXT: %y = mir.gaussian_splat_rasterize %u, %a, %t, %k, %n width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 2.200000e+00 : (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<15xf32>) -> tensor<48xf32>
// CHECK-NEXT: func.return %y : tensor<48xf32>
// CHECK-NEXT: }
func.func @other_camera(%p: tensor<6xf32>, %s: tensor<6xf32>, %q: tensor<8xf32>, %o: tensor<2xf32>, %c: tensor<6xf32>, %sh: tensor<24xf32>, %m: tensor<15xf32>, %n: tensor<15xf32>) -> tensor<48xf32> {
  %u, %a, %t, %k = mir.gaussian_splat_prepare %p, %s, %q, %o, %c, %sh, %m radius_scale 1.500000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>)
  %y = mir.gaussian_splat_rasterize %u, %a, %t, %k, %n width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 2.200000e+00 : (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<15xf32>) -> tensor<48xf32>
  func.return %y : tensor<48xf32>
}

// -----

// The origins take the place of the tints.
// CHECK-LABEL: func.func @other_parts(%p: tensor<6xf32>, %s: tensor<6xf32>, %q: tensor<8xf32>, %o: tensor<2xf32>, %c: tensor<6xf32>, %sh: tensor<24xf32>, %m: tensor<15xf32>) -> tensor<48xf32> {
// CHECK-NEXT: %u, %a, %t, %k = mir.gaussian_splat_prepare %p, %s, %q, %o, %c, %sh, %m radius_scale 1.500000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>)
// CHECK-NEXT: %y = mir.gaussian_splat_rasterize %t, %a, %u, %k, %m width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 2.200000e+00 : (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<15xf32>) -> tensor<48xf32>
// CHECK-NEXT: func.return %y : tensor<48xf32>
// CHECK-NEXT: }
func.func @other_parts(%p: tensor<6xf32>, %s: tensor<6xf32>, %q: tensor<8xf32>, %o: tensor<2xf32>, %c: tensor<6xf32>, %sh: tensor<24xf32>, %m: tensor<15xf32>) -> tensor<48xf32> {
  %u, %a, %t, %k = mir.gaussian_splat_prepare %p, %s, %q, %o, %c, %sh, %m radius_scale 1.500000e+00 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>)
  %y = mir.gaussian_splat_rasterize %t, %a, %u, %k, %m width 4 height 3 alpha_cutoff 1.000000e-02 transmittance_threshold 1.000000e-02 gamma 2.200000e+00 : (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<15xf32>) -> tensor<48xf32>
  func.return %y : tensor<48xf32>
}
