// RUN: xdsl-opt %s -p 'mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir,lir-outline-loops' | filecheck %s
// RUN: xdsl-opt %s -p 'mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir,lir-plan-memory' -t rlx-llvm | filecheck %s --check-prefix=LLVM

// Prints write to one console, so that launches keep their order; a loop that prints stays a loop of launches.

// CHECK-LABEL: lir.program @f {
// CHECK: %console = lir.slot : memref<1xi8>
// CHECK-NEXT: lir.launch @k0_debug_print over 1 by 1 writes(%console : memref<1xi8>)
// CHECK-NEXT: lir.loop %{{.*}} = 0 to 3 {
// CHECK-NEXT: lir.launch @k1_debug_print over 1 by 1 reads(%x : memref<2xf32>) writes(%console : memref<1xi8>)
// CHECK-NEXT: }
// CHECK: lir.debug_print "x = {0}" batch 0 to %console : memref<1xi8> buffers(%a : memref<2xf32>)

// LLVM: @text_{{.*}} = private unnamed_addr constant [{{.*}} x i8] c"[\22x = {0}\22, 0, false, [[\22f32\22, [2]]]]\00"
// LLVM: call void %{{.*}}(ptr @text_{{.*}}, ptr %{{.*}})
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  mir.debug_print "start"
  mir.scan 3 captured(%x : tensor<2xf32>) -> () {
  ^bb0(%a: tensor<2xf32>):
    mir.debug_print "x = {0}" inputs(%a : tensor<2xf32>)
    mir.yield
  }
  func.return %x : tensor<2xf32>
}
