// RUN: xdsl-opt %s -p 'mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir' --split-input-file --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p 'mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir{threads=2}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix=PIECES

// Buffers, launches and loop nests of fusions; address arithmetic is left out.

// One nest for a chain; the result is computed right into its output.
// CHECK-LABEL: lir.program @chain {
// CHECK-NEXT: %x = lir.input "x" : memref<64x32xf32>
// CHECK-NEXT: %b = lir.input "b" : memref<32xf32>
// CHECK-NEXT: %0 = lir.output 0 : memref<64x32xf32>
// CHECK-NEXT: lir.launch @k0_add_tanh_mul over 64 by 64 reads(%x, %b : memref<64x32xf32>, memref<32xf32>) writes(%0 : memref<64x32xf32>)
// CHECK-LABEL: lir.kernel @k0_add_tanh_mul(%x: memref<64x32xf32>, %b: memref<32xf32>, %0: memref<64x32xf32>, %lo: index, %hi: index) {
// CHECK: scf.for %i0 = %lo to %hi step %c1 {
// CHECK-NEXT: scf.for %i1 = %c0 to %c32 step %c1 {
// CHECK: %2 = math.tanh %1 : f32
// CHECK: memref.store %3, %0[%i0, %i1] : memref<64x32xf32>
func.func @chain(%x: tensor<64x32xf32> {mir.name = "x", mir.kind = "input"}, %b: tensor<32xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<64x32xf32> {
  %0 = mir.add %x, %b : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64x32xf32>
  %1 = mir.tanh %0 : tensor<64x32xf32>
  %2 = mir.mul %1, %x : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  func.return %2 : tensor<64x32xf32>
}

// -----

// The passes over a row: maximum, sum of exponentials, quotient.
// CHECK-LABEL: lir.program @rows {
// CHECK-NEXT: %x = lir.input "x" : memref<64x32xf32>
// CHECK-NEXT: %0 = lir.output 0 : memref<64x32xf32>
// CHECK-NEXT: lir.launch @k0_reduce_max_reshape_etc_div over 64 by 64 reads(%x : memref<64x32xf32>) writes(%0 : memref<64x32xf32>)
// CHECK-LABEL: lir.kernel @k0_reduce_max_reshape_etc_div(%x: memref<64x32xf32>, %0: memref<64x32xf32>, %lo: index, %hi: index) {
// CHECK: %1 = memref.alloca() : memref<32xf32>
// CHECK-NEXT: scf.for %i = %lo to %hi step %c1 {
// CHECK: %3 = scf.for %j = %c0 to %c32 step %c1 iter_args(%4 = %2) -> (f32) {
// CHECK: %7 = scf.for %j_1 = %c0 to %c32 step %c1 iter_args(%8 = %6) -> (f32) {
// CHECK: %10 = math.exp %9 : f32
// CHECK-NEXT: memref.store %10, %1[%j_1] : memref<32xf32>
// CHECK: scf.for %j_2 = %c0 to %c32 step %c1 {
// CHECK: memref.store %13, %0[%i, %j_2] : memref<64x32xf32>
func.func @rows(%x: tensor<64x32xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<64x32xf32> {
  %0 = mir.softmax %x axis -1 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  func.return %0 : tensor<64x32xf32>
}

// -----

// A product by lir.gemm, then its epilogue over the rows just computed.
// CHECK-LABEL: lir.program @epilogue {
// CHECK-NEXT: %x = lir.input "x" : memref<64x16xf32>
// CHECK-NEXT: %w = lir.param "w" : memref<16x32xf32>
// CHECK-NEXT: %b = lir.param "b" : memref<32xf32>
// CHECK-NEXT: %0 = lir.output 0 : memref<64x32xf32>
// CHECK-NEXT: lir.launch @k0_matmul_add_relu over 64 by 64 reads(%b, %x, %w : memref<32xf32>, memref<64x16xf32>, memref<16x32xf32>) writes(%0 : memref<64x32xf32>)
// CHECK-LABEL: lir.kernel @k0_matmul_add_relu(%b: memref<32xf32>, %x: memref<64x16xf32>, %w: memref<16x32xf32>, %0: memref<64x32xf32>, %lo: index, %hi: index) {
// CHECK: lir.gemm %x[], %w[], %0[] rows %lo to %hi cols %c0 to %c32 : memref<64x16xf32>, memref<16x32xf32>, memref<64x32xf32>
// CHECK-NEXT: scf.for %i = %lo to %hi step %c1 {
// CHECK-NEXT: scf.for %j = %c0 to %c32 step %c1 {
// CHECK: memref.store %4, %0[%i, %j] : memref<64x32xf32>
func.func @epilogue(%x: tensor<64x16xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<16x32xf32> {mir.name = "w", mir.kind = "param"}, %b: tensor<32xf32> {mir.name = "b", mir.kind = "param"}) -> tensor<64x32xf32> {
  %0 = mir.matmul %x, %w : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
  %1 = mir.add %0, %b : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64x32xf32>
  %2 = mir.relu %1 : tensor<64x32xf32>
  func.return %2 : tensor<64x32xf32>
}

// -----

// A column sum keeps a row of accumulators, to which four rows at a time are added.
// CHECK-LABEL: lir.program @columns {
// CHECK-NEXT: %x = lir.input "x" : memref<64x32xf32>
// CHECK-NEXT: %0 = lir.output 0 : memref<32xf32>
// CHECK-NEXT: lir.launch @k0_mul_reduce_sum over 32 by 32 reads(%x : memref<64x32xf32>) writes(%0 : memref<32xf32>)
// CHECK-LABEL: lir.kernel @k0_mul_reduce_sum(%x: memref<64x32xf32>, %0: memref<32xf32>, %lo: index, %hi: index) {
// CHECK: scf.for %i1 = %lo to %hi step %c1 {
// CHECK: memref.store %1, %0[%i1] : memref<32xf32>
// CHECK: scf.for %i0 = %c0 to %c64 step %c4 {
// CHECK: scf.for %i1_1 = %lo to %hi step %c1 {
// CHECK-COUNT-4: memref.load %x[%{{.*}}, %i1_1] : memref<64x32xf32>
// CHECK: memref.load %0[%i1_1] : memref<32xf32>
// CHECK: memref.store %{{.*}}, %0[%i1_1] : memref<32xf32>
// CHECK-NOT: scf.for
func.func @columns(%x: tensor<64x32xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<32xf32> {
  %0 = mir.mul %x, %x : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = mir.reduce_sum %0 axes [0] : (tensor<64x32xf32>) -> tensor<32xf32>
  func.return %1 : tensor<32xf32>
}

// -----

// All of a few rows are added at a time: their sum is stored, with nothing cleared before.
// CHECK-LABEL: lir.program @few_rows {
// CHECK-LABEL: lir.kernel @k0_reduce_sum(%x: memref<3x32xf32>, %0: memref<32xf32>, %lo: index, %hi: index) {
// CHECK: scf.for %i1 = %lo to %hi step %c1 {
// CHECK-COUNT-3: memref.load %x[%{{.*}}, %i1] : memref<3x32xf32>
// CHECK-NOT: memref.load
// CHECK: memref.store %{{.*}}, %0[%i1] : memref<32xf32>
// CHECK-NOT: scf.for
func.func @few_rows(%x: tensor<3x32xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<32xf32> {
  %0 = mir.reduce_sum %x axes [0] : (tensor<3x32xf32>) -> tensor<32xf32>
  func.return %0 : tensor<32xf32>
}

// -----

// A long one adds blocks of rows to totals of more digits; rows of few columns take turns in adding to eight copies.
// CHECK-LABEL: lir.program @long_columns {
// CHECK-NEXT: %x = lir.input "x" : memref<640x32xf32>
// CHECK-NEXT: %0 = lir.output 0 : memref<32xf32>
// CHECK-NEXT: %1 = lir.slot : memref<1x32xf64>
// CHECK-NEXT: lir.launch @k0_reduce_sum over 640 by 640 reads(%x : memref<640x32xf32>) writes(%1 : memref<1x32xf64>)
// CHECK-NEXT: lir.launch @k1_reduce_sum over 32 by 32 reads(%1 : memref<1x32xf64>) writes(%0 : memref<32xf32>)
// CHECK-LABEL: lir.kernel @k0_reduce_sum(
// CHECK-NEXT: %block = memref.alloca() : memref<8x32xf32>
// CHECK: scf.for %block_1 = %lo to %hi step %c128 {
// CHECK: scf.for %i = %block_1 to %{{.*}} step %c1 {
// CHECK-NEXT: scf.for %j_1 = %c0 to %c32 step %c1 {
// CHECK: [[TURN:%.*]] = arith.remsi %i, %{{.*}} : index
// CHECK: memref.store %{{.*}}, %block{{(_[0-9]+)?}}[[[TURN]], %j_1] : memref<8x32xf32>
// CHECK: scf.for %j_2 = %c0 to %c32 step %c1 {
// CHECK: arith.extf %{{.*}} : f32 to f64
func.func @long_columns(%x: tensor<640x32xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<32xf32> {
  %0 = mir.reduce_sum %x axes [0] : (tensor<640x32xf32>) -> tensor<32xf32>
  func.return %0 : tensor<32xf32>
}

// -----

// More columns are added up in buffers that are the kernel's own: those of blocks, and their totals.
// CHECK-LABEL: lir.program @wide_columns {
// CHECK-NEXT: %x = lir.input "x" : memref<640x128xf32>
// CHECK-NEXT: %0 = lir.output 0 : memref<128xf32>
// CHECK-NEXT: lir.launch @k0_reduce_sum over 128 by 128 reads(%x : memref<640x128xf32>) writes(%0 : memref<128xf32>)
// CHECK-NOT: lir.launch
// CHECK-LABEL: lir.kernel @k0_reduce_sum(
// CHECK-NEXT: %totals = memref.alloca() : memref<128xf64>
// CHECK-NEXT: %block = memref.alloca() : memref<128xf32>
// CHECK: scf.for %block_1 = %c0 to %c640 step %c128 {
// CHECK: scf.for %i0 = %block_1 to %{{.*}} step %c4 {
// CHECK: scf.for %i1_1 = %lo to %hi step %c1 {
// CHECK: [[J:%.*]] = arith.subi %i1_1, %lo : index
// CHECK: memref.store %{{.*}}, %block{{(_[0-9]+)?}}[[[J]]] : memref<128xf32>
// CHECK: memref.store %{{.*}}, %totals{{(_[0-9]+)?}}[%{{.*}}] : memref<128xf64>
// CHECK: arith.truncf %totals{{(_[0-9]+)?}} : f64 to f32
// CHECK-NEXT: memref.store %{{.*}}, %{{.*}}[%{{.*}}] : memref<128xf32>
func.func @wide_columns(%x: tensor<640x128xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<128xf32> {
  %0 = mir.reduce_sum %x axes [0] : (tensor<640x128xf32>) -> tensor<128xf32>
  func.return %0 : tensor<128xf32>
}

// -----

// A reshape is a view: it costs nothing.
// CHECK-LABEL: lir.program @view {
// CHECK-NEXT: %x = lir.input "x" : memref<64x32xf32>
// CHECK-NEXT: %0 = lir.output 0 : memref<2048xf32>
// CHECK-NEXT: %x_1 = lir.view %x at 0 : memref<64x32xf32> to memref<2048xf32>
// CHECK-NEXT: lir.launch @k0_exp over 2048 by 2048 reads(%x_1 : memref<2048xf32>) writes(%0 : memref<2048xf32>)
// CHECK-LABEL: lir.kernel @k0_exp(%x: memref<2048xf32>, %0: memref<2048xf32>, %lo: index, %hi: index) {
func.func @view(%x: tensor<64x32xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<2048xf32> {
  %0 = mir.exp %x : tensor<64x32xf32>
  %1 = mir.reshape %0 : tensor<64x32xf32> to tensor<2048xf32>
  func.return %1 : tensor<2048xf32>
}

// -----

// Structurally equal kernels are one.
// CHECK-LABEL: lir.program @equal {
// CHECK-NEXT: %x = lir.input "x" : memref<8x8xf32>
// CHECK-NEXT: %w = lir.param "w" : memref<8x8xf32>
// CHECK-NEXT: %v = lir.param "v" : memref<8x8xf32>
// CHECK-NEXT: %0 = lir.output 0 : memref<8x8xf32>
// CHECK-NEXT: %1 = lir.slot : memref<8x8xf32>
// CHECK-NEXT: lir.launch @k0_matmul_tanh over 8 by 8 reads(%x, %w : memref<8x8xf32>, memref<8x8xf32>) writes(%1 : memref<8x8xf32>)
// CHECK-NEXT: %2 = lir.slot : memref<8x8xf32>
// CHECK-NEXT: lir.launch @k0_matmul_tanh over 8 by 8 reads(%1, %v : memref<8x8xf32>, memref<8x8xf32>) writes(%2 : memref<8x8xf32>)
// CHECK-NEXT: lir.launch @k0_matmul_tanh over 8 by 8 reads(%2, %w : memref<8x8xf32>, memref<8x8xf32>) writes(%0 : memref<8x8xf32>)
// CHECK-LABEL: lir.kernel @k0_matmul_tanh(%x: memref<8x8xf32>, %w: memref<8x8xf32>, %0: memref<8x8xf32>, %lo: index, %hi: index) {
// CHECK: lir.gemm %x[], %w[], %0[] rows %lo to %hi cols %c0 to %c8 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
func.func @equal(%x: tensor<8x8xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<8x8xf32> {mir.name = "w", mir.kind = "param"}, %v: tensor<8x8xf32> {mir.name = "v", mir.kind = "param"}) -> tensor<8x8xf32> {
  %0 = mir.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = mir.tanh %0 : tensor<8x8xf32>
  %2 = mir.matmul %1, %v : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = mir.tanh %2 : tensor<8x8xf32>
  %4 = mir.matmul %3, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %5 = mir.tanh %4 : tensor<8x8xf32>
  func.return %5 : tensor<8x8xf32>
}

// -----

// With two threads, a launch that is worth it is cut into pieces.
// PIECES-LABEL: lir.program @large {
// PIECES: lir.launch @k0_add_tanh_mul over 256 by 32 reads(%x, %b : memref<256x256xf32>, memref<256xf32>) writes(%0 : memref<256x256xf32>)
func.func @large(%x: tensor<256x256xf32> {mir.name = "x", mir.kind = "input"}, %b: tensor<256xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<256x256xf32> {
  %0 = mir.add %x, %b : (tensor<256x256xf32>, tensor<256xf32>) -> tensor<256x256xf32>
  %1 = mir.tanh %0 : tensor<256x256xf32>
  %2 = mir.mul %1, %x : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  func.return %2 : tensor<256x256xf32>
}

// -----

// Of few columns, pieces are rows.
// PIECES-LABEL: lir.program @narrow {
// PIECES: lir.launch @k0_add_tanh over 4096 by 512 reads(%x, %b : memref<4096x8xf32>, memref<8xf32>) writes(%0 : memref<4096x8xf32>)
func.func @narrow(%x: tensor<4096x8xf32> {mir.name = "x", mir.kind = "input"}, %b: tensor<8xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<4096x8xf32> {
  %0 = mir.add %x, %b : (tensor<4096x8xf32>, tensor<8xf32>) -> tensor<4096x8xf32>
  %1 = mir.tanh %0 : tensor<4096x8xf32>
  func.return %1 : tensor<4096x8xf32>
}

// -----

// Small matrices are factorised and solved side by side: a launch is over blocks of them, whose scratch has the lanes
// next to each other. With two threads, blocks are pieces.
// CHECK-LABEL: lir.program @lanes {
// CHECK: lir.launch @k0_lu over 4 by 4 reads(%a_1 : memref<64x64xf32>) writes(%packed_1, %pivots : memref<64x64xf32>, memref<64x8xi32>)
// CHECK-NEXT: lir.launch @k1_lu_solve over 4 by 4 reads(%packed_1, %pivots, %b : memref<64x64xf32>, memref<64x8xi32>, memref<64x8xf32>) writes(%x : memref<64x8xf32>)
// CHECK-LABEL: lir.kernel @k0_lu(%a: memref<64x64xf32>, %packed: memref<64x64xf32>, %pivots: memref<64x8xi32>, %lo: index, %hi: index) {
// CHECK: %block = memref.alloca() : memref<1024xf32>
// CHECK: scf.for %i = %lo to %hi step %c1 {
// CHECK: memref.load %a[
// CHECK: scf.for %k = %c0 to %c8 step %c1 {
// CHECK: scf.for %lane = %c0 to %c16 step %c1 {
// CHECK: memref.store {{.*}}, %pivots[
// CHECK: memref.store {{.*}}, %packed[
// PIECES-LABEL: lir.program @lanes {
// PIECES: lir.launch @k0_lu over 4 by 2
func.func @lanes(%a: tensor<64x8x8xf32> {mir.name = "a", mir.kind = "input"}, %b: tensor<64x8xf32> {mir.name = "b", mir.kind = "input"}) -> tensor<64x8xf32> {
  %packed, %pivots = mir.lu %a : (tensor<64x8x8xf32>) -> (tensor<64x8x8xf32>, tensor<64x8xi32>)
  %x = mir.lu_solve %packed, %pivots, %b : (tensor<64x8x8xf32>, tensor<64x8xi32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  func.return %x : tensor<64x8xf32>
}

// -----

// Nothing is launched for an empty result.
// CHECK-LABEL: lir.program @empty {
// CHECK-NEXT: %x = lir.input "x" : memref<0x8xf32>
// CHECK-NEXT: %0 = lir.output 0 : memref<0x8xf32>
func.func @empty(%x: tensor<0x8xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<0x8xf32> {
  %0 = mir.tanh %x : tensor<0x8xf32>
  func.return %0 : tensor<0x8xf32>
}

// -----

// Values are defined before they are used.
// CHECK: mir.exp: operand 0 %z (a result of mir.neg) is used before it is defined
// PIECES: mir.exp: operand 0 %z (a result of mir.neg) is used before it is defined
func.func @order(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xf32> {
  %y = mir.exp %z : tensor<3xf32>
  %z = mir.neg %x : tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// -----

// Parts of a concat are computed where they lie in it, by lines; one that others read has a place without gaps, too. What
// is there already is copied, and what has lines too short for vectors.
// CHECK-LABEL: lir.program @parts {
// CHECK-NEXT: %x = lir.input "arg0" : memref<4x16xf32>
// CHECK-NEXT: %y = lir.input "arg1" : memref<4x2xf32>
// CHECK-NEXT: %wide = lir.output 0 : memref<4x66xf32>
// CHECK-NEXT: %turned = lir.output 1 : memref<16x4xf32>
// CHECK-NEXT: %b = lir.slot : memref<4x16xf32>
// CHECK-NEXT: %wide_1 = lir.view %wide at 0 : memref<4x66xf32> to memref<4x16xf32, strided<[66, 1]>>
// CHECK-NEXT: %wide_2 = lir.view %wide at 50 : memref<4x66xf32> to memref<4x16xf32, strided<[66, 1]>>
// CHECK-NEXT: %wide_3 = lir.view %wide at 32 : memref<4x66xf32> to memref<4x16xf32, strided<[66, 1]>>
// CHECK-NEXT: lir.launch @k0_exp_sin over 16 by 16 reads(%x : memref<4x16xf32>) writes(%wide_1, %b, %wide_2, %wide_3 : memref<4x16xf32, strided<[66, 1]>>, memref<4x16xf32>, memref<4x16xf32, strided<[66, 1]>>, memref<4x16xf32, strided<[66, 1]>>)
// CHECK-NEXT: %c = lir.slot : memref<4x2xf32>
// CHECK-NEXT: %y_1 = lir.view %y at 0 : memref<4x2xf32> to memref<8xf32>
// CHECK-NEXT: %c_1 = lir.view %c at 0 : memref<4x2xf32> to memref<8xf32>
// CHECK-NEXT: lir.launch @k1_tanh over 8 by 8 reads(%y_1 : memref<8xf32>) writes(%c_1 : memref<8xf32>)
// CHECK-NEXT: %wide_4 = lir.view %wide at 16 : memref<4x66xf32> to memref<4x16xf32, strided<[66, 1]>>
// CHECK-NEXT: lir.launch @k2_copy over 16 by 16 reads(%x : memref<4x16xf32>) writes(%wide_4 : memref<4x16xf32, strided<[66, 1]>>)
// CHECK-NEXT: %wide_5 = lir.view %wide at 48 : memref<4x66xf32> to memref<4x2xf32, strided<[66, 1]>>
// CHECK-NEXT: lir.launch @k3_copy over 4 by 4 reads(%c : memref<4x2xf32>) writes(%wide_5 : memref<4x2xf32, strided<[66, 1]>>)
// CHECK-NEXT: %0 = lir.slot : memref<1x64xf32>
// CHECK-NEXT: %b_1 = lir.view %b at 0 : memref<4x16xf32> to memref<1x16x4xf32, strided<[0, 1, 16]>>
// CHECK-NEXT: %turned_1 = lir.view %turned at 0 : memref<16x4xf32> to memref<1x16x4xf32>
// CHECK-NEXT: lir.launch @k4_copy over 1 by 1 reads(%b_1 : memref<1x16x4xf32, strided<[0, 1, 16]>>) writes(%turned_1, %0 : memref<1x16x4xf32>, memref<1x64xf32>)
// CHECK-NEXT: }
// CHECK: lir.call_function "transpose_f32" [16, 4, 16, 0](%{{.*}}) to(%between, %{{.*}}) at[
func.func @parts(%x: tensor<4x16xf32>, %y: tensor<4x2xf32>) -> (tensor<4x66xf32>, tensor<16x4xf32>) {
  %a = mir.exp %x : tensor<4x16xf32>
  %b = mir.sin %x : tensor<4x16xf32>
  %c = mir.tanh %y : tensor<4x2xf32>
  %wide = mir.concat %a, %x, %b, %c, %a axis 1 : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x2xf32>, tensor<4x16xf32>) -> tensor<4x66xf32>
  %turned = mir.transpose %b perm [1, 0] : (tensor<4x16xf32>) -> tensor<16x4xf32>
  func.return %wide, %turned : tensor<4x66xf32>, tensor<16x4xf32>
}

// -----

// Of far more rows than columns, pieces are rows, and have sums of their own; of a product along a long inner dimension,
// they are parts of this.
// PIECES-LABEL: lir.program @tall {
// PIECES: lir.launch @k0_reduce_sum over 4096 by 2048 reads(%y : memref<4096x128xf32>) writes(%{{.*}} : memref<2x128xf64>)
// PIECES: lir.launch @k1_reduce_sum over 128 by 128 reads(%{{.*}} : memref<2x128xf64>) writes(%{{.*}} : memref<128xf32>)
// PIECES: lir.launch @k2_matmul over 2 by 1 reads([[X:%.*]], [[Y:%.*]] : memref<2x64x2048xf32, strided<[131072, 1, 64]>>, memref<2x2048x128xf32>) writes([[P:%.*]] : memref<2x64x128xf32>)
// PIECES: lir.launch @k3_matmul_tanh over 8192 by 4096 reads(%{{.*}}, %{{.*}} : memref<8192xf32>, memref<8192xf32>) writes(%{{.*}} : memref<8192xf32>)
// PIECES: lir.kernel @k2_matmul(
// PIECES: scf.for %i = %lo to %hi step %c1 {
// PIECES-NEXT: lir.gemm %{{.*}}[%i], %{{.*}}[%i], %{{.*}}[%i] rows %c0 to %c64 cols %c0 to %c128
func.func @tall(%x: tensor<4096x64xf32> {mir.name = "x", mir.kind = "input"}, %y: tensor<4096x128xf32> {mir.name = "y", mir.kind = "input"}) -> (tensor<128xf32>, tensor<64x128xf32>) {
  %0 = mir.reduce_sum %y axes [0] : (tensor<4096x128xf32>) -> tensor<128xf32>
  %1 = mir.transpose %x perm [1, 0] : (tensor<4096x64xf32>) -> tensor<64x4096xf32>
  %2 = mir.matmul %1, %y : (tensor<64x4096xf32>, tensor<4096x128xf32>) -> tensor<64x128xf32>
  %3 = mir.tanh %2 : tensor<64x128xf32>
  func.return %0, %3 : tensor<128xf32>, tensor<64x128xf32>
}

// -----

// A product whose rows end in a masked vector is not computed into the result, where functions would wait for it.
// CHECK-LABEL: lir.program @masked_rows
// CHECK: [[ROOM:%.*]] = lir.slot : memref<4x30xf32>
// CHECK: lir.launch @k0_matmul_tanh over 4 by 4 reads(%x, %y : memref<4x16xf32>, memref<16x30xf32>) writes([[ROOM]], %0 : memref<4x30xf32>, memref<4x30xf32>)
// CHECK: lir.launch @k1_matmul_tanh over 4 by 4 reads(%x, %z : memref<4x16xf32>, memref<16x32xf32>) writes(%1 : memref<4x32xf32>)
func.func @masked_rows(%x: tensor<4x16xf32> {mir.name = "x", mir.kind = "input"}, %y: tensor<16x30xf32> {mir.name = "y", mir.kind = "input"}, %z: tensor<16x32xf32> {mir.name = "z", mir.kind = "input"}) -> (tensor<4x30xf32>, tensor<4x32xf32>) {
  %0 = mir.matmul %x, %y : (tensor<4x16xf32>, tensor<16x30xf32>) -> tensor<4x30xf32>
  %1 = mir.tanh %0 : tensor<4x30xf32>
  %2 = mir.matmul %x, %z : (tensor<4x16xf32>, tensor<16x32xf32>) -> tensor<4x32xf32>
  %3 = mir.tanh %2 : tensor<4x32xf32>
  func.return %1, %3 : tensor<4x30xf32>, tensor<4x32xf32>
}
