// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @attention(%q: tensor<2x5x6xf32>, %k: tensor<2x7x6xf32>, %m: tensor<2x7xi1>, %b: tensor<1x2x5x7xf32>, %x: tensor<1x4x5x8xf16>, %y: tensor<1x2x7x8xf16>) {
// CHECK-NEXT: %plain, %l0 = mir.attention %q, %k, %k layout packed heads 2 kv_heads 2 mask none : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)
// CHECK-NEXT: %padded, %l1 = mir.attention %q, %k, %k, %m layout packed heads 2 kv_heads 2 mask custom scale 5.000000e-01 softcap 2.000000e+01 : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x7xi1>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)
// CHECK-NEXT: %window, %l2 = mir.attention %x, %y, %y layout bhsd heads 4 kv_heads 2 mask sliding_window window 3 : (tensor<1x4x5x8xf16>, tensor<1x2x7x8xf16>, tensor<1x2x7x8xf16>) -> (tensor<1x4x5x8xf16>, tensor<1x4x5xf32>)
// CHECK-NEXT: %dq, %dk, %dv = mir.attention_backward %q, %k, %k, %plain, %l0, %q d_lse %l1 : tensor<2x2x5xf32> layout packed heads 2 kv_heads 2 mask none : tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x5x6xf32>, tensor<2x2x5xf32>, tensor<2x5x6xf32> to tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>
// CHECK-NEXT: %eq, %ek, %ev, %eb = mir.attention_backward %q, %k, %k, %plain, %l0, %q by %b : tensor<1x2x5x7xf32> layout packed heads 2 kv_heads 2 mask bias : tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x5x6xf32>, tensor<2x2x5xf32>, tensor<2x5x6xf32> to tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<1x2x5x7xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @attention(%q: tensor<2x5x6xf32>, %k: tensor<2x7x6xf32>, %m: tensor<2x7xi1>, %b: tensor<1x2x5x7xf32>, %x: tensor<1x4x5x8xf16>, %y: tensor<1x2x7x8xf16>) {
  %plain, %l0 = mir.attention %q, %k, %k layout packed heads 2 kv_heads 2 mask none : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)
  %padded, %l1 = mir.attention %q, %k, %k, %m layout packed heads 2 kv_heads 2 mask custom scale 5.000000e-01 softcap 2.000000e+01 : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x7xi1>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)
  %window, %l2 = mir.attention %x, %y, %y layout bhsd heads 4 kv_heads 2 mask sliding_window window 3 : (tensor<1x4x5x8xf16>, tensor<1x2x7x8xf16>, tensor<1x2x7x8xf16>) -> (tensor<1x4x5x8xf16>, tensor<1x4x5xf32>)
  %dq, %dk, %dv = mir.attention_backward %q, %k, %k, %plain, %l0, %q d_lse %l1 : tensor<2x2x5xf32> layout packed heads 2 kv_heads 2 mask none : tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x5x6xf32>, tensor<2x2x5xf32>, tensor<2x5x6xf32> to tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>
  %eq, %ek, %ev, %eb = mir.attention_backward %q, %k, %k, %plain, %l0, %q by %b : tensor<1x2x5x7xf32> layout packed heads 2 kv_heads 2 mask bias : tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x5x6xf32>, tensor<2x2x5xf32>, tensor<2x5x6xf32> to tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<1x2x5x7xf32>
  func.return
}

// GENERIC: "mir.attention"(%{{.*}}) <{layout = #mir<layout packed>, num_heads = 2 : i64, num_kv_heads = 2 : i64, mask_kind = #mir<mask_kind none>}>
