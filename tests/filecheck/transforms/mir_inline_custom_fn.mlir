// RUN: xdsl-opt %s -p mir-inline-custom-fn | filecheck %s
// RUN: xdsl-opt %s -p 'mir-inline-custom-fn{without-rules=true}' | filecheck %s --check-prefixes=RULES


// With its rules go its derivatives.

// CHECK-LABEL: func.func @square(%x: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %y = mir.mul %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %y : tensor<3xf32>
// CHECK-NEXT: }
// RULES-LABEL: func.func @square
// RULES-NEXT: %y = mir.custom_fn inputs(%x : tensor<3xf32>) -> (tensor<3xf32>) {
func.func @square(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = mir.custom_fn inputs(%x : tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    %0 = mir.mul %a, %a : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    mir.yield %0 : tensor<3xf32>
  } jvp {
  ^bb1(%a: tensor<3xf32>, %t: tensor<3xf32>):
    mir.yield %t : tensor<3xf32>
  }
  func.return %y : tensor<3xf32>
}

// One in another, and what is captured.

// CHECK-LABEL: func.func @nested(%x: tensor<3xf32>, %w: tensor<3xf32>) -> tensor<3xf32> {
// CHECK-NEXT: %0 = mir.sin %x : tensor<3xf32>
// CHECK-NEXT: %y = mir.mul %0, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %y : tensor<3xf32>
// CHECK-NEXT: }
// RULES-LABEL: func.func @nested
// RULES-NEXT: %0 = mir.sin %x : tensor<3xf32>
func.func @nested(%x: tensor<3xf32>, %w: tensor<3xf32>) -> tensor<3xf32> {
  %y = mir.custom_fn inputs(%x : tensor<3xf32>) captured(%w : tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    %0 = mir.custom_fn inputs(%a : tensor<3xf32>) -> (tensor<3xf32>) {
    ^bb1(%c: tensor<3xf32>):
      %1 = mir.sin %c : tensor<3xf32>
      mir.yield %1 : tensor<3xf32>
    }
    %2 = mir.mul %0, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    mir.yield %2 : tensor<3xf32>
  }
  func.return %y : tensor<3xf32>
}
