// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @unary(%x: tensor<2x3xf32>) {
// CHECK-NEXT: %gelu = mir.gelu %x : tensor<2x3xf32>
// CHECK-NEXT: %gelu_approx = mir.gelu_approx %x : tensor<2x3xf32>
// CHECK-NEXT: %silu = mir.silu %x : tensor<2x3xf32>
// CHECK-NEXT: %relu = mir.relu %x : tensor<2x3xf32>
// CHECK-NEXT: %sigmoid = mir.sigmoid %x : tensor<2x3xf32>
// CHECK-NEXT: %tanh = mir.tanh %x : tensor<2x3xf32>
// CHECK-NEXT: %exp = mir.exp %x : tensor<2x3xf32>
// CHECK-NEXT: %log = mir.log %x : tensor<2x3xf32>
// CHECK-NEXT: %erf = mir.erf %x : tensor<2x3xf32>
// CHECK-NEXT: %ndtr = mir.ndtr %x : tensor<2x3xf32>
// CHECK-NEXT: %gaussian = mir.gaussian %x : tensor<2x3xf32>
// CHECK-NEXT: %sqrt = mir.sqrt %x : tensor<2x3xf32>
// CHECK-NEXT: %rsqrt = mir.rsqrt %x : tensor<2x3xf32>
// CHECK-NEXT: %recip = mir.recip %x : tensor<2x3xf32>
// CHECK-NEXT: %neg = mir.neg %x : tensor<2x3xf32>
// CHECK-NEXT: %abs = mir.abs %x : tensor<2x3xf32>
// CHECK-NEXT: %sin = mir.sin %x : tensor<2x3xf32>
// CHECK-NEXT: %cos = mir.cos %x : tensor<2x3xf32>
// CHECK-NEXT: %tan = mir.tan %x : tensor<2x3xf32>
// CHECK-NEXT: %atan = mir.atan %x : tensor<2x3xf32>
// CHECK-NEXT: %round = mir.round %x : tensor<2x3xf32>
// CHECK-NEXT: %stop_gradient = mir.stop_gradient %x : tensor<2x3xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @unary(%x: tensor<2x3xf32>) {
  %gelu = mir.gelu %x : tensor<2x3xf32>
  %gelu_approx = mir.gelu_approx %x : tensor<2x3xf32>
  %silu = mir.silu %x : tensor<2x3xf32>
  %relu = mir.relu %x : tensor<2x3xf32>
  %sigmoid = mir.sigmoid %x : tensor<2x3xf32>
  %tanh = mir.tanh %x : tensor<2x3xf32>
  %exp = mir.exp %x : tensor<2x3xf32>
  %log = mir.log %x : tensor<2x3xf32>
  %erf = mir.erf %x : tensor<2x3xf32>
  %ndtr = mir.ndtr %x : tensor<2x3xf32>
  %gaussian = mir.gaussian %x : tensor<2x3xf32>
  %sqrt = mir.sqrt %x : tensor<2x3xf32>
  %rsqrt = mir.rsqrt %x : tensor<2x3xf32>
  %recip = mir.recip %x : tensor<2x3xf32>
  %neg = mir.neg %x : tensor<2x3xf32>
  %abs = mir.abs %x : tensor<2x3xf32>
  %sin = mir.sin %x : tensor<2x3xf32>
  %cos = mir.cos %x : tensor<2x3xf32>
  %tan = mir.tan %x : tensor<2x3xf32>
  %atan = mir.atan %x : tensor<2x3xf32>
  %round = mir.round %x : tensor<2x3xf32>
  %stop_gradient = mir.stop_gradient %x : tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @binary(%x: tensor<2x3xf32>, %row: tensor<3xf32>, %c: tensor<i1>, %n: tensor<3xi32>) {
// CHECK-NEXT: %add = mir.add %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %sub = mir.sub %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %mul = mir.mul %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %div = mir.div %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %max = mir.max %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %min = mir.min %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %pow = mir.pow %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %and = mir.and %c, %c : (tensor<i1>, tensor<i1>) -> tensor<i1>
// CHECK-NEXT: %shift = mir.shift_right_logical %n, %n : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @binary(%x: tensor<2x3xf32>, %row: tensor<3xf32>, %c: tensor<i1>, %n: tensor<3xi32>) {
  %add = mir.add %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %sub = mir.sub %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %mul = mir.mul %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %div = mir.div %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %max = mir.max %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %min = mir.min %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %pow = mir.pow %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %and = mir.and %c, %c : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %shift = mir.shift_right_logical %n, %n : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  func.return
}

// CHECK-LABEL: func.func @select(%x: tensor<2x3xf32>, %row: tensor<3xf32>) {
// CHECK-NEXT: %eq = mir.eq %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: %ne = mir.ne %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: %lt = mir.lt %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: %le = mir.le %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: %gt = mir.gt %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: %ge = mir.ge %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: %where = mir.where %lt, %x, %row : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @select(%x: tensor<2x3xf32>, %row: tensor<3xf32>) {
  %eq = mir.eq %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %ne = mir.ne %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %lt = mir.lt %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %le = mir.le %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %gt = mir.gt %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %ge = mir.ge %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %where = mir.where %lt, %x, %row : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @constants() {
// CHECK-NEXT: %scalar = mir.constant dense<1.500000e+00> : tensor<f64>
// CHECK-NEXT: %splat = mir.constant dense<2.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT: %list = mir.constant dense<[1, -2, 3]> : tensor<3xi32>
// CHECK-NEXT: %mask = mir.constant dense<[true, false]> : tensor<2xi1>
// CHECK-NEXT: %half = mir.constant dense<5.000000e-01> : tensor<bf16>
// CHECK-NEXT: %none = mir.constant dense<> : tensor<0x3xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @constants() {
  %scalar = mir.constant dense<1.500000e+00> : tensor<f64>
  %splat = mir.constant dense<2.000000e+00> : tensor<2x3xf32>
  %list = mir.constant dense<[1, -2, 3]> : tensor<3xi32>
  %mask = mir.constant dense<[true, false]> : tensor<2xi1>
  %half = mir.constant dense<5.000000e-01> : tensor<bf16>
  %none = mir.constant dense<> : tensor<0x3xf32>
  func.return
}

// CHECK-LABEL: func.func @cast(%x: tensor<2xf32>) {
// CHECK-NEXT: %cast = mir.cast %x : tensor<2xf32> to tensor<2xi8>
// CHECK-NEXT: %bf16 = mir.cast %x : tensor<2xf32> to tensor<2xbf16>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @cast(%x: tensor<2xf32>) {
  %cast = mir.cast %x : tensor<2xf32> to tensor<2xi8>
  %bf16 = mir.cast %x : tensor<2xf32> to tensor<2xbf16>
  func.return
}

// CHECK-LABEL: func.func @matmul(%x: tensor<5x2x3xf64>, %w: tensor<3x4xf64>) {
// CHECK-NEXT: %0 = mir.matmul %x, %w : (tensor<5x2x3xf64>, tensor<3x4xf64>) -> tensor<5x2x4xf64>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @matmul(%x: tensor<5x2x3xf64>, %w: tensor<3x4xf64>) {
  %0 = mir.matmul %x, %w : (tensor<5x2x3xf64>, tensor<3x4xf64>) -> tensor<5x2x4xf64>
  func.return
}

// CHECK-LABEL: func.func @shape(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>) {
// CHECK-NEXT: %reshape = mir.reshape %x : tensor<2x3xf32> to tensor<3x1x2xf32>
// CHECK-NEXT: %transpose = mir.transpose %x perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %narrow = mir.narrow %x axis 1 start 1 len 2 : (tensor<2x3xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %flip = mir.flip %x axis 1 : tensor<2x3xf32>
// CHECK-NEXT: %concat = mir.concat %x, %y axis 0 : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %expand = mir.expand %y : tensor<1x3xf32> to tensor<4x2x3xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @shape(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>) {
  %reshape = mir.reshape %x : tensor<2x3xf32> to tensor<3x1x2xf32>
  %transpose = mir.transpose %x perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %narrow = mir.narrow %x axis 1 start 1 len 2 : (tensor<2x3xf32>) -> tensor<2x2xf32>
  %flip = mir.flip %x axis 1 : tensor<2x3xf32>
  %concat = mir.concat %x, %y axis 0 : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
  %expand = mir.expand %y : tensor<1x3xf32> to tensor<4x2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @reduce(%x: tensor<2x3xf32>) {
// CHECK-NEXT: %sum = mir.reduce_sum %x axes [0] : (tensor<2x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %mean = mir.reduce_mean %x axes [0] : (tensor<2x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %max = mir.reduce_max %x axes [0] : (tensor<2x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %min = mir.reduce_min %x axes [0] : (tensor<2x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %prod = mir.reduce_prod %x axes [0] : (tensor<2x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %keep = mir.reduce_sum %x axes [0, -1] keep_dim : (tensor<2x3xf32>) -> tensor<1x1xf32>
// CHECK-NEXT: %none = mir.reduce_sum %x axes [] : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @reduce(%x: tensor<2x3xf32>) {
  %sum = mir.reduce_sum %x axes [0] : (tensor<2x3xf32>) -> tensor<3xf32>
  %mean = mir.reduce_mean %x axes [0] : (tensor<2x3xf32>) -> tensor<3xf32>
  %max = mir.reduce_max %x axes [0] : (tensor<2x3xf32>) -> tensor<3xf32>
  %min = mir.reduce_min %x axes [0] : (tensor<2x3xf32>) -> tensor<3xf32>
  %prod = mir.reduce_prod %x axes [0] : (tensor<2x3xf32>) -> tensor<3xf32>
  %keep = mir.reduce_sum %x axes [0, -1] keep_dim : (tensor<2x3xf32>) -> tensor<1x1xf32>
  %none = mir.reduce_sum %x axes [] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @norm(%x: tensor<2x3xf32>, %gamma: tensor<3xf32>, %beta: tensor<3xf32>) {
// CHECK-NEXT: %softmax = mir.softmax %x axis 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %layer_norm = mir.layer_norm %x, %gamma, %beta axis -1 eps 1.000000e-05 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %layer_norm_backward_input = mir.layer_norm_backward_input %x, %gamma, %x axis 1 eps 1.000000e-01 : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %layer_norm_backward_gamma = mir.layer_norm_backward_gamma %x, %x axis 1 eps 1.000000e-01 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @norm(%x: tensor<2x3xf32>, %gamma: tensor<3xf32>, %beta: tensor<3xf32>) {
  %softmax = mir.softmax %x axis 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %layer_norm = mir.layer_norm %x, %gamma, %beta axis -1 eps 1.000000e-05 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %layer_norm_backward_input = mir.layer_norm_backward_input %x, %gamma, %x axis 1 eps 1.000000e-01 : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %layer_norm_backward_gamma = mir.layer_norm_backward_gamma %x, %x axis 1 eps 1.000000e-01 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
  func.return
}

// CHECK-LABEL: func.func @loss(%x: tensor<2x3xf32>, %labels: tensor<2xi64>, %coded: tensor<2xf32>) {
// CHECK-NEXT: %loss = mir.softmax_cross_entropy_with_logits %x, %labels : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2xf32>
// CHECK-NEXT: %ignoring = mir.softmax_cross_entropy_with_logits %x, %coded ignore_index -100 : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %backward = mir.softmax_cross_entropy_backward %x, %labels, %loss : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %backward_ignoring = mir.softmax_cross_entropy_backward %x, %labels, %loss ignore_index -100 : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @loss(%x: tensor<2x3xf32>, %labels: tensor<2xi64>, %coded: tensor<2xf32>) {
  %loss = mir.softmax_cross_entropy_with_logits %x, %labels : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2xf32>
  %ignoring = mir.softmax_cross_entropy_with_logits %x, %coded ignore_index -100 : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2xf32>
  %backward = mir.softmax_cross_entropy_backward %x, %labels, %loss : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<2x3xf32>
  %backward_ignoring = mir.softmax_cross_entropy_backward %x, %labels, %loss ignore_index -100 : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @fused(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>, %b: tensor<4xf32>) {
// CHECK-NEXT: %plain = mir.fused_matmul_bias_act %x, %w, %b : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %act = mir.fused_matmul_bias_act %x, %w, %b activation gelu : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %relu_backward = mir.relu_backward %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %activation_backward = mir.activation_backward gelu_approx %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @fused(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>, %b: tensor<4xf32>) {
  %plain = mir.fused_matmul_bias_act %x, %w, %b : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %act = mir.fused_matmul_bias_act %x, %w, %b activation gelu : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %relu_backward = mir.relu_backward %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %activation_backward = mir.activation_backward gelu_approx %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @regions(%x: tensor<3xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>, %m: tensor<4x3xf32>, %w: tensor<5x5xf32>) {
// CHECK-NEXT: %fusion, %other = mir.fusion(%x, %y) : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT: ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
// CHECK-NEXT: %0 = mir.mul %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %1 = mir.exp %0 : tensor<3xf32>
// CHECK-NEXT: mir.yield %0, %1 : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %rows = mir.fusion(%m, %x) loops <[4, 3] parallel 1 : ([0, 1], [1]) -> ([0, 1])> : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x1x3xf32> {
// CHECK-NEXT: ^bb0(%a: tensor<4x3xf32>, %b: tensor<3xf32>):
// CHECK-NEXT: %0 = mir.add %a, %b : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %1 = mir.reshape %0 : tensor<4x3xf32> to tensor<4x1x3xf32>
// CHECK-NEXT: mir.yield %1 : tensor<4x1x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %sums = mir.fusion(%w, %m) loops <[4, 2, 3] reduce 1 to 2 : (operand, [0, 2]) -> ([0, 2])> : (tensor<5x5xf32>, tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: ^bb0(%a: tensor<5x5xf32>, %b: tensor<4x3xf32>):
// CHECK-NEXT: mir.yield %b : tensor<4x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %p = mir.mul %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %dx, %dy = mir.vjp primals(%x, %y : tensor<3xf32>, tensor<3xf32>) outputs(%p : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0, 1] -> tensor<3xf32>, tensor<3xf32> {
// CHECK-NEXT: ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
// CHECK-NEXT: %0 = mir.mul %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: mir.yield %0 : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @regions(%x: tensor<3xf32>, %y: tensor<3xf32>, %g: tensor<3xf32>, %m: tensor<4x3xf32>, %w: tensor<5x5xf32>) {
  %fusion, %other = mir.fusion(%x, %y) : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    %0 = mir.mul %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %1 = mir.exp %0 : tensor<3xf32>
    mir.yield %0, %1 : tensor<3xf32>, tensor<3xf32>
  }
  %rows = mir.fusion(%m, %x) loops <[4, 3] parallel 1 : ([0, 1], [1]) -> ([0, 1])> : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x1x3xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<3xf32>):
    %0 = mir.add %a, %b : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %1 = mir.reshape %0 : tensor<4x3xf32> to tensor<4x1x3xf32>
    mir.yield %1 : tensor<4x1x3xf32>
  }
  %sums = mir.fusion(%w, %m) loops <[4, 2, 3] reduce 1 to 2 : (operand, [0, 2]) -> ([0, 2])> : (tensor<5x5xf32>, tensor<4x3xf32>) -> tensor<4x3xf32> {
  ^bb0(%a: tensor<5x5xf32>, %b: tensor<4x3xf32>):
    mir.yield %b : tensor<4x3xf32>
  }
  %p = mir.mul %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %dx, %dy = mir.vjp primals(%x, %y : tensor<3xf32>, tensor<3xf32>) outputs(%p : tensor<3xf32>) cotangents(%g : tensor<3xf32>) of [0] wrt [0, 1] -> tensor<3xf32>, tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    %0 = mir.mul %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @annotated(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) {
// CHECK-NEXT: %0 = mir.tanh %x {note = "kept"} : tensor<3xf32>
// CHECK-NEXT: %1 = mir.constant {note} dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @annotated(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) {
  %0 = mir.tanh %x {note = "kept"} : tensor<3xf32>
  %1 = mir.constant {note} dense<1.000000e+00> : tensor<f32>
  func.return
}

// GENERIC: "mir.reduce_sum"(%{{.*}}) <{axes = array<i64: 0>}>
// GENERIC: "mir.reduce_sum"(%{{.*}}) <{axes = array<i64: 0, -1>, keep_dim}>
// GENERIC: "mir.layer_norm"(%{{.*}}) <{axis = -1 : i64, eps = 1.000000e-05 : f64}>
// GENERIC: "mir.softmax_cross_entropy_with_logits"(%{{.*}}) <{ignore_index = -100 : i64}>
// GENERIC: "mir.fused_matmul_bias_act"(%{{.*}}) <{activation = #mir<activation gelu>}>
// GENERIC: "mir.activation_backward"(%{{.*}}) <{kind = #mir<activation gelu_approx>}>
