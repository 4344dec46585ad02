// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @complex(%z: tensor<2x3xcomplex<f32>>, %x: tensor<2x3xf64>, %y: tensor<3xf64>, %g: tensor<2x3xf32>) {
// CHECK-NEXT: %re = mir.real %z : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
// CHECK-NEXT: %im = mir.imag %z : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
// CHECK-NEXT: %w = mir.complex %re, %im : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
// CHECK-NEXT: %conjugate = mir.conjugate %z : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
// CHECK-NEXT: %norm = mir.complex_norm_sq %z : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
// CHECK-NEXT: %back = mir.complex_norm_sq_backward %z, %g : (tensor<2x3xcomplex<f32>>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
// CHECK-NEXT: %hypot = mir.hypot %x, %y : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
// CHECK-NEXT: %log = mir.log_hypot %x, %y : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
// CHECK-NEXT: %angle = mir.atan2 %x, %y : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @complex(%z: tensor<2x3xcomplex<f32>>, %x: tensor<2x3xf64>, %y: tensor<3xf64>, %g: tensor<2x3xf32>) {
  %re = mir.real %z : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
  %im = mir.imag %z : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
  %w = mir.complex %re, %im : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
  %conjugate = mir.conjugate %z : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
  %norm = mir.complex_norm_sq %z : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
  %back = mir.complex_norm_sq_backward %z, %g : (tensor<2x3xcomplex<f32>>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
  %hypot = mir.hypot %x, %y : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  %log = mir.log_hypot %x, %y : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  %angle = mir.atan2 %x, %y : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  return
}

// GENERIC: "mir.complex"(%{{.*}}, %{{.*}}) : (tensor<2x3xf32>, tensor<2x3xf32>)
// GENERIC: "mir.complex_norm_sq_backward"(%{{.*}}, %{{.*}}) : (tensor<2x3xcomplex<f32>>, tensor<2x3xf32>)
