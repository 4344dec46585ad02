// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @selective_scan(%x: tensor<2x5x3xf32>, %a: tensor<3x4xf32>, %b: tensor<2x5x4xf32>, %h: tensor<2x3x4xf32>) {
// CHECK-NEXT: %y, %last = mir.selective_scan %x, %x, %a, %b, %b : (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> (tensor<2x5x3xf32>, tensor<2x3x4xf32>)
// CHECK-NEXT: %z, %after, %states = mir.selective_scan %x, %x, %a, %b, %b from %h : (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x3x4xf32>) -> (tensor<2x5x3xf32>, tensor<2x3x4xf32>, tensor<5x2x3x4xf32>)
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @selective_scan(%x: tensor<2x5x3xf32>, %a: tensor<3x4xf32>, %b: tensor<2x5x4xf32>, %h: tensor<2x3x4xf32>) {
  %y, %last = mir.selective_scan %x, %x, %a, %b, %b : (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> (tensor<2x5x3xf32>, tensor<2x3x4xf32>)
  %z, %after, %states = mir.selective_scan %x, %x, %a, %b, %b from %h : (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x3x4xf32>) -> (tensor<2x5x3xf32>, tensor<2x3x4xf32>, tensor<5x2x3x4xf32>)
  func.return
}

// The state of half floats is of f32.
// CHECK-LABEL: func.func @gated_delta_net(%q: tensor<2x5x1x3xbf16>, %v: tensor<2x5x1x4xbf16>, %g: tensor<2x5x1xbf16>, %s: tensor<2x1x3x4xf32>) {
// CHECK-NEXT: %y, %last = mir.gated_delta_net %q, %q, %v, %g, %g : (tensor<2x5x1x3xbf16>, tensor<2x5x1x3xbf16>, tensor<2x5x1x4xbf16>, tensor<2x5x1xbf16>, tensor<2x5x1xbf16>) -> (tensor<2x5x1x4xbf16>, tensor<2x1x3x4xf32>)
// CHECK-NEXT: %z, %after, %states = mir.gated_delta_net %q, %q, %v, %g, %g from %s : (tensor<2x5x1x3xbf16>, tensor<2x5x1x3xbf16>, tensor<2x5x1x4xbf16>, tensor<2x5x1xbf16>, tensor<2x5x1xbf16>, tensor<2x1x3x4xf32>) -> (tensor<2x5x1x4xbf16>, tensor<2x1x3x4xf32>, tensor<5x2x1x3x4xf32>)
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @gated_delta_net(%q: tensor<2x5x1x3xbf16>, %v: tensor<2x5x1x4xbf16>, %g: tensor<2x5x1xbf16>, %s: tensor<2x1x3x4xf32>) {
  %y, %last = mir.gated_delta_net %q, %q, %v, %g, %g : (tensor<2x5x1x3xbf16>, tensor<2x5x1x3xbf16>, tensor<2x5x1x4xbf16>, tensor<2x5x1xbf16>, tensor<2x5x1xbf16>) -> (tensor<2x5x1x4xbf16>, tensor<2x1x3x4xf32>)
  %z, %after, %states = mir.gated_delta_net %q, %q, %v, %g, %g from %s : (tensor<2x5x1x3xbf16>, tensor<2x5x1x3xbf16>, tensor<2x5x1x4xbf16>, tensor<2x5x1xbf16>, tensor<2x5x1xbf16>, tensor<2x1x3x4xf32>) -> (tensor<2x5x1x4xbf16>, tensor<2x1x3x4xf32>, tensor<5x2x1x3x4xf32>)
  func.return
}

// GENERIC: "mir.selective_scan"(%{{.*}}) : (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> (tensor<2x5x3xf32>, tensor<2x3x4xf32>)
