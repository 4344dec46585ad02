// RUN: xdsl-opt %s -p mir-fuse,convert-mir-to-lir,lir-plan-memory --split-input-file --verify-diagnostics | filecheck %s

// A result is computed right into the argument that it replaces, behind what reads that; the kernel has one buffer for both.

// CHECK-LABEL: lir.program @step
// CHECK: %w = lir.param "w" donated : memref<4x4xf32>
// CHECK-NEXT: %g = lir.input "g" : memref<4x4xf32>
// CHECK-NEXT: %p = lir.output 0 : memref<4x4xf32>
// CHECK-NOT: lir.output
// CHECK: lir.launch @k0_matmul over 4 by 4 reads(%g, %w : memref<4x4xf32>, memref<4x4xf32>) writes(%p : memref<4x4xf32>)
// CHECK: lir.launch @k1_sub over 16 by 16 reads(%{{.*}} : memref<16xf32>) writes([[FLAT:%.*]] : memref<16xf32>)
// CHECK: lir.kernel @k1_sub(%g: memref<16xf32>, %new: memref<16xf32>, %lo: index, %hi: index) {
// CHECK: scf.for %i0 = %lo to %hi
// CHECK-NEXT: [[W:%.*]] = memref.load %new[%i0]
// CHECK: [[NEW:%.*]] = arith.subf [[W]]
// CHECK-NEXT: memref.store [[NEW]], %new[%i0]
func.func @step(%w: tensor<4x4xf32> {mir.name = "w", mir.kind = "param"}, %g: tensor<4x4xf32> {mir.name = "g", mir.kind = "input"}) -> (tensor<4x4xf32>, tensor<4x4xf32> {mir.aliases_input = "w"}) {
  %new = mir.sub %w, %g : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = mir.matmul %g, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %p, %new : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// What reads an argument and needs the new value is one kernel with what computes that, which has the old one at hand.

// CHECK-LABEL: lir.program @needs
// CHECK: %w = lir.param "w" donated : memref<8xf32>
// CHECK: lir.kernel @k0_exp_mul
func.func @needs(%w: tensor<8xf32> {mir.name = "w", mir.kind = "param"}) -> (tensor<8xf32>, tensor<8xf32> {mir.aliases_input = "w"}) {
  %new = mir.exp %w : tensor<8xf32>
  %both = mir.mul %new, %w : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %both, %new : tensor<8xf32>, tensor<8xf32>
}

// -----

// Of two products that each need what the other one replaces, one is copied when all have been read.

// CHECK-LABEL: lir.program @cycle
// CHECK: %a = lir.param "a" donated copied_back : memref<4x4xf32>
// CHECK-NEXT: %b = lir.param "b" donated : memref<4x4xf32>
// CHECK: lir.launch @k0_matmul over 4 by 4 reads(%b, %x : memref<4x4xf32>, memref<4x4xf32>) writes([[NEW:%.*]] : memref<4x4xf32>)
// CHECK-NEXT: lir.launch @k0_matmul over 4 by 4 reads(%a, %x : memref<4x4xf32>, memref<4x4xf32>) writes(%b : memref<4x4xf32>)
// CHECK-NEXT: [[FROM:%.*]] = lir.view [[NEW]]
// CHECK-NEXT: [[TO:%.*]] = lir.view %a
// CHECK-NEXT: lir.launch @k1_copy over 16 by 16 reads([[FROM]] : memref<16xf32>) writes([[TO]] : memref<16xf32>)
func.func @cycle(%a: tensor<4x4xf32> {mir.name = "a", mir.kind = "param"}, %b: tensor<4x4xf32> {mir.name = "b", mir.kind = "param"}, %x: tensor<4x4xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<4x4xf32> {mir.aliases_input = "a"}, tensor<4x4xf32> {mir.aliases_input = "b"}) {
  %0 = mir.matmul %b, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = mir.matmul %a, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Arguments that are exchanged: one of them is copied to the arena first.

// CHECK-LABEL: lir.program @exchange
// CHECK: %a = lir.param "a" donated copied_back : memref<8xf32>
// CHECK-NEXT: %b = lir.param "b" donated copied_back : memref<8xf32>
// CHECK: [[OLD:%.*]] = lir.slot
// CHECK-NEXT: lir.launch @k0_copy over 8 by 8 reads(%b : memref<8xf32>) writes([[OLD]] : memref<8xf32>)
// CHECK-NEXT: lir.launch @k0_copy over 8 by 8 reads(%a : memref<8xf32>) writes(%b : memref<8xf32>)
// CHECK-NEXT: lir.launch @k0_copy over 8 by 8 reads([[OLD]] : memref<8xf32>) writes(%a : memref<8xf32>)
func.func @exchange(%a: tensor<8xf32> {mir.name = "a", mir.kind = "param"}, %b: tensor<8xf32> {mir.name = "b", mir.kind = "param"}) -> (tensor<8xf32> {mir.aliases_input = "a"}, tensor<8xf32> {mir.aliases_input = "b"}) {
  func.return %b, %a : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK: result 0 of @itself cannot be computed in place in "w": it is an argument itself; donate without strict to allow a copy at the end
func.func @itself(%w: tensor<8xf32> {mir.name = "w", mir.kind = "param"}, %g: tensor<8xf32> {mir.name = "g", mir.kind = "input"}) -> (tensor<8xf32> {mir.aliases_input = "w", mir.must_alias}) {
  func.return %g : tensor<8xf32>
}

// -----

// CHECK: result 0 of @kept cannot be computed in place in "w": "w" is returned as it was, too; donate without strict
func.func @kept(%w: tensor<8xf32> {mir.name = "w", mir.kind = "param"}) -> (tensor<8xf32> {mir.aliases_input = "w", mir.must_alias}, tensor<8xf32>) {
  %new = mir.exp %w : tensor<8xf32>
  func.return %new, %w : tensor<8xf32>, tensor<8xf32>
}

// -----

// What an index_add adds to is computed right into its result, unless something else reads it: then it is copied. Over
// an argument, nothing is.
// CHECK-LABEL: lir.program @index_add
// CHECK: lir.launch @k0_tanh_exp over 15 by 15 reads(%x_1 : memref<15xf32>) writes([[A:%.*]], %b_1 : memref<15xf32>, memref<15xf32>)
// CHECK: [[A1:%.*]] = lir.view %0 at 0 : memref<5x3xf32> to memref<1x1x5x3xf32>
// CHECK-NEXT: lir.launch @k1_index_add over 1 by 1 reads(%u_1, %i_1 : memref<1x1x4x3xf32>, memref<1x4xi64>) writes([[A1]] : memref<1x1x5x3xf32>)
// CHECK-NEXT: [[COPY:%.*]] = lir.view %1 at 0 : memref<5x3xf32> to memref<15xf32>
// CHECK-NEXT: lir.launch @k2_copy over 15 by 15 reads(%b_1 : memref<15xf32>) writes([[COPY]] : memref<15xf32>)
// CHECK-NEXT: [[B1:%.*]] = lir.view %1 at 0 : memref<5x3xf32> to memref<1x1x5x3xf32>
// CHECK-NEXT: lir.launch @k1_index_add over 1 by 1 reads(%u_1, %i_1 : memref<1x1x4x3xf32>, memref<1x4xi64>) writes([[B1]] : memref<1x1x5x3xf32>)
// CHECK-NEXT: [[P1:%.*]] = lir.view %p at 0 : memref<5x3xf32> to memref<1x1x5x3xf32>
// CHECK-NEXT: lir.launch @k1_index_add over 1 by 1 reads(%u_1, %i_1 : memref<1x1x4x3xf32>, memref<1x4xi64>) writes([[P1]] : memref<1x1x5x3xf32>)
// CHECK-NEXT: }
func.func @index_add(%x: tensor<5x3xf32> {mir.name = "x", mir.kind = "input"}, %p: tensor<5x3xf32> {mir.name = "p", mir.kind = "param"}, %u: tensor<4x3xf32> {mir.name = "u", mir.kind = "input"}, %i: tensor<4xi64> {mir.name = "i", mir.kind = "input"}) -> (tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32> {mir.aliases_input = "p"}) {
  %a = mir.tanh %x : tensor<5x3xf32>
  %0 = mir.index_add %a, %u, %i axis 0 batch_dims 0 extent 6 : (tensor<5x3xf32>, tensor<4x3xf32>, tensor<4xi64>) -> tensor<5x3xf32>
  %b = mir.exp %x : tensor<5x3xf32>
  %1 = mir.index_add %b, %u, %i axis 0 batch_dims 0 extent 6 : (tensor<5x3xf32>, tensor<4x3xf32>, tensor<4xi64>) -> tensor<5x3xf32>
  %2 = mir.index_add %p, %u, %i axis 0 batch_dims 0 extent 6 : (tensor<5x3xf32>, tensor<4x3xf32>, tensor<4xi64>) -> tensor<5x3xf32>
  func.return %0, %1, %b, %2 : tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>
}
