// RUN: xdsl-opt %s -p mir-fuse,convert-mir-to-lir,lir-plan-memory --split-input-file --verify-diagnostics | filecheck %s

// A result is computed right into the argument that it replaces, behind what reads that; the kernel has one buffer for both.

// CHECK-LABEL: lir.program @step
// CHECK: %w = lir.param "w" updated : memref<4x4xf32>
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
func.func @step(%w: tensor<4x4xf32> {mir.name = "w", mir.kind = "param"}, %g: tensor<4x4xf32> {mir.name = "g", mir.kind = "input"}) -> (tensor<4x4xf32>, tensor<4x4xf32> {mir.replaces = "w"}) {
  %new = mir.sub %w, %g : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = mir.matmul %g, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %p, %new : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// CHECK: result 1 of @needs cannot be written over "w": mir.mul reads "w", and needs the result; do not donate "w"
func.func @needs(%w: tensor<8xf32> {mir.name = "w", mir.kind = "param"}) -> (tensor<8xf32>, tensor<8xf32> {mir.replaces = "w"}) {
  %new = mir.exp %w : tensor<8xf32>
  %both = mir.mul %new, %w : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %both, %new : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK: result 0 of @itself cannot be written over "w": it is an argument itself; do not donate "w"
func.func @itself(%w: tensor<8xf32> {mir.name = "w", mir.kind = "param"}, %g: tensor<8xf32> {mir.name = "g", mir.kind = "input"}) -> (tensor<8xf32> {mir.replaces = "w"}) {
  func.return %g : tensor<8xf32>
}

// -----

// CHECK: result 0 of @kept cannot be written over "w": that is returned as it was, too; do not donate "w"
func.func @kept(%w: tensor<8xf32> {mir.name = "w", mir.kind = "param"}) -> (tensor<8xf32> {mir.replaces = "w"}, tensor<8xf32>) {
  %new = mir.exp %w : tensor<8xf32>
  func.return %new, %w : tensor<8xf32>, tensor<8xf32>
}
