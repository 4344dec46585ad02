// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @functions(%x: f32, %y: f64) {
// CHECK-NEXT: %erfc = lir.erfc %y : f64
// CHECK-NEXT: %gaussian = lir.gaussian %x : f32
// CHECK-NEXT: %ndtr = lir.ndtr %x : f32
// CHECK-NEXT: %gelu = lir.gelu %y : f64
// CHECK-NEXT: %erfcx = lir.erfcx %y : f64
// CHECK-NEXT: %erf_inv = lir.erf_inv %x : f32
// CHECK-NEXT: %ndtri = lir.ndtri %x : f32
// CHECK-NEXT: %lgamma = lir.lgamma %x : f32
// CHECK-NEXT: %digamma = lir.digamma %y : f64
// CHECK-NEXT: %sigmoid = lir.sigmoid %y : f64
// CHECK-NEXT: %sin = lir.sin_small %x : f32
// CHECK-NEXT: %cos = lir.cos_small %x : f32
// CHECK-NEXT: %tan = lir.tan_small %y : f64
// CHECK-NEXT: %rest = lir.fmod %x, %x : f32
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @functions(%x: f32, %y: f64) {
  %erfc = lir.erfc %y : f64
  %gaussian = lir.gaussian %x : f32
  %ndtr = lir.ndtr %x : f32
  %gelu = lir.gelu %y : f64
  %erfcx = lir.erfcx %y : f64
  %erf_inv = lir.erf_inv %x : f32
  %ndtri = lir.ndtri %x : f32
  %lgamma = lir.lgamma %x : f32
  %digamma = lir.digamma %y : f64
  %sigmoid = lir.sigmoid %y : f64
  %sin = lir.sin_small %x : f32
  %cos = lir.cos_small %x : f32
  %tan = lir.tan_small %y : f64
  %rest = lir.fmod %x, %x : f32
  func.return
}

// CHECK-LABEL: func.func @pairs(%a: bf16, %b: bf16, %acc: f32) {
// CHECK-NEXT: %pair = lir.pack_bf16 %a, %b
// CHECK-NEXT: %sum = lir.dot_bf16 %acc, %pair, %pair
// CHECK-NEXT: %rounded = lir.round_bf16 %sum
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @pairs(%a: bf16, %b: bf16, %acc: f32) {
  %pair = lir.pack_bf16 %a, %b
  %sum = lir.dot_bf16 %acc, %pair, %pair
  %rounded = lir.round_bf16 %sum
  func.return
}

// CHECK-LABEL: func.func @bytes(%a: i8, %b: i8, %acc: i32) {
// CHECK-NEXT: %four = lir.pack_i8 %a, %b, %a, %b
// CHECK-NEXT: %sum = lir.dot_i8 %acc, %four, %four
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @bytes(%a: i8, %b: i8, %acc: i32) {
  %four = lir.pack_i8 %a, %b, %a, %b
  %sum = lir.dot_i8 %acc, %four, %four
  func.return
}

// GENERIC: "lir.gaussian"(%{{.*}}) : (f32) -> f32
// GENERIC: "lir.dot_bf16"(%{{.*}}, %{{.*}}, %{{.*}}) : (f32, i32, i32) -> f32
// GENERIC: "lir.round_bf16"(%{{.*}}) : (f32) -> bf16
