// RUN: ROUNDTRIP

// CHECK-LABEL: lir.program @p {
// CHECK-NEXT: %x = lir.input "x" scratch : memref<6xf32>
// CHECK-NEXT: %w = lir.input "w" donated copied_back : memref<6xf32>
lir.program @p {
  %x = lir.input "x" scratch : memref<6xf32>
  %w = lir.input "w" donated copied_back : memref<6xf32>
}
