// RUN: DIAGNOSTICS

// CHECK: element type f16 is not supported; expected one of f32, f64
%0:7 = "test.op"() : () -> (tensor<6xf16>, tensor<6xf16>, tensor<8xf16>, tensor<2xf16>, tensor<6xf16>, tensor<24xf16>, tensor<15xf16>)
%1 = mir.gaussian_splat_render %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 radius_scale 1.6 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<6xf16>, tensor<6xf16>, tensor<8xf16>, tensor<2xf16>, tensor<6xf16>, tensor<24xf16>, tensor<15xf16>) -> tensor<48xf32>

// -----

// CHECK: operands have different element types: opacities is f32, positions is f64; cast one
%0:7 = "test.op"() : () -> (tensor<6xf64>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_render %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 radius_scale 1.6 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<6xf64>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> tensor<48xf32>

// -----

// CHECK: expected opacities of rank 1, got shape [2, 1]
%0:7 = "test.op"() : () -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2x1xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_render %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 radius_scale 1.6 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2x1xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> tensor<48xf32>

// -----

// CHECK: expected positions of shape [6] for 2 splats, got [5]
%0:7 = "test.op"() : () -> (tensor<5xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_render %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 radius_scale 1.6 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<5xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> tensor<48xf32>

// -----

// CHECK: expected scales of shape [6] for 2 splats, got [4]
%0:7 = "test.op"() : () -> (tensor<6xf32>, tensor<4xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_render %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 radius_scale 1.6 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<6xf32>, tensor<4xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> tensor<48xf32>

// -----

// CHECK: expected rotations of shape [8] for 2 splats, got [6]
%0:7 = "test.op"() : () -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_render %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 radius_scale 1.6 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> tensor<48xf32>

// -----

// CHECK: expected colors of shape [6] for 2 splats, got [7]
%0:7 = "test.op"() : () -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<7xf32>, tensor<24xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_render %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 radius_scale 1.6 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<7xf32>, tensor<24xf32>, tensor<15xf32>) -> tensor<48xf32>

// -----

// CHECK: expected sh_coeffs of a multiple of 6 numbers, got shape [25]
%0:7 = "test.op"() : () -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<25xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_render %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 radius_scale 1.6 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<25xf32>, tensor<15xf32>) -> tensor<48xf32>

// -----

// CHECK: expected sh_coeffs of a multiple of 6 numbers, got shape [2, 12]
%0:7 = "test.op"() : () -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<2x12xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_render %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 radius_scale 1.6 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<2x12xf32>, tensor<15xf32>) -> tensor<48xf32>

// -----

// CHECK: expected meta of shape [15] or [23], got [16]
%0:7 = "test.op"() : () -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<16xf32>)
%1 = mir.gaussian_splat_render %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 radius_scale 1.6 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<16xf32>) -> tensor<48xf32>

// -----

// CHECK: expected a finite radius_scale above 0, got 0.0
%0:7 = "test.op"() : () -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_render %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 radius_scale 0.0 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> tensor<48xf32>

// -----

// CHECK: expected a width and a height of at least 0, got -1 and 3
%0:7 = "test.op"() : () -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_render %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 radius_scale 1.6 width -1 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> tensor<48xf32>

// -----

// CHECK: expected alpha_cutoff from 0 to 1, got 1.5
%0:7 = "test.op"() : () -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_render %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 radius_scale 1.6 width 4 height 3 alpha_cutoff 1.5 transmittance_threshold 0.01 gamma 1.0 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> tensor<48xf32>

// -----

// CHECK: expected transmittance_threshold from 0 to 1, got -0.1
%0:7 = "test.op"() : () -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_render %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 radius_scale 1.6 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold -0.1 gamma 1.0 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> tensor<48xf32>

// -----

// CHECK: expected a finite gamma above 0, got 0.0
%0:7 = "test.op"() : () -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_render %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 radius_scale 1.6 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 0.0 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> tensor<48xf32>

// -----

// CHECK: expected result of type tensor<48xf32>, got tensor<12x4xf32>
%0:7 = "test.op"() : () -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_render %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 radius_scale 1.6 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> tensor<12x4xf32>

// -----

// CHECK: expected a cotangent of type tensor<48xf32>, got tensor<47xf32>
%0:8 = "test.op"() : () -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>, tensor<47xf32>)
%1:6 = mir.gaussian_splat_render_backward %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6, %0#7 radius_scale 1.6 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>, tensor<47xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>)

// -----

// CHECK: expected a loss_grad_clip of at least 0, got -1.0
%0:8 = "test.op"() : () -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>, tensor<48xf32>)
%1:6 = mir.gaussian_splat_render_backward %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6, %0#7 radius_scale 1.6 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 loss_grad_clip -1.0 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>, tensor<48xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>)

// -----

// CHECK: expected origins of shape [2, 3], got [6]
%0:5 = "test.op"() : () -> (tensor<6xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_rasterize %0#0, %0#1, %0#2, %0#3, %0#4 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<6xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<15xf32>) -> tensor<48xf32>

// -----

// CHECK: expected frames of shape [2, 3, 3], got [2, 9]
%0:5 = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x9xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_rasterize %0#0, %0#1, %0#2, %0#3, %0#4 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<2x3xf32>, tensor<2x9xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<15xf32>) -> tensor<48xf32>

// -----

// CHECK: expected tints of shape [2, 3], got [3, 3]
%0:5 = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<3x3xf32>, tensor<2xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_rasterize %0#0, %0#1, %0#2, %0#3, %0#4 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<3x3xf32>, tensor<2xf32>, tensor<15xf32>) -> tensor<48xf32>

// -----

// CHECK: expected alphas of rank 1, got shape [2, 1]
%0:5 = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x1xf32>, tensor<15xf32>)
%1 = mir.gaussian_splat_rasterize %0#0, %0#1, %0#2, %0#3, %0#4 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x1xf32>, tensor<15xf32>) -> tensor<48xf32>

// -----

// CHECK: expected meta of shape [15] or [23], got [9]
%0:5 = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<9xf32>)
%1 = mir.gaussian_splat_rasterize %0#0, %0#1, %0#2, %0#3, %0#4 width 4 height 3 alpha_cutoff 0.01 transmittance_threshold 0.01 gamma 1.0 : (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<9xf32>) -> tensor<48xf32>

// -----

// CHECK: expected result 2 of type tensor<2x3xf32>, got tensor<2x4xf32>
%0:7 = "test.op"() : () -> (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>)
%1:4 = mir.gaussian_splat_prepare %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 radius_scale 1.6 : (tensor<6xf32>, tensor<6xf32>, tensor<8xf32>, tensor<2xf32>, tensor<6xf32>, tensor<24xf32>, tensor<15xf32>) -> (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x4xf32>, tensor<2xf32>)
