// RUN: xdsl-opt %s -p 'mir-pin-taps{names=h,x}' --split-input-file | filecheck %s

// All users read the identity, results and branches too; another tap stays as it is. An argument needs no identity.

// CHECK-LABEL: func.func @f(%p: tensor<i1> {mir.name = "p", mir.kind = "input"}, %x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32> {mir.kept = "h"}) {
// CHECK-NEXT: %h = mir.exp %x : tensor<3xf32>
// CHECK-NEXT: %h_1 = mir.straight_through %h, %h {mir.tap = "h"} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %k = mir.sin %h_1 {mir.tap = "k"} : tensor<3xf32>
// CHECK-NEXT: %y = mir.if %p : tensor<i1> captured(%h_1 : tensor<3xf32>) -> (tensor<3xf32>) {
// CHECK-NEXT: ^bb0(%a: tensor<3xf32>):
// CHECK-NEXT: mir.yield %a : tensor<3xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: ^bb0(%b: tensor<3xf32>):
// CHECK-NEXT: mir.yield %b : tensor<3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %z = mir.add %y, %k : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %z, %h_1, %h_1 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @f(%p: tensor<i1> {mir.name = "p", mir.kind = "input"}, %x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<3xf32>, tensor<3xf32>) {
  %h = mir.exp %x {mir.tap = "h"} : tensor<3xf32>
  %k = mir.sin %h {mir.tap = "k"} : tensor<3xf32>
  %y = mir.if %p : tensor<i1> captured(%h : tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    mir.yield %a : tensor<3xf32>
  } else {
  ^bb1(%b: tensor<3xf32>):
    mir.yield %b : tensor<3xf32>
  }
  %z = mir.add %y, %k : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %z, %h : tensor<3xf32>, tensor<3xf32>
}

// -----

// A tap of an identity needs no other one.

// CHECK-LABEL: func.func @again(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> (tensor<3xf32>, tensor<3xf32> {mir.kept = "h"}) {
// CHECK-NEXT: %0 = mir.exp %x : tensor<3xf32>
// CHECK-NEXT: %h = mir.straight_through %0, %0 {mir.tap = "h"} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %h, %h : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
func.func @again(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xf32> {
  %0 = mir.exp %x : tensor<3xf32>
  %h = mir.straight_through %0, %0 {mir.tap = "h"} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %h : tensor<3xf32>
}
