// RUN: DIAGNOSTICS

// CHECK: element type i32 is not supported; expected one of f32, f64, f16, bf16
%q = "test.op"() : () -> (tensor<2x5x6xi32>)
%k = "test.op"() : () -> (tensor<2x7x6xi32>)
%v = "test.op"() : () -> (tensor<2x7x6xi32>)
%y, %l = mir.attention %q, %k, %v layout packed heads 2 kv_heads 2 mask none : (tensor<2x5x6xi32>, tensor<2x7x6xi32>, tensor<2x7x6xi32>) -> (tensor<2x5x6xi32>, tensor<2x2x5xf32>)

// -----

// CHECK: operands have different element types: q is f32, k is f64; cast one
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf64>)
%v = "test.op"() : () -> (tensor<2x7x6xf64>)
%y, %l = mir.attention %q, %k, %v layout packed heads 2 kv_heads 2 mask none : (tensor<2x5x6xf32>, tensor<2x7x6xf64>, tensor<2x7x6xf64>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: expected at least one head, got 0
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%y, %l = mir.attention %q, %k, %v layout packed heads 0 kv_heads 2 mask none : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: layout bhsd is of rank 4, got q of shape [2, 5, 6]
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%y, %l = mir.attention %q, %k, %v layout bhsd heads 2 kv_heads 2 mask none : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: q of width 6 does not hold 4 heads
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%y, %l = mir.attention %q, %k, %v layout packed heads 4 kv_heads 2 mask none : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>) -> (tensor<2x5x6xf32>, tensor<2x4x5xf32>)

// -----

// CHECK: expected 2 heads in q, got 3 (layout bhsd, [2, 3, 5, 6])
%q = "test.op"() : () -> (tensor<2x3x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x2x5x6xf32>)
%v = "test.op"() : () -> (tensor<2x2x5x6xf32>)
%y, %l = mir.attention %q, %k, %v layout bhsd heads 2 kv_heads 2 mask none : (tensor<2x3x5x6xf32>, tensor<2x2x5x6xf32>, tensor<2x2x5x6xf32>) -> (tensor<2x3x5x6xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: 3 query heads do not share 2 key heads evenly
%q = "test.op"() : () -> (tensor<2x5x9xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%y, %l = mir.attention %q, %k, %v layout packed heads 3 kv_heads 2 mask none : (tensor<2x5x9xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>) -> (tensor<2x5x9xf32>, tensor<2x3x5xf32>)

// -----

// CHECK: expected heads of one width in q and k, got 3 and 4
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x8xf32>)
%v = "test.op"() : () -> (tensor<2x7x8xf32>)
%y, %l = mir.attention %q, %k, %v layout packed heads 2 kv_heads 2 mask none : (tensor<2x5x6xf32>, tensor<2x7x8xf32>, tensor<2x7x8xf32>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: expected as many values as keys, got 6 and 7
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x6x6xf32>)
%y, %l = mir.attention %q, %k, %v layout packed heads 2 kv_heads 2 mask none : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x6x6xf32>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: expected one batch size in q, k and v, got 1, 2, 2
%q = "test.op"() : () -> (tensor<1x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%y, %l = mir.attention %q, %k, %v layout packed heads 2 kv_heads 2 mask none : (tensor<1x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>) -> (tensor<1x5x6xf32>, tensor<1x2x5xf32>)

// -----

// CHECK: a mask of kind custom needs an operand
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%y, %l = mir.attention %q, %k, %v layout packed heads 2 kv_heads 2 mask custom : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: a mask of kind none has no operand; use kind custom for an i1 mask, bias for one that is added to the scores
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%m = "test.op"() : () -> (tensor<2x7xi1>)
%y, %l = mir.attention %q, %k, %v, %m layout packed heads 2 kv_heads 2 mask none : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x7xi1>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: expected a mask of shape [2, 7] or [2, 2, 5, 7] (1 for one batch, head or query), got [2, 6]
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%m = "test.op"() : () -> (tensor<2x6xi1>)
%y, %l = mir.attention %q, %k, %v, %m layout packed heads 2 kv_heads 2 mask custom : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x6xi1>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: expected a mask of shape [2, 2, 5, 7] (1 for one batch, head or query), got [2, 7]
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%m = "test.op"() : () -> (tensor<2x7xf32>)
%y, %l = mir.attention %q, %k, %v, %m layout packed heads 2 kv_heads 2 mask bias : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x7xf32>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: element type i32 is not supported; expected one of i1, f32, f64
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%m = "test.op"() : () -> (tensor<2x7xi32>)
%y, %l = mir.attention %q, %k, %v, %m layout packed heads 2 kv_heads 2 mask custom : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x7xi32>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: element type f64 is not supported; expected one of f32
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%m = "test.op"() : () -> (tensor<1x1x5x7xf64>)
%y, %l = mir.attention %q, %k, %v, %m layout packed heads 2 kv_heads 2 mask bias : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<1x1x5x7xf64>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: a window is given exactly where the mask is sliding_window
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%y, %l = mir.attention %q, %k, %v layout packed heads 2 kv_heads 2 mask sliding_window : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: a window is given exactly where the mask is sliding_window
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%y, %l = mir.attention %q, %k, %v layout packed heads 2 kv_heads 2 mask causal window 3 : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: expected a window of at least 0, got -1
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%y, %l = mir.attention %q, %k, %v layout packed heads 2 kv_heads 2 mask sliding_window window -1 : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: expected a finite score_scale, got inf
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%y, %l = mir.attention %q, %k, %v layout packed heads 2 kv_heads 2 mask none scale 1.000000e+999 : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: expected a positive finite attn_logit_softcap, got 0.0
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%y, %l = mir.attention %q, %k, %v layout packed heads 2 kv_heads 2 mask none softcap 0.000000e+00 : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: expected result 0 of type tensor<2x5x6xf32>, got tensor<2x5x8xf32>
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%y, %l = mir.attention %q, %k, %v layout packed heads 2 kv_heads 2 mask none : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>) -> (tensor<2x5x8xf32>, tensor<2x2x5xf32>)

// -----

// CHECK: expected result 1 of type tensor<2x2x5xf32>, got tensor<2x2x5xf64>
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%v = "test.op"() : () -> (tensor<2x7x6xf32>)
%y, %l = mir.attention %q, %k, %v layout packed heads 2 kv_heads 2 mask none : (tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>) -> (tensor<2x5x6xf32>, tensor<2x2x5xf64>)

// -----

// CHECK: expected out of type tensor<2x5x6xf32>, got tensor<2x5x8xf32>
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%o = "test.op"() : () -> (tensor<2x5x8xf32>)
%l = "test.op"() : () -> (tensor<2x2x5xf32>)
%g = "test.op"() : () -> (tensor<2x5x6xf32>)
%a, %b, %c = mir.attention_backward %q, %k, %k, %o, %l, %g layout packed heads 2 kv_heads 2 mask none : tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x5x8xf32>, tensor<2x2x5xf32>, tensor<2x5x6xf32> to tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>

// -----

// CHECK: expected lse of type tensor<2x2x5xf32>, got tensor<2x2x5xf64>
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%o = "test.op"() : () -> (tensor<2x5x6xf32>)
%l = "test.op"() : () -> (tensor<2x2x5xf64>)
%g = "test.op"() : () -> (tensor<2x5x6xf32>)
%a, %b, %c = mir.attention_backward %q, %k, %k, %o, %l, %g layout packed heads 2 kv_heads 2 mask none : tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x5x6xf32>, tensor<2x2x5xf64>, tensor<2x5x6xf32> to tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>

// -----

// CHECK: expected dy of type tensor<2x5x6xf32>, got tensor<2x5x6xf64>
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%o = "test.op"() : () -> (tensor<2x5x6xf32>)
%l = "test.op"() : () -> (tensor<2x2x5xf32>)
%g = "test.op"() : () -> (tensor<2x5x6xf64>)
%a, %b, %c = mir.attention_backward %q, %k, %k, %o, %l, %g layout packed heads 2 kv_heads 2 mask none : tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x5x6xf32>, tensor<2x2x5xf32>, tensor<2x5x6xf64> to tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>

// -----

// CHECK: expected d_lse of type tensor<2x2x5xf32>, got tensor<2x2x7xf32>
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%o = "test.op"() : () -> (tensor<2x5x6xf32>)
%l = "test.op"() : () -> (tensor<2x2x5xf32>)
%g = "test.op"() : () -> (tensor<2x5x6xf32>)
%s = "test.op"() : () -> (tensor<2x2x7xf32>)
%a, %b, %c = mir.attention_backward %q, %k, %k, %o, %l, %g d_lse %s : tensor<2x2x7xf32> layout packed heads 2 kv_heads 2 mask none : tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x5x6xf32>, tensor<2x2x5xf32>, tensor<2x5x6xf32> to tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>

// -----

// CHECK: a mask of kind none has no cotangent
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%o = "test.op"() : () -> (tensor<2x5x6xf32>)
%l = "test.op"() : () -> (tensor<2x2x5xf32>)
%g = "test.op"() : () -> (tensor<2x5x6xf32>)
%a, %b, %c, %d = mir.attention_backward %q, %k, %k, %o, %l, %g layout packed heads 2 kv_heads 2 mask none : tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x5x6xf32>, tensor<2x2x5xf32>, tensor<2x5x6xf32> to tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x2x5x7xf32>

// -----

// CHECK: expected result 3 of type tensor<1x2x5x7xf32>, got tensor<2x2x5x7xf32>
%q = "test.op"() : () -> (tensor<2x5x6xf32>)
%k = "test.op"() : () -> (tensor<2x7x6xf32>)
%o = "test.op"() : () -> (tensor<2x5x6xf32>)
%l = "test.op"() : () -> (tensor<2x2x5xf32>)
%g = "test.op"() : () -> (tensor<2x5x6xf32>)
%m = "test.op"() : () -> (tensor<1x2x5x7xf32>)
%a, %b, %c, %d = mir.attention_backward %q, %k, %k, %o, %l, %g by %m : tensor<1x2x5x7xf32> layout packed heads 2 kv_heads 2 mask bias : tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x5x6xf32>, tensor<2x2x5xf32>, tensor<2x5x6xf32> to tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x2x5x7xf32>
