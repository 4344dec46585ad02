// RUN: xdsl-opt %s -p 'mir-cse,mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir' | filecheck %s
// RUN: xdsl-opt %s -p 'mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir,lir-plan-memory' -t rlx-llvm | filecheck %s --check-prefix=LLVM

// Collective ops keep their number and order: equal ones are not merged, and what nothing reads stays.

// CHECK-LABEL: lir.program @f {
// CHECK: %console = lir.slot : memref<1xi8>
// CHECK-NEXT: lir.launch @k0_all_reduce over 1 by 1 reads(%x : memref<6xf32>) writes(%1, %console : memref<6xf32>, memref<1xi8>)
// CHECK-NEXT: %2 = lir.slot : memref<6xf32>
// CHECK-NEXT: lir.launch @k1_all_reduce over 1 by 1 reads(%x : memref<6xf32>) writes(%2, %console : memref<6xf32>, memref<1xi8>)
// CHECK-NEXT: %3 = lir.slot : memref<6xf32>
// CHECK-NEXT: lir.launch @k0_all_reduce over 1 by 1 reads(%x : memref<6xf32>) writes(%3, %console : memref<6xf32>, memref<1xi8>)
// CHECK-NEXT: lir.launch @k2_add over 6 by 6 reads(%1, %3 : memref<6xf32>, memref<6xf32>) writes(%0 : memref<6xf32>)
// CHECK: lir.collective sum %x to %0 by %console root 0 over 2 : memref<6xf32>, memref<6xf32>, memref<1xi8>

// LLVM: call i64 %{{.*}}(ptr %{{.*}}, ptr %{{.*}}, ptr %{{.*}}, i64 6, i64 0, i64 0, i64 0, ptr %status)
func.func @f(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = mir.all_reduce sum %x over 2 : tensor<6xf32>
  %1 = mir.all_reduce max %x over 2 : tensor<6xf32>
  %2 = mir.all_reduce sum %x over 2 : tensor<6xf32>
  %3 = mir.add %0, %2 : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  func.return %3 : tensor<6xf32>
}
